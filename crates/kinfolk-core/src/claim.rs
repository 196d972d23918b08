//! Taking tasks to run.

use std::time::Duration;

use crate::group::Keys;
use crate::ids::{TaskId, Token, WorkerId};
use crate::json::Json;
use crate::name::{CommandName, QueueName};
use crate::time::Timestamp;

/// One claim call: up to `limit` tasks of one queue, for commands this worker handles.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The claiming worker.
    pub worker: WorkerId,
    /// Fresh and random for each call; fences every write to what it takes.
    pub token: Token,
    /// Where from.
    pub queue: QueueName,
    /// The commands that this worker handles.
    pub commands: Vec<CommandName>,
    /// At most this many, and at most [`crate::limits::CLAIM_BATCH_MAX`].
    pub limit: usize,
    /// The answer to a call with this token was lost: first give back what that call took, if it took anything.
    pub repeated: bool,
}

/// The tasks that a claim took, in the order in which the worker should start them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// The tasks, now running under the call's token.
    pub tasks: Vec<ClaimedTask>,
    /// The earliest moment at which a task of this queue becomes due, or a rate lets one that waits for it
    /// start, so that the worker can sleep until then.
    pub next_due: Option<Timestamp>,
}

/// A task as its worker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedTask {
    /// Its number.
    pub id: TaskId,
    /// The claim's token.
    pub token: Token,
    /// The command to run.
    pub command: CommandName,
    /// The payload, with duplicates applied.
    pub payload: Json,
    /// Which attempt this is; 1 is the first.
    pub attempt: u16,
    /// Attempts in all.
    pub max_attempts: u16,
    /// How long this attempt may run.
    pub timeout: Option<Duration>,
    /// The enqueuer's trace context.
    pub trace: Option<String>,
    /// Its parent, if it has one.
    pub parent: Option<TaskId>,
    /// The root of its family; itself, if it has no parent.
    pub root: TaskId,
    /// Generations between it and its root.
    pub depth: u16,
    /// Whether it may hold slots: its end may make room for tasks that wait, so it is worth claiming again after it. Never false for
    /// one that does.
    pub holds_slots: bool,
    /// How long it had waited since it was due; `None` unless this is its first run.
    pub waited: Option<Duration>,
    /// The keys it was enqueued with.
    pub keys: Keys,
    /// How many checkpoints it has: if any, its handler is resumed with its history.
    pub steps: u32,
}
