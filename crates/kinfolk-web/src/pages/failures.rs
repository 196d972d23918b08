//! Failures by cause, with what can be done about them.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{State, Task, TaskId};

use super::frame::Frame;
use super::part::{Moment, Named, words};
use super::place::Place;
use super::{actions, render, show};
use crate::problem::Problem;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "failures.html")]
struct Page {
    frame: Frame,
    heading: String,
    causes: Vec<Cause>,
}

/// Tasks that failed for the same reason.
pub(crate) struct Cause {
    pub(crate) count: String,
    pub(crate) message: String,
    pub(crate) name: Named,
    pub(crate) kind: &'static str,
    pub(crate) last: Moment,
    pub(crate) first: Moment,
    pub(crate) href: String,
    pub(crate) ids: Vec<TaskId>,
}

/// `GET /failures`
pub(crate) async fn page(visit: Visit, place: Place) -> Response {
    show(&visit, list(&visit, &place)).await
}

async fn list(visit: &Visit, place: &Place) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/failures", "Failures").await?.live("overview").after(actions::done(place));
    let causes = causes(visit, frame.now).await?;
    let heading = words::many(causes.len() as u64, "cause", "causes");
    render(&Page { frame, heading, causes })
}

/// What the latest failures have to say.
pub(crate) async fn causes(visit: &Visit, now: kinfolk_core::Timestamp) -> Result<Vec<Cause>, Problem> {
    let filter = Filter { state: vec![State::Failed], limit: PAGE_MAX, ..Filter::default() };
    let found = visit.view().list(&filter).await?.tasks;
    let mut by: BTreeMap<(String, String), Vec<&Task>> = BTreeMap::new();
    for task in &found {
        let message = task.failure.as_ref().map(|failure| words::short(&failure.message, 200)).unwrap_or_default();
        by.entry((task.command.to_string(), message)).or_default().push(task);
    }
    let mut causes: Vec<(usize, Cause)> = by
        .into_iter()
        .map(|((command, message), tasks)| {
            let last = tasks[0];
            let first = tasks[tasks.len() - 1];
            let cause = Cause {
                count: words::count(tasks.len() as u64),
                name: Named::command(&last.command),
                kind: last.failure.as_ref().map_or("", |failure| failure.kind.as_str()),
                last: Moment::ago(last.finished_at.unwrap_or(now), now),
                first: Moment::ago(first.finished_at.unwrap_or(now), now),
                href: visit.links.to(&format!(
                    "/tasks?state=failed&command={}&failure_text={}",
                    words::encoded(&command),
                    words::encoded(&message)
                )),
                ids: tasks.iter().map(|task| task.id).take(200).collect(),
                message,
            };
            (tasks.len(), cause)
        })
        .collect();
    causes.sort_by_key(|(many, _)| std::cmp::Reverse(*many));
    Ok(causes.into_iter().map(|(_, cause)| cause).collect())
}
