//! Fan-out and fan-in from a handler's side: rules, timeouts, failures, and what comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::core::{Rule, Verdict};
use kinfolk::{Ctx, FailureKind, Json, State, Sub, Tally, Task, TaskError, WorkerBuilder};
use serde::{Deserialize, Serialize};

use crate::lab::{Lab, noop, on_both_stores, quick, within};

on_both_stores!(
    results_come_back_in_order_and_equal_what_the_children_returned,
    fail_fast_resumes_the_parent_with_the_first_failure_and_the_siblings_go_on,
    collect_all_waits_for_every_child_and_keeps_both_kinds,
    a_threshold_lets_some_fail_and_gives_up_when_it_cannot_be_reached,
    an_empty_fan_out_is_settled_without_a_suspension,
    a_fan_out_that_takes_too_long_is_given_up_and_its_children_are_cancelled,
    children_are_cancelled_when_their_parent_fails_if_it_says_so,
    nested_fan_outs_report_up_to_the_root,
    options_of_a_child_go_before_those_of_the_fan_out_the_command_and_the_parent,
    a_call_that_fails_is_told_with_its_cause_and_is_not_tried_again,
    a_parent_can_go_on_after_a_failed_call,
    what_cannot_be_fanned_out_fails_the_parent_for_good,
    a_cancelled_parent_takes_its_awaited_children_along,
    a_wide_fan_out_returns_all_its_results,
);

/// Doubles a number; fails for 13.
async fn double(_: Ctx, n: u64) -> Result<u64, TaskError> {
    match n {
        13 => Err(TaskError::new("thirteen").do_not_retry()),
        n => Ok(n * 2),
    }
}

fn worker(lab: &Lab) -> WorkerBuilder {
    lab.worker().handler("double", double)
}

fn subs(numbers: &[u64]) -> Vec<Sub> {
    numbers.iter().map(|n| Sub::new("double", n)).collect()
}

async fn results_come_back_in_order_and_equal_what_the_children_returned(lab: &Lab) {
    const VALUES: [&str; 6] = ["null", "12345678901234567890.123456789", "\"ø\"", "[1,{\"a\":2}]", "{}", "false"];
    let echo = |_: Ctx, value: Json| async move { Ok(value) };
    let parent = |ctx: Ctx, _: Json| async move {
        let values = VALUES.map(|text| Json::parse(text).unwrap());
        let results = ctx.fan_out::<Json>(values.iter().map(|value| Sub::new("echo", value))).await?;
        assert!(results.all_succeeded());
        assert!(results.iter().enumerate().all(|(n, result)| result.index as usize == n));
        Ok(results.values())
    };
    let worker = lab.worker().handler("parent", parent).handler("echo", echo).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    let wanted = Json::parse(&format!("[{}]", VALUES.join(","))).unwrap();
    assert_eq!((task.state, task.result), (State::Completed, Some(wanted)));
    assert_eq!((task.attempt, task.steps), (1, 1), "to be suspended costs no attempt");
    worker.stop().await.unwrap();
    assert_eq!(lab.events.count(|event| event.name() == "suspended"), 1);
    assert_eq!(lab.events.count(|event| event.name() == "resumed"), 1);
    lab.check().await;
}

async fn fail_fast_resumes_the_parent_with_the_first_failure_and_the_siblings_go_on(lab: &Lab) {
    let (open, gate) = tokio::sync::watch::channel(false);
    let slow = move |_: Ctx, n: u64| {
        let mut gate = gate.clone();
        async move {
            if n > 0 {
                gate.wait_for(|open| *open).await?;
                return Ok(());
            }
            Err(TaskError::new("no stock").do_not_retry())
        }
    };
    let (told, heard) = tokio::sync::watch::channel(None);
    let parent = move |ctx: Ctx, _: Json| {
        let told = told.clone();
        async move {
            let fault = ctx.fan_out::<()>((0..3).map(|n| Sub::new("slow", &n))).fail_fast().await.unwrap_err();
            told.send_replace(fault.fan_out().cloned());
            Err::<(), _>(fault)
        }
    };
    let worker = lab.worker().handler("parent", parent).handler("slow", slow).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let mut heard = heard;
    let fault = within(heard.wait_for(Option::is_some)).await.unwrap().clone().unwrap();
    assert_eq!((fault.rule, fault.verdict, fault.total, fault.failed), (Rule::FailFast, Verdict::Failed, 3, 1));
    let failure = &fault.failures[0];
    assert_eq!((failure.index, failure.attempt, failure.failure.message.as_str()), (0, 1, "no stock"));
    let task = lab.task_that(id, |task| task.outcome == Some(State::Failed)).await;
    assert_eq!(task.state, State::Waiting, "nothing outlives its parent");
    open.send(true).unwrap();
    let task = lab.ended(id).await;
    let failure = task.failure.unwrap();
    assert_eq!((task.state, failure.kind, task.attempt), (State::Failed, FailureKind::Children, 1));
    assert!(
        failure.message.starts_with("no stock (error of sub-task 0, task "),
        "the cause comes first: {}",
        failure.message
    );
    assert!(failure.message.ends_with("(fail_fast) did not complete"), "{}", failure.message);
    let tally = lab.kinfolk.tally(id).await.unwrap();
    assert_eq!(tally, Tally { total: 3, completed: 2, failed: 1, cancelled: 0 });
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn collect_all_waits_for_every_child_and_keeps_both_kinds(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let results = ctx.fan_out::<u64>(subs(&[1, 13, 3])).collect_all().await?;
        assert!(!results.all_succeeded());
        let (values, failures) = results.partition();
        Ok((values, failures.into_iter().map(|failure| failure.index).collect::<Vec<_>>()))
    };
    let worker = worker(lab).handler("parent", parent).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::parse("[[2,6],[1]]").unwrap())));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_threshold_lets_some_fail_and_gives_up_when_it_cannot_be_reached(lab: &Lab) {
    let parent = |ctx: Ctx, share: f64| async move {
        let results = ctx.fan_out::<u64>(subs(&[1, 2, 13])).threshold(share).await?;
        Ok(results.values().len())
    };
    let worker = worker(lab).handler("parent", parent).start().await.unwrap();
    for (share, state) in [
        (0.0, State::Completed),
        (0.666_666, State::Completed),
        (0.666_667, State::Failed),
        (1.0, State::Failed),
        (1.1, State::Failed),
    ] {
        let id = lab.kinfolk.enqueue("parent", &share).await.unwrap().id().unwrap();
        let task = lab.ended(id).await;
        assert_eq!(task.state, state, "{share}: {:?}", task.failure);
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn an_empty_fan_out_is_settled_without_a_suspension(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let results = ctx.fan_out::<u64>([]).await?;
        let folded = ctx.fan_out_stream::<u64>([]).fold(7, |sum, _| sum).await?;
        Ok((results.len(), folded))
    };
    let worker = worker(lab).handler("parent", parent).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.steps), (State::Completed, 0));
    assert_eq!(task.result, Some(Json::parse("[0,7]").unwrap()));
    worker.stop().await.unwrap();
    assert_eq!(lab.events.count(|event| event.name() == "suspended"), 0);
}

async fn a_fan_out_that_takes_too_long_is_given_up_and_its_children_are_cancelled(lab: &Lab) {
    let stuck = |ctx: Ctx, n: u64| async move {
        if n == 0 {
            return Ok(());
        }
        ctx.cancelled().await;
        Err(TaskError::new("told to end"))
    };
    let parent = |ctx: Ctx, _: Json| async move {
        let all = ctx.fan_out::<()>((0..3).map(|n| Sub::new("stuck", &n)));
        let fault = all.collect_all().timeout(Duration::from_millis(300)).await.unwrap_err();
        let told = fault.fan_out().cloned().unwrap();
        assert_eq!((told.verdict, told.total, told.failed), (Verdict::TimedOut, 3, 2), "{told:?}");
        // A resumed parent sees one outcome, however often it is resumed.
        ctx.sleep(Duration::from_millis(1)).await?;
        Err::<(), _>(fault)
    };
    let worker = lab.worker().grace(Duration::from_secs(5)).handler("parent", parent).handler("stuck", stuck);
    let worker = worker.start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!(task.state, State::Failed);
    let message = task.failure.unwrap().message;
    assert!(message.contains("took longer than it may"), "{message}");
    let tally = lab.kinfolk.tally(id).await.unwrap();
    assert_eq!(tally, Tally { total: 3, completed: 1, failed: 0, cancelled: 2 });
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn children_are_cancelled_when_their_parent_fails_if_it_says_so(lab: &Lab) {
    let stuck = |ctx: Ctx, n: u64| async move {
        if n == 13 {
            return Err(TaskError::new("no").do_not_retry());
        }
        ctx.cancelled().await;
        Ok(())
    };
    let parent = |ctx: Ctx, _: Json| async move {
        let all = ctx.fan_out::<()>([1_u64, 13, 2].map(|n| Sub::new("stuck", &n)));
        all.fail_fast().cancel_on_parent_failure().await?;
        Ok(())
    };
    let worker = lab.worker().handler("parent", parent).handler("stuck", stuck).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.failure.unwrap().kind), (State::Failed, FailureKind::Children));
    let tally = lab.kinfolk.tally(id).await.unwrap();
    assert_eq!(tally, Tally { total: 3, completed: 0, failed: 1, cancelled: 2 });
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn nested_fan_outs_report_up_to_the_root(lab: &Lab) {
    let sum = |ctx: Ctx, depth: u64| async move {
        match depth {
            0 => Ok(1),
            depth => {
                let below = ctx.fan_out::<u64>((0..3).map(|_| Sub::new("sum", &(depth - 1)))).await?;
                Ok(below.values().into_iter().sum::<u64>())
            }
        }
    };
    let worker = lab.worker().handler("sum", sum).start().await.unwrap();
    let id = lab.kinfolk.enqueue("sum", &4_u64).await.unwrap().id().unwrap();
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::of(&81).unwrap())));
    let progress = lab.kinfolk.progress(id).await.unwrap();
    assert_eq!(progress.levels.iter().map(|level| level.completed).collect::<Vec<_>>(), [3, 9, 27, 81]);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn options_of_a_child_go_before_those_of_the_fan_out_the_command_and_the_parent(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let own = Sub::new("noop", &1).max_attempts(3).priority(9).timeout(Duration::from_secs(7));
        let subs = [own, Sub::new("noop", &2)];
        ctx.fan_out::<()>(subs).max_attempts(5).priority(4).sub_task_timeout(Duration::from_secs(8)).await?;
        ctx.call::<()>("noop", &3).await?;
        ctx.call::<()>("silent", &4).await?;
        Ok(())
    };
    let worker = lab
        .worker()
        .handler("parent", parent)
        .handler(quick("noop", 1), noop)
        .handler("silent", noop)
        .start()
        .await
        .unwrap();
    let id = lab.kinfolk.enqueue("parent", &()).max_attempts(2).priority(1).await.unwrap().id().unwrap();
    assert_eq!(lab.ended(id).await.state, State::Completed);
    let children = lab.kinfolk.children(id, 0, 9).await.unwrap();
    let said: Vec<_> = children.iter().map(|child| (child.max_attempts, child.priority, child.timeout)).collect();
    let seconds = |n| Some(Duration::from_secs(n));
    assert_eq!(said, [(3, 9, seconds(7)), (5, 4, seconds(8)), (1, 1, None), (2, 1, None)]);
    worker.stop().await.unwrap();
    lab.check().await;
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "halve", output = u64)]
struct Halve(u64);

async fn halve(task: Halve) -> Result<u64, TaskError> {
    match task.0 % 2 {
        0 => Ok(task.0 / 2),
        _ => Err(TaskError::validation("odd")),
    }
}

async fn a_call_that_fails_is_told_with_its_cause_and_is_not_tried_again(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let half = ctx.call_task(&Halve(10)).await?;
        ctx.call_task(&Halve(half)).await
    };
    let worker = lab.worker().handler("parent", parent).handle(halve).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    let failure = task.failure.unwrap();
    assert_eq!((task.state, task.attempt, failure.kind), (State::Failed, 1, FailureKind::Children));
    assert!(failure.message.starts_with("odd (validation of "), "{}", failure.message);
    assert!(failure.detail.is_some());
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_parent_can_go_on_after_a_failed_call(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let half = match ctx.call_task(&Halve(5)).await {
            Err(fault) if fault.call().is_some_and(|call| call.attempt == 1) => 0,
            other => other?,
        };
        ctx.call_task(&Halve(half + 8)).await
    };
    let worker = lab.worker().handler("parent", parent).handle(halve).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::of(&4).unwrap())));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn what_cannot_be_fanned_out_fails_the_parent_for_good(lab: &Lab) {
    let parent = |ctx: Ctx, what: u64| async move {
        let sub = match what {
            0 => Sub::new("two words", &()),
            1 => Sub::new("nobody_knows", &()),
            2 => Sub::new("double", &"x".repeat(300_000)),
            _ => Sub::new("double", &1).unique(kinfolk::Unique::key("k")),
        };
        ctx.fan_out::<Json>([sub]).await?;
        Ok(())
    };
    let worker = worker(lab).handler("parent", parent).start().await.unwrap();
    for (what, words) in [(0, "two words"), (1, "nobody_knows"), (2, "bytes"), (3, "unique key")] {
        let id = lab.kinfolk.enqueue("parent", &what).max_attempts(1).await.unwrap().id().unwrap();
        let task = lab.ended(id).await;
        let message = task.failure.unwrap().message;
        assert!(task.state == State::Failed && message.contains(words), "{what}: {message}");
        assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally::default());
    }
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_cancelled_parent_takes_its_awaited_children_along(lab: &Lab) {
    let begun = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&begun);
    let stuck = move |ctx: Ctx, _: Json| {
        let count = Arc::clone(&count);
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            ctx.cancelled().await;
            Ok(())
        }
    };
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.fan_out::<()>((0..2).map(|n| Sub::new("stuck", &n))).await?;
        Ok("never")
    };
    let worker = lab.worker().handler("parent", parent).handler("stuck", stuck).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    within(async {
        while begun.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    lab.kinfolk.cancel(id).await.unwrap();
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Cancelled, None));
    let tally = lab.kinfolk.tally(id).await.unwrap();
    assert_eq!(tally, Tally { total: 2, cancelled: 2, ..Tally::default() });
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_wide_fan_out_returns_all_its_results(lab: &Lab) {
    const WIDE: u64 = 2_500;
    let child = |_: Ctx, n: u64| async move { Ok(n) };
    let parent = |ctx: Ctx, _: Json| async move {
        let all = ctx.fan_out::<u64>((0..WIDE).map(|n| Sub::new("child", &n))).await?;
        assert!(all.iter().all(|result| result.outcome.as_ref() == Ok(&u64::from(result.index))));
        Ok(all.len())
    };
    let worker = lab.worker().queue("default", 500).handler("parent", parent).handler("child", child);
    let worker = worker.start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::of(&WIDE).unwrap())));
    worker.stop().await.unwrap();
    lab.check().await;
}
