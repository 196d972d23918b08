//! Steps, timers, signals and branches: what a handler may rely on when it runs from the top again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfolk::core::Signalled;
use kinfolk::{Ctx, FailureKind, Json, State, Sub, Tally, TaskError, Timestamp};

use crate::lab::{Lab, noop, on_both_stores, quick, within};

on_both_stores!(
    a_recorded_step_is_not_run_again_and_one_that_failed_is,
    time_and_chance_are_the_same_whenever_the_handler_runs,
    a_sleeping_task_holds_no_worker_and_goes_on_in_time,
    a_signal_is_taken_when_it_was_sent_before_and_resumes_one_that_waits,
    a_signal_that_does_not_fit_is_the_mistake_of_who_sent_it,
    a_wait_for_a_signal_is_given_up_in_time,
    branches_go_on_by_themselves_and_replay_the_same_values,
    a_step_in_flight_is_never_dropped_by_the_suspension_of_another_branch,
    what_was_made_before_a_suspension_is_not_made_again_after_it,
    progress_is_reported_and_never_goes_back,
    a_handler_that_waits_elsewhere_is_suspended_too,
    a_retried_attempt_begins_with_what_was_recorded,
);

async fn a_recorded_step_is_not_run_again_and_one_that_failed_is(lab: &Lab) {
    let runs = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let count = Arc::clone(&runs);
    let parent = move |ctx: Ctx, _: Json| {
        let count = Arc::clone(&count);
        async move {
            let run = |n: usize| count[n].fetch_add(1, Ordering::SeqCst);
            let first: usize = ctx.step("first", async { Ok(run(0)) }).await?;
            let second = async {
                match run(1) {
                    0 => Err(TaskError::new("not yet")),
                    runs => Ok(runs),
                }
            };
            let second: usize = ctx.step("second", second).await?;
            ctx.call::<()>("noop", &()).await?;
            Ok((first, second))
        }
    };
    let worker = lab.worker().handler(quick("parent", 5), parent).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::parse("[0,1]").unwrap())));
    assert_eq!([&runs[0], &runs[1]].map(|runs| runs.load(Ordering::SeqCst)), [1, 2]);
    assert_eq!((task.attempt, task.steps), (2, 3));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn time_and_chance_are_the_same_whenever_the_handler_runs(lab: &Lab) {
    type Drawn = (Timestamp, u64, bool, f64);
    let seen = Arc::new(Mutex::new(Vec::<Drawn>::new()));
    let tell = Arc::clone(&seen);
    let parent = move |ctx: Ctx, _: Json| {
        let tell = Arc::clone(&tell);
        async move {
            let drawn = (ctx.now().await?, ctx.random().await?, ctx.random().await?, ctx.random().await?);
            tell.lock().unwrap().push(drawn);
            ctx.call::<()>("noop", &()).await?;
            assert!(!ctx.is_replaying());
            Ok(())
        }
    };
    let worker = lab.worker().handler("parent", parent).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    let seen = seen.lock().unwrap().clone();
    assert!(seen.len() == 2 && seen[0] == seen[1], "{seen:?}");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_sleeping_task_holds_no_worker_and_goes_on_in_time(lab: &Lab) {
    let parent = |ctx: Ctx, span: u64| async move {
        let began = ctx.now().await?;
        ctx.sleep(Duration::from_millis(span)).await?;
        ctx.sleep_until(began.plus(Duration::from_millis(2 * span))).await?;
        let ended = ctx.kinfolk().store().now().await?;
        assert!(ended >= began.plus(Duration::from_millis(2 * span)), "woken too early");
        Ok(())
    };
    let worker = lab.worker().queue("default", 1).handler("parent", parent).handler("noop", noop);
    let worker = worker.start().await.unwrap();
    let soon = lab.kinfolk.enqueue("parent", &80).await.unwrap().id().unwrap();
    let late = lab.kinfolk.enqueue("parent", &3_600_000).await.unwrap().id().unwrap();
    let asleep = lab.in_state(late, State::Waiting).await;
    assert_eq!((asleep.worker, asleep.attempt), (None, 0), "a suspension costs no attempt");
    assert_eq!(lab.ended(lab.enqueue("noop").await).await.state, State::Completed, "the only permit is free");
    assert_eq!(lab.ended(soon).await.state, State::Completed);
    lab.kinfolk.cancel(late).await.unwrap();
    assert_eq!(lab.ended(late).await.state, State::Cancelled);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_signal_is_taken_when_it_was_sent_before_and_resumes_one_that_waits(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let first: Option<String> = ctx.wait_signal("word", None).await?;
        let second: Option<String> = ctx.wait_signal("word", Some(Duration::from_secs(3600))).await?;
        Ok((first, second))
    };
    let worker = lab.worker().handler("parent", parent).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let waits = lab.task_that(id, |task| task.signals.iter().any(|name| name.as_str() == "word")).await;
    assert_eq!((waits.state, waits.worker), (State::Waiting, None));
    assert_eq!(lab.kinfolk.signal(id, "else", "nobody asks").await.unwrap(), Signalled::Kept);
    assert_eq!(lab.kinfolk.signal(id, "word", "yes").await.unwrap(), Signalled::Resumed);
    lab.kinfolk.signal(id, "word", "no").await.unwrap();
    let task = lab.ended(id).await;
    assert_eq!(task.result, Some(Json::parse(r#"["yes","no"]"#).unwrap()), "{task:?}");
    assert!(lab.kinfolk.signal(id, "word", "late").await.is_err());
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_signal_that_does_not_fit_is_the_mistake_of_who_sent_it(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move { ctx.wait_signal::<u64>("count", None).await };
    let worker = lab.worker().handler("parent", parent).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    lab.kinfolk.signal(id, "count", "many").await.unwrap();
    let failure = lab.ended(id).await.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Validation);
    assert!(failure.message.contains("signal count"), "{failure:?}");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_wait_for_a_signal_is_given_up_in_time(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let word: Option<String> = ctx.wait_signal("word", Some(Duration::from_millis(50))).await?;
        ctx.call::<()>("noop", &()).await?;
        Ok(word.is_none())
    };
    let worker = lab.worker().handler("parent", parent).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    assert_eq!(lab.ended(id).await.result, Some(Json::of(&true).unwrap()));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn branches_go_on_by_themselves_and_replay_the_same_values(lab: &Lab) {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let parent = move |ctx: Ctx, slow_first: bool| {
        let count = Arc::clone(&count);
        async move {
            let line = async |name: &str, first: u64| {
                let ctx = ctx.branch(name);
                let mut sum = 0;
                for n in 0..3 {
                    sum += ctx.call::<u64>("echo", &(first + n)).await?;
                    let hundred: u64 = ctx
                        .step("count", async {
                            count.fetch_add(1, Ordering::SeqCst);
                            Ok(100)
                        })
                        .await?;
                    sum += hundred;
                }
                Ok::<_, TaskError>(sum)
            };
            let (a, b) = match slow_first {
                true => tokio::join!(line("a", 10), line("b", 20)),
                false => tokio::join!(line("b", 10), line("a", 20)),
            };
            Ok((a?, b?))
        }
    };
    let echo = |_: Ctx, n: u64| async move { Ok(n) };
    let worker = lab.worker().handler("parent", parent).handler("echo", echo).start().await.unwrap();
    for slow_first in [true, false] {
        runs.store(0, Ordering::SeqCst);
        let id = lab.kinfolk.enqueue("parent", &slow_first).await.unwrap().id().unwrap();
        let task = lab.ended(id).await;
        assert_eq!((task.state, task.result), (State::Completed, Some(Json::parse("[333,363]").unwrap())));
        assert_eq!(runs.load(Ordering::SeqCst), 6, "every step ran once");
        assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally { total: 6, completed: 6, ..Tally::default() });
    }
    // Without branches of their own, two operations of one name are refused.
    let twins = |ctx: Ctx, _: Json| async move {
        let (a, b) = tokio::join!(ctx.call::<u64>("echo", &1), ctx.call::<u64>("echo", &2));
        a.and(b)
    };
    worker.stop().await.unwrap();
    let worker = lab.worker().handler("twins", twins).handler("echo", echo).start().await.unwrap();
    let task = lab.ended(lab.enqueue("twins").await).await;
    let message = task.failure.unwrap().message;
    assert!(message.contains("two operations called \"echo\""), "{message}");
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_step_in_flight_is_never_dropped_by_the_suspension_of_another_branch(lab: &Lab) {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let (open, gate) = tokio::sync::watch::channel(false);
    let parent = move |ctx: Ctx, _: Json| {
        let (count, mut gate) = (Arc::clone(&count), gate.clone());
        async move {
            let (fast, slow) = (ctx.branch("fast"), ctx.branch("slow"));
            let body = async {
                count.fetch_add(1, Ordering::SeqCst);
                gate.wait_for(|open| *open).await?;
                Ok(5)
            };
            let (a, b) = tokio::join!(fast.call::<()>("noop", &()), slow.step::<u64, _>("long", body));
            a?;
            b
        }
    };
    let worker = lab.worker().handler("parent", parent).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    within(async {
        while runs.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(lab.task(id).await.state, State::Running);
    open.send(true).unwrap();
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::of(&5).unwrap())));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn what_was_made_before_a_suspension_is_not_made_again_after_it(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        for n in 0..3 {
            ctx.spawn("noop", &n).await?;
        }
        ctx.enqueue("alone", &1).await?;
        ctx.follow_up("after", &1).await?;
        ctx.call::<()>("noop", &"call").await?;
        ctx.spawn("noop", &3).await?;
        ctx.enqueue("alone", &2).named("another").await?;
        ctx.call::<()>("noop", &"call").await?;
        ctx.spawn("noop", &4).await?;
        Ok(())
    };
    let worker = lab.worker().handler("parent", parent).handler("noop", noop).handler("alone", noop);
    let worker = worker.handler("after", noop).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    assert_eq!(lab.ended(id).await.state, State::Completed);
    within(worker.wait_idle()).await;
    assert_eq!(lab.kinfolk.tally(id).await.unwrap(), Tally { total: 7, completed: 7, ..Tally::default() });
    let counts = lab.store.stats().await.unwrap().counts;
    let count = |command: &str| counts.iter().find(|count| count.command.as_str() == command).map(|count| count.tasks);
    assert_eq!((count("alone"), count("after"), count("noop")), (Some(2), Some(1), Some(7)));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn progress_is_reported_and_never_goes_back(lab: &Lab) {
    let (open, gate) = tokio::sync::watch::channel(false);
    let parent = move |ctx: Ctx, _: Json| {
        let mut gate = gate.clone();
        async move {
            ctx.progress(1, 2, "first half").await?;
            ctx.step("half", async { Ok(()) }).await?;
            ctx.call::<()>("noop", &()).await?;
            ctx.progress(2, 2, "").await?;
            gate.wait_for(|open| *open).await?;
            Ok(())
        }
    };
    let worker = lab.worker().handler("parent", parent).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.task_that(id, |task| task.report.as_ref().is_some_and(|report| report.done == 2)).await;
    let report = task.report.unwrap();
    assert_eq!((report.total, report.note), (Some(2), None));
    open.send(true).unwrap();
    assert_eq!(lab.ended(id).await.state, State::Completed);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_handler_that_waits_elsewhere_is_suspended_too(lab: &Lab) {
    let parent = |ctx: Ctx, _: Json| async move {
        let sum = tokio::spawn(async move {
            let all = ctx.fan_out::<u64>([1, 2].map(|n| Sub::new("echo", &n))).await?;
            Ok::<u64, TaskError>(all.values().into_iter().sum())
        });
        sum.await?
    };
    let echo = |_: Ctx, n: u64| async move { Ok(n) };
    let worker = lab.worker().handler("parent", parent).handler("echo", echo).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    assert_eq!(lab.ended(id).await.result, Some(Json::of(&3).unwrap()));
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn a_retried_attempt_begins_with_what_was_recorded(lab: &Lab) {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let parent = move |ctx: Ctx, _: Json| {
        let count = Arc::clone(&count);
        async move {
            ctx.call::<()>("noop", &()).await?;
            ctx.step("once", async { Ok(count.fetch_add(1, Ordering::SeqCst)) }).await?;
            match ctx.attempt() {
                1 => Err(TaskError::new("once more")),
                2 => panic!("and again"),
                _ => Ok(()),
            }
        }
    };
    let worker = lab.worker().handler(quick("parent", 3), parent).handler("noop", noop).start().await.unwrap();
    let id = lab.enqueue("parent").await;
    let task = lab.ended(id).await;
    assert_eq!((task.state, task.attempt, runs.load(Ordering::SeqCst)), (State::Completed, 3, 1));
    let kinds: Vec<_> =
        lab.store.attempts(id).await.unwrap().into_iter().map(|attempt| attempt.failure.map(|f| f.kind)).collect();
    assert_eq!(kinds[..2], [Some(FailureKind::Error), Some(FailureKind::Panic)]);
    worker.stop().await.unwrap();
    lab.check().await;
}
