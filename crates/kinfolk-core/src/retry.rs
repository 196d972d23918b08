//! When a failed attempt is tried again.
//!
//! The delay is a pure function of the policy, the task's number and the attempt: the jitter comes from
//! a hash, so both stores, every worker and every test compute the same one. The same arithmetic is in
//! `kinfolk.retry_delay` for PostgreSQL; [`VECTORS`] is run against both.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::enqueue::check_attempts;
use crate::error::InputError;
use crate::ids::TaskId;
use crate::limits::{ATTEMPTS_DEFAULT, DELAY_MAX, STRIKE_DELAY_FIRST, STRIKE_DELAY_MAX, STRIKES_MAX};

/// How often and how patiently a command is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Attempts in all, the first one counted. What declares none has 10, and as a sub-task as many as its parent.
    pub max_attempts: Option<u16>,
    /// The delay after the first failure, in milliseconds; it doubles with each further one. Default 1000.
    pub base_ms: u32,
    /// No delay is longer, in milliseconds. Default one hour.
    pub cap_ms: u32,
    /// How far a delay may be off, in percent of itself, to keep a herd apart. Default 10.
    pub jitter_pct: u8,
    /// Strikes that make a task poison: losses of a worker while the task was its only suspect. Default 20.
    pub max_strikes: u16,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: None, base_ms: 1_000, cap_ms: 3_600_000, jitter_pct: 10, max_strikes: 20 }
    }
}

impl RetryPolicy {
    /// Refuses a policy that no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        check_attempts(self.max_attempts)?;
        if !(1..=STRIKES_MAX).contains(&self.max_strikes) {
            return Err(InputError::Strikes(u32::from(self.max_strikes)));
        }
        if self.jitter_pct > 100 {
            return Err(InputError::Jitter(self.jitter_pct));
        }
        if Duration::from_millis(u64::from(self.cap_ms)) > DELAY_MAX {
            return Err(InputError::Delay(u64::from(self.cap_ms)));
        }
        Ok(())
    }

    /// Attempts in all of a task that says nothing itself. `parent`: those of the task that awaits it, if one does.
    pub fn attempts(&self, parent: Option<u16>) -> u16 {
        self.max_attempts.or(parent).unwrap_or(ATTEMPTS_DEFAULT)
    }

    /// How long to wait after attempt number `attempt` (1 is the first) of this task failed.
    pub fn delay(&self, task: TaskId, attempt: u16) -> Duration {
        let doublings = u32::from(attempt.max(1) - 1).min(31);
        let plain_us = (u64::from(self.base_ms) << doublings).min(u64::from(self.cap_ms)) * 1_000;
        let reach_us = plain_us / 100 * u64::from(self.jitter_pct);
        // From -reach to +reach, by the hash; never beyond the cap's own jitter.
        let micros = plain_us - reach_us
            + reach_us * 2 / HASH_MODULUS * spread(task, attempt)
            + reach_us * 2 % HASH_MODULUS * spread(task, attempt) / HASH_MODULUS;
        Duration::from_micros(micros)
    }
}

/// How long a task waits that has this many strikes: from one second on, twice as long each time, up to five minutes. What took
/// its workers down gets time to pass, and a task that does it by itself does it seldom.
pub fn strike_delay(strikes: u16) -> Duration {
    match strikes {
        0 => Duration::ZERO,
        _ => STRIKE_DELAY_FIRST.saturating_mul(1 << (strikes - 1).min(16)).min(STRIKE_DELAY_MAX),
    }
}

const HASH_MODULUS: u64 = 1_000_003;

/// A number below [`HASH_MODULUS`] that differs from task to task and attempt to attempt.
fn spread(task: TaskId, attempt: u16) -> u64 {
    let task = task.0.unsigned_abs() % HASH_MODULUS;
    (task * 7_919 + u64::from(attempt) * 104_729) % HASH_MODULUS
}

/// Policy (base, cap, jitter), task, attempt, and the delay in microseconds that both implementations give.
pub const VECTORS: &[(u32, u32, u8, i64, u16, u64)] = &[
    (1_000, 3_600_000, 0, 1, 1, 1_000_000),
    (1_000, 3_600_000, 0, 1, 4, 8_000_000),
    (1_000, 5_000, 0, 1, 4, 5_000_000),
    (0, 0, 10, 7, 3, 0),
    (1_000, 3_600_000, 10, 1, 1, 922_529),
    (1_000, 3_600_000, 10, 42, 2, 2_016_821),
    (1_000, 3_600_000, 100, 9_000_000_000, 40, 2_712_879_861),
    (4_000_000_000, 4_000_000_000, 50, 3, 1_000, 5_009_770_970_687),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_those_of_the_table() {
        for &(base_ms, cap_ms, jitter_pct, task, attempt, micros) in VECTORS {
            let policy = RetryPolicy { base_ms, cap_ms, jitter_pct, ..RetryPolicy::default() };
            assert_eq!(
                policy.delay(TaskId(task), attempt).as_micros(),
                u128::from(micros),
                "{policy:?} task {task} attempt {attempt}"
            );
        }
    }

    #[test]
    fn each_strike_waits_twice_as_long_up_to_five_minutes() {
        let seconds: Vec<_> = (0..12).map(|strikes| strike_delay(strikes).as_secs()).collect();
        assert_eq!(seconds, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(strike_delay(u16::MAX), STRIKE_DELAY_MAX);
    }

    #[test]
    fn jitter_stays_within_its_share() {
        let policy = RetryPolicy::default();
        for task in 1..2_000 {
            let delay = policy.delay(TaskId(task), 3).as_micros();
            assert!((3_600_000..=4_400_000).contains(&delay), "task {task}: {delay}");
        }
    }
}
