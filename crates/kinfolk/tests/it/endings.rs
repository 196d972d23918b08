//! How attempts end: errors, retries, snoozes, timeouts, panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kinfolk::core::task::Ending;
use kinfolk::{Command, Ctx, Done, FailureKind, Json, RetryPolicy, State, TaskError, TaskId};

use crate::lab::{Lab, within};

fn command(name: &str, retry: RetryPolicy) -> Command {
    Command { retry, ..Command::new(name.parse().unwrap()) }
}

const QUICK: RetryPolicy = RetryPolicy { max_attempts: Some(3), base_ms: 1, cap_ms: 5, jitter_pct: 0, max_strikes: 20 };

async fn endings(lab: &Lab, id: TaskId) -> Vec<Ending> {
    lab.store.attempts(id).await.unwrap().into_iter().map(|attempt| attempt.ending).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_tried_again_until_the_attempts_run_out() {
    let lab = Lab::new().await;
    let handler = |ctx: Ctx, _: Json| async move { Err::<(), _>(TaskError::new(format!("no {}", ctx.attempt()))) };
    let worker = lab.worker().handler(command("fail", QUICK), handler).start().await.unwrap();
    let id = lab.enqueue("fail").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt), (State::Failed, 3));
    assert_eq!(task.failure.unwrap().message, "no 3");
    assert_eq!(endings(&lab, id).await, [Ending::Retried, Ending::Retried, Ending::Failed]);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pause_between_attempts_is_the_policys_and_ends_when_the_clock_says_so() {
    let lab = Lab::new().await;
    let patient =
        RetryPolicy { max_attempts: Some(2), base_ms: 3_600_000, cap_ms: 7_200_000, ..RetryPolicy::default() };
    let handler =
        |ctx: Ctx, _: Json| async move { if ctx.is_last_attempt() { Ok("at last") } else { Err("not yet".into()) } };
    let worker = lab.worker().handler(command("patient", patient), handler).start().await.unwrap();
    let id = lab.enqueue("patient").await;
    lab.events.wait_for("retried").await;
    let ended_at = lab.store.attempts(id).await.unwrap()[0].ended_at;
    assert_eq!(lab.task(id).await.due, ended_at.plus(patient.delay(id, 1)));
    lab.clock.forward(patient.delay(id, 1));
    assert_eq!(lab.ended(id).await.result, Some(Json::of("at last").unwrap()));
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_overrides_the_policys_pause() {
    let lab = Lab::new().await;
    let span = Duration::from_secs(1000);
    let handler = move |_: Ctx, _: Json| async move { Err::<(), _>(TaskError::new("429").retry_after(span)) };
    let worker = lab.worker().handler(command("busy", QUICK), handler).start().await.unwrap();
    let id = lab.enqueue("busy").await;
    lab.events.wait_for("retried").await;
    let ended_at = lab.store.attempts(id).await.unwrap()[0].ended_at;
    assert_eq!(lab.task(id).await.due, ended_at.plus(span));
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn do_not_retry_fails_at_once_and_keeps_the_detail() {
    let lab = Lab::new().await;
    let handler = |_: Ctx, _: Json| async {
        Err::<(), _>(TaskError::new("closed").do_not_retry().detail(&serde_json::json!({ "account": 7 })))
    };
    let worker = lab.worker().handler(command("closed", QUICK), handler).start().await.unwrap();
    let id = lab.enqueue("closed").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt), (State::Failed, 1));
    assert_eq!(task.failure.unwrap().detail, Some(Json::parse(r#"{"account":7}"#).unwrap()));
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snooze_costs_no_attempt() {
    let lab = Lab::new().await;
    let asked = Arc::new(AtomicU32::new(0));
    let handler = move |ctx: Ctx, _: Json| {
        let asked = Arc::clone(&asked);
        async move {
            assert_eq!(ctx.attempt(), 1);
            match asked.fetch_add(1, Ordering::SeqCst) {
                0..5 => Ok(Done::snooze(Duration::from_millis(2))),
                _ => Ok(Done::value("ready")),
            }
        }
    };
    let worker = lab.worker().handler(command("poll", QUICK), handler).start().await.unwrap();
    let id = lab.enqueue("poll").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt, task.result), (State::Completed, 1, Some(Json::of("ready").unwrap())));
    worker.stop().await.unwrap();
    assert_eq!(lab.events.count(|event| event.name() == "snoozed"), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_runs_too_long_is_dropped_and_fails_as_timeout() {
    let lab = Lab::new().await;
    let handler = |_: Ctx, _: Json| std::future::pending::<Result<(), TaskError>>();
    let worker = lab.worker().handler(command("endless", QUICK), handler).start().await.unwrap();
    let enqueue = lab.kinfolk.enqueue("endless", &()).timeout(Duration::from_millis(20));
    let id = enqueue.await.unwrap().id().unwrap();
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt), (State::Failed, 3), "a timeout is tried again");
    assert_eq!(task.failure.unwrap().kind, FailureKind::Timeout);
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_an_error_like_any_other() {
    let lab = Lab::new().await;
    let handler = |ctx: Ctx, _: Json| async move {
        assert!(ctx.attempt() > 1, "the first attempt panics");
        Ok(())
    };
    let worker = lab.worker().handler(command("clumsy", QUICK), handler).start().await.unwrap();
    let id = lab.enqueue("clumsy").await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    let failure = lab.store.attempts(id).await.unwrap()[0].failure.clone().unwrap();
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Panic, "the first attempt panics"));
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_panics_while_it_is_dropped_gives_its_permit_back() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("while dropped");
        }
    }
    let lab = Lab::new().await;
    let handler = |_: Ctx, _: Json| async {
        let _bomb = Bomb;
        std::future::pending::<Result<(), TaskError>>().await
    };
    let once = RetryPolicy { max_attempts: Some(1), ..QUICK };
    let worker = lab.worker().queue("default", 1).handler(command("bomb", once), handler).start().await.unwrap();
    for _ in 0..2 {
        let enqueue = lab.kinfolk.enqueue("bomb", &()).timeout(Duration::from_millis(5));
        let id = enqueue.await.unwrap().id().unwrap();
        assert_eq!(lab.ended(id).await.failure.unwrap().kind, FailureKind::Panic);
    }
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_too_large_fails_its_own_attempt_and_no_other() {
    let lab = Lab::new().await;
    let handler = |_: Ctx, size: usize| async move { Ok("x".repeat(size)) };
    let worker = lab.worker().handler(command("big", QUICK), handler).start().await.unwrap();
    let big = lab.kinfolk.enqueue("big", &300_000).await.unwrap().id().unwrap();
    let small = lab.kinfolk.enqueue("big", &3).await.unwrap().id().unwrap();
    assert_eq!(lab.ended(small).await.result, Some(Json::of("xxx").unwrap()));
    let task = lab.ended(big).await;
    assert_eq!((task.state, task.attempt), (State::Failed, 1));
    assert!(task.failure.unwrap().message.contains("300002 bytes"));
    worker.stop().await.unwrap();
}

#[derive(serde::Serialize, serde::Deserialize, kinfolk::Task)]
#[task(command = "patient", output = u32)]
struct Patient;

async fn patient(_task: Patient, ctx: Ctx) -> Result<Done<u32>, TaskError> {
    match ctx.kinfolk().store().attempts(ctx.task()).await?.len() {
        0 => Ok(Done::snooze(Duration::from_millis(1))),
        _ => Ok(Done::value(7)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_task_can_snooze_and_still_has_a_typed_result() {
    let lab = Lab::new().await;
    let worker = lab.worker().handle(patient).start().await.unwrap();
    let id = lab.kinfolk.enqueue_task(&Patient).await.unwrap().id().unwrap();
    assert_eq!(within(lab.kinfolk.result::<Patient>(id)).await.unwrap(), 7);
    assert_eq!(endings(&lab, id).await, [Ending::Snoozed, Ending::Completed]);
    worker.stop().await.unwrap();
}
