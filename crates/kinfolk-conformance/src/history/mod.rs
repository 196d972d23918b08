//! Differential histories: random sequences of operations, played on a store and on the model, every answer compared.
//!
//! A history comes from one number, its seed. When a store and the model differ, the history is shrunk to the few
//! operations that matter and printed with the command that plays it again. `KINFOLK_HISTORIES` says how many are
//! played (2,000 when it is not set), `KINFOLK_HISTORY_SEED` plays one seed alone.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::harness::TestStore;
use crate::model::{Bug, Model};

mod durable;
mod group;
mod op;
mod play;

pub use op::Op;
pub use play::Difference;

/// Histories played when nobody asks for another number.
const HISTORIES: u64 = 2_000;

/// Plays histories on stores, side by side, and panics with a shrunk history at the first difference. `package` is
/// the crate whose test this is, for the command that plays a history again.
pub async fn run(package: &str, fixtures: Vec<Arc<dyn TestStore>>) {
    let (first, count) = match seed_asked_for() {
        Some(seed) => (seed, 1),
        None => (0, number("KINFOLK_HISTORIES").unwrap_or(HISTORIES)),
    };
    let next = Arc::new(AtomicU64::new(first));
    let mut playing = tokio::task::JoinSet::new();
    for fixture in fixtures {
        let next = next.clone();
        playing.spawn(async move {
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst);
                if seed >= first + count {
                    return Ok(());
                }
                let history = tree(seed).current();
                if play::play(&*fixture, model(None), &history).await.is_err() {
                    return Err((seed, fixture));
                }
            }
        });
    }
    while let Some(fixture) = playing.join_next().await {
        match fixture {
            Ok(Ok(())) => {}
            Ok(Err((seed, fixture))) => match difference(&*fixture, seed, None).await {
                Some(found) => panic!("{}", report(package, seed, &found)),
                None => panic!("history {seed} differed once and not again: its answers depend on something else"),
            },
            Err(fault) => std::panic::resume_unwind(fault.into_panic()),
        }
    }
    println!("{count} histories from seed {first}: no difference");
}

/// Those of some mistakes that no history up to `seeds` shows, played on the model with and without the mistake. A history
/// is drawn once for all of them.
pub async fn unnoticed(mistakes: impl IntoIterator<Item = Bug>, seeds: u64) -> Vec<Bug> {
    let mut unnoticed: Vec<Bug> = mistakes.into_iter().collect();
    for seed in 0..seeds {
        if unnoticed.is_empty() {
            break;
        }
        let history = Arc::new(tree(seed).current());
        let mut playing = tokio::task::JoinSet::new();
        for bug in unnoticed {
            let history = Arc::clone(&history);
            playing.spawn(async move {
                let shown = play::play(&Arc::new(Model::new()), Model::with_bug(bug), &history).await;
                shown.is_ok().then_some(bug)
            });
        }
        unnoticed = playing.join_all().await.into_iter().flatten().collect();
    }
    unnoticed
}

/// A history that shows a difference, shrunk.
struct Found {
    history: Vec<Op>,
    difference: Difference,
}

async fn difference(store: &dyn TestStore, seed: u64, bug: Option<Bug>) -> Option<Found> {
    let mut tree = tree(seed);
    let history = tree.current();
    let difference = play::play(store, model(bug), &history).await.err()?;
    let mut found = Found { history, difference };
    while tree.simplify() {
        loop {
            let history = tree.current();
            match play::play(store, model(bug), &history).await {
                Err(difference) => {
                    found = Found { history, difference };
                    break;
                }
                Ok(()) if tree.complicate() => {}
                Ok(()) => return Some(found),
            }
        }
    }
    Some(found)
}

fn tree(seed: u64) -> impl ValueTree<Value = Vec<Op>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    op::history().new_tree(&mut runner).expect("histories have no filters that could fail")
}

fn model(bug: Option<Bug>) -> Model {
    bug.map_or_else(Model::new, Model::with_bug)
}

fn report(package: &str, seed: u64, found: &Found) -> String {
    let Found { history, difference } = found;
    let mut text = format!("history {seed} differs at step {}, in {}:\n", difference.step, difference.what);
    for (step, op) in history.iter().take(difference.step + 1).enumerate() {
        let _ = writeln!(text, "  {step:>2}  {op:?}");
    }
    let _ = writeln!(text, "the model says: {}", difference.model);
    let _ = writeln!(text, "the store says: {}", difference.store);
    let _ = write!(text, "play it again: KINFOLK_HISTORY_SEED={seed} cargo test -p {package} histories");
    text
}

fn seed_asked_for() -> Option<u64> {
    number("KINFOLK_HISTORY_SEED")
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}, which is not a whole number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_model_agrees_with_itself() {
        let store = Arc::new(Model::new());
        for seed in 0..200 {
            assert!(difference(&store, seed, None).await.is_none(), "seed {seed}");
        }
    }

    /// Mistakes that need a longer chance meeting than a test has time for; each breaks a contract at once.
    const RARE: [Bug; 28] = [
        Bug::SiblingComesTooLate,
        Bug::InOrderOpensTwo,
        Bug::FailureDoesNotStopTheOrder,
        Bug::CancelledParentCompletes,
        Bug::CancelStopsAtChildren,
        Bug::DepthIsIgnored,
        Bug::ChildLimitIsIgnored,
        Bug::WaitingHoldsASlot,
        Bug::YieldKeepsTheFamilySlot,
        Bug::SkippedFollowUpRuns,
        Bug::SkippedFollowUpStaysAway,
        Bug::SpoilersAreForgotten,
        Bug::RetryFamilyForgetsTheRoot,
        Bug::RepairIgnoresTheFamilyLimit,
        Bug::ChildIsPrunedAlone,
        Bug::RepeatedRecordIsWrittenTwice,
        Bug::SuspensionBeatsCancel,
        Bug::ExpiryComesEarly,
        Bug::ExpiryLeavesChildrenRunning,
        Bug::ThresholdRoundsDown,
        Bug::LatestSignalComesFirst,
        Bug::SignalIsTakenTwice,
        Bug::RepairReplaysTheFailure,
        Bug::CancelLosesTheTurn,
        Bug::RateRefillsEarly,
        Bug::StrikeCostsNoTime,
        Bug::RepeatedNoteCountsTwice,
        Bug::SuspectUsesUpATurn,
    ];

    #[tokio::test(flavor = "multi_thread")]
    async fn every_planted_mistake_that_is_not_rare_is_found() {
        let mistakes = Bug::ALL.into_iter().filter(|bug| !RARE.contains(bug));
        assert_eq!(unnoticed(mistakes, 2_000).await, []);
    }

    #[tokio::test]
    async fn a_found_difference_is_shrunk_to_a_few_operations() {
        let store = Arc::new(Model::new());
        for seed in 0..2_000 {
            if let Some(found) = difference(&store, seed, Some(Bug::SnoozeCostsAnAttempt)).await {
                let text = report("kinfolk-conformance", seed, &found);
                assert!(found.history.len() < 20, "{text}");
                assert!(text.contains("KINFOLK_HISTORY_SEED="), "{text}");
                return;
            }
        }
        panic!("no history shows the mistake");
    }
}
