//! Cancelling what runs.

use std::time::Duration;

use kinfolk::core::operate::Cancelled;
use kinfolk::{Ctx, Json, State, TaskError};

use crate::lab::Lab;

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_listens_ends_by_itself_and_its_task_is_cancelled() {
    let lab = Lab::new().await;
    let handler = |ctx: Ctx, _: Json| async move {
        ctx.cancelled().await;
        assert!(ctx.is_cancelled());
        Ok("cleaned up")
    };
    let worker = lab.worker().grace(Duration::from_secs(60)).handler("listen", handler).start().await.unwrap();
    let id = lab.enqueue("listen").await;
    lab.events.wait_for("started").await;
    assert_eq!(lab.kinfolk.cancel(id).await.unwrap(), Cancelled::Requested);
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Cancelled, None));
    lab.events.wait_for("cancelled").await;
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_does_not_listen_is_dropped_after_the_grace() {
    let lab = Lab::new().await;
    let handler = |_: Ctx, _: Json| std::future::pending::<Result<(), TaskError>>();
    let worker = lab.worker().grace(Duration::from_millis(20)).handler("deaf", handler).start().await.unwrap();
    let id = lab.enqueue("deaf").await;
    lab.events.wait_for("started").await;
    lab.kinfolk.cancel(id).await.unwrap();
    assert_eq!(lab.ended(id).await.state, State::Cancelled);
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_cancelled_task_hears_of_it() {
    let lab = Lab::new().await;
    let handler = |ctx: Ctx, _: Json| async move {
        ctx.cancelled().await;
        Ok(())
    };
    let worker = lab.worker().handler("listen", handler).start().await.unwrap();
    let ids = lab.enqueue_many("listen", 10).await;
    for id in &ids {
        lab.in_state(*id, State::Running).await;
    }
    lab.kinfolk.cancel(ids[3]).await.unwrap();
    lab.ended(ids[3]).await;
    for id in ids.iter().filter(|id| **id != ids[3]) {
        assert_eq!(lab.task(*id).await.state, State::Running);
    }
    worker.kill().await.unwrap();
    for id in ids.iter().filter(|id| **id != ids[3]) {
        let task = lab.task(*id).await;
        assert_eq!((task.state, task.attempt), (State::Pending, 0), "a hard stop costs no attempt");
    }
}
