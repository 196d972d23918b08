//! Workers: who is alive, what they take and run, and when their leases end.

use std::collections::BTreeMap;

use askama::Template;
use axum::response::Response;
use kinfolk_core::Timestamp;
use kinfolk_core::held::{Held, HeldBy};
use kinfolk_core::worker::WorkerView;

use super::address::Address;
use super::frame::Frame;
use super::part::{Moment, Named, words};
use super::{render, show};
use crate::problem::Problem;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "workers.html")]
struct Page {
    frame: Frame,
    heading: String,
    rows: Vec<Row>,
    versions: Vec<Version>,
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

/// A version that live workers say.
struct Version {
    name: String,
    workers: String,
    since: Moment,
}

/// A worker in a table.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// Others that do the same started later, with another version.
    pub(crate) older: bool,
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
    fn of(worker: &WorkerView, now: Timestamp) -> Self {
        let alive = worker.lease_until > now;
        let names = |names: Vec<&str>| match names.len() {
            0 => "none".to_owned(),
            1..=4 => names.join(", "),
            many => format!("{} and {} more", names[..3].join(", "), many - 3),
        };
        Self {
            id: worker.id.to_string(),
            name: worker.name.clone(),
            version: worker.version.clone(),
            older: false,
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

/// All workers as rows, oldest first. One is older when a live worker that handles a command of its own started later and says
/// another version.
pub(crate) fn rows(workers: &[WorkerView], now: Timestamp) -> Vec<Row> {
    let is_older = |worker: &WorkerView| {
        !worker.version.is_empty()
            && workers.iter().any(|other| {
                other.lease_until > now
                    && other.started_at > worker.started_at
                    && !other.version.is_empty()
                    && other.version != worker.version
                    && other.commands.iter().any(|command| worker.commands.contains(command))
            })
    };
    workers.iter().map(|worker| Row { older: is_older(worker), ..Row::of(worker, now) }).collect()
}

/// Since when each version is there, as far as its live workers tell, the newest first.
fn versions(workers: &[WorkerView], now: Timestamp) -> Vec<Version> {
    let mut since: BTreeMap<&str, (Timestamp, u64)> = BTreeMap::new();
    for worker in workers.iter().filter(|worker| worker.lease_until > now && !worker.version.is_empty()) {
        let (first, many) = since.entry(worker.version.as_str()).or_insert((worker.started_at, 0));
        (*first, *many) = ((*first).min(worker.started_at), *many + 1);
    }
    let mut versions: Vec<_> = since.into_iter().collect();
    versions.sort_by_key(|(_, (first, _))| std::cmp::Reverse(*first));
    let version = |(name, (first, many)): (&str, (Timestamp, u64))| Version {
        name: name.to_owned(),
        workers: words::many(many, "worker", "workers"),
        since: Moment::ago(first, now),
    };
    versions.into_iter().map(version).collect()
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
pub(crate) async fn page(visit: Visit, _address: Address) -> Response {
    show(&visit, list(&visit)).await
}

async fn list(visit: &Visit) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/workers", "Workers").await?.live("overview");
    let workers = visit.view().workers().await?;
    let rows = rows(&workers, frame.now);
    let versions = versions(&workers, frame.now);
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
    render(&Page { frame, heading, rows, versions, alone, pending, queues })
}
