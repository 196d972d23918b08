//! What must hold after every fault.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use kinfolk_core::inspect::Filter;
use kinfolk_core::task::Ending;
use kinfolk_core::{Attempt, FailureKind, State, Store, StoreError, Task, TaskId};

use crate::ledger::Ledger;
use crate::victim::{EFFECT, FAMILY, Plan};

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

/// Waits until no task is left that is running, or pending and due. (A waiting task waits for one of them.)
pub async fn wait_drained(store: &dyn Store, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let mut open = Vec::new();
        let filter = Filter { state: vec![State::Pending, State::Running], limit: 50, ..Filter::default() };
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

/// Asks for the end of a task, which may have ended by now.
pub async fn cancel_if_open(store: &dyn Store, id: TaskId) -> Result<()> {
    match store.cancel(id).await {
        Err(StoreError::WrongState { .. }) => Ok(()),
        answer => Ok(answer.map(drop)?),
    }
}

/// A task that is due later than this from now on is one that a test has put away for good.
const FAR: Duration = Duration::from_secs(600);

/// Every invariant of the store holds, and nobody waited for nothing.
pub async fn assert_unbroken(store: &dyn Store) -> Result<()> {
    let stuck = store.sweep().await?;
    ensure!(stuck == 0, "{stuck} tasks waited for nothing");
    let broken = store.check().await?;
    ensure!(broken.is_empty(), "the store is not sound: {broken:#?}");
    Ok(())
}

/// Every invariant of the store holds; every task that an enqueue has answered for is there; every task has ended, once;
/// the ledger says the same as the store.
///
/// `answered`: the tasks of which a producer was told.
pub async fn assert_sound(store: &dyn Store, answered: &[TaskId], ledger: &Ledger) -> Result<()> {
    assert_unbroken(store).await?;
    let tasks = all_tasks(store).await?;
    let lost: Vec<_> = answered.iter().filter(|id| !tasks.contains_key(id)).collect();
    ensure!(lost.is_empty(), "{} tasks that were answered for are gone: {lost:?}", lost.len());
    for task in tasks.values() {
        ensure!(task.state.is_terminal(), "task {} has not ended: {task:#?}", task.id);
        settled_once(store, task).await?;
        let noted = ledger.file.get(&task.id).copied().unwrap_or_default();
        let effects = ledger.table.get(&task.id).copied().unwrap_or_default();
        let completed = task.state == State::Completed;
        let due = u64::from(completed && task.command.as_str() == EFFECT);
        ensure!(effects == due, "task {} has {effects} effects, not {due}: {task:#?}", task.id);
        let ran = noted + effects > 0;
        ensure!(!completed || ran, "task {} completed without having run: {task:#?}", task.id);
        let poison = task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Poison);
        ensure!(task.state != State::Failed || poison, "task {} failed: {task:#?}", task.id);
    }
    Ok(())
}

/// The attempts of a task that has ended: each run is there once, and only the last one has ended the task. A task
/// completed at its first run has none. One that failed because of its children did its own work well.
pub(crate) async fn settled_once(store: &dyn Store, task: &Task) -> Result<()> {
    let attempts = store.attempts(task.id).await?;
    ensure!(attempts.windows(2).all(|two| two[0].run < two[1].run), "runs of task {}: {attempts:#?}", task.id);
    let ends = |attempt: &&Attempt| matches!(attempt.ending, Ending::Completed | Ending::Failed);
    let ended = attempts.iter().filter(ends).count();
    ensure!(ended <= 1 + usize::from(was_broken(task)), "task {} ended {ended} times: {attempts:#?}", task.id);
    let last = attempts.last().map(|attempt| attempt.ending);
    let fits = match task.state {
        State::Completed => matches!(last, None | Some(Ending::Completed)),
        State::Failed if task.outcome.is_some() => matches!(last, None | Some(Ending::Completed)),
        State::Failed => matches!(last, Some(Ending::Failed | Ending::Lost)),
        _ => true,
    };
    ensure!(fits, "task {} is {}, its attempts say otherwise: {attempts:#?}", task.id, task.state);
    Ok(())
}

/// Whether the task was to fail once, and be retried by hand.
fn was_broken(task: &Task) -> bool {
    task.command.as_str() == FAMILY && task.payload.to::<Plan>().is_ok_and(|plan| plan.broken)
}
