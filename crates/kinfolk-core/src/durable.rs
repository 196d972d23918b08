//! Durable handlers: what a handler has recorded, what it waits for, and how a fan-out that it awaits is decided.
//!
//! A handler that waits is suspended: its task goes to `waiting`, its worker is free, and when what it waits for has come,
//! the task is claimed again and its handler runs from the top. Every durable operation finds its own record by [`Key`] and
//! answers as it did before; nothing is done twice. Nothing here does I/O.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::enqueue::NewTask;
use crate::error::InputError;
use crate::family::{Made, Tally};
use crate::ids::{FanOutId, TaskId, Token};
use crate::json::Json;
use crate::limits::{
    DELAY_MAX, MADE_MAX, NAME_BYTES_MAX, PROGRESS_NOTE_BYTES_MAX, RECORD_BATCH_MAX, RESULT_BYTES_MAX,
    SIGNALS_AWAITED_MAX,
};
use crate::name::SignalName;
use crate::settle::Failure;
use crate::state::State;
use crate::time::Timestamp;

/// Which operation of a handler a checkpoint belongs to. Names, not positions: operations may be added and moved between
/// two versions of the code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The branch of the handler it was done in; empty for the handler itself.
    pub branch: String,
    /// What the operation is called.
    pub name: String,
    /// Which operation of that name in that branch; 0 is the first.
    pub occurrence: u32,
}

/// The recorded answer of one durable operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which operation.
    pub key: Key,
    /// What sort of operation.
    pub kind: StepKind,
    /// A digest of what was asked for (its command and arguments); empty where nothing is. Another one under the same key
    /// means that the code has changed.
    pub digest: String,
    /// What it answered.
    pub value: Json,
}

/// Sorts of durable operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A side effect of the handler's own; the value is what it returned.
    Step,
    /// A child, a sibling, a follow-up or another task was made.
    Make,
    /// A fan-out was begun, or a call, which is a fan-out of one; the value is its number.
    FanOut,
    /// A page of a stream was taken in; the value is the accumulator and the cursor.
    Fold,
    /// A sleep; the value is when it ends.
    Sleep,
    /// A wait for a signal was begun; the value is when it is given up, or null.
    Wait,
    /// A signal was taken, or given up; the value is `[signal]`, or `[]`.
    Signal,
    /// The time was asked for.
    Now,
    /// A random number was asked for.
    Random,
}

/// Checkpoints of one attempt, to be written at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which task.
    pub task: TaskId,
    /// The token it was claimed under.
    pub token: Token,
    /// What to write, in this order.
    pub checkpoints: Vec<Checkpoint>,
}

/// What became of a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is written, or was before by the very same call.
    Written,
    /// The token no longer holds. Nothing was written.
    Stale,
}

/// A handler that waits: everything it has made and recorded since its last write, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// Which task.
    pub task: TaskId,
    /// The token it was claimed under.
    pub token: Token,
    /// Checkpoints not yet written, in order. That of a new fan-out is among [`Suspend::fan_outs`], not here.
    pub checkpoints: Vec<Checkpoint>,
    /// What the handler made since its last suspension. Boxed, since most make nothing.
    pub made: Option<Box<Made>>,
    /// Fan-outs to begin, all of them awaited.
    pub fan_outs: Vec<NewFanOut>,
    /// Fan-outs begun before, and still awaited.
    pub awaits: Vec<Await>,
    /// Resume at this moment at the latest.
    pub until: Option<Timestamp>,
    /// Resume when a signal of one of these names is there.
    pub signals: Vec<SignalName>,
}

/// A fan-out to begin: children that the handler waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFanOut {
    /// Its checkpoint; the store puts the number of the fan-out in as the value.
    pub key: Key,
    /// The digest of that checkpoint.
    pub digest: String,
    /// The children, in the order of their results. None of them has a unique key. Shared, since they may be very many, and a
    /// call that is repeated needs them again.
    pub children: Arc<Vec<NewTask>>,
    /// When it is settled.
    pub rule: Rule,
    /// How long it may take, from the suspension on.
    pub timeout: Option<Duration>,
    /// Whether its open children are cancelled when the task fails for good.
    pub cancel_on_failure: bool,
    /// Resume when this many children have ended, even if the fan-out is not settled: for a stream. At most their number.
    pub wake_at: u32,
}

/// A fan-out that is still awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Await {
    /// Which one.
    pub fan_out: FanOutId,
    /// Resume when this many children have ended, even if it is not settled.
    pub wake_at: u32,
}

/// When a fan-out is settled, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Badly with the first child that does not complete, well when all have.
    #[default]
    FailFast,
    /// Well when all children have ended, in whatever way.
    CollectAll,
    /// Well when all have ended and at least this many parts in a million of them completed; badly as soon as that can't
    /// be reached any more.
    Threshold(u32),
}

/// How a fan-out was settled. It is decided once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As its rule demands.
    Completed,
    /// Not as its rule demands.
    Failed,
    /// It took longer than it may.
    TimedOut,
}

/// A fan-out that a handler awaits, as it is shown and as the handler sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanOut {
    /// Its number.
    pub id: FanOutId,
    /// The task that awaits it.
    pub task: TaskId,
    /// When it is settled.
    pub rule: Rule,
    /// How its children are doing now.
    pub tally: Tally,
    /// How it was settled, if it is.
    pub verdict: Option<Verdict>,
    /// How many children had ended then. Those are the ones the handler hears of, in the order in which they ended.
    pub decided_at: Option<u32>,
    /// When it was settled, if it is.
    pub settled_at: Option<Timestamp>,
    /// When it is given up.
    pub deadline: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
}

/// What has become of one child of a fan-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildResult {
    /// Which fan-out.
    pub fan_out: FanOutId,
    /// Which child of it; 0 is the first.
    pub index: u32,
    /// Its number as a task.
    pub task: TaskId,
    /// Where it is.
    pub state: State,
    /// The how-many-eth child this was to end, under the fan-out's lock; 0 is the first, `None` if it has not ended.
    pub ended: Option<u32>,
    /// What it ended with.
    pub result: Option<Json>,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// Its attempts so far.
    pub attempt: u16,
}

/// The order in which children are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBy {
    /// As they were given; also those that have not ended.
    Index,
    /// As they ended; only those.
    Ended,
}

/// Everything that a handler needs to run from the top again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// What was recorded, in the order of writing.
    pub checkpoints: Vec<Checkpoint>,
    /// When each of them was recorded.
    pub recorded_at: Vec<Timestamp>,
    /// The fan-outs that it awaits or awaited, oldest first.
    pub fan_outs: Vec<FanOut>,
    /// The children of those settled fan-outs that have at most [`crate::limits::INLINE_RESULTS_MAX`], by fan-out and index.
    pub results: Vec<ChildResult>,
}

/// How far a task has come, in its handler's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Units done.
    pub done: u64,
    /// Units in all, if known.
    pub total: Option<u64>,
    /// In words.
    pub note: Option<String>,
}

/// The answer to a handler that asks for a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenSignal {
    /// The oldest one of that name, now recorded under the handler's key and gone from the line.
    Signal(Json),
    /// There is none.
    Nothing,
    /// The token no longer holds. Nothing was taken.
    Stale,
}

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalled {
    /// The task waited for it and is resumed.
    Resumed,
    /// It is kept until the task asks for it.
    Kept,
}

impl Rule {
    /// The verdict over this many children, if there is one.
    pub const fn verdict(self, tally: &Tally) -> Option<Verdict> {
        let bad = tally.failed + tally.cancelled;
        let needed = self.needed(tally.total);
        if tally.completed + tally.open() < needed || (matches!(self, Self::FailFast) && bad > 0) {
            return Some(Verdict::Failed);
        }
        if tally.open() == 0 { Some(Verdict::Completed) } else { None }
    }

    /// How many of this many children must complete: for a threshold its part of them, rounded up.
    pub const fn needed(self, total: u64) -> u64 {
        match self {
            Self::FailFast => total,
            Self::CollectAll => 0,
            Self::Threshold(parts) => (total * parts as u64).div_ceil(1_000_000),
        }
    }

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailFast => "fail_fast",
            Self::CollectAll => "collect_all",
            Self::Threshold(_) => "threshold",
        }
    }
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Failed, Self::TimedOut];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
        }
    }

    /// Reads the word back.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

impl StepKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Step,
        Self::Make,
        Self::FanOut,
        Self::Fold,
        Self::Sleep,
        Self::Wait,
        Self::Signal,
        Self::Now,
        Self::Random,
    ];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Make => "make",
            Self::FanOut => "fan_out",
            Self::Fold => "fold",
            Self::Sleep => "sleep",
            Self::Wait => "wait",
            Self::Signal => "signal",
            Self::Now => "now",
            Self::Random => "random",
        }
    }

    /// Reads the word back.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl Key {
    fn check(&self) -> Result<(), InputError> {
        for (kind, name) in [("branch", &self.branch), ("step", &self.name)] {
            let why = match () {
                () if name.len() > NAME_BYTES_MAX => "it is too long",
                () if kind == "step" && name.is_empty() => "it is empty",
                () if name.contains('\0') => "it holds \\0",
                () => continue,
            };
            return Err(InputError::Name { kind, name: name.clone(), why });
        }
        Ok(())
    }
}

impl Checkpoint {
    fn check(&self) -> Result<(), InputError> {
        self.key.check()?;
        if self.digest.len() > NAME_BYTES_MAX || self.digest.contains('\0') {
            return Err(InputError::TooLarge { what: "digest", bytes: self.digest.len(), max: NAME_BYTES_MAX });
        }
        if self.value.bytes() > RESULT_BYTES_MAX {
            let bytes = self.value.bytes();
            return Err(InputError::TooLarge { what: "recorded value", bytes, max: RESULT_BYTES_MAX });
        }
        Ok(())
    }
}

impl Record {
    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        check_checkpoints(&self.checkpoints)
    }
}

fn check_checkpoints(checkpoints: &[Checkpoint]) -> Result<(), InputError> {
    if checkpoints.len() > RECORD_BATCH_MAX {
        return Err(InputError::Batch { what: "checkpoints", given: checkpoints.len(), max: RECORD_BATCH_MAX });
    }
    checkpoints.iter().try_for_each(Checkpoint::check)
}

impl Suspend {
    /// A suspension that waits for nothing yet.
    pub const fn new(task: TaskId, token: Token) -> Self {
        Self {
            task,
            token,
            checkpoints: Vec::new(),
            made: None,
            fan_outs: Vec::new(),
            awaits: Vec::new(),
            until: None,
            signals: Vec::new(),
        }
    }

    /// Every task that this makes: first what stands in [`Suspend::made`], then the children of each fan-out.
    pub fn iter(&self) -> impl Iterator<Item = &NewTask> {
        let made = self.made.iter().flat_map(|made| made.iter());
        made.chain(self.fan_outs.iter().flat_map(|fan_out| fan_out.children.iter()))
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.fan_outs.is_empty() && self.awaits.is_empty() && self.until.is_none() && self.signals.is_empty() {
            return Err(InputError::Other("a suspended task must wait for something".to_owned()));
        }
        check_checkpoints(&self.checkpoints)?;
        if self.signals.len() > SIGNALS_AWAITED_MAX {
            let given = self.signals.len();
            return Err(InputError::Batch { what: "signals awaited at once", given, max: SIGNALS_AWAITED_MAX });
        }
        let many = self.iter().count();
        if many > MADE_MAX {
            return Err(InputError::Batch { what: "tasks made by one handler", given: many, max: MADE_MAX });
        }
        self.made.iter().try_for_each(|made| made.check())?;
        self.fan_outs.iter().try_for_each(NewFanOut::check)
    }
}

impl NewFanOut {
    fn check(&self) -> Result<(), InputError> {
        self.key.check()?;
        if self.children.is_empty() {
            return Err(InputError::Other("a fan-out without children has nothing to wait for".to_owned()));
        }
        if self.children.iter().any(|child| child.unique.is_some()) {
            return Err(InputError::Other(
                "a child whose result is awaited can't have a unique key: another task's result is not its own"
                    .to_owned(),
            ));
        }
        if matches!(self.rule, Rule::Threshold(parts) if parts > 1_000_000) {
            return Err(InputError::Other("a threshold is at most 1".to_owned()));
        }
        match self.timeout {
            Some(timeout) if timeout > DELAY_MAX => {
                Err(InputError::Delay(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)))
            }
            _ => self.children.iter().try_for_each(NewTask::check),
        }
    }
}

impl Report {
    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        let bytes = self.note.as_ref().map_or(0, String::len);
        if bytes > PROGRESS_NOTE_BYTES_MAX {
            return Err(InputError::TooLarge { what: "note", bytes, max: PROGRESS_NOTE_BYTES_MAX });
        }
        if self.note.as_ref().is_some_and(|note| note.contains('\0')) {
            return Err(InputError::JsonNul);
        }
        if [Some(self.done), self.total].into_iter().flatten().any(|units| i64::try_from(units).is_err()) {
            return Err(InputError::Other("more units than can be counted".to_owned()));
        }
        Ok(())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.branch.is_empty() {
            write!(f, "{}/", self.branch)?;
        }
        f.write_str(&self.name)?;
        if self.occurrence > 0 { write!(f, "#{}", self.occurrence + 1) } else { Ok(()) }
    }
}

/// Verdicts that every store must come to.
pub mod vectors {
    use super::{Rule, Tally, Verdict};

    /// Every way in which up to five children can end, under every rule and at the edges of rounding, with its verdict.
    pub fn all() -> Vec<(Rule, Tally, Option<Verdict>)> {
        let rules = [
            Rule::FailFast,
            Rule::CollectAll,
            Rule::Threshold(0),
            Rule::Threshold(1),
            Rule::Threshold(200_000),
            Rule::Threshold(333_333),
            Rule::Threshold(333_334),
            Rule::Threshold(500_000),
            Rule::Threshold(666_667),
            Rule::Threshold(800_001),
            Rule::Threshold(999_999),
            Rule::Threshold(1_000_000),
        ];
        let mut cases = Vec::new();
        for rule in rules {
            for total in 1..=5_u64 {
                for completed in 0..=total {
                    for failed in 0..=total - completed {
                        for cancelled in 0..=total - completed - failed {
                            let tally = Tally { total, completed, failed, cancelled };
                            cases.push((rule, tally, rule.verdict(&tally)));
                        }
                    }
                }
            }
        }
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(total: u64, completed: u64, failed: u64) -> Tally {
        Tally { total, completed, failed, cancelled: 0 }
    }

    #[test]
    fn fail_fast_is_over_with_the_first_child_that_does_not_complete() {
        assert_eq!(Rule::FailFast.verdict(&tally(3, 2, 0)), None);
        assert_eq!(Rule::FailFast.verdict(&tally(3, 0, 1)), Some(Verdict::Failed));
        assert_eq!(Rule::FailFast.verdict(&tally(3, 3, 0)), Some(Verdict::Completed));
        let cancelled = Tally { total: 3, cancelled: 1, ..Tally::default() };
        assert_eq!(Rule::FailFast.verdict(&cancelled), Some(Verdict::Failed));
    }

    #[test]
    fn collect_all_waits_for_every_child_and_minds_none() {
        assert_eq!(Rule::CollectAll.verdict(&tally(2, 0, 1)), None);
        assert_eq!(Rule::CollectAll.verdict(&tally(2, 0, 2)), Some(Verdict::Completed));
    }

    #[test]
    fn a_threshold_rounds_up_and_fails_as_soon_as_it_cannot_be_reached() {
        let nine_tenths = Rule::Threshold(900_000);
        assert_eq!(nine_tenths.needed(10), 9);
        assert_eq!(nine_tenths.needed(11), 10);
        assert_eq!(nine_tenths.verdict(&tally(10, 0, 1)), None);
        assert_eq!(nine_tenths.verdict(&tally(10, 0, 2)), Some(Verdict::Failed));
        assert_eq!(nine_tenths.verdict(&tally(10, 9, 1)), Some(Verdict::Completed));
        assert_eq!(Rule::Threshold(0).verdict(&tally(2, 0, 2)), Some(Verdict::Completed));
        assert_eq!(Rule::Threshold(1_000_000).verdict(&tally(2, 1, 1)), Some(Verdict::Failed));
        assert_eq!(Rule::Threshold(1_000_000).needed(100_000), 100_000, "no float rounds here");
    }

    #[test]
    fn keys_read_as_people_say_them() {
        let key = Key { branch: "mail".into(), name: "send".into(), occurrence: 1 };
        assert_eq!(key.to_string(), "mail/send#2");
        assert_eq!(Key { branch: String::new(), occurrence: 0, ..key }.to_string(), "send");
    }
}
