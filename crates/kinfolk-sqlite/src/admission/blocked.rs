//! Tasks that wait behind a key without room, and waking keys.
//!
//! A key is woken, not a task: a call that may have made room makes ready the foremost tasks behind the key, one
//! of each queue, command and lane, and a claim reads ready waiters as it reads open tasks. A ready waiter goes when a claim has looked at
//! its task. So no claim reads blocked tasks, and as long as a key may have room, the first behind it is a ready waiter.

use kinfolk_core::limits::FAILED_TRIES_MAX;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::Result;
use crate::family::Lane;
use crate::session::Session;
use crate::slots;

/// Where a task that waits behind a key is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinePoint {
    pub(crate) queue_id: i64,
    pub(crate) command_id: i64,
    pub(crate) suspect: bool,
    pub(crate) lane: Lane,
    /// Priority, position and number.
    pub(crate) stand: (i64, i64, i64),
}

impl LinePoint {
    /// The next claim looks at this task.
    pub(crate) fn put(&self, session: &mut Session<'_>) -> Result<()> {
        let mut statement = session.sql(include_str!("../../sql/admission/blocked/add_ready.sql"))?;
        statement.execute(self.columns())?;
        session.news.queues.insert(self.queue_id);
        Ok(())
    }

    /// The task has been looked at; whether it was to be.
    pub(crate) fn remove(&self, session: &Session<'_>) -> Result<bool> {
        let mut statement = session.sql(include_str!("../../sql/admission/blocked/remove_ready.sql"))?;
        Ok(statement.execute(self.columns())? > 0)
    }

    /// Whether the next claim looks at this task.
    pub(crate) fn is_put(&self, conn: &Connection) -> Result<bool> {
        Ok(conn.prepare_cached(include_str!("../../sql/admission/blocked/is_ready.sql"))?.exists(self.columns())?)
    }

    /// Whether both are of one queue, command and lane, and both suspects or neither.
    fn is_beside(&self, other: &Self) -> bool {
        (self.queue_id, self.command_id, self.lane, self.suspect)
            == (other.queue_id, other.command_id, other.lane, other.suspect)
    }

    /// As it is stored.
    pub(crate) fn columns(&self) -> (i64, i64, bool, &'static str, i64, i64, i64) {
        let (priority, position, id) = self.stand;
        (self.queue_id, self.command_id, self.suspect, self.lane.as_str(), priority, position, id)
    }
}

/// Wakes all keys that this call has freed.
pub(crate) fn wake_freed(session: &mut Session<'_>) -> Result<()> {
    if session.freed.is_empty() {
        return Ok(());
    }
    let reserved = reserved(session)?;
    for (group_id, keys) in std::mem::take(&mut session.freed) {
        let kept = reserved.iter().find(|(group, ..)| *group == group_id);
        if kept.is_none() && !session.sql(include_str!("../../sql/admission/blocked/any.sql"))?.exists([group_id])? {
            continue;
        }
        for key in keys {
            wake(session, group_id, &key)?;
            if let Some((_, _, id)) = kept.filter(|(_, kept, _)| *kept == key) {
                let line = pending_task(session, *id)?;
                if line.blocked.is_some() {
                    line.point.put(session)?;
                }
            }
        }
    }
    Ok(())
}

/// Wakes one key: the next claims look at the foremost tasks behind it.
pub(crate) fn wake(session: &mut Session<'_>, group_id: i64, key: &str) -> Result<()> {
    heads(session.conn, group_id, key)?.iter().try_for_each(|(point, _)| point.put(session))
}

/// The foremost tasks behind a key, one of each queue, command and lane, and whether it needs no slot there.
pub(crate) fn heads(conn: &Connection, group_id: i64, key: &str) -> Result<Vec<(LinePoint, bool)>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/admission/blocked/next.sql"))?;
    let mut heads = Vec::new();
    let mut behind = (-1, -1, "", 0);
    loop {
        let (queue_id, command_id, lane, blocked_as) = behind;
        let last = i64::MAX;
        let behind_all = (group_id, key, queue_id, command_id, lane, blocked_as, last, last, last);
        let Some((point, rides)) = statement.query_row(behind_all, blocked).optional()? else { return Ok(heads) };
        heads.push((point, rides));
        behind = (point.queue_id, point.command_id, point.lane.as_str(), blocked_as_what(point.suspect, rides));
    }
}

/// The next one behind a task that waits, or waited, behind a key: of the same queue, command and lane.
pub(crate) fn next(
    conn: &Connection,
    head: &LinePoint,
    group_id: i64,
    key: &str,
    rides: bool,
) -> Result<Option<LinePoint>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/admission/blocked/next.sql"))?;
    let (queue_id, command_id, lane) = (head.queue_id, head.command_id, head.lane.as_str());
    let (blocked_as, (priority, position, id)) = (blocked_as_what(head.suspect, rides), head.stand);
    let behind = (group_id, key, queue_id, command_id, lane, blocked_as, priority, position, id);
    let next = statement.query_row(behind, blocked).optional()?;
    Ok(next.filter(|(next, same)| *same == rides && next.is_beside(head)).map(|(next, _)| next))
}

/// The way in which a task is blocked, in one number.
pub(crate) const fn blocked_as_what(suspect: bool, rides: bool) -> i64 {
    suspect as i64 + 2 * rides as i64
}

/// A task behind a key, from the columns of `sql/admission/blocked/next.sql`, and whether it needs no slot there.
fn blocked(row: &Row<'_>) -> rusqlite::Result<(LinePoint, bool)> {
    let blocked_as: i64 = row.get(3)?;
    let point = LinePoint {
        queue_id: row.get(0)?,
        command_id: row.get(1)?,
        lane: lane_from(row, 2)?,
        suspect: blocked_as & 1 == 1,
        stand: stand(row, 4)?,
    };
    Ok((point, blocked_as & 2 == 2))
}

/// Wakes all keys of a group that tasks wait behind.
pub(crate) fn wake_group(session: &mut Session<'_>, group_id: i64) -> Result<()> {
    // The key of a total is empty.
    wake(session, group_id, "")?;
    let mut key = String::new();
    while let Some(found) = next_key(session.conn, group_id, &key)? {
        key = found;
        wake(session, group_id, &key)?;
    }
    Ok(())
}

/// The next key of a group that tasks wait behind.
pub(crate) fn next_key(conn: &Connection, group_id: i64, behind: &str) -> Result<Option<String>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/admission/blocked/next_key.sql"))?;
    Ok(statement.query_row((group_id, behind), |row| row.get(0)).optional()?)
}

/// A pending task leaves the line: it waits behind no key any more, nothing is kept for it, and if it ends it holds no slots.
/// The caller gives it another gate, or ends it.
pub(crate) fn leave(session: &mut Session<'_>, id: i64, ends: bool) -> Result<()> {
    let line = pending_task(session, id)?;
    if line.blocked.is_none() && !line.holds_slots && line.failed_tries == 0 {
        return Ok(());
    }
    if let Some((group_id, key)) = &line.blocked
        && line.point.remove(session)?
    {
        session.free(*group_id, key.as_str());
    }
    if line.failed_tries >= FAILED_TRIES_MAX {
        end_reservation(session, id)?;
    }
    if line.holds_slots && ends {
        slots::give_back(session, id, line.point.command_id, line.keys.as_deref(), true)?;
    }
    session.sql(include_str!("../../sql/admission/blocked/leave.sql"))?.execute((id, line.holds_slots && !ends))?;
    Ok(())
}

/// A suspect that waits behind a key is about to be cleared: its ready row, which says that it is one, goes, and the key is looked at
/// anew.
pub(crate) fn forget_suspicion(session: &mut Session<'_>, id: i64) -> Result<()> {
    let line = pending_task(session, id)?;
    if let Some((group_id, key)) = line.blocked.as_ref().filter(|_| line.point.suspect) {
        line.point.remove(session)?;
        session.free(*group_id, key.as_str());
    }
    Ok(())
}

/// Nothing is kept for a task any more.
pub(crate) fn end_reservation(session: &mut Session<'_>, id: i64) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/admission/reserve/of_task.sql"))?;
    let kept: Vec<(i64, String)> =
        statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    if !kept.is_empty() {
        session.sql(include_str!("../../sql/admission/reserve/end.sql"))?.execute([id])?;
        kept.into_iter().for_each(|(group_id, key)| session.free(group_id, key));
    }
    Ok(())
}

/// The reservations: the group, the key and the task of each.
pub(crate) fn reserved(session: &Session<'_>) -> Result<Vec<(i64, String, i64)>> {
    let mut statement = session.sql(include_str!("../../sql/admission/reserve/all.sql"))?;
    let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Opens whatever waits behind the keys of a group, if it is of this command, or of any.
pub(crate) fn open(session: &mut Session<'_>, group_id: i64, command_id: Option<i64>) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/admission/blocked/queues.sql"))?;
    let queues = statement.query_map([group_id], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    session.news.queues.extend(queues);
    session
        .sql(include_str!("../../sql/admission/blocked/remove_ready_of_group.sql"))?
        .execute((group_id, command_id))?;
    session.sql(include_str!("../../sql/admission/blocked/open_group.sql"))?.execute((group_id, command_id))?;
    Ok(())
}

/// A pending task in line.
struct PendingTask {
    point: LinePoint,
    blocked: Option<(i64, String)>,
    holds_slots: bool,
    keys: Option<String>,
    failed_tries: u16,
}

fn pending_task(session: &Session<'_>, id: i64) -> Result<PendingTask> {
    let mut statement = session.sql(include_str!("../../sql/admission/blocked/line.sql"))?;
    Ok(statement.query_row([id], |row| {
        let group: Option<i64> = row.get(6)?;
        let key: Option<String> = row.get(7)?;
        Ok(PendingTask {
            point: LinePoint {
                queue_id: row.get(0)?,
                command_id: row.get(1)?,
                suspect: row.get(2)?,
                lane: lane_from(row, 3)?,
                stand: (row.get(4)?, row.get(5)?, id),
            },
            blocked: group.zip(key),
            holds_slots: row.get(8)?,
            keys: row.get(9)?,
            failed_tries: row.get(10)?,
        })
    })?)
}

/// A lane, from a column.
pub(crate) fn lane_from(row: &Row<'_>, column: usize) -> rusqlite::Result<Lane> {
    Lane::from_word(row.get_ref(column)?.as_str()?).ok_or(rusqlite::Error::InvalidQuery)
}

/// The stand of a task, from three columns from this one on.
pub(crate) fn stand(row: &Row<'_>, first: usize) -> rusqlite::Result<(i64, i64, i64)> {
    Ok((row.get(first)?, row.get(first + 1)?, row.get(first + 2)?))
}
