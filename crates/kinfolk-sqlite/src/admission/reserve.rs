//! Room that is kept for a task, and whether that counts.
//!
//! It counts while nothing but slots that others hold keeps the task from starting: else its keys would be shut for all tasks
//! while its queue is paused, say, or its worker is gone. A claim judges that when it wants the room, and it is written nowhere; so
//! each claim looks whether it has made room for the tasks behind such a key.

use std::collections::BTreeSet;

use kinfolk_core::{Timestamp, admit};
use rusqlite::Connection;

use crate::admission::blocked;
use crate::admission::rate;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::session::Session;
use crate::slots::{self, GivenKeys};

/// Whether what is kept for a task counts now: its queue is not paused, a live worker handles its command there, and no key of it
/// is shut by a limit of 0, slowed down or out of starts.
pub(crate) fn keeps_room(conn: &Connection, catalogue: &Catalogue, now: Timestamp, id: i64) -> Result<bool> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/admission/reserve/task.sql"))?;
    let (queue_id, command_id, keys): (i64, i64, Option<String>) =
        statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let (queue, command) = (catalogue.queue_by_id(queue_id)?, catalogue.command_name(command_id)?);
    let mut handled = conn.prepare_cached(include_str!("../../sql/admission/reserve/handled.sql"))?;
    if queue.paused_at.is_some() || !handled.exists((now.as_micros(), queue.name.as_str(), command.as_str()))? {
        return Ok(false);
    }
    let keys = GivenKeys::read(keys.as_deref())?;
    for group in catalogue.groups_of(command_id) {
        let Some(key) = keys.of(group) else { continue };
        let limit = catalogue.group(group.id)?.allows_now(conn, key)?.limit;
        if limit == Some(0) || !allows_a_start(conn, catalogue, now, (group.id, key))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a key is not slowed down, and has a start left where it has a rate.
fn allows_a_start(
    conn: &Connection,
    catalogue: &Catalogue,
    now: Timestamp,
    (group_id, key): (i64, &str),
) -> Result<bool> {
    let rate = catalogue.group(group_id)?.allows_now(conn, key)?.rate;
    let (spent, paused) = rate::spent(conn, group_id, key)?;
    Ok(paused.is_none_or(|until| until <= now) && rate.is_none_or(|rate| admit::starts(rate, spent, now) > 0))
}

/// At the beginning of a claim of these commands: wakes the tasks that wait for kept room in their groups, where it does not count
/// now. Nothing tells of a worker that died.
pub(crate) fn wake_unkept(session: &mut Session<'_>, commands: &BTreeSet<i64>) -> Result<()> {
    let declares = |group_id| {
        let mut groups = commands.iter().flat_map(|id| session.catalogue.groups_of(*id));
        groups.any(|group| group.id == group_id)
    };
    let mut reserved = blocked::reserved(session)?;
    reserved.retain(|(group_id, ..)| declares(*group_id));
    for (group_id, key, task) in reserved {
        let (conn, catalogue, now) = (session.conn, session.catalogue, session.now);
        if keeps_room(conn, catalogue, now, task)? || !allows_a_start(conn, catalogue, now, (group_id, &key))? {
            continue;
        }
        let limit = catalogue.group(group_id)?.allows_now(conn, &key)?.limit;
        let held = slots::held(conn, group_id, &key)?;
        let has_slots = limit.is_none_or(|limit| u64::from(limit) > held);
        for (point, rides) in blocked::heads(conn, group_id, &key)? {
            if (has_slots || rides) && !point.is_put(conn)? {
                point.put(session)?;
            }
        }
    }
    Ok(())
}
