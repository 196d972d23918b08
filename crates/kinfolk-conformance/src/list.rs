//! The list of all contracts, in one place, and the macro that makes a test of each.

/// Makes one test of each contract, named `group::contract`.
///
/// The argument names an async function that makes a fresh, empty store under test
/// (anything that is a [`TestStore`](crate::TestStore)). The caller needs `tokio` with `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! contracts {
    ($fixture:ident) => {
        $crate::every_contract! { test_each $fixture }
    };
}

/// Hands the list of all contracts to another macro of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! every_contract {
    ($then:ident $($argument:tt)*) => {
        $crate::$then! {
            { $($argument)* }
            admit: [
                every_claim_takes_what_the_core_lets_start, another_load_agrees,
            ]
            audit: [
                the_log_is_newest_first_in_pages, long_and_hostile_texts_are_cut, old_entries_are_pruned,
                the_change_number_moves_with_every_commit,
            ]
            errors: [
                every_attempt_that_fails_is_logged, only_failures_are_logged, a_repeated_settle_logs_nothing,
                the_log_is_newest_first_in_pages, entries_outlive_their_tasks_and_go_by_age, entries_are_found_by_task_command_and_queue,
            ]
            bulk: [
                what_matches_is_cancelled_page_by_page, what_matches_is_retried_page_by_page,
                what_has_ended_is_deleted_with_its_family, a_task_is_told_to_run_now,
                only_a_pending_task_is_told_to_run_now, what_matches_is_told_to_run_now,
                a_bulk_action_that_matches_nothing_does_nothing,
            ]
            cancel: [
                a_pending_task_is_cancelled_at_once, a_running_task_is_asked_to_end, a_heartbeat_brings_the_requests,
                a_request_beats_every_later_outcome, a_task_that_has_ended_is_not_cancelled,
                cancelling_nothing_is_not_found, a_task_between_attempts_is_cancelled_at_once,
            ]
            cancel_durable: [
                a_suspended_handler_is_cancelled_at_once, a_handler_whose_children_are_in_line_ends_with_them,
                a_suspended_handler_waits_for_running_children, a_pending_handler_waits_for_running_children,
                a_pending_handler_ends_with_its_children, a_running_handler_is_asked, everything_below_is_cancelled,
                a_cancelled_child_resumes_its_handler, a_failed_owner_that_waits_is_cancelled,
            ]
            cancel_family: [
                a_family_in_which_nothing_runs_ends_at_once, what_runs_is_asked_and_its_parents_wait_for_it,
                the_heartbeats_bring_all_requests, a_cancelled_family_takes_no_new_child, a_branch_is_cancelled_alone,
                cancelling_the_last_branch_settles_those_above, what_has_ended_keeps_its_state,
                the_deepest_family_is_cancelled_whole, a_wide_family_is_cancelled_whole, asking_twice_changes_nothing,
                a_lost_worker_ends_a_cancelled_family, nothing_of_a_cancelled_order_begins,
            ]
            child_limit: [
                only_so_many_children_run_at_once, every_way_to_stop_gives_the_room_back, waiting_children_use_no_room,
                the_limit_belongs_to_the_childs_queue, the_limit_may_change_while_children_run,
                both_limits_hold_together,
            ]
            claim: [
                a_claimed_task_runs_on_its_worker, two_workers_never_get_the_same_task,
                a_claim_never_takes_more_than_its_limit, tasks_come_by_priority_then_position_then_number,
                the_order_holds_across_commands, a_worker_gets_only_commands_it_handles, a_claim_stays_on_its_queue,
                a_claim_of_nothing_is_empty, a_stranger_gets_lease_lost, a_task_is_claimed_from_the_moment_it_is_due,
                a_claim_says_when_the_next_task_is_due, waiting_tasks_are_not_in_the_way,
                all_that_is_due_is_opened_page_by_page, a_retried_task_keeps_its_position,
                snoozed_and_released_tasks_keep_their_position, a_claim_gives_all_its_tasks_its_token,
                the_count_of_running_tasks_is_shown_with_the_worker, a_task_can_go_round_many_times,
                a_clock_set_back_does_no_harm,
            ]
            claim_keys: [
                a_tenant_and_a_message_are_two_limits, every_tenant_has_its_own_slots,
                one_message_is_handled_once_at_a_time, a_task_takes_all_its_slots_or_none, crossing_keys_drain,
                a_missing_key_skips_its_group, a_total_counts_every_task, one_key_may_have_slots_of_its_own,
                a_limit_of_nothing_starts_nothing, sixteen_keys_are_taken_together, a_shared_group_counts_over_commands,
                a_shared_group_counts_over_queues, a_command_on_two_queues_has_one_group,
                tasks_without_keys_pass_blocked_ones, a_claim_says_who_holds_slots,
                a_claim_brings_the_keys_of_each_task, keys_stay_with_their_task, room_goes_to_those_who_stand_first,
                a_repeated_claim_takes_no_second_slot, a_suspect_needs_room_too, a_held_up_root_takes_no_family_slot,
                a_child_needs_both_kinds_of_room, a_task_for_later_needs_room_when_it_is_due,
                other_commands_are_not_disturbed, a_limit_set_later_counts_those_that_run,
            ]
            concurrency: [
                many_claimers_never_double_and_forget_nothing, a_crowd_of_workers_drains_everything_once,
                parallel_enqueues_lose_nothing, the_same_settle_at_once_is_recorded_once,
                crossing_batches_do_not_lock_up, at_most_one_task_runs_under_an_active_key,
                no_merge_is_lost_however_it_races_with_claims, crossing_keys_do_not_lock_up,
                once_paused_nothing_more_is_taken, a_cancel_and_a_completion_agree, a_cancel_and_a_claim_agree,
                a_recovery_and_a_late_settle_never_both_count, parallel_recoveries_return_each_task_once,
                a_tick_fired_at_once_is_fired_once, parallel_prunes_count_each_task_once,
                parallel_registrations_do_not_lock_up, leaving_and_settling_agree,
            ]
            declare: [
                a_declaration_is_shown, saying_nothing_leaves_the_groups, a_new_declaration_replaces_the_old_one,
                an_empty_declaration_removes_all, a_shared_group_is_as_it_was_declared_last,
                a_shared_group_goes_with_its_last_command, leaving_a_shared_group_gives_its_slots_back,
                a_shared_group_and_an_own_one_are_two, an_own_group_may_become_shared,
                what_runs_counts_in_a_group_that_is_added, what_runs_counts_in_a_group_that_becomes_shared,
                what_runs_counts_again_when_its_command_comes_back, what_is_set_stands_until_the_group_goes,
                a_new_limit_holds_at_once, groups_of_two_commands_do_not_mix, bad_groups_are_refused,
                a_command_may_have_sixteen_groups, parallel_declarations_agree,
            ]
            enqueue: [
                a_new_task_takes_its_commands_defaults, what_the_enqueue_says_wins_over_the_command,
                a_task_for_now_is_open_at_once, a_task_for_later_waits_behind_the_time_gate,
                a_task_for_the_past_is_open_and_does_not_jump_the_line, a_task_due_this_very_moment_is_open,
                a_batch_is_answered_in_order_with_rising_numbers, an_empty_batch_is_no_mistake,
                an_unknown_command_is_rejected_and_its_neighbours_are_made, an_unknown_queue_is_rejected,
                where_all_or_none_is_wanted_one_rejected_is_an_error, a_paused_queue_still_takes_new_tasks,
                a_payload_comes_back_to_the_digit, registering_again_changes_only_later_tasks,
                registering_makes_missing_queues_and_leaves_others_alone, a_task_enqueued_here_is_claimed_elsewhere,
            ]
            enqueue_keys: [
                keys_come_back_as_they_were_given, an_unknown_group_is_rejected, a_bad_key_is_refused,
                a_key_for_a_total_is_refused, a_duplicate_changes_no_keys, a_schedule_carries_keys,
                a_child_inherits_when_it_asks, given_keys_win_over_inherited_ones, a_sibling_inherits_from_its_maker,
                follow_ups_and_other_tasks_inherit, children_of_a_fan_out_inherit,
                a_task_without_a_maker_inherits_nothing, an_unknown_group_refuses_what_a_handler_made,
                an_unknown_group_refuses_a_suspension, a_task_keeps_its_keys,
            ]
            expire: [
                the_deadline_resumes_the_handler, an_overdue_fan_out_is_given_up,
                a_fan_out_that_is_not_overdue_is_left_as_it_is, a_settled_fan_out_is_left_as_it_is,
                the_last_child_may_come_before_the_handler, nobody_gives_up_what_is_not_his,
                the_earliest_of_all_times_resumes, everything_below_is_cancelled, a_timeout_of_nothing_is_over_at_once,
            ]
            explain: [
                what_runs_or_has_ended_has_none, an_unknown_task_is_not_found, one_in_line_hears_how_many_are_before_it,
                one_among_values_that_take_turns_hears_how_many_are_before_it, no_more_than_a_page_is_counted,
                one_that_is_not_due, one_on_a_paused_queue, a_follow_up_of_an_open_family, one_in_order,
                a_root_on_a_full_serial_queue, a_member_of_a_family_without_room,
                a_child_on_a_queue_full_of_children, one_under_full_keys, one_of_a_command_at_its_total,
                one_under_an_empty_rate, a_suspect_without_a_worker_of_its_own, one_without_a_worker,
                all_reasons_are_given, a_parent_that_waits, twenty_open_children_are_named,
            ]
            explain_durable: [
                a_handler_that_sleeps, a_handler_that_waits_for_a_signal, a_handler_that_awaits_children,
                a_handler_that_waits_for_several_things, a_resumed_handler_under_a_full_key,
            ]
            fair: [
                a_few_are_not_held_up_by_many, values_take_turns, turns_go_on_over_claims,
                tasks_without_the_key_have_their_turn, priority_goes_before_turns, a_full_tenant_passes_its_turn,
                a_claim_of_many_is_many_claims_of_one, a_family_without_room_costs_no_turn,
                a_suspect_comes_in_its_turn, a_suspect_that_must_wait_costs_no_turn, who_waits_for_its_turn_is_open,
                a_queue_becomes_fair_with_all_that_is_in_it, each_queue_is_fair_by_itself, a_total_has_no_keys_to_take_turns,
            ]
            failures: [
                failures_that_say_the_same_are_one_cause, only_what_failed_in_the_span_is_counted,
            ]
            family_races: [
                the_last_siblings_settle_at_once, the_last_cousins_settle_at_once, a_sibling_and_the_last_end_at_once,
                crossing_batches_of_families_do_not_lock_up, a_cancel_of_the_family_and_the_last_end_agree,
                a_cancel_leaves_no_child_behind_that_is_just_made, a_repair_at_once_is_done_once,
                top_level_tasks_of_a_serial_queue_never_overlap, no_more_families_work_than_the_limit_says,
                no_more_children_run_than_the_limit_says, a_follow_up_asked_for_at_once_waits_for_all,
                changing_limits_at_work_locks_nothing_up, lost_children_and_late_ends_agree,
                parallel_prunes_of_families_count_each_task_once,
            ]
            fan_out: [
                fail_fast_is_settled_by_the_first_failure, collect_all_waits_for_every_child,
                a_threshold_gives_up_early, a_cancelled_child_did_not_complete,
                children_that_end_at_once_end_in_their_order, a_verdict_stands,
                an_owner_waits_for_awaited_children_in_the_end, an_own_failure_is_the_one_shown,
                open_children_end_with_an_owner_that_failed, an_owner_whose_children_all_end_with_it_ends_at_once,
                a_success_leaves_the_children_at_work, fan_outs_nest, a_child_that_waits_for_its_own_has_not_ended,
                fan_outs_follow_one_another, a_yield_with_open_children_is_a_snooze,
                an_owner_and_its_child_end_in_one_call, a_grandchild_ends_in_the_call_in_which_an_owner_fails,
                a_wide_fan_out_is_settled,
                only_spawned_children_fail_their_parent, a_child_is_counted_when_it_ends_for_good,
                a_fan_out_is_awaited_over_several_suspensions,
            ]
            filter: [
                a_family_is_found_by_parent_root_and_fan_out, parents_and_roots_are_told_apart,
                every_state_is_found_whatever_holds_a_task, keys_are_found, a_span_has_its_beginning_and_not_its_end,
                failures_are_found_by_kind_and_text, a_payload_is_found_by_a_value_in_it, pages_go_both_ways,
                a_rare_match_is_found_page_by_page, a_bad_filter_is_refused,
            ]
            follow_up: [
                a_follow_up_waits_for_the_whole_family, follow_ups_of_a_flat_task_come_next_in_the_order_they_were_made,
                a_newer_family_never_runs_before_an_older_follow_up, any_member_may_ask, what_the_follow_up_says_wins,
                a_follow_up_waits_for_every_family_that_asked, a_family_that_asks_twice_asks_once,
                a_plain_pending_task_joins, a_plain_enqueue_goes_into_the_follow_up, one_that_has_started_is_left_alone,
                a_follow_up_of_success_is_cancelled_after_anything_else, each_family_is_judged_by_what_it_asked_for,
                a_follow_up_can_be_cancelled, a_repaired_family_shuts_nothing_again,
                a_repaired_family_that_asks_again_is_waited_for, a_child_under_the_same_key_is_never_made_to_wait,
                a_removed_family_is_not_forgotten, an_unknown_follow_up_is_refused,
                a_queue_without_children_takes_follow_ups, a_follow_up_remembers_who_made_it,
            ]
            follow_up_retry: [
                a_skipped_follow_up_comes_back_with_its_family, it_is_skipped_again_when_its_family_fails_again,
                it_keeps_its_time, one_of_two_failed_families_brings_it_back, it_waits_for_every_family_that_is_retried,
                a_family_that_is_retried_before_anyone_has_looked_is_waited_for,
                only_a_family_that_spoiled_it_brings_it_back, one_that_was_cancelled_by_hand_stays_cancelled,
                one_that_was_retried_by_hand_is_left_alone, one_that_was_removed_stays_away,
                a_removed_family_spoils_it_again, it_does_not_regain_its_key, what_followed_a_follow_up_comes_back_too,
                a_bulk_retry_of_both_has_it_wait,
            ]
            group_races: [
                two_claims_at_once_never_pass_a_limit, a_total_of_one_never_overlaps, a_group_shared_by_queues_is_exact,
                everything_drains_while_limits_change, room_is_not_counted_by_number,
                a_recovery_and_a_late_settle_free_once, cancels_lose_nobodys_turn,
            ]
            held: [
                each_pending_task_counts_under_one_reason, what_waits_for_another_is_told,
                a_key_that_holds_tasks_up_is_named, on_a_fair_queue_tasks_wait_for_their_turn,
            ]
            history: [
                most_tasks_have_none, it_holds_checkpoints_fan_outs_and_results,
                open_children_of_a_settled_fan_out_are_there_too, results_of_a_wide_fan_out_are_not_in_it,
                it_is_of_one_task_alone, a_failed_attempt_leaves_it_as_it_was,
            ]
            holds: [
                parents_that_wait_drain_with_their_children, parents_that_hold_drain_with_their_children,
                handlers_that_wait_drain_with_their_children, handlers_that_hold_drain_with_their_children,
                a_slot_is_held_until_the_task_has_ended, descendants_of_a_holder_take_none,
                a_cancelled_holder_gives_its_slot_back, a_cancelled_family_holds_until_it_has_ended,
                a_retried_holder_needs_its_slot_anew, a_group_that_holds_no_longer_gives_slots_back,
                who_ran_on_a_held_slot_takes_its_own_when_the_group_holds_no_longer,
                who_ran_on_a_held_slot_takes_its_own_when_the_holder_leaves,
                a_held_slot_goes_over_to_a_group_that_becomes_shared, a_running_parent_spares_no_slot,
                a_holder_takes_a_start_at_each_claim,
            ]
            in_order: [
                they_run_one_after_another, each_waits_for_the_whole_family_of_the_one_before,
                only_an_end_lets_the_next_begin, a_failure_does_not_stop_the_others,
                until_a_failure_the_rest_is_cancelled, a_failure_below_stops_the_rest,
                a_cancelled_one_lets_the_next_begin, one_that_is_not_due_waits_when_its_turn_comes,
                a_sibling_goes_to_the_end_of_the_order, a_sibling_waits_for_its_makers_family,
                a_retried_one_starts_at_once_and_holds_the_rest, one_that_was_not_made_is_not_waited_for,
            ]
            input: [
                a_payload_over_the_limit_is_refused, a_bad_unique_key_is_refused, a_bad_window_is_refused,
                a_priority_out_of_range_is_refused, attempts_out_of_range_are_refused,
                a_timeout_out_of_range_is_refused, a_delay_too_long_is_refused, a_trace_too_long_is_refused,
                a_batch_over_the_limit_is_refused, a_bad_command_is_refused, a_result_over_the_limit_is_refused,
                a_snooze_too_long_is_refused, too_many_settles_are_refused, a_bad_worker_is_refused,
                a_bad_schedule_is_refused, a_schedule_for_an_unknown_command_is_refused,
                a_refused_change_leaves_the_schedule,
            ]
            inspect: [
                a_listing_is_newest_first, filters_narrow_a_listing, pages_follow_each_other_without_gap,
                a_full_last_page_has_no_next, the_size_of_a_page_has_bounds, what_does_not_exist_is_none,
                counts_are_by_queue_command_and_state, counts_of_what_has_ended_have_a_bound,
                counts_of_what_is_open_have_a_bound,
                active_fan_outs_and_families_are_counted, the_head_of_each_line_is_shown, only_live_workers_count,
                commands_are_shown_as_registered, names_sort_by_their_bytes, every_process_sees_the_same,
                a_label_is_read_from_the_payload,
                the_doctor_always_names_a_remedy, the_doctor_names_what_may_run_and_nobody_handles,
                a_waiting_worker_is_woken, moments_are_kept_to_the_microsecond,
            ]
            join: [
                the_last_child_completes_the_parent, a_failed_child_fails_its_parent_after_all_have_ended,
                a_failure_by_a_child_is_final_and_no_attempt, a_cancelled_child_does_not_fail_its_parent,
                a_parent_of_cancelled_children_completes, ends_go_up_at_any_depth_at_once,
                a_failure_goes_up_through_all_generations, only_an_end_counts, a_poisoned_child_fails_its_parent,
                a_child_that_ends_with_its_worker_is_counted, one_batch_settles_many_families,
                one_batch_may_end_and_make_in_one_family, a_waiting_parent_belongs_to_no_worker,
                a_repeated_settle_hears_how_the_family_ended, the_sweep_leaves_healthy_parents_alone,
                a_late_settle_moves_nothing_above,
            ]
            keys: [
                a_key_is_shown_as_it_is, a_key_with_a_rate_alone_has_no_limit, twenty_holders_are_named,
                a_total_has_the_empty_key, they_come_by_group_and_key, those_that_hold_up_can_be_asked_for,
                groups_come_by_command_and_name, waiters_are_counted_while_they_wait,
            ]
            lease: [
                a_worker_is_shown_as_it_registered, a_heartbeat_renews_the_lease, a_stranger_has_no_lease,
                a_worker_that_leaves_gives_everything_back, leaving_completes_a_cancellation,
                a_lease_holds_to_its_last_moment, a_lost_task_comes_back_as_a_suspect,
                a_lost_worker_learns_that_it_is_lost, a_settle_after_recovery_is_stale,
                a_late_settle_before_recovery_counts, only_a_steady_worker_judges,
                a_worker_that_is_late_itself_judges_nobody, a_heartbeat_at_the_last_moment_is_no_gap,
                the_living_keep_their_tasks, a_task_claimed_again_is_not_recovered_for_its_old_worker,
                a_restarted_worker_does_not_hide_the_lost_one, an_idle_lost_worker_is_removed,
                recovery_goes_page_by_page_whoever_does_it, recovering_again_does_nothing,
                a_loss_completes_a_cancellation, a_worker_gets_one_suspect_at_a_time,
                a_claim_passes_over_suspects_it_may_not_take, an_ended_attempt_clears_the_suspicion,
                a_task_waits_longer_after_each_strike, a_task_that_takes_down_its_workers_is_poison_in_the_end,
                a_command_says_how_many_strikes_make_poison, an_acquitted_task_runs_at_once_like_any_other,
                an_acquitted_task_that_runs_goes_on, only_suspects_are_acquitted,
                one_killer_does_not_fail_its_neighbours, a_first_loss_is_no_strike, a_server_restart_is_no_strike,
                workers_are_shown_oldest_first,
            ]
            migrate: [
                an_up_to_date_store_has_nothing_to_migrate, migrating_again_changes_nothing,
                migrating_at_once_is_told_busy_at_worst,
            ]
            minutes: [
                minute_records_add_up_by_minute_queue_and_command, a_minute_record_sent_again_counts_once, minute_records_of_one_call_add_up,
                a_refused_minute_record_leaves_nothing, old_minutes_are_pruned, a_claim_says_how_long_a_task_waited,
            ]
            blocked: [
                priority_and_age_decide_within_a_key, a_full_key_holds_up_no_other,
                one_that_just_missed_the_last_slot_is_not_forgotten, a_cancelled_waiter_passes_its_turn_on,
                a_cancelled_waiter_on_another_queue_passes_its_turn_on, a_waiter_that_moves_on_makes_way_for_the_next_waiter,
                waiters_on_a_paused_queue_hold_up_nobody, room_made_during_a_pause_is_not_forgotten,
                waiters_without_a_worker_hold_up_nobody, a_raised_limit_lets_waiters_start,
                a_removed_group_lets_waiters_start, a_recovery_lets_a_waiter_start, a_suspension_lets_a_waiter_start,
                a_task_between_two_keys_starts_when_both_have_room, a_task_between_two_keys_holds_up_neither,
                as_many_start_as_there_is_room_for, what_one_claim_leaves_the_next_one_takes,
                a_waiter_keeps_its_position_in_line, a_waiter_may_be_made_to_wait_for_a_family, hundreds_of_waiters_drain,
                a_freed_slot_wakes_the_queue_that_waits,
            ]
            progress: [
                a_childless_task_counts_nothing, children_come_page_by_page_in_their_order, counts_follow_every_end,
                progress_is_by_generation_whoever_is_asked, families_do_not_mix,
            ]
            prune: [
                tasks_go_when_their_states_retention_has_passed, attempts_go_with_their_task, what_has_not_ended_stays,
                each_queue_keeps_as_long_as_it_says, pruning_goes_page_by_page_oldest_first,
                a_retried_task_is_not_removed, a_removed_task_is_gone_for_good,
            ]
            prune_durable: [
                everything_recorded_goes_with_the_family, a_suspended_handler_is_never_pruned,
            ]
            prune_family: [
                an_ended_child_stays_while_its_family_works, a_family_goes_by_its_roots_end,
                a_large_family_goes_over_several_calls_root_last, a_repaired_family_stays,
                each_root_keeps_its_family_as_its_queue_says,
            ]
            queue: [
                a_paused_queue_gives_nothing_out_until_resumed, a_paused_queue_names_no_next_task,
                pausing_one_queue_leaves_the_others, pausing_twice_keeps_the_first_moment,
                an_unknown_queue_is_not_found, setting_a_queue_makes_it_or_changes_its_retention,
                a_pause_is_seen_by_every_process, a_pause_says_who_asked,
            ]
            rates: [
                a_burst_and_then_one_by_one, a_pause_saves_up_no_more_than_the_burst, each_key_has_its_own,
                a_total_may_have_a_rate, intervals_are_rounded_up, every_claim_is_a_start,
                a_limit_and_a_rate_hold_together, a_start_is_taken_from_every_key_or_none,
                a_changed_rate_applies_to_what_was_spent, a_faster_rate_counts_from_now_on,
                a_claim_names_the_earliest_moment, those_that_wait_start_in_order,
                every_rhythm_follows_the_cores_arithmetic, a_passed_rate_leaves_nothing_behind,
            ]
            record: [
                checkpoints_are_kept_in_the_order_of_writing, a_record_sent_again_is_written_once,
                nothing_else_is_written_under_a_recorded_key, a_stale_record_writes_nothing,
                a_key_is_branch_name_and_occurrence, kinds_digests_and_values_come_back_as_they_were,
                a_request_to_cancel_does_not_stop_a_record, what_was_recorded_outlives_every_end_of_an_attempt,
                a_repeated_claim_says_it_too, a_task_has_a_most_of_checkpoints, what_no_store_would_keep_is_refused,
            ]
            recover_durable: [
                a_lost_handler_goes_on_from_its_history, every_pause_leaves_the_history_as_it_is,
                a_suspended_handler_has_no_worker_to_lose, a_lost_child_is_counted_when_it_ends,
                a_lost_handler_whose_end_was_asked_for_waits_for_its_children, poison_waits_for_its_children,
                a_child_that_ends_by_loss_is_counted,
            ]
            remove_group: [
                what_it_held_up_starts, other_keys_still_hold_up, a_shared_group_goes_from_all_commands,
                declared_anew_it_counts_what_runs, an_unknown_group_is_not_found,
            ]
            repeat: [
                a_repeated_claim_gives_the_same_tasks, a_repeated_claim_that_took_nothing_is_a_first_one,
                a_repeated_claim_gives_what_still_runs, a_repeated_claim_needs_its_own_worker,
                a_settle_sent_twice_is_recorded_once, a_settle_twice_in_one_batch_is_recorded_once,
                a_repeated_settle_hears_of_what_came_after, a_worker_registered_twice_is_one_worker,
                leaving_twice_is_no_mistake, a_worker_may_come_back, a_fire_sent_twice_is_fired_once,
                a_repeated_cancel_and_retry_do_nothing_more, registering_commands_twice_changes_nothing,
                a_heartbeat_sent_twice_is_one, an_unused_token_settles_nothing,
            ]
            report: [
                the_latest_is_shown_and_stays, a_stale_report_is_not_written, what_no_store_would_keep_is_refused,
            ]
            reserve: [
                a_task_with_two_hot_keys_starts_in_the_end, kept_room_is_given_to_nobody_else, other_keys_are_not_kept,
                a_cancelled_task_keeps_no_room, a_removed_group_keeps_no_room, waiting_behind_one_key_keeps_no_room,
                a_task_on_a_paused_queue_keeps_no_room, a_task_that_no_worker_handles_keeps_no_room,
                a_task_with_a_key_that_is_shut_keeps_no_room, one_who_cannot_start_makes_way_for_another,
            ]
            results: [
                they_are_read_by_index_or_by_end, pages_go_on_where_the_last_one_ended, ends_are_read_by_their_indexes, a_page_has_a_most,
                an_unknown_fan_out_is_not_found,
            ]
            resume: [
                the_last_child_resumes_the_handler, a_resumed_task_goes_before_those_that_came_after,
                what_is_there_already_resumes_at_once, a_timer_resumes_at_its_moment, a_claim_opens_more_than_it_takes,
                what_comes_first_resumes, whichever_fan_out_is_settled_first_resumes, enough_ends_resume_a_stream,
                a_verdict_resumes_a_stream_before_its_time, ends_do_not_disturb_a_handler_that_does_not_wait,
                errors_after_a_resumption_cost_attempts, all_timers_that_are_due_resume_page_by_page,
                a_paused_queue_resumes_nobody,
            ]
            retry: [
                a_failed_task_starts_afresh_at_its_old_position, a_cancelled_task_runs_without_the_old_request,
                retried_attempts_are_added_to_the_record, only_failed_and_cancelled_tasks_are_retried,
                retrying_nothing_is_not_found, the_old_token_is_stale_after_a_retry, a_retry_forgives_poison,
            ]
            retry_durable: [
                a_handler_without_children_replays_what_it_recorded, awaited_children_are_not_retried_alone,
                a_handler_that_failed_by_itself_replays, a_failed_fan_out_is_opened_again,
                a_fan_out_that_timed_out_is_opened_again, what_came_after_the_failure_is_forgotten,
                forgotten_fan_outs_stay_forgotten, a_stream_is_taken_in_again, a_failure_deep_in_the_family_is_repaired,
                cancelled_children_of_a_reopened_fan_out_go_on, a_failure_that_the_handler_heard_of_stays,
                failed_spawned_children_run_again_with_their_parent, a_reopened_family_waits_for_room,
                a_cancelled_handler_goes_on_from_its_history, a_cancelled_handler_waits_for_its_children_again,
                taken_signals_are_not_forgotten, a_handler_goes_on_when_nothing_is_left_of_what_it_awaits_again,
                a_handler_of_a_family_without_room_is_resumed_when_there_is_room,
            ]
            retry_family: [
                failed_leaves_run_again_and_their_parents_wait, a_repaired_family_settles_as_if_it_had_never_failed,
                what_has_completed_does_not_run_again, completed_branches_stay_as_they_are,
                a_cancelled_branch_runs_again, a_cancelled_family_runs_again, a_cancelled_family_goes_on_in_order,
                a_cancelled_family_waits_for_room, a_root_that_failed_by_itself_runs_again,
                only_a_family_that_ended_badly_is_repaired, skipped_children_run_again_in_order,
                in_order_the_lowest_goes_first, a_repaired_family_waits_for_room,
                nothing_of_a_family_without_room_opens, a_removed_limit_lets_repaired_families_work,
                a_family_without_room_can_be_cancelled, old_tokens_do_no_harm_after_a_repair,
                a_child_is_retried_while_its_parent_waits, a_parent_is_retried_with_what_is_below_it,
                a_child_of_an_ended_parent_is_not_retried_alone, a_refused_retry_changes_nothing,
            ]
            retry_policy: [
                delays_double_up_to_the_cap, the_jitter_is_the_formulas_to_the_microsecond,
                a_late_attempt_has_a_sound_delay, retry_after_replaces_the_delay_and_not_the_count,
                delays_follow_the_command_and_counts_follow_the_enqueue, one_attempt_is_one_attempt,
            ]
            runs: [
                a_task_done_at_once_has_one_run, every_run_is_told, a_suspension_says_what_it_waits_for,
                a_parents_own_work_ends_before_its_children, a_fan_out_says_when_it_was_settled,
                the_runs_of_many_tasks_come_at_once,
            ]
            schedule: [
                a_schedule_is_armed_by_the_stores_clock, a_schedule_is_due_from_its_tick_on,
                firing_enqueues_and_arms_the_next_tick, a_tick_is_fired_once, a_paused_schedule_does_not_fire,
                a_resumed_schedule_is_armed_from_now, missed_ticks_follow_the_rule,
                a_plan_without_ticks_only_arms_the_next, overlapping_ticks_follow_the_rule,
                catching_up_does_not_overlap_itself, a_tick_respects_a_unique_key,
                a_failing_task_does_not_disarm_its_schedule, changing_a_schedule_keeps_its_last_tick,
                a_schedule_can_not_be_handed_a_past, a_schedule_that_code_no_longer_declares_is_told, due_schedules_come_by_tick_then_name,
                a_removed_schedule_leaves_its_tasks, an_unknown_schedule_is_not_found, a_schedule_can_be_put_paused,
                a_schedule_for_an_unknown_queue_or_group_is_refused, a_tick_that_makes_no_task_is_told,
            ]
            serial: [
                top_level_tasks_run_one_after_another, as_many_families_work_as_the_limit_says,
                children_run_side_by_side_inside_the_family, a_family_keeps_its_family_slot_between_attempts,
                a_cancelled_root_frees_its_family_slot, queues_do_not_block_each_other, families_finish_before_new_ones_start,
                a_root_that_yields_lets_others_go_first, yielding_without_a_family_slot_is_a_snooze,
                a_new_limit_counts_what_is_at_work, a_limit_may_change_while_families_work,
                other_changes_leave_the_families_alone, a_repeated_claim_takes_no_second_family_slot,
                the_order_holds_over_roots_and_children, a_suspect_without_room_is_passed_over,
                a_root_for_later_takes_no_family_slot, a_paused_queue_keeps_the_family_slots,
            ]
            set_group: [
                a_limit_goes_up, a_limit_goes_down, an_empty_setting_goes_back, slots_and_rates_are_set_apart,
                what_is_set_is_shown, an_unknown_group_is_not_found, bad_settings_are_refused, a_total_may_be_set,
                a_key_may_be_set_beforehand,
            ]
            settle: [
                a_completion_keeps_its_result, no_result_is_not_the_result_null, a_first_completion_leaves_no_attempt,
                a_later_completion_is_recorded_with_the_attempts, a_failure_is_tried_again_after_a_delay,
                the_last_failure_is_final, do_not_retry_and_validation_fail_at_once, a_snooze_costs_no_attempt,
                a_release_gives_the_task_back_as_it_was, a_cancelled_outcome_ends_the_task_as_cancelled,
                a_delay_of_zero_is_no_delay, a_stale_settle_does_not_disturb_its_neighbours,
                a_wrong_token_changes_nothing, a_token_of_an_earlier_claim_is_stale_at_the_same_attempt,
                an_attempt_shows_when_where_and_why, a_failure_comes_back_as_it_was, a_completion_clears_the_failure,
                a_full_batch_is_settled, a_task_settles_on_a_paused_queue,
            ]
            sibling: [
                a_sibling_is_a_child_of_the_same_parent, the_parent_waits_for_siblings_too,
                a_sibling_in_a_batch_of_last_ends_is_waited_for, a_root_has_no_siblings,
                a_child_may_leave_siblings_and_children_at_once, a_sibling_is_refused_where_a_child_would_be,
            ]
            signal: [
                a_signal_resumes_the_handler_that_waits_for_it, signals_are_kept_in_order_until_asked_for,
                a_signal_that_came_before_is_there_already, a_taken_signal_is_recorded,
                a_wait_that_was_given_up_stays_given_up, a_key_of_another_kind_is_refused, a_stale_token_takes_nothing,
                nothing_that_has_ended_is_signalled, a_task_whose_work_is_done_keeps_them, only_so_many_are_kept,
            ]
            slots: [
                every_end_of_an_attempt_frees_them, a_release_frees_them, a_worker_that_leaves_frees_them,
                a_recovery_frees_them, a_suspension_frees_them, a_suspension_that_resumes_at_once_frees_them_too,
                a_waiting_parent_frees_them, a_cancelled_task_holds_them_until_it_ends, a_refused_attempt_frees_them,
                a_settle_after_recovery_frees_nothing, a_late_settle_does_not_free_anothers_slot,
                a_settle_sent_twice_frees_once, recovering_and_leaving_twice_frees_once,
                an_ended_lease_frees_nothing_by_itself, a_heartbeat_takes_no_slot, a_retried_task_needs_them_anew,
                a_batch_frees_as_many_as_it_ends, a_cancelled_family_frees_all_it_held,
                a_thousand_keys_leave_nothing_behind,
            ]
            slow_down: [
                it_pauses_that_key_alone, it_outlives_the_handler_that_asked, the_later_moment_stands,
                setting_the_key_lifts_it, setting_the_group_lifts_it, a_passed_moment_changes_nothing,
                only_the_running_attempt_may_ask, a_group_without_a_key_is_not_found, a_total_may_be_slowed_down,
                a_moment_too_far_ahead_is_refused,
            ]
            spawn: [
                a_parent_waits_with_its_own_outcome_recorded, a_child_knows_its_parent_its_root_and_its_depth,
                a_child_takes_its_parents_priority_and_its_roots_position, what_the_spawn_says_wins,
                what_the_spawn_leaves_open_comes_from_the_command,
                a_child_for_later_waits_for_its_time_and_keeps_its_position, only_a_done_attempt_leaves_tasks_behind,
                a_stale_settle_makes_nothing, a_settle_sent_again_makes_nothing_twice, a_cancelled_task_makes_nothing,
                things_are_made_in_a_fixed_order, a_batch_makes_in_its_own_order,
                an_unknown_command_or_queue_refuses_everything, a_refused_task_can_pass_at_its_next_attempt,
                a_refusal_at_the_last_attempt_is_final, a_queue_without_children_refuses_them,
                a_family_grows_as_deep_as_its_roots_queue_allows, a_family_may_be_as_deep_as_the_limit,
                the_first_refusal_is_named, a_child_under_a_held_key_is_not_made_and_not_counted,
                children_under_one_key_are_one_child, a_waiting_parent_holds_its_active_key,
                other_tasks_stand_on_their_own, leaving_nothing_behind_is_completing,
                a_waiting_parent_records_only_a_later_attempt, bad_input_among_the_children_refuses_the_whole_call,
                a_thousand_children_are_made_at_once, a_child_that_nobody_handles_waits,
                a_queue_shows_its_limits_and_refuses_bad_ones, a_payload_of_null_stays_null,
            ]
            status: [
                active_is_what_is_at_work_or_ready, a_waiting_follow_up_is_active, only_the_commands_asked_for_count,
                a_status_is_looked_at_when_it_is_made, a_status_turns_and_does_not_stick,
                activity_between_two_looks_is_told, putting_it_again_changes_what_it_watches,
                an_unknown_command_may_be_watched, a_status_can_be_removed,
            ]
            suspend: [
                a_suspended_task_waits_without_a_worker, a_suspension_costs_no_attempt, everything_is_written_at_once,
                an_awaited_child_is_a_child_like_any_other, a_sub_task_has_its_parents_attempts_in_the_end,
                a_suspension_sent_again_does_nothing_twice,
                a_stale_suspension_changes_nothing, a_task_whose_end_was_asked_for_is_cancelled_instead,
                what_cannot_be_made_refuses_everything, a_fan_out_may_be_too_deep, a_queue_without_children_takes_none,
                the_time_that_a_handler_ran_is_added_up, a_suspension_clears_suspicion,
                what_no_store_would_keep_is_refused, a_recorded_key_is_not_taken_again,
                only_its_own_fan_outs_are_awaited, what_was_made_is_made_with_it,
                later_children_queue_behind_earlier_ones, the_order_given_last_holds, an_awaited_child_has_no_siblings,
                a_suspended_child_uses_no_room, a_suspended_root_keeps_its_family_slot,
                unique_keys_go_on_as_they_were, spawned_children_that_failed_fail_it_in_the_end,
                it_waits_for_what_it_names_alone,
            ]
            unique: [
                a_duplicate_is_answered_with_the_task_that_holds_the_key, duplicates_within_one_batch_are_one_task,
                keys_are_per_command, keys_span_queues, replace_changes_the_payload_and_nothing_else,
                merge_goes_key_by_key_at_any_depth, merges_and_replaces_are_applied_in_order_of_arrival,
                a_merge_of_what_is_no_object_replaces_it, the_first_claim_gives_up_a_pending_key,
                a_pending_key_never_comes_back, an_active_key_is_held_until_the_end, every_end_gives_up_an_active_key,
                a_window_is_held_for_its_span_whatever_happens, the_holders_scope_and_the_newcomers_rule_decide,
                a_task_that_has_started_is_never_changed, a_finished_holder_of_a_window_is_not_changed,
                cancelling_a_pending_task_gives_up_its_key, a_manual_retry_does_not_regain_the_key,
                a_task_for_later_holds_its_key, a_listing_by_key_shows_holders_past_and_present,
                of_several_holders_the_oldest_counts, any_text_is_a_key, a_merge_that_grows_too_large_is_refused_whole,
            ]
            unique_waiters: [
                a_waiter_takes_its_duplicates_in, a_cancelled_waiter_leaves_its_key_to_the_next,
            ]
            vectors: [
                every_case_of_done, every_case_of_failed, every_case_of_snooze_release_and_cancelled,
                every_case_of_lost, every_case_of_a_restarted_server, every_delay_is_the_policys,
            ]
            verdict: [
                every_rule_comes_to_the_verdict_of_the_core,
            ]
        }
    };
}

/// One test for each contract.
#[doc(hidden)]
#[macro_export]
macro_rules! test_each {
    ({ $fixture:ident } $($group:ident: [$($contract:ident,)*])*) => {
        $(
            mod $group {
                $(
                    #[tokio::test(flavor = "multi_thread")]
                    async fn $contract() {
                        let fixture = super::$fixture().await;
                        $crate::harness::run(fixture, async |w| $crate::contract::$group::$contract(w).await).await;
                    }
                )*
            }
        )*
    };
}

/// The names of all contracts, by group.
#[doc(hidden)]
#[macro_export]
macro_rules! name_each {
    ({} $($group:ident: [$($contract:ident,)*])*) => {
        &[$((stringify!($group), &[$(stringify!($contract)),*])),*]
    };
}

/// The names of all contracts, by group.
pub const CONTRACTS: &[(&str, &[&str])] = every_contract!(name_each);
