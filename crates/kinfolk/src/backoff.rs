//! How long to wait before a call to the store is repeated: doubling, capped, never in step with others.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// A growing pause. [`Backoff::reset`] after a success.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    cap: Duration,
    next: Duration,
    random: RandomState,
    turn: u64,
}

impl Backoff {
    pub(crate) fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, next: first, random: RandomState::new(), turn: 0 }
    }

    /// For calls that failed: from 50 ms to 2 s.
    pub(crate) fn for_trouble() -> Self {
        Self::new(Duration::from_millis(50), Duration::from_secs(2))
    }

    /// Begins again with the first pause.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }

    /// The next pause, off by up to a quarter; the one after it is so many times as long.
    pub(crate) fn pause(&mut self, factor: u32) -> Duration {
        let pause = self.next.min(self.cap);
        self.next = (pause * factor).min(self.cap);
        self.turn += 1;
        let off = u32::try_from(self.random.hash_one(self.turn) % 50).unwrap_or(0);
        pause * (75 + off) / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_cap_and_start_again_after_a_reset() {
        let mut backoff = Backoff::new(Duration::from_millis(25), Duration::from_secs(1));
        let pauses: Vec<_> = (0..6).map(|_| backoff.pause(4)).collect();
        for (pause, plain) in pauses.iter().zip([25, 100, 400, 1000, 1000, 1000]) {
            let millis = pause.as_micros();
            assert!((plain * 750..=plain * 1250).contains(&millis), "{pauses:?}");
        }
        backoff.reset();
        assert!(backoff.pause(4) < Duration::from_millis(32));
    }
}
