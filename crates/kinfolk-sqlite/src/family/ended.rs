//! A task whose attempt has ended, and the moves it may make: back into line, to waiting, or to its end.

use kinfolk_core::decide::{Facts, Next};
use kinfolk_core::task::Ending;
use kinfolk_core::{Gate, Json, State, TaskId, Timestamp, Token, WaitedFor, WorkerId};
use rusqlite::{CachedStatement, OptionalExtension, Row};
use uuid::Uuid;

use crate::durable::verdict;
use crate::error::Result;
use crate::family::whereabouts;
use crate::family::{self, Lane, Member};
use crate::rows::worker_from;
use crate::session::Session;
use crate::slots;
use crate::verb::errors;

/// A task whose attempt has ended.
pub(crate) struct TaskFacts {
    pub(crate) id: TaskId,
    pub(crate) state: State,
    pub(crate) token: Option<Token>,
    worker: Option<[u8; 16]>,
    command_id: i64,
    pub(crate) queue_id: i64,
    attempt: u16,
    pub(crate) max_attempts: u16,
    pub(crate) runs: u32,
    suspect: bool,
    strikes: u16,
    started_at: Option<i64>,
    pub(crate) due: i64,
    pub(crate) cancel_requested: bool,
    pub(crate) failure: Option<String>,
    lane: Lane,
    pub(crate) fan_out_id: Option<i64>,
    child_slot: bool,
    nth: Option<u32>,
    /// Checkpoints written.
    pub(crate) steps: u32,
    /// It has been suspended, and may have children.
    pub(crate) was_suspended: bool,
    /// It may hold slots of its keys.
    holds_slots: bool,
    keys: Option<String>,
}

impl TaskFacts {
    /// Reads a task with `sql/settle/facts.sql`.
    pub(crate) fn read(facts: &mut CachedStatement<'_>, id: TaskId) -> Result<Option<Self>> {
        let found = facts.query_row([id.0], |row| Self::from_row(id, row)).optional()?;
        Ok(found)
    }

    fn from_row(id: TaskId, row: &Row<'_>) -> rusqlite::Result<Self> {
        let state = row.get_ref(0)?.as_str()?.parse();
        Ok(Self {
            id,
            state: state.map_err(|_| rusqlite::Error::InvalidQuery)?,
            token: row.get::<_, Option<[u8; 16]>>(1)?.map(|bytes| Token(Uuid::from_bytes(bytes))),
            worker: row.get(2)?,
            command_id: row.get(3)?,
            queue_id: row.get(4)?,
            attempt: row.get(5)?,
            max_attempts: row.get(6)?,
            runs: row.get(7)?,
            suspect: row.get(8)?,
            strikes: row.get(9)?,
            started_at: row.get(10)?,
            due: row.get(11)?,
            cancel_requested: row.get(12)?,
            failure: row.get(13)?,
            lane: Lane::from_word(row.get_ref(14)?.as_str()?).ok_or(rusqlite::Error::InvalidQuery)?,
            fan_out_id: row.get(15)?,
            child_slot: row.get(16)?,
            nth: row.get(17)?,
            steps: row.get(18)?,
            was_suspended: row.get(19)?,
            holds_slots: row.get(20)?,
            keys: row.get(21)?,
        })
    }

    /// The facts that a decision needs.
    pub(crate) fn facts(&self, session: &Session<'_>) -> Result<Facts> {
        let command = session.catalogue.command_by_id(self.command_id)?;
        Ok(Facts {
            task: self.id,
            attempt: self.attempt,
            max_attempts: self.max_attempts,
            retry: command.retry,
            cancel_requested: self.cancel_requested,
            suspect: self.suspect,
            strikes: self.strikes,
        })
    }

    pub(crate) fn worker(&self) -> WorkerId {
        worker_from(self.worker.unwrap_or_default())
    }

    /// Keeps how the attempt ended. A completion at the first run needs no row beside the task.
    pub(crate) fn keep_attempt(&self, session: &Session<'_>, ending: Ending, failure: Option<&str>) -> Result<()> {
        if ending == Ending::Completed && self.runs == 1 {
            return Ok(());
        }
        session.sql(include_str!("../../sql/settle/attempt.sql"))?.execute((
            self.id.0,
            self.runs,
            self.attempt,
            self.started_at,
            session.micros(),
            self.worker,
            ending.as_str(),
            failure,
        ))?;
        if let (Ending::Failed | Ending::Retried, Some(failure)) = (ending, failure) {
            errors::write(session, self.id, (self.command_id, self.queue_id), self.attempt, failure)?;
        }
        Ok(())
    }

    /// Keeps that the run ended in a suspension, and what for.
    pub(crate) fn keep_suspension(&self, session: &Session<'_>, waits: &WaitedFor) -> Result<()> {
        let (fan_outs, signals) = (Json::of(&waits.fan_outs)?, Json::of(&waits.signals)?);
        session.sql(include_str!("../../sql/durable/suspend/run.sql"))?.execute((
            self.id.0,
            self.runs,
            self.attempt,
            self.started_at,
            session.micros(),
            self.worker,
            fan_outs.as_str(),
            waits.until.map(Timestamp::as_micros),
            signals.as_str(),
        ))?;
        Ok(())
    }

    /// Puts the task back into line, at its old position.
    pub(crate) fn put_back(
        &self,
        session: &mut Session<'_>,
        next: &Next,
        due: i64,
        failure: Option<&str>,
        token: Option<Token>,
    ) -> Result<()> {
        let gate = if next.delay.is_zero() { Gate::Open } else { Gate::Time };
        let holds_slots = self.give_back(session, false)?;
        session.sql(include_str!("../../sql/settle/return.sql"))?.execute((
            self.id.0,
            gate.as_str(),
            due,
            failure,
            next.attempt,
            next.suspect,
            next.strikes,
            token.map(|token| token.0.into_bytes()),
            holds_slots,
        ))?;
        session.news.queues.insert(self.queue_id);
        Ok(())
    }

    /// Lets other families of the queue go first while this one's root is in line again, unless a child is open.
    pub(crate) fn yield_family_slot(&self, session: &mut Session<'_>) -> Result<()> {
        if self.was_suspended && !verdict::open_fan_outs(session, self.id.0)?.is_empty() {
            return Ok(());
        }
        family::leave_family_slot(session, &self.member())
    }

    /// The task's own work is over: it ends, with all that follows for its family, or waits for its open children first.
    pub(crate) fn end(
        &self,
        session: &mut Session<'_>,
        next: &Next,
        result: Option<&str>,
        failure: Option<&str>,
        token: Option<Token>,
    ) -> Result<State> {
        if self.was_suspended {
            return self.end_with_family(session, next, result, failure, token);
        }
        self.finish(session, next, result, failure, token)?;
        Ok(next.state)
    }

    /// The own work of a task that may have children is over. Children that are to end with it are noted down (`cancel::doomed`).
    pub(crate) fn end_with_family(
        &self,
        session: &mut Session<'_>,
        next: &Next,
        result: Option<&str>,
        failure: Option<&str>,
        token: Option<Token>,
    ) -> Result<State> {
        let failure = failure.filter(|_| next.state == State::Failed);
        let holds_slots = self.give_back(session, false)?;
        session.sql(include_str!("../../sql/settle/wait.sql"))?.execute((
            self.id.0,
            next.state.as_str(),
            result,
            failure,
            next.attempt,
            next.suspect,
            next.strikes,
            token.map(|token| token.0.into_bytes()),
            holds_slots,
        ))?;
        self.slot_is_free(session);
        for fan_out_id in verdict::open_fan_outs(session, self.id.0)? {
            let mut fan_out = session.fan_out(fan_out_id)?;
            fan_out.waits = true;
            session.fan_outs.put(fan_out_id, fan_out);
            if next.state == State::Failed && fan_out.awaited.is_some_and(|awaited| awaited.cancel_on_failure) {
                session.doomed.push(fan_out_id);
            }
        }
        family::join_task(session, self.id.0)?;
        Ok(whereabouts::of(session, self.id)?.state)
    }

    /// The task becomes terminal, with all that follows for its family.
    fn finish(
        &self,
        session: &mut Session<'_>,
        next: &Next,
        result: Option<&str>,
        failure: Option<&str>,
        token: Option<Token>,
    ) -> Result<()> {
        let sql = match self.lane {
            Lane::Child => include_str!("../../sql/settle/finish_child.sql"),
            _ => include_str!("../../sql/settle/finish.sql"),
        };
        session.sql(sql)?.execute((
            self.id.0,
            next.state.as_str(),
            session.micros(),
            result,
            failure,
            next.attempt,
            next.suspect,
            next.strikes,
            token.map(|token| token.0.into_bytes()),
        ))?;
        self.slot_is_free(session);
        self.give_back(session, true)?;
        family::ended(session, &self.member(), next.state)
    }

    /// The task gives back the slots of its keys, if it holds any: all when it is terminal. Whether it holds some still.
    pub(crate) fn give_back(&self, session: &mut Session<'_>, terminal: bool) -> Result<bool> {
        if !self.holds_slots {
            return Ok(false);
        }
        slots::give_back(session, self.id.0, self.command_id, self.keys.as_deref(), terminal)
    }

    /// Another child of the queue may run.
    pub(crate) fn slot_is_free(&self, session: &mut Session<'_>) {
        if self.child_slot {
            session.news.queues.insert(self.queue_id);
        }
    }

    fn member(&self) -> Member {
        Member { id: self.id.0, queue_id: self.queue_id, fan_out_id: self.fan_out_id, nth: self.nth, lane: self.lane }
    }
}
