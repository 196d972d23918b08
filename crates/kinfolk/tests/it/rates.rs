//! How many start in a span of time, and handlers that ask to slow down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::core::{Outcome, Settle};
use kinfolk::testing::TestKit;
use kinfolk::{Ctx, Event, GroupRef, GroupSpec, Json, Rate, Reason, State, TaskError, TaskId};

use crate::lab::{Lab, noop, on_both_stores};

on_both_stores!(
    a_rate_is_kept_by_a_worker_that_sleeps_until_the_next_start,
    a_handler_slows_its_own_key_down_and_no_other,
    only_a_task_with_a_key_in_the_group_can_slow_it_down,
    an_attempt_that_is_over_slows_nothing_down,
    a_handler_that_is_replayed_does_not_slow_down_again,
);

/// Polls that grow further and further apart.
const NEVER: Duration = Duration::from_secs(600);

async fn enqueue(lab: &Lab, command: &str, payload: &str, provider: &str) -> TaskId {
    lab.kinfolk.enqueue(command, payload).key("provider", provider).await.unwrap().id().unwrap()
}

async fn a_rate_is_kept_by_a_worker_that_sleeps_until_the_next_start(lab: &Lab) {
    // Without being told when, a worker would look after two seconds and then after eight.
    let seconds = 3_000_000;
    let rate = Rate::new(2, Duration::from_secs(6)).burst(2);
    let worker = lab.worker().poll(NEVER).handler("send", noop).groups("send", [("provider", rate)]);
    let worker = worker.start().await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(enqueue(lab, "send", "letter", "mail").await);
    }
    let mut starts = Vec::new();
    for id in ids {
        starts.push(lab.ended(id).await.started_at.unwrap().as_micros());
    }
    assert!(starts[1] - starts[0] < seconds, "two at once: {starts:?}");
    // A rate counts from the moment of the claim, and a task is begun a little later.
    let third = starts[2] - starts[0] + seconds / 10;
    assert!(third >= seconds && third < 2 * seconds, "and then one in each three seconds: {starts:?}");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_handler_slows_its_own_key_down_and_no_other(lab: &Lab) {
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let send = move |ctx: Ctx, letter: String| {
        let first = letter == "first" && count.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if first {
                ctx.slow_down_for("provider", Duration::from_secs(1)).await?;
                // A moment before that one changes nothing.
                ctx.slow_down_for("provider", Duration::from_millis(1)).await?;
                return Err(TaskError::new("too many").retry_after(Duration::from_millis(1)));
            }
            Ok(())
        }
    };
    let worker = lab.worker().poll(NEVER).handler("send", send).groups("send", [("provider", 5)]);
    let worker = worker.start().await.unwrap();
    let first = enqueue(lab, "send", "first", "mail").await;
    let event = lab.events.wait_for("slowed_down").await;
    let Event::SlowedDown { task, until, .. } = event else { panic!("{event:?}") };
    assert_eq!(task, first);
    let held = enqueue(lab, "send", "second", "mail").await;
    let group = GroupRef::of("send".parse().unwrap(), "provider".parse().unwrap());
    let reasons = lab.kinfolk.explain(held).await.unwrap().reasons;
    assert_eq!(reasons, [Reason::KeyRate { group, key: "mail".to_owned(), until }]);
    let other = enqueue(lab, "send", "other", "phone").await;
    assert!(lab.ended(other).await.started_at.unwrap() < until, "another key goes on");
    lab.clock.forward(Duration::from_millis(900));
    for id in [first, held] {
        assert!(lab.ended(id).await.started_at.unwrap() >= until);
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn only_a_task_with_a_key_in_the_group_can_slow_it_down(lab: &Lab) {
    let send = |ctx: Ctx, group: String| async move { ctx.slow_down_for(group, Duration::from_secs(1)).await };
    let worker = lab.worker().handler("send", send).groups("send", [("provider", 5)]).start().await.unwrap();
    for (group, says) in [("provider", "group provider"), ("colour", "group colour"), ("two words", "group")] {
        let id = lab.kinfolk.enqueue("send", group).await.unwrap().id().unwrap();
        let task = lab.ended(id).await;
        let failure = task.failure.unwrap();
        assert_eq!((task.state, task.attempt), (State::Failed, 1), "trying again would not help");
        assert!(failure.message.contains(says), "{failure:?}");
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn an_attempt_that_is_over_slows_nothing_down(lab: &Lab) {
    let send = |ctx: Ctx, letter: String| async move {
        if letter == "late" {
            // Someone settles it behind the worker's back: its token no longer holds.
            let settle = Settle::new(ctx.task(), ctx.token(), Outcome::Done(None));
            ctx.kinfolk().store().settle(&[settle]).await?;
            ctx.slow_down_for("provider", Duration::from_secs(3600)).await?;
            unreachable!("the handler is dropped");
        }
        Ok(())
    };
    let worker = lab.worker().handler("send", send).groups("send", [("provider", 5)]).start().await.unwrap();
    enqueue(lab, "send", "late", "mail").await;
    lab.events.wait_for("stale").await;
    assert_eq!(lab.events.count(|event| event.name() == "slowed_down"), 0);
    let next = enqueue(lab, "send", "next", "mail").await;
    assert_eq!(lab.ended(next).await.state, State::Completed);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_handler_that_is_replayed_does_not_slow_down_again(lab: &Lab) {
    let flow = |ctx: Ctx, _: Json| async move {
        ctx.step("ask", async { Ok(429) }).await?;
        ctx.slow_down_for("provider", Duration::from_millis(50)).await?;
        ctx.call::<()>("send", &()).await?;
        ctx.call::<()>("send", &()).named("again").await
    };
    let worker = lab.worker().handler("flow", flow).handler("send", noop).groups("flow", [("provider", 1)]);
    let worker = worker.start().await.unwrap();
    let id = enqueue(lab, "flow", "letter", "mail").await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    worker.stop().await.unwrap();
    assert_eq!(lab.events.count(|event| event.name() == "resumed"), 2);
    assert_eq!(lab.events.count(|event| event.name() == "slowed_down"), 1);
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_skips_from_start_to_start_of_a_rate() {
    let provider = GroupSpec::limit(5).and_rate(Rate::per_minute(2).burst(2));
    let mut kit =
        TestKit::new(move |worker| worker.handler("send", noop).groups("send", [("provider", provider.clone())]))
            .await
            .unwrap();
    let mut last = TaskId(0);
    for _ in 0..5 {
        last = kit.kinfolk().enqueue("send", &()).key("provider", "mail").await.unwrap().id().unwrap();
    }
    kit.run_until_idle().await.unwrap();
    let left = kit.left().await.unwrap();
    assert_eq!(left.lines().count(), 3, "{left}");
    let said = format!("{last} send pending: provider of send, key \"mail\", starts nothing until ");
    assert!(left.lines().last().unwrap().starts_with(&said), "{left}");
    let explained = kit.kinfolk().explain(last).await.unwrap().to_string();
    assert!(explained.starts_with(&format!("task {last} is pending: provider of send, key \"mail\"")), "{explained}");
    let fault = kit.result::<()>(last).await.unwrap_err().to_string();
    assert!(fault.contains("is pending: provider of send"), "{fault}");
    let begun = kinfolk::core::Clock::now(kit.clock());
    let mut skipped = 0;
    while let Some(moment) = kit.skip_ahead().await.unwrap() {
        skipped += 1;
        assert_eq!(moment, begun.plus(Duration::from_secs(30 * skipped)));
        kit.run_until_idle().await.unwrap();
    }
    assert_eq!((skipped, kit.left().await.unwrap().as_str()), (3, ""));
    assert_eq!(kit.check().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sub_task_behind_a_full_key_can_not_be_ended_by_hand_and_the_kit_says_why() {
    let flow = |ctx: Ctx, _: Json| async move {
        ctx.spawn("pack", &1).key("item", "lamp").await?;
        ctx.spawn("pack", &2).key("item", "lamp").await?;
        Ok(())
    };
    let mut kit = TestKit::new(move |worker| worker.handler("flow", flow)).await.unwrap();
    kit.known("pack").await.unwrap();
    let groups = Some(kinfolk::Groups::of([("item", 1)]).unwrap());
    let pack = kinfolk::Command { groups, ..kinfolk::Command::new("pack".parse().unwrap()) };
    kit.kinfolk().register(&[pack]).await.unwrap();
    let id = kit.kinfolk().enqueue("flow", &()).await.unwrap().id().unwrap();
    kit.run_until_idle().await.unwrap();
    let children = kit.kinfolk().children(id, 0, 2).await.unwrap();
    let fault = kit.complete_sub_task(children[1].id, &()).await.unwrap_err().to_string();
    assert!(fault.contains("can't be ended by hand"), "{fault}");
    kit.complete_sub_task(children[0].id, &()).await.unwrap();
    kit.complete_sub_task(children[1].id, &()).await.unwrap();
    kit.assert_all(id, State::Completed).await;
}
