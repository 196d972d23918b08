//! The course of a task: from when to when it stood in line, ran, waited without a worker, or waited to be tried again.

use kinfolk_core::task::{Ending, Run, WaitedFor};
use kinfolk_core::{Gate, History, State, StepKind, Task, Timestamp};

use crate::pages::going::Names;
use crate::pages::part::words;

/// What a task did for a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It stood in line for a worker.
    InLine,
    /// Its queue was paused.
    Paused,
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
    /// A run went wrong and was followed by another.
    Tried,
    /// The last run failed.
    Failed,
    /// It was cancelled.
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
    /// When it was resumed by a signal, and by which.
    pub(crate) signals: Vec<(Timestamp, String)>,
    /// When its handler recorded steps, and which.
    pub(crate) steps: Vec<(Timestamp, String)>,
}

impl Phase {
    /// Whether it is drawn as a bar.
    pub(crate) fn is_thick(self) -> bool {
        self.is_work() || self == Self::Waiting
    }

    /// Whether a worker was busy with it.
    pub(crate) fn is_work(self) -> bool {
        matches!(self, Self::Running | Self::Ran | Self::Tried | Self::Failed | Self::Stopped)
    }
}

/// When a task could first be run: what was made ahead of its time stands in line only from then on. Until it is due its life is
/// drawn from its creation, because nothing else of it has happened.
pub(crate) fn began(task: &Task) -> Timestamp {
    if task.gate == Some(Gate::Time) && task.first_started_at.is_none() {
        return task.created_at;
    }
    let ready = task.position.max(task.created_at);
    task.first_started_at.map_or(ready, |started| ready.min(started))
}

impl Course {
    /// The course of a task, by all its runs, oldest first.
    pub(crate) fn of(task: &Task, runs: &[Run], names: &Names, now: Timestamp) -> Self {
        let mut course = Self::default();
        let mut before: Option<&Run> = None;
        for run in runs {
            let from = before.and_then(|before| before.ended_at).unwrap_or_else(|| began(task));
            if run.started_at > from {
                course.between(before, from, run);
            }
            let is_last = runs.last().is_some_and(|last| last.run == run.run);
            course.run(run, is_last && task.state == State::Failed, &names.name(run.worker), now);
            before = Some(run);
        }
        let at = before.map_or_else(|| Some(began(task)), |last| last.ended_at);
        if let Some(at) = at {
            course.since(task, before, at, names, now);
        }
        course
    }

    /// The same, with the steps that its handler has recorded.
    #[must_use]
    pub(crate) fn with_steps(mut self, history: &History) -> Self {
        let recorded = history.checkpoints.iter().zip(&history.recorded_at);
        let steps = recorded.filter(|(step, _)| step.kind == StepKind::Step);
        self.steps = steps.map(|(step, at)| (*at, step.key.to_string())).collect();
        self
    }

    /// From the start of one task to the end of another: all that is told of many. `open`: what those do that have not ended.
    pub(crate) fn spanning(first: &Task, last: &Task, open: Option<Phase>) -> Self {
        let to = last.finished_at.filter(|_| open.is_none());
        let says = "from the start of the first to the end of the one made last".to_owned();
        let mut course = Self::default();
        course.add(open.unwrap_or(Phase::Ran), began(first), to, says);
        course
    }

    /// Whether it pends for a reason that is no line: a limit, a pause, or a failure before.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.phase(), Some(Phase::Held | Phase::Paused | Phase::Before))
    }

    /// What it does now.
    pub(crate) fn phase(&self) -> Option<Phase> {
        self.stretches.last().map(|last| last.phase)
    }

    /// What lay between two runs, or before the first.
    fn between(&mut self, before: Option<&Run>, from: Timestamp, next: &Run) {
        let lasted = words::span(next.started_at.since(from));
        let (phase, says) = match before.and_then(|before| before.ending) {
            Some(Ending::Suspended) => {
                let awaited = before.and_then(|before| before.waited_for.clone()).unwrap_or_default();
                if let Some(signal) = resumed_by(&awaited, next.started_at) {
                    self.signals.push((next.started_at, signal));
                }
                (Phase::Waiting, format!("waited {lasted} {}, without a worker", awaited_words(&awaited)))
            }
            Some(Ending::Retried | Ending::Lost) => {
                (Phase::Before, format!("waited {lasted} before attempt {}", next.attempt))
            }
            Some(Ending::Snoozed) => (Phase::Later, format!("had asked to be run {lasted} later")),
            Some(Ending::Failed | Ending::Cancelled) => (Phase::Later, format!("was let run again after {lasted}")),
            Some(Ending::Completed | Ending::Released) | None => (Phase::InLine, format!("in line for {lasted}")),
        };
        self.add(phase, from, Some(next.started_at), says);
    }

    /// A run. The last one of a task that failed is what it failed by.
    fn run(&mut self, run: &Run, is_fatal: bool, worker: &str, now: Timestamp) {
        let took = words::span(run.ended_at.unwrap_or(now).since(run.started_at));
        let nth = run.attempt;
        let message = run.failure.as_ref().map(|failure| words::short(&failure.message, 120));
        let why = message.map(|message| format!(": {message}")).unwrap_or_default();
        let (phase, says) = match run.ending {
            None => (Phase::Running, format!("attempt {nth} runs on {worker}")),
            Some(Ending::Completed) => (Phase::Ran, format!("attempt {nth} completed in {took} on {worker}")),
            Some(Ending::Failed) if is_fatal => {
                (Phase::Failed, format!("attempt {nth} failed after {took} on {worker}{why}"))
            }
            Some(Ending::Failed | Ending::Retried) => {
                (Phase::Tried, format!("attempt {nth} failed after {took} on {worker}{why}"))
            }
            Some(Ending::Lost) if is_fatal => (Phase::Failed, format!("{worker} was lost after {took}")),
            Some(Ending::Lost) => (Phase::Tried, format!("{worker} was lost after {took}")),
            Some(Ending::Snoozed | Ending::Suspended) => (Phase::Ran, format!("ran {took} on {worker}")),
            Some(Ending::Released) => (Phase::Ran, format!("ran {took} on {worker}, which stopped")),
            Some(Ending::Cancelled) => (Phase::Stopped, format!("cancelled after {took} on {worker}")),
        };
        self.add(phase, run.started_at, run.ended_at, says);
    }

    /// What came after the last run, or without any.
    fn since(&mut self, task: &Task, last: Option<&Run>, at: Timestamp, names: &Names, now: Timestamp) {
        let suspended = last.filter(|last| last.ending == Some(Ending::Suspended));
        let awaited = suspended.and_then(|last| last.waited_for.as_ref());
        let what_for = awaited.map_or_else(|| "for its children".to_owned(), awaited_words);
        match task.state {
            State::Pending => self.pending(task, at, names, now),
            State::Waiting => self.add(Phase::Waiting, at, None, format!("waits {what_for}, without a worker")),
            // The run that goes on is the last stretch already.
            State::Running => {}
            State::Completed | State::Failed | State::Cancelled => {
                let Some(end) = task.finished_at.filter(|end| *end > at) else { return };
                let lasted = words::span(end.since(at));
                match last {
                    Some(_) => self.add(Phase::Waiting, at, Some(end), format!("waited {lasted} {what_for}")),
                    None => self.add(Phase::InLine, at, Some(end), format!("in line for {lasted}")),
                }
                match task.state {
                    State::Failed => self.add(Phase::Failed, end, Some(end), "failed".to_owned()),
                    State::Cancelled => self.add(Phase::Stopped, end, Some(end), "was cancelled".to_owned()),
                    _ => {}
                }
            }
        }
    }

    fn pending(&mut self, task: &Task, at: Timestamp, names: &Names, now: Timestamp) {
        let due = task.due.max(at);
        match task.gate {
            Some(Gate::Limit) => self.add(Phase::Held, at, None, "held up by a limit".to_owned()),
            Some(Gate::After) => self.add(Phase::After, at, None, "starts after others have ended".to_owned()),
            Some(Gate::Time) => {
                self.not_due(task, (at, due), now);
                // What is due stands in line, though no claim has looked at it yet.
                if due < now {
                    self.in_line(task, due, names, now);
                }
            }
            _ => self.in_line(task, at, names, now),
        }
    }

    fn not_due(&mut self, task: &Task, (at, due): (Timestamp, Timestamp), now: Timestamp) {
        let (phase, says) = match task.failure {
            Some(_) => {
                let left = words::span(due.since(now));
                (Phase::Before, format!("attempt {} of {} starts in {left}", task.attempt + 1, task.max_attempts))
            }
            None => (Phase::Later, format!("is due at {}", words::near(due, now))),
        };
        self.add(phase, at, Some(due), says);
    }

    fn in_line(&mut self, task: &Task, at: Timestamp, names: &Names, now: Timestamp) {
        let paused = names.paused(task, now).map(|since| since.max(at));
        if paused.is_none_or(|since| since > at) {
            self.add(Phase::InLine, at, paused, "in line".to_owned());
        }
        if let Some(since) = paused {
            self.add(Phase::Paused, since, None, "its queue is paused".to_owned());
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

/// The signal that resumed a task, where nothing else can have.
fn resumed_by(awaited: &WaitedFor, at: Timestamp) -> Option<String> {
    let in_time = awaited.until.is_none_or(|until| at < until);
    let names: Vec<&str> = awaited.signals.iter().map(AsRef::as_ref).collect();
    (awaited.fan_outs.is_empty() && in_time && !names.is_empty()).then(|| names.join(" or "))
}

/// `for the signal approve`
pub(crate) fn awaited_words(awaited: &WaitedFor) -> String {
    let names: Vec<&str> = awaited.signals.iter().map(AsRef::as_ref).collect();
    let children = (!awaited.fan_outs.is_empty()).then(|| "for its children".to_owned());
    let signals = (!names.is_empty()).then(|| format!("for the signal {}", names.join(" or ")));
    let until = awaited.until.map(|until| format!("until {}", words::clock(until)));
    let parts: Vec<String> = children.into_iter().chain(signals).chain(until).collect();
    if parts.is_empty() { "for something".to_owned() } else { parts.join(" or ") }
}

#[cfg(test)]
mod tests;
