//! The runs of a task as rows: those that ended an attempt, those that ended in a wait, and the one that goes on.

use kinfolk_core::task::{Ending, Run};
use kinfolk_core::{State, Task, Timestamp};

use crate::pages::family::awaited_words;
use crate::pages::going::Names;
use crate::pages::part::{Badge, Moment, words};

/// A row.
pub(super) struct RunRow {
    pub(super) key: String,
    pub(super) attempt: String,
    pub(super) badge: Badge,
    pub(super) started: Moment,
    pub(super) took: Moment,
    /// What went wrong, or what it waited for.
    pub(super) says: String,
    pub(super) kind: &'static str,
    pub(super) worker: String,
}

impl RunRow {
    pub(super) fn of(run: &Run, task: &Task, names: &Names, now: Timestamp) -> Self {
        let failure = run.failure.as_ref();
        let waited = run.waited_for.as_ref().map(|awaited| format!("waited {}", awaited_words(awaited)));
        Self {
            key: format!("r{}", run.run),
            attempt: format!("{} of {}", run.attempt, task.max_attempts),
            badge: badge(run.ending),
            started: Moment::clock(run.started_at, now),
            took: match run.ended_at {
                Some(ended) => Moment::took(run.started_at, ended),
                None => Moment::lasting(run.started_at, now),
            },
            says: failure.map(|failure| words::shown(&failure.message)).or(waited).unwrap_or_default(),
            kind: failure.map_or("", |failure| failure.kind.as_str()),
            worker: names.name(run.worker),
        }
    }
}

fn badge(ending: Option<Ending>) -> Badge {
    match ending {
        None => Badge::state(State::Running),
        Some(Ending::Completed) => Badge::state(State::Completed),
        Some(Ending::Failed) => Badge::state(State::Failed),
        Some(Ending::Retried) => Badge::state(State::Failed).says("Retried"),
        Some(Ending::Lost) => Badge::state(State::Failed).says("Lost"),
        Some(Ending::Snoozed) => Badge::state(State::Pending).says("Snoozed"),
        Some(Ending::Released) => Badge::state(State::Pending).says("Released"),
        Some(Ending::Cancelled) => Badge::state(State::Cancelled),
        Some(Ending::Suspended) => Badge::state(State::Waiting).says("Suspended"),
    }
}
