//! Families from a handler's side: what it spawns, and how the parent ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kinfolk::core::operate::Cancelled;
use kinfolk::{Ctx, FailureKind, Json, Policy, State, Tally, Task, TaskError};
use serde::{Deserialize, Serialize};
use tokio::sync::Barrier;

use crate::lab::{Lab, noop, on_both_stores, within};

on_both_stores!(
    a_parent_waits_for_its_children_and_ends_with_the_last,
    a_failed_child_fails_its_parent_after_the_others_have_ended,
    a_child_can_spawn_siblings_and_the_parent_waits_for_them_too,
    a_wide_fan_out_settles_and_plain_tasks_go_on_beside_it,
    typed_children_bring_their_keys_and_options_say_the_rest,
    a_cancelled_family_ends_as_a_whole,
    a_repaired_family_ends_as_if_nothing_had_failed,
);

async fn a_parent_waits_for_its_children_and_ends_with_the_last(lab: &Lab) {
    let (open, gate) = tokio::sync::watch::channel(false);
    let child = move |ctx: Ctx, n: u64| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await?;
            assert_eq!((ctx.depth(), ctx.parent().is_some()), (1, true));
            assert_ne!(ctx.root(), ctx.task());
            Ok(n)
        }
    };
    let parent = |ctx: Ctx, _: Json| async move {
        assert!(!ctx.has_pending_children().await?);
        for n in 0..5 {
            ctx.spawn("child", &n).await?;
        }
        assert!(ctx.has_pending_children().await?);
        assert!(!ctx.has_failed_siblings().await?);
        assert_eq!((ctx.root(), ctx.parent(), ctx.depth()), (ctx.task(), None, 0));
        Ok("spawned")
    };
    let worker = lab.worker().handler("parent", parent).handler("child", child).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.in_state(id, State::Waiting).await;
    assert_eq!((task.outcome, task.worker), (Some(State::Completed), None));
    lab.events.wait_for("waiting").await;
    assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally { total: 5, ..Tally::default() });
    open.send(true).unwrap();
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.outcome), (State::Completed, None));
    assert_eq!(task.result, Some(Json::of("spawned").unwrap()));
    let children = lab.kinfolk.children(id, 0, 10).await.unwrap();
    let results: Vec<_> = children.iter().map(|child| child.result.clone().unwrap()).collect();
    assert_eq!(results, [0, 1, 2, 3, 4].map(|n| Json::of(&n).unwrap()));
    let progress = lab.kinfolk.progress(children[0].id).await.unwrap();
    let all = Tally { total: 5, completed: 5, ..Tally::default() };
    assert_eq!((progress.family, progress.levels), (all, vec![all]));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_failed_child_fails_its_parent_after_the_others_have_ended(lab: &Lab) {
    let child = |ctx: Ctx, n: u64| async move {
        match n {
            0 => Err(TaskError::new("no").do_not_retry()),
            _ => {
                while !ctx.has_failed_siblings().await? {
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
        }
    };
    let parent = |ctx: Ctx, _: Json| async move {
        for n in 0..3 {
            ctx.spawn("child", &n).await?;
        }
        Ok(())
    };
    let worker = lab.worker().handler("parent", parent).handler("child", child).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    let failure = task.failure.unwrap();
    assert_eq!((task.state, failure.kind, task.attempt), (State::Failed, FailureKind::Children, 1));
    assert_eq!(failure.message, "1 of 3 children failed");
    let tally = lab.kinfolk.tally(id).await.unwrap();
    assert_eq!(tally, Tally { total: 3, completed: 2, failed: 1, cancelled: 0 });
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_child_can_spawn_siblings_and_the_parent_waits_for_them_too(lab: &Lab) {
    let split = |ctx: Ctx, size: u64| async move {
        if size > 1 {
            ctx.spawn_sibling("split", &(size / 2)).await?;
            ctx.spawn_sibling("split", &(size - size / 2)).await?;
        }
        Ok(())
    };
    let parent = |ctx: Ctx, size: u64| async move { Ok(ctx.spawn("split", &size).await?) };
    let worker = lab.worker().handler("parent", parent).handler("split", split).start().await.unwrap();
    let id = lab.kinfolk.enqueue("parent", &50).await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.state, State::Completed);
    assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally { total: 99, completed: 99, ..Tally::default() });
    assert_eq!(lab.kinfolk.progress(id).await.unwrap().levels.len(), 1);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_wide_fan_out_settles_and_plain_tasks_go_on_beside_it(lab: &Lab) {
    const CHILDREN: u64 = 2_500;
    let parent = |ctx: Ctx, _: Json| async move {
        for n in 0..CHILDREN {
            ctx.spawn("child", &n).await?;
        }
        Ok(())
    };
    let worker = lab.worker().queue("default", 500).handler("parent", parent).handler("child", noop);
    let worker = worker.handler("plain", noop).start().await.unwrap();
    let parents = lab.enqueue_many("parent", 2).await;
    let plain = lab.enqueue_many("plain", 100).await;
    for id in parents.into_iter().chain(plain) {
        assert_eq!(lab.ended(id).await.state, State::Completed);
    }
    within(worker.wait_idle()).await;
    let completed = lab.events.count(|event| event.name() == "completed");
    assert_eq!(completed as u64, 2 * CHILDREN + 100);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "batch", output = u32)]
struct Batch {
    #[task(unique)]
    number: u32,
}

async fn batch(task: Batch, ctx: Ctx) -> Result<u32, TaskError> {
    assert_eq!(ctx.trace(), Some("00-abc-def-01"), "the trace of the family goes along");
    Ok(task.number)
}

async fn typed_children_bring_their_keys_and_options_say_the_rest(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.spawn_task(&Batch { number: 1 }).priority(7).max_attempts(3).await?;
        ctx.spawn_task(&Batch { number: 1 }).await?;
        ctx.spawn_task(&Batch { number: 2 }).timeout(Duration::from_secs(9)).queue("side").await?;
        ctx.follow_up_task(&Batch { number: 3 }).await?;
        let wrong = ctx.spawn("two words", &()).queue("also wrong").await.unwrap_err();
        assert!(wrong.to_string().contains("two words"), "{wrong}");
        let wrong = ctx.spawn("batch", &()).max_attempts(0).await.unwrap_err();
        assert!(wrong.to_string().contains("max_attempts"), "{wrong}");
        Ok(())
    };
    lab.kinfolk.set_queue(&"side".parse().unwrap(), &Policy::default()).await.unwrap();
    let worker = lab.worker().queue("default", 9).queue("side", 9).handler("parent", parent).handle(batch);
    let worker = worker.start().await.unwrap();
    let enqueue = lab.kinfolk.enqueue("parent", &()).priority(4).trace("00-abc-def-01");
    let id = enqueue.await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.state, State::Completed);
    let children = lab.kinfolk.children(id, 0, 10).await.unwrap();
    assert_eq!(children.len(), 2, "the second one was there already");
    assert_eq!((children[0].priority, children[0].max_attempts), (7, 3));
    assert_eq!((children[1].priority, children[1].queue.as_str()), (4, "side"));
    assert_eq!(within(lab.kinfolk.result::<Batch>(children[1].id)).await.unwrap(), 2);
    within(worker.wait_idle()).await;
    assert_eq!(lab.events.count(|event| event.name() == "completed"), 3);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_cancelled_family_ends_as_a_whole(lab: &Lab) {
    let all_run = Arc::new(Barrier::new(4));
    let barrier = Arc::clone(&all_run);
    let child = move |ctx: Ctx, _: Json| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            ctx.cancelled().await;
            Ok(())
        }
    };
    let parent = |ctx: Ctx, _: Json| async move {
        for _ in 0..3 {
            ctx.spawn("child", &()).await?;
        }
        ctx.spawn("child", &()).delay(Duration::from_secs(3600)).await?;
        Ok(())
    };
    let worker = lab.worker().handler("parent", parent).handler("child", child).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    within(all_run.wait()).await;
    assert_eq!(lab.kinfolk.cancel(id).await.unwrap(), Cancelled::Requested);
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.failure.unwrap().kind), (State::Cancelled, FailureKind::Cancelled));
    let tally = lab.kinfolk.tally(id).await.unwrap();
    assert_eq!(tally, Tally { total: 4, cancelled: 4, ..Tally::default() });
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_repaired_family_ends_as_if_nothing_had_failed(lab: &Lab) {
    let broken = Arc::new(AtomicBool::new(true));
    let state = Arc::clone(&broken);
    let child = move |_: Ctx, n: u64| {
        let fails = n % 2 == 1 && state.load(Ordering::SeqCst);
        std::future::ready(if fails { Err(TaskError::validation("no")) } else { Ok(n) })
    };
    let parent = |ctx: Ctx, depth: u64| async move {
        for n in 0..4 {
            ctx.spawn("child", &n).await?;
        }
        if depth > 0 {
            ctx.spawn("parent", &(depth - 1)).await?;
        }
        Ok(depth)
    };
    let worker = lab.worker().handler("parent", parent).handler("child", child).start().await.unwrap();
    let id = lab.kinfolk.enqueue("parent", &1).await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.state, State::Failed);
    let before = lab.events.count(|event| event.name() == "started");
    broken.store(false, Ordering::SeqCst);
    let retried = lab.kinfolk.retry_family(id).await.unwrap();
    assert_eq!((retried.pending, retried.waiting), (4, 2));
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.failure, task.outcome), (State::Completed, None, None));
    assert_eq!(task.result, Some(Json::of(&1).unwrap()));
    assert_eq!(lab.events.count(|event| event.name() == "started"), before + 4, "only what failed runs again");
    let family = lab.kinfolk.progress(id).await.unwrap().family;
    assert_eq!(family, Tally { total: 9, completed: 9, ..Tally::default() });
    worker.stop().await.unwrap();
    lab.check().await;
}
