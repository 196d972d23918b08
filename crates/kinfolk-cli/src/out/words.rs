//! How tasks are told of, in the same words wherever they are.

use std::time::Duration;

use kinfolk_core::filter::Matches;
use kinfolk_core::held::{Held, HeldBy};
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::{Gate, Reason, State, Tally, Task, Timestamp};
use owo_colors::OwoColorize as _;

use super::table::{harmless, short};
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

/// How long a task ran, or has run so far, without the time that its handler was suspended or stood in line. It includes the
/// time of the children that it left behind. Nothing for one that has not begun.
pub(crate) fn ran(task: &Task, now: Timestamp) -> Option<Duration> {
    let last = task.finished_at.unwrap_or(now).since(task.started_at?);
    let is_between = task.is_suspended() || matches!(task.state, State::Pending | State::Cancelled);
    // One that was cancelled may have been suspended at that moment.
    Some(if is_between && !task.ran_before.is_zero() { task.ran_before } else { task.ran_before + last })
}

/// The same in words; nothing for one that has not begun, or is to begin anew.
pub(crate) fn duration(task: &Task, now: Timestamp) -> Option<String> {
    let ran = span::show(ran(task, now)?);
    match task.state {
        State::Pending => None,
        State::Waiting if task.is_suspended() => Some(format!("ran {ran}")),
        State::Running | State::Waiting => Some(format!("for {ran}")),
        _ => Some(format!("in {ran}")),
    }
}

/// The moment that matters in its state.
pub(crate) fn when(task: &Task, now: Timestamp) -> String {
    match task.state {
        State::Pending if task.gate == Some(Gate::Time) => format!("due {}", relative(now, task.due)),
        State::Pending => format!("since {}", relative(now, task.position.min(now))),
        State::Running | State::Waiting => duration(task, now).unwrap_or_default(),
        _ => relative(now, task.finished_at.unwrap_or(now)),
    }
}

/// The words for the suspicion against a suspect.
pub(crate) fn suspect_words(task: &Task) -> String {
    match task.strikes {
        0 => "suspect: its worker was lost".to_owned(),
        1 => "suspect: its worker was lost again, 1 strike".to_owned(),
        many => format!("suspect: its workers were lost, {many} strikes"),
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

/// `3 tasks`, or `more than 10000 tasks`.
pub(crate) fn matches(found: &Matches) -> String {
    let tasks = if found.tasks == 1 && !found.more { "task" } else { "tasks" };
    match found.more {
        true if found.tasks < LOOK_MAX as u64 => format!("at least {} {tasks}", found.tasks),
        true => format!("more than {} {tasks}", found.tasks),
        false => format!("{} {tasks}", found.tasks),
    }
}

/// `queue default: 3 pending behind key "acme" of tenant of send, whose slots are taken`.
pub(crate) fn held(held: &Held) -> String {
    let why = match &held.by {
        HeldBy::Paused => "since the queue is paused".to_owned(),
        HeldBy::NotDue => "and not due".to_owned(),
        HeldBy::After => "behind tasks and families that have not ended".to_owned(),
        HeldBy::FamilyLimit => "behind the limit of families".to_owned(),
        HeldBy::KeyFull { group, key } => format!("behind key {:?} of {group}, whose slots are taken", harmless(key)),
        HeldBy::KeyRate { group, key } => format!("behind key {:?} of {group}, whose rate is used up", harmless(key)),
        HeldBy::Turn => "waiting for their turn".to_owned(),
        HeldBy::NoWorker { command } => format!("and no live worker for {command}"),
        _ => "in line".to_owned(),
    };
    let more = if held.more { "more than " } else { "" };
    format!("queue {}: {more}{} pending {why}", held.queue, held.tasks)
}

/// The command of a task, and what people call the task.
pub(crate) fn named(task: &Task) -> String {
    match task.label() {
        Some(label) => format!("{} {}", task.command, short(&label, 40)),
        None => task.command.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::{Json, Keys, TaskId};

    fn task(state: State, ran_before: u64, started: i64, finished: Option<i64>) -> Task {
        let at = |secs: i64| Timestamp::from_micros(secs * 1_000_000);
        Task {
            id: TaskId(1),
            command: "pay".parse().unwrap(),
            queue: "default".parse().unwrap(),
            state,
            gate: None,
            priority: 0,
            due: at(0),
            position: at(0),
            attempt: 1,
            max_attempts: 1,
            timeout: None,
            payload: Json::null(),
            result: None,
            failure: None,
            unique_key: None,
            created_at: at(0),
            started_at: Some(at(started)),
            first_started_at: Some(at(started)),
            ran_before: Duration::from_secs(ran_before),
            finished_at: finished.map(at),
            cancel_requested_at: None,
            worker: None,
            suspect: false,
            strikes: 0,
            keys: Keys::new(),
            trace: None,
            parent: None,
            root: TaskId(1),
            depth: 0,
            fan_out: None,
            index: None,
            made_by: None,
            follows: None,
            label_path: None,
            outcome: None,
            steps: 1,
            signals: Vec::new(),
            report: None,
        }
    }

    #[test]
    fn the_time_that_a_handler_waited_is_no_time_that_it_ran() {
        let now = Timestamp::from_micros(1_000_000_000);
        let said = |task: Task| duration(&task, now);
        assert_eq!(said(task(State::Completed, 2, 500, Some(501))).as_deref(), Some("in 3 s"));
        assert_eq!(said(task(State::Completed, 0, 500, Some(501))).as_deref(), Some("in 1 s"));
        assert_eq!(said(task(State::Waiting, 2, 500, None)).as_deref(), Some("ran 2 s"));
        assert_eq!(said(task(State::Running, 2, 990, None)).as_deref(), Some("for 12 s"));
        assert_eq!(said(task(State::Cancelled, 2, 500, Some(900))).as_deref(), Some("in 2 s"));
        assert_eq!(said(task(State::Pending, 2, 500, None)), None);
    }
}
