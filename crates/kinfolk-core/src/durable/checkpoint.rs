//! Checkpoints: the recorded answers of durable operations, each under the name of its operation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::ids::{TaskId, Token};
use crate::json::Json;
use crate::limits::{NAME_BYTES_MAX, RECORD_BATCH_MAX, RESULT_BYTES_MAX};

/// The recorded answer of one durable operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which operation.
    pub key: Key,
    /// The sort of operation.
    pub kind: StepKind,
    /// A digest of what was asked for (its command and arguments); empty where nothing is. Another one under the same key
    /// means that the code has changed.
    pub digest: String,
    /// Its answer.
    pub value: Json,
}

/// Which operation of a handler a checkpoint belongs to. Names, not positions: operations may be added and moved between
/// two versions of the code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The branch of the handler it was done in; empty for the handler itself.
    pub branch: String,
    /// The name of the operation.
    pub name: String,
    /// Which operation of that name in that branch; 0 is the first.
    pub occurrence: u32,
}

/// Sorts of durable operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A side effect of the handler's own; the value is what it returned.
    Step,
    /// A child, a sibling, a follow-up or another task was made.
    Make,
    /// A fan-out was begun, or a call, which is a fan-out of one; the value is its number.
    FanOut,
    /// A page of a stream was taken in; the value is the accumulator and the cursor.
    Fold,
    /// A sleep; the value is when it ends.
    Sleep,
    /// A wait for a signal was begun; the value is when it is given up, or null.
    Wait,
    /// A signal was taken, or given up; the value is `[signal]`, or `[]`.
    Signal,
    /// The time was asked for.
    Now,
    /// A random number was asked for.
    Random,
}

/// Checkpoints of one attempt, to be written at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which task.
    pub task: TaskId,
    /// The token it was claimed under.
    pub token: Token,
    /// The checkpoints to write, in this order.
    pub checkpoints: Vec<Checkpoint>,
}

/// The answer to a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is written, or was before by the very same call.
    Written,
    /// The token no longer holds. Nothing was written.
    Stale,
}

impl Checkpoint {
    fn check(&self) -> Result<(), InputError> {
        self.key.check()?;
        if self.digest.len() > NAME_BYTES_MAX || self.digest.contains('\0') {
            return Err(InputError::TooLarge { what: "digest", bytes: self.digest.len(), max: NAME_BYTES_MAX });
        }
        if self.value.bytes() > RESULT_BYTES_MAX {
            let bytes = self.value.bytes();
            return Err(InputError::TooLarge { what: "recorded value", bytes, max: RESULT_BYTES_MAX });
        }
        Ok(())
    }
}

impl Key {
    pub(super) fn check(&self) -> Result<(), InputError> {
        for (kind, name) in [("branch", &self.branch), ("step", &self.name)] {
            let why = match () {
                () if name.len() > NAME_BYTES_MAX => "it is too long",
                () if kind == "step" && name.is_empty() => "it is empty",
                () if name.contains('\0') => "it holds \\0",
                () => continue,
            };
            return Err(InputError::Name { kind, name: name.clone(), why });
        }
        Ok(())
    }
}

impl StepKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Step,
        Self::Make,
        Self::FanOut,
        Self::Fold,
        Self::Sleep,
        Self::Wait,
        Self::Signal,
        Self::Now,
        Self::Random,
    ];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Make => "make",
            Self::FanOut => "fan_out",
            Self::Fold => "fold",
            Self::Sleep => "sleep",
            Self::Wait => "wait",
            Self::Signal => "signal",
            Self::Now => "now",
            Self::Random => "random",
        }
    }

    /// Reads the word back.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Record {
    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        check_checkpoints(&self.checkpoints)
    }
}

pub(super) fn check_checkpoints(checkpoints: &[Checkpoint]) -> Result<(), InputError> {
    if checkpoints.len() > RECORD_BATCH_MAX {
        return Err(InputError::Batch { what: "checkpoints", given: checkpoints.len(), max: RECORD_BATCH_MAX });
    }
    checkpoints.iter().try_for_each(Checkpoint::check)
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.branch.is_empty() {
            write!(f, "{}/", self.branch)?;
        }
        f.write_str(&self.name)?;
        if self.occurrence > 0 { write!(f, "#{}", self.occurrence + 1) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_as_people_say_them() {
        let key = Key { branch: "mail".into(), name: "send".into(), occurrence: 1 };
        assert_eq!(key.to_string(), "mail/send#2");
        assert_eq!(Key { branch: String::new(), occurrence: 0, ..key }.to_string(), "send");
    }
}
