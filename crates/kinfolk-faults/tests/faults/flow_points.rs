//! Every crash point that durable handlers pass, and those of claims and settles around them: a process dies right before
//! or right after a commit, and the workflow goes on in another one as if nothing had happened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kinfolk_core::crash::DURABLE_POINTS;
use kinfolk_core::durable::Rule;
use kinfolk_core::{Command, CommandName, SignalName, State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::flows::{FLOW, Flow, GO, Op, assert_flows, notes, signal_value, wait_over};
use kinfolk_faults::victim::{Mode, Orders, made};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{PATIENCE, ledger, start, start_doomed, worker};

/// How many walks run side by side: they wait most of the time.
const SIDE_BY_SIDE: usize = 4;

/// Where a worker dies. The passings behind the first are those of a handler that has been resumed.
const DEATHS: &[&str] = &[
    "record.before",
    "record.after",
    "record.before:3",
    "record.after:3",
    "suspend.before",
    "suspend.after",
    "suspend.before:3",
    "suspend.after:3",
    "expire.before",
    "expire.after",
    "take_signal.before",
    "take_signal.after",
    "take_signal.before:2",
    "take_signal.after:2",
    "claim.before:3",
    "claim.after:3",
    "settle.before:2",
    "settle.after:2",
];

/// A workflow with everything in it, which runs from the top once more when all of it is through.
pub(crate) fn everything(name: &str) -> Flow {
    let leaf = |part: &str| Flow::new(format!("{name}.{part}"), Vec::new());
    let too_long = Flow::new(format!("{name}.long"), vec![Op::Sleep(3_600_000)]);
    let in_time = Op::FanOut { rule: Rule::CollectAll, timeout_ms: None, cancels: false, flows: vec![leaf("in time")] };
    let flows = vec![leaf("short"), too_long];
    let timed_out = Op::FanOut { rule: Rule::FailFast, timeout_ms: Some(150), cancels: false, flows };
    let flows = (0..3).map(|nth| leaf(&format!("part{nth}"))).collect();
    let stream = Op::Stream { page: 1, folds: true, flows };
    let make = Op::Make { children: vec![leaf("child")], follow_up: Some(Box::new(leaf("after"))) };
    let both = Op::Both(vec![Op::Call(Box::new(leaf("called"))), Op::Step], vec![stream]);
    let ops = vec![Op::Step, make, Op::Signal(GO.to_owned(), None), Op::Random, timed_out, both, in_time, Op::Step];
    Flow { errors: 1, ..Flow::new(name, ops) }
}

/// Waits until a workflow waits for its signal.
pub(crate) async fn wait_asked(store: &dyn Store, root: TaskId) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while store.task(root).await?.context("the root is gone")?.signals.is_empty() {
        ensure!(Instant::now() < deadline, "task {root} does not ask for its signal");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Sends a workflow its signal as soon as it waits for it.
pub(crate) async fn signal_when_asked(store: Arc<dyn Store>, root: TaskId) -> Result<()> {
    wait_asked(&*store, root).await?;
    store.signal(root, &SignalName::new(GO)?, &signal_value(0)?).await?;
    Ok(())
}

async fn enqueue(store: &dyn Store) -> Result<TaskId> {
    store.register(&[Command::new(CommandName::new(FLOW)?)]).await?;
    Ok(made(&store.enqueue(&[everything("all").task()?]).await?)?[0])
}

/// The workflow is whole, and has completed.
async fn assert_completed(bed: &Bed, store: &dyn Store, root: TaskId) -> Result<()> {
    wait_over(store, PATIENCE).await?;
    let end = store.task(root).await?.context("the root is gone")?;
    ensure!(end.state == State::Completed, "not completed in the end: {end:#?}");
    assert_flows(store, &[root], notes::read(&notes::beside(&ledger(bed)))?).await
}

async fn die_at(kind: Kind, point: &'static str) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let root = enqueue(&*store).await?;
    let orders = Orders { work_ms: 5, ..worker(&bed) };
    let mut doomed = start_doomed("the doomed worker", &orders, point)?;
    let signalled = tokio::spawn(signal_when_asked(Arc::clone(&store), root));
    tokio::task::spawn_blocking(move || doomed.wait_abort(PATIENCE)).await??;
    let _other = start("the other worker", &orders)?;
    signalled.await??;
    assert_completed(&bed, &*store, root).await
}

/// The one who sends the signal dies. If nobody was told that it is sent, it is there or it is not, and never half.
async fn die_signalling(kind: Kind, point: &'static str) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let root = enqueue(&*store).await?;
    let _worker = start("the worker", &Orders { work_ms: 5, ..worker(&bed) })?;
    wait_asked(&*store, root).await?;
    let orders = Orders { mode: Mode::Signal(root), ..worker(&bed) };
    let mut doomed = start_doomed("the doomed sender", &orders, point)?;
    tokio::task::spawn_blocking(move || doomed.wait_abort(PATIENCE)).await??;
    if point.ends_with("before") {
        wait_asked(&*store, root).await?;
        store.signal(root, &SignalName::new(GO)?, &signal_value(0)?).await?;
    }
    assert_completed(&bed, &*store, root).await
}

async fn walk(kind: Kind) -> Result<()> {
    let is_walked = |point: &&str| DEATHS.contains(point) || point.starts_with("signal.");
    let missing: Vec<_> = DURABLE_POINTS.iter().filter(|point| !is_walked(point)).collect();
    ensure!(missing.is_empty(), "nobody dies at {missing:?}");
    let turns = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut walks = JoinSet::new();
    for point in DEATHS.iter().copied().chain(["signal.before", "signal.after"]) {
        let turns = Arc::clone(&turns);
        walks.spawn(async move {
            let _turn = turns.acquire_owned().await?;
            let walked = match point.starts_with("signal.") {
                true => die_signalling(kind, point).await,
                false => die_at(kind, point).await,
            };
            walked.with_context(|| format!("at the crash point {point} on {kind:?}"))
        });
    }
    for answer in walks.join_all().await {
        answer?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_survives_a_death_at_every_crash_point_on_sqlite() -> Result<()> {
    walk(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_survives_a_death_at_every_crash_point_on_postgres() -> Result<()> {
    walk(Kind::Postgres).await
}
