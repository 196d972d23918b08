//! How the children and the family of a task are doing.

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::task::Task;
use kinfolk_core::{Progress, StoreError, Tally, TaskId};
use rusqlite::{OptionalExtension, Row};

use crate::error::Result;
use crate::readers::Snapshot;
use crate::rows;

/// The children of a task from this one on, fan-out by fan-out, each in the order in which they were made.
pub(crate) fn children(snapshot: &Snapshot<'_>, parent: TaskId, from: u64, limit: usize) -> Result<Vec<Task>> {
    root_of(snapshot, parent)?;
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/fan_outs.sql"))?;
    let fan_outs: Vec<(i64, u64)> =
        statement.query_map([parent.0], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/children.sql"))?;
    let (mut skip, limit) = (from, limit.min(PAGE_MAX));
    let mut children = Vec::new();
    for (fan_out_id, total) in fan_outs {
        if skip >= total {
            skip -= total;
            continue;
        }
        let rows = statement.query_map((fan_out_id, std::mem::take(&mut skip), limit - children.len()), |row| {
            Ok(rows::task(row, &snapshot.catalogue, snapshot.now))
        })?;
        children.extend(rows.collect::<rusqlite::Result<Result<Vec<_>>>>()??);
        if children.len() == limit {
            break;
        }
    }
    Ok(children)
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
