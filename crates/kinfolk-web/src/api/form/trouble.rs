//! Failures by cause, and the reasons that hold pending tasks.

use kinfolk_core::cause::{Cause, Causes};
use kinfolk_core::held::{Held, HeldBy};
use kinfolk_core::{CommandName, GroupRef, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

/// The failures of a span, by cause.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Causes)]
pub(crate) struct CausesForm {
    /// Where the span begins.
    #[schema(value_type = String, format = DateTime)]
    since_at: Timestamp,
    /// Where it ends: now.
    #[schema(value_type = String, format = DateTime)]
    until_at: Timestamp,
    /// Those with the most failures first.
    causes: Vec<CauseForm>,
    /// Only the newest 10,000 failures were looked at: there are older ones in the span.
    more: bool,
}

/// Failed tasks of one command that say the same.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Cause)]
pub(crate) struct CauseForm {
    /// Its name, for `kinfolk retry --cause`.
    id: String,
    command: String,
    /// The sort of failure, as `failure_kind` in a filter.
    kind: &'static str,
    /// Their message, with `#` for numbers and ids, and `…` for quoted words.
    text: String,
    tasks: u64,
    #[schema(value_type = String, format = DateTime)]
    first_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    last_at: Timestamp,
    /// The last task that failed so.
    sample: i64,
    /// The message of that task, in full.
    message: String,
    /// How many failed in each of 24 equal parts of the span, the earliest first.
    trend: Vec<u64>,
}

impl From<Causes> for CausesForm {
    fn from(causes: Causes) -> Self {
        Self {
            since_at: causes.since,
            until_at: causes.until,
            causes: causes.causes.into_iter().map(CauseForm::from).collect(),
            more: causes.more,
        }
    }
}

impl From<Cause> for CauseForm {
    fn from(cause: Cause) -> Self {
        Self {
            id: cause.id,
            command: cause.command.to_string(),
            kind: cause.kind.as_str(),
            text: cause.text,
            tasks: cause.tasks,
            first_at: cause.first_at,
            last_at: cause.last_at,
            sample: cause.sample.0,
            message: cause.message,
            trend: cause.trend,
        }
    }
}

/// How many pending tasks of a queue are held up by one thing.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Held)]
pub(crate) struct HeldForm {
    queue: String,
    /// paused, not_due, after, family_limit, key_full, key_rate, turn, no_worker or in_line: the first of these that holds.
    by: &'static str,
    /// The command of the group, or the one that no worker handles.
    command: Option<String>,
    group: Option<String>,
    /// The key; null for a total.
    key: Option<String>,
    tasks: u64,
    /// There may be more.
    more: bool,
}

impl From<Held> for HeldForm {
    fn from(held: Held) -> Self {
        let form = Self {
            queue: held.queue.to_string(),
            by: held.by.word(),
            command: None,
            group: None,
            key: None,
            tasks: held.tasks,
            more: held.more,
        };
        match held.by {
            HeldBy::KeyFull { group, key } | HeldBy::KeyRate { group, key } => form.behind(&group, key),
            HeldBy::NoWorker { command } => form.of(Some(&command)),
            _ => form,
        }
    }
}

impl HeldForm {
    fn of(self, command: Option<&CommandName>) -> Self {
        Self { command: command.map(ToString::to_string), ..self }
    }

    fn behind(self, group: &GroupRef, key: String) -> Self {
        let key = Some(key).filter(|key| !key.is_empty());
        Self { group: Some(group.name.to_string()), key, ..self.of(group.command.as_ref()) }
    }
}
