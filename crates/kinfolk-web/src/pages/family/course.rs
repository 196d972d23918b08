//! The course of a task: from when to when it stood in line, ran, waited without a worker, or waited to be tried again.

use kinfolk_core::task::{Attempt, Ending};
use kinfolk_core::{Gate, State, Task, Timestamp};

use crate::pages::part::words;

/// What a task did for a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It stood in line for a worker.
    InLine,
    /// It was not due.
    Later,
    /// A limit held it up.
    Held,
    /// It waited to be tried again.
    Before,
    /// It waited for a family to settle.
    After,
    /// A worker has it.
    Running,
    /// A worker had it, and it went well.
    Ran,
    /// An attempt failed and was retried.
    Tried,
    /// The last attempt failed.
    Failed,
    /// It was cancelled while it ran.
    Stopped,
    /// It waited without a worker.
    Waiting,
}

/// A stretch of time.
#[derive(Clone, Debug)]
pub(crate) struct Stretch {
    pub(crate) phase: Phase,
    pub(crate) from: Timestamp,
    /// `None` goes on.
    pub(crate) to: Option<Timestamp>,
    pub(crate) says: String,
}

/// Everything in its order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) stretches: Vec<Stretch>,
}

impl Phase {
    /// Whether it is drawn as a bar.
    pub(crate) fn is_thick(self) -> bool {
        matches!(self, Self::Running | Self::Ran | Self::Tried | Self::Failed | Self::Stopped | Self::Waiting)
    }

    /// Whether a worker was busy with it.
    pub(crate) fn is_work(self) -> bool {
        self.is_thick() && self != Self::Waiting
    }
}

/// When a task could first be run: what was made ahead of its time stands in line only from then on.
pub(crate) fn began(task: &Task) -> Timestamp {
    let ready = task.place.max(task.created_at);
    task.started_at.map_or(ready, |started| ready.min(started))
}

impl Course {
    /// The course of a task, from what is kept of it.
    pub(crate) fn of(task: &Task, attempts: &[Attempt], now: Timestamp) -> Self {
        let mut course = Self::default();
        // A task that was made ahead of its time stood in line only from then on.
        let mut at = began(task);
        let last_starts = task.started_at.filter(|start| attempts.iter().all(|attempt| attempt.started_at != *start));
        for attempt in attempts {
            if attempt.started_at > at {
                let (phase, says) = course.before(task);
                course.add(phase, at, Some(attempt.started_at), says.to_owned());
            }
            course.attempt(task, attempt);
            at = attempt.ended_at;
        }
        course.now(task, last_starts, at, now);
        course
    }

    /// What a task did before it ran again, as far as that is kept.
    fn before(&self, task: &Task) -> (Phase, &'static str) {
        match () {
            () if task.steps > 0 => (Phase::Waiting, "ran, and waited without a worker"),
            () if self.stretches.is_empty() => (Phase::InLine, "in line"),
            () => (Phase::Before, "before the next attempt"),
        }
    }

    fn attempt(&mut self, task: &Task, attempt: &Attempt) {
        let took = words::span(attempt.ended_at.since(attempt.started_at));
        let why = attempt
            .failure
            .as_ref()
            .map(|failure| format!(": {}", words::short(&failure.message, 120)))
            .unwrap_or_default();
        let nth = attempt.attempt;
        let (phase, says) = match attempt.ending {
            Ending::Completed => (Phase::Ran, format!("attempt {nth} completed in {took}")),
            Ending::Failed if task.state == State::Failed => {
                (Phase::Failed, format!("attempt {nth} failed after {took}{why}"))
            }
            Ending::Failed | Ending::Retried => (Phase::Tried, format!("attempt {nth} failed after {took}{why}")),
            Ending::Lost => (Phase::Tried, format!("its worker was lost after {took}")),
            Ending::Snoozed => (Phase::Ran, format!("ran {took}, then asked to run again later")),
            Ending::Released => (Phase::Ran, format!("ran {took}, then its worker stopped")),
            Ending::Suspended => (Phase::Ran, format!("ran {took}, then waited without a worker")),
            Ending::Cancelled => (Phase::Stopped, format!("cancelled after {took}")),
        };
        self.add(phase, attempt.started_at, Some(attempt.ended_at), says);
    }

    /// What comes after the attempts that have ended.
    fn now(&mut self, task: &Task, started: Option<Timestamp>, at: Timestamp, now: Timestamp) {
        if let Some(started) = started {
            if started > at {
                let (phase, says) = self.before(task);
                self.add(phase, at, Some(started), says.to_owned());
            }
            let end = task.finished_at;
            let took = words::span(end.unwrap_or(now).since(started));
            let nth = task.attempt.max(1);
            match task.state {
                State::Running => self.add(Phase::Running, started, None, format!("attempt {nth} runs")),
                State::Waiting => self.add(Phase::Waiting, started, None, "waits without a worker".to_owned()),
                State::Completed => self.add(Phase::Ran, started, end, format!("attempt {nth} completed in {took}")),
                State::Failed => self.add(Phase::Failed, started, end, format!("failed after {took}")),
                State::Cancelled => self.add(Phase::Stopped, started, end, format!("cancelled after {took}")),
                State::Pending => {}
            }
        }
        if task.state == State::Pending {
            match task.gate {
                Some(Gate::Time) if task.failure.is_some() => {
                    let says = format!("attempt {} of {}", task.attempt + 1, task.max_attempts);
                    self.add(Phase::Before, at, Some(task.due.max(at)), says);
                }
                Some(Gate::Time) => self.add(Phase::Later, at, Some(task.due.max(at)), "is not due".to_owned()),
                Some(Gate::Limit) => self.add(Phase::Held, at, None, "held up by a limit".to_owned()),
                Some(Gate::After) => self.add(Phase::After, at, None, "starts after a family has settled".to_owned()),
                _ => self.add(Phase::InLine, at, None, "in line".to_owned()),
            }
        }
    }

    fn add(&mut self, phase: Phase, from: Timestamp, to: Option<Timestamp>, says: String) {
        self.stretches.push(Stretch { phase, from, to, says });
    }

    /// All of it in words.
    pub(crate) fn story(&self) -> String {
        let says: Vec<&str> = self.stretches.iter().map(|stretch| stretch.says.as_str()).collect();
        if says.is_empty() { "nothing yet".to_owned() } else { words::short(&says.join(", then "), 400) }
    }

    /// When a worker was busy with it.
    pub(crate) fn busy(&self, now: Timestamp) -> impl Iterator<Item = (i64, i64)> {
        let work = self.stretches.iter().filter(|stretch| stretch.phase.is_work());
        work.map(move |stretch| (stretch.from.as_micros(), stretch.to.unwrap_or(now).as_micros()))
    }
}
