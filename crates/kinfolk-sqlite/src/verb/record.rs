//! Writing what handlers record: every write is fenced by the token of the running attempt.

use kinfolk_core::durable::{Checkpoint, Key, Record, Recorded, StepKind};
use kinfolk_core::limits::STEPS_MAX;
use kinfolk_core::{InputError, Json, TaskId, Timestamp, Token};
use rusqlite::OptionalExtension;

use crate::error::{Result, unreadable};
use crate::session::Session;

/// Writes checkpoints of running attempts; one answer each, and a stale one does not disturb the rest.
pub(crate) fn record(session: &mut Session<'_>, records: &[Record]) -> Result<Vec<Recorded>> {
    records.iter().map(|record| one(session, record)).collect()
}

fn one(session: &Session<'_>, record: &Record) -> Result<Recorded> {
    let Some(before) = fence(session, record.task, record.token)? else { return Ok(Recorded::Stale) };
    let steps = write(session, record.task, before, &record.checkpoints)?;
    if steps != before {
        session.sql(include_str!("../../sql/durable/record/steps.sql"))?.execute((record.task.0, steps))?;
    }
    Ok(Recorded::Written)
}

/// How many checkpoints a running task has; `None` when the token does not hold.
pub(crate) fn fence(session: &Session<'_>, task: TaskId, token: Token) -> Result<Option<u32>> {
    let mut statement = session.sql(include_str!("../../sql/durable/record/fence.sql"))?;
    Ok(statement.query_row((task.0, token.0.as_bytes()), |row| row.get(0)).optional()?)
}

/// Writes checkpoints of a task that has this many; how many it has then. One that is there already was written by the
/// very same call, or it is a mistake.
pub(crate) fn write<'c>(
    session: &Session<'_>,
    task: TaskId,
    before: u32,
    checkpoints: impl IntoIterator<Item = &'c Checkpoint>,
) -> Result<u32> {
    let mut put = session.sql(include_str!("../../sql/durable/record/put.sql"))?;
    let (mut steps, now) = (before, session.micros());
    for Checkpoint { key, kind, digest, value } in checkpoints {
        let kind = kind.as_str();
        let written =
            put.execute((task.0, steps, &key.branch, &key.name, key.occurrence, kind, digest, value.as_str(), now))?;
        steps += u32::try_from(written).unwrap_or(0);
        if written == 0 && find(session, task, key)? != Some((kind.to_owned(), digest.clone(), value.to_string())) {
            return Err(clash(task, key).into());
        }
    }
    let given = steps as usize;
    if given > STEPS_MAX {
        return Err(InputError::Batch { what: "checkpoints of one task", given, max: STEPS_MAX }.into());
    }
    Ok(steps)
}

/// The value recorded under a key as this kind of step, if anything is; another kind there is a mistake.
pub(crate) fn recorded(session: &Session<'_>, task: TaskId, key: &Key, kind: StepKind) -> Result<Option<Json>> {
    match find(session, task, key)? {
        None => Ok(None),
        Some((found, _, value)) if found == kind.as_str() => Ok(Some(Json::trusted(value))),
        Some(_) => Err(clash(task, key).into()),
    }
}

/// The kind, the digest and the value recorded under a key.
fn find(session: &Session<'_>, task: TaskId, key: &Key) -> Result<Option<(String, String, String)>> {
    let mut statement = session.sql(include_str!("../../sql/durable/record/one.sql"))?;
    let found = statement
        .query_row((task.0, &key.branch, &key.name, key.occurrence), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    Ok(found.optional()?)
}

fn clash(task: TaskId, key: &Key) -> InputError {
    InputError::Other(format!("task {task} has already recorded step {key}"))
}

/// The records of a task, in the order of writing.
pub(crate) fn all(conn: &rusqlite::Connection, task: TaskId) -> Result<(Vec<Checkpoint>, Vec<Timestamp>)> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/durable/record/all.sql"))?;
    let mut rows = statement.query([task.0])?;
    let (mut checkpoints, mut recorded_at) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let kind: String = row.get(3)?;
        checkpoints.push(Checkpoint {
            key: Key { branch: row.get(0)?, name: row.get(1)?, occurrence: row.get(2)? },
            kind: StepKind::from_word(&kind).ok_or_else(|| unreadable("kind of step", &kind))?,
            digest: row.get(4)?,
            value: Json::trusted(row.get::<_, String>(5)?),
        });
        recorded_at.push(Timestamp::from_micros(row.get(6)?));
    }
    Ok((checkpoints, recorded_at))
}
