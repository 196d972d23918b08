//! When what a handler makes becomes real, and when it does not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfolk::{Ctx, Done, Event, FailureKind, Json, MakeError, Policy, State, Tally, TaskError};

use crate::lab::{Lab, noop, on_both_stores, quick, within};

on_both_stores!(
    a_buffered_enqueue_waits_for_the_settle_and_the_other_does_not,
    what_the_store_refuses_becomes_a_failed_attempt,
    an_attempt_that_is_not_done_makes_nothing,
    a_context_that_outlives_its_handler_makes_nothing,
    a_root_that_spawns_a_sibling_is_told_at_once_and_fails_for_good,
    no_family_grows_deeper_than_it_may,
);

async fn a_buffered_enqueue_waits_for_the_settle_and_the_other_does_not(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.enqueue("kept_back", &()).await?;
        ctx.kinfolk().enqueue("at_once", &()).await?.id()?;
        Err::<(), _>(TaskError::validation("no"))
    };
    let worker = lab.worker().handler("parent", parent).handler("kept_back", noop).handler("at_once", noop);
    let worker = worker.start().await.unwrap();
    let id = lab.enqueue("parent").await;
    lab.ended(id).await;
    within(worker.wait_idle()).await;
    let counts = lab.store.stats().await.unwrap().counts;
    let commands: Vec<_> = counts.iter().map(|count| count.command.as_str()).collect();
    assert_eq!(commands, ["at_once", "parent"]);
    worker.stop().await.unwrap();
}

async fn what_the_store_refuses_becomes_a_failed_attempt(lab: &Lab) {
    let childless = Policy { child_limit: Some(0), ..Policy::default() };
    lab.kinfolk.set_queue(&"childless".parse().unwrap(), &childless).await.unwrap();
    let parent = |ctx: Ctx, what: String| async move {
        ctx.spawn("noop", &()).await?;
        match what.as_str() {
            "unknown" => ctx.spawn("nobody", &()).await?,
            _ => ctx.spawn("noop", &()).queue("childless").await?,
        }
        Ok(())
    };
    let worker = lab.worker().handler(quick("parent", 3), parent).handler("noop", noop).start().await.unwrap();
    for (what, attempts) in [("unknown", 3), ("childless", 1)] {
        let id = lab.kinfolk.enqueue("parent", what).await.unwrap().id().unwrap();
        let task = lab.ended(id).await;
        let failure = task.failure.unwrap();
        assert_eq!((task.state, task.attempt, failure.kind), (State::Failed, attempts, FailureKind::Refused));
        assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally::default(), "nothing of it is made");
    }
    let refused = |event: &Event| match event {
        Event::Failed { kind, .. } | Event::Retried { kind, .. } => *kind == FailureKind::Refused,
        _ => false,
    };
    worker.stop().await.unwrap();
    assert_eq!(lab.events.count(refused), 4);
    lab.check().await;
}

async fn an_attempt_that_is_not_done_makes_nothing(lab: &Lab) {
    let parent = |ctx: Ctx, how: String| async move {
        ctx.spawn("child", &()).await?;
        ctx.follow_up("child", &()).await?;
        ctx.enqueue("child", &()).await?;
        let first = ctx.kinfolk().store().attempts(ctx.task()).await?.is_empty();
        match (first, how.as_str()) {
            (true, "error") => Err(TaskError::new("once more")),
            (true, "snooze") => Ok(Done::snooze(Duration::from_millis(1))),
            (true, "release") => Ok(Done::release()),
            (true, _) => panic!("once more"),
            (false, _) => Ok(Done::value(())),
        }
    };
    let worker = lab.worker().handler(quick("parent", 5), parent).handler("child", noop).start().await.unwrap();
    for how in ["error", "snooze", "release", "panic"] {
        let id = lab.kinfolk.enqueue("parent", how).await.unwrap().id().unwrap();
        assert_eq!(lab.ended(id).await.state, State::Completed, "{how}");
        assert_eq!(lab.kinfolk.tally(id).await.unwrap().total, 1, "{how}");
    }
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
    assert_eq!(lab.events.count(|event| event.name() == "completed"), 12);
    lab.check().await;
}

async fn a_context_that_outlives_its_handler_makes_nothing(lab: &Lab) {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let handler = move |ctx: Ctx, _: Json| {
        *keep.lock().unwrap() = Some(ctx);
        std::future::ready(Ok(()))
    };
    let worker = lab.worker().handler("leak", handler).start().await.unwrap();
    let id = lab.enqueue("leak").await;
    lab.ended(id).await;
    let ctx = kept.lock().unwrap().take().unwrap();
    let told = ctx.spawn("leak", &()).await;
    assert!(matches!(told, Err(MakeError::Over(task)) if task == id), "{told:?}");
    worker.stop().await.unwrap();
}

async fn a_root_that_spawns_a_sibling_is_told_at_once_and_fails_for_good(lab: &Lab) {
    let root = |ctx: Ctx, _: Json| async move {
        ctx.spawn("noop", &()).await?;
        let told = ctx.spawn_sibling("noop", &()).await;
        assert!(matches!(told, Err(MakeError::Rejected(_))), "{told:?}");
        Ok(told?)
    };
    let worker = lab.worker().handler(quick("root", 5), root).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("root").await;
    let task = lab.ended(id).await;
    let failure = task.failure.unwrap();
    assert_eq!((task.state, task.attempt, failure.kind), (State::Failed, 1, FailureKind::Refused));
    assert!(failure.message.contains("has no parent"), "{}", failure.message);
    assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally::default());
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn no_family_grows_deeper_than_it_may(lab: &Lab) {
    let shallow = Policy { depth_limit: 1, ..Policy::default() };
    lab.kinfolk.set_queue(&"shallow".parse().unwrap(), &shallow).await.unwrap();
    let dig = |ctx: Ctx, _: Json| async move {
        match ctx.spawn("dig", &()).await {
            Err(MakeError::TooDeep(_)) => Ok(ctx.depth()),
            told => told.map(|()| ctx.depth()).map_err(TaskError::from),
        }
    };
    let worker = lab.worker().queue("default", 10).queue("shallow", 10).handler("dig", dig).start().await.unwrap();
    let deep = lab.enqueue("dig").await;
    assert_eq!(lab.ended(deep).await.state, State::Completed);
    assert_eq!(lab.kinfolk.progress(deep).await.unwrap().levels.len(), 32);
    let shallow = lab.kinfolk.enqueue("dig", &()).queue("shallow").await.unwrap().id().unwrap();
    let task = lab.ended(shallow).await;
    assert_eq!(task.failure.unwrap().kind, FailureKind::Children);
    let child = &lab.kinfolk.children(shallow, 0, 1).await.unwrap()[0];
    let failure = child.failure.clone().unwrap();
    assert_eq!((child.attempt, failure.kind), (1, FailureKind::Refused));
    assert!(failure.message.contains("shallow") && failure.message.contains("deep"), "{}", failure.message);
    worker.stop().await.unwrap();
    lab.check().await;
}
