//! Signals: the answers to the handler that takes one, and to the sender.

use crate::json::Json;

/// The answer to a handler that asks for a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenSignal {
    /// The oldest one of that name, now recorded under the handler's key and gone from the line.
    Signal(Json),
    /// There is none.
    Nothing,
    /// The token no longer holds. Nothing was taken.
    Stale,
}

/// The answer to a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalled {
    /// The task waited for it and is resumed.
    Resumed,
    /// It is kept until the task asks for it.
    Kept,
}
