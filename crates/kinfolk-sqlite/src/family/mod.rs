//! The consequences of a task's end for its family: its parent's counts, the next child in line, parents that end with it.
//!
//! Counts change in the transaction that ends the child, and the decision is taken from the counts as they are then, so
//! no parent ends before its last child, and none is left waiting.

pub(crate) mod ended;
pub(crate) mod ended_page;
pub(crate) mod fan_out;
pub(crate) mod follow_up;
pub(crate) mod make;
pub(crate) mod whereabouts;

use kinfolk_core::settle::Failure;
use kinfolk_core::{ChildOrder, Gate, State, Tally, Timestamp, decide};

use crate::durable::verdict;
use crate::error::{Result, unreadable};
use crate::family::whereabouts::Whereabouts;
use crate::rows::failure_text;
use crate::session::Session;
use crate::slots;
use crate::verb::enqueue::gate_of;

/// The line of a task on its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
    /// A root.
    Top,
    /// A root whose family is at work on a queue that limits how many may be.
    Root,
    /// A task that has a parent.
    Child,
}

impl Lane {
    /// The word in the file.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Root => "root",
            Self::Child => "child",
        }
    }

    /// Reads the word back.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        [Self::Top, Self::Root, Self::Child].into_iter().find(|lane| lane.as_str() == word)
    }
}

/// A task that has just become terminal, as its family sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) id: i64,
    pub(crate) queue_id: i64,
    /// The fan-out that it was a child of; `None` for a root.
    pub(crate) fan_out_id: Option<i64>,
    /// Its number among the children of that fan-out, from 0 on.
    pub(crate) nth: Option<u32>,
    pub(crate) lane: Lane,
}

/// Carries out all that follows from the end of a task, up to the root. The task itself has been written.
///
/// A root that ends by itself has no family, and no task waits for it except the follow-ups that it made in that very settle, which
/// opens them itself.
pub(crate) fn ended(session: &mut Session<'_>, member: &Member, state: State) -> Result<()> {
    let Some(fan_out_id) = member.fan_out_id else { return leave_family_slot(session, member) };
    count(session, fan_out_id, member.nth, state)?;
    join(session, fan_out_id)
}

/// Ends a task that only waits for a fan-out whose children have all ended, and so on up to the root.
pub(crate) fn join(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    if !fan_out.waits || fan_out.tally.open() > 0 {
        return Ok(());
    }
    fan_out.waits = false;
    session.fan_outs.put(fan_out_id, fan_out);
    join_task(session, fan_out.task_id)
}

/// Ends a task that has done its own work, unless one of its children is open, and the parents that only wait for it.
pub(crate) fn join_task(session: &mut Session<'_>, id: i64) -> Result<()> {
    let Some(Owner { member: owner, outcome, slots }) = owner(session, id)? else { return Ok(()) };
    let spawned = session.fan_outs.find(session.conn, id)?.map_or(Tally::default(), |fan_out| fan_out.tally);
    let state = decide::join(outcome, &spawned, 0);
    let failure = match state {
        State::Waiting => return Ok(()),
        State::Failed if outcome == State::Completed => Some(failure_text(&Failure::children(&spawned))?),
        State::Cancelled => Some(failure_text(&Failure::cancelled())?),
        _ => None,
    };
    let mut statement = session.sql(include_str!("../../sql/family/join.sql"))?;
    statement.execute((id, state.as_str(), session.micros(), failure))?;
    if let Some((command_id, keys)) = slots {
        slots::give_back(session, id, command_id, keys.as_deref(), true)?;
    }
    let Some(above) = owner.fan_out_id else {
        leave_family_slot(session, &owner)?;
        return follow_up::family_ended(session, id, state);
    };
    count(session, above, owner.nth, state)?;
    join(session, above)
}

/// Counts a child that has ended, and lets the next one go where they run in order.
fn count(session: &mut Session<'_>, fan_out_id: i64, nth: Option<u32>, state: State) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    fan_out.tally.count(state);
    session.fan_outs.put(fan_out_id, fan_out);
    if fan_out.awaited.is_none() {
        return go_on(session, fan_out_id, state);
    }
    session.fan_outs.ended(fan_out_id, nth);
    verdict::look(session, fan_out_id)
}

/// A task that has done its own work and waits for no open child.
struct Owner {
    member: Member,
    /// How its own work ended.
    outcome: State,
    /// Its command and keys, if it may hold slots.
    slots: Option<(i64, Option<String>)>,
}

fn owner(session: &mut Session<'_>, id: i64) -> Result<Option<Owner>> {
    let mut statement = session.sql(include_str!("../../sql/family/owner.sql"))?;
    let (state, outcome, was_suspended, lane, member, slots) = statement.query_row([id], |row| {
        let member = Member { id, queue_id: row.get(2)?, fan_out_id: row.get(3)?, nth: row.get(5)?, lane: Lane::Top };
        let slots = if row.get(7)? { Some((row.get(8)?, row.get(9)?)) } else { None };
        let (state, outcome): (String, Option<String>) = (row.get(0)?, row.get(1)?);
        Ok((state, outcome, row.get(6)?, row.get::<_, String>(4)?, member, slots))
    })?;
    let Some(outcome) = outcome.filter(|_| state == State::Waiting.as_str()) else { return Ok(None) };
    // A task that has never been suspended has no other fan-out than the one that has just run out.
    if was_suspended && !verdict::open_fan_outs(session, id)?.is_empty() {
        return Ok(None);
    }
    let lane = Lane::from_word(&lane).ok_or_else(|| unreadable("lane", &lane))?;
    Ok(Some(Owner { member: Member { lane, ..member }, outcome: outcome.parse()?, slots }))
}

/// In an in-order fan-out: lets the next child go when none is open, or skips the rest after a failure.
fn go_on(session: &mut Session<'_>, fan_out_id: i64, state: State) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    if fan_out.held == 0 {
        return Ok(());
    }
    if fan_out.order == ChildOrder::InOrderUntilFailure && state == State::Failed {
        let skipped = failure_text(&Failure::skipped_child())?;
        let mut statement = session.sql(include_str!("../../sql/family/skip.sql"))?;
        let skipped = statement.execute((fan_out.root_id, fan_out_id, session.micros(), skipped))?;
        fan_out.tally.cancelled += skipped as u64;
        fan_out.held = 0;
    } else if fan_out.tally.open() == fan_out.held {
        open_next(session, fan_out_id, fan_out.root_id)?;
        fan_out.held -= 1;
    }
    session.fan_outs.put(fan_out_id, fan_out);
    Ok(())
}

/// A task that was in line and has been cancelled holds up no other task any more.
pub(crate) fn left_line(session: &mut Session<'_>, task: &Whereabouts) -> Result<()> {
    if task.gate.as_deref() != Some(Gate::After.as_str()) {
        return Ok(());
    }
    let Some(fan_out_id) = task.member.fan_out_id else { return follow_up::forget(session, task.member.id) };
    let mut fan_out = session.fan_out(fan_out_id)?;
    fan_out.held -= 1;
    session.fan_outs.put(fan_out_id, fan_out);
    Ok(())
}

/// A page of the children of a fan-out that may have open children of their own: the number of each, and its `nth`.
pub(crate) fn parents(session: &Session<'_>, fan_out_id: i64, behind: i64, page: usize) -> Result<Vec<(i64, i64)>> {
    let mut statement = session.sql(include_str!("../../sql/family/parents.sql"))?;
    let rows = statement.query_map((fan_out_id, behind, page), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Lets all children go that wait for an earlier one: they need not be in order any more.
pub(crate) fn release(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    for _ in 0..std::mem::take(&mut fan_out.held) {
        open_next(session, fan_out_id, fan_out.root_id)?;
    }
    session.fan_outs.put(fan_out_id, fan_out);
    Ok(())
}

fn open_next(session: &mut Session<'_>, fan_out_id: i64, root_id: i64) -> Result<()> {
    let mut statement = session.sql(include_str!("../../sql/family/next.sql"))?;
    let (id, due, queue_id): (i64, i64, i64) =
        statement.query_row((root_id, fan_out_id), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let gate = gate_in_family(session, root_id, Timestamp::from_micros(due))?;
    session.sql(include_str!("../../sql/family/gate.sql"))?.execute((id, gate.as_str()))?;
    session.news.queues.insert(queue_id);
    Ok(())
}

/// The gate of a child that nothing in its family holds any more.
pub(crate) fn gate_in_family(session: &Session<'_>, root_id: i64, due: Timestamp) -> Result<Gate> {
    Ok(if is_at_work(session, root_id)? { gate_of(due, session.now) } else { Gate::Limit })
}

/// Whether the family of a root may run: not while it has no family slot on a queue that limits families.
fn is_at_work(session: &Session<'_>, root_id: i64) -> Result<bool> {
    let mut statement = session.sql(include_str!("../../sql/family/owner.sql"))?;
    let (queue_id, lane): (i64, String) = statement.query_row([root_id], |row| Ok((row.get(2)?, row.get(4)?)))?;
    let limit = session.catalogue.queue_by_id(queue_id)?.policy.family_limit;
    Ok(limit.is_none() || lane == Lane::Root.as_str())
}

/// Gives back the family slot of a root, if it has one; another family may take it.
pub(crate) fn leave_family_slot(session: &mut Session<'_>, root: &Member) -> Result<()> {
    if root.lane == Lane::Root {
        session.sql(include_str!("../../sql/family/leave_family_slot.sql"))?.execute([root.id])?;
        session.news.queues.insert(root.queue_id);
    }
    Ok(())
}
