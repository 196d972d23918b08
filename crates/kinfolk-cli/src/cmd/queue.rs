//! `kinfolk queue list|set|pause|resume`, `kinfolk pause` and `kinfolk resume`.

use clap::Subcommand;
use kinfolk_core::{GroupName, InputError, Policy, Queue, QueueName, State, Store, StoreError, Timestamp};

use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::out::view::QueueView;
use crate::out::words;
use crate::session::{Session, login_name};
use crate::span::{self, Keep};

/// `kinfolk queue …`
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// List the queues
    List,
    /// Make a queue, or change its limits and how long it keeps finished tasks
    Set(Set),
    /// Pause the queue: workers claim no more of its tasks, running tasks go on
    Pause(Pause),
    /// Resume the queue
    Resume(Name),
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

    /// Families at work at once, across all workers: 1 runs top-level tasks strictly one after another; or none
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    family_limit: Option<Limit>,

    /// Children running at once, over all families and workers; 0 takes no children; or none
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    child_limit: Option<Limit>,

    /// Generations that families of its tasks may have below the root
    #[arg(long, value_name = "N")]
    depth_limit: Option<u16>,

    /// Values of this key take turns among tasks of one priority; or none: first come, first served
    #[arg(long, value_name = "GROUP", value_parser = parse_fair)]
    fair: Option<Fair>,
}

/// A limit that was given: a number, or none at all.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<u32>);

fn parse_limit(text: &str) -> Result<Limit, InputError> {
    match text {
        "none" => Ok(Limit(None)),
        number => match number.parse() {
            Ok(number) => Ok(Limit(Some(number))),
            Err(_) => Err(InputError::Other(format!("not a limit: {text:?}; write a number, or none"))),
        },
    }
}

/// The key whose values are to take turns, or none at all.
#[derive(Clone, Debug)]
struct Fair(Option<GroupName>);

fn parse_fair(text: &str) -> Result<Fair, InputError> {
    if text == "none" { Ok(Fair(None)) } else { GroupName::new(text).map(|name| Fair(Some(name))) }
}

/// `kinfolk pause QUEUE`
#[derive(clap::Args, Debug)]
pub(crate) struct Pause {
    /// Its name
    queue: QueueName,

    /// The name of the operator that pauses it; your login name by default
    #[arg(long, value_name = "WHO")]
    by: Option<String>,
}

/// `kinfolk resume QUEUE`
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
        Verb::Pause(args) => pause(args, session).await,
        Verb::Resume(name) => resume(name, session).await,
    }
}

/// Runs `kinfolk pause`.
pub(crate) async fn pause(Pause { queue, by }: Pause, session: &Session) -> Result<(), Fault> {
    let by = by.or_else(login_name).filter(|by| !by.is_empty());
    let store = session.open().await?;
    store.pause(&queue, by.as_deref()).await?;
    let paused = known(store.as_ref(), &queue).await?;
    session.out.say(&QueueView::from(&paused), format!("queue {queue} paused; running tasks go on"))
}

/// Runs `kinfolk resume`.
pub(crate) async fn resume(name: Name, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    store.resume(&name.queue).await?;
    let resumed = known(store.as_ref(), &name.queue).await?;
    session.out.say(&QueueView::from(&resumed), format!("queue {} resumed", name.queue))
}

impl Set {
    async fn run(self, session: &Session) -> Result<(), Fault> {
        let store = session.open_or_create().await?;
        let known = find(store.as_ref(), &self.name).await?;
        // A misspelt name makes a queue: that is said.
        let word = if known.is_some() { "queue" } else { "new queue" };
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
        if let Some(Limit(limit)) = self.family_limit {
            policy.family_limit = limit;
        }
        if let Some(Limit(limit)) = self.child_limit {
            policy.child_limit = limit;
        }
        policy.depth_limit = self.depth_limit.unwrap_or(policy.depth_limit);
        if let Some(Fair(name)) = self.fair {
            policy.fair = name;
        }
        policy.check()?;
        store.set_queue(&self.name, &policy).await?;
        if let Some(name) = &policy.fair
            && store.groups().await?.iter().all(|view| view.group.name != *name)
        {
            session.out.hint(format_args!(
                "no command declares a group {name}: no task can have a key in it, and so none waits for its turn"
            ));
        }
        let retention = policy.retention;
        let queue = Queue { name: self.name.clone(), paused_at: None, paused_by: None, policy };
        let queue = find(store.as_ref(), &self.name).await?.unwrap_or(queue);
        session.out.say(
            &QueueView::from(&queue),
            format!(
                "{word} {} {}; it keeps completed tasks {}, failed ones {}, cancelled ones {}",
                queue.name,
                limits(&queue.policy),
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

/// A queue that must be there.
async fn known(store: &dyn Store, name: &QueueName) -> Result<Queue, Fault> {
    Ok(find(store, name).await?.ok_or_else(|| StoreError::not_found("queue", name))?)
}

async fn list(session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let queues = store.queues().await?;
    let stats = store.stats().await?;
    let views: Vec<QueueView<'_>> = queues.iter().map(QueueView::from).collect();
    session.out.list(&views, "no queues yet: register a command, or `kinfolk queue set NAME`", || {
        let mut table = Table::new(&[
            "queue",
            "takes",
            "limits",
            "pending",
            "running",
            "waiting",
            "completed",
            "failed",
            "cancelled",
        ]);
        for queue in &queues {
            let count = |state| stats.tasks_in(Some(&queue.name), state).tasks;
            table.row(vec![
                table::text(&queue.name),
                takes(queue, stats.now),
                table::text(short_limits(&queue.policy)),
                table::number_of(State::Pending, count(State::Pending)),
                table::number_of(State::Running, count(State::Running)),
                table::number_of(State::Waiting, count(State::Waiting)),
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
        Some(since) => {
            let by = queue.paused_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
            table::text(format_args!("paused {}{by}", relative(now, since))).fg(comfy_table::Color::Yellow)
        }
        None => table::text("yes"),
    }
}

/// How its families are held back, as a sentence.
fn limits(policy: &Policy) -> String {
    let families = match policy.family_limit {
        None => "works on any number of families".to_owned(),
        Some(1) => "works on 1 family at a time".to_owned(),
        Some(limit) => format!("works on {limit} families at a time"),
    };
    let children = match policy.child_limit {
        None => "runs any number of children".to_owned(),
        Some(0) => "takes no children".to_owned(),
        Some(limit) => format!("runs {} at a time", words::children(limit.into())),
    };
    let fair = policy.fair.as_ref().map(|name| format!("; keys of {name} take turns")).unwrap_or_default();
    format!("{families}, {children}, and lets families grow {} deep{fair}", policy.depth_limit)
}

/// The same in a few letters, without what is as usual.
fn short_limits(policy: &Policy) -> String {
    let mut limits = Vec::new();
    limits.extend(policy.family_limit.map(|limit| format!("family {limit}")));
    limits.extend(policy.child_limit.map(|limit| format!("child {limit}")));
    if policy.depth_limit != Policy::default().depth_limit {
        limits.push(format!("depth {}", policy.depth_limit));
    }
    limits.extend(policy.fair.as_ref().map(|name| format!("fair {name}")));
    if limits.is_empty() { "-".to_owned() } else { limits.join(", ") }
}

fn kept(count: u64, span: Option<std::time::Duration>) -> comfy_table::Cell {
    table::text(format_args!("{count} (kept {})", keep(span)))
}

fn keep(span: Option<std::time::Duration>) -> String {
    span.map_or_else(|| "forever".to_owned(), span::show)
}
