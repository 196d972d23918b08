//! Settling: how an attempt ended, written down once, by the holder of the token.

use kinfolk_core::task::Ending;
use kinfolk_core::{Failure, FailureKind, Gate, Outcome, Retry, Settle, Settled, State, TaskId, Token};
use uuid::Uuid;

use crate::world::{World, failed, failure, json, secs, settle_of};

/// A completion keeps the result and the moment, and frees the worker.
pub async fn a_completion_keeps_its_result(w: &World) {
    let task = w.running().await;
    w.advance(2).await;
    let result = json(r#"{"sent":12345678901234567890.5}"#);
    assert_eq!(w.settle(&task, Outcome::Done(Some(result.clone()))).await, Settled::Recorded(State::Completed));
    let task = w.get(task.id).await;
    assert_eq!((task.state, task.gate, task.worker), (State::Completed, None, None));
    assert_eq!((task.result, task.failure, task.finished_at), (Some(result), None, Some(w.now())));
    assert_eq!(task.attempt, 1);
}

/// A completion without a result has none, which is not the result `null`.
pub async fn no_result_is_not_the_result_null(w: &World) {
    let (without, with) = (w.running().await, w.running().await);
    w.settle(&without, Outcome::Done(None)).await;
    w.settle(&with, Outcome::Done(Some(json("null")))).await;
    assert_eq!(w.get(without.id).await.result, None);
    assert_eq!(w.get(with.id).await.result, Some(json("null")));
}

/// A task that completes at its first claim leaves no attempt row: the task says it all.
pub async fn a_first_completion_leaves_no_attempt(w: &World) {
    let id = w.completed().await;
    assert_eq!(w.endings(id).await, []);
}

/// A completion at a later claim is recorded beside what came before.
pub async fn a_later_completion_is_recorded_with_the_attempts(w: &World) {
    let task = w.running().await;
    w.settle(&task, Outcome::Snooze(secs(0))).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    w.done(&task).await;
    assert_eq!(w.endings(task.id).await, [Ending::Snoozed, Ending::Completed]);
}

/// A failure that may be tried again makes the task pending, with the failure shown, after the policy's delay.
pub async fn a_failure_is_tried_again_after_a_delay(w: &World) {
    let task = w.running().await;
    assert_eq!(w.fail(&task, Retry::Policy).await, Settled::Recorded(State::Pending));
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.gate, shown.attempt), (State::Pending, Some(Gate::Time), 1));
    assert_eq!((shown.failure, shown.worker), (Some(failure()), None));
    assert_eq!(shown.due, w.now().plus(secs(1)));
    assert_eq!((shown.finished_at, shown.result), (None, None));
}

/// The last attempt's failure fails the task for good.
pub async fn the_last_failure_is_final(w: &World) {
    let id = w.enqueue("mail").await;
    let worker = w.worker().await;
    for attempt in 1..=3 {
        let task = w.take(worker).await;
        assert_eq!(task.attempt, attempt);
        w.fail(&task, Retry::After(secs(0))).await;
    }
    let task = w.get(id).await;
    assert_eq!((task.state, task.failure, task.finished_at), (State::Failed, Some(failure()), Some(w.now())));
    assert_eq!(w.endings(id).await, [Ending::Retried, Ending::Retried, Ending::Failed]);
    assert!(w.claim(worker, 1).await.is_empty());
}

/// `Retry::Never` and a validation failure fail at once, whatever attempts are left.
pub async fn do_not_retry_and_validation_fail_at_once(w: &World) {
    let validation = Failure::new(FailureKind::Validation, "no such address").detail(json(r#"{"field":"to"}"#));
    for (failure, retry) in [(failure(), Retry::Never), (validation, Retry::Policy)] {
        let task = w.running().await;
        let outcome = Outcome::Failed { failure: failure.clone(), retry };
        assert_eq!(w.settle(&task, outcome).await, Settled::Recorded(State::Failed));
        assert_eq!(w.get(task.id).await.failure, Some(failure));
    }
}

/// A snooze comes back after its span, costs no attempt and keeps what was known of earlier failures.
pub async fn a_snooze_costs_no_attempt(w: &World) {
    let task = w.running().await;
    w.fail(&task, Retry::After(secs(0))).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    assert_eq!(w.settle(&task, Outcome::Snooze(secs(40))).await, Settled::Recorded(State::Pending));
    let shown = w.get(task.id).await;
    assert_eq!((shown.attempt, shown.gate, shown.due), (1, Some(Gate::Time), w.now().plus(secs(40))));
    assert_eq!(shown.failure, Some(failure()));
    assert_eq!(w.endings(task.id).await, [Ending::Retried, Ending::Snoozed]);
}

/// A release gives the task back as it was: open, with its due time, at no cost.
pub async fn a_release_gives_the_task_back_as_it_was(w: &World) {
    let task = w.running().await;
    let due = w.get(task.id).await.due;
    w.advance(5).await;
    assert_eq!(w.settle(&task, Outcome::Release).await, Settled::Recorded(State::Pending));
    let shown = w.get(task.id).await;
    assert_eq!((shown.attempt, shown.gate, shown.due), (0, Some(Gate::Open), due));
    assert_eq!((shown.failure, shown.worker), (None, None));
    assert_eq!(w.endings(task.id).await, [Ending::Released]);
}

/// A handler that says it was cancelled ends its task as cancelled.
pub async fn a_cancelled_outcome_ends_the_task_as_cancelled(w: &World) {
    let task = w.running().await;
    assert_eq!(w.settle(&task, Outcome::Cancelled).await, Settled::Recorded(State::Cancelled));
    let shown = w.get(task.id).await;
    assert_eq!((shown.failure, shown.finished_at), (Some(Failure::cancelled()), Some(w.now())));
    assert_eq!(w.endings(task.id).await, [Ending::Cancelled]);
}

/// A zero delay opens the gate at once.
pub async fn a_delay_of_zero_is_no_delay(w: &World) {
    for outcome in [failed(Retry::After(secs(0))), Outcome::Snooze(secs(0))] {
        let task = w.running().await;
        w.settle(&task, outcome).await;
        assert_eq!(w.get(task.id).await.gate, Some(Gate::Open));
        w.store.cancel(task.id).await.unwrap();
    }
}

/// A batch is answered in order, and a stale one in the middle does not disturb the rest.
pub async fn a_stale_settle_does_not_disturb_its_neighbours(w: &World) {
    w.enqueue_many("mail", 3).await;
    let worker = w.worker().await;
    let tasks = w.claim(worker, 3).await;
    let stale = Settle { token: Token(Uuid::new_v4()), ..settle_of(&tasks[1], Outcome::Done(None)) };
    let nobody = Settle { task: TaskId(i64::MAX), ..settle_of(&tasks[0], Outcome::Done(None)) };
    let batch = [settle_of(&tasks[0], Outcome::Done(None)), stale, nobody, settle_of(&tasks[2], failed(Retry::Never))];
    let answers = w.store.settle(&batch).await.unwrap();
    let (done, bad) = (Settled::Recorded(State::Completed), Settled::Recorded(State::Failed));
    assert_eq!(answers, [done, Settled::Stale, Settled::Stale, bad]);
    assert_eq!(w.state(tasks[1].id).await, State::Running);
}

/// A settle with a token that was never given out changes nothing.
pub async fn a_wrong_token_changes_nothing(w: &World) {
    let task = w.running().await;
    let before = w.everything().await;
    let wrong = Settle { token: Token(Uuid::new_v4()), ..settle_of(&task, Outcome::Done(None)) };
    assert_eq!(w.store.settle(&[wrong]).await.unwrap(), [Settled::Stale]);
    assert_eq!(w.everything().await, before);
}

/// The token of an earlier claim is stale, even when the task is at the very same attempt again.
pub async fn a_token_of_an_earlier_claim_is_stale_at_the_same_attempt(w: &World) {
    let old = w.running().await;
    w.settle(&old, Outcome::Release).await;
    let worker = w.worker().await;
    let new = w.take(worker).await;
    assert_eq!((new.id, new.attempt), (old.id, old.attempt));
    assert_eq!(w.done(&old).await, Settled::Stale);
    assert_eq!(w.state(old.id).await, State::Running);
    assert_eq!(w.done(&new).await, Settled::Recorded(State::Completed));
}

/// Each ended attempt shows its run, its number, when it ran, where, and why it ended.
pub async fn an_attempt_shows_when_where_and_why(w: &World) {
    let id = w.enqueue("mail").await;
    let (ada, bob) = (w.worker().await, w.worker().await);
    let began = w.now();
    let task = w.take(ada).await;
    w.advance(3).await;
    w.fail(&task, Retry::After(secs(0))).await;
    let again = w.now();
    let task = w.take(bob).await;
    w.advance(4).await;
    w.settle(&task, Outcome::Snooze(secs(0))).await;
    let task = w.take(bob).await;
    w.fail(&task, Retry::Never).await;
    let attempts = w.store.attempts(id).await.unwrap();
    assert_eq!(
        attempts.iter().map(|attempt| (attempt.run, attempt.attempt)).collect::<Vec<_>>(),
        [(1, 1), (2, 2), (3, 2)]
    );
    assert_eq!((attempts[0].started_at, attempts[0].ended_at), (began, again));
    assert_eq!((attempts[0].worker, attempts[1].worker), (ada, bob));
    let failures: Vec<_> = attempts.into_iter().map(|attempt| attempt.failure).collect();
    assert_eq!(failures, [Some(failure()), None, Some(failure())]);
}

/// A failure's kind, message and detail come back as they were.
pub async fn a_failure_comes_back_as_it_was(w: &World) {
    for kind in [FailureKind::Error, FailureKind::Timeout, FailureKind::Panic] {
        let task = w.running().await;
        let failure = Failure::new(kind, "é 'quoted' \"too\"\n\\ line").detail(json(r#"{"code":1.50}"#));
        let outcome = Outcome::Failed { failure: failure.clone(), retry: Retry::Never };
        w.settle(&task, outcome).await;
        assert_eq!(w.get(task.id).await.failure, Some(failure.clone()));
        assert_eq!(w.store.attempts(task.id).await.unwrap()[0].failure, Some(failure));
    }
}

/// A completion after failures clears the failure and keeps it with the attempts.
pub async fn a_completion_clears_the_failure(w: &World) {
    let task = w.running().await;
    w.fail(&task, Retry::After(secs(0))).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    w.done(&task).await;
    assert_eq!(w.get(task.id).await.failure, None);
    assert_eq!(w.store.attempts(task.id).await.unwrap()[0].failure, Some(failure()));
}

/// A whole batch of settles goes through, up to the limit.
pub async fn a_full_batch_is_settled(w: &World) {
    let many = kinfolk_core::limits::SETTLE_BATCH_MAX;
    w.enqueue_many("mail", many).await;
    let worker = w.worker().await;
    let tasks = w.claim(worker, many).await;
    let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(Some(json("1"))))).collect();
    let answers = w.store.settle(&batch).await.unwrap();
    assert_eq!(answers, vec![Settled::Recorded(State::Completed); many]);
    assert_eq!(w.store.settle(&[]).await.unwrap(), []);
}

/// A paused queue does not keep its running tasks from ending.
pub async fn a_task_settles_on_a_paused_queue(w: &World) {
    let task = w.running().await;
    w.store.pause(&crate::world::queue_name("default"), None).await.unwrap();
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
}
