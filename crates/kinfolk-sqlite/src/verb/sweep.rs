//! The safety net: tasks that wait though what they wait for has come. There are none, unless this store has a bug.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{State, Tally, TaskId};
use rusqlite::Connection;

use crate::admission::blocked;
use crate::check::lost;
use crate::durable::reopen;
use crate::durable::verdict;
use crate::error::Result;
use crate::family;
use crate::family::whereabouts;
use crate::session::Session;

/// Fan-outs of more children are not counted anew while one of them is open: a page of tasks must not cost a million rows.
const COUNTED_MAX: u64 = 100;

/// The tasks that should not wait, in a page of those that wait behind a given one, and where the next page goes on (0
/// is from the start). It only looks, so that it holds up no writer for nothing.
pub(crate) fn stuck(conn: &Connection, behind: i64) -> Result<(Vec<i64>, i64)> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/upkeep/sweep/waiting.sql"))?;
    let waiting: Vec<(i64, bool, bool)> = statement
        .query_map((behind, SWEEP_PAGE), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let next = waiting.last().map(|(id, ..)| *id).filter(|_| waiting.len() == SWEEP_PAGE).unwrap_or(0);
    let mut stuck = Vec::new();
    for (id, suspended, signalled) in waiting {
        if signalled || has_come(conn, id, suspended)? {
            stuck.push(id);
        }
    }
    Ok((stuck, next))
}

/// Whether what a task waits for seems to have come, or its counts to be wrong.
fn has_come(conn: &Connection, id: i64, suspended: bool) -> Result<bool> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/upkeep/sweep/fan_outs.sql"))?;
    let mut rows = statement.query([id])?;
    let mut open_child = conn.prepare_cached(include_str!("../../sql/upkeep/sweep/open_child.sql"))?;
    let (mut any, mut open) = (false, false);
    while let Some(row) = rows.next()? {
        any = true;
        let (fan_out_id, come): (i64, bool) = (row.get(0)?, row.get(1)?);
        let counted = Tally { total: row.get(2)?, completed: row.get(3)?, failed: row.get(4)?, cancelled: row.get(5)? };
        if come || (suspended && counted.total <= COUNTED_MAX && recount(conn, fan_out_id)? != counted) {
            return Ok(true);
        }
        open |= open_child.exists([fan_out_id])?;
    }
    // A suspended task may wait for something else than children.
    Ok(!open && (any || !suspended))
}

/// Counts the children of these tasks anew, and lets a task go on that waits for nothing; wakes keys that have room. How many
/// they were.
pub(crate) fn sweep(session: &mut Session<'_>, suspects: &[i64]) -> Result<u64> {
    let mut set_right = 0;
    for key in lost::lost(session.conn, session.catalogue, session.now)? {
        blocked::wake(session, key.group_id, &key.key)?;
        set_right += 1;
    }
    for &id in suspects {
        set_right += u64::from(unstick(session, id)?);
    }
    Ok(set_right)
}

fn unstick(session: &mut Session<'_>, id: i64) -> Result<bool> {
    let found = whereabouts::look_up(session, TaskId(id))?.filter(|task| task.state == State::Waiting);
    let Some(task) = found else { return Ok(false) };
    let mut statement = session.sql(include_str!("../../sql/family/fan_outs.sql"))?;
    let fan_outs: Vec<i64> = statement.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut wrong = false;
    for fan_out_id in fan_outs {
        wrong |= count_anew(session, fan_out_id, task.outcome.is_some())?;
    }
    match task.outcome {
        Some(_) => family::join_task(session, id)?,
        None if verdict::is_signalled(session, id)? => verdict::resume(session, id)?,
        None => {}
    }
    Ok(wrong || whereabouts::of(session, TaskId(id))?.state != State::Waiting)
}

/// Sets the counts of a fan-out right, with what follows for one that is awaited; whether they were wrong. `waits`: its
/// task has done its own work.
fn count_anew(session: &mut Session<'_>, fan_out_id: i64, waits: bool) -> Result<bool> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    let tally = recount(session.conn, fan_out_id)?;
    let mut wrong = fan_out.tally != tally;
    if wrong {
        fan_out.tally = tally;
        fan_out.held = fan_out.held.min(tally.open());
        fan_out.waits = waits && tally.open() > 0;
        session.fan_outs.put(fan_out_id, fan_out);
    }
    if fan_out.awaited.is_some() {
        wrong |= reopen::set_order_right(session, fan_out_id)?;
    }
    verdict::look(session, fan_out_id)?;
    Ok(wrong)
}

fn recount(conn: &Connection, fan_out_id: i64) -> Result<Tally> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/upkeep/sweep/recount.sql"))?;
    Ok(statement.query_row([fan_out_id], |row| {
        Ok(Tally { total: row.get(0)?, completed: row.get(1)?, failed: row.get(2)?, cancelled: row.get(3)? })
    })?)
}
