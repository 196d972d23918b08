//! What both sides are given to do.

use std::time::Duration;

use kinfolk_core::Json;

/// Tasks enqueued by one call.
pub(super) const ENQUEUE_BATCH: usize = 1_000;

/// Work that was timed as a whole and call by call.
pub(super) struct Timed {
    pub took: Duration,
    pub calls: Vec<Duration>,
}

/// The payload of the task with this number: small, and never twice the same.
pub(super) fn payload(n: usize) -> Json {
    Json::trusted(format!(r#"{{"number":{n}}}"#))
}
