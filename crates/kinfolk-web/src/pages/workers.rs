//! Workers: who is alive, what they take and run, and when their leases end.

use askama::Template;
use axum::response::Response;
use kinfolk_core::Timestamp;
use kinfolk_core::held::{Held, HeldBy};
use kinfolk_core::worker::WorkerView;

use super::frame::Frame;
use super::part::{Moment, Named, words};
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
    alone: Vec<Alone>,
    pending: String,
    queues: Vec<String>,
}

/// A command that no live worker handles, while tasks of it wait.
struct Alone {
    id: String,
    name: Named,
    queue: String,
    waits: String,
    href: String,
    start: String,
}

/// A worker in a table.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) alive: bool,
    pub(crate) runs: u64,
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
            runs: worker.running,
            running: words::count(worker.running),
            lease: if alive { Moment::until(worker.lease_until, now) } else { Moment::ago(worker.lease_until, now) },
            started: Moment::ago(worker.started_at, now),
            queues: names(worker.queues.iter().map(AsRef::as_ref).collect()),
            commands: names(worker.commands.iter().map(AsRef::as_ref).collect()),
        }
    }
}

impl Alone {
    fn of(visit: &Visit, held: &Held) -> Option<Self> {
        let HeldBy::NoWorker { command } = &held.by else { return None };
        let (command_word, queue_word) = (words::encoded(command.as_str()), words::encoded(held.queue.as_str()));
        Some(Self {
            id: format!("{} {command}", held.queue),
            name: Named::command(command),
            queue: held.queue.to_string(),
            waits: words::many(held.tasks, "waits", "wait"),
            href: visit.links.to(&format!("/tasks?state=pending&command={command_word}&queue={queue_word}")),
            start: format!("kinfolk work --queue {}", held.queue),
        })
    }
}

/// `GET /workers`
pub(crate) async fn page(visit: Visit, _place: Place) -> Response {
    show(&visit, list(&visit)).await
}

async fn list(visit: &Visit) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/workers", "Workers").await?.live("overview");
    let rows: Vec<Row> = visit.view().workers().await?.iter().map(|worker| Row::of(worker, frame.now)).collect();
    let held = visit.view().held(None).await?;
    let pending = words::many(held.iter().map(|held| held.tasks).sum(), "task waits", "tasks wait");
    let mut queues: Vec<String> = held.iter().map(|held| held.queue.to_string()).collect();
    queues.dedup();
    let alone = held.iter().filter_map(|held| Alone::of(visit, held)).collect();
    let alive = rows.iter().filter(|row| row.alive).count() as u64;
    let lost = rows.len() as u64 - alive;
    let running: u64 = rows.iter().filter(|row| row.alive).map(|row| row.runs).sum();
    let lost = if lost == 0 { String::new() } else { format!(", {} lost", words::count(lost)) };
    let heading = format!("{} alive{lost}, {} running", words::count(alive), words::many(running, "task", "tasks"));
    render(&Page { frame, heading, rows, alone, pending, queues })
}
