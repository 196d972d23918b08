//! Enqueueing tasks, and what a held unique key does to a newcomer.

use kinfolk_core::limits::PAYLOAD_BYTES_MAX;
use kinfolk_core::{
    Enqueued, Gate, InputError, Json, NewTask, OnDuplicate, Rejection, State, TaskId, Timestamp, Unique, UniqueScope,
};
use rusqlite::{CachedStatement, OptionalExtension};

use crate::catalogue::KnownCommand;
use crate::error::Result;
use crate::rows::span;
use crate::session::Session;

/// Payloads above this lie beside their task: SQLite writes a row anew, all of it, whenever any of it changes.
const INLINE_BYTES_MAX: usize = 1024;

/// The moment until which a key is held whose end is not known yet.
const OPEN_END: i64 = i64::MAX;

/// Enqueues tasks in this order; one answer each.
pub(crate) fn enqueue(session: &mut Session<'_>, tasks: &[NewTask]) -> Result<Vec<Enqueued>> {
    let mut insert = session.sql(include_str!("../../sql/enqueue/insert.sql"))?;
    tasks.iter().map(|task| one(session, &mut insert, task)).collect()
}

fn one(session: &mut Session<'_>, insert: &mut CachedStatement<'_>, task: &NewTask) -> Result<Enqueued> {
    let catalogue = session.catalogue;
    let Some(command) = catalogue.command(&task.command) else {
        return Ok(Enqueued::Rejected(Rejection::UnknownCommand(task.command.clone())));
    };
    let queue_id = match &task.queue {
        None => command.queue_id,
        Some(name) => match catalogue.queue(name) {
            Some(known) => known.id,
            None => return Ok(Enqueued::Rejected(Rejection::UnknownQueue(name.clone()))),
        },
    };
    if let Some(unique) = &task.unique
        && let Some(holder) = holder(session, command.id, &unique.key)?
    {
        return joined(session, &holder, task, unique.on_duplicate);
    }
    let id = session.next_task();
    put(session, insert, id, task, command, queue_id)?;
    session.news.queues.insert(queue_id);
    Ok(Enqueued::Created(id))
}

fn put(
    session: &Session<'_>,
    insert: &mut CachedStatement<'_>,
    id: TaskId,
    task: &NewTask,
    command: &KnownCommand,
    queue_id: i64,
) -> Result<()> {
    let now = session.now;
    let due = task.due.at(now);
    let gate = if due > now { Gate::Time } else { Gate::Open };
    let defaults = &command.command;
    insert.execute((
        id.0,
        command.id,
        queue_id,
        gate.as_str(),
        task.priority.unwrap_or(defaults.priority),
        due.as_micros(),
        due.max(now).as_micros(),
        task.max_attempts.unwrap_or(defaults.retry.max_attempts),
        task.timeout.or(defaults.timeout).map(span),
        now.as_micros(),
        task.unique.as_ref().map(|unique| unique.key.as_str()),
        task.unique.as_ref().map(|unique| unique.scope.as_str()),
        task.unique.as_ref().map(|unique| held_until(unique, now)),
        task.trace.as_deref(),
        inline(&task.payload),
    ))?;
    put_large(session, id, &task.payload)
}

/// The payload as it lies in the task's own row: not at all when it is large.
fn inline(payload: &Json) -> Option<&str> {
    (payload.bytes() <= INLINE_BYTES_MAX).then(|| payload.as_str())
}

fn put_large(session: &Session<'_>, id: TaskId, payload: &Json) -> Result<()> {
    if inline(payload).is_none() {
        session.sql(include_str!("../../sql/enqueue/put_large.sql"))?.execute((id.0, payload.as_str()))?;
    }
    Ok(())
}

fn held_until(unique: &Unique, now: Timestamp) -> i64 {
    match unique.scope {
        UniqueScope::Pending | UniqueScope::Active => OPEN_END,
        UniqueScope::Window(span) => now.plus(span).as_micros(),
    }
}

/// The task that holds a key.
struct Holder {
    id: TaskId,
    unstarted: bool,
    payload: Json,
}

fn holder(session: &Session<'_>, command_id: i64, key: &str) -> Result<Option<Holder>> {
    let mut statement = session.sql(include_str!("../../sql/enqueue/holder.sql"))?;
    let found = statement.query_row((key, command_id, session.micros()), |row| {
        let state: String = row.get("state")?;
        let runs: u32 = row.get("runs")?;
        Ok(Holder {
            id: TaskId(row.get("id")?),
            unstarted: state == State::Pending.as_str() && runs == 0,
            payload: Json::trusted(row.get::<_, String>("payload")?),
        })
    });
    Ok(found.optional()?)
}

/// What becomes of a newcomer whose key is held. A task that has started is never changed.
fn joined(session: &Session<'_>, holder: &Holder, task: &NewTask, on_duplicate: OnDuplicate) -> Result<Enqueued> {
    let payload = match on_duplicate {
        OnDuplicate::Keep => return Ok(Enqueued::Existing(holder.id)),
        _ if !holder.unstarted => return Ok(Enqueued::Existing(holder.id)),
        OnDuplicate::Replace => task.payload.clone(),
        OnDuplicate::Merge => holder.payload.merged(&task.payload),
    };
    if payload.bytes() > PAYLOAD_BYTES_MAX {
        let too_large = InputError::TooLarge { what: "payload", bytes: payload.bytes(), max: PAYLOAD_BYTES_MAX };
        return Err(too_large.into());
    }
    session.sql(include_str!("../../sql/enqueue/replace.sql"))?.execute((holder.id.0, inline(&payload)))?;
    match inline(&payload) {
        Some(_) => drop(session.sql(include_str!("../../sql/prune/payload.sql"))?.execute([holder.id.0])?),
        None => put_large(session, holder.id, &payload)?,
    }
    Ok(Enqueued::Merged(holder.id))
}
