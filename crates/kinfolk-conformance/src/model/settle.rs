//! Recording how attempts ended, and all that follows from it.

use kinfolk_core::decide::{self, Facts, Next};
use kinfolk_core::error_log::LoggedError;
use kinfolk_core::limits::SETTLE_BATCH_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::task::Ending;
use kinfolk_core::{Failure, Gate, InputError, Outcome, Rejection, Retry, Settle, Settled, State, TaskId};

use super::{Bug, Engine, Row, gate_after};

impl Engine {
    pub(super) fn settle(&mut self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        if settles.len() > SETTLE_BATCH_MAX {
            return Err(InputError::Batch { what: "settles", given: settles.len(), max: SETTLE_BATCH_MAX }.into());
        }
        settles.iter().try_for_each(Settle::check)?;
        self.whole(|engine| {
            let mut answers = vec![Settled::Stale; settles.len()];
            let (made, plain): (Vec<_>, Vec<_>) = (0..settles.len()).partition(|n| settles[*n].made().is_some());
            for n in made {
                answers[n] = engine.settle_one(&settles[n])?;
                engine.cancel_with_owners_of(&[n], settles, &mut answers);
            }
            for &n in &plain {
                answers[n] = engine.settle_one(&settles[n])?;
            }
            engine.cancel_with_owners_of(&plain, settles, &mut answers);
            engine.decide_fan_outs();
            Ok(answers)
        })
    }

    /// Cancels what ends with owners that have failed, once all these settles count. The answers say where that leads.
    fn cancel_with_owners_of(&mut self, settled: &[usize], settles: &[Settle], answers: &mut [Settled]) {
        if self.just_failed.is_empty() {
            return;
        }
        self.cancel_with_owners();
        for &n in settled {
            if let Settled::Recorded(state) | Settled::Repeated(state) = &mut answers[n] {
                *state = self.tasks[&settles[n].task].task.state;
            }
        }
    }

    pub(super) fn facts(&self, id: TaskId) -> Facts {
        let task = &self.tasks[&id].task;
        let policy = self.commands[&task.command].retry;
        Facts {
            task: id,
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            retry: policy,
            cancel_requested: task.cancel_requested_at.is_some() && !self.has(Bug::CompletionBeatsCancel),
            suspect: task.suspect,
            strikes: task.strikes,
        }
    }

    fn settle_one(&mut self, settle: &Settle) -> Answer<Settled> {
        let Some(row) = self.tasks.get(&settle.task) else {
            return Ok(Settled::Stale);
        };
        let state = row.task.state;
        if row.token != Some(settle.token) && !(self.has(Bug::StaleSettleGoesThrough) && state == State::Running) {
            if self.has(Bug::StaleSettleFreesASlot) {
                self.free(settle.task);
            }
            return Ok(Settled::Stale);
        }
        let made = settle.made();
        if state != State::Running {
            if let Some(made) = made.filter(|_| self.has(Bug::RepeatMakesTwice) && state == State::Waiting) {
                self.make(settle.task, made)?;
            }
            return Ok(if self.has(Bug::RepeatIsStale) { Settled::Stale } else { Settled::Repeated(state) });
        }
        let mut next = decide::settle(&self.facts(settle.task), &settle.outcome);
        if self.has(Bug::SnoozeCostsAnAttempt)
            && matches!(settle.outcome, Outcome::Snooze(_) | Outcome::YieldFamilySlot(_))
        {
            next.attempt += 1;
        }
        let Some(made) = made.filter(|_| next.state == State::Completed) else {
            self.carry_out(settle.task, &settle.outcome, &next);
            return Ok(Settled::Recorded(self.tasks[&settle.task].task.state));
        };
        match self.refusal(settle.task, made).filter(|_| !self.has(Bug::RefusalMakesTheRest)) {
            Some(why) => self.refuse(settle.task, &why),
            None => {
                self.make(settle.task, made)?;
                self.carry_out(settle.task, &settle.outcome, &next);
                if self.has(Bug::SiblingComesTooLate) {
                    self.make_siblings(settle.task, made)?;
                }
            }
        }
        Ok(Settled::Recorded(self.tasks[&settle.task].task.state))
    }

    /// Ends an attempt that made what can't be made.
    pub(super) fn refuse(&mut self, id: TaskId, why: &Rejection) {
        let retry = if why.may_pass() { Retry::Policy } else { Retry::Never };
        let refused = Outcome::Failed { failure: Failure::refused(why), retry };
        let next = decide::settle(&self.facts(id), &refused);
        self.carry_out(id, &refused, &next);
    }

    fn log_error(&mut self, task: TaskId, attempt: u16, failure: Failure) {
        let (id, at) = (self.errors.last().map_or(1, |last| last.id + 1), self.now);
        let row = &self.row_mut(task).task;
        let (command, queue) = (row.command.clone(), row.queue.clone());
        self.errors.push(LoggedError { id, at, task, command, queue, attempt, handler: None, failure });
    }

    /// Writes down the end of an attempt and moves the task to where it goes next.
    pub(super) fn carry_out(&mut self, id: TaskId, outcome: &Outcome, next: &Next) {
        let (now, displaced) = (self.now, self.has(Bug::RetryLosesThePosition));
        let keeps = self.has(Bug::YieldKeepsTheFamilySlot) || self.tally_of(id).open() > 0;
        let row = self.row_mut(id);
        let failure = match outcome {
            Outcome::Failed { failure, .. } => Some(failure.clone()),
            _ => None,
        };
        let logged = failure.clone().filter(|_| next.state != State::Cancelled);
        let logged = logged.map(|failure| (row.task.attempt, failure));
        row.record(ending(outcome, next.state), failure_kept(outcome, next.state), now);
        row.take_counts(next);
        match (next.state, outcome) {
            (State::Completed, Outcome::Done(result)) => self.over(id, State::Completed, result.clone(), None),
            (State::Failed, _) => self.over(id, State::Failed, None, failure),
            (State::Cancelled, _) => self.over(id, State::Cancelled, None, Some(Failure::cancelled())),
            (_, Outcome::Release) => row.go_pending(Gate::Open),
            _ => {
                row.go_pending(gate_after(next.delay));
                row.task.due = now.plus(next.delay);
                row.task.failure = failure.or(row.task.failure.take());
                if displaced && matches!(outcome, Outcome::Failed { .. }) {
                    row.task.position = row.task.due;
                }
                row.at_work &= !matches!(outcome, Outcome::YieldFamilySlot(_)) || keeps;
            }
        }
        if let Some((attempt, failure)) = logged {
            self.log_error(id, attempt, failure);
        }
    }
}

/// How the attempt is written down.
fn ending(outcome: &Outcome, state: State) -> Ending {
    match (state, outcome) {
        (State::Completed, _) => Ending::Completed,
        (State::Failed, _) => Ending::Failed,
        (State::Cancelled, _) => Ending::Cancelled,
        (_, Outcome::Release) => Ending::Released,
        (_, Outcome::Failed { .. }) => Ending::Retried,
        _ => Ending::Snoozed,
    }
}

/// What is written down with it as having gone wrong.
fn failure_kept(outcome: &Outcome, state: State) -> Option<Failure> {
    match outcome {
        _ if state == State::Cancelled => Some(Failure::cancelled()),
        Outcome::Failed { failure, .. } => Some(failure.clone()),
        _ => None,
    }
}

impl Row {
    pub(super) fn take_counts(&mut self, next: &Next) {
        self.task.attempt = next.attempt;
        self.task.suspect = next.suspect;
        self.task.strikes = next.strikes;
    }
}
