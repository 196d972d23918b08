//! Identities: tasks, workers, and the token that fences every write of a claim.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::InputError;

/// The number of a task. Unique in a store, roughly increasing, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub i64);

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for TaskId {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        match text.parse::<i64>() {
            Ok(id) if id > 0 => Ok(Self(id)),
            _ => Err(InputError::NotATaskId(text.to_owned())),
        }
    }
}

/// The number of a fan-out. It is never the number of a task other than the one whose own children it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FanOutId(pub i64);

impl fmt::Display for FanOutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for FanOutId {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        match text.parse::<i64>() {
            Ok(id) if id > 0 => Ok(Self(id)),
            _ => Err(InputError::Other(format!("not the number of a fan-out: {text:?}; see `kinfolk show`"))),
        }
    }
}

/// One worker process since its start. A restarted process has another id, so nobody can mistake it
/// for the one that died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub Uuid);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to write to the tasks of one claim call. Each call brings a fresh random one; a write
/// with an outdated token changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(pub Uuid);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
