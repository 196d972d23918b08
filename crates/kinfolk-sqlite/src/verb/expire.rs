//! Giving up a fan-out whose deadline has passed: the first call that settles it wins.

use kinfolk_core::durable::{FanOut, Verdict};
use kinfolk_core::{FanOutId, StoreError, TaskId, Token};

use crate::error::Result;
use crate::inspect::durable;
use crate::session::Session;
use crate::verb::{cancel, record};

/// Gives up a fan-out of a running task and cancels its open children, unless it is settled or its deadline lies ahead.
/// The fan-out as it is then; `None` when the token does not hold.
pub(crate) fn expire(session: &mut Session<'_>, task: TaskId, token: Token, id: FanOutId) -> Result<Option<FanOut>> {
    let Some(steps) = record::fence(session, task, token)? else { return Ok(None) };
    let found = session.fan_outs.find(session.conn, id.0)?.filter(|fan_out| fan_out.task_id == task.0);
    let Some((mut fan_out, mut awaited)) = found.and_then(|fan_out| Some((fan_out, fan_out.awaited?))) else {
        return Err(StoreError::not_found("fan-out", id).into());
    };
    let late = awaited.deadline.is_some_and(|deadline| deadline <= session.micros());
    if late && awaited.verdict.is_none() {
        // Its own cancellations come behind what the handler hears of.
        awaited.verdict = Some(Verdict::TimedOut);
        awaited.settled_at = Some(session.micros());
        awaited.decided_at = Some(fan_out.tally.ended());
        awaited.decided_step = Some(steps);
        fan_out.awaited = Some(awaited);
        session.fan_outs.put(id.0, fan_out);
        cancel::children(session, id.0)?;
        session.fan_outs.flush(session.conn)?;
    }
    durable::find(session.conn, id).map(Some)
}
