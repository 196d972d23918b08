//! Families: the tasks that a handler leaves behind when it is done, and the counts of its children.
//!
//! A task becomes terminal only when all its children are. What a handler makes is kept back until its attempt is
//! settled as done, and is then written in that same transaction; an attempt that ends in any other way makes nothing.

use serde::{Deserialize, Serialize};

use crate::enqueue::NewTask;
use crate::error::InputError;
use crate::limits::MADE_MAX;
use crate::state::State;
use crate::time::Timestamp;
use crate::{CommandName, StatusName};

/// The tasks that a handler made, to be written with the settle of its attempt, in this order: siblings, children, follow-ups, tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Children of the task's own parent, which waits for them too. A root has no siblings: its settle is refused.
    pub siblings: Vec<NewTask>,
    /// Children of the task, which waits for them. Priority and position come from the task and its root unless given.
    pub children: Vec<NewTask>,
    /// How the children run.
    pub order: ChildOrder,
    /// Tasks that start after the task's whole family has settled.
    pub follow_ups: Vec<FollowUp>,
    /// Tasks that have nothing to do with the family.
    pub tasks: Vec<NewTask>,
}

/// How the children of a task run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildOrder {
    /// Side by side.
    #[default]
    Together,
    /// One after another; each waits for the whole family of the one before, however that ended.
    InOrder,
    /// One after another, until one fails: the rest is then cancelled.
    InOrderUntilFailure,
}

/// A task that starts after the family of its maker has settled. It takes its maker's priority and its root's position
/// unless told otherwise. Under a unique key that a pending task holds, that task waits for this family too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowUp {
    /// The task.
    pub task: NewTask,
    /// The event that it waits for.
    pub when: When,
}

/// The event that a follow-up waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The family has settled, well or badly.
    #[default]
    Settled,
    /// The family is completed; if it ends in any other way, the follow-up is cancelled.
    Completed,
}

/// How many children there are, and how many of them have ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tally {
    /// All of them.
    pub total: u64,
    /// Ended well.
    pub completed: u64,
    /// Ended badly.
    pub failed: u64,
    /// Ended because someone asked.
    pub cancelled: u64,
}

/// How a family is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// All descendants of the root, together.
    pub family: Tally,
    /// The same by depth: first the root's children, then theirs.
    pub levels: Vec<Tally>,
}

/// The number of tasks that a repair of a family set going again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// Tasks that had failed by themselves, or were skipped because of that, and are pending again.
    pub pending: u64,
    /// Parents that had failed with them, and wait again.
    pub waiting: u64,
}

/// Whether anything is going on among a set of commands: for a front end that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: StatusName,
    /// The commands it watches.
    pub commands: Vec<CommandName>,
    /// Whether a task of one of them was at work, or ready to be, when it was last looked at.
    pub active: bool,
    /// When that changed last.
    pub changed_at: Timestamp,
}

impl Made {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many tasks this makes.
    pub fn len(&self) -> usize {
        self.siblings.len() + self.children.len() + self.follow_ups.len() + self.tasks.len()
    }

    /// Every task in it, in the order in which they are made.
    pub fn iter(&self) -> impl Iterator<Item = &NewTask> {
        let follow_ups = self.follow_ups.iter().map(|follow_up| &follow_up.task);
        self.siblings.iter().chain(&self.children).chain(follow_ups).chain(&self.tasks)
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.len() > MADE_MAX {
            return Err(InputError::Batch { what: "tasks made by one handler", given: self.len(), max: MADE_MAX });
        }
        self.iter().try_for_each(NewTask::check)
    }
}

impl ChildOrder {
    /// All orders.
    pub const ALL: [Self; 3] = [Self::Together, Self::InOrder, Self::InOrderUntilFailure];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Together => "together",
            Self::InOrder => "in_order",
            Self::InOrderUntilFailure => "in_order_until_failure",
        }
    }

    /// Reads the word back.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.as_str() == word)
    }
}

impl When {
    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Completed => "completed",
        }
    }
}

impl Tally {
    /// The number of children that have not ended.
    pub const fn open(&self) -> u64 {
        self.total.saturating_sub(self.ended())
    }

    /// The number of children that have ended.
    pub const fn ended(&self) -> u64 {
        self.completed + self.failed + self.cancelled
    }

    /// Counts one more child that ended in this state; one that has not ended changes nothing.
    pub const fn count(&mut self, state: State) {
        match state {
            State::Completed => self.completed += 1,
            State::Failed => self.failed += 1,
            State::Cancelled => self.cancelled += 1,
            State::Pending | State::Running | State::Waiting => {}
        }
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
            cancelled: self.cancelled + other.cancelled,
        }
    }

    /// This one without another one that is a part of it. One that was read later may have more.
    #[must_use]
    pub const fn without(self, part: &Self) -> Self {
        Self {
            total: self.total.saturating_sub(part.total),
            completed: self.completed.saturating_sub(part.completed),
            failed: self.failed.saturating_sub(part.failed),
            cancelled: self.cancelled.saturating_sub(part.cancelled),
        }
    }
}
