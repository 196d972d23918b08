//! Asking for the end of a task and of all its descendants, in one transaction.
//!
//! A pending task ends now, a running one is asked to end, and a waiting one ends with its last child. The work goes fan-out
//! by fan-out, so that a family of a million costs time in proportion and little memory.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::operate::Cancelled;
use kinfolk_core::settle::Failure;
use kinfolk_core::{Gate, State, TaskId};

use crate::admission::blocked;
use crate::durable::verdict;
use crate::error::Result;
use crate::family;
use crate::family::whereabouts;
use crate::family::whereabouts::Whereabouts;
use crate::rows::{failure_text, worker_from};
use crate::session::Session;

/// Asks for the end of a task and its descendants.
pub(crate) fn cancel(session: &mut Session<'_>, id: TaskId) -> Result<Cancelled> {
    let task = whereabouts::of(session, id)?;
    if task.state.is_terminal() {
        return Err(Cancelled::too_late(id, task.state).into());
    }
    member(session, &task)?;
    let now = whereabouts::of(session, id)?.state;
    Ok(if now.is_terminal() { Cancelled::Now } else { Cancelled::Requested })
}

/// Asks for the end of one task that is not terminal, and of what is below it.
fn member(session: &mut Session<'_>, task: &Whereabouts) -> Result<()> {
    let id = task.member.id;
    let open =
        if task.was_suspended || task.state == State::Waiting { verdict::open_fan_outs(session, id)? } else { vec![] };
    match task.state {
        State::Pending if open.is_empty() => {
            blocked::leave(session, id, true)?;
            let failure = failure_text(&Failure::cancelled())?;
            let mut statement = session.sql(include_str!("../../sql/operate/cancel/pending.sql"))?;
            statement.execute((id, session.micros(), failure))?;
            family::left_line(session, task)?;
            return family::ended(session, &task.member, State::Cancelled);
        }
        State::Running => {
            session.sql(include_str!("../../sql/operate/cancel/running.sql"))?.execute((id, session.micros()))?;
            session.news.cancels.extend(task.worker.map(worker_from));
            return open.into_iter().try_for_each(|fan_out_id| children(session, fan_out_id));
        }
        State::Pending => {
            blocked::leave(session, id, false)?;
            family::left_line(session, task)?;
        }
        _ => verdict::stop_waiting(session, id)?,
    }
    // It has nothing more to say, and ends with its last child.
    session.sql(include_str!("../../sql/operate/cancel/waiting.sql"))?.execute((id, session.micros()))?;
    for fan_out_id in open {
        let mut fan_out = session.fan_out(fan_out_id)?;
        fan_out.waits = true;
        session.fan_outs.put(fan_out_id, fan_out);
        children(session, fan_out_id)?;
    }
    family::join_task(session, id)
}

/// Asks for the end of all children of the fan-outs whose owners have failed in this call; whether there were any. The other
/// ends of this call are counted already.
pub(crate) fn doomed(session: &mut Session<'_>) -> Result<bool> {
    let doomed = std::mem::take(&mut session.doomed);
    doomed.iter().try_for_each(|&fan_out_id| children(session, fan_out_id))?;
    Ok(!doomed.is_empty())
}

/// Asks for the end of all children of a fan-out.
pub(crate) fn children(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    in_line(session, fan_out_id)?;
    let mut statement = session.sql(include_str!("../../sql/operate/cancel/running_children.sql"))?;
    if statement.execute((fan_out_id, session.micros()))? > 0 {
        let mut statement = session.sql(include_str!("../../sql/operate/cancel/workers.sql"))?;
        let workers = statement.query_map([fan_out_id], |row| Ok(worker_from(row.get(0)?)))?;
        session.news.cancels.extend(workers.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    let mut behind = -1;
    loop {
        let page = family::parents(session, fan_out_id, behind, SWEEP_PAGE)?;
        for &(child, _) in &page {
            let child = whereabouts::of(session, TaskId(child))?;
            member(session, &child)?;
        }
        match page.last() {
            Some(&(_, nth)) => behind = nth,
            None => break,
        }
    }
    // The last of the waiting ones may have ended the parent already.
    family::join(session, fan_out_id)
}

/// Cancels the children of a fan-out that are pending and have none of their own.
fn in_line(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    let (mut nths, mut held) = (Vec::new(), 0);
    let mut statement = session.sql(include_str!("../../sql/operate/cancel/in_line.sql"))?;
    let mut rows = statement.query([fan_out_id])?;
    while let Some(row) = rows.next()? {
        if fan_out.awaited.is_some() {
            nths.push(row.get(0)?);
        }
        held += u64::from(row.get_ref(1)?.as_str_or_null().is_ok_and(|gate| gate == Some(Gate::After.as_str())));
    }
    leave_keys(session, fan_out_id)?;
    let failure = failure_text(&Failure::cancelled())?;
    let mut statement = session.sql(include_str!("../../sql/operate/cancel/pending_children.sql"))?;
    fan_out.tally.cancelled += statement.execute((fan_out_id, session.micros(), failure))? as u64;
    fan_out.held -= held;
    session.fan_outs.put(fan_out_id, fan_out);
    session.fan_outs.ended(fan_out_id, nths);
    verdict::look(session, fan_out_id)
}

/// The pending children of a fan-out no longer wait behind a key, and give back the slots that they hold.
fn leave_keys(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/operate/cancel/with_keys.sql"))?;
    let with_keys: Vec<i64> = statement.query_map([fan_out_id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    with_keys.into_iter().try_for_each(|id| blocked::leave(session, id, true))
}
