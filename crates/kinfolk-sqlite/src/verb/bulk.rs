//! One action on many tasks: a page of the tasks that match a filter, in one transaction; and telling a task to run now.

use kinfolk_core::filter::Filter;
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::operate::{Action, BulkPage};
use kinfolk_core::task::Task;
use kinfolk_core::{State, StoreError, TaskId};

use crate::error::{Fault, Result};
use crate::family::whereabouts;
use crate::find::list::{self, Sifted};
use crate::inspect::tasks;
use crate::session::Session;
use crate::verb::{cancel, prune, retry, retry_family};

/// Does it to one page of what matches, the oldest first.
pub(crate) fn bulk(session: &mut Session<'_>, action: Action, filter: &Filter) -> Result<BulkPage> {
    let Some(filter) = action.narrowed(filter) else { return Ok(BulkPage::default()) };
    let limit = filter.page();
    let Sifted { mut found, stopped_at } = list::sift(session.conn, session.catalogue, &filter, limit + 1, LOOK_MAX)?;
    let more = found.len() > limit;
    found.truncate(limit);
    let next = if more { found.last().copied() } else { stopped_at };
    let mut page = BulkPage { next: next.map(TaskId), ..BulkPage::default() };
    if action == Action::Delete {
        return delete(session, &found, page);
    }
    for id in found {
        if act(session, action, TaskId(id))? {
            page.done += 1;
        } else {
            page.skipped += 1;
        }
        // The code below looks at the tables.
        session.keep()?;
    }
    Ok(page)
}

/// Does it to one task; false when it can't be done.
fn act(session: &mut Session<'_>, action: Action, id: TaskId) -> Result<bool> {
    match action {
        // It may have been cancelled by this very page, with its parent.
        Action::Cancel => {
            Ok(refused(cancel::cancel(session, id))? || whereabouts::of(session, id)?.state == State::Cancelled)
        }
        Action::RunNow => refused(run_now(session, id)),
        Action::Retry => {
            if refused(retry::retry(session, id))? || refused(retry_family::retry_family(session, id))? {
                return Ok(true);
            }
            // It may run again already, with its family.
            Ok(!matches!(whereabouts::of(session, id)?.state, State::Failed | State::Cancelled))
        }
        Action::Delete => Ok(false),
    }
}

/// Whether something was done, or refused since the task's state forbids it.
fn refused<T>(done: Result<T>) -> Result<bool> {
    match done {
        Ok(_) => Ok(true),
        Err(Fault::Store(StoreError::WrongState { .. })) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Removes families, as many as fit on a page of retention.
fn delete(session: &mut Session<'_>, roots: &[i64], page: BulkPage) -> Result<BulkPage> {
    let (done, whole) = prune::remove(session, roots)?;
    let next = match roots.get(whole) {
        // This one did not fit, or not whole: it is the next.
        Some(root) => Some(TaskId(root - 1)),
        None => page.next,
    };
    Ok(BulkPage { done, next, ..page })
}

/// Lets a pending task that is not due run now.
pub(crate) fn run_now(session: &mut Session<'_>, id: TaskId) -> Result<Task> {
    let task = whereabouts::of(session, id)?;
    if task.state != State::Pending {
        let remedy = "only a pending task can be told to run now";
        return Err(StoreError::WrongState { task: id, state: task.state, remedy }.into());
    }
    if session.sql(include_str!("../../sql/retry/run_now.sql"))?.execute((id.0, session.micros()))? > 0 {
        session.news.queues.insert(task.member.queue_id);
    }
    let task = tasks::task(session.conn, session.catalogue, session.now, id)?;
    Ok(task.ok_or_else(|| StoreError::not_found("task", id))?)
}
