//! How the core's values are said in SQL.

use std::time::Duration;

use kinfolk_core::{Outcome, Retry};

/// A span in microseconds. Spans beyond what fits were refused before.
pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// The word for how an attempt ended.
pub(crate) fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done(_) => "done",
        Outcome::Failed { retry: Retry::Never, .. } => "never",
        Outcome::Failed { .. } => "failed",
        Outcome::Snooze(_) => "snooze",
        Outcome::YieldPlace(_) => "yield",
        Outcome::Release => "release",
        Outcome::Cancelled => "cancelled",
    }
}
