//! The contracts notice mistakes: each mistake that can be planted in the model breaks the contract that forbids it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use kinfolk_conformance::Model;
use kinfolk_conformance::contract::{
    blocked, cancel, cancel_family, child_limit, claim, claim_keys, declare, enqueue, enqueue_keys, expire, fair,
    fan_out, follow_up, follow_up_retry, holds, in_order, join, lease, minutes, prune_family, queue, rates, record,
    repeat, reserve, resume, retry_durable, retry_family, schedule, serial, settle, sibling, signal, slots, spawn,
    status, suspend, unique,
};
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
            Bug::RetryLosesThePosition => {
                breaks(bug, async |w| claim::a_retried_task_keeps_its_position(w).await).await;
            }
            Bug::RecoveryRegainsTheKey => breaks(bug, async |w| unique::a_pending_key_never_comes_back(w).await).await,
            Bug::SuspectsComeTogether => {
                breaks(bug, async |w| lease::a_worker_gets_one_suspect_at_a_time(w).await).await;
            }
            Bug::CompletionBeatsCancel => {
                breaks(bug, async |w| cancel::a_request_beats_every_later_outcome(w).await).await;
            }
            Bug::EnqueueAllMakesTheRest => {
                breaks(bug, async |w| enqueue::where_all_or_none_is_wanted_one_rejected_is_an_error(w).await).await;
            }
            Bug::StrikeCostsNoTime => {
                breaks(bug, async |w| lease::a_task_waits_longer_after_each_strike(w).await).await;
            }
            Bug::RepeatedNoteCountsTwice => {
                breaks(bug, async |w| minutes::a_minute_record_sent_again_counts_once(w).await).await;
            }
            Bug::AcquittedTaskStaysASuspect => {
                breaks(bug, async |w| lease::an_acquitted_task_runs_at_once_like_any_other(w).await).await;
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
            _ => in_families(bug).await,
        }
    }
}

/// Mistakes in what parents, children and follow-ups wait for.
async fn in_families(bug: Bug) {
    match bug {
        Bug::JoinMissesAChild => breaks(bug, async |w| join::the_last_child_completes_the_parent(w).await).await,
        Bug::FirstFailureEndsTheParent => {
            breaks(bug, async |w| join::a_failed_child_fails_its_parent_after_all_have_ended(w).await).await;
        }
        Bug::SiblingComesTooLate => {
            breaks(bug, async |w| sibling::the_parent_waits_for_siblings_too(w).await).await;
        }
        Bug::InOrderOpensTwo => breaks(bug, async |w| in_order::they_run_one_after_another(w).await).await,
        Bug::FailureDoesNotStopTheOrder => {
            breaks(bug, async |w| in_order::until_a_failure_the_rest_is_cancelled(w).await).await;
        }
        Bug::CancelledParentCompletes => {
            breaks(bug, async |w| cancel_family::a_family_in_which_nothing_runs_ends_at_once(w).await).await;
        }
        Bug::CancelStopsAtChildren => {
            breaks(bug, async |w| cancel_family::the_deepest_family_is_cancelled_whole(w).await).await;
        }
        Bug::RepeatMakesTwice => {
            breaks(bug, async |w| spawn::a_settle_sent_again_makes_nothing_twice(w).await).await;
        }
        Bug::RefusalMakesTheRest => {
            breaks(bug, async |w| spawn::an_unknown_command_or_queue_refuses_everything(w).await).await;
        }
        Bug::ChildPriorityFromTheCommand | Bug::ChildLosesThePosition => {
            breaks(bug, async |w| spawn::a_child_takes_its_parents_priority_and_its_roots_position(w).await).await;
        }
        Bug::DepthIsIgnored => {
            breaks(bug, async |w| spawn::a_family_grows_as_deep_as_its_roots_queue_allows(w).await).await;
        }
        Bug::FamilyLimitIsIgnored => {
            breaks(bug, async |w| serial::top_level_tasks_run_one_after_another(w).await).await;
        }
        Bug::ChildLimitIsIgnored => {
            breaks(bug, async |w| child_limit::only_so_many_children_run_at_once(w).await).await;
        }
        Bug::WaitingHoldsASlot => breaks(bug, async |w| child_limit::waiting_children_use_no_room(w).await).await,
        Bug::YieldKeepsTheFamilySlot => {
            breaks(bug, async |w| serial::a_root_that_yields_lets_others_go_first(w).await).await;
        }
        Bug::FollowUpOpensEarly => {
            breaks(bug, async |w| follow_up::a_follow_up_waits_for_the_whole_family(w).await).await;
        }
        Bug::FollowUpForgetsTheSecondFamily => {
            breaks(bug, async |w| follow_up::a_follow_up_waits_for_every_family_that_asked(w).await).await;
        }
        Bug::SkippedFollowUpRuns => {
            breaks(bug, async |w| follow_up::a_follow_up_of_success_is_cancelled_after_anything_else(w).await).await;
        }
        Bug::SkippedFollowUpStaysAway => {
            breaks(bug, async |w| follow_up_retry::a_skipped_follow_up_comes_back_with_its_family(w).await).await;
        }
        Bug::SpoilersAreForgotten => {
            breaks(bug, async |w| follow_up_retry::one_of_two_failed_families_brings_it_back(w).await).await;
        }
        Bug::RetryFamilyForgetsTheRoot => {
            breaks(bug, async |w| retry_family::failed_leaves_run_again_and_their_parents_wait(w).await).await;
        }
        Bug::RepairIgnoresTheFamilyLimit => {
            breaks(bug, async |w| retry_family::a_repaired_family_waits_for_room(w).await).await;
        }
        Bug::ChildIsPrunedAlone => {
            breaks(bug, async |w| prune_family::an_ended_child_stays_while_its_family_works(w).await).await;
        }
        Bug::ScheduledTaskIsActive => {
            breaks(bug, async |w| status::active_is_what_is_at_work_or_ready(w).await).await;
        }
        Bug::ShortActivityIsMissed => {
            breaks(bug, async |w| status::activity_between_two_looks_is_told(w).await).await;
        }
        _ => in_groups(bug).await,
    }
}

/// Mistakes in who may start and who holds slots.
async fn in_groups(bug: Bug) {
    match bug {
        Bug::StaleSettleFreesASlot => {
            breaks(bug, async |w| slots::a_settle_after_recovery_frees_nothing(w).await).await;
        }
        Bug::SuspensionKeepsTheSlot => breaks(bug, async |w| slots::a_suspension_frees_them(w).await).await,
        Bug::OneSlotTooMany => breaks(bug, async |w| claim_keys::one_message_is_handled_once_at_a_time(w).await).await,
        Bug::CancelLosesTheTurn => breaks(bug, async |w| blocked::a_cancelled_waiter_passes_its_turn_on(w).await).await,
        Bug::BlockedTaskTakesSlots => {
            breaks(bug, async |w| claim_keys::a_task_takes_all_its_slots_or_none(w).await).await;
        }
        Bug::WaitingParentLosesItsHold => {
            breaks(bug, async |w| holds::a_slot_is_held_until_the_task_has_ended(w).await).await;
        }
        Bug::RateRefillsEarly => breaks(bug, async |w| rates::a_burst_and_then_one_by_one(w).await).await,
        Bug::SharedGroupCountsByCommand => {
            breaks(bug, async |w| claim_keys::a_shared_group_counts_over_commands(w).await).await;
        }
        Bug::DeclarationCountsNothing => {
            breaks(bug, async |w| declare::what_runs_counts_in_a_group_that_is_added(w).await).await;
        }
        Bug::LimitIsReadOnce => breaks(bug, async |w| claim_keys::one_key_may_have_slots_of_its_own(w).await).await,
        Bug::KeysAreInheritedUnasked => {
            breaks(bug, async |w| enqueue_keys::a_child_inherits_when_it_asks(w).await).await;
        }
        Bug::TurnsBeginAnew => breaks(bug, async |w| fair::turns_go_on_over_claims(w).await).await,
        Bug::SuspectUsesUpATurn => {
            breaks(bug, async |w| fair::a_suspect_that_must_wait_costs_no_turn(w).await).await;
        }
        Bug::NoRoomIsKept => breaks(bug, async |w| reserve::a_task_with_two_hot_keys_starts_in_the_end(w).await).await,
        _ => in_durable_handlers(bug).await,
    }
}

/// Mistakes in what durable handlers rely on.
async fn in_durable_handlers(bug: Bug) {
    match bug {
        Bug::StaleRecordIsWritten => {
            breaks(bug, async |w| record::a_stale_record_writes_nothing(w).await).await;
        }
        Bug::RepeatedRecordIsWrittenTwice => {
            breaks(bug, async |w| record::a_record_sent_again_is_written_once(w).await).await;
        }
        Bug::RepeatedSuspensionMakesTwice => {
            breaks(bug, async |w| suspend::a_suspension_sent_again_does_nothing_twice(w).await).await;
        }
        Bug::SuspensionCostsAnAttempt => {
            breaks(bug, async |w| suspend::a_suspension_costs_no_attempt(w).await).await;
        }
        Bug::SuspensionBeatsCancel => {
            breaks(bug, async |w| suspend::a_task_whose_end_was_asked_for_is_cancelled_instead(w).await).await;
        }
        Bug::SubTaskForgetsItsParentsAttempts => {
            breaks(bug, async |w| suspend::a_sub_task_has_its_parents_attempts_in_the_end(w).await).await;
        }
        Bug::WhatIsThereAlreadyIsMissed => {
            breaks(bug, async |w| resume::what_is_there_already_resumes_at_once(w).await).await;
        }
        Bug::ResumptionCostsAnAttempt => {
            breaks(bug, async |w| resume::the_last_child_resumes_the_handler(w).await).await;
        }
        Bug::ResumptionLosesThePosition => {
            breaks(bug, async |w| resume::a_resumed_task_goes_before_those_that_came_after(w).await).await;
        }
        Bug::DeadlineDoesNotWake => {
            breaks(bug, async |w| expire::the_deadline_resumes_the_handler(w).await).await;
        }
        Bug::ExpiryComesEarly => {
            breaks(bug, async |w| expire::a_fan_out_that_is_not_overdue_is_left_as_it_is(w).await).await;
        }
        Bug::ExpiryLeavesChildrenRunning => {
            breaks(bug, async |w| expire::an_overdue_fan_out_is_given_up(w).await).await;
        }
        Bug::VerdictIsTakenAgain => {
            breaks(bug, async |w| fan_out::a_verdict_stands(w).await).await;
        }
        Bug::CancelledChildIsForgiven => {
            breaks(bug, async |w| fan_out::a_cancelled_child_did_not_complete(w).await).await;
        }
        Bug::ThresholdRoundsDown => {
            breaks(bug, async |w| fan_out::a_threshold_gives_up_early(w).await).await;
        }
        Bug::EndedOrderRunsBackwards => {
            breaks(bug, async |w| fan_out::children_that_end_at_once_end_in_their_order(w).await).await;
        }
        Bug::OwnersFailureIsNotPassedOn => {
            breaks(bug, async |w| fan_out::open_children_end_with_an_owner_that_failed(w).await).await;
        }
        Bug::SignalDoesNotWake => {
            breaks(bug, async |w| signal::a_signal_resumes_the_handler_that_waits_for_it(w).await).await;
        }
        Bug::LatestSignalComesFirst => {
            breaks(bug, async |w| signal::signals_are_kept_in_order_until_asked_for(w).await).await;
        }
        Bug::SignalIsTakenTwice => {
            breaks(bug, async |w| signal::a_signal_resumes_the_handler_that_waits_for_it(w).await).await;
        }
        Bug::RepairReplaysTheFailure => {
            breaks(bug, async |w| retry_durable::a_failed_fan_out_is_opened_again(w).await).await;
        }
        other => panic!("no contract is named that forbids {other:?}"),
    }
}
