//! Taking tasks to run: the heads of the worker's commands, merged into one line.
//!
//! Each command has its own stretch of the ready index, so a claim reads neither tasks of other commands nor any that
//! are not open. The writer is alone, so what is read is what is taken.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use kinfolk_core::limits::{CLAIM_BATCH_MAX, SWEEP_PAGE};
use kinfolk_core::{Claim, Claimed, ClaimedTask, Json, StoreError, TaskId, Timestamp, Token};
use rusqlite::{CachedStatement, OptionalExtension, Row};

use crate::error::Result;
use crate::rows::span_from;
use crate::session::Session;
use crate::verb::worker;

/// Where a task stands: its priority, place and number.
type Stand = (i64, i64, i64);

const BEFORE_ALL: Stand = (i64::MIN, i64::MIN, i64::MIN);
/// Tasks read ahead of each command at least, when a worker has many.
const READ_AHEAD_MIN: usize = 8;

/// Takes open tasks for a worker, in the order of priority, place and number.
pub(crate) fn claim(session: &mut Session<'_>, claim: &Claim) -> Result<Claimed> {
    if !worker::exists(session, claim.worker)? {
        return Err(StoreError::LeaseLost { worker: claim.worker }.into());
    }
    let queue = session.catalogue.queue(&claim.queue);
    if claim.repeated {
        let tasks = running(session, claim)?;
        if !tasks.is_empty() {
            let next_due = queue.map_or(Ok(None), |queue| next_due(session, queue.id))?;
            return Ok(Claimed { tasks, next_due });
        }
    }
    let Some(queue) = queue.filter(|known| known.queue.paused_at.is_none()) else {
        return Ok(Claimed::default());
    };
    if claim.commands.is_empty() {
        return Ok(Claimed::default());
    }
    let next_due = open(session, queue.id)?;
    let commands: BTreeSet<i64> =
        claim.commands.iter().filter_map(|name| session.catalogue.command(name)).map(|known| known.id).collect();
    let ids = in_line(session, claim, queue.id, &commands)?;
    Ok(Claimed { tasks: take(session, claim, &ids)?, next_due })
}

fn running(session: &Session<'_>, claim: &Claim) -> Result<Vec<ClaimedTask>> {
    let mut statement = session.sql(include_str!("../../sql/claim/running.sql"))?;
    let mut rows = statement.query((claim.worker.0.as_bytes(), claim.token.0.as_bytes()))?;
    let mut tasks = Vec::new();
    while let Some(row) = rows.next()? {
        tasks.push(claimed(session, row, claim.token)?);
    }
    Ok(tasks)
}

/// Opens what is due, and gives back what will be due next.
fn open(session: &Session<'_>, queue_id: i64) -> Result<Option<Timestamp>> {
    let next = next_due(session, queue_id)?;
    if next.is_none_or(|due| due > session.now) {
        return Ok(next);
    }
    let mut statement = session.sql(include_str!("../../sql/claim/open.sql"))?;
    statement.execute((queue_id, session.micros(), SWEEP_PAGE))?;
    next_due(session, queue_id)
}

fn next_due(session: &Session<'_>, queue_id: i64) -> Result<Option<Timestamp>> {
    let mut statement = session.sql(include_str!("../../sql/claim/next_due.sql"))?;
    Ok(statement.query_row([queue_id], |row| row.get(0)).optional()?.map(Timestamp::from_micros))
}

/// The numbers of the tasks to take: the lines of all commands, and the first suspect, merged.
fn in_line(session: &Session<'_>, claim: &Claim, queue_id: i64, commands: &BTreeSet<i64>) -> Result<Vec<i64>> {
    let limit = claim.limit.min(CLAIM_BATCH_MAX);
    if limit == 0 || commands.is_empty() {
        return Ok(Vec::new());
    }
    let read_ahead = limit.div_ceil(commands.len()).max(READ_AHEAD_MIN).min(limit);
    let mut statement = session.sql(include_str!("../../sql/claim/line.sql"))?;
    let mut lines: Vec<Line> = commands.iter().map(|&command_id| Line::new(queue_id, command_id, read_ahead)).collect();
    let mut heads = BinaryHeap::with_capacity(lines.len() + 1);
    for (number, line) in lines.iter_mut().enumerate() {
        heads.extend(line.next(&mut statement)?.map(|stand| Reverse((stand, Some(number)))));
    }
    heads.extend(first_suspect(session, claim, queue_id, commands)?.map(|stand| Reverse((stand, None))));
    let mut ids = Vec::with_capacity(limit);
    while ids.len() < limit
        && let Some(Reverse(((_, _, id), line))) = heads.pop()
    {
        ids.push(id);
        if let Some(number) = line {
            heads.extend(lines[number].next(&mut statement)?.map(|stand| Reverse((stand, line))));
        }
    }
    Ok(ids)
}

/// The open tasks of one command, read a few at a time.
struct Line {
    queue_id: i64,
    command_id: i64,
    read_ahead: usize,
    behind: Stand,
    ready: VecDeque<Stand>,
    ended: bool,
}

impl Line {
    fn new(queue_id: i64, command_id: i64, read_ahead: usize) -> Self {
        Self { queue_id, command_id, read_ahead, behind: BEFORE_ALL, ready: VecDeque::new(), ended: false }
    }

    fn next(&mut self, statement: &mut CachedStatement<'_>) -> Result<Option<Stand>> {
        if self.ready.is_empty() && !self.ended {
            let (priority, place, id) = self.behind;
            let mut rows = statement.query((self.queue_id, self.command_id, priority, place, id, self.read_ahead))?;
            while let Some(row) = rows.next()? {
                self.ready.push_back(stand(row)?);
            }
            self.ended = self.ready.len() < self.read_ahead;
            self.behind = *self.ready.back().unwrap_or(&self.behind);
        }
        Ok(self.ready.pop_front())
    }
}

fn first_suspect(
    session: &Session<'_>,
    claim: &Claim,
    queue_id: i64,
    commands: &BTreeSet<i64>,
) -> Result<Option<Stand>> {
    let mut any = session.sql(include_str!("../../sql/claim/has_suspects.sql"))?;
    if !any.query_row((queue_id, claim.worker.0.as_bytes()), |row| row.get::<_, bool>(0))? {
        return Ok(None);
    }
    let mut statement = session.sql(include_str!("../../sql/claim/suspect.sql"))?;
    let mut first = None;
    for command_id in commands {
        let found = statement.query_row((queue_id, command_id), stand).optional()?;
        first = first.into_iter().chain(found).min();
    }
    Ok(first)
}

fn stand(row: &Row<'_>) -> rusqlite::Result<Stand> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn take(session: &Session<'_>, claim: &Claim, ids: &[i64]) -> Result<Vec<ClaimedTask>> {
    let mut take = session.sql(include_str!("../../sql/claim/take.sql"))?;
    let mut taken = session.sql(include_str!("../../sql/claim/taken.sql"))?;
    let (worker, token) = (claim.worker.0.as_bytes(), claim.token.0.as_bytes());
    let mut tasks = Vec::with_capacity(ids.len());
    for id in ids {
        take.execute((id, session.micros(), worker, token))?;
        let mut rows = taken.query([id])?;
        while let Some(row) = rows.next()? {
            tasks.push(claimed(session, row, claim.token)?);
        }
    }
    Ok(tasks)
}

/// A task as its worker sees it; the columns are those of `sql/claim/taken.sql`.
fn claimed(session: &Session<'_>, row: &Row<'_>, token: Token) -> Result<ClaimedTask> {
    Ok(ClaimedTask {
        id: TaskId(row.get(0)?),
        token,
        command: session.catalogue.command_name(row.get(1)?)?.clone(),
        attempt: row.get(2)?,
        max_attempts: row.get(3)?,
        timeout: row.get::<_, Option<i64>>(4)?.map(span_from),
        trace: row.get(5)?,
        parent: None,
        root: TaskId(row.get(0)?),
        depth: 0,
        payload: Json::trusted(row.get::<_, Box<str>>(6)?),
    })
}
