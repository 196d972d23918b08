//! The error log: every attempt that failed, whatever became of its task later. Entries are only ever added; they outlive their
//! tasks, and go by age.

use crate::ids::TaskId;
use crate::name::{CommandName, QueueName};
use crate::settle::Failure;
use crate::time::Timestamp;

/// Which entries of the error log are meant, newest first. A field that is left out matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorFilter {
    /// Of this task.
    pub task: Option<TaskId>,
    /// Of tasks of this command.
    pub command: Option<CommandName>,
    /// Of tasks on this queue.
    pub queue: Option<QueueName>,
    /// Only entries with a smaller number: the last one of the page before.
    pub before: Option<i64>,
    /// At most this many, and at most [`crate::limits::PAGE_MAX`].
    pub limit: usize,
}

impl ErrorFilter {
    /// The newest ones, at most so many.
    pub fn newest(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether an entry is meant.
    pub fn matches(&self, entry: &LoggedError) -> bool {
        self.task.is_none_or(|task| entry.task == task)
            && self.command.as_ref().is_none_or(|command| entry.command == *command)
            && self.queue.as_ref().is_none_or(|queue| entry.queue == *queue)
            && self.before.is_none_or(|before| entry.id < before)
    }
}

/// An entry of the error log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedError {
    /// Its number; later ones have larger numbers.
    pub id: i64,
    /// When it was written, by the store's clock.
    pub at: Timestamp,
    /// Whose attempt failed. The task may be gone.
    pub task: TaskId,
    /// The command of the task.
    pub command: CommandName,
    /// The queue that it was on.
    pub queue: QueueName,
    /// Which attempt.
    pub attempt: u16,
    /// The function in the database that failed, or that handles the command there.
    pub handler: Option<String>,
    /// The failure of the attempt.
    pub failure: Failure,
}

impl LoggedError {
    /// A word of what the database said beside the message, such as `sqlstate` or `context`.
    pub fn told(&self, what: &str) -> Option<String> {
        let detail: serde_json::Value = self.failure.detail.as_ref()?.to().ok()?;
        detail.get(what)?.as_str().map(str::to_owned)
    }
}
