//! Clearing a suspect.

use kinfolk_core::task::Task;
use kinfolk_core::{StoreError, TaskId};

use crate::admission::blocked;
use crate::error::Result;
use crate::family::whereabouts;
use crate::inspect::tasks;
use crate::session::Session;

/// A suspect has no strikes any more, and waits no longer on their account. Others stay as they are.
pub(crate) fn acquit(session: &mut Session<'_>, id: TaskId) -> Result<Task> {
    let task = whereabouts::of(session, id)?;
    if task.state.is_terminal() {
        let remedy = "a task that has ended is no suspect; retry it to run it again";
        return Err(StoreError::WrongState { task: id, state: task.state, remedy }.into());
    }
    blocked::forget_suspicion(session, id.0)?;
    let mut statement = session.sql(include_str!("../../sql/operate/acquit/task.sql"))?;
    if statement.execute((id.0, session.micros()))? > 0 {
        session.news.queues.insert(task.member.queue_id);
    }
    let task = tasks::task(session.conn, session.catalogue, session.now, id)?;
    Ok(task.ok_or_else(|| StoreError::not_found("task", id))?)
}
