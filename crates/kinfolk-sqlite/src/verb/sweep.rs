//! The safety net: parents that wait though all their children have ended. There are none, unless this store has a bug.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{State, Tally, TaskId};
use rusqlite::Connection;

use crate::error::Result;
use crate::session::Session;
use crate::verb::{family, whereabouts};

/// A page of the tasks that wait, behind a given one: those of them that have no open child, and where the next page
/// goes on (0 is from the start). Only looks, so that nobody is held up for nothing.
pub(crate) fn stuck(conn: &Connection, behind: i64) -> Result<(Vec<i64>, i64)> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/sweep/waiting.sql"))?;
    let mut waiting: Vec<i64> =
        statement.query_map((behind, SWEEP_PAGE), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let next = waiting.last().copied().filter(|_| waiting.len() == SWEEP_PAGE).unwrap_or(0);
    let mut open_child = conn.prepare_cached(include_str!("../../sql/sweep/open_child.sql"))?;
    let mut stuck = Vec::new();
    for id in waiting.drain(..) {
        if !open_child.exists([id])? {
            stuck.push(id);
        }
    }
    Ok((stuck, next))
}

/// Counts the children of these tasks anew, and ends those that wait for nothing. How many they were.
pub(crate) fn sweep(session: &mut Session<'_>, suspects: &[i64]) -> Result<u64> {
    let mut set_right = 0;
    for &id in suspects {
        set_right += u64::from(unstick(session, id)?);
    }
    Ok(set_right)
}

fn unstick(session: &mut Session<'_>, id: i64) -> Result<bool> {
    let waits = whereabouts::look_up(session, TaskId(id))?.is_some_and(|task| task.state == State::Waiting);
    if !waits {
        return Ok(false);
    }
    let mut statement = session.sql(include_str!("../../sql/family/fan_outs.sql"))?;
    let fan_outs: Vec<i64> = statement.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for fan_out_id in fan_outs {
        let tally = recount(session, fan_out_id)?;
        if tally.open() > 0 {
            continue;
        }
        let mut fan_out = session.fan_out(fan_out_id)?;
        (fan_out.tally, fan_out.held, fan_out.waits) = (tally, 0, true);
        session.fan_outs.put(fan_out_id, fan_out);
        family::join(session, fan_out_id)?;
        return Ok(true);
    }
    Ok(false)
}

fn recount(session: &Session<'_>, fan_out_id: i64) -> Result<Tally> {
    let mut statement = session.sql(include_str!("../../sql/sweep/recount.sql"))?;
    Ok(statement.query_row([fan_out_id], |row| {
        Ok(Tally { total: row.get(0)?, completed: row.get(1)?, failed: row.get(2)?, cancelled: row.get(3)? })
    })?)
}
