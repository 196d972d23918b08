//! Unique keys: at most one task of a command under one key, while the key is held. Unless another scope is asked for, that is
//! while the task waits to start.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::limits::{DELAY_MAX, UNIQUE_KEY_BYTES_MAX};

/// The key of a task among the tasks of its command, how long it is held, and what a duplicate does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unique {
    /// The key; any text up to 200 bytes without `\0`.
    pub key: String,
    /// How long the key is held.
    #[serde(default)]
    pub scope: UniqueScope,
    /// The effect of an enqueue under a held key.
    #[serde(default)]
    pub on_duplicate: OnDuplicate,
}

/// How long a unique key is held by the task that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UniqueScope {
    /// While the task waits to start: it is pending and has never run. One that runs, or is tried again, lets the next one wait
    /// behind it.
    #[default]
    Pending,
    /// Until the task is terminal.
    Active,
    /// For a span after the task was enqueued, whatever becomes of it.
    Window(Duration),
}

/// The effect of an enqueue under a held key. A task that has started is never changed: then the answer is
/// `existing`, whatever this says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDuplicate {
    /// The task in place stays as it is: `existing`.
    #[default]
    Keep,
    /// The new payload takes the old one's place: `merged`.
    Replace,
    /// The payloads are merged ([`crate::Json::merged`]): `merged`.
    Merge,
}

impl Unique {
    /// A key that is held while the task waits to start (`pending`), and `keep`.
    pub fn key(key: impl Into<String>) -> Self {
        Self { key: key.into(), scope: UniqueScope::default(), on_duplicate: OnDuplicate::default() }
    }

    /// The same key, held as long as `scope` says.
    #[must_use]
    pub fn scope(self, scope: UniqueScope) -> Self {
        Self { scope, ..self }
    }

    /// The same key, with another treatment of duplicates.
    #[must_use]
    pub fn on_duplicate(self, on_duplicate: OnDuplicate) -> Self {
        Self { on_duplicate, ..self }
    }

    /// Refuses a key that no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.key.is_empty() || self.key.len() > UNIQUE_KEY_BYTES_MAX || self.key.contains('\0') {
            return Err(InputError::UniqueKey { key: self.key.chars().take(60).collect(), bytes: self.key.len() });
        }
        match self.scope {
            UniqueScope::Window(span) if span > DELAY_MAX || span.is_zero() => {
                Err(InputError::Delay(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
            }
            _ => Ok(()),
        }
    }
}

impl UniqueScope {
    /// The word used in SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Window(_) => "window",
        }
    }
}

impl OnDuplicate {
    /// The word used in SQL and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }
}
