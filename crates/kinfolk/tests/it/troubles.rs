//! When calls to the store fail, or their answers are lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::core::{Outcome, Settle};
use kinfolk::{Ctx, Error, Event, Json, Kinfolk, State, Sub, TaskError, TaskId, WorkerBuilder};

use crate::flaky::{Fate, Flaky, unreachable};
use crate::lab::{Lab, noop, on_both_stores, within};

on_both_stores!(
    lost_answers_double_no_child,
    lost_answers_repeat_no_step_and_double_no_sub_task,
    what_the_store_chokes_on_becomes_a_failure_without_children,
    a_suspension_that_the_store_chokes_on_becomes_a_failure,
);

/// A worker whose calls to the lab's store are meddled with.
fn worker(lab: &Lab, meddle: impl Fn(&'static str, &[Settle]) -> Fate + Send + Sync + 'static) -> WorkerBuilder {
    let events = lab.events.clone();
    Kinfolk::new(Arc::new(Flaky { inner: lab.store.clone(), meddle: Box::new(meddle), stuck: Default::default() }))
        .worker()
        .poll(Duration::from_millis(50))
        .on_event(move |event| events.push(event.clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_answers_neither_lose_nor_double_a_task() {
    let lab = Lab::new().await;
    let calls = AtomicUsize::new(0);
    let meddle = move |verb: &'static str, _: &[Settle]| match verb {
        "claim" | "settle" if calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(3) => Fate::AnswerLost,
        _ => Fate::Answered,
    };
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let handler = move |_: Ctx, _: Json| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(()))
    };
    let worker = worker(&lab, meddle).queue("default", 50).handler("count", handler).start().await.unwrap();
    lab.enqueue_many("count", 500).await;
    within(worker.wait_idle()).await;
    assert_eq!(runs.load(Ordering::SeqCst), 500);
    assert_eq!(lab.events.count(|event| event.name() == "completed"), 500);
    assert_eq!(lab.events.count(|event| event.name() == "stale"), 0);
    assert!(lab.events.count(|event| event.name() == "store_trouble") > 0);
    worker.stop().await.unwrap();
    lab.check().await;
}

/// Spawns as many children as it is told.
async fn parent(ctx: Ctx, children: u64) -> Result<(), TaskError> {
    for n in 0..children {
        ctx.spawn("child", &n).await?;
    }
    Ok(())
}

async fn lost_answers_double_no_child(lab: &Lab) {
    let calls = AtomicUsize::new(0);
    let meddle = move |verb: &'static str, _: &[Settle]| match verb {
        "claim" | "settle" if calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(3) => Fate::AnswerLost,
        _ => Fate::Answered,
    };
    let worker = worker(lab, meddle).handler("parent", parent).handler("child", noop).start().await.unwrap();
    // Some go out with others, some in a call of their own.
    for children in [1, 3, 150, 20, 300] {
        let id = lab.kinfolk.enqueue("parent", &children).await.unwrap().id().unwrap();
        assert_eq!(lab.ended(id).await.state, State::Completed);
        let tally = lab.kinfolk.tally(id).await.unwrap();
        assert_eq!((tally.total, tally.completed), (children, children));
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn lost_answers_repeat_no_step_and_double_no_sub_task(lab: &Lab) {
    let calls = AtomicUsize::new(0);
    let meddle = move |verb: &'static str, _: &[Settle]| match verb {
        "claim" | "settle" | "record" | "suspend" | "take_signal" | "expire"
            if calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(3) =>
        {
            Fate::AnswerLost
        }
        _ => Fate::Answered,
    };
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let flow = move |ctx: Ctx, width: u64| {
        let count = Arc::clone(&count);
        async move {
            for _ in 0..3 {
                ctx.step("count", async { Ok(count.fetch_add(1, Ordering::SeqCst)) }).await?;
            }
            let word: Option<String> = ctx.wait_signal("word", None).await?;
            ctx.fan_out::<()>((0..width).map(|n| Sub::new("child", &n))).timeout(Duration::from_secs(60)).await?;
            ctx.call::<()>("child", &word).await?;
            Ok(())
        }
    };
    let worker = worker(lab, meddle).handler("flow", flow).handler("child", noop).start().await.unwrap();
    // Some are suspended with others, some in a call of their own.
    for width in [1, 3, 150, 20] {
        runs.store(0, Ordering::SeqCst);
        let id = lab.kinfolk.enqueue("flow", &width).await.unwrap().id().unwrap();
        lab.kinfolk.signal(id, "word", "go").await.unwrap();
        let task = lab.ended(id).await;
        assert_eq!((task.state, runs.load(Ordering::SeqCst)), (State::Completed, 3), "{:?}", task.failure);
        let tally = lab.kinfolk.tally(id).await.unwrap();
        assert_eq!((tally.total, tally.completed), (width + 1, width + 1));
    }
    assert!(lab.events.count(|event| event.name() == "store_trouble") > 0);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_suspension_that_the_store_chokes_on_becomes_a_failure(lab: &Lab) {
    let meddle = move |verb: &'static str, _: &[Settle]| match verb {
        "suspend" => Fate::Refused(Error::Fault { code: "XX000".to_owned(), detail: "choked".to_owned() }),
        _ => Fate::Answered,
    };
    let flow = |ctx: Ctx, _: Json| async move { ctx.call::<()>("child", &()).await };
    let worker = worker(lab, meddle).handler("flow", flow).handler("child", noop).start().await.unwrap();
    for id in lab.enqueue_many("flow", 3).await {
        let task = lab.ended(id).await;
        let message = task.failure.unwrap().message;
        assert!(task.state == State::Failed && message.contains("choked"), "{message}");
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn what_the_store_chokes_on_becomes_a_failure_without_children(lab: &Lab) {
    let large = |settle: &Settle| settle.made.as_ref().is_some_and(|made| made.len() > 2);
    let meddle = move |_: &'static str, settles: &[Settle]| match settles.iter().any(large) {
        true => Fate::Refused(Error::Fault { code: "XX000".to_owned(), detail: "choked".to_owned() }),
        false => Fate::Answered,
    };
    let worker = worker(lab, meddle).handler("parent", parent).handler("child", noop).start().await.unwrap();
    let mut ids = Vec::new();
    for children in 0..5_u64 {
        ids.push((children, lab.kinfolk.enqueue("parent", &children).await.unwrap().id().unwrap()));
    }
    for (children, id) in ids {
        let (task, tally) = (lab.ended(id).await, lab.kinfolk.tally(id).await.unwrap());
        match children {
            0..=2 => assert_eq!((task.state, tally.total), (State::Completed, children)),
            _ => assert_eq!((task.state, tally.total), (State::Failed, 0), "{:?}", task.failure),
        }
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_outcome_that_the_store_chokes_on_does_not_hold_up_its_neighbours() {
    let lab = Lab::new().await;
    let chosen = |settle: &Settle| matches!(&settle.outcome, Outcome::Done(Some(result)) if result.as_str() == "13");
    let meddle = move |_: &'static str, settles: &[Settle]| match settles.iter().any(chosen) {
        true => Fate::Refused(Error::Fault { code: "XX000".to_owned(), detail: "choked".to_owned() }),
        false => Fate::Answered,
    };
    let worker = worker(&lab, meddle).handler("give", |_, n: i64| async move { Ok(n) }).start().await.unwrap();
    let mut ids = Vec::new();
    for n in 0..30 {
        ids.push(lab.kinfolk.enqueue("give", &n).await.unwrap().id().unwrap());
    }
    for (n, id) in ids.into_iter().enumerate() {
        let task = lab.ended(id).await;
        if n == 13 {
            assert_eq!(task.state, State::Failed);
            assert!(task.failure.unwrap().message.contains("can't be recorded"));
        } else {
            assert_eq!(task.result, Some(Json::of(&n).unwrap()));
        }
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_could_not_renew_for_a_whole_lease_drops_its_work_and_gives_it_back() {
    let lab = Lab::new().await;
    let cut = Arc::new(AtomicBool::new(false));
    let line = Arc::clone(&cut);
    let meddle = move |_: &'static str, _: &[Settle]| match line.load(Ordering::SeqCst) {
        true => Fate::Refused(unreachable()),
        false => Fate::Answered,
    };
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&attempts);
    let handler = move |_: Ctx, _: Json| {
        let first = count.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            match first {
                true => std::future::pending::<Result<(), TaskError>>().await,
                false => Ok(()),
            }
        }
    };
    let worker = worker(&lab, meddle)
        .lease(Duration::from_secs(1))
        .heartbeat(Duration::from_millis(100))
        .handler("hang", handler)
        .start()
        .await
        .unwrap();
    let id = lab.enqueue("hang").await;
    lab.events.wait_for("started").await;
    let first_id = worker.id().unwrap();
    cut.store(true, Ordering::SeqCst);
    lab.events.wait_until(|event| *event == Event::LeaseLost { worker: first_id }).await;
    cut.store(false, Ordering::SeqCst);
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt, task.suspect), (State::Completed, 1, false));
    assert_ne!(worker.id(), Some(first_id));
    assert_eq!(attempts.load(Ordering::SeqCst), 2);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_panics_disturbs_nobody() {
    let lab = Lab::new().await;
    let worker = lab
        .worker()
        .on_event(|event| assert!(event.name() != "completed", "a clumsy listener"))
        .handler("noop", |_, _: Json| async { Ok(()) })
        .start()
        .await
        .unwrap();
    let ids: Vec<TaskId> = lab.enqueue_many("noop", 20).await;
    for id in ids {
        assert_eq!(lab.ended(id).await.state, State::Completed);
    }
    worker.stop().await.unwrap();
}
