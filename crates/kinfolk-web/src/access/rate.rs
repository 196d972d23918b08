//! How many requests one caller may send: so many a second, and a burst after a pause.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Callers that are remembered; those who have been quiet are forgotten when there are more.
const CALLERS_MAX: usize = 10_000;

/// Counts the requests of callers.
pub(crate) struct Rate {
    per_second: u32,
    burst: u32,
    /// When the caller's bucket is full again.
    full_at: Mutex<HashMap<String, Instant>>,
}

impl Rate {
    pub(crate) fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second: per_second.max(1), burst: burst.max(1), full_at: Mutex::default() }
    }

    /// Whether this caller may go on.
    pub(crate) fn allows(&self, caller: &str) -> bool {
        self.allows_at(caller, Instant::now())
    }

    fn allows_at(&self, caller: &str, now: Instant) -> bool {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if full_at.len() > CALLERS_MAX {
            full_at.retain(|_, moment| *moment > now);
        }
        let step = Duration::from_secs(1) / self.per_second;
        let full = full_at.get(caller).copied().filter(|moment| *moment > now).unwrap_or(now) + step;
        if full > now + step * self.burst {
            return false;
        }
        full_at.insert(caller.to_owned(), full);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_so_many_a_second_for_each_caller() {
        let rate = Rate::new(10, 3);
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!([0; 4].map(|_| rate.allows_at("a", start)), [true, true, true, false]);
        assert!(rate.allows_at("b", start), "another caller has a bucket of its own");
        assert!(!rate.allows_at("a", at(50)));
        assert!(rate.allows_at("a", at(100)));
        assert!(!rate.allows_at("a", at(101)));
        assert_eq!([0; 4].map(|_| rate.allows_at("a", at(10_000))), [true, true, true, false]);
    }
}
