//! `kinfolk list`: tasks, newest first, page by page.

use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{CommandName, QueueName, State, Task, TaskId, Timestamp};

use crate::fault::Fault;
use crate::group::keys_words;
use crate::out::durable::{awaited, is_suspended, report_words};
use crate::out::table::{self, Table};
use crate::out::view::TaskView;
use crate::out::words;
use crate::session::{Session, quoted};

/// `kinfolk list`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// In this state: pending, running, waiting, completed, failed or cancelled; may be given several times
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<State>,

    /// Of this command
    #[arg(long, value_name = "NAME")]
    command: Option<CommandName>,

    /// On this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<QueueName>,

    /// Holding, or having held, this unique key
    #[arg(long, value_name = "KEY")]
    unique: Option<String>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=PAGE_MAX as u64))]
    limit: u64,

    /// Go on after this task: the last one of the page before
    #[arg(long, value_name = "ID")]
    before: Option<TaskId>,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    args.must_exist(store.as_ref()).await?;
    let filter = Filter {
        states: args.state.clone(),
        command: args.command.clone(),
        queue: args.queue.clone(),
        unique_key: args.unique.clone(),
        before: args.before,
        limit: usize::try_from(args.limit).unwrap_or(PAGE_MAX),
    };
    let page = store.list(&filter).await?;
    let now = store.now().await?;
    let views: Vec<TaskView<'_>> = page.tasks.iter().map(TaskView::new).collect();
    session.out.list(&views, "no such tasks", || table_of(&page.tasks, now))?;
    if let Some(next) = page.next {
        session.out.hint(format_args!("more: {}", session.command_line(&args.next_page(next))));
    }
    Ok(())
}

impl Args {
    /// A misspelt command or queue is an error, not an empty list.
    async fn must_exist(&self, store: &dyn kinfolk_core::Store) -> Result<(), Fault> {
        if let Some(name) = &self.command
            && !store.commands().await?.iter().any(|known| known.name == *name)
        {
            return Err(
                kinfolk_core::StoreError::not_found("command", format!("{name}; see `kinfolk commands`")).into()
            );
        }
        if let Some(name) = &self.queue
            && !store.queues().await?.iter().any(|known| known.name == *name)
        {
            return Err(
                kinfolk_core::StoreError::not_found("queue", format!("{name}; see `kinfolk queue list`")).into()
            );
        }
        Ok(())
    }

    fn next_page(&self, next: TaskId) -> String {
        let mut words = vec!["list".to_owned()];
        let mut add = |option: &str, value: &str| words.extend([format!("--{option}"), quoted(value)]);
        if !self.state.is_empty() {
            add("state", &self.state.iter().map(|state| state.as_str()).collect::<Vec<_>>().join(","));
        }
        if let Some(command) = &self.command {
            add("command", command.as_str());
        }
        if let Some(queue) = &self.queue {
            add("queue", queue.as_str());
        }
        if let Some(key) = &self.unique {
            add("unique", key);
        }
        add("limit", &self.limit.to_string());
        add("before", &next.to_string());
        words.join(" ")
    }
}

fn table_of(tasks: &[Task], now: Timestamp) -> Table {
    let mut table = Table::new(&["id", "command", "queue", "state", "attempt", "when", "note"]).numbers(&[0]);
    for task in tasks {
        table.row(vec![
            table::text(task.id),
            table::text(&task.command),
            table::text(&task.queue),
            table::state(task.state, words::gate_note(task)),
            table::text(format_args!("{}/{}", task.attempt, task.max_attempts)),
            table::text(words::when(task, now)),
            table::dim(note(task, now)),
        ]);
    }
    table
}

fn note(task: &Task, now: Timestamp) -> String {
    match (&task.failure, task.cancel_requested_at) {
        (_, Some(_)) if !task.state.is_terminal() => "cancel requested".to_owned(),
        (Some(failure), _) => table::short(&format!("{}: {}", failure.kind, failure.message), 60),
        (None, _) if is_suspended(task) => {
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
