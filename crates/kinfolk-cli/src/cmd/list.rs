//! `kinfolk list`: tasks that match a filter, page by page, or how many there are.

use std::collections::BTreeMap;

use kinfolk_core::filter::{ByCommand, Filter, Order};
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX};
use kinfolk_core::{Gate, State, Task, TaskId, Timestamp};

use serde_json::json;

use super::cause::cause;
use super::filter_options::{self, FilterOptions};
use crate::fault::Fault;
use crate::group::keys_words;
use crate::out::durable::{awaited, report_words};
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::out::view::TaskView;
use crate::out::words;
use crate::session::Session;

/// Failed families of a page whose cause is looked for: each costs a few reads.
const CAUSES: usize = 50;

/// `kinfolk list`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    which: FilterOptions,

    /// The newest first, or the oldest
    #[arg(long, value_name = "ORDER", default_value = "newest")]
    order: Order,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=PAGE_MAX as u64))]
    limit: u64,

    /// Only tasks with a smaller number
    #[arg(long, value_name = "ID")]
    before: Option<TaskId>,

    /// Only tasks with a larger number
    #[arg(long, value_name = "ID")]
    after: Option<TaskId>,

    /// Say how many there are, and don't list them
    #[arg(long)]
    count: bool,

    /// Say how many there are of each command, and don't list them
    #[arg(long, conflicts_with = "count")]
    count_by_command: bool,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let filter = Filter {
        order: args.order,
        before: args.before,
        after: args.after,
        limit: usize::try_from(args.limit).unwrap_or(PAGE_MAX),
        ..args.which.filter(store.as_ref()).await?
    };
    if args.count {
        let found = store.count(&filter).await?;
        return session.out.say(&found, words::matches(&found));
    }
    if args.count_by_command {
        return by_command(&store.count_by_command(&filter).await?, session);
    }
    let page = store.list(&filter).await?;
    let now = store.now().await?;
    let views: Vec<TaskView<'_>> = page.tasks.iter().map(TaskView::new).collect();
    let causes = if session.out.json() { BTreeMap::new() } else { causes(&page.tasks, store.as_ref()).await? };
    let none = if page.next.is_some() { "no such tasks so far" } else { "no such tasks" };
    session.out.list(&views, none, || table_of(&page.tasks, &causes, now))?;
    if let Some(next) = page.next {
        session.out.hint(format_args!("more: {}", session.command_line(&next_page(filter, next))));
    }
    Ok(())
}

fn by_command(found: &ByCommand, session: &Session) -> Result<(), Fault> {
    let counts: Vec<_> =
        found.counts.iter().map(|(command, tasks)| json!({"command": command, "tasks": tasks})).collect();
    session.out.list(&counts, "no such tasks", || {
        let mut table = Table::new(&["command", "tasks"]).numbers(&[1]);
        for (command, tasks) in &found.counts {
            table.row(vec![table::text(command), table::number(*tasks)]);
        }
        table
    })?;
    if found.more {
        session.out.hint(format_args!("there may be more: {LOOK_MAX} tasks are counted at most"));
    }
    Ok(())
}

fn next_page(filter: Filter, next: TaskId) -> String {
    let filter = filter.next_page(next);
    let mut words = vec!["list".to_owned()];
    words.extend(filter_options::words(&filter));
    words.extend((filter.order == Order::Oldest).then(|| "--order oldest".to_owned()));
    words.push(format!("--limit {}", filter.limit));
    words.extend(filter.before.map(|id| format!("--before {id}")));
    words.extend(filter.after.map(|id| format!("--after {id}")));
    words.join(" ")
}

/// The failures at the bottom of the failed families, for so many of them.
async fn causes(tasks: &[Task], store: &dyn kinfolk_core::Store) -> Result<BTreeMap<TaskId, String>, Fault> {
    let mut causes = BTreeMap::new();
    for task in tasks {
        if causes.len() < CAUSES
            && let Some(cause) = cause(task, store).await?
        {
            causes.insert(task.id, cause);
        }
    }
    Ok(causes)
}

fn table_of(tasks: &[Task], causes: &BTreeMap<TaskId, String>, now: Timestamp) -> Table {
    let mut table = Table::new(&["id", "command", "queue", "state", "attempt", "when", "note"]).numbers(&[0]);
    for task in tasks {
        table.row(vec![
            table::text(task.id),
            table::text(words::named(task)),
            table::text(&task.queue),
            table::state(task.state, words::gate_note(task)),
            table::text(format_args!("{}/{}", task.present_attempt(), task.max_attempts)),
            table::text(words::when(task, now)),
            table::dim(note(task, causes.get(&task.id), now)),
        ]);
    }
    table
}

fn note(task: &Task, cause: Option<&String>, now: Timestamp) -> String {
    match (&task.failure, task.cancel_requested_at) {
        (_, Some(_)) if !task.state.is_terminal() => "cancel requested".to_owned(),
        _ if task.strikes > 0 && !task.state.is_terminal() => struck(task, now),
        (Some(failure), _) => {
            // A failure comes before the parents that failed because of it.
            let cause = cause.map(|cause| format!("{cause}; ")).unwrap_or_default();
            table::short(&format!("{}: {cause}{}", failure.kind, failure.message), 60)
        }
        (None, _) if task.is_suspended() => {
            let report = task.report.as_ref().map(|report| format!("; {}", report_words(report)));
            awaited(task, now) + &report.unwrap_or_default()
        }
        (None, _) if task.state == State::Waiting => "for its children".to_owned(),
        (None, _) => {
            let unique = task.unique_key.as_deref().map(|key| table::short(key, 40));
            let keys = Some(keys_words(&task.keys)).filter(|keys| !keys.is_empty());
            unique.into_iter().chain(keys.map(|keys| table::short(&keys, 60))).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Of a suspect: its strikes, and when it is tried again.
fn struck(task: &Task, now: Timestamp) -> String {
    let words = words::suspect_words(task);
    match task.gate {
        Some(Gate::Time) => format!("{words}, next try {}", relative(now, task.due)),
        _ => words,
    }
}
