//! Rates and time: keys that may start something again, and handlers that ask to slow down.

use std::collections::BTreeSet;

use kinfolk_core::admit;
use kinfolk_core::limits::DELAY_MAX;
use kinfolk_core::{GroupName, InputError, Json, Rate, StoreError, TaskId, Timestamp, Token};
use rusqlite::{Connection, OptionalExtension};

use crate::admission::blocked;
use crate::error::Result;
use crate::session::Session;
use crate::slots::GivenKeys;
use crate::verb::record;

/// Wakes the keys whose time has come.
pub(crate) fn wake_due(session: &mut Session<'_>) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/admission/rate/due.sql"))?;
    let due: Vec<(i64, String)> = statement
        .query_map([session.micros()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (group_id, key) in due {
        session.sql(include_str!("../../sql/admission/rate/looked_at.sql"))?.execute((group_id, &key))?;
        session.free(group_id, key);
    }
    blocked::wake_freed(session)
}

/// When the next key is to be looked at that tasks of these commands wait behind on this queue.
pub(crate) fn next(session: &Session<'_>, queue_id: i64, commands: &BTreeSet<i64>) -> Result<Option<Timestamp>> {
    let commands = Json::of(commands)?;
    let mut statement = session.sql(include_str!("../../sql/admission/rate/next.sql"))?;
    let next = statement.query_row((queue_id, commands.as_str()), |row| row.get(0)).optional()?;
    Ok(next.map(Timestamp::from_micros))
}

/// Starts nothing more under the key that a running task has in a group, until then; false when the token does not hold.
pub(crate) fn slow_down(
    session: &mut Session<'_>,
    task: TaskId,
    token: Token,
    group: &GroupName,
    until: Timestamp,
) -> Result<bool> {
    let ahead = until.since(session.now);
    if ahead > DELAY_MAX {
        return Err(InputError::Delay(u64::try_from(ahead.as_millis()).unwrap_or(u64::MAX)).into());
    }
    if record::fence(session, task, token)?.is_none() {
        return Ok(false);
    }
    let (group_id, key) = key_in(session, task, group)?;
    if until > session.now {
        pause(session, group_id, &key, until)?;
    }
    Ok(true)
}

/// The key of a task in the group of this name that its command declares.
fn key_in(session: &Session<'_>, task: TaskId, name: &GroupName) -> Result<(i64, String)> {
    let mut statement = session.sql(include_str!("../../sql/admission/rate/keys.sql"))?;
    let (command_id, keys): (i64, Option<String>) =
        statement.query_row([task.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let keys = GivenKeys::read(keys.as_deref())?;
    let declared = session.catalogue.groups_of(command_id).iter().find(|group| group.name == *name);
    let key = declared.and_then(|group| Some((group.id, keys.of(group)?.to_owned())));
    Ok(key.ok_or_else(|| StoreError::not_found("group", name))?)
}

/// Nothing starts under a key until then, or until the later moment that is set already. Then a claim looks at the tasks behind it.
fn pause(session: &Session<'_>, group_id: i64, key: &str, until: Timestamp) -> Result<()> {
    let (spent, paused) = spent(session.conn, group_id, key)?;
    let paused = paused.max(Some(until));
    let waits = session.sql(include_str!("../../sql/admission/blocked/any_of_key.sql"))?.exists((group_id, key))?;
    let allowed = session.catalogue.group(group_id)?.allows_now(session.conn, key)?;
    let wakes_at = waits.then(|| paused.max(next_start(allowed.rate, spent, session.now))).flatten();
    keep(session, (group_id, key), spent, paused, wakes_at)
}

/// When a rate allows the next start, if it allows none now.
pub(crate) fn next_start(rate: Option<Rate>, spent: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    let (rate, until) = rate.zip(spent)?;
    (admit::starts(rate, spent, now) == 0).then(|| admit::next_start(rate, until))
}

/// How much of a key's rate is spent, and until when it is slowed down.
pub(crate) fn spent(conn: &Connection, group_id: i64, key: &str) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/admission/rate/spent.sql"))?;
    let found = statement.query_row((group_id, key), |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (spent, paused): (Option<i64>, Option<i64>) = found.unwrap_or_default();
    Ok((spent.map(Timestamp::from_micros), paused.map(Timestamp::from_micros)))
}

/// The rates of a group, or of one key of it, may have changed: the new ones count from now on.
pub(crate) fn rein_in(session: &Session<'_>, group_id: i64, key: Option<&str>) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/admission/rate/rein_in.sql"))?;
    statement.execute((group_id, key, session.micros()))?;
    Ok(())
}

/// A group, or one key of it, is slowed down no longer. The caller wakes the tasks that wait.
pub(crate) fn lift(session: &Session<'_>, group_id: i64, key: Option<&str>) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/admission/rate/lift.sql"))?;
    statement.execute((group_id, key, session.micros()))?;
    Ok(())
}

/// Whether a key is to be looked at again when a moment comes.
pub(crate) fn is_timed(conn: &Connection, group_id: i64, key: &str) -> Result<bool> {
    Ok(conn.prepare_cached(include_str!("../../sql/admission/rate/is_timed.sql"))?.exists((group_id, key))?)
}

/// Writes how much of a key's rate is spent, until when it is slowed down, and when it is to be looked at again.
pub(crate) fn keep(
    session: &Session<'_>,
    (group_id, key): (i64, &str),
    spent: Option<Timestamp>,
    paused: Option<Timestamp>,
    wakes_at: Option<Timestamp>,
) -> Result<()> {
    let micros = |at: Option<Timestamp>| at.map(Timestamp::as_micros);
    let mut statement = session.sql(include_str!("../../sql/admission/rate/keep.sql"))?;
    statement.execute((group_id, key, micros(spent), micros(paused), micros(wakes_at)))?;
    Ok(())
}
