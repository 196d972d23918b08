//! Every invariant as a query. A sound store breaks none.

pub(crate) mod doctor;
pub(crate) mod lost;

use kinfolk_core::TaskId;
use kinfolk_core::inspect::Violation;
use rusqlite::Row;

use crate::error::Result;
use crate::readers::Snapshot;

/// The invariants in words, each with the query that finds what breaks it: a task or null, and the detail.
const INVARIANTS: &[(&str, &str)] = &[
    ("a running task has a registered worker and a token", include_str!("../../sql/check/running.sql")),
    ("a task that does not run has no worker", include_str!("../../sql/check/worker.sql")),
    ("a pending task has a gate, and of others only a sleeping one", include_str!("../../sql/check/gate.sql")),
    ("a terminal task has ended, and no other has", include_str!("../../sql/check/finished.sql")),
    ("a completed task has no failure", include_str!("../../sql/check/completed.sql")),
    ("a failed or cancelled task says why", include_str!("../../sql/check/failed.sql")),
    ("no task has more attempts than it may", include_str!("../../sql/check/attempts.sql")),
    ("a worker runs one suspect at most", include_str!("../../sql/check/suspects.sql")),
    ("one task at most holds a key", include_str!("../../sql/check/keys.sql")),
    ("no attempt is without its task", include_str!("../../sql/check/orphans.sql")),
    ("no task has more ended attempts than claims", include_str!("../../sql/check/runs.sql")),
    ("an open gate means that the task is due", include_str!("../../sql/check/due.sql")),
    ("every task has one payload", include_str!("../../sql/check/payloads.sql")),
    ("a fan-out counts its children", include_str!("../../sql/check/counts.sql")),
    ("a task that waits for its children has an open one", include_str!("../../sql/check/waiting.sql")),
    ("a fan-out that is waited for has a waiting task", include_str!("../../sql/check/waits.sql")),
    ("no child outlives its parent", include_str!("../../sql/check/outlived.sql")),
    ("a child fits its parent", include_str!("../../sql/check/descent.sql")),
    ("a root is nobody's child", include_str!("../../sql/check/roots.sql")),
    ("only a waiting task, or one its children failed, has an outcome", include_str!("../../sql/check/outcomes.sql")),
    ("a suspended task waits for something that has not come", include_str!("../../sql/check/suspended.sql")),
    ("only a suspended task awaits fan-outs and signals", include_str!("../../sql/check/awaiting.sql")),
    ("an awaited fan-out is decided once, and when its last child ends", include_str!("../../sql/check/verdicts.sql")),
    ("every ended child of an awaited fan-out has its place", include_str!("../../sql/check/ended.sql")),
    ("a task counts its checkpoints", include_str!("../../sql/check/steps.sql")),
    ("who was never suspended has no children while it runs", include_str!("../../sql/check/was_suspended.sql")),
    ("a task is in the bucket it belongs in", include_str!("../../sql/check/bucket.sql")),
    ("only a running child takes a child slot", include_str!("../../sql/check/child_slots.sql")),
    ("an ended family is not at work", include_str!("../../sql/check/family_slots.sql")),
    ("children in order have one that is open", include_str!("../../sql/check/in_order.sql")),
    ("a follow-up waits for a family", include_str!("../../sql/check/follow_ups.sql")),
    ("a follow-up knows whether a family has ended", include_str!("../../sql/check/told.sql")),
    ("a skipped follow-up was spoiled by families that did not complete", include_str!("../../sql/check/skipped.sql")),
    ("a family that waits to be let in has a root outside", include_str!("../../sql/check/limited.sql")),
    ("a slot is held by a task that runs, or is held for", include_str!("../../sql/check/held_slots.sql")),
    ("who runs holds a slot of each of its keys, or one above it does", include_str!("../../sql/check/uncounted.sql")),
    ("who waits behind a key needs it", include_str!("../../sql/check/behind_keys.sql")),
    ("a ready waiter is behind a key", include_str!("../../sql/check/ready_waiters.sql")),
    ("room is kept for a pending task", include_str!("../../sql/check/reserved.sql")),
    ("the store's row is ahead of every task", include_str!("../../sql/check/store.sql")),
];

/// The broken invariants: none, in a sound store.
pub(crate) fn check(snapshot: &Snapshot<'_>) -> Result<Vec<Violation>> {
    let mut broken = Vec::new();
    for (invariant, sql) in INVARIANTS {
        let mut statement = snapshot.conn.prepare(sql)?;
        let now = snapshot.now.as_micros();
        let rows = match statement.parameter_count() {
            0 => statement.query_map((), found)?.collect::<rusqlite::Result<Vec<_>>>()?,
            _ => statement.query_map([now], found)?.collect::<rusqlite::Result<Vec<_>>>()?,
        };
        broken.extend(rows.into_iter().map(|(task, detail)| violation(invariant, detail, task)));
    }
    for lost in lost::lost(snapshot.conn, &snapshot.catalogue, snapshot.now)? {
        let detail = format!("key {:?} of group {} has room", lost.key, lost.group_id);
        broken.push(violation("whoever waits behind a key with room is looked at", detail, Some(lost.task_id)));
    }
    let mut statement = snapshot.conn.prepare("pragma integrity_check")?;
    let faults = statement.query_map((), |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    broken.extend(
        faults.into_iter().filter(|fault| fault != "ok").map(|fault| violation("the file is sound", fault, None)),
    );
    let mut statement = snapshot.conn.prepare("pragma foreign_key_check")?;
    let faults = statement
        .query_map((), |row| {
            let (table, row, parent): (String, Option<i64>, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(format!("row {row:?} of {table} points to nothing in {parent}"))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    broken.extend(faults.into_iter().map(|fault| violation("every reference leads somewhere", fault, None)));
    Ok(broken)
}

fn found(row: &Row<'_>) -> rusqlite::Result<(Option<i64>, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn violation(invariant: &str, detail: String, task: Option<i64>) -> Violation {
    Violation { invariant: invariant.to_owned(), detail, task: task.map(TaskId) }
}
