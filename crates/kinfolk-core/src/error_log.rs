//! The error log: every attempt that failed, whatever became of its task later. Entries are only ever added; they outlive their
//! tasks, and go by age.

use crate::ids::TaskId;
use crate::name::CommandName;
use crate::settle::Failure;
use crate::time::Timestamp;

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
    /// Which attempt.
    pub attempt: u16,
    /// The function in the database that failed, or that handles the command there.
    pub handler: Option<String>,
    /// What went wrong.
    pub failure: Failure,
}

impl LoggedError {
    /// A word of what the database said beside the message, such as `sqlstate` or `context`.
    pub fn told(&self, what: &str) -> Option<String> {
        let detail: serde_json::Value = self.failure.detail.as_ref()?.to().ok()?;
        detail.get(what)?.as_str().map(str::to_owned)
    }
}
