//! Asking for a task, and the answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{InputError, StoreError};
use crate::group::Keys;
use crate::ids::TaskId;
use crate::json::Json;
use crate::limits::{ATTEMPTS_MAX, DELAY_MAX, PAYLOAD_BYTES_MAX, PRIORITY_ABS_MAX, TIMEOUT_MAX, TRACE_BYTES_MAX};
use crate::name::{CommandName, GroupName, QueueName};
use crate::time::Timestamp;
use crate::unique::Unique;

/// A task to be made. A field that is `None` comes from its command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// The command to run.
    pub command: CommandName,
    /// Its payload.
    pub payload: Json,
    /// Where it waits.
    pub queue: Option<QueueName>,
    /// Lower goes first.
    pub priority: Option<i32>,
    /// When it may run.
    pub due: Due,
    /// Its unique key.
    pub unique: Option<Unique>,
    /// Attempts in all.
    pub max_attempts: Option<u16>,
    /// How long one attempt may run.
    pub timeout: Option<Duration>,
    /// Its keys in the groups of its command.
    #[serde(default)]
    pub keys: Keys,
    /// Whether it also takes those keys of the task that makes it which its command has groups for and `keys` does not give.
    /// Means nothing for a task that no other makes.
    #[serde(default)]
    pub inherit_keys: bool,
    /// The enqueuer's W3C trace context (`traceparent`).
    pub trace: Option<String>,
}

/// When a task may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Due {
    /// At once.
    #[default]
    Now,
    /// This long after it was enqueued, by the store's clock.
    After(Duration),
    /// At this moment, or at once when it has passed.
    At(Timestamp),
}

/// The answer to an enqueue. Every task gets one; none is dropped in silence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "task")]
pub enum Enqueued {
    /// A new task.
    Created(TaskId),
    /// The unique key is held by this task, which stays as it is.
    Existing(TaskId),
    /// The unique key is held by this task, and the payload went into it.
    Merged(TaskId),
    /// No task, for this reason.
    Rejected(Rejection),
}

/// Why an enqueue made no task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "why", content = "name")]
#[non_exhaustive]
pub enum Rejection {
    /// Nobody has registered this command.
    #[error("unknown command {0}; register it, or start a worker that handles it")]
    UnknownCommand(CommandName),
    /// There is no such queue.
    #[error("unknown queue {0}; register a command on it, or make it with `kinfolk queue set`")]
    UnknownQueue(QueueName),
    /// The command has no such group.
    #[error("a key for group {0}, which its command does not declare; leave it out, or declare the group")]
    UnknownGroup(GroupName),
    /// The queue takes no children (`child_limit` 0).
    #[error("queue {0} takes no children; spawn onto another queue, or raise its child_limit")]
    NoChildren(QueueName),
    /// The family would grow deeper than the queue of its root allows.
    #[error("a family on queue {0} may not grow this deep; spawn less deeply, or raise its depth_limit")]
    TooDeep(QueueName),
    /// A task without a parent has no siblings, and a fan-out that is awaited takes no more children.
    #[error(
        "task {0} has no parent that takes siblings: it is a root, or its parent awaits its result; spawn a child, or \
         enqueue a task"
    )]
    NoParent(TaskId),
}

impl Rejection {
    /// Whether trying again may help: someone may have registered what was unknown.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::UnknownCommand(_) | Self::UnknownQueue(_) | Self::UnknownGroup(_))
    }

    /// The error of a schedule that would only make such tasks of this command.
    pub fn of_schedule(&self, command: &CommandName) -> StoreError {
        match self {
            Self::UnknownCommand(name) => StoreError::not_found("command", name),
            Self::UnknownQueue(name) => StoreError::not_found("queue", name),
            Self::UnknownGroup(name) => StoreError::not_found("group", format_args!("{name} of command {command}")),
            other => InputError::Other(other.to_string()).into(),
        }
    }
}

impl NewTask {
    /// A task for this command, with all else from the command's defaults.
    pub fn new(command: CommandName, payload: Json) -> Self {
        Self {
            command,
            payload,
            queue: None,
            priority: None,
            due: Due::Now,
            unique: None,
            max_attempts: None,
            timeout: None,
            keys: Keys::new(),
            inherit_keys: false,
            trace: None,
        }
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.payload.bytes() > PAYLOAD_BYTES_MAX {
            return Err(InputError::TooLarge { what: "payload", bytes: self.payload.bytes(), max: PAYLOAD_BYTES_MAX });
        }
        check_priority(self.priority)?;
        check_timeout(self.timeout)?;
        check_attempts(self.max_attempts)?;
        if let Due::After(delay) = self.due
            && delay > DELAY_MAX
        {
            return Err(InputError::Delay(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)));
        }
        self.keys.check()?;
        if let Some(trace) = &self.trace
            && trace.len() > TRACE_BYTES_MAX
        {
            return Err(InputError::TooLarge { what: "trace context", bytes: trace.len(), max: TRACE_BYTES_MAX });
        }
        self.unique.as_ref().map_or(Ok(()), Unique::check)
    }
}

pub(crate) fn check_attempts(attempts: Option<u16>) -> Result<(), InputError> {
    match attempts {
        Some(attempts) if !(1..=ATTEMPTS_MAX).contains(&attempts) => Err(InputError::Attempts(u32::from(attempts))),
        _ => Ok(()),
    }
}

pub(crate) fn check_priority(priority: Option<i32>) -> Result<(), InputError> {
    match priority {
        Some(priority) if priority.unsigned_abs() > PRIORITY_ABS_MAX.unsigned_abs() => {
            Err(InputError::Priority(i64::from(priority)))
        }
        _ => Ok(()),
    }
}

pub(crate) fn check_timeout(timeout: Option<Duration>) -> Result<(), InputError> {
    match timeout {
        Some(timeout) if timeout.is_zero() || timeout > TIMEOUT_MAX => {
            Err(InputError::Timeout(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)))
        }
        _ => Ok(()),
    }
}

impl Due {
    /// The moment this means, when the store's clock says `now`.
    pub fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Now => now,
            Self::After(delay) => now.plus(delay),
            Self::At(moment) => moment,
        }
    }
}

impl Enqueued {
    /// The task this answer speaks of, or why there is none.
    pub fn id(&self) -> Result<TaskId, Rejection> {
        match self {
            Self::Created(id) | Self::Existing(id) | Self::Merged(id) => Ok(*id),
            Self::Rejected(why) => Err(why.clone()),
        }
    }
}
