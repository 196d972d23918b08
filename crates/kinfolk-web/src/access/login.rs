//! The log-in of a browser: the token, once, for a cookie.

use askama::Template;
use axum::extract::{Form, Query, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{AppendHeaders, Html, IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Deserialize;

use super::SessionKey;
use crate::app::Shared;
use crate::link::Links;
use crate::problem::Problem;

/// The page that asks for a token.
#[derive(Template)]
#[template(path = "login.html")]
struct Login {
    links: Links,
    /// Where to go on.
    next: String,
    /// What was wrong with the last try.
    trouble: String,
}

#[derive(Deserialize)]
struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct Shown {
    token: String,
    #[serde(default)]
    next: String,
}

pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/login", get(ask).post(log_in)).route("/logout", post(log_out))
}

/// The address of the log-in, from which it goes on to where someone wanted to go.
pub(super) fn address(links: &Links, wanted: &Uri) -> String {
    let wanted = wanted.path_and_query().map_or("/", |path| path.as_str());
    let encoded: String = wanted
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect();
    links.to(&format!("/login?next={encoded}"))
}

async fn ask(Extension(links): Extension<Links>, Query(Next { next }): Query<Next>) -> Response {
    page(StatusCode::OK, links, next, String::new())
}

async fn log_in(
    State(app): State<Shared>,
    Extension(links): Extension<Links>,
    headers: HeaderMap,
    Form(shown): Form<Shown>,
) -> Response {
    let Some((token, _)) = app.config.tokens.who(shown.token.trim()) else {
        let problem = super::unknown_token(&app);
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::UNAUTHORIZED);
        return page(status, links, shown.next, problem.detail);
    };
    let secure = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let cookie = app.session.cookie(&token, &links.to("/"), secure);
    (AppendHeaders([(SET_COOKIE, cookie)]), Redirect::to(&links.to(own(&shown.next)))).into_response()
}

async fn log_out(Extension(links): Extension<Links>) -> Response {
    (AppendHeaders([(SET_COOKIE, SessionKey::none(&links.to("/")))]), Redirect::to(&links.to("/login"))).into_response()
}

/// A path of this application; anything else would lead elsewhere.
fn own(next: &str) -> &str {
    let path =
        next.starts_with('/') && !next.starts_with("//") && !next.contains('\\') && !next.contains(char::is_control);
    if path { next } else { "/" }
}

fn page(status: StatusCode, links: Links, next: String, trouble: String) -> Response {
    match (Login { links, next, trouble }).render() {
        Ok(text) => (status, Html(text)).into_response(),
        Err(fault) => Problem::unavailable(format!("the page can't be rendered: {fault}")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_leads_to_pages_of_this_application_only() {
        for next in ["https://evil.example", "//evil.example", "/\\evil.example", "", "tasks", "/a\r\nb"] {
            assert_eq!(own(next), "/", "{next:?}");
        }
        assert_eq!(own("/tasks?state=failed"), "/tasks?state=failed");
        let wanted: Uri = "/tasks?state=failed&x=%41".parse().unwrap();
        assert_eq!(address(&Links::default(), &wanted), "/login?next=/tasks%3Fstate%3Dfailed%26x%3D%2541");
    }
}
