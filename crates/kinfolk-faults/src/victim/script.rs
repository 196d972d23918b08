//! A walk through every verb of the store, so that every crash point is passed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kinfolk_core::{Due, NewTask, QueueName, Retention, Schedule, ScheduleName, State, Store, TaskId};

use super::{NOTE, Orders, made, script_families, tasks, tell_made, worker};
use crate::sound::cancel_if_open;

/// The queue of tasks that are removed as soon as they have ended.
const SOON_GONE: &str = "soon_gone";

/// Batches of tasks that the script enqueues, and how many are in each.
const BATCHES: usize = 4;
const BATCH: usize = 5;
const PATIENCE: Duration = Duration::from_secs(20);

/// Enqueues, works, makes families, fires, cancels, retries, prunes, leaves.
pub(super) async fn run(orders: &Orders, store: Arc<dyn Store>) -> Result<()> {
    let running = worker(orders, Arc::clone(&store)).start().await?;
    println!("ready");
    let mut ours = script_families::make(&*store).await?;
    for _ in 0..BATCHES {
        let ids = made(&store.enqueue(&tasks(NOTE, BATCH)?).await?)?;
        tell_made(&ids);
        ours.extend(ids);
    }
    script_families::cancel(&*store).await?;
    script_families::repair(orders, &*store).await?;
    cancel_and_retry(&*store).await?;
    fire(&*store).await?;
    wait_ended(&*store, &ours).await?;
    prune(&*store).await?;
    // Long enough for a heartbeat and a look for lost workers.
    wait_for_beats(&*store, orders).await?;
    running.stop().await?;
    Ok(())
}

/// A task that is cancelled before it is due, retried, and cancelled again if it has not run by then.
async fn cancel_and_retry(store: &dyn Store) -> Result<()> {
    let later = NewTask { due: Due::After(Duration::from_secs(3_600)), ..tasks(NOTE, 1)?.remove(0) };
    let id = made(&store.enqueue(&[later]).await?)?[0];
    // Before it may run: a worker that has ended it meanwhile would leave nothing to acquit.
    store.acquit(id).await?;
    store.cancel(id).await?;
    store.retry(id).await?;
    // A worker may have run it since.
    cancel_if_open(store, id).await?;
    tell_made(&[id]);
    Ok(())
}

/// A schedule that fires every second, until it has fired once.
async fn fire(store: &dyn Store) -> Result<()> {
    let name = ScheduleName::new("every_second")?;
    let schedule = Schedule::new(name.clone(), "* * * * * *", tasks(NOTE, 1)?.remove(0));
    store.put_schedule(&schedule).await?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let fired = store.schedules().await?.iter().any(|schedule| schedule.name == name && schedule.last_at.is_some());
        if fired {
            break;
        }
        ensure!(Instant::now() < deadline, "the schedule did not fire within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.remove_schedule(&name).await?;
    Ok(())
}

/// Tasks of a queue that keeps nothing are removed.
async fn prune(store: &dyn Store) -> Result<()> {
    let queue = QueueName::new(SOON_GONE)?;
    let nothing = Some(Duration::ZERO);
    store
        .set_queue(
            &queue,
            &kinfolk_core::Policy::keeping(Retention { completed: nothing, failed: nothing, cancelled: nothing }),
        )
        .await?;
    let later =
        NewTask { due: Due::After(Duration::from_secs(3_600)), queue: Some(queue), ..tasks(NOTE, 1)?.remove(0) };
    let id = made(&store.enqueue(&[later]).await?)?[0];
    store.cancel(id).await?;
    let deadline = Instant::now() + PATIENCE;
    while store.task(id).await?.is_some() {
        store.prune().await?;
        ensure!(Instant::now() < deadline, "task {id} was not pruned within {PATIENCE:?}");
    }
    Ok(())
}

async fn wait_ended(store: &dyn Store, ids: &[TaskId]) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    for id in ids {
        while store.task(*id).await?.is_none_or(|task| task.state != State::Completed) {
            ensure!(Instant::now() < deadline, "task {id} did not end within {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    Ok(())
}

/// Waits until the worker has renewed its lease for longer than its length, and so may judge others.
async fn wait_for_beats(store: &dyn Store, orders: &Orders) -> Result<()> {
    let from = store.now().await?;
    let span = Duration::from_millis(orders.lease_ms * 3 / 2);
    while store.now().await? < from.plus(span) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
