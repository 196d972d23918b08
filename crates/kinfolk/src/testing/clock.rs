//! Time that moves only when a test moves it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use kinfolk_core::{Clock, Timestamp};

/// 2026-01-01 at noon, UTC.
const BEGINNING: i64 = 1_767_268_800_000_000;

/// A clock that is moved by hand. It never goes back.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    /// Moves time forward.
    pub fn advance(&self, span: Duration) {
        self.0.fetch_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX / 2), Ordering::SeqCst);
    }

    /// Moves time forward to this moment; nothing happens if it has passed.
    pub fn advance_to(&self, moment: Timestamp) {
        self.0.fetch_max(moment.as_micros(), Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self(AtomicI64::new(BEGINNING))
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}
