//! The life of a task: its states, the gate that holds a pending one, and the legal moves.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::InputError;

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Waits to be claimed; its [`Gate`] says whether it may be.
    Pending,
    /// A worker has it under a token.
    Running,
    /// Its attempt is over or suspended, and something it depends on is still open.
    Waiting,
    /// Ended well.
    Completed,
    /// Ended badly, and will not be tried again by itself.
    Failed,
    /// Ended because someone asked.
    Cancelled,
}

/// Why a pending task may or may not be claimed. Only `open` tasks are in the index that claims read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// May be claimed now.
    Open,
    /// Not due yet.
    Time,
    /// A limit it needs a slot of is full.
    Limit,
    /// Waits for another task's family to settle.
    After,
}

/// Why a task moved from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A worker took it.
    Claim,
    /// Its attempt ended, or what it waited for did.
    Settle,
    /// Its worker's lease was lost.
    Recover,
    /// Someone asked for its end.
    Cancel,
    /// The wait of its suspended handler is over.
    Resume,
    /// Someone asked for another go.
    Retry,
}

use Move::{Cancel, Claim, Recover, Resume, Retry, Settle};
use State::{Cancelled, Completed, Failed, Pending, Running, Waiting};

/// Every legal move. Anything that is not in this table is a bug in a store.
pub const MOVES: &[(State, Move, State)] = &[
    (Pending, Claim, Running),
    (Pending, Cancel, Cancelled),
    (Running, Settle, Completed),
    (Running, Settle, Failed),
    (Running, Settle, Cancelled),
    (Running, Settle, Pending),
    (Running, Settle, Waiting),
    (Running, Recover, Pending),
    (Running, Recover, Failed),
    (Running, Recover, Cancelled),
    (Running, Recover, Waiting),
    (Pending, Cancel, Waiting),
    (Waiting, Cancel, Cancelled),
    (Waiting, Settle, Completed),
    (Waiting, Settle, Failed),
    (Waiting, Settle, Cancelled),
    (Waiting, Resume, Pending),
    (Failed, Retry, Pending),
    (Cancelled, Retry, Pending),
    (Failed, Retry, Waiting),
];

impl State {
    /// All states, in the order of a task's life.
    pub const ALL: [Self; 6] = [Pending, Running, Waiting, Completed, Failed, Cancelled];

    /// Whether nothing more happens to such a task by itself.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Completed | Failed | Cancelled)
    }

    /// Whether the table allows this move.
    pub fn may(self, why: Move, to: Self) -> bool {
        MOVES.contains(&(self, why, to))
    }

    /// The word used in SQL, HTTP, the command line and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Pending => "pending",
            Running => "running",
            Waiting => "waiting",
            Completed => "completed",
            Failed => "failed",
            Cancelled => "cancelled",
        }
    }
}

impl Gate {
    /// All gates.
    pub const ALL: [Self; 4] = [Self::Open, Self::Time, Self::Limit, Self::After];

    /// The word used in SQL, HTTP, the command line and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Time => "time",
            Self::Limit => "limit",
            Self::After => "after",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for State {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| InputError::UnknownState(text.to_owned()))
    }
}

impl FromStr for Gate {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::ALL.into_iter().find(|gate| gate.as_str() == text).ok_or_else(|| InputError::UnknownGate(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_terminal_state_except_by_a_manual_retry() {
        for &(from, why, _) in MOVES {
            assert!(!from.is_terminal() || why == Retry, "{from} leaves by {why:?}");
        }
        assert!(!Completed.may(Retry, Pending), "a completed task is never run again");
    }

    #[test]
    fn words_parse_back() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse::<State>().unwrap(), state);
        }
        for gate in Gate::ALL {
            assert_eq!(gate.as_str().parse::<Gate>().unwrap(), gate);
        }
        assert!("done".parse::<State>().unwrap_err().to_string().contains("pending"));
    }
}
