//! Why a task is not running.

use kinfolk_core::{Explanation, GroupRef, Reason, TaskId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::StateForm;

/// Why a task is not running.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Explanation)]
pub(crate) struct ExplanationForm {
    task: i64,
    state: StateForm,
    /// When this was so.
    #[schema(value_type = String, format = DateTime)]
    looked_at: Timestamp,
    worker: Option<Uuid>,
    /// All that holds it, each enough by itself. Empty for a task that runs or has ended.
    reasons: Vec<ReasonForm>,
}

/// One thing that keeps a task from running. What does not apply is null or empty.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = Reason)]
pub(crate) struct ReasonForm {
    /// children, signal, asleep, not_due, families, sibling, paused, family_limit, child_limit, key_full, key_kept, key_rate,
    /// suspect, no_worker or in_line.
    reason: &'static str,
    /// The same in a sentence.
    words: String,
    /// The tasks that hold it, the first twenty.
    tasks: Vec<i64>,
    queue: Option<String>,
    /// The command of the group, or the one that no worker handles.
    command: Option<String>,
    group: Option<String>,
    key: Option<String>,
    signals: Vec<String>,
    limit: Option<u32>,
    held: Option<u64>,
    /// How many are before it in line.
    before: Option<u64>,
    /// The operator that paused the queue.
    by: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    since_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    until_at: Option<Timestamp>,
}

impl From<Explanation> for ExplanationForm {
    fn from(explanation: Explanation) -> Self {
        Self {
            task: explanation.task.0,
            state: explanation.state.into(),
            looked_at: explanation.now,
            worker: explanation.worker.map(|worker| worker.0),
            reasons: explanation.reasons.into_iter().map(ReasonForm::from).collect(),
        }
    }
}

impl From<Reason> for ReasonForm {
    fn from(reason: Reason) -> Self {
        let form = Self { reason: reason.word(), words: reason.to_string(), ..Self::default() };
        match reason {
            Reason::Children { open, .. } => form.tasks(&open),
            Reason::Signal { names } => Self { signals: names.iter().map(ToString::to_string).collect(), ..form },
            Reason::Asleep { until } | Reason::NotDue { until } => Self { until_at: Some(until), ..form },
            Reason::Families { roots } => form.tasks(&roots),
            Reason::Sibling { task } => form.tasks(&[task]),
            Reason::Paused { queue, since, by } => {
                Self { queue: Some(queue.to_string()), since_at: Some(since), by, ..form }
            }
            Reason::FamilyLimit { queue, limit, roots: tasks }
            | Reason::ChildLimit { queue, limit, holders: tasks } => {
                Self { queue: Some(queue.to_string()), limit: Some(limit), ..form.tasks(&tasks) }
            }
            Reason::KeyFull { group, key, limit, held, holders } => {
                Self { limit: Some(limit), held: Some(held), ..form.tasks(&holders).key(&group, key) }
            }
            Reason::KeyKept { group, key, task } => form.tasks(&[task]).key(&group, key),
            Reason::KeyRate { group, key, until } => Self { until_at: Some(until), ..form.key(&group, key) },
            Reason::NoWorker { queue, command } => {
                Self { queue: Some(queue.to_string()), command: Some(command.to_string()), ..form }
            }
            Reason::InLine { before } => Self { before: Some(before), ..form },
            _ => form,
        }
    }
}

impl ReasonForm {
    fn tasks(self, tasks: &[TaskId]) -> Self {
        Self { tasks: tasks.iter().map(|task| task.0).collect(), ..self }
    }

    fn key(self, group: &GroupRef, key: String) -> Self {
        let command = group.command.as_ref().map(ToString::to_string);
        Self { command, group: Some(group.name.to_string()), key: Some(key), ..self }
    }
}
