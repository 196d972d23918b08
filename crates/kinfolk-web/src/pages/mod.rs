//! The pages, rendered on the server. All but liveness works without scripts; every state of a page is its address.
//!
//! A page is a template and the struct that fills it. What several pages show is a [`part`]; what a page asks for is read
//! through the caller's view; what it offers to do goes to [`actions`], which say how many and ask before they act.

mod actions;
mod address;
mod ask;
mod cron;
mod error;
mod errors;
mod failures;
mod family;
mod find;
mod frame;
mod going;
mod groups;
mod minutes;
mod now;
mod part;
mod pending;
mod query;
mod queues;
mod schedules;
mod span;
mod task;
mod tasks;
mod why;
mod workers;

use askama::Template;
use axum::Router;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};

use self::frame::Frame;
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

pub(crate) use self::address::addressed;
pub(crate) use self::error::not_here;

/// The routes of the pages.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/", get(now::page))
        .route("/find", get(find::go))
        .route("/tasks", get(tasks::page))
        .route("/tasks/{id}", get(task::page))
        .route("/families", get(tasks::families))
        .route("/families/{id}", get(family::page))
        .route("/failures", get(failures::page))
        .route("/errors", get(errors::page))
        .route("/groups", get(groups::page))
        .route("/queues", get(queues::page))
        .route("/queues/{name}", get(queues::one))
        .route("/workers", get(workers::page))
        .route("/schedules", get(schedules::page))
        .route("/schedules/{name}", get(schedules::one))
        .route("/keys", get(keys))
        .route("/actions/{verb}", post(actions::post))
}

/// The map of the keyboard.
#[derive(Template)]
#[template(path = "keys.html")]
struct Keys {
    frame: Frame,
}

async fn keys(visit: Visit) -> Response {
    show(&visit, async { render(&Keys { frame: Frame::of(&visit, "/keys", "Keys").await? }) }).await
}

/// A page, or a page that says what went wrong.
async fn show(visit: &Visit, page: impl Future<Output = Result<Response, Problem>>) -> Response {
    match page.await {
        Ok(page) => page,
        Err(problem) => error::page(visit, &problem),
    }
}

/// A rendered template.
fn render(template: &impl Template) -> Result<Response, Problem> {
    let text =
        template.render().map_err(|fault| Problem::unavailable(format!("the page can't be rendered: {fault}")))?;
    Ok(Html(text).into_response())
}
