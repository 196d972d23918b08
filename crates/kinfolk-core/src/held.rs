//! Pending, and why: how many pending tasks of each queue are held up by what.
//!
//! A store counts what its indexes tell apart, no further than [`crate::limits::LOOK_MAX`] each, and nothing task by task;
//! which of several reasons counts is decided here. For all reasons of one task there is [`crate::explain`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::group::GroupRef;
use crate::limits::LOOK_MAX;
use crate::name::{CommandName, QueueName};
use crate::time::Timestamp;

/// How many pending tasks of a queue are held up by one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The queue.
    pub queue: QueueName,
    /// By what.
    #[serde(flatten)]
    pub by: HeldBy,
    /// This many, and at most [`crate::limits::LOOK_MAX`] of a kind.
    pub tasks: u64,
    /// There may be more.
    pub more: bool,
}

/// The reason why a pending task is held: the first of these that applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
#[non_exhaustive]
pub enum HeldBy {
    /// Its queue is paused.
    Paused,
    /// It is not due.
    NotDue,
    /// It waits for another task or family to end.
    After,
    /// Its queue has as many families at work as it may.
    FamilyLimit,
    /// It waits behind a key whose slots are taken.
    KeyFull {
        /// The group.
        group: GroupRef,
        /// The key; empty for a total.
        key: String,
    },
    /// It waits behind a key that allows no start now.
    KeyRate {
        /// The group.
        group: GroupRef,
        /// The key; empty for a total.
        key: String,
    },
    /// It waits for its turn, on a queue with a fair key.
    Turn,
    /// No live worker claims from its queue and handles its command.
    NoWorker {
        /// The command.
        command: CommandName,
    },
    /// Nothing: it is in line.
    InLine,
}

/// A number of pending tasks that a store tells apart from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The queue.
    pub queue: QueueName,
    /// The queue is paused.
    pub paused: bool,
    /// The reason that they share.
    pub fact: Fact,
    /// How many, counted up to one more than [`LOOK_MAX`].
    pub tasks: u64,
    /// Not all were counted.
    pub cut: bool,
}

/// The reason that pending tasks share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// They are not due.
    NotDue,
    /// Their gate is `after`.
    After,
    /// Their gate is `limit`, and no key holds them.
    FamilyLimit,
    /// They wait behind a key. `until`: it allows no start before.
    Key {
        /// The group.
        group: GroupRef,
        /// The key.
        key: String,
        /// No start before this.
        until: Option<Timestamp>,
    },
    /// Nothing holds them. `fair`: on a queue with a fair key. `served`: a live worker can run them.
    Open {
        /// The command.
        command: CommandName,
        /// The queue has a fair key.
        fair: bool,
        /// A live worker claims from the queue and handles the command.
        served: bool,
    },
}

/// Says of all that pends by what it is held up, by queue, in the order of the reasons.
pub fn held(pending: impl IntoIterator<Item = Pending>, now: Timestamp) -> Vec<Held> {
    let mut sums: BTreeMap<(QueueName, HeldBy), (u64, bool)> = BTreeMap::new();
    for Pending { queue, paused, fact, tasks, cut } in pending {
        let by = if paused { HeldBy::Paused } else { reason(fact, now) };
        let (sum, more) = sums.entry((queue, by)).or_default();
        *more |= cut || tasks > LOOK_MAX as u64;
        *sum += tasks.min(LOOK_MAX as u64);
    }
    let known = sums.into_iter().filter(|(_, (tasks, _))| *tasks > 0);
    known.map(|((queue, by), (tasks, more))| Held { queue, by, tasks, more }).collect()
}

fn reason(fact: Fact, now: Timestamp) -> HeldBy {
    match fact {
        Fact::NotDue => HeldBy::NotDue,
        Fact::After => HeldBy::After,
        Fact::FamilyLimit => HeldBy::FamilyLimit,
        Fact::Key { group, key, until } if until.is_some_and(|until| until > now) => HeldBy::KeyRate { group, key },
        Fact::Key { group, key, .. } => HeldBy::KeyFull { group, key },
        Fact::Open { fair: true, .. } => HeldBy::Turn,
        Fact::Open { command, served: false, .. } => HeldBy::NoWorker { command },
        Fact::Open { .. } => HeldBy::InLine,
    }
}

impl HeldBy {
    /// The word for it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Paused => "paused",
            Self::NotDue => "not_due",
            Self::After => "after",
            Self::FamilyLimit => "family_limit",
            Self::KeyFull { .. } => "key_full",
            Self::KeyRate { .. } => "key_rate",
            Self::Turn => "turn",
            Self::NoWorker { .. } => "no_worker",
            Self::InLine => "in_line",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_once_under_the_first_reason() {
        let queue = |name: &str| QueueName::new(name).unwrap();
        let open = |served| Fact::Open { command: CommandName::new("mail").unwrap(), fair: false, served };
        let pending = |name, paused, fact, tasks| Pending { queue: queue(name), paused, fact, tasks, cut: false };
        let found = held(
            [
                pending("b", false, open(true), 3),
                pending("b", false, Fact::NotDue, LOOK_MAX as u64 + 1),
                pending("b", false, open(false), 2),
                pending("a", true, open(true), 4),
                pending("a", true, Fact::NotDue, 1),
                pending("a", false, Fact::After, 0),
            ],
            Timestamp::default(),
        );
        let words: Vec<_> =
            found.iter().map(|held| (held.queue.as_str(), held.by.word(), held.tasks, held.more)).collect();
        let many = LOOK_MAX as u64;
        assert_eq!(
            words,
            [
                ("a", "paused", 5, false),
                ("b", "not_due", many, true),
                ("b", "no_worker", 2, false),
                ("b", "in_line", 3, false)
            ]
        );
    }
}
