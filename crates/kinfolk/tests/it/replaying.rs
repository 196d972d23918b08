//! Code that changes while tasks are in flight: what is fine, what is told, and what a dry run says before.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::core::StepKind;
use kinfolk::testing::TestKit;
use kinfolk::{Ctx, FailureKind, Json, ReplayEnd, State, Sub, TaskError, TaskId, WorkerBuilder};

/// A handler by the number of its version.
fn version(worker: WorkerBuilder, version: u32, runs: &Arc<AtomicUsize>) -> WorkerBuilder {
    let runs = Arc::clone(runs);
    let parent = move |ctx: Ctx, _: Json| {
        let runs = Arc::clone(&runs);
        async move {
            let step = async |name: &str| ctx.step(name, async { Ok(runs.fetch_add(1, Ordering::SeqCst)) }).await;
            match version {
                1 => {
                    step("a").await?;
                    step("b").await?;
                }
                // A step more, and the old ones in another order.
                2 => {
                    step("b").await?;
                    step("new").await?;
                    step("a").await?;
                }
                // A step less.
                3 => drop(step("b").await?),
                // Another kind of operation under a recorded name.
                4 => drop(ctx.call::<Json>("b", &()).await?),
                // Recorded as a number, and asked for as a text.
                5 => drop(ctx.step::<String, _>("a", async { Ok(String::new()) }).await?),
                _ => {
                    ctx.random::<u64>().await?;
                    step("b").await?;
                }
            }
            let word = if version == 6 { "changed" } else { "same" };
            ctx.spawn("noop", word).await?;
            let word = if version == 7 { "changed" } else { "same" };
            ctx.fan_out::<Json>([Sub::new("noop", word)]).named("wait").await?;
            Ok(version)
        }
    };
    worker.handler("parent", parent)
}

/// A task that was begun by version 1 and waits for its child.
async fn begun(runs: &Arc<AtomicUsize>) -> (TestKit, TaskId) {
    let count = Arc::clone(runs);
    let mut kit = TestKit::new(move |worker| version(worker, 1, &count)).await.unwrap();
    for command in ["noop", "b"] {
        kit.known(command).await.unwrap();
    }
    let id = kit.kinfolk().enqueue("parent", &()).await.unwrap().id().unwrap();
    kit.run_until_idle().await.unwrap();
    assert_eq!(kit.kinfolk().task(id).await.unwrap().state, State::Waiting);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    (kit, id)
}

async fn end_children(kit: &TestKit, id: TaskId) {
    for child in kit.kinfolk().children(id, 0, 10).await.unwrap() {
        if child.state == State::Pending {
            kit.complete_sub_task(child.id, &()).await.unwrap();
        }
    }
}

async fn upgraded_to(to: u32) -> (Arc<AtomicUsize>, TestKit, TaskId) {
    let runs = Arc::new(AtomicUsize::new(0));
    let (mut kit, id) = begun(&runs).await;
    let count = Arc::clone(&runs);
    kit.deploy(move |worker| version(worker, to, &count)).await.unwrap();
    end_children(&kit, id).await;
    kit.run_until_idle().await.unwrap();
    end_children(&kit, id).await;
    kit.run_until_idle().await.unwrap();
    assert_eq!(kit.check().await.unwrap(), []);
    (runs, kit, id)
}

#[tokio::test]
async fn steps_may_be_added_moved_and_left_out_while_tasks_are_in_flight() {
    for (to, ran) in [(1, 2), (2, 3), (3, 2)] {
        let (runs, kit, id) = upgraded_to(to).await;
        assert_eq!(kit.result::<u32>(id).await.unwrap(), to, "version {to}");
        assert_eq!(runs.load(Ordering::SeqCst), ran, "version {to}: only what is new was run");
    }
}

#[tokio::test]
async fn a_changed_operation_under_a_recorded_name_is_told_with_its_remedy_and_never_retried() {
    for (to, words) in [
        (4, "b was recorded as step, and is asked for as fan_out"),
        (5, "what a has recorded does not fit"),
        (6, "spawn noop (make) was recorded for another command or other arguments"),
        (7, "wait (fan_out) was recorded for another command or other arguments"),
    ] {
        let (_, kit, id) = upgraded_to(to).await;
        let task = kit.kinfolk().task(id).await.unwrap();
        let failure = task.failure.unwrap();
        assert_eq!((task.state, failure.kind), (State::Failed, FailureKind::Diverged), "version {to}");
        assert!(failure.message.contains(words) && failure.message.contains("another name"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_diverged_task_goes_on_with_the_code_that_began_it() {
    let (runs, mut kit, id) = upgraded_to(7).await;
    let count = Arc::clone(&runs);
    kit.deploy(move |worker| version(worker, 1, &count)).await.unwrap();
    kit.kinfolk().retry_family(id).await.unwrap();
    kit.run_until_idle().await.unwrap();
    assert_eq!(kit.result::<u32>(id).await.unwrap(), 1);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_dry_run_says_whether_and_where_the_code_diverges_and_writes_nothing() {
    let runs = Arc::new(AtomicUsize::new(0));
    let (kit, id) = begun(&runs).await;
    let before = (kit.tree(id).await.unwrap(), kit.kinfolk().history(id).await.unwrap());
    let dry = async |to| version(kit.kinfolk().worker(), to, &runs).replay(id).await.unwrap();
    let names = |keys: &[kinfolk::core::Key]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();

    let same = dry(1).await;
    assert!(same.is_sound() && same.unused.is_empty() && same.steps == 4, "{same:?}");
    let ReplayEnd::GoesOn(at) = &same.end else { panic!("{same:?}") };
    assert_eq!((at[0].0.to_string(), at[0].1), ("wait".to_owned(), StepKind::FanOut));

    let ReplayEnd::GoesOn(at) = dry(2).await.end else { panic!() };
    assert_eq!(
        (at[0].0.to_string(), at[0].1),
        ("new".to_owned(), StepKind::Step),
        "where the first new step would run"
    );
    assert_eq!(names(&dry(3).await.unused), ["a"]);
    for to in [4, 5, 6, 7] {
        assert!(!dry(to).await.is_sound(), "version {to}");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2, "no step was run");
    assert_eq!((kit.tree(id).await.unwrap(), kit.kinfolk().history(id).await.unwrap()), before);

    let nobody = kit.kinfolk().worker().replay(id).await.unwrap_err();
    assert!(nobody.to_string().contains("no handler for parent"), "{nobody}");
}

#[tokio::test]
async fn a_dry_run_of_a_task_that_has_ended_runs_to_its_end() {
    let (_, kit, id) = upgraded_to(1).await;
    let again = version(kit.kinfolk().worker(), 1, &Arc::default()).replay(id).await.unwrap();
    assert_eq!(again.end, ReplayEnd::Returned);
}

#[tokio::test]
async fn the_kit_stands_still_until_its_clock_is_moved() {
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.sleep(Duration::from_secs(86_400)).await?;
        Ok::<_, TaskError>("good morning")
    };
    let mut kit = TestKit::new(move |worker| worker.handler("parent", parent)).await.unwrap().suppress_wakeups();
    let id = kit.kinfolk().enqueue("parent", &()).await.unwrap().id().unwrap();
    kit.run_until_idle().await.unwrap();
    kit.assert_tree(id, "parent waiting").await;
    kit.clock().advance(Duration::from_secs(86_399));
    kit.run_until_idle().await.unwrap();
    kit.assert_all(id, State::Waiting).await;
    kit.clock().advance(Duration::from_secs(1));
    kit.run_until_idle().await.unwrap();
    assert_eq!(kit.result::<String>(id).await.unwrap(), "good morning");
}

#[tokio::test]
async fn a_durable_task_can_be_cancelled_wherever_it_stands() {
    let parent = |ctx: Ctx, _: Json| async move {
        ctx.step("first", async { Ok(()) }).await?;
        ctx.call::<()>("child", &()).await?;
        ctx.sleep(Duration::from_secs(60)).await?;
        ctx.wait_signal::<Json>("word", None).await?;
        ctx.spawn("child", &()).await?;
        Ok::<_, TaskError>(())
    };
    for stands in 0..5 {
        let mut kit = TestKit::new(move |worker| worker.handler("parent", parent)).await.unwrap();
        kit.known("child").await.unwrap();
        let id = kit.kinfolk().enqueue("parent", &()).await.unwrap().id().unwrap();
        for reached in 0..stands {
            match reached {
                1 => end_children(&kit, id).await,
                2 => kit.clock().advance(Duration::from_secs(61)),
                3 => drop(kit.kinfolk().signal(id, "word", &1).await.unwrap()),
                _ => {}
            }
            kit.run_until_idle().await.unwrap();
        }
        let before = kit.kinfolk().task(id).await.unwrap();
        assert_eq!(before.state == State::Pending, stands == 0, "{before:?}");
        kit.kinfolk().cancel(id).await.unwrap();
        kit.run_until_idle().await.unwrap();
        let task = kit.kinfolk().task(id).await.unwrap();
        assert_eq!((task.state, task.result), (State::Cancelled, None), "where {stands} waits were reached");
        assert_eq!(kit.kinfolk().tally(id).await.unwrap().open(), 0);
        assert_eq!(kit.check().await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_repaired_family_goes_on_without_repeating_what_was_recorded() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let parent = move |ctx: Ctx, _: Json| {
        let count = Arc::clone(&count);
        async move {
            ctx.step("before", async { Ok(count.fetch_add(1, Ordering::SeqCst)) }).await?;
            let all = ctx.fan_out::<u64>((0..3).map(|n| Sub::new("child", &n))).fail_fast().await?;
            Ok::<_, TaskError>(all.values().into_iter().sum::<u64>())
        }
    };
    let configure = move |worker: WorkerBuilder| worker.handler("parent", parent.clone());
    let mut kit = TestKit::new(configure).await.unwrap();
    kit.known("child").await.unwrap();
    let id = kit.kinfolk().enqueue("parent", &()).await.unwrap().id().unwrap();
    kit.run_until_idle().await.unwrap();
    let children: Vec<_> = kit.kinfolk().children(id, 0, 9).await.unwrap().iter().map(|child| child.id).collect();
    kit.complete_sub_task(children[0], &5).await.unwrap();
    kit.fail_sub_task(children[1], "no").await.unwrap();
    kit.complete_sub_task(children[2], &7).await.unwrap();
    kit.run_until_idle().await.unwrap();
    kit.assert_tree(id, "parent failed\n  child completed\n  child failed\n  child completed").await;
    kit.kinfolk().retry_family(id).await.unwrap();
    kit.assert_tree(id, "parent waiting\n  child completed\n  child pending\n  child completed").await;
    kit.complete_sub_task(children[1], &30).await.unwrap();
    kit.run_until_idle().await.unwrap();
    assert_eq!(kit.result::<u64>(id).await.unwrap(), 42);
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(kit.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_record_whose_operation_was_dropped_is_written_before_the_suspension() {
    let drawn = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&drawn);
    let parent = move |ctx: Ctx, _: Json| {
        let seen = Arc::clone(&seen);
        async move {
            let drawn: u64 = ctx.random().await?;
            seen.lock().unwrap().push(drawn);
            // The step is given up as soon as its records are on their way.
            let step = ctx.step::<(), _>("given up", std::future::pending());
            tokio::select! {
                biased;
                step = step => step?,
                () = std::future::ready(()) => {}
            }
            ctx.sleep(Duration::from_secs(1)).await?;
            Ok::<_, TaskError>(())
        }
    };
    let mut kit = TestKit::new(move |worker| worker.handler("parent", parent.clone())).await.unwrap();
    let id = kit.kinfolk().enqueue("parent", &()).await.unwrap().id().unwrap();
    kit.run_until_idle().await.unwrap();
    kit.clock().advance(Duration::from_secs(2));
    kit.run_until_idle().await.unwrap();
    kit.assert_all(id, State::Completed).await;
    let drawn = drawn.lock().unwrap().clone();
    assert!(drawn.len() == 2 && drawn[0] == drawn[1], "{drawn:?}");
}
