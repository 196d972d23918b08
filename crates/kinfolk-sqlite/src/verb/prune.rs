//! Retention: finished families that are past their time go, with all that belongs to them, oldest first, one page at a
//! time. A family goes by its root's end and as a whole; one that is larger than a page goes leaves first over several
//! calls, its root last.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{State, Timestamp};
use rusqlite::CachedStatement;

use crate::error::Result;
use crate::family::ended_page;
use crate::session::Session;
use crate::verb::{audit, errors, minute};

/// Removes one page of what is past its retention, and says how many tasks went.
pub(crate) fn prune(session: &mut Session<'_>) -> Result<u64> {
    audit::prune(session)?;
    errors::prune(session)?;
    minute::prune(session)?;
    let mut past: Vec<(i64, i64)> = Vec::new();
    for known in session.catalogue.queues() {
        let keep = &known.queue.policy.retention;
        let spans =
            [(State::Completed, keep.completed), (State::Failed, keep.failed), (State::Cancelled, keep.cancelled)];
        for (state, span) in spans {
            if let Some(span) = span {
                past.extend(ended_before(session, known.id, state, session.now.minus(span))?);
            }
        }
    }
    past.sort_unstable();
    let mut sweep = Sweep::new(session)?;
    for (_, root) in past {
        if sweep.left == 0 || !sweep.family(session, root)? {
            break;
        }
    }
    Ok((SWEEP_PAGE - sweep.left) as u64)
}

/// Removes the families of these roots, which have ended, no more tasks than a page has. How many went, and how many of the
/// families are gone whole.
pub(crate) fn remove(session: &mut Session<'_>, roots: &[i64]) -> Result<(u64, usize)> {
    let mut sweep = Sweep::new(session)?;
    let mut whole = 0;
    for root in roots {
        if sweep.left == 0 || !sweep.family(session, *root)? {
            break;
        }
        whole += 1;
    }
    Ok(((SWEEP_PAGE - sweep.left) as u64, whole))
}

/// Removes one page of the keys whose rate is whole again and behind which no task waits. Whether there may be more.
pub(crate) fn prune_rates(session: &mut Session<'_>) -> Result<bool> {
    let gone =
        session.sql(include_str!("../../sql/admission/rate/prune.sql"))?.execute((session.micros(), SWEEP_PAGE))?;
    Ok(gone >= SWEEP_PAGE)
}

/// The first page of the roots that ended in a state up to a moment: when they ended, and their numbers.
fn ended_before(session: &Session<'_>, queue_id: i64, state: State, moment: Timestamp) -> Result<Vec<(i64, i64)>> {
    let mut statement = session.sql(include_str!("../../sql/upkeep/prune/past.sql"))?;
    let rows = statement
        .query_map((queue_id, state.as_str(), moment.as_micros(), SWEEP_PAGE), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The removal of tasks, and how many more it may remove.
struct Sweep<'a> {
    left: usize,
    fan_outs: CachedStatement<'a>,
    attempts: CachedStatement<'a>,
    checkpoints: CachedStatement<'a>,
    signals: CachedStatement<'a>,
    payload: CachedStatement<'a>,
    unskip: CachedStatement<'a>,
    task: CachedStatement<'a>,
}

impl<'a> Sweep<'a> {
    fn new(session: &Session<'a>) -> Result<Self> {
        Ok(Self {
            left: SWEEP_PAGE,
            fan_outs: session.sql(include_str!("../../sql/upkeep/prune/fan_outs.sql"))?,
            attempts: session.sql(include_str!("../../sql/upkeep/prune/attempts.sql"))?,
            checkpoints: session.sql(include_str!("../../sql/upkeep/prune/checkpoints.sql"))?,
            signals: session.sql(include_str!("../../sql/upkeep/prune/signals.sql"))?,
            payload: session.sql(include_str!("../../sql/upkeep/prune/payload.sql"))?,
            unskip: session.sql(include_str!("../../sql/family/follow_up/unskip.sql"))?,
            task: session.sql(include_str!("../../sql/upkeep/prune/task.sql"))?,
        })
    }

    /// Removes a family; false when it did not fit on this page and was left, or was begun.
    fn family(&mut self, session: &mut Session<'_>, root: i64) -> Result<bool> {
        let fan_outs: Vec<(i64, usize)> =
            self.fan_outs.query_map([root], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
        let size = 1 + fan_outs.iter().map(|(_, total)| total).sum::<usize>();
        if size > self.left && self.left < SWEEP_PAGE {
            return Ok(false);
        }
        for (fan_out, _) in fan_outs {
            if !self.children(session, fan_out)? {
                return Ok(false);
            }
        }
        if self.left == 0 {
            return Ok(false);
        }
        self.unskip.execute([root])?;
        self.remove(root)?;
        Ok(true)
    }

    /// Removes the children of a fan-out, and it when all have gone: then true. Its counts stay true of the children that are left.
    fn children(&mut self, session: &mut Session<'_>, fan_out_id: i64) -> Result<bool> {
        let mut statement = session.sql(include_str!("../../sql/upkeep/prune/children.sql"))?;
        let page: Vec<(i64, String)> = statement
            .query_map((fan_out_id, self.left), |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let mut fan_out = session.fan_out(fan_out_id)?;
        if fan_out.awaited.is_some() {
            ended_page::remove(session.conn, fan_out_id)?;
        }
        for (id, state) in page {
            self.remove(id)?;
            fan_out.tally.total -= 1;
            match state.parse()? {
                State::Completed => fan_out.tally.completed -= 1,
                State::Failed => fan_out.tally.failed -= 1,
                _ => fan_out.tally.cancelled -= 1,
            }
        }
        if fan_out.tally.total > 0 {
            session.fan_outs.put(fan_out_id, fan_out);
            return Ok(false);
        }
        session.fan_outs.forget(fan_out_id);
        session.sql(include_str!("../../sql/upkeep/prune/fan_out.sql"))?.execute([fan_out_id])?;
        Ok(true)
    }

    fn remove(&mut self, id: i64) -> Result<()> {
        self.left -= 1;
        self.attempts.execute([id])?;
        self.checkpoints.execute([id])?;
        self.signals.execute([id])?;
        self.payload.execute([id])?;
        self.task.execute([id])?;
        Ok(())
    }
}
