//! The store's clock: whatever clock it was opened with, never below the highest time stored in the file.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kinfolk_core::{Clock, Timestamp};

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from(jiff::Timestamp::now())
    }
}

/// A clock that does not go back, neither in this process nor behind what others have stored.
pub(crate) struct StoreClock {
    source: Arc<dyn Clock>,
    highest: AtomicI64,
}

impl StoreClock {
    pub(crate) fn new(source: Arc<dyn Clock>) -> Self {
        Self { source, highest: AtomicI64::new(0) }
    }

    /// The time now.
    pub(crate) fn now(&self) -> Timestamp {
        let read = self.source.now().as_micros();
        Timestamp::from_micros(self.highest.fetch_max(read, Ordering::Relaxed).max(read))
    }

    /// Takes note of a time that was found in the file.
    pub(crate) fn raise(&self, stored: Timestamp) {
        self.highest.fetch_max(stored.as_micros(), Ordering::Relaxed);
    }

    /// The time of the clock it was opened with, unbound by the stored one.
    pub(crate) fn source_now(&self) -> Timestamp {
        self.source.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(AtomicI64);

    impl Clock for Fixed {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn time_never_goes_below_what_was_stored() {
        let source = Arc::new(Fixed(AtomicI64::new(100)));
        let clock = StoreClock::new(source.clone());
        assert_eq!(clock.now().as_micros(), 100);
        clock.raise(Timestamp::from_micros(500));
        assert_eq!(clock.now().as_micros(), 500);
        source.0.store(400, Ordering::Relaxed);
        assert_eq!(clock.now().as_micros(), 500);
        source.0.store(600, Ordering::Relaxed);
        assert_eq!(clock.now().as_micros(), 600);
    }
}
