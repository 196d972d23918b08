//! Repairing a family that has failed: what failed by itself runs again, and the parents that failed with it wait
//! again.
//!
//! Only what is reached from the root through failed tasks is touched: nothing below a task that has ended otherwise
//! may open again. The work is done fan-out by fan-out, as in `cancel`.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{Gate, Retried, State, StoreError, TaskId};

use crate::error::Result;
use crate::session::Session;
use crate::verb::{retry, whereabouts};

/// The shelf of a task that waits for its children.
const WAITING: &str = "waiting";
/// The shelf of a root that does so, and whose family has to be let in again.
const OUTSIDE: &str = "outside";

/// Lets what failed in a task's family run again.
pub(crate) fn retry_family(session: &mut Session<'_>, id: TaskId) -> Result<Retried> {
    let root_id = TaskId(whereabouts::of(session, id)?.root_id);
    let root = whereabouts::of(session, root_id)?;
    let refuse = |remedy| Err(StoreError::WrongState { task: root_id, state: root.state, remedy }.into());
    if root.state != State::Failed {
        return refuse("only a failed family can be retried");
    }
    if root.outcome.is_none() {
        retry::revive(session, &root, Gate::Open)?;
        return Ok(Retried { pending: 1, waiting: 0 });
    }
    // A family that the queue has to let in again waits outside until a claim does so.
    let limited = session.catalogue.queue_by_id(root.kin.queue_id)?.policy.family_limit.is_some();
    let mut repair = Repair { gate: if limited { Gate::Limit } else { Gate::Open }, retried: Retried::default() };
    repair.wait_again(session, root_id.0, if limited { OUTSIDE } else { WAITING })?;
    session.news.queues.insert(root.kin.queue_id);
    if repair.retried.pending == 0 {
        return refuse("its failed tasks have been removed by retention, enqueue it anew");
    }
    Ok(repair.retried)
}

struct Repair {
    /// Of what may run at once.
    gate: Gate,
    retried: Retried,
}

impl Repair {
    /// A task that failed with its children waits for them again.
    fn wait_again(&mut self, session: &mut Session<'_>, id: i64, shelf: &str) -> Result<()> {
        session.sql(include_str!("../../sql/retry/wait_again.sql"))?.execute((id, shelf))?;
        self.retried.waiting += 1;
        let mut statement = session.sql(include_str!("../../sql/family/fan_outs.sql"))?;
        let fan_outs: Vec<i64> = statement.query_map([id], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        fan_outs.into_iter().try_for_each(|fan_out_id| self.children(session, fan_out_id))
    }

    fn children(&mut self, session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
        let mut page = failed_parents(session, fan_out_id, -1)?;
        self.revive(session, fan_out_id, page.first().map(|&(_, nth)| nth))?;
        while let Some(&(_, behind)) = page.last() {
            for &(child, _) in &page {
                let mut fan_out = session.fan_out(fan_out_id)?;
                fan_out.tally.failed -= 1;
                session.fan_outs.put(fan_out_id, fan_out);
                self.wait_again(session, child, WAITING)?;
            }
            page = failed_parents(session, fan_out_id, behind)?;
        }
        Ok(())
    }

    /// Children that failed by themselves or were skipped are in line again. Of those in order only the first is open,
    /// unless one before it waits again.
    fn revive(&mut self, session: &mut Session<'_>, fan_out_id: i64, first_parent: Option<i64>) -> Result<()> {
        let mut statement = session.sql(include_str!("../../sql/retry/revivable.sql"))?;
        let (failed, skipped, first): (u64, u64, Option<i64>) =
            statement.query_row([fan_out_id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut fan_out = session.fan_out(fan_out_id)?;
        fan_out.waits = true;
        if let Some(first) = first {
            let leads = first_parent.is_none_or(|parent| first < parent);
            let (gate, others) = match (fan_out.in_order(), leads) {
                (false, _) => (self.gate, self.gate),
                (true, true) => (self.gate, Gate::After),
                (true, false) => (Gate::After, Gate::After),
            };
            let mut statement = session.sql(include_str!("../../sql/retry/children.sql"))?;
            statement.execute((fan_out_id, session.micros(), gate.as_str(), others.as_str(), first))?;
            fan_out.tally.failed -= failed;
            fan_out.tally.cancelled -= skipped;
            fan_out.held = if fan_out.in_order() { failed + skipped - u64::from(leads) } else { 0 };
            self.retried.pending += failed + skipped;
            let mut statement = session.sql(include_str!("../../sql/retry/queues.sql"))?;
            let queues = statement.query_map([fan_out_id], |row| row.get(0))?;
            session.news.queues.extend(queues.collect::<rusqlite::Result<Vec<i64>>>()?);
        }
        session.fan_outs.put(fan_out_id, fan_out);
        Ok(())
    }
}

/// A page of the children of a fan-out that failed with children of their own: their numbers, and the how-many-eth they
/// are.
fn failed_parents(session: &Session<'_>, fan_out_id: i64, behind: i64) -> Result<Vec<(i64, i64)>> {
    let mut statement = session.sql(include_str!("../../sql/retry/failed_parents.sql"))?;
    let rows = statement.query_map((fan_out_id, behind, SWEEP_PAGE), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
