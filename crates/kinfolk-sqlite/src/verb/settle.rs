//! Recording how attempts ended. What follows is decided in `kinfolk_core::decide` and carried out here.

use kinfolk_core::decide::{self, Facts, Next};
use kinfolk_core::settle::{Failure, FailureKind};
use kinfolk_core::task::Ending;
use kinfolk_core::{Gate, Outcome, RetryPolicy, Settle, Settled, State, TaskId, Token};
use rusqlite::{CachedStatement, OptionalExtension, Row};
use uuid::Uuid;

use crate::error::Result;
use crate::rows::{failure_text, worker_from};
use crate::session::Session;

/// Records how attempts ended; one answer each, and a stale one does not disturb the rest.
pub(crate) fn settle(session: &mut Session<'_>, settles: &[Settle]) -> Result<Vec<Settled>> {
    let mut facts = session.sql(include_str!("../../sql/settle/facts.sql"))?;
    settles.iter().map(|settle| one(session, &mut facts, settle)).collect()
}

fn one(session: &mut Session<'_>, facts: &mut CachedStatement<'_>, settle: &Settle) -> Result<Settled> {
    let Some(task) = Ended::read(facts, settle.task)?.filter(|task| task.token == Some(settle.token)) else {
        return Ok(Settled::Stale);
    };
    if task.state != State::Running {
        return Ok(Settled::Repeated(task.state));
    }
    follow(session, &task, &settle.outcome).map(Settled::Recorded)
}

/// Records how the attempt of a running task ended, whatever its token.
pub(crate) fn apply(session: &mut Session<'_>, id: TaskId, outcome: &Outcome) -> Result<()> {
    let mut facts = session.sql(include_str!("../../sql/settle/facts.sql"))?;
    if let Some(task) = Ended::read(&mut facts, id)?.filter(|task| task.state == State::Running) {
        follow(session, &task, outcome)?;
    }
    Ok(())
}

fn follow(session: &mut Session<'_>, task: &Ended, outcome: &Outcome) -> Result<State> {
    let next = decide::settle(&task.facts(session)?, outcome);
    let told = match outcome {
        Outcome::Failed { failure, .. } => Some(failure_text(failure)?),
        _ => None,
    };
    let mut due = session.now.plus(next.delay).as_micros();
    let (ending, kept) = match (next.state, outcome) {
        (State::Cancelled, _) => (Ending::Cancelled, Some(failure_text(&Failure::cancelled())?)),
        (State::Completed, _) => (Ending::Completed, None),
        (State::Failed, _) => (Ending::Failed, told),
        (_, Outcome::Failed { .. }) => (Ending::Retried, told),
        (_, Outcome::Snooze(_) | Outcome::YieldPlace(_)) => (Ending::Snoozed, task.failure.clone()),
        (_, _) => {
            due = task.due;
            (Ending::Released, task.failure.clone())
        }
    };
    let reason = kept.as_deref().filter(|_| !matches!(ending, Ending::Snoozed | Ending::Released));
    if !(ending == Ending::Completed && task.runs == 1) {
        task.keep_attempt(session, ending, reason)?;
    }
    if next.state == State::Pending {
        task.put_back(session, &next, due, kept.as_deref(), task.token)?;
    } else {
        let result = match outcome {
            Outcome::Done(Some(result)) if next.state == State::Completed => Some(result.as_str()),
            _ => None,
        };
        task.finish(session, &next, result, kept.as_deref(), task.token)?;
    }
    Ok(next.state)
}

/// Carries out what follows from the loss of a task's worker; the token holds no longer.
pub(crate) fn lose(session: &mut Session<'_>, id: TaskId) -> Result<Option<State>> {
    let mut facts = session.sql(include_str!("../../sql/settle/facts.sql"))?;
    let Some(task) = Ended::read(&mut facts, id)?.filter(|task| task.state == State::Running) else {
        return Ok(None);
    };
    let next = decide::recover(&task.facts(session)?, false);
    let lost = failure_text(&Failure::lost(task.worker()))?;
    task.keep_attempt(session, Ending::Lost, Some(&lost))?;
    match next.verdict {
        None => task.put_back(session, &next, task.due, Some(&lost), None)?,
        Some(FailureKind::Poison) => {
            task.finish(session, &next, None, Some(&failure_text(&Failure::poison())?), None)?;
        }
        Some(_) => task.finish(session, &next, None, Some(&failure_text(&Failure::cancelled())?), None)?,
    }
    Ok(Some(next.state))
}

/// A task whose attempt has ended.
struct Ended {
    id: TaskId,
    state: State,
    token: Option<Token>,
    worker: Option<[u8; 16]>,
    command_id: i64,
    queue_id: i64,
    attempt: u16,
    max_attempts: u16,
    runs: u32,
    suspect: bool,
    strikes: u16,
    started_at: Option<i64>,
    due: i64,
    cancel_requested: bool,
    failure: Option<String>,
}

impl Ended {
    fn read(facts: &mut CachedStatement<'_>, id: TaskId) -> Result<Option<Self>> {
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
        })
    }

    fn facts(&self, session: &Session<'_>) -> Result<Facts> {
        let command = session.catalogue.command_by_id(self.command_id)?;
        Ok(Facts {
            task: self.id,
            attempt: self.attempt,
            retry: RetryPolicy { max_attempts: self.max_attempts, ..command.retry },
            cancel_requested: self.cancel_requested,
            suspect: self.suspect,
            strikes: self.strikes,
        })
    }

    fn worker(&self) -> kinfolk_core::WorkerId {
        worker_from(self.worker.unwrap_or_default())
    }

    fn keep_attempt(&self, session: &Session<'_>, ending: Ending, failure: Option<&str>) -> Result<()> {
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
        Ok(())
    }

    fn put_back(
        &self,
        session: &mut Session<'_>,
        next: &Next,
        due: i64,
        failure: Option<&str>,
        token: Option<Token>,
    ) -> Result<()> {
        let gate = if next.delay.is_zero() { Gate::Open } else { Gate::Time };
        session.sql(include_str!("../../sql/settle/return.sql"))?.execute((
            self.id.0,
            gate.as_str(),
            due,
            failure,
            next.attempt,
            next.suspect,
            next.strikes,
            token.map(|token| token.0.into_bytes()),
        ))?;
        session.news.queues.insert(self.queue_id);
        Ok(())
    }

    fn finish(
        &self,
        session: &Session<'_>,
        next: &Next,
        result: Option<&str>,
        failure: Option<&str>,
        token: Option<Token>,
    ) -> Result<()> {
        session.sql(include_str!("../../sql/settle/finish.sql"))?.execute((
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
        Ok(())
    }
}
