//! Tasks, one or a page of them, and their attempts.

use kinfolk_core::inspect::{Filter, Page};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::task::{Attempt, Task};
use kinfolk_core::{Json, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

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

/// A page of tasks, newest first.
pub(crate) fn list(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Page> {
    let catalogue = &snapshot.catalogue;
    let command = filter.command.as_ref().map(|name| catalogue.command(name).map(|known| known.id));
    let queue = filter.queue.as_ref().map(|name| catalogue.queue(name).map(|known| known.id));
    if command == Some(None) || queue == Some(None) {
        return Ok(Page::default());
    }
    let states = match filter.states.as_slice() {
        [] => None,
        states => Some(Json::of(states)?),
    };
    let limit = filter.limit.clamp(1, PAGE_MAX);
    let before = filter.before.map_or(i64::MAX, |id| id.0);
    let states = states.as_ref().map(Json::as_str);
    let (command, queue) = (command.flatten(), queue.flatten());
    // One more than asked for tells whether there is a next page.
    let page = limit + 1;
    let mut tasks: Vec<Task> = match &filter.unique_key {
        None => {
            let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/list.sql"))?;
            let rows = statement.query_map(params![before, states, command, queue, page], |row| {
                Ok(rows::task(row, catalogue, snapshot.now))
            })?;
            rows.collect::<rusqlite::Result<Result<_>>>()??
        }
        Some(key) => {
            let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/list_key.sql"))?;
            let rows = statement.query_map(params![before, states, command, queue, page, key], |row| {
                Ok(rows::task(row, catalogue, snapshot.now))
            })?;
            rows.collect::<rusqlite::Result<Result<_>>>()??
        }
    };
    let more = tasks.len() > limit;
    tasks.truncate(limit);
    let next = tasks.last().map(|task| task.id).filter(|_| more);
    Ok(Page { tasks, next })
}
