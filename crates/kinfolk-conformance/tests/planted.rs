//! The contracts notice mistakes: each mistake that can be planted in the model breaks the contract that forbids it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use kinfolk_conformance::Model;
use kinfolk_conformance::contract::{cancel, claim, lease, queue, repeat, schedule, settle, unique};
use kinfolk_conformance::harness::run;
use kinfolk_conformance::model::Bug;
use kinfolk_conformance::world::World;

async fn breaks(bug: Bug, contract: impl AsyncFnOnce(&World)) {
    let held = AssertUnwindSafe(run(Arc::new(Model::with_bug(bug)), contract)).catch_unwind().await;
    assert!(held.is_err(), "nobody noticed {bug:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_planted_mistake_breaks_a_contract() {
    for bug in Bug::ALL {
        match bug {
            Bug::StaleSettleGoesThrough => breaks(bug, async |w| settle::a_wrong_token_changes_nothing(w).await).await,
            Bug::SnoozeCostsAnAttempt => breaks(bug, async |w| settle::a_snooze_costs_no_attempt(w).await).await,
            Bug::RetryLosesThePlace => breaks(bug, async |w| claim::a_retried_task_keeps_its_place(w).await).await,
            Bug::RecoveryRegainsTheKey => breaks(bug, async |w| unique::a_pending_key_never_comes_back(w).await).await,
            Bug::SuspectsComeTogether => {
                breaks(bug, async |w| lease::a_worker_gets_one_suspect_at_a_time(w).await).await;
            }
            Bug::CompletionBeatsCancel => {
                breaks(bug, async |w| cancel::a_request_beats_every_later_outcome(w).await).await;
            }
            Bug::OverlapIsIgnored => breaks(bug, async |w| schedule::overlapping_ticks_follow_the_rule(w).await).await,
            Bug::PauseIsIgnored => {
                breaks(bug, async |w| queue::a_paused_queue_gives_nothing_out_until_resumed(w).await).await;
            }
            Bug::DueStaysShut => {
                breaks(bug, async |w| claim::a_task_is_claimed_from_the_moment_it_is_due(w).await).await;
            }
            Bug::GapIsForgiven => breaks(bug, async |w| lease::only_a_steady_worker_judges(w).await).await,
            Bug::RepeatIsStale => breaks(bug, async |w| repeat::a_settle_sent_twice_is_recorded_once(w).await).await,
            Bug::WindowEndsEarly => {
                breaks(bug, async |w| unique::a_window_is_held_for_its_span_whatever_happens(w).await).await;
            }
            _ => unreachable!("{bug:?} is not in the list"),
        }
    }
}
