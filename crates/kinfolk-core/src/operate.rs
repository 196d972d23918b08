//! Answers to what an operator does.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{InputError, StoreError};
use crate::filter::{Filter, Order};
use crate::ids::TaskId;
use crate::state::State;

/// The answer to a request to cancel a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancelled {
    /// It was pending and is cancelled now.
    Now,
    /// It runs; its worker has been asked to stop it.
    Requested,
}

impl Cancelled {
    /// The error of every store about a task that has already ended, in this state.
    pub const fn too_late(task: TaskId, state: State) -> StoreError {
        let remedy = "nothing was changed: a task that has ended can't be cancelled";
        StoreError::WrongState { task, state, remedy }
    }
}

/// The action on many tasks at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Ask for their end, and for that of all below them.
    Cancel,
    /// Let them run again. Of one in a family that has ended, what failed there runs again.
    Retry,
    /// Let those that are not due run now.
    RunNow,
    /// Remove them for good: roots that have ended, with all below them.
    Delete,
}

/// One page of a bulk action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkPage {
    /// To how many tasks it was done; of a delete, how many went.
    pub done: u64,
    /// How many matched, and it could not be done to them.
    pub skipped: u64,
    /// Where the next page goes on, if there may be one: the value for [`Filter::after`].
    pub next: Option<TaskId>,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cancel, Self::Retry, Self::RunNow, Self::Delete];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::RunNow => "run_now",
            Self::Delete => "delete",
        }
    }

    /// In which states it can be done to a task.
    pub const fn states(self) -> &'static [State] {
        match self {
            Self::Cancel => &[State::Pending, State::Running, State::Waiting],
            Self::Retry => &[State::Failed, State::Cancelled],
            Self::RunNow => &[State::Pending],
            Self::Delete => &[State::Completed, State::Failed, State::Cancelled],
        }
    }

    /// The same filter, for those to which it can be done, the oldest first; `None` when there can be none. A retry is for those
    /// that failed, unless the filter names the cancelled ones.
    pub fn narrowed(self, filter: &Filter) -> Option<Filter> {
        let mut state: Vec<State> = self.states().to_vec();
        match filter.state.is_empty() {
            true if self == Self::Retry => state.retain(|state| *state == State::Failed),
            true => {}
            false => state.retain(|state| filter.state.contains(state)),
        }
        let roots = filter.roots || self == Self::Delete;
        (!state.is_empty()).then(|| Filter { state, roots, order: Order::Oldest, ..filter.clone() })
    }
}

impl FromStr for Action {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::ALL.into_iter().find(|action| action.as_str() == text).ok_or_else(|| {
            InputError::Other(format!("unknown action {text:?}; there are cancel, retry, run_now and delete"))
        })
    }
}

/// The versions before and after a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrated {
    /// The version before; 0 is no schema.
    pub from: i32,
    /// The version now.
    pub to: i32,
}

/// One step of the schema's history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// Its number.
    pub version: i32,
    /// Its purpose, in a few words.
    pub name: String,
    /// The SQL.
    pub sql: String,
}
