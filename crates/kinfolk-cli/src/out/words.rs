//! How tasks are told of, in the same words wherever they are.

use kinfolk_core::{Gate, Reason, State, Tally, Task, Timestamp};
use owo_colors::OwoColorize as _;

use super::table::harmless;
use super::time::relative;
use crate::span;

/// A state in its colour.
pub(crate) fn colored(state: State) -> String {
    match state {
        State::Pending => state.blue().to_string(),
        State::Running => state.cyan().to_string(),
        State::Waiting => state.magenta().to_string(),
        State::Completed => state.green().to_string(),
        State::Failed => state.red().to_string(),
        State::Cancelled => state.yellow().to_string(),
    }
}

/// `(time)`, behind the state of a pending task that may not be taken yet.
pub(crate) fn gate_note(task: &Task) -> &'static str {
    match (task.state, task.gate) {
        (State::Pending, Some(Gate::Time)) => " (time)",
        (State::Pending, Some(Gate::Limit)) => " (limit)",
        (State::Pending, Some(Gate::After)) => " (after)",
        _ => "",
    }
}

/// When a task began. One that was suspended began anew each time, so for it this is when it could first be run.
pub(crate) fn begun(task: &Task) -> Option<Timestamp> {
    let started = task.started_at?;
    Some(if task.steps > 0 { task.created_at.max(task.place).min(started) } else { started })
}

/// How long a task ran, its children included, or has been at it; nothing for one that has not begun.
pub(crate) fn duration(task: &Task, now: Timestamp) -> Option<String> {
    let started = begun(task)?;
    match task.state {
        State::Pending => None,
        State::Running | State::Waiting => Some(format!("for {}", span::show(now.since(started)))),
        _ => Some(format!("in {}", span::show(task.finished_at.unwrap_or(now).since(started)))),
    }
}

/// The moment that matters in its state.
pub(crate) fn when(task: &Task, now: Timestamp) -> String {
    match task.state {
        State::Pending if task.gate == Some(Gate::Time) => format!("due {}", relative(now, task.due)),
        State::Pending => format!("since {}", relative(now, task.place.min(now))),
        State::Running | State::Waiting => duration(task, now).unwrap_or_default(),
        _ => relative(now, task.finished_at.unwrap_or(now)),
    }
}

/// `6 completed, 1 failed, 3 open`; what there is none of is left out.
pub(crate) fn tally_words(tally: &Tally) -> String {
    let counts = [
        (tally.completed, "completed"),
        (tally.failed, "failed"),
        (tally.cancelled, "cancelled"),
        (tally.open(), "open"),
    ];
    let words = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    words.collect::<Vec<_>>().join(", ")
}

/// The reason as a sentence, with how far off its moment is.
pub(crate) fn reason_words(reason: &Reason, now: Timestamp) -> String {
    let words = harmless(&reason.to_string());
    let moment = match reason {
        Reason::Asleep { until } | Reason::NotDue { until } | Reason::KeyRate { until, .. } => Some(*until),
        Reason::Paused { since, .. } => Some(*since),
        _ => None,
    };
    let words = match reason {
        Reason::KeyFull { held, holders, .. } if *held > holders.len() as u64 && !holders.is_empty() => {
            format!("{words} and {} more", held - holders.len() as u64)
        }
        _ => words,
    };
    moment.map_or(words.clone(), |moment| format!("{words} ({})", relative(now, moment)))
}

/// `1 child`, `7 children`.
pub(crate) fn children(count: u64) -> String {
    if count == 1 { "1 child".to_owned() } else { format!("{count} children") }
}
