//! Tasks, as they are asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk_core::{
    CommandName, Due, InputError, Json, Keys, NewTask, OnDuplicate, QueueName, Timestamp, Unique, UniqueScope,
};
use serde::Deserialize;
use utoipa::ToSchema;

/// A task to be. What is left out comes from its command.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewTask)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTaskForm {
    /// The command to run.
    #[schema(max_length = 128, pattern = "^[A-Za-z0-9_.:/-]+$")]
    command: String,
    /// Its payload; the empty object if it is left out. Null stays null.
    #[serde(default = "Json::object")]
    #[schema(value_type = Value)]
    payload: Json,
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
    /// The effect of an enqueue under a held key.
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

/// The effect of an enqueue under a held unique key.
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
            ..NewTask::new(CommandName::new(&self.command)?, self.payload)
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
