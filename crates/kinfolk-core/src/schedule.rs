//! Recurring schedules: cron lines in a time zone, and what happens to missed and overlapping runs.
//!
//! A schedule is armed for one moment at a time (`next_at`). Any worker may fire it when that moment has come: it
//! computes a [`Plan`] and the store carries it out only if `next_at` is still the same. So each tick is fired once in
//! the whole fleet, and a handler that fails never disarms its schedule.

use std::str::FromStr;
use std::time::Duration;

use croner::Cron;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::enqueue::{NewTask, Rejection};
use crate::error::InputError;
use crate::ids::TaskId;
use crate::limits::{CATCH_UP_MAX, CRON_BYTES_MAX};
use crate::name::ScheduleName;
use crate::time::Timestamp;
use crate::worker::WorkerView;

/// A tick that is fired within this span of its moment was not missed.
pub const GRACE: Duration = Duration::from_secs(60);

/// A recurring schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Its name.
    pub name: ScheduleName,
    /// When: five fields, or six with seconds first.
    pub cron: String,
    /// The IANA time zone the cron line is read in.
    pub zone: String,
    /// The task that each tick enqueues.
    pub task: NewTask,
    /// The treatment of ticks at which no worker was there to fire.
    pub missed: Missed,
    /// The treatment of a tick while the task of the tick before has not ended.
    pub overlap: Overlap,
    /// Whether it is switched off.
    pub paused: bool,
    /// The tick it is armed for; `None` when it will never fire again.
    pub next_at: Option<Timestamp>,
    /// The latest tick that was fired.
    pub last_at: Option<Timestamp>,
    /// The task of that tick.
    pub last_task: Option<TaskId>,
    /// When a worker that started last said that it declares this schedule; none for one that no code declares.
    pub declared_at: Option<Timestamp>,
}

/// The treatment of ticks at which no worker was there to fire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// One run makes up for all of them.
    #[default]
    Once,
    /// Each gets its run, the latest hundred at most.
    All,
    /// They are left out.
    Skip,
}

/// The treatment of a tick while the task of the tick before has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// The new one is enqueued all the same.
    #[default]
    Allow,
    /// The tick is left out.
    Skip,
}

/// The next action of a due schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which schedule.
    pub name: ScheduleName,
    /// The tick it was armed for when this was planned; the store fires only if it still is.
    pub armed_for: Timestamp,
    /// The ticks to enqueue a task for, oldest first.
    pub ticks: Vec<Timestamp>,
    /// The tick it is armed for next.
    pub next_at: Option<Timestamp>,
}

/// The answer to a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fired {
    /// The tasks enqueued.
    pub tasks: Vec<TaskId>,
    /// Ticks left out because the task before had not ended.
    pub overlapped: u64,
    /// Why ticks made no task, one reason for each such tick: its queue, command or group has gone since the schedule was put.
    pub rejected: Vec<Rejection>,
    /// Someone else had fired it already; nothing was done.
    pub too_late: bool,
}

impl Schedule {
    /// A schedule in UTC with default rules, not armed yet: [`Schedule::armed`] does that.
    pub fn new(name: ScheduleName, cron: impl Into<String>, task: NewTask) -> Self {
        Self {
            name,
            cron: cron.into(),
            zone: "UTC".to_owned(),
            task,
            missed: Missed::default(),
            overlap: Overlap::default(),
            paused: false,
            next_at: None,
            last_at: None,
            last_task: None,
            declared_at: None,
        }
    }

    /// Whether the other one, as it was asked for, would do the same.
    pub fn does_as(&self, other: &Self) -> bool {
        let asked = |of: &Self| (of.cron.clone(), of.zone.clone(), of.task.clone(), of.missed, of.overlap);
        asked(self) == asked(other)
    }

    /// Checks everything and arms the schedule for its first tick after `now`.
    pub fn armed(self, now: Timestamp) -> Result<Self, InputError> {
        self.task.check()?;
        let next_at = self.tick_after(now)?;
        if next_at.is_none() {
            return Err(InputError::CronNever(self.cron));
        }
        Ok(Self { next_at, ..self })
    }

    /// The first tick after a moment; `None` when there is none.
    pub fn tick_after(&self, moment: Timestamp) -> Result<Option<Timestamp>, InputError> {
        let (cron, zone) = self.parsed()?;
        Ok(next_tick(&cron, &zone, moment))
    }

    /// The action to take now, when the schedule is due; `None` when it is not.
    pub fn plan(&self, now: Timestamp) -> Result<Option<Plan>, InputError> {
        let Some(armed_for) = self.next_at.filter(|next| !self.paused && *next <= now) else {
            return Ok(None);
        };
        let (cron, zone) = self.parsed()?;
        let mut ticks = std::collections::VecDeque::from([armed_for]);
        let mut next_at = next_tick(&cron, &zone, armed_for);
        while let Some(tick) = next_at.filter(|tick| *tick <= now) {
            ticks.push_back(tick);
            if ticks.len() > CATCH_UP_MAX {
                ticks.pop_front();
            }
            next_at = next_tick(&cron, &zone, tick);
        }
        let latest = *ticks.back().unwrap_or(&armed_for);
        let ticks = match self.missed {
            Missed::All => ticks.into(),
            Missed::Once => vec![latest],
            Missed::Skip if now.since(latest) <= GRACE => vec![latest],
            Missed::Skip => Vec::new(),
        };
        Ok(Some(Plan { name: self.name.clone(), armed_for, ticks, next_at }))
    }

    fn parsed(&self) -> Result<(Cron, TimeZone), InputError> {
        if self.cron.len() > CRON_BYTES_MAX {
            return Err(InputError::TooLarge { what: "cron line", bytes: self.cron.len(), max: CRON_BYTES_MAX });
        }
        let cron = Cron::from_str(&self.cron)
            .map_err(|fault| InputError::Cron { line: self.cron.clone(), why: fault.to_string() })?;
        let zone = TimeZone::get(&self.zone).map_err(|_| InputError::TimeZone(self.zone.clone()))?;
        Ok((cron, zone))
    }
}

/// The schedules that code once declared, where all these live workers of their commands started later, and did not declare them
/// any more.
pub fn undeclared<'a>(schedules: &'a [Schedule], alive: &[&WorkerView]) -> Vec<&'a ScheduleName> {
    let left = schedules.iter().filter(|schedule| {
        let able = alive.iter().filter(|worker| worker.commands.contains(&schedule.task.command));
        let first = able.map(|worker| worker.started_at).min();
        matches!((schedule.declared_at, first), (Some(declared), Some(first)) if first > declared)
    });
    left.map(|schedule| &schedule.name).collect()
}

fn next_tick(cron: &Cron, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let start = after.to_jiff().to_zoned(zone.clone());
    cron.find_next_occurrence(&start, false).ok().map(|tick| Timestamp::from(tick.timestamp()))
}

macro_rules! words {
    ($type:ident, $what:literal, $($variant:ident = $word:literal),+) => {
        impl $type {
            /// The word used everywhere.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl FromStr for $type {
            type Err = InputError;

            fn from_str(text: &str) -> Result<Self, InputError> {
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(InputError::Other(format!(
                        concat!("unknown ", $what, " rule {:?}; there are: ", $($word, " "),+), text
                    ))),
                }
            }
        }
    };
}

words!(Missed, "missed-run", Once = "once", All = "all", Skip = "skip");
words!(Overlap, "overlap", Allow = "allow", Skip = "skip");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::name::CommandName;

    fn schedule(cron: &str, zone: &str) -> Schedule {
        let task = NewTask::new(CommandName::new("report").unwrap(), Json::object());
        Schedule { zone: zone.to_owned(), ..Schedule::new(ScheduleName::new("nightly").unwrap(), cron, task) }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_line_that_can_never_fire_is_refused() {
        let fault = schedule("0 0 30 2 *", "UTC").armed(at("2026-01-01T00:00:00Z")).unwrap_err();
        assert_eq!(fault, InputError::CronNever("0 0 30 2 *".into()));
        assert!(matches!(schedule("soon", "UTC").armed(at("2026-01-01T00:00:00Z")), Err(InputError::Cron { .. })));
        assert!(matches!(
            schedule("* * * * *", "Mars/Base").armed(at("2026-01-01T00:00:00Z")),
            Err(InputError::TimeZone(_))
        ));
    }

    #[test]
    fn the_zone_decides_when_midnight_is() {
        let armed = schedule("0 0 * * *", "Europe/Oslo").armed(at("2026-01-01T00:00:00Z")).unwrap();
        assert_eq!(armed.next_at, Some(at("2026-01-01T23:00:00Z")));
    }

    #[test]
    fn missed_ticks_follow_the_rule() {
        let armed = schedule("0 * * * *", "UTC").armed(at("2026-01-01T00:30:00Z")).unwrap();
        let now = at("2026-01-01T03:30:00Z");
        let ticks = |missed| Schedule { missed, ..armed.clone() }.plan(now).unwrap().unwrap();
        assert_eq!(ticks(Missed::All).ticks.len(), 3);
        assert_eq!(ticks(Missed::Once).ticks, [at("2026-01-01T03:00:00Z")]);
        assert_eq!(ticks(Missed::Skip).ticks, []);
        assert_eq!(ticks(Missed::Skip).next_at, Some(at("2026-01-01T04:00:00Z")));
    }

    #[test]
    fn a_tick_fired_in_time_is_not_missed() {
        let armed = schedule("0 * * * *", "UTC").armed(at("2026-01-01T00:30:00Z")).unwrap();
        let plan = Schedule { missed: Missed::Skip, ..armed }.plan(at("2026-01-01T01:00:05Z")).unwrap().unwrap();
        assert_eq!(plan.ticks, [at("2026-01-01T01:00:00Z")]);
    }

    #[test]
    fn a_paused_or_early_schedule_does_nothing() {
        let armed = schedule("0 * * * *", "UTC").armed(at("2026-01-01T00:30:00Z")).unwrap();
        assert_eq!(armed.plan(at("2026-01-01T00:59:59Z")).unwrap(), None);
        let paused = Schedule { paused: true, ..armed };
        assert_eq!(paused.plan(at("2026-01-01T05:00:00Z")).unwrap(), None);
    }
}
