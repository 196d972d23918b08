//! What an operator does to tasks and queues.

use kinfolk_core::operate::Cancelled;
use kinfolk_core::settle::Failure;
use kinfolk_core::task::Task;
use kinfolk_core::{QueueName, Retention, State, StoreError, TaskId};
use rusqlite::OptionalExtension;

use crate::catalogue::make_queue;
use crate::error::Result;
use crate::look::tasks;
use crate::rows::{failure_text, worker_from};
use crate::session::Session;

/// Asks for a task's end.
pub(crate) fn cancel(session: &mut Session<'_>, id: TaskId) -> Result<Cancelled> {
    let (state, worker, _) = whereabouts(session, id)?;
    if state.is_terminal() {
        return Ok(Cancelled::TooLate(state));
    }
    if state == State::Pending {
        let failure = failure_text(&Failure::cancelled())?;
        let mut statement = session.sql(include_str!("../../sql/operate/cancel_pending.sql"))?;
        statement.execute((id.0, session.micros(), failure))?;
        return Ok(Cancelled::Now);
    }
    session.sql(include_str!("../../sql/operate/cancel_running.sql"))?.execute((id.0, session.micros()))?;
    session.news.cancels.extend(worker.map(worker_from));
    Ok(Cancelled::Requested)
}

/// Lets a failed or cancelled task run again.
pub(crate) fn retry(session: &mut Session<'_>, id: TaskId) -> Result<Task> {
    let (state, _, queue_id) = whereabouts(session, id)?;
    if !matches!(state, State::Failed | State::Cancelled) {
        let remedy = "only failed and cancelled tasks can be retried";
        return Err(StoreError::WrongState { task: id, state, remedy }.into());
    }
    session.sql(include_str!("../../sql/operate/retry.sql"))?.execute((id.0, session.micros()))?;
    session.news.queues.insert(queue_id);
    let task = tasks::task(session.conn, session.catalogue, session.now, id)?;
    Ok(task.ok_or_else(|| StoreError::not_found("task", id))?)
}

/// Where a task is, who has it, and on which queue it is.
type Whereabouts = (State, Option<[u8; 16]>, i64);

fn whereabouts(session: &Session<'_>, id: TaskId) -> Result<Whereabouts> {
    Ok(look_up(session, id)?.ok_or_else(|| StoreError::not_found("task", id))?)
}

fn look_up(session: &Session<'_>, id: TaskId) -> Result<Option<Whereabouts>> {
    let mut statement = session.sql(include_str!("../../sql/operate/state.sql"))?;
    let found: Option<(String, _, _)> =
        statement.query_row([id.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
    found.map(|(state, worker, queue_id)| Ok((state.parse()?, worker, queue_id))).transpose()
}

/// Where a task is, if there is one.
pub(crate) fn state(session: &Session<'_>, id: TaskId) -> Result<Option<State>> {
    Ok(look_up(session, id)?.map(|(state, ..)| state))
}

/// Makes a queue, or changes how long it keeps what is finished.
pub(crate) fn set_queue(session: &mut Session<'_>, name: &QueueName, retention: &Retention) -> Result<()> {
    make_queue(session.conn, name, retention)?;
    session.news.catalogue = true;
    Ok(())
}

/// Takes nothing more from a queue.
pub(crate) fn pause(session: &mut Session<'_>, name: &QueueName) -> Result<()> {
    let id = queue_id(session, name)?;
    session.sql(include_str!("../../sql/operate/pause.sql"))?.execute((id, session.micros()))?;
    session.news.catalogue = true;
    Ok(())
}

/// Takes from a queue again.
pub(crate) fn resume(session: &mut Session<'_>, name: &QueueName) -> Result<()> {
    let id = queue_id(session, name)?;
    session.sql(include_str!("../../sql/operate/resume.sql"))?.execute([id])?;
    session.news.catalogue = true;
    session.news.queues.insert(id);
    Ok(())
}

fn queue_id(session: &Session<'_>, name: &QueueName) -> Result<i64> {
    let known = session.catalogue.queue(name).ok_or_else(|| StoreError::not_found("queue", name))?;
    Ok(known.id)
}
