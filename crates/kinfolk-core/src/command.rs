//! Commands: the names of what tasks run, with their defaults.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::enqueue::{check_priority, check_timeout};
use crate::error::InputError;
use crate::group::Groups;
use crate::label::LabelPath;
use crate::limits::FUNCTION_BYTES_MAX;
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
    /// How many of its tasks may run at once, by key. `None` leaves the groups that are registered, if some are.
    pub groups: Option<Groups>,
    /// The path to the label of a task in its payload. `None` leaves the label that is registered, an empty one takes it
    /// away.
    pub label: Option<LabelPath>,
    /// The SQL function that runs its tasks, on PostgreSQL. `None` leaves the handler that is registered, if one is.
    pub handler: Option<SqlHandler>,
}

/// A function or procedure in the database that handles a command, and what runs around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlHandler {
    /// `schema.function`, taking the payload (`jsonb`) and returning `jsonb` or `void`; or a procedure, which may commit.
    /// Without a schema, a handler of the program `kinfolk` itself: `db_function`, `email`, `sms`, `http`.
    pub function: String,
    /// Called with the payload before it, in the same transaction. The handler gets its answer, if it gives one.
    pub before: Option<String>,
    /// Called with the payload after it, in the same transaction.
    pub after: Option<String>,
    /// How long one statement of the handler may run.
    pub statement_timeout: Option<Duration>,
    /// Whether an answer that has a boolean `success` is an envelope, which says how it went.
    pub envelope: bool,
    /// Told of each attempt that succeeded, in a transaction of its own after it.
    pub on_success: Option<String>,
    /// Told of each attempt that failed, in a transaction of its own after it.
    pub on_error: Option<String>,
}

impl Command {
    /// A command on the queue `default` with default policy.
    pub fn new(name: CommandName) -> Self {
        Self {
            name,
            queue: QueueName::default(),
            priority: 0,
            retry: RetryPolicy::default(),
            timeout: None,
            groups: None,
            label: None,
            handler: None,
        }
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        check_priority(Some(self.priority))?;
        check_timeout(self.timeout)?;
        if let Some(handler) = &self.handler {
            handler.check()?;
        }
        if let Some(groups) = &self.groups {
            groups.check()?;
        }
        self.retry.check()
    }
}

impl SqlHandler {
    /// A function alone, which may speak the envelope.
    pub fn new(function: impl Into<String>) -> Self {
        Self {
            function: function.into(),
            before: None,
            after: None,
            statement_timeout: None,
            envelope: true,
            on_success: None,
            on_error: None,
        }
    }

    /// Refuses what no store would keep. Whether the functions exist, and fit, is the database's to say.
    pub fn check(&self) -> Result<(), InputError> {
        let hooks = [&self.before, &self.after, &self.on_success, &self.on_error];
        for name in std::iter::once(&self.function).chain(hooks.into_iter().flatten()) {
            if name.is_empty() || name.len() > FUNCTION_BYTES_MAX {
                let name: String = name.chars().take(FUNCTION_BYTES_MAX).collect();
                return Err(InputError::Name { kind: "function", name, why: "it must have 1 to 256 bytes" });
            }
        }
        check_timeout(self.statement_timeout)
    }
}
