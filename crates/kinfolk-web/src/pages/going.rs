//! What is going on with a task, in half a sentence.

use std::collections::BTreeMap;

use askama::Template;
use askama::filters::HtmlSafe;
use kinfolk_core::durable::Report;
use kinfolk_core::{Gate, QueueName, State, Task, Timestamp, WorkerId};

use super::part::{Badge, Moment, words};
use crate::problem::Problem;
use crate::visit::Visit;

/// The half sentence. Its words are of the page, what follows them is of a user.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<span class="says{% if failed %} failed{% endif %}">{{ words }}{% if let Some(time) = time %} {{ time }}{% endif %}{% if !rest.is_empty() %}{{ joint }}<bdi>{{ rest }}</bdi>{% endif %}</span>"#
)]
pub(crate) struct Going {
    words: String,
    time: Option<Moment>,
    joint: &'static str,
    rest: String,
    failed: bool,
}

impl HtmlSafe for Going {}

/// What is told of tasks beside themselves: the names of workers, and since when queues are paused.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) workers: BTreeMap<WorkerId, String>,
    pub(crate) paused: BTreeMap<QueueName, Timestamp>,
}

impl Names {
    /// All workers and queues that the caller may see.
    pub(crate) async fn of(visit: &Visit) -> Result<Self, Problem> {
        let workers = visit.view().workers().await?;
        let queues = visit.view().queues().await?;
        Ok(Self {
            workers: workers.into_iter().map(|worker| (worker.id, worker.name)).collect(),
            paused: queues.into_iter().filter_map(|queue| Some((queue.name, queue.paused_at?))).collect(),
        })
    }

    /// Since when nothing but the pause of its queue keeps a pending task from being taken.
    pub(crate) fn paused(&self, task: &Task, now: Timestamp) -> Option<Timestamp> {
        let is_free = match task.gate {
            Some(Gate::Time) => task.due <= now,
            gate => gate != Some(Gate::After) && gate != Some(Gate::Limit),
        };
        self.paused.get(&task.queue).copied().filter(|_| is_free && task.state == State::Pending)
    }

    /// The state of a task, and for a pending one what holds it.
    pub(crate) fn badge(&self, task: &Task, now: Timestamp) -> Badge {
        if self.paused(task, now).is_some() { Badge::PAUSED } else { Badge::gate(task) }
    }

    /// The name of a worker; the start of its number when it is gone.
    pub(crate) fn name(&self, id: WorkerId) -> String {
        self.workers
            .get(&id)
            .cloned()
            .unwrap_or_else(|| format!("worker {}", id.to_string().chars().take(8).collect::<String>()))
    }
}

impl Going {
    /// What is going on with a task now.
    pub(crate) fn of(task: &Task, names: &Names, now: Timestamp) -> Self {
        let error = task.failure.as_ref().map(|failure| words::short(&failure.message, 160)).unwrap_or_default();
        match task.state {
            State::Pending => Self::pending(task, error, names, now),
            State::Running => {
                let time = task.started_at.map(|since| Moment::lasting(since, now));
                let on = task.worker.map(|worker| names.name(worker)).unwrap_or_default();
                match &task.report {
                    Some(report) => Self { rest: report_words(report), joint: ": ", ..Self::said("for", time) },
                    None => Self { rest: on, joint: " on ", ..Self::said("for", time) },
                }
            }
            State::Waiting => Self::waiting(task),
            State::Completed => {
                let took = task.first_started_at.zip(task.finished_at).map(|(from, to)| Moment::took(from, to));
                Self::said("took", took)
            }
            State::Failed | State::Cancelled => {
                Self { rest: error, failed: task.state == State::Failed, ..Self::said("", None) }
            }
        }
    }

    fn pending(task: &Task, error: String, names: &Names, now: Timestamp) -> Self {
        if let Some(since) = names.paused(task, now) {
            return Self::said("on a paused queue for", Some(Moment::lasting(since.max(task.position), now)));
        }
        let due = Some(Moment::until(task.due, now));
        match task.gate {
            Some(Gate::Time) if task.failure.is_some() => {
                let next = format!("attempt {} of {}", task.attempt + 1, task.max_attempts);
                Self { rest: error, joint: "; ", ..Self::said(next, due) }
            }
            Some(Gate::Time) => Self::said("due", due),
            Some(Gate::Limit) => Self::said("held up by a limit", None),
            Some(Gate::After) => Self::said("starts after a family has settled", None),
            _ => Self::said("in line for", Some(Moment::lasting(task.position.min(now), now))),
        }
    }

    fn waiting(task: &Task) -> Self {
        let signals: Vec<&str> = task.signals.iter().map(AsRef::as_ref).collect();
        let words = match signals.as_slice() {
            [] => "for its children",
            [_] => "for the signal",
            _ => "for one of the signals",
        };
        let report = task.report.as_ref().map(report_words).unwrap_or_default();
        let rest = match (signals.is_empty(), report.is_empty()) {
            (true, _) => report,
            (false, true) => signals.join(", "),
            (false, false) => format!("{}; {report}", signals.join(", ")),
        };
        let joint = if signals.is_empty() { "; " } else { " " };
        Self { rest, joint, ..Self::said(words, None) }
    }

    fn said(words: impl Into<String>, time: Option<Moment>) -> Self {
        Self { words: words.into(), time, joint: " ", rest: String::new(), failed: false }
    }
}

/// `2 of 5, packing 24 items`
pub(crate) fn report_words(report: &Report) -> String {
    let done = match report.total {
        Some(total) => format!("{} of {}", words::count(report.done), words::count(total)),
        None => format!("{} done", words::count(report.done)),
    };
    match report.note.as_deref().filter(|note| !note.is_empty()) {
        Some(note) => format!("{done}, {}", words::short(note, 120)),
        None => done,
    }
}
