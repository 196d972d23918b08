//! Why a message did not go out, and what may help.

use std::time::Duration;

/// A message did not go out, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SendError {
    /// In words, without anything secret.
    pub message: String,
    /// The remedy.
    pub then: Then,
}

/// The remedy after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Another try, later.
    Retry,
    /// Another try, and nothing else in between: the provider asks for a pause of this length.
    SlowDown(Duration),
    /// Nothing: the message itself is wrong.
    GiveUp,
}

impl SendError {
    /// Something that may pass.
    pub fn passing(message: impl Into<String>) -> Self {
        Self { message: message.into(), then: Then::Retry }
    }

    /// Something that no other try changes.
    pub fn for_good(message: impl Into<String>) -> Self {
        Self { message: message.into(), then: Then::GiveUp }
    }
}
