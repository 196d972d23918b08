//! Queues, commands, workers, statuses and counts.

use std::collections::BTreeMap;

use kinfolk_core::inspect::{Finding, Health, Stats};
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{Command, Queue, Status, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{StateForm, millis};

/// A queue.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Queue)]
pub(crate) struct QueueForm {
    name: String,
    #[schema(value_type = Option<String>, format = DateTime)]
    paused_at: Option<Timestamp>,
    paused_by: Option<String>,
    /// How long completed families are kept; null is for good.
    keep_completed_ms: Option<u64>,
    keep_failed_ms: Option<u64>,
    keep_cancelled_ms: Option<u64>,
    /// Families at work at once.
    family_limit: Option<u32>,
    /// Children running at once.
    child_limit: Option<u32>,
    depth_limit: u16,
    /// The group whose keys take turns.
    fair: Option<String>,
}

impl From<Queue> for QueueForm {
    fn from(queue: Queue) -> Self {
        let policy = queue.policy;
        Self {
            name: queue.name.to_string(),
            paused_at: queue.paused_at,
            paused_by: queue.paused_by,
            keep_completed_ms: policy.retention.completed.map(millis),
            keep_failed_ms: policy.retention.failed.map(millis),
            keep_cancelled_ms: policy.retention.cancelled.map(millis),
            family_limit: policy.family_limit,
            child_limit: policy.child_limit,
            depth_limit: policy.depth_limit,
            fair: policy.fair.map(|fair| fair.to_string()),
        }
    }
}

/// A command and its defaults.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Command)]
pub(crate) struct CommandForm {
    name: String,
    queue: String,
    priority: i32,
    max_attempts: Option<u16>,
    backoff_ms: u32,
    backoff_cap_ms: u32,
    jitter_pct: u8,
    timeout_ms: Option<u64>,
    /// Its groups, by name, with the slots of each key; null where only a rate is declared.
    groups: BTreeMap<String, Option<u32>>,
    /// The path of the payload to the label of a task.
    label: Option<String>,
    /// The SQL function that runs its tasks.
    handler: Option<String>,
}

impl From<Command> for CommandForm {
    fn from(command: Command) -> Self {
        Self {
            name: command.name.to_string(),
            queue: command.queue.to_string(),
            priority: command.priority,
            max_attempts: command.retry.max_attempts,
            backoff_ms: command.retry.base_ms,
            backoff_cap_ms: command.retry.cap_ms,
            jitter_pct: command.retry.jitter_pct,
            timeout_ms: command.timeout.map(millis),
            groups: command.groups.into_iter().flatten().map(|(name, spec)| (name.to_string(), spec.limit)).collect(),
            label: command.label.map(|path| path.to_string()),
            handler: command.handler.map(|handler| handler.function),
        }
    }
}

/// A worker.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Worker)]
pub(crate) struct WorkerForm {
    id: Uuid,
    name: String,
    /// The program that it is a part of, and its version, in words of its own.
    version: String,
    queues: Vec<String>,
    commands: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    lease_ends_at: Timestamp,
    running: u64,
}

impl From<WorkerView> for WorkerForm {
    fn from(worker: WorkerView) -> Self {
        Self {
            id: worker.id.0,
            name: worker.name,
            version: worker.version,
            queues: worker.queues.iter().map(ToString::to_string).collect(),
            commands: worker.commands.iter().map(ToString::to_string).collect(),
            started_at: worker.started_at,
            lease_ends_at: worker.lease_until,
            running: worker.running,
        }
    }
}

/// Something around the store that is not as it should be.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Finding)]
pub(crate) struct FindingForm {
    /// The subject of the check: clock, connections, suspects…
    subject: String,
    /// warning or bad.
    health: &'static str,
    found: String,
    /// The remedy.
    remedy: String,
}

impl From<Finding> for FindingForm {
    fn from(finding: Finding) -> Self {
        let health = match finding.health {
            Health::Good => "good",
            Health::Warning => "warning",
            Health::Bad => "bad",
        };
        Self { subject: finding.subject, health, found: finding.found, remedy: finding.remedy }
    }
}

/// Whether anything is going on among some commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Status)]
pub(crate) struct StatusForm {
    name: String,
    commands: Vec<String>,
    active: bool,
    #[schema(value_type = String, format = DateTime)]
    changed_at: Timestamp,
}

impl From<Status> for StatusForm {
    fn from(status: Status) -> Self {
        Self {
            name: status.name.to_string(),
            commands: status.commands.iter().map(ToString::to_string).collect(),
            active: status.active,
            changed_at: status.changed_at,
        }
    }
}

/// Counts at one moment.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Stats)]
pub(crate) struct StatsForm {
    #[schema(value_type = String, format = DateTime)]
    looked_at: Timestamp,
    /// Completed tasks are counted among the newest 10,000 tasks, failed and cancelled ones among the 10,000 that ended last.
    counts: Vec<CountForm>,
    /// The states in which there may be more tasks than were counted.
    more: Vec<StateForm>,
    /// For each queue that has open tasks: since when the one at the head of the line has stood there.
    oldest_open: Vec<OldestForm>,
    /// Workers with a live lease.
    workers: u64,
}

/// How many tasks of one command on one queue are in one state.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Count)]
pub(crate) struct CountForm {
    queue: String,
    command: String,
    state: StateForm,
    tasks: u64,
}

/// The head of the line of one queue.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Oldest)]
pub(crate) struct OldestForm {
    queue: String,
    #[schema(value_type = String, format = DateTime)]
    since_at: Timestamp,
}

impl From<Stats> for StatsForm {
    fn from(stats: Stats) -> Self {
        let count = |count: kinfolk_core::inspect::Count| CountForm {
            queue: count.queue.to_string(),
            command: count.command.to_string(),
            state: count.state.into(),
            tasks: count.tasks,
        };
        Self {
            looked_at: stats.now,
            counts: stats.counts.into_iter().map(count).collect(),
            more: stats.more.into_iter().map(Into::into).collect(),
            oldest_open: stats
                .oldest_open
                .into_iter()
                .map(|(queue, since)| OldestForm { queue: queue.to_string(), since_at: since })
                .collect(),
            workers: stats.workers,
        }
    }
}
