//! A task and its attempts, as they are shown.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::durable::Report;
use crate::group::Keys;
use crate::ids::{TaskId, WorkerId};
use crate::json::Json;
use crate::name::{CommandName, QueueName, SignalName};
use crate::settle::Failure;
use crate::state::{Gate, State};
use crate::time::Timestamp;

/// Everything there is to know of a task, except its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// What it runs.
    pub command: CommandName,
    /// Where it waits.
    pub queue: QueueName,
    /// Where it is in its life.
    pub state: State,
    /// What holds it, while it is pending.
    pub gate: Option<Gate>,
    /// Lower goes first.
    pub priority: i32,
    /// When it may run.
    pub due: Timestamp,
    /// Where it stands in line among tasks of equal priority.
    pub place: Timestamp,
    /// Attempts that count so far.
    pub attempt: u16,
    /// Attempts in all.
    pub max_attempts: u16,
    /// How long one attempt may run.
    pub timeout: Option<Duration>,
    /// What it runs with.
    pub payload: Json,
    /// What it ended with.
    pub result: Option<Json>,
    /// What went wrong last.
    pub failure: Option<Failure>,
    /// Its unique key, while it holds it.
    pub unique_key: Option<String>,
    /// When it was enqueued.
    pub created_at: Timestamp,
    /// When its latest attempt began.
    pub started_at: Option<Timestamp>,
    /// When it became terminal.
    pub finished_at: Option<Timestamp>,
    /// Since when its end is asked for.
    pub cancel_requested_at: Option<Timestamp>,
    /// Who has it, while it runs.
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
    /// How its own work ended, while it waits for its children and if it failed only because of them.
    pub outcome: Option<State>,
    /// How many checkpoints its handler has recorded.
    pub steps: u32,
    /// The signals that its suspended handler waits for.
    pub signals: Vec<SignalName>,
    /// How far it has come, in its handler's own words.
    pub report: Option<Report>,
}

/// One try of a task that has ended. A task that was completed at its first attempt has none: the task says it all.
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
    /// Who ran it.
    pub worker: WorkerId,
    /// How it ended.
    pub ending: Ending,
    /// What went wrong, if something did.
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
}

impl Ending {
    /// All endings.
    pub const ALL: [Self; 7] =
        [Self::Completed, Self::Failed, Self::Retried, Self::Snoozed, Self::Released, Self::Lost, Self::Cancelled];

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
        }
    }

    /// Reads the word back.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ending| ending.as_str() == word)
    }
}
