//! The work of workers, minute by minute: how tasks ended, how long they had waited and how long they ran.
//!
//! A worker sums up what it does, and records the sums every few seconds. The store adds them to the minute in which it is
//! told, by its own clock. So nothing is written when a task ends, and what a worker had not noted when it died is missing.
//! A task that ends without a worker is in no minute: a pending task that is cancelled, a parent that its last child settles.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::group::micros;
use crate::limits::MINUTE_RECORDS_MAX;
use crate::name::{CommandName, QueueName};
use crate::state::State;
use crate::time::Timestamp;

/// The work in some span. The sum of two spans is the work in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Figures {
    /// Tasks that were started for the first time.
    pub started: u64,
    /// How long these tasks had waited since they were due, all together.
    #[serde(rename = "waited_us", with = "micros")]
    pub waited: Duration,
    /// How long the one of them had waited that waited longest.
    #[serde(rename = "waited_max_us", with = "micros")]
    pub waited_max: Duration,
    /// Attempts that ended well: the task's own work is done, also where children of it are open.
    pub completed: u64,
    /// Attempts that failed for good.
    pub failed: u64,
    /// Attempts that failed and are made again.
    pub retried: u64,
    /// Attempts that ended because someone asked for it.
    pub cancelled: u64,
    /// Runs that ended in a suspension.
    pub suspended: u64,
    /// How long the attempts ran that completed, failed, were retried or cancelled, all together; of one that was suspended
    /// before, its last run.
    #[serde(rename = "ran_us", with = "micros")]
    pub ran: Duration,
    /// How long the one of them ran that ran longest.
    #[serde(rename = "ran_max_us", with = "micros")]
    pub ran_max: Duration,
}

/// The work of one worker for one command on one queue since its last record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinuteRecord {
    /// The queue.
    pub queue: QueueName,
    /// The command.
    pub command: CommandName,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The work of all workers for one command on one queue in one minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minute {
    /// When the minute began.
    pub at: Timestamp,
    /// The queue.
    pub queue: QueueName,
    /// The command.
    pub command: CommandName,
    /// Their figures.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Figures {
    /// A task was started for the first time, so long after it was due.
    pub fn start(&mut self, waited: Duration) {
        *self = self.plus(&Self { started: 1, waited, waited_max: waited, ..Self::default() });
    }

    /// An attempt ran so long, and left its task in this state. A snoozed or released one is none of these.
    pub fn end(&mut self, state: State, ran: Duration) {
        let mut one = Self { ran, ran_max: ran, ..Self::default() };
        match state {
            // Its own work is done; the rest is up to its children.
            State::Completed | State::Waiting => one.completed = 1,
            State::Failed => one.failed = 1,
            State::Cancelled => one.cancelled = 1,
            State::Pending | State::Running => one.retried = 1,
        }
        *self = self.plus(&one);
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            started: self.started + other.started,
            waited: self.waited + other.waited,
            waited_max: self.waited_max.max(other.waited_max),
            completed: self.completed + other.completed,
            failed: self.failed + other.failed,
            retried: self.retried + other.retried,
            cancelled: self.cancelled + other.cancelled,
            suspended: self.suspended + other.suspended,
            ran: self.ran + other.ran,
            ran_max: self.ran_max.max(other.ran_max),
        }
    }

    /// Attempts that ended, however they did.
    pub fn ended(&self) -> u64 {
        self.completed + self.failed + self.retried + self.cancelled
    }

    /// How long tasks waited on the average before they were started; `None` where none was.
    pub fn mean_wait(&self) -> Option<Duration> {
        mean(self.waited, self.started)
    }

    /// How long attempts ran on the average. `None` where none ended, and where some were suspended: of those the last run
    /// says nothing of the whole.
    pub fn mean_run(&self) -> Option<Duration> {
        mean(self.ran, self.ended()).filter(|_| self.suspended == 0)
    }
}

fn mean(sum: Duration, count: u64) -> Option<Duration> {
    let micros = sum.as_micros().checked_div(u128::from(count))?;
    Some(Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX)))
}

impl Minute {
    /// When the minute began that this moment is in.
    pub fn of(moment: Timestamp) -> Timestamp {
        let micros = moment.as_micros();
        Timestamp::from_micros(micros - micros.rem_euclid(60_000_000))
    }
}

/// Refuses records that no store would keep.
pub fn check(records: &[MinuteRecord]) -> Result<(), InputError> {
    if records.len() > MINUTE_RECORDS_MAX {
        return Err(InputError::Batch { what: "minute records", given: records.len(), max: MINUTE_RECORDS_MAX });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn figures_add_up_and_the_longest_stays() {
        let mut figures = Figures::default();
        assert_eq!((figures.mean_wait(), figures.mean_run()), (None, None));
        figures.start(SECOND);
        figures.start(3 * SECOND);
        figures.end(State::Completed, 2 * SECOND);
        figures.end(State::Waiting, 4 * SECOND);
        figures.end(State::Pending, SECOND);
        figures.end(State::Failed, SECOND);
        assert_eq!((figures.started, figures.completed, figures.retried, figures.failed), (2, 2, 1, 1));
        assert_eq!((figures.mean_wait(), figures.waited_max), (Some(2 * SECOND), 3 * SECOND));
        assert_eq!((figures.mean_run(), figures.ran_max, figures.ended()), (Some(2 * SECOND), 4 * SECOND, 4));
        let twice = figures.plus(&figures);
        assert_eq!((twice.ended(), twice.mean_run(), twice.ran_max), (8, figures.mean_run(), figures.ran_max));
    }

    #[test]
    fn the_last_run_of_what_was_suspended_is_no_usual_one() {
        let mut figures = Figures { suspended: 1, ..Figures::default() };
        figures.end(State::Completed, SECOND);
        assert_eq!((figures.mean_run(), figures.ran), (None, SECOND));
    }

    #[test]
    fn a_minute_begins_with_its_first_second() {
        let at = |secs: i64| Timestamp::from_micros(secs * 1_000_000);
        assert_eq!([Minute::of(at(0)), Minute::of(at(59)), Minute::of(at(60))], [at(0), at(0), at(60)]);
        assert_eq!(Minute::of(at(-1)), at(-60));
    }

    #[test]
    fn a_minute_record_reads_as_it_is_written_in_sql() {
        let read: MinuteRecord =
            serde_json::from_str(r#"{"queue": "mail", "command": "send", "completed": 2, "ran_us": 500}"#).unwrap();
        assert_eq!((read.figures.completed, read.figures.ran), (2, Duration::from_micros(500)));
    }
}
