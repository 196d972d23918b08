//! The rate of a key: how many tasks may start in a span of time.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::limits::{RATE_MAX, RATE_SPAN_MAX};

/// So many starts in a span of time, after a pause so many at once. Every claim of a task counts as a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In this span.
    #[serde(rename = "per_us", with = "micros")]
    pub per: Duration,
    /// How many at once, when none have started for long enough.
    pub burst: u32,
}

impl Rate {
    /// So many in each second, one at a time.
    pub fn per_second(count: u32) -> Self {
        Self::new(count, Duration::from_secs(1))
    }

    /// So many in each minute, one at a time.
    pub fn per_minute(count: u32) -> Self {
        Self::new(count, Duration::from_secs(60))
    }

    /// So many in each span of time, one at a time.
    pub fn new(count: u32, per: Duration) -> Self {
        Self { count, per, burst: 1 }
    }

    /// And so many at once, when none have started for long enough.
    #[must_use]
    pub fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// The span between two starts, in microseconds: rounded up, so that the rate is never passed.
    pub fn interval_us(&self) -> i64 {
        let per = i64::try_from(self.per.as_micros()).unwrap_or(i64::MAX);
        let count = i64::from(self.count.max(1));
        per / count + i64::from(per % count != 0)
    }

    pub(super) fn check(&self) -> Result<(), InputError> {
        let in_range = 1..=RATE_MAX;
        if !in_range.contains(&self.count) || !in_range.contains(&self.burst) {
            return Err(InputError::Other(format!(
                "a rate of {} with a burst of {} is out of range; both must be 1 to {RATE_MAX}",
                self.count, self.burst
            )));
        }
        if self.per < Duration::from_millis(1) || self.per > RATE_SPAN_MAX {
            return Err(InputError::Other(format!(
                "a rate per {} µs is out of range; the span must be 1 millisecond to 31 days",
                self.per.as_micros()
            )));
        }
        if u128::from(self.count) > self.per.as_micros() {
            return Err(InputError::Other("a rate of more than one in a microsecond is out of range".to_owned()));
        }
        Ok(())
    }
}

/// A span of time, written as microseconds.
pub(crate) mod micros {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}
