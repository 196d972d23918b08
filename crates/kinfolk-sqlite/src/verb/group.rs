//! The groups that commands declare, and an operator's settings and removals at run time. No running task is interrupted.

use kinfolk_core::{GroupName, GroupRef, GroupSpec, Groups, Setting, StoreError};
use rusqlite::OptionalExtension;

use crate::admission::blocked;
use crate::admission::rate;
use crate::error::Result;
use crate::known_group::{columns, setting_from};
use crate::session::Session;

/// Makes the groups that a command declares exactly these.
pub(crate) fn declare(session: &mut Session<'_>, command_id: i64, groups: &Groups) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/groups/of_command.sql"))?;
    let before: Vec<(String, i64, bool)> = statement
        .query_map([command_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut carried = Vec::new();
    for (name, group_id, shared) in before {
        let now = groups.0.iter().find(|(now, _)| now.as_str() == name).map(|(_, spec)| spec);
        if now.is_none_or(|spec| spec.shared != shared) {
            if now.is_some_and(|spec| spec.hold) {
                carried.extend(
                    held_for_families(session, command_id, group_id)?.into_iter().map(|held| (name.clone(), held)),
                );
            }
            undeclare(session, command_id, group_id, shared)?;
        }
    }
    for (name, spec) in &groups.0 {
        let group_id = put(session, (!spec.shared).then_some(command_id), name, spec)?;
        let mut statement = session.sql(include_str!("../../sql/groups/declare.sql"))?;
        statement.execute((command_id, name.as_str(), group_id))?;
        for (_, (task, key)) in carried.iter().filter(|(of, _)| of == name.as_str()) {
            session.sql(include_str!("../../sql/slots/take.sql"))?.execute((group_id, key, task))?;
        }
    }
    session.news.catalogue = true;
    count_running(session)
}

/// The tasks of a command that hold slots of a group for their families, and the keys.
fn held_for_families(session: &Session<'_>, command_id: i64, group_id: i64) -> Result<Vec<(i64, String)>> {
    let mut statement = session.sql(include_str!("../../sql/groups/held_for_families.sql"))?;
    let held = statement.query_map((group_id, command_id), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(held.collect::<rusqlite::Result<_>>()?)
}

/// A running task holds a slot of each of its keys, also where its command has come to declare the group only now, or where the
/// task above it that held the slot for the family does so no longer.
fn count_running(session: &Session<'_>) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/check/uncounted.sql"))?;
    let uncounted: Vec<(i64, String, i64)> =
        statement.query_map((), |row| Ok((row.get(2)?, row.get(3)?, row.get(0)?)))?.collect::<rusqlite::Result<_>>()?;
    for (group_id, key, task) in uncounted {
        session.sql(include_str!("../../sql/slots/take.sql"))?.execute((group_id, key, task))?;
        session.sql(include_str!("../../sql/groups/count.sql"))?.execute([task])?;
    }
    Ok(())
}

/// Makes a group, or changes its declaration; claims look again at the tasks that wait for it. Its number.
fn put(session: &mut Session<'_>, command_id: Option<i64>, name: &GroupName, spec: &GroupSpec) -> Result<i64> {
    let mut statement = session.sql(include_str!("../../sql/groups/find.sql"))?;
    let known = statement.query_row((command_id, name.as_str()), |row| {
        let Setting { limit, rate } = setting_from(row, 1)?;
        let id: i64 = row.get(0)?;
        Ok((id, GroupSpec { limit, rate, hold: row.get(5)?, shared: spec.shared }))
    });
    let (slots, count, per, burst) = columns(spec.limit, spec.rate);
    let Some((id, before)) = known.optional()? else {
        let mut statement = session.sql(include_str!("../../sql/groups/make.sql"))?;
        let columns = (command_id, name.as_str(), slots, count, per, burst, spec.hold);
        return Ok(statement.query_row(columns, |row| row.get(0))?);
    };
    if before != *spec {
        let mut statement = session.sql(include_str!("../../sql/groups/change.sql"))?;
        statement.execute((id, slots, count, per, burst, spec.hold))?;
        if before.hold && !spec.hold {
            session.sql(include_str!("../../sql/groups/let_go.sql"))?.execute([id])?;
        }
        rate::rein_in(session, id, None)?;
        blocked::wake_group(session, id)?;
    }
    Ok(id)
}

/// A command declares a group no longer. A group that no command declares goes.
fn undeclare(session: &mut Session<'_>, command_id: i64, group_id: i64, shared: bool) -> Result<()> {
    session.sql(include_str!("../../sql/groups/undeclare.sql"))?.execute((command_id, group_id))?;
    if !shared || !session.sql(include_str!("../../sql/groups/is_declared.sql"))?.exists([group_id])? {
        return remove(session, group_id);
    }
    session.sql(include_str!("../../sql/groups/leave_slots.sql"))?.execute((group_id, command_id))?;
    session.sql(include_str!("../../sql/groups/leave_reserved.sql"))?.execute((group_id, command_id))?;
    blocked::open(session, group_id, Some(command_id))?;
    blocked::wake_group(session, group_id)
}

/// A group goes, with all that is known of its keys. The tasks behind them are open.
fn remove(session: &mut Session<'_>, group_id: i64) -> Result<()> {
    blocked::open(session, group_id, None)?;
    for sql in [
        include_str!("../../sql/groups/remove_command_group.sql"),
        include_str!("../../sql/groups/remove_slot.sql"),
        include_str!("../../sql/groups/remove_slot_setting.sql"),
        include_str!("../../sql/groups/remove_spent.sql"),
        include_str!("../../sql/groups/remove_reserved.sql"),
        include_str!("../../sql/groups/remove.sql"),
    ] {
        session.sql(sql)?.execute([group_id])?;
    }
    session.news.catalogue = true;
    Ok(())
}

/// Removes a group from all commands that declare it.
pub(crate) fn remove_group(session: &mut Session<'_>, group: &GroupRef) -> Result<()> {
    let group_id = number(session, group)?;
    remove(session, group_id)
}

/// Changes the limits of a group, or of one key, from now on. Lifts a slow-down.
pub(crate) fn set_group(
    session: &mut Session<'_>,
    group: &GroupRef,
    key: Option<&str>,
    setting: &Setting,
) -> Result<()> {
    let group_id = number(session, group)?;
    let (slots, count, per, burst) = columns(setting.limit, setting.rate);
    session.news.catalogue = true;
    let Some(key) = key else {
        let mut statement = session.sql(include_str!("../../sql/groups/set.sql"))?;
        statement.execute((group_id, slots, count, per, burst))?;
        rate::rein_in(session, group_id, None)?;
        rate::lift(session, group_id, None)?;
        return blocked::wake_group(session, group_id);
    };
    if setting.is_empty() {
        session.sql(include_str!("../../sql/groups/unset_key.sql"))?.execute((group_id, key))?;
    } else {
        let mut statement = session.sql(include_str!("../../sql/groups/set_key.sql"))?;
        statement.execute((group_id, key, slots, count, per, burst))?;
    }
    rate::rein_in(session, group_id, Some(key))?;
    rate::lift(session, group_id, Some(key))?;
    session.free(group_id, key);
    Ok(())
}

fn number(session: &Session<'_>, group: &GroupRef) -> Result<i64> {
    let known = session.catalogue.groups().find(group);
    Ok(known.ok_or_else(|| StoreError::not_found("group", group))?.id)
}
