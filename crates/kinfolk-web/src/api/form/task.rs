//! Tasks, as they are shown.

use std::collections::BTreeMap;

use kinfolk_core::{Failure, Json, Task, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{GateForm, StateForm, millis};

/// A task.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Task)]
pub(crate) struct TaskForm {
    pub(crate) id: i64,
    pub(crate) command: String,
    pub(crate) queue: String,
    pub(crate) state: StateForm,
    /// The gate that holds it, while it is pending.
    gate: Option<GateForm>,
    /// Lower goes first.
    priority: i32,
    /// When it may run at the earliest.
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    /// Its place in line among tasks of equal priority.
    #[schema(value_type = String, format = DateTime)]
    position_at: Timestamp,
    attempt: u16,
    max_attempts: u16,
    timeout_ms: Option<u64>,
    #[schema(value_type = Value)]
    payload: Json,
    #[schema(value_type = Value)]
    result: Option<Json>,
    failure: Option<FailureForm>,
    unique_key: Option<String>,
    /// Its keys in the groups of its command.
    keys: BTreeMap<String, String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When its latest attempt began; of one that was suspended, when its handler last went on.
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    /// When its first attempt began.
    #[schema(value_type = Option<String>, format = DateTime)]
    first_started_at: Option<Timestamp>,
    /// How long its handler had run when it was last suspended, all stretches together.
    ran_before_ms: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    cancel_requested_at: Option<Timestamp>,
    worker: Option<Uuid>,
    suspect: bool,
    strikes: u16,
    /// The enqueuer's W3C trace context.
    trace: Option<String>,
    parent: Option<i64>,
    root: i64,
    depth: u16,
    /// The fan-out it is a child in.
    fan_out: Option<i64>,
    /// Which child of its fan-out it is; 0 is the first.
    index: Option<u32>,
    /// The task whose handler made it, if it is a follow-up.
    made_by: Option<i64>,
    /// The root of the family that made it, if it is a follow-up.
    follows: Option<i64>,
    /// Its name for people: the value at the path of its payload that its command names.
    label: Option<String>,
    /// How its own work ended, while it waits for its children and if it failed only because of them.
    outcome: Option<StateForm>,
    /// How many checkpoints its handler has recorded.
    steps: u32,
    /// The signals that its suspended handler waits for.
    signals: Vec<String>,
    report: Option<ReportForm>,
}

impl From<Task> for TaskForm {
    fn from(task: Task) -> Self {
        let label = task.label();
        Self {
            id: task.id.0,
            command: task.command.to_string(),
            queue: task.queue.to_string(),
            state: task.state.into(),
            gate: task.gate.map(GateForm::from),
            priority: task.priority,
            due_at: task.due,
            position_at: task.position,
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            timeout_ms: task.timeout.map(millis),
            payload: task.payload,
            result: task.result,
            failure: task.failure.map(FailureForm::from),
            unique_key: task.unique_key,
            keys: task.keys.into_iter().map(|(group, key)| (group.to_string(), key)).collect(),
            created_at: task.created_at,
            started_at: task.started_at,
            first_started_at: task.first_started_at,
            ran_before_ms: millis(task.ran_before),
            finished_at: task.finished_at,
            cancel_requested_at: task.cancel_requested_at,
            worker: task.worker.map(|worker| worker.0),
            suspect: task.suspect,
            strikes: task.strikes,
            trace: task.trace,
            parent: task.parent.map(|parent| parent.0),
            root: task.root.0,
            depth: task.depth,
            fan_out: task.fan_out.map(|fan_out| fan_out.0),
            index: task.index,
            made_by: task.made_by.map(|maker| maker.0),
            follows: task.follows.map(|root| root.0),
            label,
            outcome: task.outcome.map(StateForm::from),
            steps: task.steps,
            signals: task.signals.iter().map(ToString::to_string).collect(),
            report: task.report.map(|report| ReportForm { done: report.done, total: report.total, note: report.note }),
        }
    }
}

/// How far a task has come, in its handler's own words.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Report)]
pub(crate) struct ReportForm {
    done: u64,
    total: Option<u64>,
    note: Option<String>,
}

/// A failure.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Failure)]
pub(crate) struct FailureForm {
    /// error, timeout, panic, validation, poison, lost, cancelled, children, refused, skipped or diverged.
    kind: &'static str,
    message: String,
    #[schema(value_type = Value)]
    detail: Option<Json>,
}

impl From<Failure> for FailureForm {
    fn from(failure: Failure) -> Self {
        Self { kind: failure.kind.as_str(), message: failure.message, detail: failure.detail }
    }
}
