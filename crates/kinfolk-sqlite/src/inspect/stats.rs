//! Counts, and the workers.

use std::collections::BTreeMap;

use kinfolk_core::inspect::{Count, Stats};
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{QueueName, State, Timestamp};
use rusqlite::OptionalExtension;

use crate::catalogue::Catalogue;
use crate::error::{Result, unreadable};
use crate::readers::Snapshot;
use crate::rows;

/// Counts at one moment.
pub(crate) fn stats(snapshot: &Snapshot<'_>) -> Result<Stats> {
    let catalogue = &snapshot.catalogue;
    let mut tasks: BTreeMap<(i64, i64, State), i64> = BTreeMap::new();
    let page = LOOK_MAX + 1;
    let mut open = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/counts.sql"))?;
    let mut running = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/running.sql"))?;
    let mut ended = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/ended.sql"))?;
    for mut rows in [open.query([page])?, running.query([page])?, ended.query([LOOK_MAX])?] {
        while let Some(row) = rows.next()? {
            let state: String = row.get(2)?;
            *tasks.entry((row.get(0)?, row.get(1)?, state.parse()?)).or_default() += row.get::<_, i64>(3)?;
        }
    }
    tasks.retain(|_, tasks| *tasks > 0);
    let mut counts = Vec::with_capacity(tasks.len());
    for (&(queue, command, state), &tasks) in &tasks {
        let (queue, command) = (catalogue.queue_name(queue)?.clone(), catalogue.command_name(command)?.clone());
        counts.push(Count { queue, command, state, tasks: tasks.unsigned_abs() });
    }
    counts.sort();
    let pending = tasks.keys().filter(|(_, _, state)| *state == State::Pending).map(|&(q, c, _)| (q, c));
    let oldest_open = heads(snapshot, catalogue, pending)?;
    let mut active = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/active.sql"))?;
    let (fan_outs, families) = active.query_row([LOOK_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (now, workers, more) = (snapshot.now, alive(snapshot)?, more_than_counted(snapshot)?);
    let mut stats = Stats { now, counts, more, fan_outs, families, oldest_open, workers };
    stats.cut_counts();
    Ok(stats)
}

/// The states in which there are more tasks than are counted.
fn more_than_counted(snapshot: &Snapshot<'_>) -> Result<Vec<State>> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/more.sql"))?;
    let more: [bool; 3] = statement.query_row([LOOK_MAX], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
    let states = [State::Completed, State::Failed, State::Cancelled].into_iter().zip(more);
    Ok(states.filter(|(_, more)| *more).map(|(state, _)| state).collect())
}

/// How many workers have a live lease and a process that is not known to be dead.
fn alive(snapshot: &Snapshot<'_>) -> Result<u64> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/live_workers.sql"))?;
    let mut rows = statement.query([snapshot.now.as_micros()])?;
    let mut alive = 0;
    while let Some(row) = rows.next()? {
        alive += u64::from(!snapshot.shared.locks.is_dead(rows::worker_from(row.get(0)?)));
    }
    Ok(alive)
}

/// For each queue, since when its first open task has stood in line.
fn heads(
    snapshot: &Snapshot<'_>,
    catalogue: &Catalogue,
    pending: impl Iterator<Item = (i64, i64)>,
) -> Result<Vec<(QueueName, Timestamp)>> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/head.sql"))?;
    let mut first: BTreeMap<i64, (i64, i64, i64)> = BTreeMap::new();
    for (queue, command) in pending {
        let head =
            statement.query_row((queue, command), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()?;
        if let Some(stand) = head {
            first.entry(queue).and_modify(|best| *best = stand.min(*best)).or_insert(stand);
        }
    }
    let mut heads = Vec::with_capacity(first.len());
    for (queue, (_, position, _)) in first {
        heads.push((catalogue.queue_name(queue)?.clone(), Timestamp::from_micros(position)));
    }
    heads.sort();
    Ok(heads)
}

/// Every worker, oldest first. One whose process is known to be dead has no lease any more, whatever it last wrote.
pub(crate) fn workers(snapshot: &Snapshot<'_>) -> Result<Vec<WorkerView>> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/inspect/workers.sql"))?;
    let mut rows = statement.query(())?;
    let mut workers = Vec::new();
    while let Some(row) = rows.next()? {
        let (queues, commands): (String, String) = (row.get("queues")?, row.get("commands")?);
        let id = rows::worker_from(row.get("id")?);
        let mut lease_until = rows::moment(row, "lease_until")?;
        if snapshot.shared.locks.is_dead(id) {
            lease_until = lost_at(lease_until, row.get("lease")?, snapshot.now);
        }
        workers.push(WorkerView {
            id,
            name: row.get("name")?,
            version: row.get("version")?,
            queues: serde_json::from_str(&queues).map_err(|_| unreadable("queues of a worker", &queues))?,
            commands: serde_json::from_str(&commands).map_err(|_| unreadable("commands of a worker", &commands))?,
            started_at: rows::moment(row, "started_at")?,
            lease_until,
            running: row.get("running")?,
        });
    }
    Ok(workers)
}

/// When the lease of a dead process is said to have ended: at its last sign of life, and in any case before now.
fn lost_at(lease_until: Timestamp, lease: i64, now: Timestamp) -> Timestamp {
    Timestamp::from_micros((lease_until.as_micros() - lease).min(now.as_micros() - 1))
}
