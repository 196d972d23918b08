//! What follows from a task's end for its kin: its parent's counts, the next child in line, parents that end with it.
//!
//! Counts change in the transaction that ends the child, and the decision is taken from the counts as they are then, so
//! no parent ends before its last child, and none is left waiting.

use kinfolk_core::settle::Failure;
use kinfolk_core::{ChildOrder, Gate, State, Timestamp, decide};

use crate::error::{Result, unreadable};
use crate::rows::failure_text;
use crate::session::Session;
use crate::verb::enqueue::gate_of;
use crate::verb::follow_up;
use crate::verb::whereabouts::Whereabouts;

/// In which line a task stands on its queue.
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

/// A task that has just become terminal, as its kin see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kin {
    pub(crate) id: i64,
    pub(crate) queue_id: i64,
    /// Which children of its parent it was one of; `None` for a root.
    pub(crate) fan_out_id: Option<i64>,
    pub(crate) lane: Lane,
}

/// Carries out all that follows from the end of a task, up to the root. The task itself has been written.
///
/// A root that ends by itself has no family, and nobody waits for it except what it made in that very settle, which
/// sees to that itself.
pub(crate) fn ended(session: &mut Session<'_>, kin: &Kin, state: State) -> Result<()> {
    let Some(fan_out_id) = kin.fan_out_id else { return leave_place(session, kin) };
    count(session, fan_out_id, state)?;
    join(session, fan_out_id)
}

/// Ends whoever waits for nothing but a fan-out all of whose children have ended, and so on up to the root.
pub(crate) fn join(session: &mut Session<'_>, fan_out_id: i64) -> Result<()> {
    let mut fan_out_id = fan_out_id;
    while let Some((owner, state)) = join_one(session, fan_out_id)? {
        let Some(above) = owner.fan_out_id else {
            leave_place(session, &owner)?;
            return follow_up::family_ended(session, owner.id, state);
        };
        count(session, above, state)?;
        fan_out_id = above;
    }
    Ok(())
}

fn join_one(session: &mut Session<'_>, fan_out_id: i64) -> Result<Option<(Kin, State)>> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    if !fan_out.waits || fan_out.tally.open() > 0 {
        return Ok(None);
    }
    fan_out.waits = false;
    session.fan_outs.put(fan_out_id, fan_out);
    let (owner, outcome) = owner(session, fan_out.task_id)?;
    let state = decide::join(outcome, &fan_out.tally, 0);
    let failure = match state {
        State::Failed => Some(failure_text(&Failure::children(&fan_out.tally))?),
        State::Cancelled => Some(failure_text(&Failure::cancelled())?),
        _ => None,
    };
    let mut statement = session.sql(include_str!("../../sql/family/join.sql"))?;
    statement.execute((owner.id, state.as_str(), session.micros(), failure))?;
    Ok(Some((owner, state)))
}

/// Counts a child that has ended, and lets the next one go where they run in order.
fn count(session: &mut Session<'_>, fan_out_id: i64, state: State) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    fan_out.tally.count(state);
    session.fan_outs.put(fan_out_id, fan_out);
    go_on(session, fan_out_id, state)
}

/// A waiting task, and how its own work ended.
fn owner(session: &Session<'_>, id: i64) -> Result<(Kin, State)> {
    let mut statement = session.sql(include_str!("../../sql/family/owner.sql"))?;
    let (outcome, queue_id, fan_out_id, lane): (Option<String>, _, _, String) =
        statement.query_row([id], |row| Ok((row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let outcome = outcome.ok_or_else(|| unreadable("outcome of a waiting task", &id.to_string()))?.parse()?;
    let lane = Lane::from_word(&lane).ok_or_else(|| unreadable("lane", &lane))?;
    Ok((Kin { id, queue_id, fan_out_id, lane }, outcome))
}

/// In an in-order fan-out: lets the next child go when none is open, or skips the rest after a failure.
fn go_on(session: &mut Session<'_>, fan_out_id: i64, state: State) -> Result<()> {
    let mut fan_out = session.fan_out(fan_out_id)?;
    if !fan_out.in_order() || fan_out.held == 0 {
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

/// A task that was in line and has been cancelled holds up nobody any more.
pub(crate) fn left_line(session: &mut Session<'_>, task: &Whereabouts) -> Result<()> {
    if task.gate.as_deref() != Some(Gate::After.as_str()) {
        return Ok(());
    }
    let Some(fan_out_id) = task.kin.fan_out_id else { return follow_up::forget(session, task.kin.id) };
    let mut fan_out = session.fan_out(fan_out_id)?;
    fan_out.held -= 1;
    session.fan_outs.put(fan_out_id, fan_out);
    Ok(())
}

/// A page of the children of a fan-out that wait for children of their own: their numbers, and the how-many-eth they
/// are.
pub(crate) fn waiting_children(
    session: &Session<'_>,
    fan_out_id: i64,
    behind: i64,
    page: usize,
) -> Result<Vec<(i64, i64)>> {
    let mut statement = session.sql(include_str!("../../sql/family/waiting_children.sql"))?;
    let rows = statement.query_map((fan_out_id, behind, page), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
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

/// Whether the family of a root may run: not while its root waits outside of a queue that limits families.
fn is_at_work(session: &Session<'_>, root_id: i64) -> Result<bool> {
    let mut statement = session.sql(include_str!("../../sql/family/owner.sql"))?;
    let (state, queue_id, lane): (String, i64, String) =
        statement.query_row([root_id], |row| Ok((row.get(0)?, row.get(2)?, row.get(4)?)))?;
    let limit = session.catalogue.queue_by_id(queue_id)?.policy.family_limit;
    Ok(limit.is_none() || state != State::Waiting.as_str() || lane == Lane::Root.as_str())
}

/// Takes a root's family out of those at work, if it is among them; another may come in.
pub(crate) fn leave_place(session: &mut Session<'_>, root: &Kin) -> Result<()> {
    if root.lane == Lane::Root {
        session.sql(include_str!("../../sql/family/leave_place.sql"))?.execute([root.id])?;
        session.news.queues.insert(root.queue_id);
    }
    Ok(())
}
