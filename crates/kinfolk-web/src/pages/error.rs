//! Pages that say what went wrong, and what to do about it.

use askama::Template;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::frame::Frame;
use crate::problem::{Problem, no_such_page};
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "error.html")]
struct Page<'a> {
    frame: Frame,
    title: &'a str,
    detail: &'a str,
    shape: &'static str,
    class: &'static str,
    is_away: bool,
}

/// The page of a problem, with its status.
pub(crate) fn page(visit: &Visit, problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let (title, shape, class) = match problem.status {
        404 => ("This is not here", "s-look", "pending"),
        400 | 413 | 422 => ("This can't be looked for", "s-alert", "held"),
        401 | 403 => ("You may not do this", "s-person", "held"),
        409 => ("Nothing was done", "s-alert", "held"),
        503 => ("The database does not answer", "s-lost", "failed"),
        _ => ("Something went wrong", "s-failed", "failed"),
    };
    let frame = Frame::bare(visit, "", title);
    let is_away = problem.status == 503;
    let page = Page { frame, title, detail: &problem.detail, shape, class, is_away };
    match page.render() {
        Ok(text) => (status, axum::response::Html(text)).into_response(),
        Err(_) => problem.clone().into_response(),
    }
}

/// What is at no address: a page for a browser, a problem document for a program.
pub(crate) async fn not_here(visit: Visit, request: Request) -> Response {
    let wants = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let is_page = wants.contains("text/html") && !request.uri().path().starts_with("/api/");
    let problem = no_such_page(request).await;
    if is_page { page(&visit, &problem) } else { problem.into_response() }
}
