//! Enqueueing tasks, and what a held unique key does to a newcomer.

use kinfolk_core::limits::PAYLOAD_BYTES_MAX;
use kinfolk_core::{
    Enqueued, Gate, InputError, Json, Keys, NewTask, OnDuplicate, Rejection, State, StoreError, TaskId, Timestamp,
    Unique, UniqueScope,
};
use rusqlite::{CachedStatement, OptionalExtension, ToSql, params_from_iter};

use crate::catalogue::{Catalogue, KnownCommand, KnownQueue};
use crate::error::Result;
use crate::rows::span;
use crate::session::Session;

/// Payloads above this lie beside their task: SQLite writes a row anew, all of it, whenever any of it changes.
const INLINE_BYTES_MAX: usize = 1024;

/// The moment until which a key is held whose end is not known yet.
const OPEN_END: i64 = i64::MAX;

/// Enqueues tasks in this order, made by a task that has these keys; one answer each.
pub(crate) fn enqueue(session: &mut Session<'_>, tasks: &[NewTask], maker: &Keys) -> Result<Vec<Enqueued>> {
    let mut insert = session.sql(include_str!("../../sql/produce/insert.sql"))?;
    tasks.iter().map(|task| one(session, &mut insert, task, maker)).collect()
}

/// The same, all or nothing: one that can't be made is an error, before any is.
pub(crate) fn enqueue_all(session: &mut Session<'_>, tasks: &[NewTask]) -> Result<Vec<Enqueued>> {
    for task in tasks {
        target(session.catalogue, task).map_err(StoreError::from)?;
    }
    enqueue(session, tasks, &Keys::new())
}

fn one(session: &mut Session<'_>, insert: &mut CachedStatement<'_>, task: &NewTask, maker: &Keys) -> Result<Enqueued> {
    let (command, queue) = match target(session.catalogue, task) {
        Ok(target) => target,
        Err(why) => return Ok(Enqueued::Rejected(why)),
    };
    if let Some(unique) = &task.unique
        && let Some(holder) = holder(session, include_str!("../../sql/produce/holder.sql"), command.id, &unique.key)?
    {
        return joined(session, &holder, task, unique.on_duplicate);
    }
    let stand = Stand::of(task, command, session.now);
    let id = put(session, insert, task, command, queue, &stand, Origin { keys: maker, birth: None })?;
    Ok(Enqueued::Created(id))
}

/// The command and the queue that a new task names; the command has all groups that it has keys for.
pub(crate) fn target<'a>(
    catalogue: &'a Catalogue,
    task: &NewTask,
) -> std::result::Result<(&'a KnownCommand, &'a KnownQueue), Rejection> {
    let command = catalogue.command(&task.command);
    let command = command.ok_or_else(|| Rejection::UnknownCommand(task.command.clone()))?;
    let name = task.queue.as_ref().unwrap_or(&command.command.queue);
    let queue = catalogue.queue(name).ok_or_else(|| Rejection::UnknownQueue(name.clone()))?;
    let declared = catalogue.groups_of(command.id);
    match task.keys.0.keys().find(|name| !declared.iter().any(|group| group.name == **name)) {
        Some(unknown) => Err(Rejection::UnknownGroup(unknown.clone())),
        None => Ok((command, queue)),
    }
}

/// The gate of a task that only time may hold.
pub(crate) fn gate_of(due: Timestamp, now: Timestamp) -> Gate {
    if due > now { Gate::Time } else { Gate::Open }
}

/// The place of a new task in line.
pub(crate) struct Stand {
    pub(crate) gate: Gate,
    pub(crate) priority: i32,
    pub(crate) due: Timestamp,
    pub(crate) position: Timestamp,
}

impl Stand {
    /// The place of a task that waits for no other task.
    pub(crate) fn of(task: &NewTask, command: &KnownCommand, now: Timestamp) -> Self {
        let due = task.due.at(now);
        let priority = task.priority.unwrap_or(command.command.priority);
        Self { gate: gate_of(due, now), priority, due, position: due.max(now) }
    }
}

/// The parent and the fan-out of a new child.
pub(crate) struct Birth {
    pub(crate) parent_id: i64,
    pub(crate) root_id: i64,
    pub(crate) depth: u16,
    pub(crate) fan_out_id: i64,
    pub(crate) nth: u64,
    /// The attempts of the parent, if it awaits this child.
    pub(crate) awaited: Option<u16>,
}

/// The origin of a new task: the keys of the task that makes it, and whose child it is, if it is one.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'m> {
    pub(crate) keys: &'m Keys,
    pub(crate) birth: Option<&'m Birth>,
}

/// The keys of a new task: its own, and the inherited ones.
fn keys_of(catalogue: &Catalogue, task: &NewTask, command: &KnownCommand, maker: &Keys) -> Keys {
    let declared = catalogue.groups_of(command.id);
    let mut keys = task.keys.clone();
    if task.inherit_keys {
        let inherited = maker.0.iter().filter(|(name, _)| declared.iter().any(|group| group.name == **name));
        for (name, key) in inherited {
            keys.0.entry(name.clone()).or_insert_with(|| key.clone());
        }
    }
    keys
}

/// A new task as it is written, but for its number.
pub(crate) struct NewRow<'t> {
    pub(crate) command_id: i64,
    pub(crate) queue_id: i64,
    pub(crate) gate: &'static str,
    pub(crate) priority: i32,
    pub(crate) due: i64,
    pub(crate) position: i64,
    pub(crate) max_attempts: u16,
    pub(crate) timeout: Option<i64>,
    pub(crate) created_at: i64,
    pub(crate) unique_key: Option<&'t str>,
    pub(crate) unique_scope: Option<&'static str>,
    pub(crate) key_until: Option<i64>,
    pub(crate) trace: Option<&'t str>,
    /// Not here when it is large.
    pub(crate) payload: Option<&'t str>,
    pub(crate) keys: Option<Json>,
    pub(crate) fair: Option<String>,
}

impl<'t> NewRow<'t> {
    pub(crate) fn of(
        (catalogue, now): (&Catalogue, Timestamp),
        task: &'t NewTask,
        (command, queue): (&KnownCommand, &KnownQueue),
        stand: &Stand,
        origin: Origin<'_>,
    ) -> Result<Self> {
        let keys = keys_of(catalogue, task, command, origin.keys);
        let awaited = origin.birth.and_then(|birth| birth.awaited);
        Ok(Self {
            command_id: command.id,
            queue_id: queue.id,
            gate: stand.gate.as_str(),
            priority: stand.priority,
            due: stand.due.as_micros(),
            position: stand.position.as_micros(),
            max_attempts: task.max_attempts.unwrap_or_else(|| command.command.retry.attempts(awaited)),
            timeout: task.timeout.or(command.command.timeout).map(span),
            created_at: now.as_micros(),
            unique_key: task.unique.as_ref().map(|unique| unique.key.as_str()),
            unique_scope: task.unique.as_ref().map(|unique| unique.scope.as_str()),
            key_until: task.unique.as_ref().map(|unique| held_until(unique, now)),
            trace: task.trace.as_deref(),
            payload: inline(&task.payload),
            fair: queue.queue.policy.fair.as_ref().map(|name| keys.get(name).unwrap_or_default().to_owned()),
            keys: if keys.is_empty() { None } else { Some(Json::of(&keys)?) },
        })
    }
}

/// Writes a new task with `sql/produce/insert.sql`, or a child with `sql/produce/insert_child.sql`. Its number.
pub(crate) fn put(
    session: &mut Session<'_>,
    insert: &mut CachedStatement<'_>,
    task: &NewTask,
    command: &KnownCommand,
    queue: &KnownQueue,
    stand: &Stand,
    origin: Origin<'_>,
) -> Result<TaskId> {
    let row = NewRow::of((session.catalogue, session.now), task, (command, queue), stand, origin)?;
    let keys = row.keys.as_ref().map(Json::as_str);
    let id = session.next_task();
    let new: [&dyn ToSql; 17] = [
        &id.0,
        &row.command_id,
        &row.queue_id,
        &row.gate,
        &row.priority,
        &row.due,
        &row.position,
        &row.max_attempts,
        &row.timeout,
        &row.created_at,
        &row.unique_key,
        &row.unique_scope,
        &row.key_until,
        &row.trace,
        &row.payload,
        &keys,
        &row.fair,
    ];
    match origin.birth {
        None => insert.execute(new.as_slice())?,
        Some(birth) => {
            let born: [&dyn ToSql; 5] = [&birth.parent_id, &birth.root_id, &birth.depth, &birth.fan_out_id, &birth.nth];
            insert.execute(params_from_iter(new.into_iter().chain(born)))?
        }
    };
    put_large(session, id, &task.payload)?;
    session.news.queues.insert(row.queue_id);
    Ok(id)
}

/// The payload as it lies in the task's own row: not at all when it is large.
pub(crate) fn inline(payload: &Json) -> Option<&str> {
    (payload.bytes() <= INLINE_BYTES_MAX).then(|| payload.as_str())
}

fn put_large(session: &Session<'_>, id: TaskId, payload: &Json) -> Result<()> {
    if inline(payload).is_none() {
        session.sql(include_str!("../../sql/produce/put_large.sql"))?.execute((id.0, payload.as_str()))?;
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
pub(crate) struct Holder {
    pub(crate) id: TaskId,
    pub(crate) unstarted: bool,
    payload: Json,
}

impl Holder {
    /// The task as its row says.
    pub(crate) fn new(id: i64, state: &str, runs: i64, payload: String) -> Self {
        let unstarted = state == State::Pending.as_str() && runs == 0;
        Self { id: TaskId(id), unstarted, payload: Json::trusted(payload) }
    }

    /// The payload that this task gets from a newcomer, if it gets one: a task that has started is never changed.
    pub(crate) fn joined_by(&self, task: &NewTask, on_duplicate: OnDuplicate) -> Result<Option<Json>> {
        let payload = match on_duplicate {
            OnDuplicate::Keep => return Ok(None),
            _ if !self.unstarted => return Ok(None),
            OnDuplicate::Replace => task.payload.clone(),
            OnDuplicate::Merge => self.payload.merged(&task.payload),
        };
        if payload.bytes() > PAYLOAD_BYTES_MAX {
            let too_large = InputError::TooLarge { what: "payload", bytes: payload.bytes(), max: PAYLOAD_BYTES_MAX };
            return Err(too_large.into());
        }
        Ok(Some(payload))
    }
}

/// The task that holds a key of a command, as this statement looks for it.
pub(crate) fn holder(session: &Session<'_>, sql: &str, command_id: i64, key: &str) -> Result<Option<Holder>> {
    let mut statement = session.sql(sql)?;
    let found = statement.query_row((key, command_id, session.micros()), |row| {
        Ok(Holder::new(row.get("id")?, row.get_ref("state")?.as_str()?, row.get("runs")?, row.get("payload")?))
    });
    Ok(found.optional()?)
}

/// The fate of a newcomer whose key is held.
pub(crate) fn joined(
    session: &Session<'_>,
    holder: &Holder,
    task: &NewTask,
    on_duplicate: OnDuplicate,
) -> Result<Enqueued> {
    let Some(payload) = holder.joined_by(task, on_duplicate)? else { return Ok(Enqueued::Existing(holder.id)) };
    session.sql(include_str!("../../sql/produce/replace.sql"))?.execute((holder.id.0, inline(&payload)))?;
    match inline(&payload) {
        Some(_) => drop(session.sql(include_str!("../../sql/upkeep/prune/payload.sql"))?.execute([holder.id.0])?),
        None => put_large(session, holder.id, &payload)?,
    }
    Ok(Enqueued::Merged(holder.id))
}
