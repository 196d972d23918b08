//! Suspending a handler: what it made and recorded is written, and its task waits without a worker.

use std::time::Duration;

use kinfolk_core::decide;
use kinfolk_core::limits::SETTLE_BATCH_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::task::Ending;
use kinfolk_core::{
    Checkpoint, FanOutId, Gate, InputError, NewFanOut, Outcome, Rejection, Settled, State, StepKind, Suspend, TaskId,
    Timestamp, WaitedFor,
};

use super::fan_out::{FanRow, number};
use super::produce::ChildOf;
use super::{Bug, Engine};

impl Engine {
    pub(super) fn suspend(&mut self, suspends: &[Suspend]) -> Answer<Vec<Settled>> {
        if suspends.len() > SETTLE_BATCH_MAX {
            return Err(InputError::Batch { what: "suspends", given: suspends.len(), max: SETTLE_BATCH_MAX }.into());
        }
        suspends.iter().try_for_each(Suspend::check)?;
        self.whole(|engine| {
            let answers = suspends.iter().map(|suspend| engine.suspend_one(suspend)).collect();
            engine.decide_fan_outs();
            answers
        })
    }

    fn suspend_one(&mut self, suspend: &Suspend) -> Answer<Settled> {
        let id = suspend.task;
        let Some(row) = self.tasks.get(&id).filter(|row| row.token == Some(suspend.token)) else {
            return Ok(Settled::Stale);
        };
        let state = row.task.state;
        if state != State::Running && !(self.has(Bug::RepeatedSuspensionMakesTwice) && row.is_suspended()) {
            return Ok(Settled::Repeated(state));
        }
        if row.task.cancel_requested_at.is_some() && !self.has(Bug::SuspensionBeatsCancel) {
            let next = decide::settle(&self.facts(id), &Outcome::Cancelled);
            self.carry_out(id, &Outcome::Cancelled, &next);
        } else if let Some(why) = self.refused_suspension(suspend) {
            self.refuse(id, &why);
        } else {
            self.record_all(id, &suspend.checkpoints)?;
            if let Some(made) = &suspend.made {
                self.make(id, made)?;
            }
            self.await_all(suspend)?;
            self.go_suspended(suspend);
        }
        self.cancel_with_owners();
        Ok(Settled::Recorded(self.tasks[&id].task.state))
    }

    fn refused_suspension(&self, suspend: &Suspend) -> Option<Rejection> {
        let made = suspend.made.as_ref().and_then(|made| self.refusal(suspend.task, made));
        let mut children = suspend.fan_outs.iter().flat_map(|fan_out| fan_out.children.iter());
        made.or_else(|| children.find_map(|new| self.refused_child(suspend.task, new)))
    }

    /// Begins the new fan-outs; from now on these and those named are awaited, and no others.
    fn await_all(&mut self, suspend: &Suspend) -> Answer<()> {
        self.await_nothing(suspend.task);
        for fan_out in &suspend.fan_outs {
            self.begin(suspend.task, fan_out)?;
        }
        for awaited in &suspend.awaits {
            let (task, fan_out) = (suspend.task, awaited.fan_out);
            if self.fan_outs.get(&fan_out).is_none_or(|row| row.owner != task) {
                let why = format!("fan-out {fan_out} is not awaited by task {task}");
                return Err(InputError::Other(why).into());
            }
            self.fan_out_mut(fan_out).wake_at = Some(awaited.wake_at);
        }
        Ok(())
    }

    fn begin(&mut self, owner: TaskId, new: &NewFanOut) -> Answer<FanOutId> {
        let id = self.next_fan_out_id();
        let value = number(id);
        let step = Checkpoint { key: new.key.clone(), kind: StepKind::FanOut, digest: new.digest.clone(), value };
        self.record_all(owner, std::slice::from_ref(&step))?;
        let row = FanRow {
            owner,
            rule: new.rule,
            verdict: None,
            decided_at: None,
            decided_step: None,
            wake_at: Some(new.wake_at),
            settled_at: None,
            deadline: new.timeout.map(|timeout| self.now.plus(timeout)),
            cancel_on_failure: new.cancel_on_failure,
            created_at: self.now,
            ended: Vec::new(),
        };
        self.fan_outs.insert(id, row);
        for (nth, child) in (0..).zip(new.children.iter()) {
            self.insert_child(child, owner, ChildOf { parent: owner, fan_out: Some(id), nth }, None);
        }
        Ok(id)
    }

    fn go_suspended(&mut self, suspend: &Suspend) {
        let (id, costs) = (suspend.task, self.has(Bug::SuspensionCostsAnAttempt));
        let timer = self.timer(suspend);
        let now = self.now;
        let awaited = self.fan_outs_of(id).into_iter().filter(|fan_out| self.fan_outs[fan_out].wake_at.is_some());
        let fan_outs = awaited.collect();
        let row = self.row_mut(id);
        row.task.ran_before += row.task.started_at.map_or(Duration::ZERO, |started| now.since(started));
        row.record(Ending::Suspended, None, now);
        let waited_for = WaitedFor { fan_outs, until: suspend.until, signals: suspend.signals.clone() };
        row.waited_for.insert(row.runs, waited_for);
        row.was_suspended = true;
        row.task.state = State::Waiting;
        row.task.worker = None;
        row.task.attempt = row.task.attempt.saturating_sub(u16::from(!costs));
        row.task.suspect = false;
        row.task.strikes = 0;
        row.task.signals.clone_from(&suspend.signals);
        if self.has_come(id) && !self.has(Bug::WhatIsThereAlreadyIsMissed) || timer.is_some_and(|at| at <= self.now) {
            self.resume_suspended(id);
        } else if let Some(timer) = timer {
            let row = self.row_mut(id);
            row.task.gate = Some(Gate::Time);
            row.task.due = timer;
        }
    }

    /// When a suspended handler is resumed at the latest: at the time it asked for, or when the first of what it awaits is
    /// given up.
    fn timer(&self, suspend: &Suspend) -> Option<Timestamp> {
        let awaited = self.fan_outs.values().filter(|row| row.owner == suspend.task && row.wake_at.is_some());
        let deadlines = awaited.filter(|row| row.verdict.is_none()).filter_map(|row| row.deadline);
        let deadlines = deadlines.filter(|_| !self.has(Bug::DeadlineDoesNotWake));
        deadlines.chain(suspend.until).min()
    }
}
