//! The reports of the settler: events, figures by the minute, and wake-ups for what may start now.

use std::sync::atomic::Ordering;

use kinfolk_core::{Outcome, Settle, Settled, State, Suspend};

use super::Settler;
use super::batch::{Batch, Settling};
use crate::worker::attempt::Attempt;
use crate::worker::state::QueueShare;

impl Settler {
    /// Attempts that the store has settled.
    pub(super) fn report(&self, settles: &[Settle], attempts: &[Settling], answers: &[Settled]) {
        for ((settle, settling), answer) in settles.iter().zip(attempts).zip(answers) {
            let share = &self.shared.shares[settling.attempt.share];
            self.shared.observer.settled(&settling.attempt, &share.queue, settling.took, &settle.outcome, *answer);
            sum_up(share, settling, &settle.outcome, *answer);
            share.took(settling.took);
            // A task that goes back to pending may be claimable at once; so may the next suspect when one has ended.
            if settle.made.is_some() {
                self.shared.wake_made();
            } else if share.suspects.load(Ordering::Relaxed) || matches!(answer, Settled::Recorded(State::Pending)) {
                share.wake.notify_one();
            }
            self.freed(&settling.attempt);
        }
    }

    /// Attempts that the store has suspended.
    pub(super) fn report_suspended(&self, suspends: &[Suspend], attempts: &[Settling], answers: &[Settled]) {
        for ((suspend, settling), answer) in suspends.iter().zip(attempts).zip(answers) {
            let share = &self.shared.shares[settling.attempt.share];
            self.shared.observer.suspended(&settling.attempt, &share.queue, settling.took, *answer);
            if *answer != Settled::Stale {
                share.sums.add(&settling.attempt.task.command, |figures| figures.suspended += 1);
            }
            share.took(settling.took);
            if suspend.iter().next().is_some() {
                self.shared.wake_made();
            } else if matches!(answer, Settled::Recorded(State::Pending) | Settled::Repeated(State::Pending)) {
                share.wake.notify_one();
            }
            self.freed(&settling.attempt);
        }
    }

    /// Attempts that were recorded in the handler's own transaction.
    pub(super) fn report_over(&self, batch: &Batch) {
        for (Settling { attempt, took }, state) in &batch.committed {
            let share = &self.shared.shares[attempt.share];
            self.shared.observer.committed(attempt, &share.queue, *took, *state);
            share.sums.add(&attempt.task.command, |figures| figures.end(*state, *took));
            if *state == State::Waiting {
                self.shared.wake_made();
            }
            self.freed(attempt);
        }
        for Settling { attempt, took } in &batch.suspended {
            let share = &self.shared.shares[attempt.share];
            let answer = Settled::Recorded(State::Waiting);
            self.shared.observer.suspended(attempt, &share.queue, *took, answer);
            share.sums.add(&attempt.task.command, |figures| figures.suspended += 1);
            self.shared.wake_made();
            self.freed(attempt);
        }
    }

    /// An attempt that held slots is recorded: what waited for them on its queue may start now.
    fn freed(&self, attempt: &Attempt) {
        if attempt.task.holds_slots {
            self.shared.shares[attempt.share].wake.notify_one();
        }
    }
}

/// Counts an attempt that has ended for the figures by the minute. A snoozed or released one has not: it goes on later.
fn sum_up(share: &QueueShare, settling: &Settling, outcome: &Outcome, answer: Settled) {
    let (Settled::Recorded(state) | Settled::Repeated(state)) = answer else { return };
    if state == State::Pending && !matches!(outcome, Outcome::Failed { .. } | Outcome::Done(_)) {
        return;
    }
    share.sums.add(&settling.attempt.task.command, |figures| figures.end(state, settling.took));
}
