//! The SQL of the schema, in the order in which it is applied.

/// The version of the schema that this program works with.
pub(crate) const VERSION: i32 = 11;

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../sql/", $path)))),+]
    };
}

/// How the tables are: a new database is built from these.
pub(crate) const SCHEMA: &[(&str, &str)] = files![
    "schema/types.sql",
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
    "schema/status.sql",
    "schema/intent.sql",
];

/// The steps from one version of the tables to the next; the first is the first version of all. An older database is
/// brought here by those it has not seen. A test holds their sum to [`SCHEMA`].
pub(crate) const MIGRATIONS: &[(i32, &str, &str)] = &[
    (1, "the first tables", include_str!("../sql/migrations/0001_the_first_tables.sql")),
    (2, "schedules", include_str!("../sql/migrations/0002_schedules.sql")),
    (3, "large payloads beside the task", include_str!("../sql/migrations/0003_large_payloads_beside_the_task.sql")),
    (4, "find late entries", include_str!("../sql/migrations/0004_find_late_entries.sql")),
    (5, "families", include_str!("../sql/migrations/0005_families.sql")),
    (6, "SQL handlers", include_str!("../sql/migrations/0006_sql_handlers.sql")),
    (7, "find what is asked to end", include_str!("../sql/migrations/0007_find_what_is_asked_to_end.sql")),
    (8, "durable handlers", include_str!("../sql/migrations/0008_durable_handlers.sql")),
    (9, "groups", include_str!("../sql/migrations/0009_groups.sql")),
    (10, "columns in order", include_str!("../sql/migrations/0010_columns_in_order.sql")),
    (11, "when slots were freed", include_str!("../sql/migrations/0011_when_slots_were_freed.sql")),
];

/// Everything that is replaced as a whole: views and functions.
pub(crate) const CODE: &[(&str, &str)] = files![
    "limits.sql",
    "functions/clock.sql",
    "functions/server_started_at.sql",
    "functions/schema_version.sql",
    "functions/span.sql",
    "functions/refuse.sql",
    "functions/require_read_committed.sql",
    "functions/require_name.sql",
    "functions/require_policy.sql",
    "functions/require_tasks.sql",
    "functions/require_settles.sql",
    "functions/failures.sql",
    "functions/json_bytes.sql",
    "functions/merged.sql",
    "functions/retry_delay.sql",
    "functions/holds.sql",
    "functions/payload_of.sql",
    "functions/folded.sql",
    "views/tasks.sql",
    "functions/notify_queues.sql",
    "functions/lock_families.sql",
    "functions/wake.sql",
    "functions/take_ids.sql",
    "functions/find_handler.sql",
    "functions/lock_groups.sql",
    "functions/slot_pages.sql",
    "functions/key_rooms.sql",
    "functions/release_slots.sql",
    "functions/ready_keys.sql",
    "functions/task_keys.sql",
    "functions/declare_groups.sql",
    "functions/enter_running.sql",
    "functions/register_commands.sql",
    "functions/add_duplicate.sql",
    "functions/enqueue_keyed.sql",
    "functions/enqueue_rows.sql",
    "functions/register_worker.sql",
    "functions/heartbeat.sql",
    "functions/leave.sql",
    "functions/recover.sql",
    "functions/lay_in.sql",
    "functions/fold.sql",
    "functions/promote.sql",
    "functions/promote_orphans.sql",
    "functions/open_due.sql",
    "functions/make_follow_up.sql",
    "functions/open_follow_ups.sql",
    "functions/rooms.sql",
    "functions/pick.sql",
    "functions/pick_suspect.sql",
    "functions/admission.sql",
    "functions/admit_page.sql",
    "functions/pick_keyed.sql",
    "functions/pick_turns.sql",
    "functions/claim_early.sql",
    "functions/claim.sql",
    "functions/settle.sql",
    "functions/settle_rest.sql",
    "functions/settle_made.sql",
    "functions/make_all.sql",
    "functions/make_children.sql",
    "functions/ended.sql",
    "functions/take_turns.sql",
    "functions/record.sql",
    "functions/suspend.sql",
    "functions/expire.sql",
    "functions/signal.sql",
    "functions/history.sql",
    "functions/cancel.sql",
    "functions/retry.sql",
    "functions/retry_family.sql",
    "functions/set_group.sql",
    "functions/set_queue.sql",
    "functions/set_limits.sql",
    "functions/pause.sql",
    "functions/statuses.sql",
    "functions/check_slots.sql",
    "functions/prune.sql",
    "functions/sweep.sql",
    "functions/schedules.sql",
    "functions/fire.sql",
    "functions/register_command.sql",
    "functions/enqueue.sql",
    "functions/enqueue_many.sql",
    "functions/enter.sql",
    "functions/current_task.sql",
    "functions/intend.sql",
    "functions/spawn.sql",
    "functions/slow_down.sql",
    "functions/endings.sql",
    "functions/finish.sql",
    "functions/run_function.sql",
    "functions/process_tasks.sql",
    "functions/get_task.sql",
    "functions/get_attempts.sql",
    "functions/list_tasks.sql",
    "functions/family.sql",
    "functions/stats.sql",
    "functions/lists.sql",
    "functions/groups.sql",
    "functions/explain.sql",
    "functions/check_invariants.sql",
    "functions/doctor.sql",
];

/// What goes before an older version is brought along.
pub(crate) const DROP_CODE: &str = include_str!("../sql/drop_code.sql");

/// What is missing in a schema of this version.
pub(crate) const LACKING: &str = include_str!("../sql/lacking.sql");

/// Who may do what.
pub(crate) const ROLES: &str = include_str!("../sql/roles.sql");
pub(crate) const GRANTS: &str = include_str!("../sql/grants.sql");
