//! Decisions after the end of an attempt. Pure: the stores carry them out.
//!
//! SQLite calls these functions; PostgreSQL decides the same in `kinfolk.settle` and `kinfolk.recover`, and the
//! [`vectors`] of this module are run against both.

use std::time::Duration;

use crate::family::Tally;
use crate::ids::TaskId;
use crate::retry::{RetryPolicy, strike_delay};
use crate::settle::{FailureKind, Outcome, Retry};
use crate::state::State;

/// The facts about a running task that a decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which task.
    pub task: TaskId,
    /// Which attempt ran; 1 is the first.
    pub attempt: u16,
    /// Attempts it may have in all.
    pub max_attempts: u16,
    /// How it is retried.
    pub retry: RetryPolicy,
    /// Someone has asked for its end.
    pub cancel_requested: bool,
    /// It was on a worker whose lease was lost, and has not ended an attempt since.
    pub suspect: bool,
    /// Losses while it was the only suspect of its worker.
    pub strikes: u16,
}

/// Where a task goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Its new state.
    pub state: State,
    /// For `pending`: how long until it is due; zero opens its gate at once.
    pub delay: Duration,
    /// The number of attempts that count from now on.
    pub attempt: u16,
    /// Whether it is a suspect from now on.
    pub suspect: bool,
    /// Its strikes from now on.
    pub strikes: u16,
    /// Why it failed or was cancelled, where that is not what the worker said.
    pub verdict: Option<FailureKind>,
}

/// Decides the next state of a task after the end of an attempt.
///
/// An ended attempt clears suspicion: the worker lived to tell. A recorded request to cancel beats every outcome,
/// except that a released task is not ended by its worker's shutdown: it is cancelled all the same.
pub fn settle(facts: &Facts, outcome: &Outcome) -> Next {
    let next = Next {
        state: State::Pending,
        delay: Duration::ZERO,
        attempt: facts.attempt,
        suspect: false,
        strikes: 0,
        verdict: None,
    };
    if facts.cancel_requested || matches!(outcome, Outcome::Cancelled) {
        return Next { state: State::Cancelled, verdict: Some(FailureKind::Cancelled), ..next };
    }
    match outcome {
        Outcome::Done(_) => Next { state: State::Completed, ..next },
        Outcome::Failed { failure, retry } => {
            let last = facts.attempt >= facts.max_attempts
                || *retry == Retry::Never
                || failure.kind == FailureKind::Validation;
            if last {
                return Next { state: State::Failed, ..next };
            }
            let delay = match retry {
                Retry::After(span) => *span,
                _ => facts.retry.delay(facts.task, facts.attempt),
            };
            Next { delay, ..next }
        }
        Outcome::Snooze(span) | Outcome::YieldFamilySlot(span) => {
            Next { delay: *span, attempt: facts.attempt.saturating_sub(1), ..next }
        }
        // A release says nothing about the task: it keeps its suspicion.
        Outcome::Release => {
            Next { attempt: facts.attempt.saturating_sub(1), suspect: facts.suspect, strikes: facts.strikes, ..next }
        }
        Outcome::Cancelled => unreachable!("handled above"),
    }
}

/// Where a task goes whose own work has ended in `own`, a terminal state, and which has spawned these children: it waits for
/// those that are open, and a failed one fails it. `awaited`: open children of fan-outs that its handler awaited. It waits
/// for those too, but how they end is for the handler to judge.
pub const fn join(own: State, children: &Tally, awaited: u64) -> State {
    if children.open() > 0 || awaited > 0 {
        State::Waiting
    } else if matches!(own, State::Completed) && children.failed > 0 {
        State::Failed
    } else {
        own
    }
}

/// Decides the next state of a task after the loss of its worker: a suspect gets a strike, and waits the longer the more it has.
/// `server_restarted`: the lease was lost because the database was away, which says nothing about the task.
pub fn recover(facts: &Facts, server_restarted: bool) -> Next {
    let struck = facts.suspect && !server_restarted;
    let strikes = facts.strikes + u16::from(struck);
    let next = Next {
        state: State::Pending,
        delay: if struck { strike_delay(strikes) } else { Duration::ZERO },
        attempt: facts.attempt.saturating_sub(1),
        suspect: facts.suspect || !server_restarted,
        strikes,
        verdict: None,
    };
    if facts.cancel_requested {
        return Next { state: State::Cancelled, verdict: Some(FailureKind::Cancelled), delay: Duration::ZERO, ..next };
    }
    if struck && strikes >= facts.retry.max_strikes {
        return Next { state: State::Failed, delay: Duration::ZERO, verdict: Some(FailureKind::Poison), ..next };
    }
    next
}

/// Cases that both stores are run against.
pub mod vectors {
    use super::{Facts, Next, recover, settle};
    use crate::ids::TaskId;
    use crate::json::Json;
    use crate::retry::RetryPolicy;
    use crate::settle::{Failure, FailureKind, Outcome, Retry};
    use std::time::Duration;

    /// How the attempt of a case ended.
    #[derive(Clone, Debug)]
    pub enum Ending {
        /// By a settle.
        Settle(Outcome),
        /// By the loss of its worker.
        Lost {
            /// The database had been restarted.
            server_restarted: bool,
        },
    }

    /// Every combination of facts and endings that the decisions tell apart, with what must follow.
    pub fn all() -> Vec<(Facts, Ending, Next)> {
        let failed = |kind, retry| Outcome::Failed { failure: Failure::new(kind, "why"), retry };
        let endings = [
            Ending::Settle(Outcome::Done(None)),
            Ending::Settle(Outcome::Done(Some(Json::object()))),
            Ending::Settle(failed(FailureKind::Error, Retry::Policy)),
            Ending::Settle(failed(FailureKind::Error, Retry::After(Duration::from_secs(7)))),
            Ending::Settle(failed(FailureKind::Error, Retry::After(Duration::ZERO))),
            Ending::Settle(failed(FailureKind::Error, Retry::Never)),
            Ending::Settle(failed(FailureKind::Timeout, Retry::Policy)),
            Ending::Settle(failed(FailureKind::Validation, Retry::Policy)),
            Ending::Settle(Outcome::Snooze(Duration::from_secs(5))),
            Ending::Settle(Outcome::Snooze(Duration::ZERO)),
            Ending::Settle(Outcome::YieldFamilySlot(Duration::from_secs(5))),
            Ending::Settle(Outcome::Release),
            Ending::Settle(Outcome::Cancelled),
            Ending::Lost { server_restarted: false },
            Ending::Lost { server_restarted: true },
        ];
        let mut cases = Vec::new();
        for ending in &endings {
            for (attempt, max_attempts) in [(1, 1), (1, 3), (2, 3), (3, 3)] {
                for cancel_requested in [false, true] {
                    for (suspect, strikes) in [(false, 0), (true, 0), (true, 2)] {
                        let facts = Facts {
                            task: TaskId(1),
                            attempt,
                            max_attempts,
                            retry: RetryPolicy { max_strikes: 3, ..RetryPolicy::default() },
                            cancel_requested,
                            suspect,
                            strikes,
                        };
                        let next = match ending {
                            Ending::Settle(outcome) => settle(&facts, outcome),
                            Ending::Lost { server_restarted } => recover(&facts, *server_restarted),
                        };
                        cases.push((facts, ending.clone(), next));
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
    use crate::settle::Failure;
    use crate::state::Move;

    fn facts() -> Facts {
        Facts {
            task: TaskId(1),
            attempt: 1,
            max_attempts: 10,
            retry: RetryPolicy::default(),
            cancel_requested: false,
            suspect: false,
            strikes: 0,
        }
    }

    fn failed(retry: Retry) -> Outcome {
        Outcome::Failed { failure: Failure::new(FailureKind::Error, "no"), retry }
    }

    #[test]
    fn the_last_attempt_fails_and_an_earlier_one_is_tried_again() {
        assert_eq!(settle(&facts(), &failed(Retry::Policy)).state, State::Pending);
        let last = Facts { attempt: 10, ..facts() };
        assert_eq!(settle(&last, &failed(Retry::Policy)).state, State::Failed);
        assert_eq!(settle(&facts(), &failed(Retry::Never)).state, State::Failed);
    }

    #[test]
    fn snooze_release_and_loss_cost_no_attempt() {
        assert_eq!(settle(&facts(), &Outcome::Snooze(Duration::from_secs(1))).attempt, 0);
        assert_eq!(settle(&facts(), &Outcome::Release).attempt, 0);
        assert_eq!(recover(&facts(), false).attempt, 0);
    }

    #[test]
    fn a_request_to_cancel_beats_a_late_completion() {
        let asked = Facts { cancel_requested: true, ..facts() };
        assert_eq!(settle(&asked, &Outcome::Done(None)).state, State::Cancelled);
        assert_eq!(recover(&asked, false).state, State::Cancelled);
    }

    #[test]
    fn only_losses_as_the_lone_suspect_make_poison() {
        let first = recover(&facts(), false);
        assert!(first.suspect && first.strikes == 0 && first.delay.is_zero());
        let third = recover(&Facts { suspect: true, strikes: 2, ..facts() }, false);
        assert_eq!((third.state, third.strikes, third.delay), (State::Pending, 3, Duration::from_secs(4)));
        let last = recover(&Facts { suspect: true, strikes: 19, ..facts() }, false);
        assert_eq!((last.state, last.verdict), (State::Failed, Some(FailureKind::Poison)));
        let restart = recover(&Facts { suspect: true, strikes: 2, ..facts() }, true);
        assert_eq!((restart.state, restart.strikes, restart.delay), (State::Pending, 2, Duration::ZERO));
    }

    #[test]
    fn a_parent_waits_for_every_child_and_fails_with_any() {
        let mut tally = Tally { total: 2, ..Tally::default() };
        assert_eq!(join(State::Completed, &tally, 0), State::Waiting);
        tally.count(State::Failed);
        assert_eq!(join(State::Completed, &tally, 0), State::Waiting, "siblings are not interrupted");
        tally.count(State::Cancelled);
        assert_eq!(join(State::Completed, &tally, 0), State::Failed);
        assert_eq!(join(State::Cancelled, &tally, 0), State::Cancelled);
        assert_eq!(join(State::Completed, &Tally { total: 1, cancelled: 1, ..Tally::default() }, 0), State::Completed);
        assert_eq!(join(State::Failed, &Tally::default(), 1), State::Waiting, "whoever is awaited is waited for");
    }

    #[test]
    fn every_case_is_a_legal_move() {
        for (facts, ending, next) in vectors::all() {
            let why = match ending {
                vectors::Ending::Settle(_) => Move::Settle,
                vectors::Ending::Lost { .. } => Move::Recover,
            };
            assert!(State::Running.may(why, next.state), "{facts:?} {ending:?} {next:?}");
        }
    }
}
