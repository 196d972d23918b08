//! A task and its attempts, as they are shown.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::durable::Report;
use crate::group::Keys;
use crate::ids::{FanOutId, TaskId, WorkerId};
use crate::json::Json;
use crate::label::LabelPath;
use crate::name::{CommandName, QueueName, SignalName};
use crate::settle::Failure;
use crate::state::{Gate, State};
use crate::time::Timestamp;

/// Everything there is to know of a task, except its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// Its command.
    pub command: CommandName,
    /// Where it waits.
    pub queue: QueueName,
    /// Where it is in its life.
    pub state: State,
    /// The gate that holds it, while it is pending.
    pub gate: Option<Gate>,
    /// Lower goes first.
    pub priority: i32,
    /// When it may run.
    pub due: Timestamp,
    /// Its place in line among tasks of equal priority.
    pub position: Timestamp,
    /// Attempts that count so far.
    pub attempt: u16,
    /// Attempts in all.
    pub max_attempts: u16,
    /// How long one attempt may run.
    pub timeout: Option<Duration>,
    /// Its payload.
    pub payload: Json,
    /// Its result.
    pub result: Option<Json>,
    /// Its last failure.
    pub failure: Option<Failure>,
    /// Its unique key, while it holds it.
    pub unique_key: Option<String>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When its latest attempt began; of one that was suspended, when its handler last went on.
    pub started_at: Option<Timestamp>,
    /// When its first attempt began; a retry by hand does not change that.
    pub first_started_at: Option<Timestamp>,
    /// How long its handler had run when it was last suspended, all stretches together; zero for one that never was.
    pub ran_before: Duration,
    /// When it became terminal.
    pub finished_at: Option<Timestamp>,
    /// Since when its end is asked for.
    pub cancel_requested_at: Option<Timestamp>,
    /// Its worker, while it runs.
    pub worker: Option<WorkerId>,
    /// It was on a worker that was lost, and runs apart from other such tasks until it ends an attempt.
    pub suspect: bool,
    /// Losses while it was the only suspect of its worker.
    pub strikes: u16,
    /// Its keys in the groups of its command.
    pub keys: Keys,
    /// The enqueuer's trace context.
    pub trace: Option<String>,
    /// Its parent, if it has one.
    pub parent: Option<TaskId>,
    /// The root of its family; itself, if it has no parent.
    pub root: TaskId,
    /// Generations between it and its root.
    pub depth: u16,
    /// The fan-out that it belongs to, if it has a parent. That of spawned children has their parent's number.
    pub fan_out: Option<FanOutId>,
    /// Which child of its fan-out it is, if it has a parent; 0 is the first.
    pub index: Option<u32>,
    /// The task whose handler made it, if it is a follow-up.
    pub made_by: Option<TaskId>,
    /// The root of the family that made it, if it is a follow-up.
    pub follows: Option<TaskId>,
    /// The path to its label in the payload, if its command names one.
    pub label_path: Option<LabelPath>,
    /// How its own work ended, while it waits for its children and if it failed only because of them.
    pub outcome: Option<State>,
    /// How many checkpoints its handler has recorded.
    pub steps: u32,
    /// The signals that its suspended handler waits for.
    pub signals: Vec<SignalName>,
    /// How far it has come, in its handler's own words.
    pub report: Option<Report>,
}

impl Task {
    /// Whether its handler waits without a worker, and goes on when what it waits for has come.
    pub fn is_suspended(&self) -> bool {
        self.state == State::Waiting && self.outcome.is_none()
    }

    /// The attempt that it is in, or else its last one. Only an attempt that has ended or runs counts as [`Task::attempt`]; a handler
    /// that is suspended goes on in the one that it began.
    pub fn present_attempt(&self) -> u16 {
        self.attempt.saturating_add(u16::from(self.is_suspended()))
    }

    /// Its name for people: the value at the path of its payload that its command names.
    pub fn label(&self) -> Option<String> {
        self.label_path.as_ref()?.of(&self.payload)
    }
}

/// One run of a task, from its claim to its end. All of them are the course of the task, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The task.
    pub task: TaskId,
    /// The how-many-eth claim of the task this was; never repeats.
    pub run: u32,
    /// Which attempt it counted as.
    pub attempt: u16,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, if it has.
    pub ended_at: Option<Timestamp>,
    /// The worker that ran it.
    pub worker: WorkerId,
    /// How it ended, if it has.
    pub ending: Option<Ending>,
    /// Its failure, if it failed.
    pub failure: Option<Failure>,
    /// The waits of its handler, if it was suspended.
    pub waited_for: Option<WaitedFor>,
}

/// The waits of a suspended handler: the first that is over resumes the task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitedFor {
    /// Fan-outs, by number.
    pub fan_outs: Vec<FanOutId>,
    /// A moment.
    pub until: Option<Timestamp>,
    /// Signals.
    pub signals: Vec<SignalName>,
}

/// One try of a task that has ended. A task that was completed at its first attempt has none: the task says it all. A
/// suspension ends no attempt; see [`Run`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The how-many-eth claim of the task this was; never repeats.
    pub run: u32,
    /// Which attempt it counted as.
    pub attempt: u16,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// The worker that ran it.
    pub worker: WorkerId,
    /// How it ended.
    pub ending: Ending,
    /// Its failure, if it failed.
    pub failure: Option<Failure>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Well.
    Completed,
    /// Badly, for good.
    Failed,
    /// Badly, to be tried again.
    Retried,
    /// By a snooze.
    Snoozed,
    /// Given back by its worker.
    Released,
    /// Its worker's lease was lost.
    Lost,
    /// By a cancellation.
    Cancelled,
    /// Its handler waits without a worker. Only a [`Run`] ends so: the attempt goes on in the next one.
    Suspended,
}

impl Ending {
    /// All endings.
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Failed,
        Self::Retried,
        Self::Snoozed,
        Self::Released,
        Self::Lost,
        Self::Cancelled,
        Self::Suspended,
    ];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Retried => "retried",
            Self::Snoozed => "snoozed",
            Self::Released => "released",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
            Self::Suspended => "suspended",
        }
    }

    /// Reads the word back.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == word)
    }
}
