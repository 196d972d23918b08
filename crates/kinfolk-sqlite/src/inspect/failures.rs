//! Failures by cause.

use std::time::Duration;

use kinfolk_core::TaskId;
use kinfolk_core::cause::{Causes, FailedTask};
use kinfolk_core::limits::LOOK_MAX;

use crate::error::Result;
use crate::readers::Snapshot;
use crate::rows;

/// The newest failures of the span until now, by cause.
pub(crate) fn failures(snapshot: &Snapshot<'_>, span: Duration) -> Result<Causes> {
    let since = snapshot.now.minus(span);
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/failed.sql"))?;
    let mut rows = statement.query((since.as_micros(), LOOK_MAX + 1))?;
    let mut failed = Vec::new();
    while let Some(row) = rows.next()? {
        let failure = rows::failure_from(&row.get::<_, String>("failure")?)?;
        failed.push(FailedTask {
            id: TaskId(row.get("id")?),
            command: snapshot.catalogue.command_name(row.get("command_id")?)?.clone(),
            finished_at: rows::moment(row, "finished_at")?,
            kind: failure.kind,
            message: failure.message,
        });
    }
    let more = failed.len() > LOOK_MAX;
    failed.truncate(LOOK_MAX);
    Ok(Causes::of(failed, since, snapshot.now, more))
}
