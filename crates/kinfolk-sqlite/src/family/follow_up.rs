//! Follow-ups: top-level tasks that start after every family that asked for them has settled.
//!
//! A follow-up waits behind the gate `after` with one entry for each family. The end of a root closes its entries; the
//! next claim on the follow-up's queue opens a follow-up that has no open entry left, or skips one that can no longer come true: then it notes
//! which families spoiled it, and the retry of any of them brings it back.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::settle::Failure;
use kinfolk_core::{FollowUp, Gate, State, TaskId, Timestamp, When};

use crate::admission::blocked;
use crate::error::Result;
use crate::family::make::Maker;
use crate::rows::failure_text;
use crate::session::Session;
use crate::verb::enqueue::{Origin, Stand, gate_of, holder, joined, put, target};

/// Makes a follow-up, or lets the pending root that holds its key wait for this family too.
pub(crate) fn make(session: &mut Session<'_>, maker: &Maker, follow_up: &FollowUp) -> Result<()> {
    let FollowUp { task, when } = follow_up;
    let Ok((command, queue)) = target(session.catalogue, task) else { return Ok(()) };
    if let Some(unique) = &task.unique
        && let Some(holder) =
            holder(session, include_str!("../../sql/family/follow_up/holder.sql"), command.id, &unique.key)?
    {
        if holder.unstarted {
            blocked::leave(session, holder.id.0, true)?;
            wait_for(session, holder.id, maker.root_id, *when)?;
        }
        return joined(session, &holder, task, unique.on_duplicate).map(drop);
    }
    let stand = Stand {
        gate: Gate::After,
        priority: task.priority.unwrap_or(maker.priority),
        due: task.due.at(session.now),
        position: maker.position,
    };
    let mut insert = session.sql(include_str!("../../sql/produce/insert.sql"))?;
    let id = put(session, &mut insert, task, command, queue, &stand, Origin { keys: &maker.keys, birth: None })?;
    let mut statement = session.sql(include_str!("../../sql/family/follow_up/made_by.sql"))?;
    statement.execute((id.0, maker.id.0, maker.root_id))?;
    wait_for(session, id, maker.root_id, *when)
}

fn wait_for(session: &Session<'_>, id: TaskId, root_id: i64, when: When) -> Result<()> {
    session.sql(include_str!("../../sql/family/gate.sql"))?.execute((id.0, Gate::After.as_str()))?;
    let mut statement = session.sql(include_str!("../../sql/family/follow_up/wait_for.sql"))?;
    statement.execute((id.0, root_id, when == When::Completed))?;
    Ok(())
}

/// A family has settled: its follow-ups may be looked at.
pub(crate) fn family_ended(session: &mut Session<'_>, root_id: i64, state: State) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/family/follow_up/family_ended.sql"))?;
    if statement.execute((root_id, state.as_str()))? > 0 {
        let mut statement = session.sql(include_str!("../../sql/family/follow_up/queues.sql"))?;
        let queues = statement.query_map([root_id], |row| row.get(0))?;
        session.news.queues.extend(queues.collect::<rusqlite::Result<Vec<i64>>>()?);
        session.sql(include_str!("../../sql/family/follow_up/satisfied.sql"))?.execute([root_id])?;
    }
    Ok(())
}

/// Opens one page of the follow-ups on a queue whose families have all settled, and cancels a follow-up that needed another
/// end.
pub(crate) fn open(session: &mut Session<'_>, queue_id: i64) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/family/follow_up/settled.sql"))?;
    let settled: Vec<(i64, i64, Option<i64>)> = statement
        .query_map((queue_id, SWEEP_PAGE), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, due, spoiler) in settled {
        match spoiler {
            None => {
                let gate = gate_of(Timestamp::from_micros(due), session.now);
                session.sql(include_str!("../../sql/family/gate.sql"))?.execute((id, gate.as_str()))?;
            }
            Some(root) => {
                let failure = failure_text(&Failure::skipped_follow_up(TaskId(root)))?;
                let mut statement = session.sql(include_str!("../../sql/operate/cancel/pending.sql"))?;
                statement.execute((id, session.micros(), failure))?;
                session.sql(include_str!("../../sql/family/follow_up/skip.sql"))?.execute([id])?;
            }
        }
        forget(session, id)?;
    }
    Ok(())
}

/// A family is set going again: its follow-ups wait for it again, and the follow-ups skipped because of it come back.
pub(crate) fn follow_again(session: &Session<'_>, root_id: i64) -> Result<()> {
    // The root may be a follow-up itself, and waits for no family now.
    unskip(session, root_id)?;
    session.sql(include_str!("../../sql/family/follow_up/unmark.sql"))?.execute([root_id])?;
    let mut statement = session.sql(include_str!("../../sql/family/follow_up/spoiled_by.sql"))?;
    let spoiled = statement.query_map([root_id], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    for id in spoiled {
        session.sql(include_str!("../../sql/family/follow_up/come_back.sql"))?.execute([id])?;
        session.sql(include_str!("../../sql/family/follow_up/wait_again.sql"))?.execute((id, root_id))?;
        unskip(session, id)?;
    }
    Ok(())
}

/// A follow-up was not skipped.
fn unskip(session: &Session<'_>, id: i64) -> Result<()> {
    session.sql(include_str!("../../sql/family/follow_up/unskip.sql"))?.execute([id])?;
    Ok(())
}

/// A follow-up waits for no family any more.
pub(crate) fn forget(session: &Session<'_>, id: i64) -> Result<()> {
    session.sql(include_str!("../../sql/family/follow_up/forget.sql"))?.execute([id])?;
    Ok(())
}
