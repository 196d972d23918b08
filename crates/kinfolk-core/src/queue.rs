//! Queues and their policy.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::group::TOTAL;
use crate::limits::DEPTH_MAX;
use crate::name::{GroupName, QueueName};
use crate::time::Timestamp;

/// A queue as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Its name.
    pub name: QueueName,
    /// Since when it is paused, if it is: claims take nothing from it, running tasks go on.
    pub paused_at: Option<Timestamp>,
    /// The operator that paused it.
    pub paused_by: Option<String>,
    /// How it treats its tasks.
    #[serde(flatten)]
    pub policy: Policy,
}

/// How a queue treats its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// How long its finished families are kept.
    pub retention: Retention,
    /// Families at work at once, across all workers: from the first claim of the root until it is terminal. `None` is no
    /// limit; with 1, top-level tasks run strictly one after another.
    pub family_limit: Option<u32>,
    /// Children running at once on this queue, over all families and workers. `None` is no limit; with 0, a spawn onto
    /// this queue is refused.
    pub child_limit: Option<u32>,
    /// How many generations families of roots on this queue may have below the root.
    pub depth_limit: u16,
    /// The name of a key whose values take turns: among tasks of one priority, one of each value, then the next of each. Tasks
    /// without that key are a value of their own. `None`: first come, first served.
    pub fair: Option<GroupName>,
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

impl Default for Policy {
    fn default() -> Self {
        Self {
            retention: Retention::default(),
            family_limit: None,
            child_limit: None,
            depth_limit: DEPTH_MAX,
            fair: None,
        }
    }
}

impl Policy {
    /// The default policy with this retention.
    pub fn keeping(retention: Retention) -> Self {
        Self { retention, ..Self::default() }
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.family_limit == Some(0) {
            return Err(InputError::Other("a family_limit of 0 would run nothing; pause the queue instead".to_owned()));
        }
        if self.depth_limit > DEPTH_MAX {
            return Err(InputError::Other(format!(
                "depth_limit is {}; it may be {DEPTH_MAX} at most",
                self.depth_limit
            )));
        }
        if self.fair.as_ref().is_some_and(|name| name.as_str() == TOTAL) {
            return Err(InputError::Other(
                "the group total has no keys that could take turns; name another group".to_owned(),
            ));
        }
        Ok(())
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { completed: Some(7 * DAY), failed: Some(30 * DAY), cancelled: Some(7 * DAY) }
    }
}
