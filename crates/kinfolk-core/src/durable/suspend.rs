//! The suspension of a handler: the tasks that it made, its new records and its waits, in one write.

use std::sync::Arc;
use std::time::Duration;

use super::checkpoint::{Checkpoint, Key, check_checkpoints};
use super::rule::Rule;
use crate::enqueue::NewTask;
use crate::error::InputError;
use crate::family::Made;
use crate::ids::{FanOutId, TaskId, Token};
use crate::limits::{DELAY_MAX, MADE_MAX, SIGNALS_AWAITED_MAX};
use crate::name::SignalName;
use crate::time::Timestamp;

/// A handler that waits: everything it has made and recorded since its last write, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// Which task.
    pub task: TaskId,
    /// The token it was claimed under.
    pub token: Token,
    /// Checkpoints not yet written, in order. That of a new fan-out is among [`Suspend::fan_outs`], not here.
    pub checkpoints: Vec<Checkpoint>,
    /// The tasks that the handler made since its last suspension. Boxed, since most make nothing.
    pub made: Option<Box<Made>>,
    /// Fan-outs to begin, all of them awaited.
    pub fan_outs: Vec<NewFanOut>,
    /// Fan-outs begun before, and still awaited.
    pub awaits: Vec<Await>,
    /// Resume at this moment at the latest.
    pub until: Option<Timestamp>,
    /// Resume when a signal of one of these names is there.
    pub signals: Vec<SignalName>,
}

/// A fan-out to begin: children that the handler waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFanOut {
    /// Its checkpoint; the store puts the number of the fan-out in as the value.
    pub key: Key,
    /// The digest of that checkpoint.
    pub digest: String,
    /// The children, in the order of their results. None of them has a unique key. Shared, since they may be very many, and a
    /// call that is repeated needs them again.
    pub children: Arc<Vec<NewTask>>,
    /// When it is settled.
    pub rule: Rule,
    /// How long it may take, from the suspension on.
    pub timeout: Option<Duration>,
    /// Whether its open children are cancelled when the task fails for good.
    pub cancel_on_failure: bool,
    /// Resume when this many children have ended, even if the fan-out is not settled: for a stream. At most their number.
    pub wake_at: u32,
}

/// A fan-out that is still awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Await {
    /// Which one.
    pub fan_out: FanOutId,
    /// Resume when this many children have ended, even if it is not settled.
    pub wake_at: u32,
}

impl Suspend {
    /// A suspension that waits for nothing yet.
    pub const fn new(task: TaskId, token: Token) -> Self {
        Self {
            task,
            token,
            checkpoints: Vec::new(),
            made: None,
            fan_outs: Vec::new(),
            awaits: Vec::new(),
            until: None,
            signals: Vec::new(),
        }
    }

    /// Every task that this makes: first the tasks in [`Suspend::made`], then the children of each fan-out.
    pub fn iter(&self) -> impl Iterator<Item = &NewTask> {
        let made = self.made.iter().flat_map(|made| made.iter());
        made.chain(self.fan_outs.iter().flat_map(|fan_out| fan_out.children.iter()))
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.fan_outs.is_empty() && self.awaits.is_empty() && self.until.is_none() && self.signals.is_empty() {
            return Err(InputError::Other("a suspended task must wait for something".to_owned()));
        }
        check_checkpoints(&self.checkpoints)?;
        if self.signals.len() > SIGNALS_AWAITED_MAX {
            let given = self.signals.len();
            return Err(InputError::Batch { what: "signals awaited at once", given, max: SIGNALS_AWAITED_MAX });
        }
        let many = self.iter().count();
        if many > MADE_MAX {
            return Err(InputError::Batch { what: "tasks made by one handler", given: many, max: MADE_MAX });
        }
        self.made.iter().try_for_each(|made| made.check())?;
        self.fan_outs.iter().try_for_each(NewFanOut::check)
    }
}

impl NewFanOut {
    fn check(&self) -> Result<(), InputError> {
        self.key.check()?;
        if self.children.is_empty() {
            return Err(InputError::Other("a fan-out without children has nothing to wait for".to_owned()));
        }
        if self.children.iter().any(|child| child.unique.is_some()) {
            return Err(InputError::Other(
                "a child whose result is awaited can't have a unique key: another task's result is not its own"
                    .to_owned(),
            ));
        }
        if matches!(self.rule, Rule::Threshold(parts) if parts > 1_000_000) {
            return Err(InputError::Other("a threshold is at most 1".to_owned()));
        }
        match self.timeout {
            Some(timeout) if timeout > DELAY_MAX => {
                Err(InputError::Delay(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)))
            }
            _ => self.children.iter().try_for_each(NewTask::check),
        }
    }
}
