//! The error log.

use kinfolk_core::error_log::LoggedError;
use kinfolk_core::limits::{ERRORS_KEPT, PAGE_MAX, SWEEP_PAGE};
use kinfolk_core::{CommandName, TaskId, Timestamp};

use crate::error::Result;
use crate::readers::Snapshot;
use crate::rows::failure_from;
use crate::session::Session;

/// Writes that an attempt has failed.
pub(crate) fn write(session: &Session<'_>, task: TaskId, command_id: i64, attempt: u16, failure: &str) -> Result<()> {
    let at = session.micros();
    session
        .sql(include_str!("../../sql/settle/errors/insert.sql"))?
        .execute((at, task.0, command_id, attempt, failure))?;
    Ok(())
}

/// Removes one page of what is past its time.
pub(crate) fn prune(session: &mut Session<'_>) -> Result<()> {
    let until = session.now.minus(ERRORS_KEPT).as_micros();
    session.sql(include_str!("../../sql/settle/errors/prune.sql"))?.execute((until, SWEEP_PAGE))?;
    Ok(())
}

/// A page, newest first.
pub(crate) fn page(snapshot: &Snapshot<'_>, before: Option<i64>, limit: usize) -> Result<Vec<LoggedError>> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/settle/errors/page.sql"))?;
    let mut rows = statement.query((before.unwrap_or(i64::MAX), limit.min(PAGE_MAX)))?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(LoggedError {
            id: row.get(0)?,
            at: Timestamp::from_micros(row.get(1)?),
            task: TaskId(row.get(2)?),
            command: CommandName::new(row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?)?,
            attempt: row.get(4)?,
            // There are no functions in this store.
            handler: None,
            failure: failure_from(row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?)?,
        });
    }
    Ok(entries)
}
