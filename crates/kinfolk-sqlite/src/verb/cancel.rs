//! Asking for the end of a task and of all its descendants, in one transaction.
//!
//! What is pending ends now, what runs is asked to, and what waits ends with its last child. The work is done fan-out
//! by fan-out, so that a family of a million costs time in proportion and no memory to speak of.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::operate::Cancelled;
use kinfolk_core::settle::Failure;
use kinfolk_core::{State, TaskId};

use crate::error::Result;
use crate::rows::{failure_text, worker_from};
use crate::session::Session;
use crate::verb::{family, whereabouts};

/// Asks for the end of a task and its descendants.
pub(crate) fn cancel(session: &mut Session<'_>, id: TaskId) -> Result<Cancelled> {
    let task = whereabouts::of(session, id)?;
    match task.state {
        State::Completed | State::Failed | State::Cancelled => return Ok(Cancelled::TooLate(task.state)),
        State::Pending => {
            let failure = failure_text(&Failure::cancelled())?;
            let mut statement = session.sql(include_str!("../../sql/cancel/pending.sql"))?;
            statement.execute((id.0, session.micros(), failure))?;
            family::left_line(session, &task)?;
            family::ended(session, &task.kin, State::Cancelled)?;
            return Ok(Cancelled::Now);
        }
        State::Running => {
            session.sql(include_str!("../../sql/cancel/running.sql"))?.execute((id.0, session.micros()))?;
            session.news.cancels.extend(task.worker.map(worker_from));
        }
        State::Waiting => waiting(session, id.0)?,
    }
    let now = whereabouts::of(session, id)?.state;
    Ok(if now.is_terminal() { Cancelled::Now } else { Cancelled::Requested })
}

/// A waiting task has nothing more to say, and its descendants are to end.
fn waiting(session: &mut Session<'_>, id: i64) -> Result<()> {
    session.sql(include_str!("../../sql/cancel/waiting.sql"))?.execute((id, session.micros()))?;
    let mut statement = session.sql(include_str!("../../sql/family/fan_outs.sql"))?;
    let fan_outs: Vec<i64> = statement.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    fan_outs.into_iter().try_for_each(|fan_out_id| children(session, fan_out_id))
}

fn children(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let (now, failure) = (session.micros(), failure_text(&Failure::cancelled())?);
    let mut statement = session.sql(include_str!("../../sql/cancel/pending_children.sql"))?;
    let pending = statement.execute((fan_out_id, now, failure))? as u64;
    let mut fan_out = session.fan_out(fan_out_id)?;
    fan_out.tally.cancelled += pending;
    fan_out.held = 0;
    session.fan_outs.put(fan_out_id, fan_out);
    let mut statement = session.sql(include_str!("../../sql/cancel/running_children.sql"))?;
    if statement.execute((fan_out_id, now))? > 0 {
        let mut statement = session.sql(include_str!("../../sql/cancel/workers.sql"))?;
        let workers = statement.query_map([fan_out_id], |row| Ok(worker_from(row.get(0)?)))?;
        session.news.cancels.extend(workers.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    let mut behind = -1;
    loop {
        let page = family::waiting_children(session, fan_out_id, behind, SWEEP_PAGE)?;
        for &(child, _) in &page {
            waiting(session, child)?;
        }
        match page.last() {
            Some(&(_, nth)) => behind = nth,
            None => break,
        }
    }
    // The last of the waiting ones may have ended the parent already.
    family::join(session, fan_out_id)
}
