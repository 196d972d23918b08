//! The records and the fan-outs of a handler, and the ends of the children that it awaits.

use std::collections::BTreeSet;

use kinfolk_core::durable::{Checkpoint, ChildResult, FanOut, History, ReadBy, StepKind};
use kinfolk_core::limits::{INLINE_RESULTS_MAX, PAGE_MAX};
use kinfolk_core::{FanOutId, InputError, Json, StoreError, TaskId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Result;
use crate::family::ended_page;
use crate::family::fan_out;
use crate::readers::Snapshot;
use crate::rows;
use crate::verb::record;

/// The records of a task's handler, and the fan-outs that it awaited.
pub(crate) fn history(snapshot: &Snapshot<'_>, task: TaskId) -> Result<History> {
    let (checkpoints, recorded_at) = record::all(snapshot.conn, task)?;
    let fan_outs = awaited(snapshot.conn, task)?;
    let standing: BTreeSet<&str> = checkpoints.iter().filter_map(number).collect();
    let mut results = Vec::new();
    for fan_out in &fan_outs {
        let small = fan_out.tally.total <= INLINE_RESULTS_MAX as u64;
        if fan_out.verdict.is_some() && small && standing.contains(fan_out.id.to_string().as_str()) {
            results.extend(by_index(snapshot.conn, fan_out.id, 0, INLINE_RESULTS_MAX)?);
        }
    }
    Ok(History { checkpoints, recorded_at, fan_outs, results })
}

/// The number of the fan-out that a checkpoint records.
fn number(checkpoint: &Checkpoint) -> Option<&str> {
    (checkpoint.kind == StepKind::FanOut).then(|| checkpoint.value.as_str())
}

/// A page of the children of an awaited fan-out.
pub(crate) fn results(
    snapshot: &Snapshot<'_>,
    id: FanOutId,
    by: ReadBy,
    from: u32,
    limit: usize,
) -> Result<Vec<ChildResult>> {
    find(snapshot.conn, id)?;
    let limit = limit.min(PAGE_MAX);
    match by {
        ReadBy::Index => by_index(snapshot.conn, id, from, limit),
        ReadBy::Ended => by_ended(snapshot.conn, id, from, limit),
    }
}

/// The fan-outs that a task has awaited, oldest first.
fn awaited(conn: &Connection, task: TaskId) -> Result<Vec<FanOut>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/family/fan_outs.sql"))?;
    let ids = statement.query_map([task.0], |row| Ok(FanOutId(row.get(0)?)))?;
    ids.filter_map(|id| id.map_err(Into::into).and_then(|id| look_up(conn, id)).transpose()).collect()
}

/// When the children at these indexes of the order of ends had ended.
pub(crate) fn ended_at(snapshot: &Snapshot<'_>, id: FanOutId, indexes: &[u32]) -> Result<Vec<Timestamp>> {
    if indexes.len() > PAGE_MAX {
        return Err(InputError::Batch { what: "indexes", given: indexes.len(), max: PAGE_MAX }.into());
    }
    find(snapshot.conn, id)?;
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/family/fan_out/finished_at.sql"))?;
    let mut moments = Vec::new();
    for index in indexes {
        for nth in ended_page::read(snapshot.conn, id.0, *index, 1)? {
            let ended: Option<i64> = statement.query_row((id.0, nth), |row| row.get(0)).optional()?.flatten();
            moments.extend(ended.map(Timestamp::from_micros));
        }
    }
    Ok(moments)
}

/// An awaited fan-out that must be there.
pub(crate) fn find(conn: &Connection, id: FanOutId) -> Result<FanOut> {
    Ok(look_up(conn, id)?.ok_or_else(|| StoreError::not_found("fan-out", id))?)
}

/// An awaited fan-out, if there is one of that number.
fn look_up(conn: &Connection, id: FanOutId) -> Result<Option<FanOut>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/family/fan_out.sql"))?;
    Ok(statement.query_row([id.0], |row| Ok(from_row(row))).optional()?.transpose()?.flatten())
}

fn by_index(conn: &Connection, id: FanOutId, from: u32, limit: usize) -> Result<Vec<ChildResult>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/family/fan_out/children.sql"))?;
    let mut rows = statement.query((id.0, from, limit))?;
    let mut results: Vec<ChildResult> = Vec::new();
    while let Some(row) = rows.next()? {
        results.push(child(id, None, row)?);
    }
    let Some(last) = results.last().map(|result| result.index) else { return Ok(results) };
    for (index, nth) in (0..).zip(ended_page::read(conn, id.0, 0, usize::MAX)?) {
        if (from..=last).contains(&nth)
            && let Ok(position) = results.binary_search_by_key(&nth, |result| result.index)
        {
            results[position].ended = Some(index);
        }
    }
    Ok(results)
}

fn by_ended(conn: &Connection, id: FanOutId, from: u32, limit: usize) -> Result<Vec<ChildResult>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/family/fan_out/child.sql"))?;
    let mut results = Vec::new();
    for (index, nth) in (from..).zip(ended_page::read(conn, id.0, from, limit)?) {
        let mut rows = statement.query((id.0, nth))?;
        if let Some(row) = rows.next()? {
            results.push(child(id, Some(index), row)?);
        }
    }
    Ok(results)
}

/// A child, from the columns of `sql/family/fan_out/children.sql`.
fn child(fan_out: FanOutId, ended: Option<u32>, row: &Row<'_>) -> Result<ChildResult> {
    let state: String = row.get(2)?;
    let failure: Option<String> = row.get(4)?;
    Ok(ChildResult {
        fan_out,
        index: row.get(0)?,
        task: TaskId(row.get(1)?),
        state: state.parse()?,
        ended,
        result: row.get::<_, Option<String>>(3)?.map(Json::trusted),
        failure: failure.map(|text| rows::failure_from(&text)).transpose()?,
        attempt: row.get(5)?,
    })
}

/// A fan-out, from the columns of `sql/family/fan_out.sql`; `None` for spawned children.
fn from_row(row: &Row<'_>) -> Result<Option<FanOut>> {
    let known = fan_out::FanOut::from_row(row)?;
    let id = FanOutId(row.get(19)?);
    Ok(known.awaited.map(|awaited| FanOut {
        id,
        task: TaskId(known.task_id),
        rule: awaited.rule,
        tally: known.tally,
        verdict: awaited.verdict,
        decided_at: awaited.decided_at.and_then(|ended| u32::try_from(ended).ok()),
        deadline: awaited.deadline.map(Timestamp::from_micros),
        created_at: Timestamp::from_micros(awaited.created_at),
        settled_at: awaited.settled_at.map(Timestamp::from_micros),
    }))
}
