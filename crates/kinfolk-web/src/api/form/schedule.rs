//! Schedules and their ticks.

use std::collections::BTreeMap;

use kinfolk_core::{Due, Json, Schedule, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::millis;

/// A schedule.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleForm {
    name: String,
    cron: String,
    /// The time zone that the cron line is read in.
    zone: String,
    command: String,
    #[schema(value_type = Value)]
    payload: Json,
    queue: Option<String>,
    keys: BTreeMap<String, String>,
    /// How long after its tick a task is due.
    delay_ms: Option<u64>,
    /// The treatment of ticks at which no worker was there to fire: once, all or skip.
    missed: &'static str,
    /// The treatment of a tick while the task of the tick before has not ended: allow or skip.
    overlap: &'static str,
    paused: bool,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    last_at: Option<Timestamp>,
    /// The task of the latest tick.
    last_task: Option<i64>,
}

impl From<Schedule> for ScheduleForm {
    fn from(schedule: Schedule) -> Self {
        let task = schedule.task;
        Self {
            name: schedule.name.to_string(),
            cron: schedule.cron,
            zone: schedule.zone,
            command: task.command.to_string(),
            payload: task.payload,
            queue: task.queue.map(|queue| queue.to_string()),
            keys: task.keys.into_iter().map(|(group, key)| (group.to_string(), key)).collect(),
            delay_ms: match task.due {
                Due::After(delay) => Some(millis(delay)),
                _ => None,
            },
            missed: schedule.missed.as_str(),
            overlap: schedule.overlap.as_str(),
            paused: schedule.paused,
            next_at: schedule.next_at,
            last_at: schedule.last_at,
            last_task: schedule.last_task.map(|task| task.0),
        }
    }
}

/// A moment at which a schedule fires.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Tick)]
pub(crate) struct TickForm {
    #[schema(value_type = String, format = DateTime)]
    pub(crate) tick_at: Timestamp,
    /// The same on the clocks of its time zone.
    pub(crate) local: String,
}
