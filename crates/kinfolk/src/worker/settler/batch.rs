//! A batch of ended attempts, sorted by the call that records each of them.
//!
//! An outcome that no store would keep becomes a failure that says so, before any call.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Settle, State, Suspend};

use crate::done::{Verdict, unrecordable};
use crate::worker::attempt::Attempt;
use crate::worker::inbox::EndedAttempt;

/// Ended attempts, sorted.
#[derive(Default)]
pub(super) struct Batch {
    /// To be settled, and their attempts in the same order.
    pub(super) settles: Vec<Settle>,
    pub(super) settling: Vec<Settling>,
    /// To be suspended, and their attempts in the same order.
    pub(super) suspends: Vec<Suspend>,
    pub(super) suspending: Vec<Settling>,
    /// Settled already, in the handler's own transaction, with the state of the task.
    pub(super) committed: Vec<(Settling, State)>,
    /// Suspended already, in the handler's own transaction.
    pub(super) suspended: Vec<Settling>,
    /// Not ours to record: the lease was lost.
    dropped: Vec<Arc<Attempt>>,
}

/// An attempt whose settle is under way.
pub(super) struct Settling {
    pub(super) attempt: Arc<Attempt>,
    pub(super) took: Duration,
}

impl Batch {
    /// Sorts ended attempts.
    pub(super) fn of(ended: Vec<EndedAttempt>) -> Self {
        let mut batch = Self::default();
        for EndedAttempt { attempt, verdict, made, took } in ended {
            let (task, token) = (attempt.task.id, attempt.task.token);
            let settling = Settling { attempt, took };
            match verdict {
                Verdict::Settle(outcome) => {
                    batch.settle(recordable(Settle { made, ..Settle::new(task, token, outcome) }), settling);
                }
                Verdict::Suspend(suspend) => match suspend.check() {
                    Ok(()) => {
                        batch.suspends.push(*suspend);
                        batch.suspending.push(settling);
                    }
                    Err(fault) => batch.settle(Settle::new(task, token, unrecordable(&fault.to_string())), settling),
                },
                Verdict::Committed(state) => batch.committed.push((settling, state)),
                Verdict::Suspended => batch.suspended.push(settling),
                Verdict::Dropped => batch.dropped.push(settling.attempt),
            }
        }
        batch
    }

    fn settle(&mut self, settle: Settle, settling: Settling) {
        self.settles.push(settle);
        self.settling.push(settling);
    }

    /// All its attempts.
    pub(super) fn attempts(&self) -> impl Iterator<Item = &Attempt> {
        let committed = self.committed.iter().map(|(settling, _)| settling);
        let settling = self.settling.iter().chain(&self.suspending).chain(committed).chain(&self.suspended);
        settling.map(|settling| &settling.attempt).chain(&self.dropped).map(|attempt| &**attempt)
    }
}

/// The settle, or a failure in its place that says why no store would keep it.
fn recordable(settle: Settle) -> Settle {
    match settle.check() {
        Ok(()) => settle,
        Err(fault) => Settle { outcome: unrecordable(&fault.to_string()), made: None, ..settle },
    }
}

#[cfg(test)]
mod tests {
    use kinfolk_core::limits::RESULT_BYTES_MAX;
    use kinfolk_core::{Json, Outcome, TaskId, Token};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_result_that_is_too_large_becomes_a_failure_that_says_so() {
        let large = Json::of(&"x".repeat(RESULT_BYTES_MAX)).unwrap();
        let settle = Settle::new(TaskId(1), Token(Uuid::nil()), Outcome::Done(Some(large)));
        match recordable(settle).outcome {
            Outcome::Failed { failure, .. } => assert!(failure.message.contains("the result is"), "{failure:?}"),
            other => panic!("{other:?}"),
        }
    }
}
