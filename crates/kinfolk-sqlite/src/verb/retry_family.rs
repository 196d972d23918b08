//! Repairing a family that has failed or was cancelled: the tasks that ended so by themselves run again, and the parents that ended with
//! it wait again. A durable handler goes on from the first of its fan-outs that did not end well.
//!
//! A repair touches only tasks that it reaches from the root through such tasks: nothing below a task that has completed may open
//! again. The work is done fan-out by fan-out, as in `cancel`.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{Gate, Retried, State, StoreError, TaskId};

use crate::durable::reopen;
use crate::error::Result;
use crate::family::whereabouts::Whereabouts;
use crate::family::{follow_up, whereabouts};
use crate::session::Session;
use crate::verb::retry;

/// The bucket of a task that waits.
const WAITING: &str = "waiting";
/// The bucket of a root that does so, and whose family has to be let in again.
const OUTSIDE: &str = "outside";

/// Lets what failed or was cancelled in a task's family run again.
pub(crate) fn retry_family(session: &mut Session<'_>, id: TaskId) -> Result<Retried> {
    let root_id = TaskId(whereabouts::of(session, id)?.root_id);
    let root = whereabouts::of(session, root_id)?;
    let refuse = |remedy| Err(StoreError::WrongState { task: root_id, state: root.state, remedy }.into());
    if !matches!(root.state, State::Failed | State::Cancelled) {
        return refuse("only a failed or cancelled family can be retried");
    }
    require_work(session, &root)?;
    revive_root(session, &root)
}

/// Refuses, before anything is written, to revive a task if it, or one below it, would wait for nothing, because retention has
/// removed what could run again.
pub(crate) fn require_work(session: &Session<'_>, task: &Whereabouts) -> Result<()> {
    if has_work(session, task)? {
        return Ok(());
    }
    let remedy = "its failed tasks have been removed by retention, enqueue it anew";
    Err(StoreError::WrongState { task: TaskId(task.member.id), state: task.state, remedy }.into())
}

/// Whether a task that is to be revived runs again itself or waits for a child that is revived, and so does each below it.
fn has_work(session: &Session<'_>, task: &Whereabouts) -> Result<bool> {
    let (mut found, mut fan_outs) = (false, vec![task.member.id]);
    match fate(session, task)? {
        Fate::Runs => found = true,
        Fate::Joins => {}
        Fate::Awaits(_, reopened) => fan_outs.extend(reopened),
    }
    for fan_out_id in fan_outs {
        found |= session.sql(include_str!("../../sql/retry/revivable.sql"))?.exists([fan_out_id])?;
        let mut page = parents(session, fan_out_id, -1)?;
        while let Some(&(_, behind)) = page.last() {
            for &(child, _) in &page {
                if !has_work(session, &whereabouts::of(session, TaskId(child))?)? {
                    return Ok(false);
                }
            }
            found = true;
            page = parents(session, fan_out_id, behind)?;
        }
    }
    Ok(found)
}

/// The fate of a task that is revived.
enum Fate {
    /// It runs again, from what it has recorded.
    Runs,
    /// Its own work was done, and need not be done again: it waits for its children.
    Joins,
    /// It is suspended again, from this step on, and waits for these fan-outs, which did not end well.
    Awaits(u32, Vec<i64>),
}

fn fate(session: &Session<'_>, task: &Whereabouts) -> Result<Fate> {
    let (id, cancelled) = (task.member.id, task.state == State::Cancelled);
    if task.outcome.is_some() || (cancelled && !task.was_suspended && retry::has_children(session, id)?) {
        return Ok(Fate::Joins);
    }
    let reopened = if task.was_suspended { reopen::what_failed(session, id, cancelled)? } else { None };
    Ok(reopened.map_or(Fate::Runs, |(cut, fan_outs)| Fate::Awaits(cut, fan_outs)))
}

/// Revives a root that has ended, and what is below it. A family that the queue has to let in again waits outside until a
/// claim does so. The family's follow-ups wait for it again.
pub(crate) fn revive_root(session: &mut Session<'_>, root: &Whereabouts) -> Result<Retried> {
    let limited = session.catalogue.queue_by_id(root.member.queue_id)?.policy.family_limit.is_some();
    let mut repair = Repair { gate: if limited { Gate::Limit } else { Gate::Open }, retried: Retried::default() };
    repair.revive(session, root, Gate::Open, if limited { OUTSIDE } else { WAITING })?;
    session.news.queues.insert(root.member.queue_id);
    follow_up::follow_again(session, root.member.id)?;
    Ok(repair.retried)
}

/// Revives a child that has ended while its family has not, and what is below it, behind this gate.
pub(crate) fn revive_branch(session: &mut Session<'_>, task: &Whereabouts, gate: Gate) -> Result<()> {
    Repair { gate, retried: Retried::default() }.revive(session, task, gate, WAITING).map(drop)
}

struct Repair {
    /// Of what may run at once.
    gate: Gate,
    retried: Retried,
}

impl Repair {
    /// Revives a task that did not end well, and what is below it. Whether it runs again itself.
    fn revive(&mut self, session: &mut Session<'_>, task: &Whereabouts, gate: Gate, bucket: &str) -> Result<bool> {
        let id = task.member.id;
        let fate = fate(session, task)?;
        let (joins, runs) = (matches!(fate, Fate::Joins), matches!(fate, Fate::Runs));
        match fate {
            Fate::Runs => retry::revive(session, task, gate)?,
            Fate::Joins => drop(session.sql(include_str!("../../sql/retry/wait_again.sql"))?.execute((id, bucket))?),
            Fate::Awaits(cut, fan_outs) => self.await_again(session, id, (cut, fan_outs), bucket)?,
        }
        match whereabouts::of(session, TaskId(id))?.state == State::Pending {
            true => self.retried.pending += 1,
            false => self.retried.waiting += 1,
        }
        if session.fan_outs.find(session.conn, id)?.is_some() {
            self.children(session, id)?;
            let mut fan_out = session.fan_out(id)?;
            fan_out.waits = joins;
            session.fan_outs.put(id, fan_out);
        }
        Ok(runs)
    }

    /// Lets a task begin again, suspended, from the first of its fan-outs that did not end well.
    fn await_again(
        &mut self,
        session: &mut Session<'_>,
        id: i64,
        (cut, fan_outs): (u32, Vec<i64>),
        bucket: &str,
    ) -> Result<()> {
        let steps = reopen::forget(session, id, cut)?;
        retry::freshen(session, id, Gate::Open)?;
        session.sql(include_str!("../../sql/retry/suspend_again.sql"))?.execute((id, steps, bucket))?;
        for &fan_out_id in &fan_outs {
            self.children(session, fan_out_id)?;
            reopen::reopen(session, fan_out_id)?;
        }
        reopen::decide_again(session, &fan_outs)
    }

    /// Revives the children of a fan-out that failed or were cancelled.
    fn children(&mut self, session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
        let mut page = parents(session, fan_out_id, -1)?;
        let first_parent = page.first().map(|&(_, nth)| nth);
        let first = self.leaves(session, fan_out_id, first_parent)?;
        while let Some(&(_, behind)) = page.last() {
            for &(child, nth) in &page {
                let task = whereabouts::of(session, TaskId(child))?;
                let in_order = session.fan_out(fan_out_id)?.in_order();
                let held = in_order && first.is_some_and(|first| nth > first);
                let runs = self.revive(session, &task, if held { Gate::After } else { self.gate }, WAITING)?;
                let mut fan_out = session.fan_out(fan_out_id)?;
                match task.state {
                    State::Failed => fan_out.tally.failed -= 1,
                    _ => fan_out.tally.cancelled -= 1,
                }
                fan_out.held += u64::from(held && runs);
                session.fan_outs.put(fan_out_id, fan_out);
            }
            page = parents(session, fan_out_id, behind)?;
        }
        Ok(())
    }

    /// Children without children of their own are in line again. Of children in order only the first is open,
    /// unless one before it is a parent. Which child is the first of all that are revived.
    fn leaves(&mut self, session: &mut Session<'_>, fan_out_id: i64, first_parent: Option<i64>) -> Result<Option<i64>> {
        let leaves = leaves(session, fan_out_id)?;
        let Some(first) = leaves.first().map(|leaf| leaf.nth) else { return Ok(first_parent) };
        let mut fan_out = session.fan_out(fan_out_id)?;
        let leads = first_parent.is_none_or(|parent| first < parent);
        let (gate, others) = match (fan_out.in_order(), leads) {
            (false, _) => (self.gate, self.gate),
            (true, true) => (self.gate, Gate::After),
            (true, false) => (Gate::After, Gate::After),
        };
        for leaf in &leaves {
            retry::freshen(session, leaf.id, if leaf.nth == first { gate } else { others })?;
        }
        let failed = leaves.iter().filter(|leaf| leaf.failed).count() as u64;
        let revived = leaves.len() as u64;
        fan_out.tally.failed -= failed;
        fan_out.tally.cancelled -= revived - failed;
        fan_out.held = if fan_out.in_order() { revived - u64::from(leads) } else { 0 };
        session.fan_outs.put(fan_out_id, fan_out);
        self.retried.pending += revived;
        let mut statement = session.sql(include_str!("../../sql/retry/queues.sql"))?;
        let queues = statement.query_map([fan_out_id], |row| row.get(0))?;
        session.news.queues.extend(queues.collect::<rusqlite::Result<Vec<i64>>>()?);
        Ok(Some(first_parent.map_or(first, |parent| parent.min(first))))
    }
}

/// A page of the children of a fan-out that have children of their own and are to be revived: the number of each, and its
/// `nth`.
fn parents(session: &Session<'_>, fan_out_id: i64, behind: i64) -> Result<Vec<(i64, i64)>> {
    let mut statement = session.sql(include_str!("../../sql/retry/parents.sql"))?;
    let page = (fan_out_id, behind, SWEEP_PAGE);
    let rows = statement.query_map(page, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// A child that has no children of its own and is to be revived.
struct Leaf {
    id: i64,
    nth: i64,
    /// It failed; else it was cancelled.
    failed: bool,
}

/// These children of a fan-out, in their order.
fn leaves(session: &Session<'_>, fan_out_id: i64) -> Result<Vec<Leaf>> {
    let mut statement = session.sql(include_str!("../../sql/retry/revivable.sql"))?;
    let rows = statement.query_map([fan_out_id], |row| {
        Ok(Leaf { id: row.get(0)?, nth: row.get(1)?, failed: row.get_ref(2)?.as_str()? == State::Failed.as_str() })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
