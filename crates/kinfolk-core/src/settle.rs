//! Recording how an attempt ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::enqueue::Rejection;
use crate::error::InputError;
use crate::family::{Made, Tally};
use crate::ids::{TaskId, Token, WorkerId};
use crate::json::Json;
use crate::limits::{DELAY_MAX, ERROR_BYTES_MAX, RESULT_BYTES_MAX};
use crate::state::State;

/// How one attempt ended. The pair of task and token must still hold, or nothing is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    /// Which task.
    pub task: TaskId,
    /// The token it was claimed under.
    pub token: Token,
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The tasks that the handler made; only with [`Outcome::Done`]. Boxed, since most make nothing.
    pub made: Option<Box<Made>>,
}

/// How an attempt ended, as the worker saw it. [`crate::decide`] decides the next state from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well, with this result.
    Done(Option<Json>),
    /// Badly.
    Failed {
        /// The failure.
        failure: Failure,
        /// Whether and when it may be tried again.
        retry: Retry,
    },
    /// Not now: run it again after this span. Costs no attempt.
    Snooze(Duration),
    /// As a snooze, and other families of the queue may go first meanwhile: the family gives up its family slot
    /// ([`crate::Policy::family_limit`]).
    YieldFamilySlot(Duration),
    /// The worker stops and gives the task back as it was. Costs no attempt.
    Release,
    /// The handler stopped because the task's cancellation was asked for.
    Cancelled,
}

/// Whether and when a failed attempt may be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// As the task's policy says.
    #[default]
    Policy,
    /// After this span, if the policy still allows an attempt.
    After(Duration),
    /// Not at all.
    Never,
}

/// A failure, as it is kept with the task and its attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The sort of failure.
    pub kind: FailureKind,
    /// In words, for a person.
    pub message: String,
    /// Anything more, for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Json>,
}

/// Sorts of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The handler returned an error.
    Error,
    /// The attempt ran longer than its timeout.
    Timeout,
    /// The handler panicked.
    Panic,
    /// The payload or the business rules forbid it; never retried.
    Validation,
    /// The task took its worker down too often.
    Poison,
    /// The lease was lost while it ran.
    Lost,
    /// Someone asked for its end.
    Cancelled,
    /// A child failed.
    Children,
    /// The store refused the tasks that the handler made, so it made none of them.
    Refused,
    /// Not run, because something before it did not end well.
    Skipped,
    /// The code of a resumed handler has changed under its recorded history; never retried.
    Diverged,
}

/// The answer to a settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was recorded, and the task is now in this state.
    Recorded(State),
    /// The very same settle had been recorded before (its answer was lost on the way); the task went to this state.
    Repeated(State),
    /// The token no longer holds: the task was recovered, cancelled or settled by someone else. Nothing was written.
    Stale,
}

impl Settle {
    /// An attempt that ended so and made nothing.
    pub const fn new(task: TaskId, token: Token, outcome: Outcome) -> Self {
        Self { task, token, outcome, made: None }
    }

    /// What the attempt made, if it made anything.
    pub fn made(&self) -> Option<&Made> {
        self.made.as_deref().filter(|made| !made.is_empty())
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if let Some(made) = &self.made {
            if !matches!(self.outcome, Outcome::Done(_)) {
                return Err(InputError::Other("only an attempt that is done can leave tasks behind".to_owned()));
            }
            made.check()?;
        }
        let delay = match &self.outcome {
            Outcome::Done(Some(result)) if result.bytes() > RESULT_BYTES_MAX => {
                return Err(InputError::TooLarge { what: "result", bytes: result.bytes(), max: RESULT_BYTES_MAX });
            }
            Outcome::Snooze(span)
            | Outcome::YieldFamilySlot(span)
            | Outcome::Failed { retry: Retry::After(span), .. } => *span,
            _ => return Ok(()),
        };
        if delay > DELAY_MAX {
            return Err(InputError::Delay(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)));
        }
        Ok(())
    }
}

impl Failure {
    /// A failure of this kind; a message that is too long is cut, and the cut is marked.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        let mut message: String = message.into().replace('\0', "\u{fffd}");
        if message.len() > ERROR_BYTES_MAX {
            const CUT: &str = " … (cut)";
            let end = (0..=ERROR_BYTES_MAX - CUT.len()).rev().find(|end| message.is_char_boundary(*end));
            message.truncate(end.unwrap_or(0));
            message.push_str(CUT);
        }
        Self { kind, message, detail: None }
    }

    /// The failure kept with a task whose end was asked for. The words are the same in every store.
    pub fn cancelled() -> Self {
        Self::new(FailureKind::Cancelled, "cancelled on request")
    }

    /// The failure kept with a task whose worker was lost. The words are the same in every store.
    pub fn lost(worker: WorkerId) -> Self {
        Self::new(FailureKind::Lost, format!("the lease of worker {worker} was lost"))
    }

    /// The failure kept with a task that took its worker down too often. The words are the same in every store.
    pub fn poison(strikes: u16) -> Self {
        Self::new(FailureKind::Poison, format!("took down the worker that ran it {strikes} times"))
    }

    /// The failure kept with a task some of whose children failed. The words are the same in every store.
    pub fn children(tally: &Tally) -> Self {
        Self::new(FailureKind::Children, format!("{} of {} children failed", tally.failed, tally.total))
    }

    /// The failure of an attempt that made what can't be made. The words are the same in every store.
    pub fn refused(why: &Rejection) -> Self {
        Self::new(FailureKind::Refused, why.to_string())
    }

    /// The failure kept with an in-order child that was not run because an earlier one failed. The words are the same in
    /// every store.
    pub fn skipped_child() -> Self {
        Self::new(FailureKind::Skipped, "an earlier child failed")
    }

    /// The failure kept with a follow-up whose family did not end well. The words are the same in every store.
    pub fn skipped_follow_up(root: TaskId) -> Self {
        Self::new(FailureKind::Skipped, format!("the family of task {root} did not complete"))
    }

    /// The same failure with something more for a program.
    #[must_use]
    pub fn detail(self, detail: Json) -> Self {
        Self { detail: Some(detail), ..self }
    }
}

impl FailureKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Error,
        Self::Timeout,
        Self::Panic,
        Self::Validation,
        Self::Poison,
        Self::Lost,
        Self::Cancelled,
        Self::Children,
        Self::Refused,
        Self::Skipped,
        Self::Diverged,
    ];

    /// The word used everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Panic => "panic",
            Self::Validation => "validation",
            Self::Poison => "poison",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
            Self::Children => "children",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
            Self::Diverged => "diverged",
        }
    }
}

impl std::str::FromStr for FailureKind {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            InputError::Other(format!("unknown kind of failure {text:?}; there are {}", known.join(", ")))
        })
    }
}

impl std::fmt::Display for FailureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_at_a_letter_and_says_so() {
        let failure = Failure::new(FailureKind::Error, "é".repeat(ERROR_BYTES_MAX));
        assert!(failure.message.len() <= ERROR_BYTES_MAX);
        assert!(failure.message.ends_with("(cut)"));
    }
}
