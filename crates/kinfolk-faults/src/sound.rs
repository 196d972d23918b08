//! What must hold after every fault.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use kinfolk_core::inspect::Filter;
use kinfolk_core::{FailureKind, State, Store, Task, TaskId};

use crate::ledger::Entries;

/// All tasks in the store, by number.
pub async fn all_tasks(store: &dyn Store) -> Result<BTreeMap<TaskId, Task>> {
    let mut tasks = BTreeMap::new();
    let mut filter = Filter { limit: 1_000, ..Filter::default() };
    loop {
        let page = store.list(&filter).await?;
        tasks.extend(page.tasks.into_iter().map(|task| (task.id, task)));
        match page.next {
            None => return Ok(tasks),
            next => filter.before = next,
        }
    }
}

/// Waits until no task is left that is running, or pending and due.
pub async fn wait_drained(store: &dyn Store, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let mut open = Vec::new();
        let filter =
            Filter { states: vec![State::Pending, State::Running, State::Waiting], limit: 50, ..Filter::default() };
        let now = store.now().await?;
        open.extend(store.list(&filter).await?.tasks.into_iter().filter(|task| task.due <= now.plus(FAR)));
        if open.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("not drained within {limit:?}; {} or more tasks are open, such as {:?}", open.len(), open[0]);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A task that is due later than this from now on is one that a test has put away for good.
const FAR: Duration = Duration::from_secs(600);

/// Every invariant of the store holds; every task that an enqueue has answered for is there and has ended; every
/// completed task that should have noted itself has.
///
/// `answered`: the tasks of which a producer was told. `once`: whether a note must be there exactly once.
pub async fn assert_sound(store: &dyn Store, answered: &[TaskId], notes: &Entries, once: bool) -> Result<()> {
    let broken = store.check().await?;
    ensure!(broken.is_empty(), "the store is not sound: {broken:#?}");
    let tasks = all_tasks(store).await?;
    let lost: Vec<_> = answered.iter().filter(|id| !tasks.contains_key(id)).collect();
    ensure!(lost.is_empty(), "{} tasks that were answered for are gone: {lost:?}", lost.len());
    for task in tasks.values() {
        let noted = notes.get(&task.id).copied().unwrap_or_default();
        match task.state {
            State::Completed if once => ensure!(noted == 1, "task {} has {noted} effects, not one: {task:#?}", task.id),
            State::Completed => ensure!(noted >= 1, "task {} completed without having run: {task:#?}", task.id),
            State::Failed => ensure!(
                task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Poison)
                    && (!once || noted == 0),
                "task {} failed, with {noted} effects: {task:#?}",
                task.id
            ),
            State::Cancelled => ensure!(!once || noted == 0, "task {} was cancelled but has {noted} effects", task.id),
            State::Pending | State::Running | State::Waiting => bail!("task {} has not ended: {task:#?}", task.id),
        }
    }
    Ok(())
}
