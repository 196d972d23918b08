//! Looking: filters and pages of tasks, counts, findings.

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;
use crate::name::{CommandName, QueueName};
use crate::state::State;
use crate::task::Task;
use crate::time::Timestamp;

/// Which tasks to list. An empty filter is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// In one of these states; empty is any.
    pub states: Vec<State>,
    /// Of this command.
    pub command: Option<CommandName>,
    /// On this queue.
    pub queue: Option<QueueName>,
    /// Holding or having held this unique key.
    pub unique_key: Option<String>,
    /// Only tasks with a smaller number than this: the last one of the page before. Pages go from the newest down.
    pub before: Option<TaskId>,
    /// At most this many, and at most [`crate::limits::PAGE_MAX`].
    pub limit: usize,
}

/// One page of a listing, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Where the next page goes on, if there is one: the value for [`Filter::before`].
    pub next: Option<TaskId>,
}

/// Counts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The store's clock.
    pub now: Timestamp,
    /// Tasks by queue, command and state, sorted; only those that exist.
    pub counts: Vec<Count>,
    /// For each queue that has open tasks: since when the one at the head of the line has stood there.
    pub oldest_open: Vec<(QueueName, Timestamp)>,
    /// Workers with a live lease.
    pub workers: u64,
}

/// How many tasks of one command on one queue are in one state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Count {
    /// The queue.
    pub queue: QueueName,
    /// The command.
    pub command: CommandName,
    /// The state.
    pub state: State,
    /// How many.
    pub tasks: u64,
}

/// A broken invariant, as `check` finds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Violation {
    /// The invariant, in words.
    pub invariant: String,
    /// What breaks it.
    pub detail: String,
    /// The task concerned, if one is.
    pub task: Option<TaskId>,
}

/// Something `doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was looked at: schema, clock, connections…
    pub subject: String,
    /// How it is.
    pub health: Health,
    /// What was found, in words.
    pub found: String,
    /// What to do about it; empty when all is well.
    pub remedy: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Good,
    /// Will become trouble.
    Warning,
    /// Is trouble.
    Bad,
}
