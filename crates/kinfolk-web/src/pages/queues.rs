//! Queues: how many tasks each has in which state, how long the first one waits, its limits, and who takes from it.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use kinfolk_core::held::HeldBy;
use kinfolk_core::inspect::{Filter, Stats};
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{KeyFilter, Queue, QueueName, State, Timestamp};

use super::address::Address;
use super::ask::Ask;
use super::frame::Frame;
use super::going::Names;
use super::minutes::Course;
use super::part::{Moment, Spark, words};
use super::pending::{self, Facts, Sums};
use super::span;
use super::tasks;
use super::{actions, render, show};
use crate::problem::Problem;
use crate::visit::Visit;

/// Tasks of a queue that its page shows.
const SHOWN: usize = 20;

#[derive(Template)]
#[template(path = "queues.html")]
struct Page {
    frame: Frame,
    heading: String,
    rows: Vec<Row>,
    one: Option<One>,
}

/// A queue in a table.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) href: String,
    pub(crate) tag: String,
    pub(crate) paused: Option<(String, Moment)>,
    pub(crate) pending: String,
    pub(crate) running: String,
    pub(crate) waiting: String,
    /// How many children run of so many that may, in percent; `None` without a limit.
    pub(crate) meter: Option<(u32, u64)>,
    pub(crate) spark: Option<Spark>,
    a_minute: String,
    in_line: String,
    not_due: String,
    held_up: (bool, String),
    pub(crate) first: Option<Moment>,
    limits: String,
    keeps: String,
    asks: Vec<Ask>,
    no_worker: bool,
}

/// What a page of one queue shows beside it.
struct One {
    at_work: Vec<tasks::Row>,
    held: Vec<pending::Row>,
    workers: Vec<(String, String, String)>,
    tasks_href: String,
}

/// `GET /queues`
pub(crate) async fn page(visit: Visit, address: Address) -> Response {
    show(&visit, list(&visit, &address, None)).await
}

/// `GET /queues/{name}`
pub(crate) async fn one(visit: Visit, address: Address, Path(name): Path<String>) -> Response {
    show(&visit, list(&visit, &address, Some(name))).await
}

async fn list(visit: &Visit, address: &Address, only: Option<String>) -> Result<Response, Problem> {
    let title = only.as_ref().map_or_else(|| "Queues".to_owned(), |name| format!("Queue {name}"));
    let frame = Frame::of(visit, "/queues", title).await?.live("overview").after(actions::done(address));
    let mut rows = rows(visit, &address.here, frame.now).await?;
    let mut one = None;
    if let Some(name) = only {
        let name = QueueName::new(&name)?;
        rows.retain(|row| row.name == name.as_str());
        if rows.is_empty() {
            return Err(Problem::not_found("queue", name));
        }
        one = Some(this(visit, &name, frame.now).await?);
    }
    let paused = rows.iter().filter(|row| row.paused.is_some()).count() as u64;
    let many = words::many(rows.len() as u64, "queue", "queues");
    let heading = match paused {
        0 => many,
        1 => format!("{many}, one is paused"),
        paused => format!("{many}, {} are paused", words::count(paused)),
    };
    render(&Page { frame, heading, rows, one })
}

/// All queues.
pub(crate) async fn rows(visit: &Visit, here: &str, now: Timestamp) -> Result<Vec<Row>, Problem> {
    let view = visit.view();
    let stats = view.stats().await?;
    let held = view.held(None).await?;
    let course = Course::of(visit, span::ONE_HOUR, now).await?;
    let first = |name: &QueueName| stats.first_in_line(&held).find(|(queue, _)| queue == name);
    let row = |queue: &Queue| {
        let own = || held.iter().filter(|held| held.queue == queue.name);
        let alone = own().any(|held| matches!(held.by, HeldBy::NoWorker { .. }));
        let class = if queue.paused_at.is_some() { "pending" } else { "completed" };
        Row {
            no_worker: alone,
            spark: course.spark(class, Some(&queue.name), |figures| figures.ended()),
            a_minute: course.a_minute(Some(&queue.name)),
            first: first(&queue.name).map(|(_, since)| Moment::lasting((*since).min(now), now)),
            ..Row::of(visit, queue, &stats, here, now, Sums::of(own()))
        }
    };
    Ok(view.queues().await?.iter().map(row).collect())
}

impl Row {
    fn of(visit: &Visit, queue: &Queue, stats: &Stats, here: &str, now: Timestamp, sums: Sums) -> Self {
        let count = |state: State| stats.tasks_in(Some(&queue.name), state);
        let policy = &queue.policy;
        let mut limits = Vec::new();
        limits.extend(policy.family_limit.map(|limit| words::many(u64::from(limit), "family", "families")));
        limits.extend(policy.child_limit.map(|limit| words::many(u64::from(limit), "child", "children")));
        let mut tag = Vec::new();
        if policy.family_limit == Some(1) {
            tag.push("serial".to_owned());
        }
        tag.extend(policy.fair.as_ref().map(|fair| format!("fair by {fair}")));
        let kept = |span: Option<std::time::Duration>| span.map_or_else(|| "for good".to_owned(), words::span);
        let (verb, words) =
            if queue.paused_at.is_some() { ("resume-queue", "Resume…") } else { ("pause-queue", "Pause…") };
        let ask = Ask::new(&visit.links, verb, words, here).field("queue", &queue.name);
        let by = queue.paused_by.as_ref().map(|by| format!(" by {}", words::short(by, 40))).unwrap_or_default();
        Self {
            name: queue.name.to_string(),
            href: visit.links.to(&format!("/queues/{}", words::encoded(queue.name.as_str()))),
            tag: tag.join(", "),
            paused: queue.paused_at.map(|since| (format!("paused{by}"), Moment::lasting(since, now))),
            pending: tasks::counted_short(count(State::Pending)),
            running: tasks::counted_short(count(State::Running)),
            waiting: tasks::counted_short(count(State::Waiting)),
            meter: policy
                .child_limit
                .filter(|limit| *limit > 0)
                .map(|limit| (limit, (count(State::Running).tasks * 100 / u64::from(limit)).min(100))),
            spark: None,
            a_minute: String::new(),
            in_line: words::count(sums.in_line),
            not_due: words::count(sums.not_due),
            held_up: (sums.held_up > 0, words::count(sums.held_up)),
            first: None,
            limits: if limits.is_empty() { "none".to_owned() } else { words::listed(&limits) },
            keeps: format!("{}, {}", kept(policy.retention.completed), kept(policy.retention.failed)),
            asks: if visit.may_act() { vec![ask] } else { Vec::new() },
            no_worker: false,
        }
    }
}

async fn this(visit: &Visit, name: &QueueName, now: Timestamp) -> Result<One, Problem> {
    let view = visit.view();
    let state = vec![State::Running, State::Waiting];
    let filter = Filter { queue: Some(name.clone()), state, limit: SHOWN, ..Filter::default() };
    let names = Names::of(visit).await?;
    let found = view.list(&filter).await?;
    let workers = view.workers().await?;
    let workers = workers.iter().filter(|worker| worker.queues.contains(name) && worker.lease_until > now);
    let (held, queues) = (view.held(Some(name)).await?, view.queues().await?);
    let keys = view.keys(&KeyFilter { blocking: true, limit: 100, ..KeyFilter::default() }).await?;
    let stats = view.stats().await?;
    let first = stats.first_in_line(&held).find(|(queue, _)| queue == name).map(|(_, since)| *since);
    let facts = Facts { held: &held, queues: &queues, keys: &keys, first };
    let takes = |worker: &WorkerView| {
        let commands = words::many(worker.commands.len() as u64, "command", "commands");
        (worker.name.clone(), commands, words::count(worker.running))
    };
    Ok(One {
        at_work: found.tasks.iter().map(|task| tasks::Row::of(task, &names, &visit.links, now)).collect(),
        held: pending::rows(facts, &visit.links, now).0,
        workers: workers.map(takes).collect(),
        tasks_href: visit.links.to(&format!("/tasks?queue={}", words::encoded(name.as_str()))),
    })
}
