//! The caller of a request, and its access; security headers of every answer.

mod headers;
mod login;
mod origin;
mod rate;
mod role;
mod session;
mod token;

use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::app::{App, Shared};
use crate::link::Links;
use crate::problem::Problem;

pub(crate) use self::login::routes;
pub(crate) use self::origin::{Hosts, THIS_MACHINE};
pub(crate) use self::rate::Rate;
pub use self::role::{Caller, Role};
pub(crate) use self::session::SessionKey;
pub use self::token::Token;
pub(crate) use self::token::{Hash, Tokens, from_hex, random};

/// The largest body of a request, in bytes.
pub(crate) const BODY_MAX: usize = 16 * 1024 * 1024;
/// How long an answer may take to begin, with the body of its request.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Signs of life. A probe calls a server by an address that no configuration knows, so every host name is fine for these.
const SIGNS_OF_LIFE: [&str; 2] = ["/healthz", "/readyz"];

/// What needs no token beside signs of life and styles: the log-in itself.
const PUBLIC: [&str; 2] = ["/login", "/logout"];

/// Puts the checks in front of all routes, and the headers on all answers.
pub(crate) fn guard(routes: Router<Shared>, app: &Shared) -> Router<Shared> {
    routes
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(middleware::from_fn(in_time))
        .layer(middleware::from_fn_with_state(app.clone(), admit))
        .layer(middleware::from_fn(headers::secure))
}

/// Gives up a request whose body, or whose answer, does not come.
async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ANSWER_WITHIN, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = "the request took longer than 30 s; send its body faster, or ask for less";
            Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", detail).into_response()
        }
    }
}

/// Finds out who asks, and leaves it with the request; refuses those who are not let in.
async fn admit(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let is_sign = SIGNS_OF_LIFE.contains(&path.as_str());
    let hosts = if is_sign { &Hosts::Any } else { &app.config.hosts };
    if let Err(problem) = origin::check(&parts, hosts) {
        return problem.into_response();
    }
    let public = is_sign || PUBLIC.contains(&path.as_str()) || path.starts_with("/assets/");
    match caller(&app, &parts) {
        Ok(caller) if app.rate.allows(&caller.name) => {
            parts.extensions.insert(caller);
        }
        Ok(_) => return too_many(),
        Err(_) if public => {
            parts.extensions.insert(Caller::nobody());
        }
        Err(problem) if problem.status == 401 && !is_for_programs(&path) => {
            let links = parts.extensions.get::<Links>().cloned().unwrap_or_default();
            return Redirect::to(&login::address(&links, &parts.uri)).into_response();
        }
        Err(problem) => return challenge(problem),
    }
    next.run(Request::from_parts(parts, body)).await
}

/// The caller of this request: by a token, by a log-in, or anonymous where that is enough.
fn caller(app: &App, parts: &Parts) -> Result<Caller, Problem> {
    // The application that this is mounted in has found it out already.
    if let Some(caller) = parts.extensions.get::<Caller>() {
        return Ok(caller.clone());
    }
    if let Some(shown) = parts.headers.get(header::AUTHORIZATION) {
        let token = shown.to_str().ok().and_then(|text| text.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        if let Some((_, caller)) = token.and_then(|token| app.config.tokens.who(token)) {
            return Ok(caller);
        }
        if app.config.without_token.is_none() {
            return Err(unknown_token(app));
        }
    }
    if let Some(role) = app.config.without_token {
        return Ok(Caller::local(role));
    }
    let logged_in = app.session.read(&parts.headers).and_then(|token| app.config.tokens.who_has(&token));
    logged_in.ok_or_else(|| {
        let detail = "this takes a token; send it as `authorization: Bearer …`, or log in";
        Problem::new(StatusCode::UNAUTHORIZED, "no_token", detail)
    })
}

/// The answer to a token that is not known; a slower one to those who try many.
fn unknown_token(app: &App) -> Problem {
    if app.wrong_tokens.allows("") {
        let detail = "this token is not known; check it, or make one with `kinfolk token new`";
        return Problem::new(StatusCode::UNAUTHORIZED, "unknown_token", detail);
    }
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", "too many tokens that are not known; wait a second")
}

fn too_many() -> Response {
    let detail = "too many requests; wait a second, and list in larger pages";
    let mut response = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail).into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn challenge(problem: Problem) -> Response {
    let mut response = problem.into_response();
    if response.status() == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn is_for_programs(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}
