//! Retrying by hand.

use kinfolk_core::task::Ending;
use kinfolk_core::{Gate, NewTask, Retry, Settled, State, StoreError, TaskId};

use crate::world::{World, new_task};

/// A failed task becomes pending again, with fresh attempts, at its old position.
pub async fn a_failed_task_starts_afresh_at_its_old_position(w: &World) {
    let id = w.failed().await;
    let before = w.get(id).await;
    w.advance(60).await;
    let task = w.store.retry(id).await.unwrap();
    assert_eq!(task, w.get(id).await);
    assert_eq!((task.state, task.gate, task.attempt), (State::Pending, Some(Gate::Open), 0));
    assert_eq!((task.due, task.position), (w.now(), before.position));
    assert_eq!((task.failure, task.result, task.worker), (None, None, None));
    assert_eq!((task.started_at, task.finished_at, task.cancel_requested_at), (None, None, None));
}

/// A task that was cancelled, pending or running, can be retried, and runs without the old request.
pub async fn a_cancelled_task_runs_without_the_old_request(w: &World) {
    let task = w.running().await;
    w.store.cancel(task.id).await.unwrap();
    w.done(&task).await;
    w.store.retry(task.id).await.unwrap();
    let worker = w.worker().await;
    let again = w.take(worker).await;
    assert_eq!((again.id, again.attempt), (task.id, 1));
    assert_eq!(w.store.heartbeat(worker).await.unwrap().cancel, []);
    assert_eq!(w.done(&again).await, Settled::Recorded(State::Completed));
}

/// All attempts are allowed again, and the old ones stay in the record under numbers that never repeat.
pub async fn retried_attempts_are_added_to_the_record(w: &World) {
    let id = w.create(NewTask { max_attempts: Some(2), ..new_task("mail") }).await;
    let worker = w.worker().await;
    for _ in 0..2 {
        for _ in 0..2 {
            let task = w.take(worker).await;
            w.fail(&task, Retry::After(crate::world::secs(0))).await;
        }
        assert_eq!(w.state(id).await, State::Failed);
        w.store.retry(id).await.unwrap();
    }
    let attempts = w.store.attempts(id).await.unwrap();
    let numbers: Vec<_> = attempts.iter().map(|attempt| (attempt.run, attempt.attempt)).collect();
    assert_eq!(numbers, [(1, 1), (2, 2), (3, 1), (4, 2)]);
    assert_eq!(w.endings(id).await, [Ending::Retried, Ending::Failed, Ending::Retried, Ending::Failed]);
}

/// Only failed and cancelled tasks are retried; any other is refused with its state, and stays as it is.
pub async fn only_failed_and_cancelled_tasks_are_retried(w: &World) {
    let completed = w.completed().await;
    let running = w.running().await.id;
    let pending = w.enqueue("mail").await;
    let before = w.everything().await;
    for (id, is) in [(completed, State::Completed), (running, State::Running), (pending, State::Pending)] {
        let fault = w.store.retry(id).await.unwrap_err();
        assert!(matches!(fault, StoreError::WrongState { task, state, .. } if task == id && state == is), "{fault}");
    }
    assert_eq!(w.everything().await, before);
}

/// Retrying what does not exist is an error that names it.
pub async fn retrying_nothing_is_not_found(w: &World) {
    let fault = w.store.retry(TaskId(987_654_321)).await.unwrap_err();
    assert!(matches!(&fault, StoreError::NotFound { what: "task", name } if name == "987654321"), "{fault}");
}

/// A retried task of which a settle is still on its way does not hear it.
pub async fn the_old_token_is_stale_after_a_retry(w: &World) {
    let task = w.running().await;
    w.fail(&task, Retry::Never).await;
    w.store.retry(task.id).await.unwrap();
    assert_eq!(w.fail(&task, Retry::Never).await, Settled::Stale);
    assert_eq!(w.state(task.id).await, State::Pending);
}

/// A poisoned task that is retried is no suspect and has no strikes.
pub async fn a_retry_forgives_poison(w: &World) {
    let task = w.running().await;
    w.allow_strikes("mail", 1).await;
    w.lose_all().await;
    let worker = w.worker().await;
    w.take(worker).await;
    w.lose_all().await;
    assert_eq!(w.state(task.id).await, State::Failed);
    let task = w.store.retry(task.id).await.unwrap();
    assert_eq!((task.suspect, task.strikes, task.failure), (false, 0, None));
}
