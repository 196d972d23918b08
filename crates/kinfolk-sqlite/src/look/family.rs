//! How the children and the family of a task are doing.

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::task::Task;
use kinfolk_core::{Progress, StoreError, Tally, TaskId};
use rusqlite::{OptionalExtension, Row};

use crate::error::Result;
use crate::readers::Snapshot;
use crate::rows;

/// The children of a task in the order in which they were made, from this one on.
pub(crate) fn children(snapshot: &Snapshot<'_>, parent: TaskId, from: u64, limit: usize) -> Result<Vec<Task>> {
    root_of(snapshot, parent)?;
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/children.sql"))?;
    let rows = statement.query_map((parent.0, from, limit.min(PAGE_MAX)), |row| {
        Ok(rows::task(row, &snapshot.catalogue, snapshot.now))
    })?;
    rows.collect::<rusqlite::Result<Result<_>>>()?
}

/// How the children of a task are doing.
pub(crate) fn tally(snapshot: &Snapshot<'_>, parent: TaskId) -> Result<Tally> {
    root_of(snapshot, parent)?;
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/tally.sql"))?;
    Ok(statement.query_row([parent.0], tally_from)?)
}

/// How the family of a task is doing, generation by generation.
pub(crate) fn progress(snapshot: &Snapshot<'_>, task: TaskId) -> Result<Progress> {
    let root = root_of(snapshot, task)?;
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/levels.sql"))?;
    let levels: Vec<Tally> = statement.query_map([root], tally_from)?.collect::<rusqlite::Result<_>>()?;
    let family = levels.iter().copied().fold(Tally::default(), Tally::plus);
    Ok(Progress { family, levels })
}

fn tally_from(row: &Row<'_>) -> rusqlite::Result<Tally> {
    Ok(Tally { total: row.get(0)?, completed: row.get(1)?, failed: row.get(2)?, cancelled: row.get(3)? })
}

/// The root of a task that must be there.
fn root_of(snapshot: &Snapshot<'_>, task: TaskId) -> Result<i64> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/root.sql"))?;
    let root = statement.query_row([task.0], |row| row.get(0)).optional()?;
    Ok(root.ok_or_else(|| StoreError::not_found("task", task))?)
}
