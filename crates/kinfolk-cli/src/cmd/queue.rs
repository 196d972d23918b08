//! `kinfolk queue list|set`, `kinfolk pause` and `kinfolk resume`.

use clap::Subcommand;
use kinfolk_core::{Policy, Queue, QueueName, State, Store, Timestamp};
use serde_json::json;

use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::out::view::QueueView;
use crate::session::Session;
use crate::span::{self, Keep};

/// `kinfolk queue …`
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// List the queues
    List,
    /// Make a queue, or change how long it keeps finished tasks
    Set(Set),
}

/// `kinfolk queue set NAME`
#[derive(clap::Args, Debug)]
pub(crate) struct Set {
    /// Its name
    name: QueueName,

    /// How long completed tasks are kept: a span like 7d, or forever
    #[arg(long, value_name = "SPAN", value_parser = span::parse_keep, allow_hyphen_values = true)]
    keep_completed: Option<Keep>,

    /// How long failed tasks are kept
    #[arg(long, value_name = "SPAN", value_parser = span::parse_keep, allow_hyphen_values = true)]
    keep_failed: Option<Keep>,

    /// How long cancelled tasks are kept
    #[arg(long, value_name = "SPAN", value_parser = span::parse_keep, allow_hyphen_values = true)]
    keep_cancelled: Option<Keep>,
}

/// `kinfolk pause QUEUE`
#[derive(clap::Args, Debug)]
pub(crate) struct Name {
    /// Its name
    queue: QueueName,
}

/// Runs `kinfolk queue …`.
pub(crate) async fn run(verb: Verb, session: &Session) -> Result<(), Fault> {
    match verb {
        Verb::List => list(session).await,
        Verb::Set(set) => set.run(session).await,
    }
}

/// Runs `kinfolk pause`.
pub(crate) async fn pause(name: Name, session: &Session) -> Result<(), Fault> {
    session.open().await?.pause(&name.queue).await?;
    session.out.say(
        &json!({"queue": name.queue, "paused": true}),
        format!("queue {} is paused; what runs goes on", name.queue),
    )
}

/// Runs `kinfolk resume`.
pub(crate) async fn resume(name: Name, session: &Session) -> Result<(), Fault> {
    session.open().await?.resume(&name.queue).await?;
    session.out.say(&json!({"queue": name.queue, "paused": false}), format!("queue {} is taken from again", name.queue))
}

impl Set {
    async fn run(self, session: &Session) -> Result<(), Fault> {
        let store = session.open_or_create().await?;
        let known = find(store.as_ref(), &self.name).await?;
        let mut policy = known.map_or_else(Policy::default, |queue| queue.policy);
        let retention = &mut policy.retention;
        let set = |field: &mut Option<std::time::Duration>, keep: Option<Keep>| {
            if let Some(Keep(span)) = keep {
                *field = span;
            }
        };
        set(&mut retention.completed, self.keep_completed);
        set(&mut retention.failed, self.keep_failed);
        set(&mut retention.cancelled, self.keep_cancelled);
        store.set_queue(&self.name, &policy).await?;
        let retention = policy.retention;
        let queue = Queue { name: self.name.clone(), paused_at: None, policy };
        let queue = find(store.as_ref(), &self.name).await?.unwrap_or(queue);
        session.out.say(
            &QueueView::from(&queue),
            format!(
                "queue {} keeps completed tasks {}, failed ones {}, cancelled ones {}",
                queue.name,
                keep(retention.completed),
                keep(retention.failed),
                keep(retention.cancelled)
            ),
        )
    }
}

async fn find(store: &dyn Store, name: &QueueName) -> Result<Option<Queue>, Fault> {
    Ok(store.queues().await?.into_iter().find(|queue| queue.name == *name))
}

async fn list(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let queues = store.queues().await?;
    let stats = store.stats().await?;
    let views: Vec<QueueView<'_>> = queues.iter().map(QueueView::from).collect();
    session.out.list(&views, "no queues yet: register a command, or `kinfolk queue set NAME`", || {
        let mut table = Table::new(&["queue", "takes", "pending", "running", "completed", "failed", "cancelled"]);
        for queue in &queues {
            let count = |state| {
                let of = stats.counts.iter().filter(|count| count.queue == queue.name && count.state == state);
                of.map(|count| count.tasks).sum::<u64>()
            };
            table.row(vec![
                table::text(&queue.name),
                takes(queue, stats.now),
                table::number_of(State::Pending, count(State::Pending)),
                table::number_of(State::Running, count(State::Running)),
                kept(count(State::Completed), queue.policy.retention.completed),
                kept(count(State::Failed), queue.policy.retention.failed),
                kept(count(State::Cancelled), queue.policy.retention.cancelled),
            ]);
        }
        table
    })
}

fn takes(queue: &Queue, now: Timestamp) -> comfy_table::Cell {
    match queue.paused_at {
        Some(since) => table::text(format_args!("paused {}", relative(now, since))).fg(comfy_table::Color::Yellow),
        None => table::text("yes"),
    }
}

fn kept(count: u64, span: Option<std::time::Duration>) -> comfy_table::Cell {
    table::text(format_args!("{count} (kept {})", keep(span)))
}

fn keep(span: Option<std::time::Duration>) -> String {
    span.map_or_else(|| "forever".to_owned(), span::show)
}
