//! The error log.

use std::cmp::Reverse;

use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::limits::{ERRORS_KEPT, PAGE_MAX, SWEEP_PAGE};
use kinfolk_core::{CommandName, QueueName, TaskId};
use rusqlite::Params;

use crate::error::Result;
use crate::readers::Snapshot;
use crate::rows::{failure_from, moment};
use crate::session::Session;

/// Writes that an attempt has failed.
pub(crate) fn write(
    session: &Session<'_>,
    task: TaskId,
    (command_id, queue_id): (i64, i64),
    attempt: u16,
    failure: &str,
) -> Result<()> {
    let entry = (session.micros(), task.0, command_id, queue_id, attempt, failure);
    session.sql(include_str!("../../sql/settle/errors/insert.sql"))?.execute(entry)?;
    Ok(())
}

/// Removes one page of what is past its time.
pub(crate) fn prune(session: &mut Session<'_>) -> Result<()> {
    let until = session.now.minus(ERRORS_KEPT).as_micros();
    session.sql(include_str!("../../sql/settle/errors/prune.sql"))?.execute((until, SWEEP_PAGE))?;
    Ok(())
}

/// A page, newest first.
pub(crate) fn page(snapshot: &Snapshot<'_>, filter: &ErrorFilter) -> Result<Vec<LoggedError>> {
    let (before, limit) = (filter.before.unwrap_or(i64::MAX), filter.limit.min(PAGE_MAX));
    let (command, queue) =
        (filter.command.as_ref().map(CommandName::as_str), filter.queue.as_ref().map(QueueName::as_str));
    if let Some(task) = filter.task {
        let of_task = include_str!("../../sql/settle/errors/page_of_task.sql");
        return entries(snapshot, of_task, (before, limit, task.0, command, queue));
    }
    if command.is_none() && queue.is_none() {
        return entries(snapshot, include_str!("../../sql/settle/errors/page.sql"), (before, limit));
    }
    // Each kind has its own line in the index; the newest of all of them are the page.
    let mut page = Vec::new();
    let mut kinds = snapshot.conn.prepare_cached(include_str!("../../sql/settle/errors/kinds.sql"))?;
    let mut rows = kinds.query((command, queue))?;
    while let Some(row) = rows.next()? {
        let kind: (i64, i64) = (row.get(0)?, row.get(1)?);
        let of_kind = include_str!("../../sql/settle/errors/page_of_kind.sql");
        page.extend(entries(snapshot, of_kind, (before, limit, kind.0, kind.1))?);
    }
    page.sort_by_key(|entry| Reverse(entry.id));
    page.truncate(limit);
    Ok(page)
}

/// Entries, from the columns of the view `error_shown`.
fn entries(snapshot: &Snapshot<'_>, sql: &str, params: impl Params) -> Result<Vec<LoggedError>> {
    let mut statement = snapshot.conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(LoggedError {
            id: row.get("id")?,
            at: moment(row, "at")?,
            task: TaskId(row.get("task_id")?),
            command: CommandName::new(row.get_ref("command")?.as_str().map_err(rusqlite::Error::from)?)?,
            queue: QueueName::new(row.get_ref("queue")?.as_str().map_err(rusqlite::Error::from)?)?,
            attempt: row.get("attempt")?,
            // There are no functions in this store.
            handler: None,
            failure: failure_from(row.get_ref("failure")?.as_str().map_err(rusqlite::Error::from)?)?,
        });
    }
    Ok(entries)
}
