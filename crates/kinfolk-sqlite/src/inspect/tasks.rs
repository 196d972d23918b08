//! One task, and its attempts.

use std::collections::BTreeSet;

use kinfolk_core::limits::{PAGE_MAX, RUNS_SHOWN_MAX};
use kinfolk_core::task::{Attempt, Run, Task};
use kinfolk_core::{InputError, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension};

use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::readers::Snapshot;
use crate::rows;

/// One task.
pub(crate) fn task(conn: &Connection, catalogue: &Catalogue, now: Timestamp, id: TaskId) -> Result<Option<Task>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/inspect/task.sql"))?;
    statement.query_row([id.0], |row| Ok(rows::task(row, catalogue, now))).optional()?.transpose()
}

/// The ended attempts of a task.
pub(crate) fn attempts(snapshot: &Snapshot<'_>, id: TaskId) -> Result<Vec<Attempt>> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/attempts.sql"))?;
    let rows = statement.query_map([id.0], |row| Ok(rows::attempt(row)))?;
    rows.collect::<rusqlite::Result<Result<_>>>()?
}

/// The latest runs of tasks, by task, oldest first.
pub(crate) fn runs(snapshot: &Snapshot<'_>, tasks: &[TaskId]) -> Result<Vec<Run>> {
    if tasks.len() > PAGE_MAX {
        return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: PAGE_MAX }.into());
    }
    let tasks: BTreeSet<i64> = tasks.iter().map(|task| task.0).collect();
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/runs.sql"))?;
    let mut runs = Vec::new();
    for task in tasks {
        let before = runs.len();
        let rows = statement.query_map((task, RUNS_SHOWN_MAX), |row| Ok(rows::run(row)))?;
        for run in rows {
            runs.push(run??);
        }
        runs[before..].reverse();
    }
    Ok(runs)
}
