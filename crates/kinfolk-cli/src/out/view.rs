//! The output of `--json` for tasks, queues, commands and schedules: the engine's own words, in the form of [`parts`].

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk_core::inspect::Violation;
use kinfolk_core::{
    Attempt, Command, Due, FanOutId, History, Json, Keys, Queue, Report, Run, Schedule, SignalName, Tally, Task,
    TaskId, Timestamp,
};
use serde::{Serialize, Serializer};

use super::parts::{self, AttemptPart, CheckpointPart, FailurePart, FanOutPart, RunPart, SpecPart};

pub(crate) fn millis<S: Serializer>(span: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    span.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

/// A task, with its ended attempts, the counts of its children and what its handler recorded where they were asked for.
#[derive(Serialize)]
#[allow(missing_docs, reason = "the fields are those of Task")]
pub(crate) struct TaskView<'a> {
    id: i64,
    command: &'a str,
    queue: &'a str,
    state: &'static str,
    gate: Option<&'static str>,
    priority: i32,
    attempt: u16,
    max_attempts: u16,
    #[serde(serialize_with = "millis")]
    timeout_ms: Option<Duration>,
    payload: &'a Json,
    result: Option<&'a Json>,
    failure: Option<FailurePart<'a>>,
    unique_key: Option<&'a str>,
    keys: &'a Keys,
    created_at: Timestamp,
    due_at: Timestamp,
    position_at: Timestamp,
    started_at: Option<Timestamp>,
    first_started_at: Option<Timestamp>,
    #[serde(serialize_with = "millis")]
    ran_before_ms: Option<Duration>,
    finished_at: Option<Timestamp>,
    cancel_requested_at: Option<Timestamp>,
    worker: Option<kinfolk_core::WorkerId>,
    suspect: bool,
    strikes: u16,
    trace: Option<&'a str>,
    parent: Option<TaskId>,
    root: TaskId,
    depth: u16,
    fan_out: Option<FanOutId>,
    index: Option<u32>,
    made_by: Option<TaskId>,
    follows: Option<TaskId>,
    label: Option<String>,
    outcome: Option<&'static str>,
    steps: u32,
    signals: &'a [SignalName],
    report: Option<&'a Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<&'a Tally>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<Vec<AttemptPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<Vec<RunPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<Vec<CheckpointPart<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fan_outs: Option<Vec<FanOutPart>>,
}

impl<'a> TaskView<'a> {
    /// A task alone.
    pub(crate) fn new(task: &'a Task) -> Self {
        Self {
            id: task.id.0,
            command: task.command.as_str(),
            queue: task.queue.as_str(),
            state: task.state.as_str(),
            gate: task.gate.map(kinfolk_core::Gate::as_str),
            priority: task.priority,
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            timeout_ms: task.timeout,
            payload: &task.payload,
            result: task.result.as_ref(),
            failure: task.failure.as_ref().map(Into::into),
            unique_key: task.unique_key.as_deref(),
            keys: &task.keys,
            created_at: task.created_at,
            due_at: task.due,
            position_at: task.position,
            started_at: task.started_at,
            first_started_at: task.first_started_at,
            ran_before_ms: Some(task.ran_before),
            finished_at: task.finished_at,
            cancel_requested_at: task.cancel_requested_at,
            worker: task.worker,
            suspect: task.suspect,
            strikes: task.strikes,
            trace: task.trace.as_deref(),
            parent: task.parent,
            root: task.root,
            depth: task.depth,
            fan_out: task.fan_out,
            index: task.index,
            made_by: task.made_by,
            follows: task.follows,
            label: task.label(),
            outcome: task.outcome.map(kinfolk_core::State::as_str),
            steps: task.steps,
            signals: &task.signals,
            report: task.report.as_ref(),
            children: None,
            attempts: None,
            runs: None,
            checkpoints: None,
            fan_outs: None,
        }
    }

    /// The same with how its children are doing.
    pub(crate) fn tally(self, tally: &'a Tally) -> Self {
        Self { children: Some(tally), ..self }
    }

    /// The same with its attempts.
    pub(crate) fn attempts(self, attempts: &'a [Attempt]) -> Self {
        Self { attempts: Some(attempts.iter().map(Into::into).collect()), ..self }
    }

    /// The same with its runs.
    pub(crate) fn runs(self, runs: &'a [Run]) -> Self {
        Self { runs: Some(runs.iter().map(Into::into).collect()), ..self }
    }

    /// The same with the fan-outs its handler awaits or awaited.
    pub(crate) fn fan_outs(self, history: &'a History) -> Self {
        Self { fan_outs: Some(history.fan_outs.iter().map(Into::into).collect()), ..self }
    }

    /// The same with all that its handler has recorded.
    pub(crate) fn history(self, history: &'a History) -> Self {
        Self { checkpoints: Some(CheckpointPart::all(history)), ..self.fan_outs(history) }
    }
}

/// A queue.
#[derive(Serialize)]
pub(crate) struct QueueView<'a> {
    name: &'a str,
    paused_at: Option<Timestamp>,
    paused_by: Option<&'a str>,
    #[serde(serialize_with = "millis")]
    keep_completed_ms: Option<Duration>,
    #[serde(serialize_with = "millis")]
    keep_failed_ms: Option<Duration>,
    #[serde(serialize_with = "millis")]
    keep_cancelled_ms: Option<Duration>,
    family_limit: Option<u32>,
    child_limit: Option<u32>,
    depth_limit: u16,
    fair: Option<&'a str>,
}

impl<'a> From<&'a Queue> for QueueView<'a> {
    fn from(queue: &'a Queue) -> Self {
        Self {
            name: queue.name.as_str(),
            paused_at: queue.paused_at,
            paused_by: queue.paused_by.as_deref(),
            keep_completed_ms: queue.policy.retention.completed,
            keep_failed_ms: queue.policy.retention.failed,
            keep_cancelled_ms: queue.policy.retention.cancelled,
            family_limit: queue.policy.family_limit,
            child_limit: queue.policy.child_limit,
            depth_limit: queue.policy.depth_limit,
            fair: queue.policy.fair.as_ref().map(AsRef::as_ref),
        }
    }
}

/// A command, and how many live workers handle it.
#[derive(Serialize)]
pub(crate) struct CommandView<'a> {
    pub(crate) name: &'a str,
    pub(crate) queue: &'a str,
    pub(crate) priority: i32,
    pub(crate) max_attempts: Option<u16>,
    pub(crate) backoff_ms: u32,
    pub(crate) backoff_cap_ms: u32,
    pub(crate) jitter_pct: u8,
    pub(crate) max_strikes: u16,
    #[serde(serialize_with = "millis")]
    pub(crate) timeout_ms: Option<Duration>,
    pub(crate) groups: Option<BTreeMap<&'a str, SpecPart>>,
    pub(crate) label: Option<String>,
    pub(crate) handler: Option<&'a str>,
    pub(crate) before_handler: Option<&'a str>,
    pub(crate) after_handler: Option<&'a str>,
    #[serde(serialize_with = "millis")]
    pub(crate) statement_timeout_ms: Option<Duration>,
    pub(crate) envelope: Option<bool>,
    pub(crate) on_success: Option<&'a str>,
    pub(crate) on_error: Option<&'a str>,
    pub(crate) workers: usize,
}

impl<'a> CommandView<'a> {
    pub(crate) fn new(command: &'a Command, workers: usize) -> Self {
        let handler = command.handler.as_ref();
        Self {
            name: command.name.as_str(),
            queue: command.queue.as_str(),
            priority: command.priority,
            max_attempts: command.retry.max_attempts,
            backoff_ms: command.retry.base_ms,
            backoff_cap_ms: command.retry.cap_ms,
            jitter_pct: command.retry.jitter_pct,
            max_strikes: command.retry.max_strikes,
            timeout_ms: command.timeout,
            groups: command.groups.as_ref().map(parts::groups),
            label: command.label.as_ref().filter(|path| !path.is_none()).map(ToString::to_string),
            handler: handler.map(|handler| handler.function.as_str()),
            before_handler: handler.and_then(|handler| handler.before.as_deref()),
            after_handler: handler.and_then(|handler| handler.after.as_deref()),
            statement_timeout_ms: handler.and_then(|handler| handler.statement_timeout),
            envelope: handler.map(|handler| handler.envelope),
            on_success: handler.and_then(|handler| handler.on_success.as_deref()),
            on_error: handler.and_then(|handler| handler.on_error.as_deref()),
            workers,
        }
    }
}

/// A schedule.
#[derive(Serialize)]
pub(crate) struct ScheduleView<'a> {
    name: &'a str,
    cron: &'a str,
    zone: &'a str,
    command: &'a str,
    payload: &'a Json,
    queue: Option<&'a str>,
    keys: &'a Keys,
    #[serde(serialize_with = "millis")]
    delay_ms: Option<Duration>,
    missed: &'static str,
    overlap: &'static str,
    paused: bool,
    next_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    last_task: Option<i64>,
}

impl<'a> From<&'a Schedule> for ScheduleView<'a> {
    fn from(schedule: &'a Schedule) -> Self {
        Self {
            name: schedule.name.as_str(),
            cron: &schedule.cron,
            zone: &schedule.zone,
            command: schedule.task.command.as_str(),
            payload: &schedule.task.payload,
            queue: schedule.task.queue.as_ref().map(AsRef::as_ref),
            keys: &schedule.task.keys,
            delay_ms: match schedule.task.due {
                Due::After(delay) => Some(delay),
                _ => None,
            },
            missed: schedule.missed.as_str(),
            overlap: schedule.overlap.as_str(),
            paused: schedule.paused,
            next_at: schedule.next_at,
            last_at: schedule.last_at,
            last_task: schedule.last_task.map(|task| task.0),
        }
    }
}

/// The findings of `check`, in one sentence.
pub(crate) fn violation(found: &Violation) -> String {
    match found.task {
        Some(task) => format!("task {task}: {}: {}", found.invariant, found.detail),
        None => format!("{}: {}", found.invariant, found.detail),
    }
}
