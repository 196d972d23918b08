//! Cancelling.

use kinfolk_core::operate::Cancelled;
use kinfolk_core::task::Ending;
use kinfolk_core::{Failure, Outcome, Retry, Settled, State, StoreError, TaskId};

use crate::world::{World, failed, json, later, secs};

/// A pending task is cancelled at once and never runs, open or not.
pub async fn a_pending_task_is_cancelled_at_once(w: &World) {
    let worker = w.worker().await;
    for id in [w.enqueue("mail").await, w.create(later(5)).await] {
        assert_eq!(w.store.cancel(id).await.unwrap(), Cancelled::Now);
        let task = w.get(id).await;
        assert_eq!((task.state, task.gate, task.finished_at), (State::Cancelled, None, Some(w.now())));
        assert_eq!(task.failure, Some(Failure::cancelled()));
        assert_eq!(w.endings(id).await, []);
    }
    w.advance(10).await;
    assert!(w.claim(worker, 9).await.is_empty());
}

/// A running task is asked to end; it goes on until its worker answers.
pub async fn a_running_task_is_asked_to_end(w: &World) {
    let task = w.running().await;
    let asked = w.now();
    assert_eq!(w.store.cancel(task.id).await.unwrap(), Cancelled::Requested);
    w.advance(2).await;
    assert_eq!(w.store.cancel(task.id).await.unwrap(), Cancelled::Requested);
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.cancel_requested_at), (State::Running, Some(asked)), "the first request counts");
}

/// A worker learns at its heartbeat what it should end: its own tasks, with their tokens, until they have ended.
pub async fn a_heartbeat_brings_the_requests(w: &World) {
    let (mine, other) = (w.running().await, w.running().await);
    for task in [&mine, &other] {
        w.store.cancel(task.id).await.unwrap();
    }
    let worker = w.get(mine.id).await.worker.unwrap();
    assert_eq!(w.store.heartbeat(worker).await.unwrap().cancel, [(mine.id, mine.token)]);
    assert_eq!(w.store.heartbeat(worker).await.unwrap().cancel, [(mine.id, mine.token)], "asked until it ends");
    w.settle(&mine, Outcome::Cancelled).await;
    assert_eq!(w.store.heartbeat(worker).await.unwrap().cancel, []);
}

/// Once the end is asked for, every outcome records `cancelled`, also a completion.
pub async fn a_request_beats_every_later_outcome(w: &World) {
    let outcomes = [
        Outcome::Done(Some(json("1"))),
        failed(Retry::Policy),
        failed(Retry::Never),
        Outcome::Snooze(secs(5)),
        Outcome::Release,
        Outcome::Cancelled,
    ];
    for outcome in outcomes {
        let task = w.running().await;
        w.store.cancel(task.id).await.unwrap();
        assert_eq!(w.settle(&task, outcome.clone()).await, Settled::Recorded(State::Cancelled), "{outcome:?}");
        let shown = w.get(task.id).await;
        assert_eq!((shown.result, shown.failure), (None, Some(Failure::cancelled())), "{outcome:?}");
        assert_eq!(shown.finished_at, Some(w.now()));
        let attempt = w.store.attempts(task.id).await.unwrap().remove(0);
        assert_eq!((attempt.ending, attempt.failure), (Ending::Cancelled, Some(Failure::cancelled())));
    }
}

/// A cancel of a task that has ended is refused: the error says how it ended, and it stays so.
pub async fn a_task_that_has_ended_is_not_cancelled(w: &World) {
    let (completed, failed) = (w.completed().await, w.failed().await);
    let cancelled = w.enqueue("mail").await;
    w.store.cancel(cancelled).await.unwrap();
    let before = w.everything().await;
    for (id, state) in [(completed, State::Completed), (failed, State::Failed), (cancelled, State::Cancelled)] {
        too_late(w, id, state).await;
    }
    assert_eq!(w.everything().await, before);
}

/// A cancel is refused, since the task has ended in this state.
pub(crate) async fn too_late(w: &World, id: TaskId, state: State) {
    let answer = w.store.cancel(id).await;
    let refused = matches!(&answer, Err(StoreError::WrongState { task, state: found, remedy })
        if (*task, *found) == (id, state) && remedy.contains("can't be cancelled"));
    assert!(refused, "{answer:?}");
}

/// Cancelling what does not exist is an error that names it.
pub async fn cancelling_nothing_is_not_found(w: &World) {
    for id in [TaskId(987_654_321), TaskId(0), TaskId(-1), TaskId(i64::MAX)] {
        let fault = w.store.cancel(id).await.unwrap_err();
        assert!(matches!(&fault, StoreError::NotFound { what: "task", name } if *name == id.to_string()), "{fault}");
    }
}

/// A task that waits to be tried again is cancelled at once, with its attempts kept.
pub async fn a_task_between_attempts_is_cancelled_at_once(w: &World) {
    let task = w.running().await;
    w.fail(&task, Retry::Policy).await;
    assert_eq!(w.store.cancel(task.id).await.unwrap(), Cancelled::Now);
    assert_eq!(w.endings(task.id).await, [Ending::Retried]);
}
