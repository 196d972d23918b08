//! Groups, and the keys that are in use, as they are shown.

use kinfolk_core::group::TOTAL;
use kinfolk_core::limits::{HOLDERS_SHOWN_MAX, PAGE_MAX};
use kinfolk_core::{GroupView, KeyFilter, KeyView, TaskId, Timestamp};
use rusqlite::{CachedStatement, OptionalExtension, Params};

use crate::admission::blocked;
use crate::admission::rate;
use crate::error::Result;
use crate::known_group::{KnownGroup, setting_from};
use crate::readers::Snapshot;
use crate::slots;

/// All groups: the shared ones by name, then those of commands by command and name.
pub(crate) fn groups(snapshot: &Snapshot<'_>) -> Result<Vec<GroupView>> {
    let known = snapshot.catalogue.groups();
    let mut settings = snapshot.conn.prepare_cached(include_str!("../../sql/groups/settings.sql"))?;
    let mut shown = Vec::new();
    for group in known.all() {
        let commands = known.declarers(group.id).map(|id| snapshot.catalogue.command_name(id).cloned());
        let mut commands = commands.collect::<Result<Vec<_>>>()?;
        commands.sort();
        let keys = settings.query_map([group.id], |row| Ok((row.get(0)?, setting_from(row, 1)?)))?;
        shown.push(GroupView {
            group: group.group.clone(),
            commands,
            declared: group.declared.clone(),
            set: group.set,
            keys: keys.collect::<rusqlite::Result<_>>()?,
        });
    }
    Ok(shown)
}

/// A page of the keys that are in use, group by group.
pub(crate) fn keys(snapshot: &Snapshot<'_>, filter: &KeyFilter) -> Result<Vec<KeyView>> {
    let limit = filter.limit.clamp(1, PAGE_MAX);
    let mut shown = Vec::new();
    for group in snapshot.catalogue.groups().all() {
        let behind = filter.after.as_ref().filter(|(after, _)| *after == group.group).map(|(_, key)| key.as_str());
        let passed = filter.after.as_ref().is_some_and(|(after, _)| *after > group.group);
        if passed || filter.group.as_ref().is_some_and(|wanted| *wanted != group.group) {
            continue;
        }
        let mut next = first_key(snapshot, group, behind)?;
        while let Some(key) = next {
            let view = key_view(snapshot, group, &key)?;
            let in_use = view.held > 0 || view.waiters > 0 || view.until.is_some();
            if in_use && (!filter.blocking || view.waiters > 0) {
                shown.push(view);
            }
            if shown.len() == limit {
                return Ok(shown);
            }
            next = next_key(snapshot, group, &key)?;
        }
    }
    Ok(shown)
}

/// The first key of a group that may be in use, behind a given one. A total has one key, which is empty.
fn first_key(snapshot: &Snapshot<'_>, group: &KnownGroup, behind: Option<&str>) -> Result<Option<String>> {
    match behind {
        None if group.group.name.as_str() == TOTAL => Ok(Some(String::new())),
        behind => next_key(snapshot, group, behind.unwrap_or_default()),
    }
}

fn next_key(snapshot: &Snapshot<'_>, group: &KnownGroup, behind: &str) -> Result<Option<String>> {
    let sql = |text| snapshot.conn.prepare_cached(text);
    let held = found(sql(include_str!("../../sql/inspect/keys/held.sql"))?, (group.id, behind))?;
    let waited_for = blocked::next_key(snapshot.conn, group.id, behind)?;
    let now = snapshot.now.as_micros();
    let spent = found(sql(include_str!("../../sql/inspect/keys/spent.sql"))?, (group.id, behind, now))?;
    Ok([held, waited_for, spent].into_iter().flatten().min())
}

fn found(mut statement: CachedStatement<'_>, params: impl Params) -> Result<Option<String>> {
    Ok(statement.query_row(params, |row| row.get(0)).optional()?)
}

fn key_view(snapshot: &Snapshot<'_>, group: &KnownGroup, key: &str) -> Result<KeyView> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/keys/waiters.sql"))?;
    Ok(KeyView {
        group: group.group.clone(),
        key: key.to_owned(),
        limit: group.allows_now(snapshot.conn, key)?.limit,
        held: held(snapshot, group, key)?,
        holders: holders(snapshot, group, key)?,
        waiters: statement.query_row((group.id, key), |row| row.get(0))?,
        until: until(snapshot, group, key)?,
    })
}

/// How many tasks hold a slot of a key.
pub(crate) fn held(snapshot: &Snapshot<'_>, group: &KnownGroup, key: &str) -> Result<u64> {
    slots::held(snapshot.conn, group.id, key)
}

/// The first tasks that hold a slot of a key.
pub(crate) fn holders(snapshot: &Snapshot<'_>, group: &KnownGroup, key: &str) -> Result<Vec<TaskId>> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/keys/holders.sql"))?;
    let holders = statement.query_map((group.id, key, HOLDERS_SHOWN_MAX), |row| Ok(TaskId(row.get(0)?)))?;
    Ok(holders.collect::<rusqlite::Result<_>>()?)
}

/// Before which moment nothing starts under a key, if there is one.
pub(crate) fn until(snapshot: &Snapshot<'_>, group: &KnownGroup, key: &str) -> Result<Option<Timestamp>> {
    let (spent, paused) = rate::spent(snapshot.conn, group.id, key)?;
    let next = rate::next_start(group.allows_now(snapshot.conn, key)?.rate, spent, snapshot.now);
    Ok(paused.filter(|paused| *paused > snapshot.now).max(next))
}
