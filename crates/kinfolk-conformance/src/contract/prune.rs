//! Removing what is finished and past its retention.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{NewTask, Outcome, Retention, Retry, State, TaskId};

use crate::world::{World, later, new_task, queue_name, secs, settle_of};

const DAY: u64 = 24 * 3_600;

/// Tasks go when their state's retention has passed: completed and cancelled after 7 days, failed after 30.
pub async fn tasks_go_when_their_states_retention_has_passed(w: &World) {
    let (completed, failed, cancelled) = (w.completed().await, w.failed().await, w.enqueue("mail").await);
    w.store.cancel(cancelled).await.unwrap();
    w.advance(7 * DAY - 1).await;
    assert_eq!(w.store.prune().await.unwrap(), 0);
    w.advance(1).await;
    assert_eq!(w.store.prune().await.unwrap(), 2);
    assert_eq!(w.store.task(completed).await.unwrap(), None);
    assert_eq!(w.store.task(cancelled).await.unwrap(), None);
    w.advance(23 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), 1);
    assert_eq!(w.store.task(failed).await.unwrap(), None);
}

/// A task goes with its attempts.
pub async fn attempts_go_with_their_task(w: &World) {
    let id = w.failed().await;
    assert_eq!(w.store.attempts(id).await.unwrap().len(), 1);
    w.advance(30 * DAY).await;
    w.store.prune().await.unwrap();
    assert_eq!(w.store.attempts(id).await.unwrap(), []);
}

/// What has not ended stays, however old it is.
pub async fn what_has_not_ended_stays(w: &World) {
    let running = w.running().await;
    let (pending, waiting) = (w.enqueue("mail").await, w.create(later(9 * 365 * DAY)).await);
    w.advance(8 * 365 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), 0);
    for (id, state) in [(running.id, State::Running), (pending, State::Pending), (waiting, State::Pending)] {
        assert_eq!(w.state(id).await, state);
    }
}

/// Each queue keeps as long as it says; `None` keeps for good and zero not at all.
pub async fn each_queue_keeps_as_long_as_it_says(w: &World) {
    let retention = Retention { completed: Some(secs(0)), failed: None, cancelled: Some(secs(60)) };
    w.store.set_queue(&queue_name("default"), &kinfolk_core::Policy::keeping(retention)).await.unwrap();
    let (completed, failed, cancelled) = (w.completed().await, w.failed().await, w.enqueue("mail").await);
    w.store.cancel(cancelled).await.unwrap();
    let elsewhere = w.create(NewTask { queue: Some(queue_name("bulk")), ..new_task("mail") }).await;
    w.store.cancel(elsewhere).await.unwrap();
    assert_eq!(w.store.prune().await.unwrap(), 1);
    assert_eq!(w.store.task(completed).await.unwrap(), None);
    w.advance(365 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), 2);
    assert_eq!(w.all().await.iter().map(|task| task.id).collect::<Vec<_>>(), [failed]);
}

/// One call removes one page, the oldest first; calling on removes the rest.
pub async fn pruning_goes_page_by_page_oldest_first(w: &World) {
    let many = SWEEP_PAGE + 20;
    let made = w.enqueue_many("mail", many).await;
    let worker = w.worker().await;
    let mut tasks = Vec::new();
    for _ in 0..2 {
        tasks.extend(w.claim(worker, 1_000).await);
    }
    // The twenty newest end first.
    for part in [&tasks[SWEEP_PAGE..], &tasks[..SWEEP_PAGE]] {
        let batch: Vec<_> = part.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
        w.store.settle(&batch).await.unwrap();
        w.advance(1).await;
    }
    w.advance(7 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), SWEEP_PAGE as u64);
    let left: Vec<_> = w.all().await.iter().rev().map(|task| task.id).collect();
    assert_eq!(left, made[SWEEP_PAGE - 20..SWEEP_PAGE]);
    assert_eq!(w.store.prune().await.unwrap(), 20);
    assert_eq!(w.store.prune().await.unwrap(), 0);
}

/// A task that was retried by hand is not removed for its former end.
pub async fn a_retried_task_is_not_removed(w: &World) {
    let id = w.failed().await;
    w.store.retry(id).await.unwrap();
    w.advance(31 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), 0);
    assert_eq!(w.state(id).await, State::Pending);
}

/// A settle that comes again after its task is gone is stale, and the number is not given out again.
pub async fn a_removed_task_is_gone_for_good(w: &World) {
    let task = w.running().await;
    w.fail(&task, Retry::Never).await;
    w.advance(30 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), 1);
    assert_eq!(w.done(&task).await, kinfolk_core::Settled::Stale);
    let next: TaskId = w.enqueue("mail").await;
    assert!(next > task.id, "{next} after {}", task.id);
}
