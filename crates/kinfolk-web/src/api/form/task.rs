//! Tasks: as they are shown, and as they are asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk_core::task::Attempt;
use kinfolk_core::{
    Checkpoint, CommandName, Due, Failure, InputError, Json, Keys, NewTask, OnDuplicate, QueueName, Task, Timestamp,
    Unique, UniqueScope,
};
use serde::{Deserialize, Serialize};
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
    /// What holds it, while it is pending.
    gate: Option<GateForm>,
    /// Lower goes first.
    priority: i32,
    /// When it may run at the earliest.
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    /// Where it stands in line among tasks of equal priority.
    #[schema(value_type = String, format = DateTime)]
    place_at: Timestamp,
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
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
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
        Self {
            id: task.id.0,
            command: task.command.to_string(),
            queue: task.queue.to_string(),
            state: task.state.into(),
            gate: task.gate.map(GateForm::from),
            priority: task.priority,
            due_at: task.due,
            place_at: task.place,
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

/// What went wrong.
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
}

impl From<Checkpoint> for CheckpointForm {
    fn from(checkpoint: Checkpoint) -> Self {
        Self {
            branch: Some(checkpoint.key.branch).filter(|branch| !branch.is_empty()),
            name: checkpoint.key.name,
            occurrence: checkpoint.key.occurrence,
            kind: checkpoint.kind.as_str(),
            value: checkpoint.value,
        }
    }
}

/// A task to be. What is left out comes from its command.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewTask)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTaskForm {
    /// What to run.
    #[schema(max_length = 128, pattern = "^[A-Za-z0-9_.:/-]+$")]
    command: String,
    /// What with; the empty object if it is left out.
    #[serde(default)]
    #[schema(value_type = Value)]
    payload: Option<Json>,
    #[serde(default)]
    queue: Option<String>,
    /// Lower goes first.
    #[serde(default)]
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    priority: Option<i32>,
    /// When it may run at the earliest; not together with `delay_ms`.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    due_at: Option<Timestamp>,
    /// How long after now it may run at the earliest.
    #[serde(default)]
    delay_ms: Option<u64>,
    #[serde(default)]
    unique: Option<UniqueForm>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1_000)]
    max_attempts: Option<u16>,
    #[serde(default)]
    #[schema(minimum = 1)]
    timeout_ms: Option<u64>,
    /// Its keys in the groups of its command.
    #[serde(default)]
    keys: BTreeMap<String, String>,
    /// A W3C trace context.
    #[serde(default)]
    #[schema(max_length = 256)]
    trace: Option<String>,
}

/// The unique key of a task.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Unique)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniqueForm {
    #[schema(min_length = 1, max_length = 200)]
    key: String,
    /// How long the key is held.
    #[serde(default)]
    scope: ScopeForm,
    /// The span of the scope `window`.
    #[serde(default)]
    window_ms: Option<u64>,
    /// What an enqueue under a held key does.
    #[serde(default)]
    on_duplicate: DuplicateForm,
}

/// How long a unique key is held.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[schema(as = UniqueScope)]
#[serde(rename_all = "snake_case")]
enum ScopeForm {
    #[default]
    Pending,
    Active,
    Window,
}

/// What an enqueue under a held unique key does.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[schema(as = OnDuplicate)]
#[serde(rename_all = "snake_case")]
enum DuplicateForm {
    #[default]
    Keep,
    Replace,
    Merge,
}

impl NewTaskForm {
    /// The task that is asked for.
    pub(crate) fn task(self) -> Result<NewTask, InputError> {
        let due = match (self.due_at, self.delay_ms) {
            (Some(_), Some(_)) => {
                return Err(InputError::Other("due_at and delay_ms say two times; give one of them".to_owned()));
            }
            (Some(moment), None) => Due::At(moment),
            (None, Some(delay)) => Due::After(Duration::from_millis(delay)),
            (None, None) => Due::Now,
        };
        let task = NewTask {
            queue: self.queue.as_deref().map(QueueName::new).transpose()?,
            priority: self.priority,
            due,
            unique: self.unique.map(UniqueForm::unique).transpose()?,
            max_attempts: self.max_attempts,
            timeout: self.timeout_ms.map(Duration::from_millis),
            keys: Keys::of(self.keys)?,
            trace: self.trace,
            ..NewTask::new(CommandName::new(&self.command)?, self.payload.unwrap_or_else(Json::object))
        };
        task.check()?;
        Ok(task)
    }
}

impl UniqueForm {
    fn unique(self) -> Result<Unique, InputError> {
        let scope = match (self.scope, self.window_ms) {
            (ScopeForm::Pending, None) => UniqueScope::Pending,
            (ScopeForm::Active, None) => UniqueScope::Active,
            (ScopeForm::Window, Some(span)) => UniqueScope::Window(Duration::from_millis(span)),
            _ => return Err(InputError::Other("the scope window, and only it, needs window_ms".to_owned())),
        };
        let on_duplicate = match self.on_duplicate {
            DuplicateForm::Keep => OnDuplicate::Keep,
            DuplicateForm::Replace => OnDuplicate::Replace,
            DuplicateForm::Merge => OnDuplicate::Merge,
        };
        Ok(Unique::key(self.key).scope(scope).on_duplicate(on_duplicate))
    }
}
