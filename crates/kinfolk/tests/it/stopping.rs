//! How a worker ends.

use std::sync::Arc;
use std::time::Duration;

use kinfolk::{Ctx, Done, Json, State, TaskError};
use tokio::sync::Semaphore;

use crate::lab::{Lab, within};

#[tokio::test(flavor = "multi_thread")]
async fn a_graceful_stop_lets_handlers_end_and_claims_nothing_more() {
    let lab = Lab::new().await;
    let may_end = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&may_end);
    let handler = move |_: Ctx, _: Json| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await?.forget();
            Ok(())
        }
    };
    let worker = lab.worker().queue("default", 1).handler("wait", handler).start().await.unwrap();
    let ids = lab.enqueue_many("wait", 2).await;
    lab.events.wait_for("started").await;
    let stop = worker.stop();
    tokio::pin!(stop);
    assert!(futures_util::poll!(&mut stop).is_pending());
    may_end.add_permits(2);
    within(stop).await.unwrap();
    assert_eq!(lab.task(ids[0]).await.state, State::Completed);
    let second = lab.task(ids[1]).await;
    assert_eq!((second.state, second.attempt), (State::Pending, 0));
    assert!(lab.store.workers().await.unwrap().is_empty());
    assert_eq!(lab.events.all().last().unwrap().name(), "worker_stopped");
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_within_the_stop_grace_is_given_back_at_no_cost() {
    let lab = Lab::new().await;
    let handler = |_: Ctx, _: Json| std::future::pending::<Result<(), TaskError>>();
    let worker = lab.worker().stop_grace(Duration::from_millis(20)).handler("endless", handler).start().await.unwrap();
    let id = lab.enqueue("endless").await;
    lab.events.wait_for("started").await;
    within(worker.stop()).await.unwrap();
    let task = lab.task(id).await;
    assert_eq!((task.state, task.attempt, task.suspect), (State::Pending, 0, false));
    assert_eq!(lab.events.count(|event| event.name() == "released"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_stop_is_hard() {
    let lab = Lab::new().await;
    let handler = |_: Ctx, _: Json| std::future::pending::<Result<(), TaskError>>();
    let worker = lab.worker().stop_grace(Duration::from_secs(3600)).handler("endless", handler).start().await.unwrap();
    let id = lab.enqueue("endless").await;
    lab.events.wait_for("started").await;
    let first = worker.stop();
    tokio::pin!(first);
    assert!(futures_util::poll!(&mut first).is_pending());
    let (first, second) = within(async { tokio::join!(first, worker.stop()) }).await;
    first.and(second).unwrap();
    assert_eq!(lab.task(id).await.state, State::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_handler_can_give_its_task_back_when_the_worker_begins_to_stop() {
    let lab = Lab::new().await;
    let handler = |ctx: Ctx, _: Json| async move {
        ctx.stopping().await;
        Ok(Done::<()>::release())
    };
    let worker = lab.worker().stop_grace(Duration::from_secs(3600)).handler("long", handler).start().await.unwrap();
    let id = lab.enqueue("long").await;
    lab.events.wait_for("started").await;
    within(worker.stop()).await.unwrap();
    let task = lab.task(id).await;
    assert_eq!((task.state, task.attempt), (State::Pending, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_blocks_its_thread_does_not_block_the_stop() {
    let lab = Lab::new().await;
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(std::sync::Mutex::new(blocked));
    let handler = move |_: Ctx, _: Json| {
        let blocked = Arc::clone(&blocked);
        async move {
            let _ = blocked.lock().unwrap().recv();
            Ok(())
        }
    };
    let worker = lab.worker().handler("block", handler).start().await.unwrap();
    let id = lab.enqueue("block").await;
    lab.events.wait_for("started").await;
    within(worker.kill()).await.unwrap();
    let task = lab.task(id).await;
    assert_eq!((task.state, task.attempt), (State::Pending, 0), "leaving gives it back");
    drop(release);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_handle_begins_a_graceful_stop() {
    let lab = Lab::new().await;
    let worker = lab.worker().handler("noop", |_, _: Json| async { Ok(()) }).start().await.unwrap();
    drop(worker);
    lab.events.wait_for("worker_stopped").await;
    assert!(lab.store.workers().await.unwrap().is_empty());
}
