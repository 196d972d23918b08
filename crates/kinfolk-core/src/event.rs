//! The catalogue of what the library reports: one closed list that logs, metrics and observers all read.

use std::time::Duration;

use crate::enqueue::Rejection;
use crate::ids::{TaskId, WorkerId};
use crate::name::{CommandName, GroupName, QueueName, ScheduleName, StatusName};
use crate::settle::FailureKind;
use crate::time::Timestamp;

/// Something that happened, reported after it was committed. All fields are always there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named as in Task")]
pub enum Event {
    /// A worker registered, and starts to claim.
    WorkerStarted { worker: WorkerId },
    /// A worker has left; nothing it held is running any more.
    WorkerStopped { worker: WorkerId },
    /// A worker found that its lease was lost: it dropped its work and registers anew.
    LeaseLost { worker: WorkerId },
    /// An attempt begins.
    Started { task: TaskId, command: CommandName, queue: QueueName, attempt: u16 },
    /// An attempt begins with what its handler has recorded before.
    Resumed { task: TaskId, command: CommandName, queue: QueueName, attempt: u16, steps: u32 },
    /// A handler waits for something, and its task was suspended; that is not the end of the attempt.
    Suspended { task: TaskId, command: CommandName, queue: QueueName, attempt: u16, took: Duration },
    /// An attempt ended well, and the task is completed.
    Completed { task: TaskId, command: CommandName, queue: QueueName, attempt: u16, took: Duration },
    /// An attempt ended badly, and the task will be tried again.
    Retried {
        task: TaskId,
        command: CommandName,
        queue: QueueName,
        attempt: u16,
        took: Duration,
        kind: FailureKind,
        message: String,
    },
    /// An attempt ended badly, and the task has failed.
    Failed {
        task: TaskId,
        command: CommandName,
        queue: QueueName,
        attempt: u16,
        took: Duration,
        kind: FailureKind,
        message: String,
    },
    /// An attempt ended well, and the task waits for its children.
    Waiting { task: TaskId, command: CommandName, queue: QueueName, attempt: u16, took: Duration },
    /// A handler put its task off.
    Snoozed { task: TaskId, command: CommandName, queue: QueueName, attempt: u16, took: Duration },
    /// A stopping worker gave a task back.
    Released { task: TaskId, command: CommandName, queue: QueueName, attempt: u16, took: Duration },
    /// A running task was cancelled.
    Cancelled { task: TaskId, command: CommandName, queue: QueueName, attempt: u16, took: Duration },
    /// A settle came too late: the token no longer held, and nothing was written.
    Stale { task: TaskId, command: CommandName, queue: QueueName, attempt: u16 },
    /// A handler asked to start nothing more under its key in this group, until then.
    SlowedDown { task: TaskId, command: CommandName, group: GroupName, until: Timestamp },
    /// Tasks of lost workers were taken care of.
    Recovered { worker: WorkerId, returned: u64, poisoned: u64, cancelled: u64 },
    /// A schedule fired; `rejected` says why a tick made no task, for each that did not.
    ScheduleFired { schedule: ScheduleName, tasks: Vec<TaskId>, overlapped: u64, rejected: Vec<Rejection> },
    /// Finished families were removed by retention.
    Pruned { tasks: u64 },
    /// Parents were found waiting for nothing, or tasks behind a key that has room, and were set right: a bug in the store.
    Unstuck { tasks: u64 },
    /// A status turned from idle to active, or back.
    StatusChanged { status: StatusName, active: bool },
    /// A call to the store failed and is repeated.
    StoreTrouble { during: &'static str, fault: String },
}

impl Event {
    /// The stable names of all events, in the order of the list above.
    pub const NAMES: [&'static str; 21] = [
        "worker_started",
        "worker_stopped",
        "lease_lost",
        "started",
        "resumed",
        "suspended",
        "completed",
        "retried",
        "failed",
        "waiting",
        "snoozed",
        "released",
        "cancelled",
        "stale",
        "slowed_down",
        "recovered",
        "schedule_fired",
        "pruned",
        "unstuck",
        "status_changed",
        "store_trouble",
    ];

    /// The stable name of the event, in logs and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::WorkerStarted { .. } => "worker_started",
            Self::WorkerStopped { .. } => "worker_stopped",
            Self::LeaseLost { .. } => "lease_lost",
            Self::Started { .. } => "started",
            Self::Resumed { .. } => "resumed",
            Self::Suspended { .. } => "suspended",
            Self::Completed { .. } => "completed",
            Self::Retried { .. } => "retried",
            Self::Failed { .. } => "failed",
            Self::Waiting { .. } => "waiting",
            Self::Snoozed { .. } => "snoozed",
            Self::Released { .. } => "released",
            Self::Cancelled { .. } => "cancelled",
            Self::Stale { .. } => "stale",
            Self::SlowedDown { .. } => "slowed_down",
            Self::Recovered { .. } => "recovered",
            Self::ScheduleFired { .. } => "schedule_fired",
            Self::Pruned { .. } => "pruned",
            Self::Unstuck { .. } => "unstuck",
            Self::StatusChanged { .. } => "status_changed",
            Self::StoreTrouble { .. } => "store_trouble",
        }
    }
}
