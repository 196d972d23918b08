//! Workers and their leases.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::ids::{TaskId, Token, WorkerId};
use crate::limits::{LEASE_MAX, LEASE_MIN, WORKER_COMMANDS_MAX};
use crate::name::{CommandName, QueueName};
use crate::time::Timestamp;

/// A worker that registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSpec {
    /// Fresh for each start of the process.
    pub id: WorkerId,
    /// For people: host and process, say.
    pub name: String,
    /// The program that it is a part of, and its version, in words of its own; empty where it gives none.
    pub version: String,
    /// The queues it claims from.
    pub queues: Vec<QueueName>,
    /// The commands it has handlers for.
    pub commands: Vec<CommandName>,
    /// How long it is believed alive after each heartbeat.
    pub lease: Duration,
}

/// A worker as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    /// Which one.
    pub id: WorkerId,
    /// For people.
    pub name: String,
    /// The program that it is a part of, and its version, in words of its own; empty where it gives none.
    pub version: String,
    /// The queues it claims from.
    pub queues: Vec<QueueName>,
    /// The commands it has handlers for.
    pub commands: Vec<CommandName>,
    /// When it registered.
    pub started_at: Timestamp,
    /// When its lease ends unless it renews it.
    pub lease_until: Timestamp,
    /// Tasks it has right now.
    pub running: u64,
}

/// The answer to a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heartbeat {
    /// Tasks of this worker whose end is asked for.
    pub cancel: Vec<(TaskId, Token)>,
}

/// The result of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Tasks that went back to pending.
    pub returned: u64,
    /// Tasks that failed as poison.
    pub poisoned: u64,
    /// Tasks whose cancellation was completed.
    pub cancelled: u64,
    /// Lost workers that were removed.
    pub workers: u64,
    /// There is more to do: call again.
    pub more: bool,
}

impl WorkerSpec {
    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if !(LEASE_MIN..=LEASE_MAX).contains(&self.lease) {
            return Err(InputError::Lease(u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX)));
        }
        if self.commands.len() > WORKER_COMMANDS_MAX {
            return Err(InputError::Batch {
                what: "commands of a worker",
                given: self.commands.len(),
                max: WORKER_COMMANDS_MAX,
            });
        }
        Ok(())
    }
}
