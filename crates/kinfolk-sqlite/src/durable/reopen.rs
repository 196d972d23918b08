//! Opening fan-outs again that did not end well, for a handler that is to go on from there.

use std::collections::BTreeSet;

use crate::durable::verdict;
use crate::error::Result;
use crate::family::ended_page;
use crate::session::Session;

/// The fan-outs of a task that did not end well, and the first checkpoint that follows from how one of them ended. A cancelled task
/// has the fan-outs with cancelled children among them. Only fan-outs that began before that checkpoint are opened again, and the
/// checkpoints behind it are forgotten. `None` when all ended well.
pub(crate) fn what_failed(session: &Session<'_>, task_id: i64, cancelled: bool) -> Result<Option<(u32, Vec<i64>)>> {
    let mut statement = session.sql(include_str!("../../sql/retry/verdicts.sql"))?;
    let failed: Vec<(i64, u32, u32)> = statement
        .query_map((task_id, cancelled), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let Some(cut) = failed.iter().map(|&(_, _, cut)| cut).min() else { return Ok(None) };
    let before = failed.into_iter().filter(|&(_, begun, _)| begun < cut);
    Ok(Some((cut, before.map(|(fan_out_id, _, _)| fan_out_id).collect())))
}

/// Forgets the records of a task from a step on, except the signals it has taken; how many checkpoints are left.
pub(crate) fn forget(session: &Session<'_>, task_id: i64, cut: u32) -> Result<u32> {
    session.sql(include_str!("../../sql/retry/forget.sql"))?.execute((task_id, cut))?;
    let mut statement = session.sql(include_str!("../../sql/retry/left.sql"))?;
    let left: Vec<i64> = statement.query_map([task_id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut renumber = session.sql(include_str!("../../sql/retry/renumber.sql"))?;
    let mut steps = 0;
    for id in left {
        renumber.execute((id, steps))?;
        steps += 1;
    }
    Ok(steps)
}

/// Opens a fan-out again whose children have been revived: its task is resumed when all have ended. Children that are still
/// ended keep their order.
pub(crate) fn reopen(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    if let Some(awaited) = &mut fan_out.awaited {
        (awaited.verdict, awaited.decided_at, awaited.decided_step) = (None, None, None);
        awaited.settled_at = None;
        (awaited.deadline, awaited.wake_at) = (None, u32::try_from(fan_out.tally.total).ok());
    }
    session.fan_outs.put(fan_out_id, fan_out);
    set_order_right(session, fan_out_id)?;
    Ok(())
}

/// Decides those of these reopened fan-outs of which nothing is open, because retention has removed what could run again: their
/// task goes on at once.
pub(crate) fn decide_again(session: &mut Session<'_>, fan_outs: &[i64]) -> Result<()> {
    session.fan_outs.flush(session.conn)?;
    for &fan_out_id in fan_outs {
        if session.fan_out(fan_out_id)?.tally.open() == 0 {
            verdict::look(session, fan_out_id)?;
        }
    }
    Ok(())
}

/// Gives the ended children of a fan-out, and no others, a place: they keep their order, and a child without a place comes last.
/// Whether any place was wrong.
pub(crate) fn set_order_right(session: &Session<'_>, fan_out_id: i64) -> Result<bool> {
    let mut statement = session.sql(include_str!("../../sql/family/fan_out/ended_children.sql"))?;
    let mut placeless: BTreeSet<u32> =
        statement.query_map([fan_out_id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let before = ended_page::read(session.conn, fan_out_id, 0, usize::MAX)?;
    let mut order: Vec<u32> = before.iter().copied().filter(|nth| placeless.remove(nth)).collect();
    order.extend(placeless);
    let wrong = order != before;
    if wrong {
        ended_page::remove(session.conn, fan_out_id)?;
        ended_page::append(session.conn, fan_out_id, 0, &order)?;
    }
    Ok(wrong)
}
