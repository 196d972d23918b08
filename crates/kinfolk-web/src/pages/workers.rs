//! Workers: who is alive, what they take and run, and when their leases end.

use askama::Template;
use axum::response::Response;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{State, Timestamp};

use super::frame::Frame;
use super::part::{Moment, words};
use super::place::Place;
use super::{render, show};
use crate::problem::Problem;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "workers.html")]
struct Page {
    frame: Frame,
    heading: String,
    rows: Vec<Row>,
    pending: u64,
    queues: Vec<String>,
}

/// A worker in a table.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) alive: bool,
    pub(crate) running: String,
    pub(crate) lease: Moment,
    started: Moment,
    queues: String,
    commands: String,
}

impl Row {
    /// The row of a worker.
    pub(crate) fn of(worker: &WorkerView, now: Timestamp) -> Self {
        let alive = worker.lease_until > now;
        let names = |names: Vec<&str>| match names.len() {
            0 => "none".to_owned(),
            1..=4 => names.join(", "),
            many => format!("{} and {} more", names[..3].join(", "), many - 3),
        };
        Self {
            id: worker.id.to_string(),
            name: worker.name.clone(),
            alive,
            running: words::count(worker.running),
            lease: if alive { Moment::until(worker.lease_until, now) } else { Moment::ago(worker.lease_until, now) },
            started: Moment::ago(worker.started_at, now),
            queues: names(worker.queues.iter().map(AsRef::as_ref).collect()),
            commands: names(worker.commands.iter().map(AsRef::as_ref).collect()),
        }
    }
}

/// `GET /workers`
pub(crate) async fn page(visit: Visit, _place: Place) -> Response {
    show(&visit, list(&visit)).await
}

async fn list(visit: &Visit) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/workers", "Workers").await?.live("overview");
    let rows: Vec<Row> = visit.view().workers().await?.iter().map(|worker| Row::of(worker, frame.now)).collect();
    let stats = visit.view().stats().await?;
    let pending = stats.counts.iter().filter(|count| count.state == State::Pending).map(|count| count.tasks).sum();
    let mut queues: Vec<String> = stats
        .counts
        .iter()
        .filter(|count| count.state == State::Pending)
        .map(|count| count.queue.to_string())
        .collect();
    queues.dedup();
    let alive = rows.iter().filter(|row| row.alive).count() as u64;
    let lost = rows.len() as u64 - alive;
    let heading = match lost {
        0 => format!("{} alive", words::count(alive)),
        lost => format!("{} alive, {} lost", words::count(alive), words::count(lost)),
    };
    render(&Page { frame, heading, rows, pending, queues })
}
