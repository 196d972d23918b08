//! The course of a task: its attempts, its runs, and what its handler recorded.

use kinfolk_core::{Attempt, Checkpoint, History, Json, Run, Task, Timestamp, WaitedFor};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{FailureForm, StateForm};

/// One try of a task that has ended.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct AttemptForm {
    /// The how-many-eth claim of the task this was.
    run: u32,
    /// Which attempt it counted as.
    attempt: u16,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    ended_at: Timestamp,
    worker: Uuid,
    /// completed, failed, retried, snoozed, released, lost or cancelled.
    ending: &'static str,
    failure: Option<FailureForm>,
}

impl From<Attempt> for AttemptForm {
    fn from(attempt: Attempt) -> Self {
        Self {
            run: attempt.run,
            attempt: attempt.attempt,
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            worker: attempt.worker.0,
            ending: attempt.ending.as_str(),
            failure: attempt.failure.map(FailureForm::from),
        }
    }
}

/// The recorded answer of one durable operation.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Checkpoint)]
pub(crate) struct CheckpointForm {
    /// The branch of the handler it was done in; null for the handler itself.
    branch: Option<String>,
    name: String,
    /// Which operation of that name in that branch; 0 is the first.
    occurrence: u32,
    /// step, make, fan_out, fold, sleep, wait, signal, now or random.
    kind: &'static str,
    #[schema(value_type = Value)]
    value: Json,
    #[schema(value_type = String, format = DateTime)]
    recorded_at: Timestamp,
}

impl CheckpointForm {
    /// All that was recorded, in its order.
    pub(crate) fn all(history: &mut History) -> Vec<Self> {
        let recorded = std::mem::take(&mut history.checkpoints).into_iter().zip(history.recorded_at.iter().copied());
        recorded.map(|(checkpoint, at)| Self::new(checkpoint, at)).collect()
    }

    fn new(checkpoint: Checkpoint, recorded_at: Timestamp) -> Self {
        Self {
            branch: Some(checkpoint.key.branch).filter(|branch| !branch.is_empty()),
            name: checkpoint.key.name,
            occurrence: checkpoint.key.occurrence,
            kind: checkpoint.kind.as_str(),
            value: checkpoint.value,
            recorded_at,
        }
    }
}

/// One run of a task, from its claim to its end.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Run)]
pub(crate) struct RunForm {
    /// The how-many-eth claim of the task this was.
    run: u32,
    /// Which attempt it counted as.
    attempt: u16,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    /// Null while it goes on.
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    worker: Uuid,
    /// completed, failed, retried, snoozed, released, lost, cancelled or suspended; null while it goes on.
    ending: Option<&'static str>,
    failure: Option<FailureForm>,
    /// The waits of its handler, if it was suspended.
    waited_for: Option<WaitedForForm>,
}

/// The waits of a suspended handler: the first that is over resumes the task.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = WaitedFor)]
pub(crate) struct WaitedForForm {
    fan_outs: Vec<i64>,
    #[schema(value_type = Option<String>, format = DateTime)]
    until_at: Option<Timestamp>,
    signals: Vec<String>,
}

impl From<Run> for RunForm {
    fn from(run: Run) -> Self {
        Self {
            run: run.run,
            attempt: run.attempt,
            started_at: run.started_at,
            ended_at: run.ended_at,
            worker: run.worker.0,
            ending: run.ending.map(kinfolk_core::task::Ending::as_str),
            failure: run.failure.map(FailureForm::from),
            waited_for: run.waited_for.map(WaitedForForm::from),
        }
    }
}

impl From<WaitedFor> for WaitedForForm {
    fn from(waited: WaitedFor) -> Self {
        Self {
            fan_outs: waited.fan_outs.iter().map(|fan_out| fan_out.0).collect(),
            until_at: waited.until,
            signals: waited.signals.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The course of one task of a family.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Course)]
pub(crate) struct CourseForm {
    task: i64,
    parent: Option<i64>,
    depth: u16,
    command: String,
    queue: String,
    state: StateForm,
    fan_out: Option<i64>,
    index: Option<u32>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it may run at the earliest.
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    first_started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    /// Its runs, oldest first.
    runs: Vec<RunForm>,
}

impl CourseForm {
    pub(crate) fn new(task: &Task, runs: Vec<RunForm>) -> Self {
        Self {
            task: task.id.0,
            parent: task.parent.map(|parent| parent.0),
            depth: task.depth,
            command: task.command.to_string(),
            queue: task.queue.to_string(),
            state: task.state.into(),
            fan_out: task.fan_out.map(|fan_out| fan_out.0),
            index: task.index,
            created_at: task.created_at,
            due_at: task.due,
            first_started_at: task.first_started_at,
            finished_at: task.finished_at,
            runs,
        }
    }
}
