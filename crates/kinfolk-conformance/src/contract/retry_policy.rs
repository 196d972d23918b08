//! When a failed attempt is tried again, by the policy of its command.

use std::time::Duration;

use kinfolk_core::retry::VECTORS;
use kinfolk_core::{Command, NewTask, Retry, RetryPolicy, State, TaskId};

use crate::world::{World, new_task, plain_command, secs};

async fn delay_after_failure(w: &World, id: TaskId) -> Duration {
    let worker = w.worker().await;
    let task = w.take(worker).await;
    assert_eq!(task.id, id);
    w.fail(&task, Retry::Policy).await;
    w.get(id).await.due.since(w.now())
}

/// Delays double from the base and stop at the cap.
pub async fn delays_double_up_to_the_cap(w: &World) {
    let retry =
        RetryPolicy { max_attempts: Some(10), base_ms: 500, cap_ms: 3_000, jitter_pct: 0, ..RetryPolicy::default() };
    w.store.register(&[Command { retry, ..plain_command("mail") }]).await.unwrap();
    let id = w.enqueue("mail").await;
    for millis in [500, 1_000, 2_000, 3_000, 3_000] {
        let delay = delay_after_failure(w, id).await;
        assert_eq!(delay, Duration::from_millis(millis));
        w.advance_by(delay).await;
    }
}

/// The jitter is that of the one formula, to the microsecond, in every store.
pub async fn the_jitter_is_the_formulas_to_the_microsecond(w: &World) {
    for &(base_ms, cap_ms, jitter_pct, ..) in VECTORS {
        let retry = RetryPolicy { max_attempts: Some(2), base_ms, cap_ms, jitter_pct, ..RetryPolicy::default() };
        w.store.register(&[Command { retry, ..plain_command("mail") }]).await.unwrap();
        let id = w.enqueue("mail").await;
        assert_eq!(delay_after_failure(w, id).await, retry.delay(id, 1), "{retry:?} task {id}");
        w.store.cancel(id).await.unwrap();
    }
}

/// Even the thousandth attempt has a delay that can be computed.
pub async fn a_late_attempt_has_a_sound_delay(w: &World) {
    let retry = RetryPolicy {
        max_attempts: Some(50),
        base_ms: u32::MAX,
        cap_ms: u32::MAX,
        jitter_pct: 100,
        ..RetryPolicy::default()
    };
    w.store.register(&[Command { retry, ..plain_command("mail") }]).await.unwrap();
    let id = w.enqueue("mail").await;
    for attempt in 1..40 {
        let delay = delay_after_failure(w, id).await;
        assert_eq!(delay, retry.delay(id, attempt), "attempt {attempt}");
        w.advance_by(delay).await;
    }
}

/// `Retry::After` says when, in place of the policy; the policy still says how often.
pub async fn retry_after_replaces_the_delay_and_not_the_count(w: &World) {
    let id = w.create(NewTask { max_attempts: Some(2), ..new_task("mail") }).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    w.fail(&task, Retry::After(secs(77))).await;
    assert_eq!(w.get(id).await.due, w.now().plus(secs(77)));
    w.advance(77).await;
    let task = w.take(worker).await;
    w.fail(&task, Retry::After(secs(77))).await;
    assert_eq!(w.state(id).await, State::Failed);
}

/// The delay is read from the command when the attempt ends; the number of attempts was fixed at the enqueue.
pub async fn delays_follow_the_command_and_counts_follow_the_enqueue(w: &World) {
    let id = w.enqueue("mail").await;
    let retry =
        RetryPolicy { max_attempts: Some(1), base_ms: 9_000, cap_ms: 90_000, jitter_pct: 0, ..RetryPolicy::default() };
    w.store.register(&[Command { retry, ..plain_command("mail") }]).await.unwrap();
    assert_eq!(delay_after_failure(w, id).await, secs(9));
    assert_eq!((w.state(id).await, w.get(id).await.max_attempts), (State::Pending, 3));
}

/// A task that may be tried once fails at its first error.
pub async fn one_attempt_is_one_attempt(w: &World) {
    let id = w.create(NewTask { max_attempts: Some(1), ..new_task("mail") }).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    w.fail(&task, Retry::Policy).await;
    assert_eq!(w.state(id).await, State::Failed);
}
