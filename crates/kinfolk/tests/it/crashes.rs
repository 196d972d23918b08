//! A worker that dies at any of its commits: nothing recorded is done again, and no child is made twice.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfolk::testing::{Crash, TestKit};
use kinfolk::{Ctx, Json, State, Sub, Tally, TaskError, TaskId, WorkerBuilder};

use crate::lab::{Lab, on_both_stores, within};

on_both_stores!(
    a_crash_at_any_commit_of_a_call_repeats_nothing,
    a_crash_at_any_commit_of_a_fan_out_repeats_nothing,
    a_crash_at_any_commit_of_a_stream_repeats_nothing,
    a_crash_at_any_commit_of_a_sleep_repeats_nothing,
    a_crash_at_any_commit_of_a_signal_repeats_nothing,
    a_crash_at_any_commit_of_a_whole_workflow_repeats_nothing,
    a_fan_out_is_noticed_without_any_wake_up,
);

/// What the handlers of one task have seen.
#[derive(Default)]
struct Seen {
    /// The values that each operation has answered, by its name.
    answers: Mutex<BTreeMap<String, Vec<String>>>,
    drawn: AtomicUsize,
}

impl Seen {
    fn note(&self, operation: &str, answer: &(impl ToString + ?Sized)) {
        self.answers.lock().unwrap().entry(operation.to_owned()).or_default().push(answer.to_string());
    }

    /// A step whose body never returns the same twice.
    async fn step(&self, ctx: &Ctx, name: &str) -> Result<(), TaskError> {
        let drawn: usize = ctx.step(name, async { Ok(self.drawn.fetch_add(1, Ordering::SeqCst)) }).await?;
        self.note(name, &drawn);
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Call,
    FanOut,
    Stream,
    Sleep,
    Signal,
    All,
}

/// Does one part, or all of them, with a step before and after each.
async fn workflow(ctx: Ctx, part: Part, seen: Arc<Seen>) -> Result<(), TaskError> {
    let does = |this| part == this || part == Part::All;
    seen.note("random", &ctx.random::<u64>().await?);
    seen.step(&ctx, "begin").await?;
    ctx.spawn("echo", &0).await?;
    if does(Part::Call) {
        seen.note("call", &ctx.call::<u64>("echo", &1).await?);
        seen.step(&ctx, "called").await?;
    }
    if does(Part::FanOut) {
        let all = ctx.fan_out::<u64>((10..13).map(|n| Sub::new("echo", &n))).named("fan out").await?;
        seen.note("fan out", &format!("{:?}", all.values()));
        seen.step(&ctx, "fanned out").await?;
    }
    if does(Part::Stream) {
        let stream = ctx.fan_out_stream::<u64>((20..24).map(|n| Sub::new("echo", &n))).named("stream").page(1);
        let sum = stream.fold(0, |sum, result| sum + result.outcome.unwrap_or(1_000)).await?;
        seen.note("stream", &sum);
        let mut stream = ctx.fan_out_stream::<u64>((30..33).map(|n| Sub::new("echo", &n))).named("next").page(2);
        while let Some(result) = stream.next().await? {
            // In the order in which they came, which is the same at every run.
            seen.step(&ctx, &format!("got {}", result.index)).await?;
        }
    }
    if does(Part::Sleep) {
        ctx.sleep(Duration::from_millis(1)).await?;
        seen.step(&ctx, "slept").await?;
    }
    if does(Part::Signal) {
        let word: Option<String> = ctx.wait_signal("go", Some(Duration::from_secs(86_400))).await?;
        seen.note("signal", &word.unwrap_or_default());
        let none: Option<String> = ctx.wait_signal("none", Some(Duration::from_millis(1))).await?;
        seen.note("no signal", &none.is_none());
    }
    seen.step(&ctx, "end").await
}

/// Children that the workflow makes.
fn children(part: Part) -> u64 {
    1 + match part {
        Part::Call => 1,
        Part::FanOut => 3,
        Part::Stream => 7,
        Part::Sleep | Part::Signal => 0,
        Part::All => 11,
    }
}

fn handlers(worker: WorkerBuilder, part: Part, seen: &Arc<Mutex<Arc<Seen>>>) -> WorkerBuilder {
    let seen = Arc::clone(seen);
    let flow = move |ctx: Ctx, _: Json| workflow(ctx, part, Arc::clone(&seen.lock().unwrap()));
    worker.handler("flow", flow).handler("echo", |_: Ctx, n: u64| async move { Ok(n) })
}

/// Runs the kit until the task has ended, as time passes and as the world answers.
async fn finish(kit: &mut TestKit, id: TaskId) {
    within(async {
        loop {
            kit.run_until_idle().await.unwrap();
            let task = kit.kinfolk().task(id).await.unwrap();
            if task.state.is_terminal() {
                return;
            }
            if task.signals.iter().any(|name| name.as_str() == "go") {
                kit.kinfolk().signal(id, "go", "now").await.unwrap();
            }
            kit.clock().advance(Duration::from_secs(1));
        }
    })
    .await;
}

/// Runs the workflow again and again, each time with a crash one commit later, until none happens any more.
async fn crash_everywhere(lab: &Lab, part: Part) {
    let seen: Arc<Mutex<Arc<Seen>>> = Arc::default();
    for side in [Crash::Before, Crash::After] {
        let mut crash_at = 1;
        loop {
            *seen.lock().unwrap() = Arc::default();
            let shown = Arc::clone(&seen);
            let kit = TestKit::on(lab.store.clone(), move |worker| handlers(worker, part, &shown)).await;
            let mut kit = kit.unwrap();
            let id = kit.kinfolk().enqueue("flow", &()).await.unwrap().id().unwrap();
            kit.crash_at(side(crash_at));
            finish(&mut kit, id).await;
            let task = kit.kinfolk().task(id).await.unwrap();
            assert_eq!(task.state, State::Completed, "{:?}: {:?}", side(crash_at), task.failure);
            assert_eq!(task.attempt, 1, "a worker that is given back costs no attempt");
            let total = children(part);
            let tally = kit.kinfolk().tally(id).await.unwrap();
            assert_eq!(tally, Tally { total, completed: total, ..Tally::default() }, "{:?}", side(crash_at));
            for (operation, answers) in &*seen.lock().unwrap().answers.lock().unwrap() {
                let same = answers.iter().all(|answer| *answer == answers[0]);
                // Only what no write had followed yet may be drawn again.
                assert!(same || operation == "random", "{:?}: {operation} answered {answers:?}", side(crash_at));
            }
            kit.stop().await.unwrap();
            if kit.crashes() == 0 {
                assert!(crash_at > 4, "only {crash_at} commits");
                break;
            }
            crash_at += 1;
        }
    }
    lab.check().await;
}

async fn a_crash_at_any_commit_of_a_call_repeats_nothing(lab: &Lab) {
    crash_everywhere(lab, Part::Call).await;
}

async fn a_crash_at_any_commit_of_a_fan_out_repeats_nothing(lab: &Lab) {
    crash_everywhere(lab, Part::FanOut).await;
}

async fn a_crash_at_any_commit_of_a_stream_repeats_nothing(lab: &Lab) {
    crash_everywhere(lab, Part::Stream).await;
}

async fn a_crash_at_any_commit_of_a_sleep_repeats_nothing(lab: &Lab) {
    crash_everywhere(lab, Part::Sleep).await;
}

async fn a_crash_at_any_commit_of_a_signal_repeats_nothing(lab: &Lab) {
    crash_everywhere(lab, Part::Signal).await;
}

async fn a_crash_at_any_commit_of_a_whole_workflow_repeats_nothing(lab: &Lab) {
    crash_everywhere(lab, Part::All).await;
}

async fn a_fan_out_is_noticed_without_any_wake_up(lab: &Lab) {
    let seen: Arc<Mutex<Arc<Seen>>> = Arc::default();
    let kit = TestKit::on(lab.store.clone(), move |worker| handlers(worker, Part::FanOut, &seen)).await;
    let mut kit = kit.unwrap().suppress_wakeups();
    let id = kit.kinfolk().enqueue("flow", &()).await.unwrap().id().unwrap();
    finish(&mut kit, id).await;
    kit.assert_all(id, State::Completed).await;
    let fan_out = kit.wait_for_fan_out(id, "fan out").await.unwrap();
    assert_eq!((fan_out.tally.completed, fan_out.decided_at), (3, Some(3)));
    lab.check().await;
}
