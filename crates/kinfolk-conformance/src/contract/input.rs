//! Bad input: each gets a typed error that says what to change, and nothing is written.

use std::future::Future;
use std::time::Duration;

use kinfolk_core::limits::{
    ATTEMPTS_MAX, CRON_BYTES_MAX, DELAY_MAX, ENQUEUE_BATCH_MAX, LEASE_MAX, LEASE_MIN, PAYLOAD_BYTES_MAX,
    PRIORITY_ABS_MAX, RESULT_BYTES_MAX, SETTLE_BATCH_MAX, TIMEOUT_MAX, TRACE_BYTES_MAX, UNIQUE_KEY_BYTES_MAX,
    WORKER_COMMANDS_MAX,
};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Advice, Command, Due, InputError, Json, NewTask, Outcome, Retry, RetryPolicy, Schedule, Settled, State, StoreError,
    Unique, UniqueScope, WorkerSpec,
};

use crate::world::{World, failed, json, new_task, plain_command, schedule_name, secs, settle_of, worker_spec};

const LONGER: Duration = Duration::from_micros(1);

/// The call must fail with an input error of this shape and leave everything as it was.
async fn refused<T: std::fmt::Debug>(w: &World, call: impl Future<Output = Answer<T>>, fits: fn(&InputError) -> bool) {
    let before = w.everything().await;
    let fault = call.await.unwrap_err();
    assert!(matches!(&fault, StoreError::Input(why) if fits(why)), "{fault}");
    assert_eq!(fault.advice(), Advice::FixInput);
    assert!(fault.to_string().len() < 1_000, "an error does not repeat a whole payload");
    assert_eq!(w.everything().await, before);
}

/// One bad task, in the middle of good ones, must refuse the whole batch.
async fn refused_task(w: &World, bad: NewTask, fits: fn(&InputError) -> bool) {
    let batch = [new_task("mail"), bad, new_task("mail")];
    refused(w, w.store.enqueue(&batch), fits).await;
}

/// A JSON string that is this many bytes long with its quotes.
fn text_of(bytes: usize) -> Json {
    json(&format!("\"{}\"", "x".repeat(bytes - 2)))
}

/// A payload may be as large as the limit and not a byte larger.
pub async fn a_payload_over_the_limit_is_refused(w: &World) {
    let id = w.create(NewTask { payload: text_of(PAYLOAD_BYTES_MAX), ..new_task("mail") }).await;
    assert_eq!(w.get(id).await.payload.bytes(), PAYLOAD_BYTES_MAX);
    for bytes in [PAYLOAD_BYTES_MAX + 1, PAYLOAD_BYTES_MAX * 100] {
        let bad = NewTask { payload: text_of(bytes), ..new_task("mail") };
        refused_task(w, bad, |why| matches!(why, InputError::TooLarge { what: "payload", .. })).await;
    }
}

/// A unique key is 1 to 200 bytes without `\0`.
pub async fn a_bad_unique_key_is_refused(w: &World) {
    let under = |key: &str| NewTask { unique: Some(Unique::key(key)), ..new_task("mail") };
    w.create(under(&"é".repeat(UNIQUE_KEY_BYTES_MAX / 2))).await;
    let long = "k".repeat(UNIQUE_KEY_BYTES_MAX + 1);
    for key in ["", "a\0b", &long] {
        refused_task(w, under(key), |why| matches!(why, InputError::UniqueKey { .. })).await;
    }
}

/// A window is longer than nothing and no longer than any delay.
pub async fn a_bad_window_is_refused(w: &World) {
    let under = |span| NewTask { unique: Some(Unique::key("k").scope(UniqueScope::Window(span))), ..new_task("mail") };
    w.create(under(DELAY_MAX)).await;
    for span in [Duration::ZERO, DELAY_MAX + LONGER] {
        refused_task(w, under(span), |why| matches!(why, InputError::Delay(_))).await;
    }
}

/// A priority lies within its bounds.
pub async fn a_priority_out_of_range_is_refused(w: &World) {
    let with = |priority| NewTask { priority: Some(priority), ..new_task("mail") };
    for priority in [-PRIORITY_ABS_MAX, PRIORITY_ABS_MAX] {
        w.create(with(priority)).await;
    }
    for priority in [-PRIORITY_ABS_MAX - 1, PRIORITY_ABS_MAX + 1, i32::MIN, i32::MAX] {
        refused_task(w, with(priority), |why| matches!(why, InputError::Priority(_))).await;
    }
}

/// Attempts are 1 to 1000.
pub async fn attempts_out_of_range_are_refused(w: &World) {
    let with = |attempts| NewTask { max_attempts: Some(attempts), ..new_task("mail") };
    for attempts in [1, ATTEMPTS_MAX] {
        w.create(with(attempts)).await;
    }
    for attempts in [0, ATTEMPTS_MAX + 1, u16::MAX] {
        refused_task(w, with(attempts), |why| matches!(why, InputError::Attempts(_))).await;
    }
}

/// A timeout is longer than nothing and at most a year.
pub async fn a_timeout_out_of_range_is_refused(w: &World) {
    let with = |timeout| NewTask { timeout: Some(timeout), ..new_task("mail") };
    let id = w.create(with(TIMEOUT_MAX)).await;
    assert_eq!(w.get(id).await.timeout, Some(TIMEOUT_MAX));
    for timeout in [Duration::ZERO, TIMEOUT_MAX + LONGER, Duration::MAX] {
        refused_task(w, with(timeout), |why| matches!(why, InputError::Timeout(_))).await;
    }
}

/// A delay is at most ten years.
pub async fn a_delay_too_long_is_refused(w: &World) {
    let after = |span| NewTask { due: Due::After(span), ..new_task("mail") };
    let id = w.create(after(DELAY_MAX)).await;
    assert_eq!(w.get(id).await.due, w.now().plus(DELAY_MAX));
    for span in [DELAY_MAX + LONGER, Duration::MAX] {
        refused_task(w, after(span), |why| matches!(why, InputError::Delay(_))).await;
    }
}

/// A trace context is at most 256 bytes.
pub async fn a_trace_too_long_is_refused(w: &World) {
    let with = |bytes| NewTask { trace: Some("0".repeat(bytes)), ..new_task("mail") };
    w.create(with(TRACE_BYTES_MAX)).await;
    refused_task(w, with(TRACE_BYTES_MAX + 1), |why| matches!(why, InputError::TooLarge { what: "trace context", .. }))
        .await;
}

/// A batch may be as large as the limit and not one task larger.
pub async fn a_batch_over_the_limit_is_refused(w: &World) {
    let batch = vec![new_task("mail"); ENQUEUE_BATCH_MAX + 1];
    refused(
        w,
        w.store.enqueue(&batch),
        |why| matches!(why, InputError::Batch { given, .. } if *given == ENQUEUE_BATCH_MAX + 1),
    )
    .await;
    assert_eq!(w.enqueue_many("mail", ENQUEUE_BATCH_MAX).await.len(), ENQUEUE_BATCH_MAX);
}

/// A command with a policy that can't be is refused, with all that were registered beside it.
pub async fn a_bad_command_is_refused(w: &World) {
    let policy = |retry| Command { retry, ..plain_command("odd") };
    let plain = RetryPolicy::default();
    let bad = [
        Command { priority: PRIORITY_ABS_MAX + 1, ..plain_command("odd") },
        Command { timeout: Some(Duration::ZERO), ..plain_command("odd") },
        policy(RetryPolicy { max_attempts: Some(0), ..plain }),
        policy(RetryPolicy { max_attempts: Some(ATTEMPTS_MAX + 1), ..plain }),
        policy(RetryPolicy { jitter_pct: 101, ..plain }),
    ];
    for command in bad {
        let both = [plain_command("fine"), command];
        refused(w, w.store.register(&both), |_| true).await;
    }
}

/// A result may be as large as the limit; a larger one is refused, and its batch with it.
pub async fn a_result_over_the_limit_is_refused(w: &World) {
    let (first, second) = (w.running().await, w.running().await);
    let done = |bytes| Outcome::Done(Some(text_of(bytes)));
    for bytes in [RESULT_BYTES_MAX + 1, RESULT_BYTES_MAX * 100] {
        let batch = [settle_of(&first, Outcome::Done(None)), settle_of(&second, done(bytes))];
        refused(w, w.store.settle(&batch), |why| matches!(why, InputError::TooLarge { what: "result", .. })).await;
    }
    assert_eq!(w.settle(&second, done(RESULT_BYTES_MAX)).await, Settled::Recorded(State::Completed));
    assert_eq!(w.get(second.id).await.result, Some(text_of(RESULT_BYTES_MAX)));
}

/// A snooze and a retry are at most ten years away.
pub async fn a_snooze_too_long_is_refused(w: &World) {
    let task = w.running().await;
    for outcome in [Outcome::Snooze(DELAY_MAX + LONGER), failed(Retry::After(DELAY_MAX + LONGER))] {
        let batch = [settle_of(&task, outcome)];
        refused(w, w.store.settle(&batch), |why| matches!(why, InputError::Delay(_))).await;
    }
    assert_eq!(w.settle(&task, Outcome::Snooze(DELAY_MAX)).await, Settled::Recorded(State::Pending));
}

/// More settles than a batch may have are refused.
pub async fn too_many_settles_are_refused(w: &World) {
    let task = w.running().await;
    let batch = vec![settle_of(&task, Outcome::Done(None)); SETTLE_BATCH_MAX + 1];
    refused(w, w.store.settle(&batch), |why| matches!(why, InputError::Batch { .. })).await;
    assert_eq!(w.state(task.id).await, State::Running);
}

/// A lease is one second to one hour, and a worker has at most a thousand commands.
pub async fn a_bad_worker_is_refused(w: &World) {
    for lease in [LEASE_MIN, LEASE_MAX] {
        w.store.register_worker(&worker_spec(lease)).await.unwrap();
    }
    for lease in [Duration::ZERO, LEASE_MIN - LONGER, LEASE_MAX + LONGER] {
        let spec = worker_spec(lease);
        refused(w, w.store.register_worker(&spec), |why| matches!(why, InputError::Lease(_))).await;
    }
    let commands = (0..=WORKER_COMMANDS_MAX).map(|n| crate::world::command(&format!("c{n}"))).collect();
    let spec = WorkerSpec { commands, ..worker_spec(secs(30)) };
    refused(w, w.store.register_worker(&spec), |why| matches!(why, InputError::Batch { .. })).await;
}

/// A cron line that can't be read or never fires, a zone that does not exist, and a task that no store would keep make
/// no schedule.
pub async fn a_bad_schedule_is_refused(w: &World) {
    let good = Schedule::new(schedule_name("s"), "* * * * *", new_task("mail"));
    let cron = |line: &str| Schedule { cron: line.to_owned(), ..good.clone() };
    let lines = ["", "soon", "61 * * * *", "* * * *", "* * * * * * * *"];
    for bad in lines {
        refused(w, w.store.put_schedule(&cron(bad)), |why| matches!(why, InputError::Cron { .. })).await;
    }
    refused(w, w.store.put_schedule(&cron("0 0 31 2 *")), |why| matches!(why, InputError::CronNever(_))).await;
    let long = cron(&"*".repeat(CRON_BYTES_MAX + 1));
    refused(w, w.store.put_schedule(&long), |why| matches!(why, InputError::TooLarge { .. })).await;
    let zone = Schedule { zone: "Mars/Base".to_owned(), ..good.clone() };
    refused(w, w.store.put_schedule(&zone), |why| matches!(why, InputError::TimeZone(_))).await;
    let task = Schedule { task: NewTask { max_attempts: Some(0), ..new_task("mail") }, ..good.clone() };
    refused(w, w.store.put_schedule(&task), |why| matches!(why, InputError::Attempts(0))).await;
}

/// A schedule for a command that nobody knows is refused by name.
pub async fn a_schedule_for_an_unknown_command_is_refused(w: &World) {
    let schedule = Schedule::new(schedule_name("s"), "* * * * *", new_task("nobody"));
    let fault = w.store.put_schedule(&schedule).await.unwrap_err();
    assert!(matches!(&fault, StoreError::NotFound { what: "command", name } if name == "nobody"), "{fault}");
    assert_eq!(w.store.schedules().await.unwrap(), []);
}

/// A refused change of a schedule leaves the schedule as it was.
pub async fn a_refused_change_leaves_the_schedule(w: &World) {
    let good = Schedule::new(schedule_name("s"), "* * * * *", new_task("mail"));
    w.store.put_schedule(&good).await.unwrap();
    let bad = Schedule { cron: "never".to_owned(), ..good };
    refused(w, w.store.put_schedule(&bad), |why| matches!(why, InputError::Cron { .. })).await;
}
