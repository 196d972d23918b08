//! Why a task is not running: every reason there is, as it was at one moment.
//!
//! Reasons are found by looking at what is there, not by trusting what a claim has noted down: a task that no claim has
//! looked at yet is explained as well as one that was held up. A task that is running or has ended has no reasons.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::family::Tally;
use crate::group::GroupRef;
use crate::ids::{TaskId, WorkerId};
use crate::limits;
use crate::name::{CommandName, QueueName, SignalName};
use crate::state::State;
use crate::time::Timestamp;

/// Why a task is not running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The task.
    pub task: TaskId,
    /// Where it is.
    pub state: State,
    /// When this was so, by the store's clock.
    pub now: Timestamp,
    /// The worker that runs it, if it is running.
    pub worker: Option<WorkerId>,
    /// All that holds it, each enough by itself; in the order of the variants of [`Reason`]. Empty for a task that is
    /// running or has ended, and never empty for another.
    pub reasons: Vec<Reason>,
}

/// In one line: `task 7 is pending: not due until …; queue mail is paused …`.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} is {}", self.task, self.state)?;
        self.reasons.iter().enumerate().try_for_each(|(nth, reason)| {
            let before = if nth == 0 { ": " } else { "; " };
            write!(f, "{before}{reason}")
        })
    }
}

/// One thing that keeps a task from running. Lists of tasks hold the first [`crate::limits::HOLDERS_SHOWN_MAX`] by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
#[non_exhaustive]
pub enum Reason {
    /// It waits for its children: its own work is over, or its handler awaits them.
    Children {
        /// How they are doing.
        tally: Tally,
        /// The children that have not ended.
        open: Vec<TaskId>,
    },
    /// Its handler waits for one of these signals.
    Signal {
        /// Their names.
        names: Vec<SignalName>,
    },
    /// Its handler sleeps, or waits no longer than this.
    Asleep {
        /// Until then.
        until: Timestamp,
    },
    /// It is not due: scheduled for later, or waiting to be tried again.
    NotDue {
        /// Until then.
        until: Timestamp,
    },
    /// It is a follow-up of families that have not settled.
    Families {
        /// Their roots.
        roots: Vec<TaskId>,
    },
    /// It runs in order, after a sibling that has not ended.
    Sibling {
        /// The one before it.
        task: TaskId,
    },
    /// Its queue is paused.
    Paused {
        /// The queue.
        queue: QueueName,
        /// Since then.
        since: Timestamp,
        /// The operator that paused it.
        by: Option<String>,
    },
    /// Its queue has as many families at work as it may.
    FamilyLimit {
        /// The queue, of the family's root.
        queue: QueueName,
        /// How many it may.
        limit: u32,
        /// The roots of the families at work.
        roots: Vec<TaskId>,
    },
    /// Its queue runs as many children as it may.
    ChildLimit {
        /// The queue.
        queue: QueueName,
        /// How many it may.
        limit: u32,
        /// The children that run.
        holders: Vec<TaskId>,
    },
    /// All slots of one of its keys are taken.
    KeyFull {
        /// The group.
        group: GroupRef,
        /// The key; empty for a total.
        key: String,
        /// Its slots.
        limit: u32,
        /// How many are taken.
        held: u64,
        /// The tasks that hold them.
        holders: Vec<TaskId>,
    },
    /// The room of one of its keys is kept for another task, which has waited for several keys for long.
    KeyKept {
        /// The group.
        group: GroupRef,
        /// The key; empty for a total.
        key: String,
        /// The task it is kept for.
        task: TaskId,
    },
    /// The rate of one of its keys allows no start, or a handler asked to slow down.
    KeyRate {
        /// The group.
        group: GroupRef,
        /// The key; empty for a total.
        key: String,
        /// Until then.
        until: Timestamp,
    },
    /// It was on a worker that was lost, and waits for a worker that runs no other such task.
    Suspect,
    /// No live worker claims from its queue and handles its command.
    NoWorker {
        /// The queue.
        queue: QueueName,
        /// The command.
        command: CommandName,
    },
    /// Nothing holds it: it is in line, to be taken by the next claim that has room for it.
    InLine {
        /// How many open tasks of its queue are before it in line, by priority, position and number: counted up to
        /// [`crate::limits::PAGE_MAX`]. On a queue with a fair key its turn may come earlier.
        before: u64,
    },
}

impl Reason {
    /// The word for it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Children { .. } => "children",
            Self::Signal { .. } => "signal",
            Self::Asleep { .. } => "asleep",
            Self::NotDue { .. } => "not_due",
            Self::Families { .. } => "families",
            Self::Sibling { .. } => "sibling",
            Self::Paused { .. } => "paused",
            Self::FamilyLimit { .. } => "family_limit",
            Self::ChildLimit { .. } => "child_limit",
            Self::KeyFull { .. } => "key_full",
            Self::KeyKept { .. } => "key_kept",
            Self::KeyRate { .. } => "key_rate",
            Self::Suspect => "suspect",
            Self::NoWorker { .. } => "no_worker",
            Self::InLine { .. } => "in_line",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Children { tally, open } => {
                let done = tally.completed + tally.failed + tally.cancelled;
                write!(f, "waits for its children: {done} of {} have ended, open: {}", tally.total, list(open))
            }
            Self::Signal { names } => {
                let names: Vec<_> = names.iter().map(SignalName::as_str).collect();
                write!(f, "its handler waits for the signal {}", names.join(" or "))
            }
            Self::Asleep { until } => write!(f, "its handler waits until {until}"),
            Self::NotDue { until } => write!(f, "not due until {until}"),
            Self::Families { roots } => write!(f, "starts after families that have not settled: {}", list(roots)),
            Self::Sibling { task } => write!(f, "runs in order, after task {task}"),
            Self::Paused { queue, since, by } => {
                write!(f, "queue {queue} is paused since {since}")?;
                by.as_ref().map_or(Ok(()), |by| write!(f, " by {by}"))
            }
            Self::FamilyLimit { queue, limit, roots } => {
                write!(f, "queue {queue} has {limit} of {limit} families at work: {}", list(roots))
            }
            Self::ChildLimit { queue, limit, holders } => {
                write!(f, "queue {queue} runs as many children as its limit of {limit} allows: {}", list(holders))
            }
            Self::KeyFull { group, key, limit, held, holders } => {
                write!(f, "{} has {held} of {limit} slots taken, by {}", named(group, key), list(holders))
            }
            Self::KeyKept { group, key, task } => {
                write!(f, "the next slot of {} is reserved for task {task}, which has waited long", named(group, key))
            }
            Self::KeyRate { group, key, until } => write!(f, "{} starts nothing until {until}", named(group, key)),
            Self::Suspect => write!(f, "its last worker was lost: it waits for a worker that runs no other such task"),
            Self::NoWorker { queue, command } => {
                write!(f, "no live worker handles command {command} on queue {queue}")
            }
            Self::InLine { before } => {
                // It is counted no further than that.
                let least = if *before >= limits::PAGE_MAX as u64 { "at least " } else { "" };
                write!(f, "nothing holds it: {least}{before} open tasks of its queue are before it")
            }
        }
    }
}

fn named(group: &GroupRef, key: &str) -> String {
    match (&group.command, key) {
        (Some(command), "") => format!("command {command}"),
        (_, key) => format!("{group}, key {key:?},"),
    }
}

fn list(tasks: &[TaskId]) -> String {
    let tasks: Vec<_> = tasks.iter().map(ToString::to_string).collect();
    if tasks.is_empty() { "none".to_owned() } else { tasks.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_ended_early_is_said_to_be_a_least() {
        let words = |before| Reason::InLine { before }.to_string();
        assert_eq!(words(999), "nothing holds it: 999 open tasks of its queue are before it");
        assert_eq!(words(1_000), "nothing holds it: at least 1000 open tasks of its queue are before it");
    }
}
