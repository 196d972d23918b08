//! Recording how attempts ended. `kinfolk_core::decide` decides the consequences, and this module carries them out.

use kinfolk_core::decide;
use kinfolk_core::settle::{Failure, FailureKind};
use kinfolk_core::task::Ending;
use kinfolk_core::{Made, Outcome, Rejection, Retry, Settle, Settled, State, TaskId};
use rusqlite::CachedStatement;

use crate::error::Result;
use crate::family::ended::TaskFacts;
use crate::family::make::{self, Maker};
use crate::family::{follow_up, whereabouts};
use crate::rows::failure_text;
use crate::session::Session;
use crate::verb::cancel;

/// Records how attempts ended; one answer each, and a stale one does not disturb the rest. Settles that made tasks come first,
/// one by one. All ends of the other settles count before anything is cancelled because an owner has failed.
pub(crate) fn settle(session: &mut Session<'_>, settles: &[Settle]) -> Result<Vec<Settled>> {
    let mut facts = session.sql(include_str!("../../sql/settle/facts.sql"))?;
    let mut answers = vec![Settled::Stale; settles.len()];
    let (made, plain): (Vec<_>, Vec<_>) = (0..settles.len()).partition(|&n| settles[n].made().is_some());
    for n in made {
        answers[n] = one(session, &mut facts, &settles[n])?;
        cancel_with_owners(session, &[n], settles, &mut answers)?;
    }
    for &n in &plain {
        answers[n] = one(session, &mut facts, &settles[n])?;
    }
    cancel_with_owners(session, &plain, settles, &mut answers)?;
    Ok(answers)
}

/// Cancels what ends with owners that have failed. Of those that were settled meanwhile, and may have ended with that, the answers
/// say it.
fn cancel_with_owners(
    session: &mut Session<'_>,
    settled: &[usize],
    settles: &[Settle],
    answers: &mut [Settled],
) -> Result<()> {
    if !cancel::doomed(session)? {
        return Ok(());
    }
    for &n in settled {
        if let Settled::Recorded(state) | Settled::Repeated(state) = &mut answers[n] {
            *state = whereabouts::of(session, settles[n].task)?.state;
        }
    }
    Ok(())
}

fn one(session: &mut Session<'_>, facts: &mut CachedStatement<'_>, settle: &Settle) -> Result<Settled> {
    let Some(task) = TaskFacts::read(facts, settle.task)?.filter(|task| task.token == Some(settle.token)) else {
        return Ok(Settled::Stale);
    };
    if task.state != State::Running {
        return Ok(Settled::Repeated(task.state));
    }
    let state = match settle.made() {
        None => follow(session, &task, &settle.outcome)?,
        Some(made) => follow_made(session, &task, &settle.outcome, made)?,
    };
    Ok(Settled::Recorded(state))
}

/// Records how the attempt of a running task ended, whatever its token.
pub(crate) fn apply(session: &mut Session<'_>, id: TaskId, outcome: &Outcome) -> Result<()> {
    let mut facts = session.sql(include_str!("../../sql/settle/facts.sql"))?;
    if let Some(task) = TaskFacts::read(&mut facts, id)?.filter(|task| task.state == State::Running) {
        follow(session, &task, outcome)?;
    }
    Ok(())
}

/// Records the end of an attempt that made something: all of it is written, or none and the attempt has failed. Nothing is
/// made by a task whose end was asked for.
fn follow_made(session: &mut Session<'_>, task: &TaskFacts, outcome: &Outcome, made: &Made) -> Result<State> {
    let next = decide::settle(&task.facts(session)?, outcome);
    let Outcome::Done(result) = outcome else { return follow(session, task, outcome) };
    if next.state != State::Completed {
        return follow(session, task, outcome);
    }
    let maker = Maker::of(session, task)?;
    if let Some(why) = make::refusal(session, &maker, Some(made), [])? {
        return follow(session, task, &refused(&why));
    }
    if !make::make(session, &maker, made)? && !task.was_suspended {
        let state = follow(session, task, outcome)?;
        if maker.parent_id.is_none() && !made.follow_ups.is_empty() {
            follow_up::family_ended(session, maker.root_id, state)?;
        }
        return Ok(state);
    }
    task.keep_attempt(session, Ending::Completed, None)?;
    task.end_with_family(session, &next, result.as_ref().map(|result| result.as_str()), None, task.token)
}

/// How an attempt ends that made what can't be made.
pub(crate) fn refused(why: &Rejection) -> Outcome {
    let retry = if why.may_pass() { Retry::Policy } else { Retry::Never };
    Outcome::Failed { failure: Failure::refused(why), retry }
}

/// Records the end of an attempt that made nothing; where the task goes. The caller cancels what ends with it (`cancel::doomed`).
pub(crate) fn follow(session: &mut Session<'_>, task: &TaskFacts, outcome: &Outcome) -> Result<State> {
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
        (_, Outcome::Snooze(_) | Outcome::YieldFamilySlot(_)) => (Ending::Snoozed, task.failure.clone()),
        (_, _) => {
            due = task.due;
            (Ending::Released, task.failure.clone())
        }
    };
    let reason = kept.as_deref().filter(|_| !matches!(ending, Ending::Snoozed | Ending::Released));
    task.keep_attempt(session, ending, reason)?;
    if next.state == State::Pending {
        task.put_back(session, &next, due, kept.as_deref(), task.token)?;
        if matches!(outcome, Outcome::YieldFamilySlot(_)) {
            task.yield_family_slot(session)?;
        }
        return Ok(next.state);
    }
    let result = match outcome {
        Outcome::Done(Some(result)) if next.state == State::Completed => Some(result.as_str()),
        _ => None,
    };
    task.end(session, &next, result, kept.as_deref(), task.token)
}

/// Carries out what follows from the loss of a task's worker; the token holds no longer.
pub(crate) fn lose(session: &mut Session<'_>, id: TaskId) -> Result<Option<State>> {
    let mut facts = session.sql(include_str!("../../sql/settle/facts.sql"))?;
    let Some(task) = TaskFacts::read(&mut facts, id)?.filter(|task| task.state == State::Running) else {
        return Ok(None);
    };
    let next = decide::recover(&task.facts(session)?, false);
    let lost = failure_text(&Failure::lost(task.worker()))?;
    task.keep_attempt(session, Ending::Lost, Some(&lost))?;
    match next.verdict {
        None => {
            let due = if next.delay.is_zero() { task.due } else { session.now.plus(next.delay).as_micros() };
            task.put_back(session, &next, due, Some(&lost), None)?;
        }
        Some(FailureKind::Poison) => {
            task.end(session, &next, None, Some(&failure_text(&Failure::poison(next.strikes))?), None)?;
        }
        Some(_) => {
            task.end(session, &next, None, Some(&failure_text(&Failure::cancelled())?), None)?;
        }
    }
    Ok(Some(next.state))
}
