//! Handlers: typed, by name, and what they get.

use std::time::Duration;

use kinfolk::{Command, CommandBuilder, Ctx, FailureKind, Json, ResultError, State, Task, TaskError, Unique, Worker};
use serde::{Deserialize, Serialize};

use crate::lab::{Lab, within};

#[derive(Serialize, Deserialize)]
struct Sum {
    terms: Vec<i64>,
}

impl Task for Sum {
    const COMMAND: &'static str = "sum";
    type Output = i64;

    fn command() -> CommandBuilder {
        Command::named(Self::COMMAND).queue("numbers").timeout(Duration::from_secs(60))
    }

    fn unique(&self) -> Option<Unique> {
        (self.terms.len() == 1).then(|| Unique::key(self.terms[0].to_string()))
    }
}

async fn sum(task: Sum) -> Result<i64, TaskError> {
    match task.terms.iter().try_fold(0_i64, |sum, term| sum.checked_add(*term)) {
        Some(sum) => Ok(sum),
        None => Err(TaskError::validation("the sum does not fit")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_task_gives_a_typed_result() {
    let lab = Lab::new().await;
    let worker = lab.worker().handle(sum).start().await.unwrap();
    let id = lab.kinfolk.enqueue_task(&Sum { terms: vec![1, 2, 39] }).await.unwrap().id().unwrap();
    assert_eq!(within(lab.kinfolk.result::<Sum>(id)).await.unwrap(), 42);
    let task = lab.task(id).await;
    assert_eq!((task.queue.as_str(), task.timeout), ("numbers", Some(Duration::from_secs(60))));
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_typed_task_gives_its_failure_instead() {
    let lab = Lab::new().await;
    let worker = lab.worker().handle(sum).start().await.unwrap();
    let id = lab.kinfolk.enqueue_task(&Sum { terms: vec![i64::MAX, 1] }).await.unwrap().id().unwrap();
    match within(lab.kinfolk.result::<Sum>(id)).await {
        Err(ResultError::Failed { failure, .. }) => {
            assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Validation, "the sum does not fit"));
        }
        other => panic!("{other:?}"),
    }
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_task_brings_its_unique_key() {
    let lab = Lab::new().await;
    lab.kinfolk.register(&[Sum::command().build().unwrap()]).await.unwrap();
    let first = lab.kinfolk.enqueue_task(&Sum { terms: vec![7] }).await.unwrap();
    let second = lab.kinfolk.enqueue_task(&Sum { terms: vec![7] }).await.unwrap();
    assert_eq!(second, kinfolk::Enqueued::Existing(first.id().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_by_name_gets_context_and_payload() {
    let lab = Lab::new().await;
    let worker = lab
        .worker()
        .handler("echo", |ctx: Ctx, payload: serde_json::Value| async move {
            assert_eq!((ctx.command().as_str(), ctx.queue().as_str()), ("echo", "default"));
            assert_eq!((ctx.attempt(), ctx.max_attempts()), (1, 10));
            assert!(!ctx.is_cancelled() && !ctx.is_last_attempt() && !ctx.is_stopping());
            Ok(serde_json::json!({ "task": ctx.task().0, "trace": ctx.trace(), "payload": payload }))
        })
        .start()
        .await
        .unwrap();
    let enqueue = lab.kinfolk.enqueue("echo", &serde_json::json!([1, "two"])).trace("00-abc-def-01");
    let id = enqueue.await.unwrap().id().unwrap();
    let result = lab.ended(id).await.result.unwrap();
    let wanted = serde_json::json!({ "task": id.0, "trace": "00-abc-def-01", "payload": [1, "two"] });
    assert_eq!(result, Json::of(&wanted).unwrap());
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_does_not_fit_fails_as_validation_at_once() {
    let lab = Lab::new().await;
    let worker = lab.worker().handler("count", |_, _: Vec<u8>| async { Ok(()) }).start().await.unwrap();
    let id = lab.kinfolk.enqueue("count", "not a list").await.unwrap().id().unwrap();
    let task = lab.ended(id).await;
    let failure = task.failure.unwrap();
    assert_eq!((task.state, task.attempt, failure.kind), (State::Failed, 1, FailureKind::Validation));
    assert!(failure.message.contains("does not fit the handler"), "{}", failure.message);
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_can_enqueue_more_and_idle_means_that_all_of_it_is_done() {
    let lab = Lab::new().await;
    let worker = lab
        .worker()
        .handler("count_down", |ctx: Ctx, n: u32| async move {
            if n > 0 {
                ctx.kinfolk().enqueue("count_down", &(n - 1)).await?.id()?;
            }
            Ok(n)
        })
        .start()
        .await
        .unwrap();
    lab.kinfolk.enqueue("count_down", &30).await.unwrap();
    within(worker.wait_idle()).await;
    let done = lab.store.stats().await.unwrap().counts;
    assert_eq!(done.iter().map(|count| (count.state, count.tasks)).collect::<Vec<_>>(), [(State::Completed, 31)]);
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_given_by_name_keeps_what_others_registered() {
    let lab = Lab::new().await;
    let command = Command { queue: "mail".parse().unwrap(), priority: 7, ..Command::new("send".parse().unwrap()) };
    lab.kinfolk.register(std::slice::from_ref(&command)).await.unwrap();
    let worker = lab.worker().handler("send", |_, _: Json| async { Ok(()) }).start().await.unwrap();
    assert_eq!(lab.store.commands().await.unwrap(), [command]);
    let id = lab.enqueue("send").await;
    assert_eq!(lab.ended(id).await.queue.as_str(), "mail", "the worker claims from the queues of its commands");
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_without_a_handler_waits_for_a_worker_that_has_one() {
    let lab = Lab::new().await;
    lab.kinfolk.register(&[Command::new("later".parse().unwrap())]).await.unwrap();
    let later = lab.enqueue("later").await;
    let worker = lab.worker().handler("now", |_, _: Json| async { Ok(()) }).start().await.unwrap();
    let now = lab.enqueue("now").await;
    lab.ended(now).await;
    within(worker.wait_idle()).await;
    let task = lab.task(later).await;
    assert_eq!((task.state, task.attempt), (State::Pending, 0));
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_are_told_at_the_start() {
    let lab = Lab::new().await;
    let start = |builder: kinfolk::WorkerBuilder| async { builder.start().await.unwrap_err().to_string() };
    let noop = |_: Ctx, _: Json| async { Ok(()) };
    assert!(start(lab.worker().handler("two words", noop)).await.contains("two words"));
    assert!(start(lab.worker().handler("a", noop).handler("a", noop)).await.contains("two handlers"));
    assert!(start(lab.worker().queue("q", 0)).await.contains("no capacity"));
    assert!(start(lab.worker().lease(Duration::from_millis(10))).await.contains("lease"));
    assert!(start(Worker::builder(&lab.kinfolk).lease(Duration::from_secs(5))).await.contains("heartbeat"));
    assert!(lab.store.workers().await.unwrap().is_empty());
    let fault = lab.kinfolk.enqueue("no such name", &1).await.unwrap_err();
    assert!(fault.to_string().contains("no such name"));
    let fault = lab.kinfolk.enqueue("unknown", &1).await.unwrap_err();
    assert!(fault.to_string().contains("unknown"), "a rejected enqueue is an error: {fault}");
}
