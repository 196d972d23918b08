//! The SQL of the schema, in the order in which it is applied.

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../sql/", $path)))),+]
    };
}

/// How the tables are: a new database is built from these.
pub(crate) const SCHEMA: &[(&str, &str)] = files![
    "schema/types.sql",
    "schema/claim.sql",
    "schema/made.sql",
    "schema/settle.sql",
    "schema/suspend.sql",
    "schema/family.sql",
    "schema/migration.sql",
    "schema/queue.sql",
    "schema/command.sql",
    "schema/worker.sql",
    "schema/task.sql",
    "schema/slot.sql",
    "schema/body.sql",
    "schema/attempt.sql",
    "schema/duplicate.sql",
    "schema/schedule.sql",
    "schema/fan_out.sql",
    "schema/checkpoint.sql",
    "schema/signal.sql",
    "schema/follow_up.sql",
    "schema/skipped_follow_up.sql",
    "schema/status.sql",
    "schema/finder.sql",
    "schema/audit.sql",
    "schema/error.sql",
    "schema/minute.sql",
    "schema/intent.sql",
];

/// The names and the SQL of the steps from one version of the tables to the next; the first is version 1. An older database
/// is brought here by the steps it has not seen. Nothing was before the first, so [`SCHEMA`] is its SQL.
pub(crate) const MIGRATIONS: &[(&str, &str)] = &[("the first tables", "")];

/// Functions by folder of `sql/functions`: a folder a subject, a function a file of its name. No function needs another one to be
/// there before it, since bodies are not checked while they are made.
macro_rules! functions {
    ($($folder:ident: $($function:ident)+;)+) => {
        &[$($((
            concat!("functions/", stringify!($folder), "/", stringify!($function), ".sql"),
            include_str!(concat!("../sql/functions/", stringify!($folder), "/", stringify!($function), ".sql")),
        )),+),+]
    };
}

/// Everything that is replaced as a whole, in this order: the views call functions, and many functions answer rows of views.
pub(crate) fn code() -> impl Iterator<Item = (&'static str, &'static str)> {
    [LIMITS, CALLED_BY_VIEWS, VIEWS, FUNCTIONS].into_iter().flatten().copied()
}

const LIMITS: &[(&str, &str)] = files!["limits.sql"];

const CALLED_BY_VIEWS: &[(&str, &str)] = functions! {
    base:
        clock server_started_at schema_version span micros refuse require_read_committed require_name require_policy
        refuse_queue failure_cancelled failure_lost failure_poison failure_duplicate failure_children
        failure_skipped_child failure_skipped_follow_up failure_refused json_bytes json_longer_than notify_queues
        put_off_wakes wakes_put_off wake_queues is_full;
    unique:
        holds payload_of merged merged_all payload_with_newer payload_with_duplicates add_duplicate enqueue_unique apply_duplicates apply_sibling cancel_duplicates
        unify_duplicates unify_key lock_starts promote promote_each promote_orphans forget_released;
};

const VIEWS: &[(&str, &str)] = files![
    "views/open_task.sql",
    "views/open_suspect.sql",
    "views/any_open.sql",
    "views/held_task.sql",
    "views/tasks.sql",
    "views/errors.sql",
    "views/registration.sql",
    "views/continuation.sql"
];

const FUNCTIONS: &[(&str, &str)] = functions! {
    produce:
        enqueue enqueue_many try_enqueue try_enqueue_many refuse_change enqueue_task enqueue_short enqueue_items
        enqueue_rows enqueue_tasks enqueue_given insert_tasks enqueue_rest notify_commands made_of reject require_items require_tasks
        require_payloads require_properties refuse_properties require_given require_dues require_keys require_our_words
        keys_given unknown_group unknown_groups take_ids in_use wake;
    schedule:
        put_schedule require_schedule keep_schedule task_of declare_schedules pause_schedule remove_schedule due_schedules fire;
    register:
        register_command register_commands carry_out_registration keep_commands asked_commands require_commands require_functions
        require_label changed_command find_own_handler;
    groups:
        declarations declared_groups groups_given group_given require_groups require_setting is_whole
        lock_declarations shape_of changed_declarations lock_tasks_using tasks_using declare_groups leave_group erase_group open_blocked
        free_idle count_running carry_over rein_in group_of set_group keep_setting remove_group slow_down slow_down_for slow_downs
        slow_down_all lock_groups add_ready_group add_awaited_keys;
    claim:
        claim lock_claim lock_claim_groups wait_for_admission claimed_before closed_claim open_work open_due pick_tasks
        pick_from_lines find_lines cursors_of_lane merge_lines lock_heads lines_behind pick_suspect may_run_suspect pick_grouped
        unify_picked tell_statuses end_claim next_due next_wake put_idle flush;
    admission:
        lock_admission try_lock_groups wait_for_groups declared_by has_open_task has_work_with_keys without_groups pick_with_keys
        begin_admission admit_pages end_admission line_up claim_lines line_heads reserved_heads one_line next_ready_keys ready_keys_behind cursors_for go_on_behind next_size admit_page
        find_needs contested_rooms start_needs admit_one_by_one start_taken needs_of block_tasks reserve unkept_keys
        add_ready_keys update_ready_keys awaited_groups waiting_lines key_rooms keeps_room rate_interval rate_starts spend_starts;
    slots:
        slot_page slot_pages key_number overfull_keys take_slots slot_writes_max spread_slots release_slots free_slots add_freed take_freed
        drop_slots drop_reservations holders_of holds_slot family_holds_slot holds_any_slot;
    turns:
        pick_turns may_take_suspect open_lines next_turns turn_heads next_values next_priority next_value sort_in sort_out
        turn_lines;
    limits:
        lane_rooms admit_families admit_all_families open_limited notify_limited set_queue set_limits sort_lanes require_limits;
    settle:
        settle families_of settle_rest decide_settles own_state joined_state write_ends after_ends settle_made
        settle_given settle_maker settle_refused require_settles require_outcomes require_made require_locked wait_for_children
        wait_for_family cancel_with_owners retry_delay tell_errors tell_handlers failing_function queue_hook;
    family:
        lock_families family_keys try_lock_families try_lock_family lock_family_of lock_follow_up_keys lock_joined lock_suspended
        lock_settled lock_makers_family lock_makers_task make_all made_tasks resolve_made resolve_one why_not inherited_keys
        make_spawned make_siblings make_children make_unique_children insert_children make_follow_up join_follow_up
        count_children end_of_root open_follow_ups ended_follow_ups forget_families judge_follow_ups skip_follow_ups
        ended first_level next_level count_ends decide_fan_outs go_on_in_order append_ends verdict_of settle_owners
        waiting_owners write_owners joined_failure root_ended open_next open_held skip_rest gate_in_family end_pending
        members_below cancel_members lock_members cancel_below;
    durable:
        record lock_attempt write_checkpoints write_checkpoint require_checkpoints refuse_checkpoint require_steps step_name
        suspend require_suspend require_awaits require_awaited write_suspended suspend_task await_again expire
        signal take_signal report history results results_by_index ended_at;
    worker:
        register_worker heartbeat leave wait_for_tasks recover may_recover lock_lost lock_lost_families handlers_at_work
        decide_lost strike_delay record_minutes read_minute_records wrong_minute_record;
    handlers:
        find_handler begin_handling handling end_handling drop_intents named_in handled current_task current_keys has_failed_siblings
        has_pending_children intend require_makeable spawn spawn_sibling follow_up in_order hasten hasten_all snooze
        retry_after give_up end_handler told_by kind_of_fan_out kind_of_failure failure_of run_task run_function begin_procedure end_procedure call_handler
        call_function open_envelope finish finish_made finish_fan_out fan_out carry_out_fan_out find_continuation
        require_terms require_subs sub_tasks fan_out_of sub_results continuation_of go_on await_more refuse_fan_out complete require_done begin_send end_send send_key log_error
        process_tasks process_round process_task skip_ahead due_next begin_round claimable claim_chosen;
    operate:
        pause resume acquit cancel run_now bulk bulk_one bulk_delete lock_bulk reached_by_cancel lock_all_or_none lock_unended audit put_status remove_status
        refresh_statuses is_active put_finder remove_finder;
    retry:
        retry retry_family lock_follow_ups revive revived_with revivable begin_afresh joins_again reopening reopen
        recount reorder decide_again follow_again;
    upkeep:
        sweep is_stuck has_open_child resume_signalled add_lost_keys prune prune_keys prune_rates remove_family
        remove_tasks prune_logs;
    find:
        list_tasks find_tasks matching count_matching count_by_command require_filter is_of_kind is_time filter_range
        candidates in_states pending_of parents_in sift has_at looked_at look_end;
    inspect:
        get_task get_tasks get_attempts runs require_task children tally progress failed_tasks errors audit_log
        minutes change_number stats count_tasks count_open ended_tasks more_than_counted active_fan_outs pending_facts open_facts
        open_commands held_facts queues commands workers schedules statuses groups keys key_facts held_keys next_key slots_of setting_shown;
    explain:
        explain why_waiting why_pending why_family why_keys count_before shown;
    check:
        check_invariants check_durable check_slots check_follow_ups lost_keys doctor doctor_server doctor_horizon doctor_handlers doctor_suspects doctor_schedules doctor_modules find_finder horizon_holders
        whole_seconds;
};

/// The SQL that drops the old functions before an older version is brought along.
pub(crate) const DROP_CODE: &str = include_str!("../sql/drop_code.sql");

/// The query for the parts that a schema of this version lacks.
pub(crate) const LACKING: &str = include_str!("../sql/lacking.sql");

/// The rights of roles.
pub(crate) const ROLES: &str = include_str!("../sql/roles.sql");
pub(crate) const GRANTS: &str = include_str!("../sql/grants.sql");
