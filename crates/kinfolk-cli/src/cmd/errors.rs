//! `kinfolk errors`: every attempt that failed, newest first.

use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::{CommandName, FailureKind, QueueName, TaskId, Timestamp};
use serde::Serialize;

use super::filter_options::must_exist;
use super::log_page::LogPage;
use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::time::relative;
use crate::session::Session;

/// `kinfolk errors`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only those of this task
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
    task: Option<i64>,

    /// Only those of this command
    #[arg(long)]
    command: Option<CommandName>,

    /// Only those of tasks on this queue
    #[arg(long)]
    queue: Option<QueueName>,

    #[command(flatten)]
    page: LogPage,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: i64,
    written_at: Timestamp,
    task: TaskId,
    command: &'a str,
    queue: &'a str,
    attempt: u16,
    handler: Option<&'a str>,
    kind: FailureKind,
    sqlstate: Option<String>,
    message: &'a str,
    context: Option<String>,
}

impl<'a> From<&'a LoggedError> for Entry<'a> {
    fn from(logged: &'a LoggedError) -> Self {
        Self {
            id: logged.id,
            written_at: logged.at,
            task: logged.task,
            command: logged.command.as_str(),
            queue: logged.queue.as_str(),
            attempt: logged.attempt,
            handler: logged.handler.as_deref(),
            kind: logged.failure.kind,
            sqlstate: logged.told("sqlstate"),
            message: &logged.failure.message,
            context: logged.told("context"),
        }
    }
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    must_exist(&*store, args.command.as_ref(), args.queue.as_ref()).await?;
    let filter = ErrorFilter {
        task: args.task.map(TaskId),
        command: args.command,
        queue: args.queue,
        before: args.page.before,
        limit: usize::from(args.page.limit),
    };
    let entries = store.errors(&filter).await?;
    let now = store.now().await?;
    let views: Vec<Entry<'_>> = entries.iter().map(Entry::from).collect();
    session.out.list(&views, "no attempt has failed", || {
        let columns =
            ["entry", "when", "task", "command", "queue", "attempt", "handler", "kind", "sqlstate", "message"];
        let mut table = Table::new(&columns).numbers(&[0, 2, 5]);
        for view in &views {
            table.row(vec![
                table::text(view.id),
                table::text(relative(now, view.written_at)),
                table::text(view.task),
                table::text(view.command),
                table::text(view.queue),
                table::text(view.attempt),
                table::text(view.handler.unwrap_or("-")),
                table::text(view.kind),
                table::text(view.sqlstate.as_deref().unwrap_or("-")),
                table::text(table::short(view.message, 80)),
            ]);
        }
        table
    })
}
