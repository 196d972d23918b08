//! The JSON forms of the API. `id` is the thing itself, `task` a reference to one; times end in `_at`, spans in `_ms`; null
//! stands for nothing.

mod course;
mod family;
mod group;
mod new_task;
mod reason;
mod schedule;
mod site;
mod task;
mod trouble;

pub(crate) use self::course::{AttemptForm, CheckpointForm, CourseForm, RunForm};
pub(crate) use self::family::{FanOutForm, ProgressForm, ResultForm, TallyForm};
pub(crate) use self::group::{GroupForm, KeyForm, SettingForm};
pub(crate) use self::new_task::NewTaskForm;
pub(crate) use self::reason::ExplanationForm;
pub(crate) use self::schedule::{ScheduleForm, TickForm};
pub(crate) use self::site::{CommandForm, FindingForm, QueueForm, StatsForm, StatusForm, WorkerForm};
pub(crate) use self::task::{FailureForm, TaskForm};
pub(crate) use self::trouble::{CausesForm, HeldForm};

use std::time::Duration;

use kinfolk_core::{Gate, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A span in whole milliseconds.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StateForm {
    Pending,
    Running,
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

impl From<State> for StateForm {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Running => Self::Running,
            State::Waiting => Self::Waiting,
            State::Completed => Self::Completed,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }
}

/// The reason that holds a pending task.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GateForm {
    Open,
    Time,
    Limit,
    After,
}

impl From<Gate> for GateForm {
    fn from(gate: Gate) -> Self {
        match gate {
            Gate::Open => Self::Open,
            Gate::Time => Self::Time,
            Gate::Limit => Self::Limit,
            Gate::After => Self::After,
        }
    }
}
