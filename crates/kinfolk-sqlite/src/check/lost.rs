//! Lost wake-ups: keys that have room, and tasks behind them that no claim would look at. There are none, unless this store
//! has a bug.

use rusqlite::{Connection, OptionalExtension};

use kinfolk_core::Timestamp;

use crate::admission::blocked::{self, LinePoint};
use crate::admission::rate;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::known_group::KnownGroup;
use crate::slots;

/// A key that has room, and the foremost task behind it, which is not to be looked at.
pub(crate) struct Lost {
    pub(crate) group_id: i64,
    pub(crate) key: String,
    pub(crate) task_id: i64,
}

/// All keys that no call would wake.
pub(crate) fn lost(conn: &Connection, catalogue: &Catalogue, now: Timestamp) -> Result<Vec<Lost>> {
    let mut lost = Vec::new();
    for group in catalogue.groups().all() {
        let mut key = Some(String::new());
        while let Some(waited_for) = key {
            lost.extend(unseen(conn, group, &waited_for, now)?.map(|task_id| Lost {
                group_id: group.id,
                key: waited_for.clone(),
                task_id,
            }));
            key = blocked::next_key(conn, group.id, &waited_for)?;
        }
    }
    Ok(lost)
}

/// A task behind a key that could start as far as the key is concerned, and that no claim would look at.
fn unseen(conn: &Connection, group: &KnownGroup, key: &str, now: Timestamp) -> Result<Option<i64>> {
    let mut heads = blocked::heads(conn, group.id, key)?;
    heads.retain(|(point, _)| !point.is_put(conn).unwrap_or(false));
    if heads.is_empty() || rate::is_timed(conn, group.id, key)? {
        return Ok(None);
    }
    let allowed = group.allows_now(conn, key)?;
    let mut statement = conn.prepare_cached(include_str!("../../sql/admission/reserve/of_key.sql"))?;
    let kept: Option<i64> = statement.query_row((group.id, key), |row| row.get(0)).optional()?;
    // Only the one it is kept for may come, and is looked at on account of all its keys. Where that does not count, each
    // claim looks.
    if kept.is_some() && (allowed.rate.is_some() || rate::spent(conn, group.id, key)?.1 > Some(now)) {
        return Ok(None);
    }
    let held = slots::held(conn, group.id, key)?;
    let free = allowed.limit.map(|limit| u64::from(limit).saturating_sub(held));
    let has_slots = free.is_none_or(|free| free > u64::from(kept.is_some()));
    let could = |(point, rides): &(LinePoint, bool)| (has_slots || *rides).then_some(point.stand.2);
    Ok(heads.iter().find_map(could))
}
