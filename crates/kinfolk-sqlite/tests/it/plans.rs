//! Every hot statement reads the index that was made for it, and nothing else.

use rusqlite::Connection;

use crate::support::Lab;

/// The steps by which SQLite would carry a statement out.
fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(&format!("explain query plan {sql}")).unwrap();
    let nothing: Vec<Option<i64>> = vec![None; statement.parameter_count()];
    let rows = statement.query_map(rusqlite::params_from_iter(nothing), |row| row.get("detail")).unwrap();
    rows.map(rusqlite::Result::unwrap).collect()
}

macro_rules! plans {
    ($($file:literal => [$($index:literal),*]),+ $(,)?) => {
        &[$(($file, include_str!(concat!("../../sql/", $file)), &[$($index),*])),+]
    };
}

const NUMBER: &str = "INTEGER PRIMARY KEY";

/// Each statement, and what its plan must name; `#` is a look-up by number.
const PLANS: &[(&str, &str, &[&str])] = plans![
    "claim/line.sql" => ["COVERING INDEX task_ready_idx"],
    "claim/lane.sql" => ["COVERING INDEX task_bucket_idx"],
    "claim/suspect.sql" => ["COVERING INDEX task_suspect_idx"],
    "claim/look.sql" => [
        "INDEX follow_up_ended_idx",
        "COVERING INDEX task_bucket_idx",
        "COVERING INDEX task_suspect_idx",
        "COVERING INDEX task_running_idx"
    ],
    "check/claimable.sql" => [
        "COVERING INDEX task_ready_idx",
        "COVERING INDEX task_bucket_idx",
        "COVERING INDEX task_suspect_idx",
        "COVERING INDEX task_due_idx"
    ],
    "claim/at_work.sql" => ["COVERING INDEX task_at_work_idx"],
    "claim/child_slots.sql" => ["COVERING INDEX task_child_slot_idx"],
    "claim/outside.sql" => ["COVERING INDEX task_bucket_idx"],
    "claim/limited_queues.sql" => ["INDEX task_held_idx"],
    "claim/open_family.sql" => ["INDEX task_held_idx"],
    "family/owner.sql" => ["#"],
    "family/next.sql" => ["INDEX task_held_idx"],
    "family/skip.sql" => ["INDEX task_held_idx"],
    "family/fan_outs.sql" => ["COVERING INDEX fan_out_task_idx"],
    "family/parents.sql" => ["INDEX task_child_idx"],
    "operate/cancel/pending_children.sql" => ["INDEX task_child_idx"],
    "operate/cancel/running_children.sql" => ["INDEX task_child_idx"],
    "operate/cancel/workers.sql" => ["INDEX task_child_idx"],
    "retry/revivable.sql" => ["INDEX task_child_idx"],
    "retry/task.sql" => ["#"],
    "retry/parents.sql" => ["INDEX task_child_idx", "COVERING INDEX fan_out_task_idx"],
    "retry/verdicts.sql" => ["INDEX fan_out_task_idx", "INDEX checkpoint_key_idx"],
    "retry/forget.sql" => ["INDEX checkpoint_key_idx"],
    "retry/left.sql" => ["INDEX checkpoint_key_idx"],
    "retry/queues.sql" => ["INDEX task_child_idx"],
    "upkeep/sweep/waiting.sql" => ["COVERING INDEX task_bucket_idx", "#", "INDEX signal_task_idx"],
    "upkeep/sweep/fan_outs.sql" => ["INDEX fan_out_task_idx"],
    "upkeep/sweep/open_child.sql" => ["INDEX task_child_idx"],
    "upkeep/sweep/recount.sql" => ["INDEX task_child_idx"],
    "family/follow_up/holder.sql" => ["INDEX task_key_idx"],
    "family/follow_up/family_ended.sql" => ["INDEX follow_up_root_idx"],
    "family/follow_up/satisfied.sql" => ["INDEX follow_up_root_idx", "PRIMARY KEY"],
    "family/follow_up/spoiled_by.sql" => ["INDEX skipped_follow_up_root_idx"],
    "family/follow_up/unmark.sql" => ["INDEX follow_up_root_idx"],
    "family/follow_up/wait_again.sql" => ["PRIMARY KEY"],
    "family/follow_up/unskip.sql" => ["PRIMARY KEY"],
    "family/follow_up/skip.sql" => ["PRIMARY KEY"],
    "family/follow_up/settled.sql" => ["INDEX follow_up_ended_idx", "PRIMARY KEY"],
    "operate/status/running.sql" => ["INDEX task_running_idx"],
    "operate/status/ready.sql" => [
        "COVERING INDEX task_ready_idx",
        "COVERING INDEX task_bucket_idx",
        "COVERING INDEX task_suspect_idx"
    ],
    "upkeep/prune/fan_outs.sql" => ["INDEX fan_out_root_idx"],
    "upkeep/prune/children.sql" => ["INDEX task_child_idx"],
    "claim/next_due.sql" => ["COVERING INDEX task_due_idx"],
    "claim/open.sql" => ["COVERING INDEX task_due_idx", "#"],
    "claim/due_suspended.sql" => ["COVERING INDEX task_due_idx", "#"],
    "operate/cancel/in_line.sql" => ["INDEX task_child_idx"],
    "family/fan_out/open.sql" => ["INDEX fan_out_open_idx"],
    "family/fan_out/awaited.sql" => ["INDEX fan_out_awaited_idx"],
    "family/fan_out/owner.sql" => ["#"],
    "family/fan_out.sql" => ["#"],
    "family/fan_out/last_page.sql" => ["PRIMARY KEY"],
    "family/fan_out/pages.sql" => ["PRIMARY KEY"],
    "family/fan_out/children.sql" => ["INDEX task_child_idx"],
    "family/fan_out/child.sql" => ["INDEX task_child_idx"],
    "family/fan_out/ended_children.sql" => ["INDEX task_child_idx"],
    "durable/record/fence.sql" => ["#"],
    "durable/record/one.sql" => ["INDEX checkpoint_key_idx"],
    "durable/record/all.sql" => ["INDEX checkpoint_key_idx"],
    "durable/record/report.sql" => ["#"],
    "durable/suspend/suspend.sql" => ["#"],
    "durable/suspend/resume.sql" => ["#"],
    "durable/signal/kept.sql" => ["INDEX signal_task_idx"],
    "durable/signal/count.sql" => ["COVERING INDEX signal_task_idx"],
    "durable/signal/there.sql" => ["#", "INDEX signal_task_idx"],
    "upkeep/prune/checkpoints.sql" => ["INDEX checkpoint_key_idx"],
    "upkeep/prune/signals.sql" => ["INDEX signal_task_idx"],
    "limits/limited_families.sql" => ["INDEX task_bucket_idx", "#"],
    "claim/take.sql" => ["#"],
    "claim/taken.sql" => ["#"],
    "claim/running.sql" => ["INDEX task_running_idx"],
    "produce/holder.sql" => ["INDEX task_key_idx"],
    "produce/replace.sql" => ["#"],
    "settle/facts.sql" => ["#"],
    "settle/finish.sql" => ["#"],
    "settle/return.sql" => ["#"],
    "worker/running.sql" => ["COVERING INDEX task_running_idx"],
    "worker/cancels.sql" => ["INDEX task_cancel_idx"],
    "upkeep/prune/past.sql" => ["COVERING INDEX task_finished_idx"],
    "upkeep/prune/task.sql" => ["#"],
    "family/whereabouts.sql" => ["#"],
    "inspect/task.sql" => ["#"],
    "find/matches.sql" => ["#", "COVERING INDEX fan_out_task_idx"],
    "find/newest.sql" => ["#"],
    "find/oldest.sql" => ["#"],
    "find/newest_parents.sql" => ["COVERING INDEX fan_out_task_idx"],
    "find/oldest_parents.sql" => ["COVERING INDEX fan_out_task_idx"],
    "find/unique.sql" => ["COVERING INDEX task_key_idx"],
    "find/fan_out.sql" => ["COVERING INDEX task_child_idx"],
    "find/parent.sql" => ["COVERING INDEX fan_out_task_idx", "COVERING INDEX task_child_idx"],
    "find/root.sql" => ["COVERING INDEX fan_out_root_idx", "COVERING INDEX task_child_idx"],
    "find/open.sql" => ["COVERING INDEX task_ready_idx"],
    "find/suspects.sql" => ["COVERING INDEX task_suspect_idx"],
    "find/due.sql" => ["COVERING INDEX task_later_idx"],
    "find/bucket.sql" => ["COVERING INDEX task_bucket_idx"],
    "find/running.sql" => ["COVERING INDEX task_running_idx"],
    "find/ended.sql" => ["COVERING INDEX task_finished_idx"],
    "find/not_completed.sql" => ["COVERING INDEX task_not_completed_idx"],
    "find/payload.sql" => ["#"],
    "inspect/held/not_due.sql" => ["INDEX task_due_idx"],
    "inspect/held/bucket.sql" => ["COVERING INDEX task_bucket_idx"],
    "inspect/held/keys.sql" => ["INDEX task_bucket_idx"],
    "inspect/held/due.sql" => ["INDEX task_due_idx"],
    "inspect/held/open.sql" => ["COVERING INDEX task_ready_idx", "INDEX task_bucket_idx", "COVERING INDEX task_suspect_idx"],
    "worker/minute/since.sql" => ["SEARCH minute USING PRIMARY KEY"],
    "worker/minute/prune.sql" => ["SEARCH minute USING PRIMARY KEY"],
    "worker/minute/recorded.sql" => ["PRIMARY KEY"],
    "inspect/failed.sql" => ["INDEX task_not_completed_idx"],
    "inspect/children.sql" => ["INDEX task_child_idx"],
    "inspect/tally.sql" => ["INDEX fan_out_task_idx"],
    "inspect/levels.sql" => ["INDEX fan_out_root_idx"],
    "inspect/root.sql" => ["#"],
    "inspect/counts.sql" => [
        "COVERING INDEX task_ready_idx",
        "COVERING INDEX task_bucket_idx",
        "COVERING INDEX task_suspect_idx",
        "COVERING INDEX task_later_idx"
    ],
    "inspect/running.sql" => ["INDEX task_running_idx"],
    "inspect/ended.sql" => ["#", "COVERING INDEX task_not_completed_idx"],
    "inspect/more.sql" => ["#", "COVERING INDEX task_not_completed_idx"],
    "inspect/active.sql" => ["INDEX task_bucket_idx", "INDEX fan_out_open_idx"],
    "inspect/struck.sql" =>
        ["#", "COVERING INDEX task_suspect_idx", "COVERING INDEX task_running_idx", "COVERING INDEX task_bucket_idx"],
    "operate/acquit/task.sql" => ["#"],
    "inspect/head.sql" => [
        "COVERING INDEX task_ready_idx",
        "COVERING INDEX task_bucket_idx",
        "COVERING INDEX task_suspect_idx"
    ],
    "schedule/due.sql" => ["schedule_due_idx"],
    "admission/blocked/candidate.sql" => ["#"],
    "admission/blocked/block.sql" => ["#"],
    "claim/take_member.sql" => ["#"],
    "settle/errors/page.sql" => ["#"],
    "settle/errors/page_of_kind.sql" => ["INDEX error_kind_idx"],
    "settle/errors/page_of_task.sql" => ["INDEX error_task_idx"],
    "admission/blocked/line.sql" => ["#"],
    "admission/blocked/next.sql" => ["COVERING INDEX task_blocked_idx"],
    "admission/blocked/next_key.sql" => ["COVERING INDEX task_blocked_idx"],
    "admission/blocked/any.sql" => ["COVERING INDEX task_blocked_idx"],
    "admission/blocked/any_of_key.sql" => ["COVERING INDEX task_blocked_idx"],
    "admission/blocked/queues.sql" => ["COVERING INDEX task_blocked_idx"],
    "admission/blocked/open_group.sql" => ["INDEX task_blocked_idx"],
    "admission/blocked/ready.sql" => ["PRIMARY KEY"],
    "admission/blocked/add_ready.sql" => [],
    "admission/blocked/remove_ready.sql" => ["PRIMARY KEY"],
    "admission/blocked/look.sql" => ["PRIMARY KEY", "COVERING INDEX spent_wakes_idx"],
    "explain/suspect.sql" => ["COVERING INDEX task_running_idx"],
    "slots/held.sql" => ["PRIMARY KEY"],
    "slots/holds.sql" => ["PRIMARY KEY"],
    "slots/give_back.sql" => ["PRIMARY KEY"],
    "slots/above.sql" => ["PRIMARY KEY", "#"],
    "admission/rate/due.sql" => ["INDEX spent_wakes_idx"],
    "admission/rate/next.sql" => ["INDEX spent_wakes_idx", "COVERING INDEX task_blocked_idx"],
    "admission/rate/rein_in.sql" => ["PRIMARY KEY"],
    "admission/rate/prune.sql" => ["INDEX spent_over_idx"],
    "admission/rate/spent.sql" => ["PRIMARY KEY"],
    "inspect/keys/holders.sql" => ["PRIMARY KEY"],
    "inspect/keys/held.sql" => ["PRIMARY KEY"],
    "inspect/keys/spent.sql" => ["PRIMARY KEY"],
    "inspect/keys/waiters.sql" => ["COVERING INDEX task_blocked_idx"],
    "operate/cancel/with_keys.sql" => ["INDEX task_child_idx"],
    "turns/priority.sql" => ["COVERING INDEX task_bucket_idx"],
    "turns/value.sql" => ["COVERING INDEX task_fair_idx"],
    "turns/next.sql" => ["INDEX task_fair_idx"],
    "explain/ahead.sql" => [
        "COVERING INDEX task_ready_idx",
        "COVERING INDEX task_bucket_idx",
        "COVERING INDEX task_suspect_idx"
    ],
    "explain/children.sql" => ["INDEX fan_out_open_idx", "COVERING INDEX task_child_idx (fan_out_id=? AND nth=?)"],
    "explain/at_work.sql" => ["COVERING INDEX task_at_work_idx"],
    "explain/child_slots.sql" => ["COVERING INDEX task_child_slot_idx"],
];

#[test]
fn hot_statements_read_their_index() {
    let lab = Lab::new();
    let conn = Connection::open(lab.path()).unwrap();
    for (file, sql, indexes) in PLANS {
        let steps = plan(&conn, sql);
        for index in *indexes {
            let index = if *index == "#" { NUMBER } else { index };
            assert!(steps.iter().any(|step| step.contains(index)), "{file} does not use {index}: {steps:#?}");
        }
        let scans = |step: &String| step.starts_with("SCAN task") && !step.contains("INDEX");
        assert!(!steps.iter().any(scans), "{file} scans: {steps:#?}");
    }
}

#[test]
fn a_claim_sorts_nothing() {
    let lab = Lab::new();
    let conn = Connection::open(lab.path()).unwrap();
    for sql in [
        include_str!("../../sql/claim/line.sql"),
        include_str!("../../sql/claim/lane.sql"),
        include_str!("../../sql/claim/suspect.sql"),
        include_str!("../../sql/claim/next_due.sql"),
        include_str!("../../sql/inspect/head.sql"),
        include_str!("../../sql/admission/blocked/next.sql"),
        include_str!("../../sql/admission/blocked/ready.sql"),
        include_str!("../../sql/turns/value.sql"),
        include_str!("../../sql/turns/next.sql"),
        include_str!("../../sql/upkeep/prune/past.sql"),
    ] {
        let steps = plan(&conn, sql);
        assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:#?}");
    }
}

/// What flat tasks go through on their way from enqueue to their end.
const FLAT: &[(&str, &str)] = &[
    ("take", include_str!("../../sql/claim/take.sql")),
    ("facts", include_str!("../../sql/settle/facts.sql")),
    ("finish", include_str!("../../sql/settle/finish.sql")),
    ("replace", include_str!("../../sql/produce/replace.sql")),
];

#[test]
fn flat_tasks_do_not_even_look_at_what_families_need() {
    let lab = Lab::new();
    let conn = Connection::open(lab.path()).unwrap();
    let indexes = [
        "task_bucket_idx",
        "task_at_work_idx",
        "task_child_slot_idx",
        "task_child_idx",
        "task_held_idx",
        "task_blocked_idx",
        "task_fair_idx",
    ];
    let pages: Vec<(String, i64)> = conn
        .prepare("select name, rootpage from sqlite_schema where rootpage > 0")
        .unwrap()
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(rusqlite::Result::unwrap)
        .collect();
    for (name, sql) in FLAT {
        let mut statement = conn.prepare(&format!("explain {sql}")).unwrap();
        let nothing: Vec<Option<i64>> = vec![None; statement.parameter_count()];
        let opened: Vec<i64> = statement
            .query_map(rusqlite::params_from_iter(nothing), |row| Ok((row.get::<_, String>("opcode")?, row.get("p2")?)))
            .unwrap()
            .map(rusqlite::Result::unwrap)
            .filter(|(opcode, _)| opcode.starts_with("Open"))
            .map(|(_, page)| page)
            .collect();
        let names: Vec<&str> =
            pages.iter().filter(|(_, page)| opened.contains(page)).map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"task"), "{name} opens {names:?}");
        assert!(!names.iter().any(|name| indexes.contains(name)), "{name} opens {names:?}");
    }
}
