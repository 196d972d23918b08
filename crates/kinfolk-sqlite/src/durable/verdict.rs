//! Awaited fan-outs: when they are settled, and resuming the handlers that wait for them.
//!
//! The verdict is taken in the transaction that ends the child, from the counts as they are then, once.

use kinfolk_core::Gate;
use rusqlite::Statement;

use crate::error::Result;
use crate::family;
use crate::session::Session;

/// Comes to a verdict over a fan-out if it can and has none yet, and resumes the task if it waits for that, or
/// for as many children as have ended now.
pub(crate) fn look(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    let Some(awaited) = &mut fan_out.awaited else { return Ok(()) };
    if awaited.verdict.is_none() {
        awaited.verdict = awaited.rule.verdict(&fan_out.tally);
        if awaited.verdict.is_some() {
            awaited.settled_at = Some(session.micros());
            awaited.decided_step = Some(Owner::of(session, fan_out.task_id)?.steps);
            session.fan_outs.put(fan_out_id, fan_out);
        }
    }
    let ended = fan_out.tally.ended();
    if fan_out.awaited.is_some_and(|awaited| {
        awaited.wake_at.is_some_and(|wake_at| awaited.verdict.is_some() || ended >= u64::from(wake_at))
    }) {
        resume(session, fan_out.task_id)?;
    }
    Ok(())
}

/// The wait of a suspended task is over: it is in line again.
pub(crate) fn resume(session: &mut Session<'_>, task_id: i64) -> Result<()> {
    let owner = Owner::of(session, task_id)?;
    let gate = owner.gate(session)?;
    let mut statement = session.sql(include_str!("../../sql/durable/suspend/resume.sql"))?;
    statement.execute((task_id, session.micros(), gate.as_str()))?;
    session.news.queues.insert(owner.queue_id);
    stop_waiting(session, task_id)
}

/// Whether a task has been sent a signal that it waits for.
pub(crate) fn is_signalled(session: &Session<'_>, task_id: i64) -> Result<bool> {
    Ok(session.sql(include_str!("../../sql/durable/signal/there.sql"))?.exists([task_id])?)
}

/// The time of a suspended task has come: it is in line again, and due since then.
pub(crate) fn time_has_come(session: &mut Session<'_>, task_id: i64) -> Result<()> {
    let gate = Owner::of(session, task_id)?.gate(session)?;
    session.sql(include_str!("../../sql/durable/suspend/wake.sql"))?.execute((task_id, gate.as_str()))?;
    stop_waiting(session, task_id)
}

/// A task is not, or no longer, to be resumed by any fan-out.
pub(crate) fn stop_waiting(session: &mut Session<'_>, task_id: i64) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/family/fan_out/awaited.sql"))?;
    for fan_out_id in numbers(&mut statement, task_id)? {
        let mut fan_out = session.fan_out(fan_out_id)?;
        if let Some(awaited) = &mut fan_out.awaited {
            awaited.wake_at = None;
            session.fan_outs.put(fan_out_id, fan_out);
        }
    }
    Ok(())
}

/// The fan-outs of a task that have open children.
pub(crate) fn open_fan_outs(session: &mut Session<'_>, task_id: i64) -> Result<Vec<i64>> {
    let mut statement = session.sql(include_str!("../../sql/family/fan_out/open.sql"))?;
    let mut found = numbers(&mut statement, task_id)?;
    // Children spawned in this very call are not in the file yet.
    if found.first() != Some(&task_id) {
        found.insert(0, task_id);
    }
    let mut open = Vec::new();
    for fan_out_id in found {
        if session.fan_outs.find(session.conn, fan_out_id)?.is_some_and(|fan_out| fan_out.tally.open() > 0) {
            open.push(fan_out_id);
        }
    }
    Ok(open)
}

/// A task that awaits a fan-out.
struct Owner {
    steps: u32,
    queue_id: i64,
    /// `None` for a root.
    root_id: Option<i64>,
}

impl Owner {
    fn of(session: &Session<'_>, task_id: i64) -> Result<Self> {
        let mut statement = session.sql(include_str!("../../sql/family/fan_out/owner.sql"))?;
        Ok(statement
            .query_row([task_id], |row| Ok(Self { steps: row.get(0)?, queue_id: row.get(1)?, root_id: row.get(2)? }))?)
    }

    /// Its gate once it is resumed.
    fn gate(&self, session: &Session<'_>) -> Result<Gate> {
        self.root_id.map_or(Ok(Gate::Open), |root_id| family::gate_in_family(session, root_id, session.now))
    }
}

fn numbers(statement: &mut Statement<'_>, task_id: i64) -> Result<Vec<i64>> {
    Ok(statement.query_map([task_id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}
