//! Letting a failed or cancelled task run again.

use kinfolk_core::task::Task;
use kinfolk_core::{Gate, State, StoreError, TaskId};

use crate::error::Result;
use crate::family;
use crate::family::whereabouts::{self, Whereabouts};
use crate::inspect::tasks;
use crate::session::Session;
use crate::verb::retry_family;

/// Lets a failed or cancelled task run again, and with it what is below it. One whose parent has ended or awaited it is not
/// alone in that.
pub(crate) fn retry(session: &mut Session<'_>, id: TaskId) -> Result<Task> {
    let task = whereabouts::of(session, id)?;
    let refuse = |remedy| Err(StoreError::WrongState { task: id, state: task.state, remedy }.into());
    if !matches!(task.state, State::Failed | State::Cancelled) {
        return refuse("only failed and cancelled tasks can be retried");
    }
    if !may_run_alone(session, &task)? {
        return refuse("retry its family instead");
    }
    retry_family::require_work(session, &task)?;
    uncount(session, &task)?;
    match task.parent_id {
        None => drop(retry_family::revive_root(session, &task)?),
        Some(_) => {
            let gate = family::gate_in_family(session, task.root_id, session.now)?;
            retry_family::revive_branch(session, &task, gate)?;
        }
    }
    let task = tasks::task(session.conn, session.catalogue, session.now, id)?;
    Ok(task.ok_or_else(|| StoreError::not_found("task", id))?)
}

/// A task that has ended is in line again, with fresh attempts, at its old position.
pub(crate) fn revive(session: &mut Session<'_>, task: &Whereabouts, gate: Gate) -> Result<()> {
    freshen(session, task.member.id, gate)?;
    session.news.queues.insert(task.member.queue_id);
    Ok(())
}

/// A task that has ended gets fresh attempts, and pends behind this gate.
pub(crate) fn freshen(session: &Session<'_>, id: i64, gate: Gate) -> Result<()> {
    session.sql(include_str!("../../sql/retry/task.sql"))?.execute((id, session.micros(), gate.as_str()))?;
    Ok(())
}

/// Whether a task has any children.
pub(crate) fn has_children(session: &Session<'_>, id: i64) -> Result<bool> {
    Ok(session.sql(include_str!("../../sql/family/fan_outs.sql"))?.exists([id])?)
}

/// Whether a task that has ended may run again without its family: its parent has not ended, and was not told how it ended.
fn may_run_alone(session: &mut Session<'_>, task: &Whereabouts) -> Result<bool> {
    let (Some(fan_out_id), Some(parent)) = (task.member.fan_out_id, task.parent_id) else { return Ok(true) };
    let parent = whereabouts::of(session, TaskId(parent))?;
    Ok(!parent.state.is_terminal() && session.fan_out(fan_out_id)?.awaited.is_none())
}

/// Takes an ended child out of its parent's counts.
fn uncount(session: &mut Session<'_>, task: &Whereabouts) -> Result<()> {
    let (Some(fan_out_id), Some(parent)) = (task.member.fan_out_id, task.parent_id) else { return Ok(()) };
    let parent = whereabouts::of(session, TaskId(parent))?;
    let mut fan_out = session.fan_out(fan_out_id)?;
    match task.state {
        State::Failed => fan_out.tally.failed -= 1,
        _ => fan_out.tally.cancelled -= 1,
    }
    fan_out.waits = parent.state == State::Waiting && parent.outcome.is_some();
    session.fan_outs.put(fan_out_id, fan_out);
    Ok(())
}
