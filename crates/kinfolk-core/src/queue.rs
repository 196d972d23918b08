//! Queues and their policy.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::QueueName;
use crate::time::Timestamp;

/// A queue as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Its name.
    pub name: QueueName,
    /// Since when it is paused, if it is: claims take nothing from it, what runs goes on.
    pub paused_at: Option<Timestamp>,
    /// How long its finished families are kept.
    pub retention: Retention,
}

/// How long finished families are kept, by the state their root ended in. `None` keeps them for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// Default 7 days.
    pub completed: Option<Duration>,
    /// Default 30 days.
    pub failed: Option<Duration>,
    /// Default 7 days.
    pub cancelled: Option<Duration>,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Default for Retention {
    fn default() -> Self {
        Self { completed: Some(7 * DAY), failed: Some(30 * DAY), cancelled: Some(7 * DAY) }
    }
}
