//! Durable handlers against the clock and against their own past: a timeout and the last child, a cancellation in every
//! state, a worker that was stopped past its lease, answers that get lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kinfolk_core::durable::{Rule, Verdict};
use kinfolk_core::{QueueName, SignalName, State, Store, Task, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::flows::notes::{Heard, Note, What};
use kinfolk_faults::flows::{Flow, GO, Op, assert_flows, notes, signal_value, wait_over};
use kinfolk_faults::process::Process;
use kinfolk_faults::sound::all_tasks;
use kinfolk_faults::victim::{Orders, made};

use crate::flow_points::{everything, signal_when_asked};
use crate::flows::assert_no_deadlock;
use crate::lost_answers::ProxiedStore;
use crate::{PATIENCE, ledger, start, worker};

fn read_notes(bed: &Bed) -> Result<Vec<Note>> {
    notes::read(&notes::beside(&ledger(bed)))
}

fn started(name: &str, orders: &Orders) -> Result<Process> {
    let mut process = start(name, orders)?;
    process.wait_line("ready", PATIENCE)?;
    Ok(process)
}

/// A child that sleeps almost as long as its fan-out may take, or a little longer.
async fn race_the_timeout(kind: Kind) -> Result<()> {
    const TIMEOUT: u64 = 1_500;
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let _workers = [started("one worker", &worker(&bed))?, started("another worker", &worker(&bed))?];
    let mut roots = Vec::new();
    for nth in 0..40 {
        let name = format!("t{nth}");
        let child = Flow::new(format!("{name}.late"), vec![Op::Sleep(50 * nth)]);
        let flows = vec![Flow::new(format!("{name}.quick"), Vec::new()), child];
        let race = Op::FanOut { rule: Rule::CollectAll, timeout_ms: Some(TIMEOUT), cancels: false, flows };
        roots.push(Flow { errors: 1, ..Flow::new(name, vec![race, Op::Step]) }.task()?);
    }
    let roots = made(&store.enqueue(&roots).await?)?;
    wait_over(&*store, PATIENCE).await?;
    let notes = read_notes(&bed)?;
    let heard = notes
        .iter()
        .filter(|note| note.op == "0" && roots.contains(&note.task))
        .filter_map(|note| if let What::Saw(value) = &note.what { value.to::<Heard>().ok() } else { None });
    let (done, late): (Vec<_>, Vec<_>) = heard.partition(|heard| heard.verdict == Verdict::Completed);
    println!("{} in time, {} late", done.len(), late.len());
    ensure!(!done.is_empty() && !late.is_empty(), "there was no race");
    assert_no_deadlock(&bed, kind).await?;
    assert_flows(&*store, &roots, notes).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_and_the_last_child_have_one_outcome_on_sqlite() -> Result<()> {
    race_the_timeout(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_and_the_last_child_have_one_outcome_on_postgres() -> Result<()> {
    race_the_timeout(Kind::Postgres).await
}

type Is = fn(&Task) -> bool;

/// Workflows, and the state in which each is cancelled.
fn to_be_cancelled() -> Vec<(Flow, Is)> {
    let sleeper = |name: &str| Flow::new(format!("{name}.sleeper"), vec![Op::Sleep(3_600_000)]);
    let fan_out = |name: &str| Op::FanOut {
        rule: Rule::FailFast,
        timeout_ms: Some(3_600_000),
        cancels: false,
        flows: vec![sleeper(name), Flow::new(format!("{name}.quick"), vec![Op::Step])],
    };
    let make = |name: &str| Op::Make {
        children: vec![sleeper(&format!("{name}.made"))],
        follow_up: Some(Box::new(Flow::new(format!("{name}.after"), Vec::new()))),
    };
    let suspended: Is = |task| task.state == State::Waiting && task.outcome.is_none();
    vec![
        (Flow::new("running", vec![make("running"), Op::Step]), |task| task.state == State::Running),
        (Flow::new("children", vec![make("children"), fan_out("children")]), suspended),
        (Flow::new("timer", vec![Op::Step, Op::Sleep(3_600_000)]), suspended),
        (Flow::new("signal", vec![make("signal"), Op::Signal("never".to_owned(), None)]), suspended),
        (
            Flow::new(
                "both",
                vec![Op::Both(vec![fan_out("both")], vec![Op::Signal("never".to_owned(), Some(3_600_000))])],
            ),
            suspended,
        ),
        // Long enough for the suspension to be written before it is over: else the handler fails without any children.
        (Flow::new("failed", vec![Op::Both(vec![fan_out("failed")], vec![Op::Sleep(1_000), Op::Fail])]), |task| {
            task.outcome == Some(State::Failed)
        }),
    ]
}

async fn wait_state(store: &dyn Store, id: TaskId, is: Is) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let task = store.task(id).await?.context("gone")?;
        if is(&task) {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "not in the state to be cancelled in: {task:#?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn cancel_everywhere(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let _worker = started("the worker", &Orders { work_ms: 100, ..worker(&bed) })?;
    let mut roots = Vec::new();
    for (flow, is) in to_be_cancelled() {
        let root = made(&store.enqueue(&[flow.task()?]).await?)?[0];
        wait_state(&*store, root, is).await?;
        store.cancel(root).await?;
        roots.push(root);
    }
    // Resumed, and not claimed yet: nobody claims from a queue that is paused. And never claimed at all.
    let flow = Flow::new("resumed", vec![Op::Step, Op::Signal(GO.to_owned(), None), Op::Step]);
    let resumed = made(&store.enqueue(&[flow.task()?]).await?)?[0];
    wait_state(&*store, resumed, |task| !task.signals.is_empty()).await?;
    store.pause(&QueueName::default(), None).await?;
    let pending = made(&store.enqueue(&[Flow::new("pending", vec![Op::Step]).task()?]).await?)?[0];
    store.signal(resumed, &SignalName::new(GO)?, &signal_value(0)?).await?;
    wait_state(&*store, resumed, |task| task.state == State::Pending).await?;
    for root in [resumed, pending] {
        store.cancel(root).await?;
        roots.push(root);
    }
    store.resume(&QueueName::default()).await?;
    wait_over(&*store, PATIENCE).await?;
    for root in &roots {
        let task = store.task(*root).await?.context("gone")?;
        ensure!(task.state == State::Cancelled, "ended as {}: {task:#?}", task.state);
    }
    assert_no_deadlock(&bed, kind).await?;
    assert_flows(&*store, &roots, read_notes(&bed)?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_can_be_cancelled_in_every_state_on_sqlite() -> Result<()> {
    cancel_everywhere(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_can_be_cancelled_in_every_state_on_postgres() -> Result<()> {
    cancel_everywhere(Kind::Postgres).await
}

/// Waits until a process has noted this.
async fn wait_note(bed: &Bed, process: u32, is: impl Fn(&Note) -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !read_notes(bed)?.iter().any(|note| note.process == process && is(note)) {
        ensure!(Instant::now() < deadline, "process {process} has not come so far");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

/// A worker is stopped while its handler holds the thread in front of a record, or of a suspension, and another worker runs
/// the workflow to its end. When the late one goes on, its write is refused, or it learns of its loss before that; either
/// way nothing changes.
async fn late_write(kind: Kind, before: Op) -> Result<()> {
    const ROUNDS: usize = 4;
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let mut roots = Vec::new();
    for round in 0..ROUNDS {
        let slow = Orders { capacity: 4, work_ms: 400, ..worker(&bed) };
        let mut late = started("the late worker", &slow)?;
        let name = format!("late{round}");
        let child = Op::Call(Box::new(Flow::new(format!("{name}.child"), Vec::new())));
        let flow = Flow { holds: true, ..Flow::new(name, vec![before.clone(), child, Op::Step]) };
        let root = made(&store.enqueue(&[flow.task()?]).await?)?[0];
        roots.push(root);
        wait_note(&bed, late.id(), |note| note.task == root && note.op == "0").await?;
        late.signal("STOP")?;
        let mut other = started("the other worker", &Orders { work_ms: 1, ..slow.clone() })?;
        wait_over(&*store, PATIENCE).await?;
        let before = all_tasks(&*store).await?;
        late.signal("CONT")?;
        late.wait_line("event lease_lost", PATIENCE)?;
        for process in [&mut late, &mut other] {
            process.signal("TERM")?;
            process.wait_line("end", PATIENCE)?;
        }
        ensure!(all_tasks(&*store).await? == before, "the late write of round {round} has changed something");
        if late.lines().iter().any(|line| line.starts_with("event stale")) {
            break;
        }
    }
    assert_flows(&*store, &roots, read_notes(&bed)?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_a_worker_stopped_past_its_lease_is_refused_on_sqlite() -> Result<()> {
    late_write(Kind::Sqlite, Op::Step).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_a_worker_stopped_past_its_lease_is_refused_on_postgres() -> Result<()> {
    late_write(Kind::Postgres, Op::Step).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suspension_of_a_worker_stopped_past_its_lease_is_refused_on_sqlite() -> Result<()> {
    late_write(Kind::Sqlite, Op::Hold).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suspension_of_a_worker_stopped_past_its_lease_is_refused_on_postgres() -> Result<()> {
    late_write(Kind::Postgres, Op::Hold).await
}

/// What durable handlers call, each lost in turn.
const CALLS: &[&str] = &[
    "kinfolk.record",
    "kinfolk.suspend",
    "kinfolk.expire",
    "kinfolk.take_signal",
    "kinfolk.history",
    "kinfolk.claim",
    "kinfolk.settle",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_whose_answers_are_lost_again_and_again_does_everything_once() -> Result<()> {
    let line = ProxiedStore::new().await?;
    let orders = Orders { url: line.bed.url_through(line.proxy.port())?, ..worker(&line.bed) };
    let victim = started("the worker behind the proxy", &orders)?;
    let mut roots = Vec::new();
    for (round, call) in CALLS.iter().chain(CALLS).enumerate() {
        line.proxy.lose_answer(call, u32::try_from(1 + round / CALLS.len())?);
        let root = made(&line.direct.enqueue(&[everything(&format!("lost{round}")).task()?]).await?)?[0];
        signal_when_asked(Arc::clone(&line.direct), root).await?;
        line.proxy.wait_lost(u32::try_from(round)? + 1, PATIENCE).await.with_context(|| (*call).to_owned())?;
        roots.push(root);
    }
    wait_over(&*line.direct, PATIENCE).await?;
    drop(victim);
    assert_no_deadlock(&line.bed, Kind::Postgres).await?;
    assert_flows(&*line.direct, &roots, read_notes(&line.bed)?).await
}
