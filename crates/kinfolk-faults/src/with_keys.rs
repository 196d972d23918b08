//! What must hold of keys after every fault: by the times that the store has recorded, and by what the handlers saw.
//!
//! Every task of [`WITH_KEYS`] says in its payload which keys it has and what their limits are, so that nothing here trusts what
//! a store says of its slots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kinfolk_core::{Attempt, KeyFilter, Store, Task, TaskId, Timestamp};

use crate::journal;
use crate::ledger::Ledger;
use crate::sound::{all_tasks, assert_sound};
use crate::victim::{Passed, Room, WITH_KEYS, WithKeys, passed_file};

/// Someone was in a room from here until there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Who.
    pub task: TaskId,
    /// When it came.
    pub from: Timestamp,
    /// When it left.
    pub until: Timestamp,
}

/// The tasks in each room.
pub type Stays = BTreeMap<Room, Vec<Stay>>;

/// All is sound, all slots are given back, and no limit was ever passed: not by the times in the store, and not under the eyes
/// of the handlers, but for those of processes that had lost their lease. Returns who was in which room.
pub async fn assert_limits(
    store: &dyn Store,
    answered: &[TaskId],
    ledger: &Path,
    late: &BTreeSet<u32>,
) -> Result<Stays> {
    assert_sound(store, answered, &Ledger::of_file(ledger)?).await?;
    assert_unused(store).await?;
    let stays = stays(store).await?;
    for (room, stays) in &stays {
        never_passed(room, stays)?;
    }
    let seen = if passed_file(ledger).exists() { journal::read(&passed_file(ledger))? } else { Vec::new() };
    judge_seen(&seen, late)?;
    Ok(stays)
}

/// No slot is held, nobody waits for one, and the last start under a rate is soon forgotten.
async fn assert_unused(store: &dyn Store) -> Result<()> {
    const SOON: Duration = Duration::from_secs(5);
    let deadline = Instant::now() + SOON;
    loop {
        let keys = store.keys(&KeyFilter { limit: 10, ..KeyFilter::default() }).await?;
        let in_use = keys.iter().any(|key| key.held > 0 || key.waiters > 0);
        ensure!(!in_use && Instant::now() < deadline, "all has ended, but keys are in use: {keys:#?}");
        if keys.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A limit was passed only by processes that worked on though they had lost their lease.
pub fn judge_seen(seen: &[Passed], late: &BTreeSet<u32>) -> Result<()> {
    let is_excused = |passed: &&Passed| passed.processes.iter().any(|process| late.contains(process));
    let (excused, real): (Vec<_>, Vec<_>) = seen.iter().partition(is_excused);
    println!("{} handlers met one whose process had lost its lease", excused.len());
    ensure!(real.is_empty(), "handlers saw limits passed: {real:#?} (processes that lost their lease: {late:?})");
    Ok(())
}

/// The tasks in each room, by the times in the store.
async fn stays(store: &dyn Store) -> Result<Stays> {
    let mut stays = Stays::new();
    for task in all_tasks(store).await?.values().filter(|task| WITH_KEYS.contains(&task.command.as_str())) {
        let attempts = store.attempts(task.id).await?;
        let with_keys: WithKeys = task.payload.to()?;
        for room in with_keys.rooms {
            let its = stays_of(task, &attempts, room.hold)?;
            stays.entry(room).or_default().extend(its);
        }
    }
    Ok(stays)
}

/// When a task was in a room: during its attempts, or from the first of them until its end.
pub fn stays_of(task: &Task, attempts: &[Attempt], hold: bool) -> Result<Vec<Stay>> {
    let stay = |from, until| Stay { task: task.id, from, until };
    let end = task.finished_at.with_context(|| format!("has not ended: {task:#?}"))?;
    let first = attempts.first().map(|attempt| attempt.started_at).or(task.started_at);
    Ok(match first {
        None => Vec::new(),
        Some(first) if hold || attempts.is_empty() => vec![stay(first, end)],
        Some(_) => attempts.iter().map(|attempt| stay(attempt.started_at, attempt.ended_at)).collect(),
    })
}

/// There were never more in a room than its limit.
pub fn never_passed(room: &Room, stays: &[Stay]) -> Result<()> {
    let mut inside: Vec<Stay> = Vec::new();
    let mut in_order = stays.to_vec();
    in_order.sort_by_key(|stay| stay.from);
    for stay in in_order {
        // Who leaves at a moment makes room for who comes at it.
        inside.retain(|other| other.until > stay.from);
        inside.push(stay);
        ensure!(inside.len() <= room.limit as usize, "{room:?} held {} at once: {inside:#?}", inside.len());
    }
    Ok(())
}

/// The most that were in a room at once.
pub fn most_at_once(stays: &[Stay]) -> usize {
    let inside = |stay: &Stay| stays.iter().filter(|other| other.from <= stay.from && stay.from < other.until).count();
    stays.iter().map(inside).max().unwrap_or(0)
}
