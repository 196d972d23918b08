//! The rule of a fan-out: when it is settled, and how.
//!
//! The decision is a pure function of the counts of its children. Both stores come to the verdicts of [`super::vectors`].

use serde::{Deserialize, Serialize};

use crate::family::Tally;
use crate::settle::FailureKind;

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

    /// What sort of failure it is of a handler that gives up because of this verdict, where those sub-tasks that did not complete
    /// failed so: that of its children where one failed, not where it took too long, nor where someone cancelled one.
    pub fn failure_kind(self, sub_tasks: impl IntoIterator<Item = FailureKind>) -> FailureKind {
        let by_itself = |kind| !matches!(kind, FailureKind::Cancelled | FailureKind::Skipped);
        let is_of_children = self == Self::Failed && sub_tasks.into_iter().any(by_itself);
        if is_of_children { FailureKind::Children } else { FailureKind::Error }
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
}
