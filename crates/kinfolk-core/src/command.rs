//! Commands: the names of what tasks run, with their defaults.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::enqueue::{check_priority, check_timeout};
use crate::error::InputError;
use crate::name::{CommandName, QueueName};
use crate::retry::RetryPolicy;

/// A command as it is registered. Registering again changes the defaults of tasks enqueued later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its name.
    pub name: CommandName,
    /// Where its tasks wait unless told otherwise. A queue that does not exist is made.
    pub queue: QueueName,
    /// Priority of its tasks unless told otherwise; lower goes first.
    pub priority: i32,
    /// How often and how patiently its tasks are tried.
    pub retry: RetryPolicy,
    /// How long one attempt may run; `None` is as long as it likes.
    pub timeout: Option<Duration>,
}

impl Command {
    /// A command on the queue `default` with default policy.
    pub fn new(name: CommandName) -> Self {
        Self { name, queue: QueueName::default(), priority: 0, retry: RetryPolicy::default(), timeout: None }
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        check_priority(Some(self.priority))?;
        check_timeout(self.timeout)?;
        self.retry.check()
    }
}
