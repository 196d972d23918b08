//! Taking tasks to run: the heads of the worker's commands, merged into one line.
//!
//! Each command has its own stretch of the ready index, so a claim reads neither tasks of other commands nor any that
//! are not open. Other lanes than the top are read only when there is something in them, and none that has no room. Only a
//! claim for a command with groups looks for ready waiters, and only a claim that comes across a task of such a command looks at
//! keys. The writer is alone, so what is read is what is taken.

use std::collections::BTreeSet;

use kinfolk_core::limits::{CLAIM_BATCH_MAX, SWEEP_PAGE};
use kinfolk_core::{Claim, Claimed, ClaimedTask, Json, StoreError, TaskId, Timestamp, Token};
use rusqlite::{CachedStatement, OptionalExtension};

use crate::admission::line::{self, From, Picked};
use crate::admission::rate;
use crate::admission::reserve;
use crate::durable::verdict;
use crate::error::Result;
use crate::family::Lane;
use crate::family::follow_up;
use crate::limits::{self, QueueRoom};
use crate::rows::{keys, span_from};
use crate::session::Session;
use crate::verb::{status, worker};

/// The tasks of one round of a claim. `more`: the round ended before it had looked at all candidates, because it had blocked as
/// many tasks as one transaction should.
pub(crate) struct Round {
    pub(crate) claimed: Claimed,
    pub(crate) more: bool,
}

impl Round {
    const fn whole(claimed: Claimed) -> Self {
        Self { claimed, more: false }
    }
}

/// Takes open tasks for a worker, in the order of priority, position and number.
pub(crate) fn claim(session: &mut Session<'_>, claim: &Claim) -> Result<Round> {
    if !worker::exists(session, claim.worker)? {
        return Err(StoreError::LeaseLost { worker: claim.worker }.into());
    }
    let queue = session.catalogue.queue(&claim.queue);
    let commands: BTreeSet<i64> =
        claim.commands.iter().filter_map(|name| session.catalogue.command(name)).map(|known| known.id).collect();
    let grouped = commands.iter().any(|id| !session.catalogue.groups_of(*id).is_empty());
    if claim.repeated {
        let tasks = running(session, claim)?;
        if !tasks.is_empty() {
            let mut next = queue.map_or(Ok(None), |queue| next_due(session, queue.id))?;
            if let Some(queue) = queue.filter(|_| grouped) {
                next = next.into_iter().chain(rate::next(session, queue.id, &commands)?).min();
            }
            return Ok(Round::whole(Claimed { tasks, next_due: next }));
        }
    }
    let Some(queue) = queue.filter(|known| known.queue.paused_at.is_none()) else {
        return Ok(Round::whole(Claimed::default()));
    };
    if claim.commands.is_empty() {
        return Ok(Round::whole(Claimed::default()));
    }
    let mut next = open(session, queue.id)?;
    if grouped {
        reserve::wake_unkept(session, &commands)?;
    }
    let behind = if grouped { Behind::keys(session, queue.id, claim)? } else { Behind::default() };
    let mut look = Look::at(session, queue.id, claim)?;
    if look.follow_ups {
        follow_up::open(session, queue.id)?;
    }
    let mut room = QueueRoom::of(session, queue)?;
    if limits::admit_families(session, queue.id, &mut room)? || look.follow_ups {
        look = Look::at(session, queue.id, claim)?;
        next = next_due(session, queue.id)?;
    }
    look.take_in(&behind);
    let fair = queue.queue.policy.fair.is_some();
    let from = From { queue_id: queue.id, commands: &commands, limit: claim.limit.min(CLAIM_BATCH_MAX), fair, grouped };
    let (taken, entry) = line::pick(session, &from, &look, room)?;
    let tasks = take(session, claim, &taken, &room, fair)?;
    status::tell_statuses(session, &tasks)?;
    let timed = behind.wakes_at.is_some() || entry.is_some();
    let mut more = false;
    if let Some(mut entry) = entry {
        entry.end(session)?;
        more = entry.is_over() && tasks.len() < from.limit;
    }
    if more {
        next = Some(session.now);
    } else if timed {
        next = next.into_iter().chain(rate::next(session, queue.id, &commands)?).min();
    }
    Ok(Round { claimed: Claimed { tasks, next_due: next }, more })
}

/// The work beside the lane top.
pub(crate) struct Look {
    /// Follow-ups some of whose families have settled.
    follow_ups: bool,
    /// Open tasks in other lanes.
    pub(crate) lanes: bool,
    /// Open suspects, and the worker may take one.
    pub(crate) suspects: bool,
    /// The worker runs no suspect.
    pub(crate) may_take_suspect: bool,
    /// Tasks behind keys that may have room.
    pub(crate) has_ready: bool,
}

impl Look {
    fn at(session: &Session<'_>, queue_id: i64, claim: &Claim) -> Result<Self> {
        let mut statement = session.sql(include_str!("../../sql/claim/look.sql"))?;
        let look = statement.query_row((queue_id, claim.worker.0.as_bytes()), |row| {
            let suspects = row.get(2)?;
            Ok(Self {
                follow_ups: row.get(0)?,
                lanes: row.get(1)?,
                suspects,
                may_take_suspect: suspects,
                has_ready: false,
            })
        })?;
        Ok(look)
    }

    /// Where commands have groups, there may be more to look at.
    fn take_in(&mut self, behind: &Behind) {
        if behind.has_ready {
            (self.has_ready, self.may_take_suspect) = (true, behind.may_take_suspect);
        }
    }
}

/// The work behind keys, where commands have groups.
#[derive(Default)]
struct Behind {
    /// Tasks behind keys that may have room.
    has_ready: bool,
    /// If so: the worker runs no suspect.
    may_take_suspect: bool,
    /// When a key is to be looked at on account of time.
    wakes_at: Option<Timestamp>,
}

impl Behind {
    /// Wakes the keys whose time has come, and looks.
    fn keys(session: &mut Session<'_>, queue_id: i64, claim: &Claim) -> Result<Self> {
        let mut behind = Self::look(session, queue_id)?;
        if behind.wakes_at.is_some_and(|wakes_at| wakes_at <= session.now) {
            rate::wake_due(session)?;
            behind = Self::look(session, queue_id)?;
        }
        if behind.has_ready {
            let mut statement = session.sql(include_str!("../../sql/explain/suspect.sql"))?;
            behind.may_take_suspect = !statement.exists([claim.worker.0.as_bytes()])?;
        }
        Ok(behind)
    }

    fn look(session: &Session<'_>, queue_id: i64) -> Result<Self> {
        let mut statement = session.sql(include_str!("../../sql/admission/blocked/look.sql"))?;
        let (has_ready, wakes_at): (bool, Option<i64>) =
            statement.query_row([queue_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self { has_ready, may_take_suspect: false, wakes_at: wakes_at.map(Timestamp::from_micros) })
    }
}

fn running(session: &Session<'_>, claim: &Claim) -> Result<Vec<ClaimedTask>> {
    let mut statement = session.sql(include_str!("../../sql/claim/running.sql"))?;
    let mut taken = session.sql(include_str!("../../sql/claim/taken.sql"))?;
    let mut rows = statement.query((claim.worker.0.as_bytes(), claim.token.0.as_bytes()))?;
    let mut tasks = Vec::new();
    while let Some(row) = rows.next()? {
        tasks.extend(claimed(session, &mut taken, row.get(0)?, claim.token)?);
    }
    Ok(tasks)
}

/// Opens what is due, and gives back what will be due next.
fn open(session: &mut Session<'_>, queue_id: i64) -> Result<Option<Timestamp>> {
    let next = next_due(session, queue_id)?;
    if next.is_none_or(|due| due > session.now) {
        return Ok(next);
    }
    let mut statement = session.sql(include_str!("../../sql/claim/due_suspended.sql"))?;
    let suspended: Vec<i64> = statement
        .query_map((queue_id, session.micros(), SWEEP_PAGE), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    suspended.into_iter().try_for_each(|id| verdict::time_has_come(session, id))?;
    let mut statement = session.sql(include_str!("../../sql/claim/open.sql"))?;
    statement.execute((queue_id, session.micros(), SWEEP_PAGE))?;
    next_due(session, queue_id)
}

fn next_due(session: &Session<'_>, queue_id: i64) -> Result<Option<Timestamp>> {
    let mut statement = session.sql(include_str!("../../sql/claim/next_due.sql"))?;
    Ok(statement.query_row([queue_id], |row| row.get(0)).optional()?.map(Timestamp::from_micros))
}

fn take(
    session: &mut Session<'_>,
    claim: &Claim,
    line: &[Picked],
    room: &QueueRoom,
    fair: bool,
) -> Result<Vec<ClaimedTask>> {
    let mut take = session.sql(include_str!("../../sql/claim/take.sql"))?;
    let mut taken = session.sql(include_str!("../../sql/claim/taken.sql"))?;
    let (worker, token) = (claim.worker.0.as_bytes(), claim.token.0.as_bytes());
    let mut tasks = Vec::with_capacity(line.len());
    for &Picked { id, lane, holds_slots, blocked } in line {
        let held = room.held(lane);
        if held.is_none() && !blocked && !fair {
            take.execute((id, session.micros(), worker, token, holds_slots))?;
        } else {
            let mut take_member = session.sql(include_str!("../../sql/claim/take_member.sql"))?;
            let (lane, child_slot) = held.unwrap_or((lane, false));
            take_member.execute((id, session.micros(), worker, token, holds_slots, lane.as_str(), child_slot))?;
        }
        if held.is_some() && lane == Lane::Top {
            limits::open_family(session, id)?;
        }
        tasks.extend(claimed(session, &mut taken, id, claim.token)?);
    }
    Ok(tasks)
}

/// A task as its worker sees it, by `sql/claim/taken.sql`.
fn claimed(
    session: &Session<'_>,
    taken: &mut CachedStatement<'_>,
    id: i64,
    token: Token,
) -> Result<Option<ClaimedTask>> {
    let mut rows = taken.query([id])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(ClaimedTask {
        id: TaskId(row.get(0)?),
        token,
        command: session.catalogue.command_name(row.get(1)?)?.clone(),
        attempt: row.get(2)?,
        max_attempts: row.get(3)?,
        timeout: row.get::<_, Option<i64>>(4)?.map(span_from),
        trace: row.get(5)?,
        payload: Json::trusted(row.get::<_, Box<str>>(6)?),
        parent: row.get::<_, Option<i64>>(7)?.map(TaskId),
        root: TaskId(row.get(8)?),
        depth: row.get(9)?,
        steps: row.get(10)?,
        holds_slots: row.get(11)?,
        waited: row.get::<_, Option<i64>>(13)?.map(span_from),
        keys: keys(row.get::<_, Option<String>>(12)?.as_deref())?,
    }))
}
