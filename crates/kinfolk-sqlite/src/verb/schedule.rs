//! Recurring schedules: keeping them, and firing each tick once.

use kinfolk_core::schedule::{Fired, Overlap, Plan};
use kinfolk_core::{Enqueued, Json, Keys, NewTask, Schedule, ScheduleName, StoreError, TaskId};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::{Result, unreadable};
use crate::family::whereabouts;
use crate::rows::moment_or_none;
use crate::session::Session;
use crate::verb::enqueue;

/// Makes or changes a schedule, armed for its next tick.
pub(crate) fn put(session: &mut Session<'_>, schedule: &Schedule) -> Result<Schedule> {
    let armed = schedule.clone().armed(session.now)?;
    if let Err(why) = enqueue::target(session.catalogue, &armed.task) {
        return Err(why.of_schedule(&armed.task.command).into());
    }
    session.sql(include_str!("../../sql/schedule/put.sql"))?.execute((
        armed.name.as_str(),
        armed.cron.as_str(),
        armed.zone.as_str(),
        Json::of(&armed.task)?.as_str(),
        armed.missed.as_str(),
        armed.overlap.as_str(),
        armed.paused,
        armed.next_at.map(|at| at.as_micros()),
    ))?;
    find(session, &armed.name)
}

/// A worker that starts declares these schedules.
pub(crate) fn declare(session: &mut Session<'_>, names: &[ScheduleName]) -> Result<()> {
    let mut declare = session.sql(include_str!("../../sql/schedule/declare.sql"))?;
    for name in names {
        declare.execute((name.as_str(), session.micros()))?;
    }
    Ok(())
}

/// Switches a schedule off, or on again from now.
pub(crate) fn pause(session: &mut Session<'_>, name: &ScheduleName, paused: bool) -> Result<()> {
    let schedule = find(session, name)?;
    let next_at = if paused { schedule.next_at } else { schedule.tick_after(session.now)? };
    session.sql(include_str!("../../sql/schedule/switch.sql"))?.execute((
        name.as_str(),
        paused,
        next_at.map(|at| at.as_micros()),
    ))?;
    Ok(())
}

/// Removes a schedule; its tasks stay.
pub(crate) fn remove(session: &mut Session<'_>, name: &ScheduleName) -> Result<()> {
    match session.sql(include_str!("../../sql/schedule/remove.sql"))?.execute([name.as_str()])? {
        0 => Err(StoreError::not_found("schedule", name).into()),
        _ => Ok(()),
    }
}

/// Carries out a plan, unless the schedule is no longer armed for that tick.
pub(crate) fn fire(session: &mut Session<'_>, plan: &Plan) -> Result<Fired> {
    let schedule = find(session, &plan.name)?;
    if schedule.paused || schedule.next_at != Some(plan.armed_for) {
        return Ok(Fired { too_late: true, ..Fired::default() });
    }
    let mut fired = Fired::default();
    let mut last_task = schedule.last_task;
    for _ in &plan.ticks {
        if schedule.overlap == Overlap::Skip && is_open(session, last_task)? {
            fired.overlapped += 1;
            continue;
        }
        let answers = enqueue::enqueue(session, std::slice::from_ref(&schedule.task), &Keys::new())?;
        for answer in answers {
            last_task = answer.id().ok().or(last_task);
            match answer {
                Enqueued::Created(id) => fired.tasks.push(id),
                Enqueued::Rejected(why) => fired.rejected.push(why),
                Enqueued::Existing(_) | Enqueued::Merged(_) => {}
            }
        }
    }
    session.sql(include_str!("../../sql/schedule/advance.sql"))?.execute((
        plan.name.as_str(),
        plan.next_at.map(|at| at.as_micros()),
        plan.ticks.last().copied().or(schedule.last_at).map(|at| at.as_micros()),
        last_task.map(|id| id.0),
    ))?;
    Ok(fired)
}

fn is_open(session: &Session<'_>, task: Option<TaskId>) -> Result<bool> {
    let Some(id) = task else { return Ok(false) };
    Ok(whereabouts::look_up(session, id)?.is_some_and(|task| !task.state.is_terminal()))
}

fn find(session: &Session<'_>, name: &ScheduleName) -> Result<Schedule> {
    let mut statement = session.sql(include_str!("../../sql/schedule/one.sql"))?;
    let found = statement.query_row([name.as_str()], |row| Ok(from_row(row))).optional()?;
    found.unwrap_or_else(|| Err(StoreError::not_found("schedule", name).into()))
}

/// Every schedule, by name.
pub(crate) fn all(conn: &Connection) -> Result<Vec<Schedule>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/schedule/all.sql"))?;
    let rows = statement.query_map((), |row| Ok(from_row(row)))?;
    rows.collect::<rusqlite::Result<Result<_>>>()?
}

/// The schedules whose tick has come.
pub(crate) fn due(conn: &Connection, now: i64) -> Result<Vec<Schedule>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/schedule/due.sql"))?;
    let rows = statement.query_map([now], |row| Ok(from_row(row)))?;
    rows.collect::<rusqlite::Result<Result<_>>>()?
}

/// A schedule, from the columns of its table.
fn from_row(row: &Row<'_>) -> Result<Schedule> {
    let task: String = row.get("task")?;
    let name: String = row.get("name")?;
    let (missed, overlap): (String, String) = (row.get("missed")?, row.get("overlap")?);
    Ok(Schedule {
        name: ScheduleName::new(&name)?,
        cron: row.get("cron")?,
        zone: row.get("zone")?,
        task: serde_json::from_str::<NewTask>(&task).map_err(|_| unreadable("schedule's task", &task))?,
        missed: missed.parse()?,
        overlap: overlap.parse()?,
        paused: row.get("paused")?,
        next_at: moment_or_none(row, "next_at")?,
        last_at: moment_or_none(row, "last_at")?,
        last_task: row.get::<_, Option<i64>>("last_task")?.map(TaskId),
        declared_at: moment_or_none(row, "declared_at")?,
    })
}
