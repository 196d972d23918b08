//! Families of one child, of very many, and of as many generations as there may be: they are all made, run and counted.
//!
//! `KINFOLK_FAULTS_CHILDREN` is how many children the widest family has; above 100,000, which is what one handler may make,
//! they are spread over as many parents as it takes.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kinfolk_core::limits::{DEPTH_MAX, MADE_MAX};
use kinfolk_core::{FailureKind, State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::families::assert_whole;
use kinfolk_faults::journal;
use kinfolk_faults::process::Process;
use kinfolk_faults::sound::{all_tasks, assert_unbroken};
use kinfolk_faults::victim::{Orders, Plan, made};

use crate::{PATIENCE, journal, start, worker};

/// The widest family unless the environment says otherwise: as wide as fits into a test.
const CHILDREN: u32 = 10_000;

fn children() -> Result<u32> {
    match std::env::var("KINFOLK_FAULTS_CHILDREN") {
        Ok(text) => text.parse().context("KINFOLK_FAULTS_CHILDREN is not a number"),
        Err(_) => Ok(CHILDREN),
    }
}

/// A family of so many leaves.
fn of_width(name: &str, leaves: u32) -> Result<Plan> {
    let at_once = u32::try_from(MADE_MAX)?;
    if leaves <= at_once {
        return Ok(Plan { leaves, ..Plan::named(name) });
    }
    let mut plan = Plan::wide(name, usize::try_from(leaves.div_ceil(at_once))?);
    let mut left = leaves;
    for parent in &mut plan.children {
        parent.leaves = left.min(at_once);
        left -= parent.leaves;
    }
    Ok(plan)
}

/// A worker, one that can take many at once.
fn wide_worker(bed: &Bed) -> Result<Process> {
    let mut worker = start("the worker", &Orders { capacity: 1_000, lease_ms: 30_000, work_ms: 0, ..worker(bed) })?;
    worker.wait_line("ready", PATIENCE)?;
    Ok(worker)
}

/// Waits until a root has ended, however long it takes, as long as something moves.
pub(crate) async fn wait_ended(store: &dyn Store, root: TaskId) -> Result<State> {
    let mut last = (None, Instant::now());
    loop {
        let task = store.task(root).await?.context("the root is gone")?;
        if task.state.is_terminal() {
            return Ok(task.state);
        }
        let progress = store.progress(root).await?;
        if last.0.as_ref() != Some(&progress) {
            last = (Some(progress), Instant::now());
        }
        ensure!(last.1.elapsed() < PATIENCE, "nothing has moved for {PATIENCE:?}: {last:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn wide(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let worker = wide_worker(&bed)?;
    let mut roots = Vec::new();
    for width in [1, 1_000, children()?] {
        let from = Instant::now();
        let root = made(&store.enqueue(&[of_width(&format!("of {width}"), width)?.task()?]).await?)?[0];
        let end = wait_ended(&*store, root).await?;
        ensure!(end == State::Completed, "the family of {width} is {end}");
        println!("{width} children on {kind:?}: {:?}; {}", from.elapsed(), memory(&worker));
        let family = store.progress(root).await?.family;
        let parents = u64::from(width).div_ceil(MADE_MAX as u64);
        let total = u64::from(width) + if parents > 1 { parents } else { 0 };
        ensure!(family.total == total && family.completed == total, "of {total} children: {family:?}");
        roots.push(root);
    }
    drop(worker);
    if children()? <= CHILDREN {
        assert_whole(&*store, &roots, &journal::read(&journal(&bed))?).await?;
    }
    Ok(())
}

/// The most memory that the worker has held.
fn memory(worker: &Process) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", worker.id())).unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    peak.map_or("memory not known".to_owned(), |line| line.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A chain of so many generations below its root.
fn chain(name: &str, generations: u16) -> Plan {
    let end = Plan::named(format!("{name}.{generations}"));
    (0..generations)
        .rev()
        .fold(end, |below, depth| Plan { children: vec![below], ..Plan::named(format!("{name}.{depth}")) })
}

async fn deep(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let _worker = wide_worker(&bed)?;
    let plans = [chain("deep", DEPTH_MAX).task()?, chain("deeper", DEPTH_MAX + 1).task()?];
    let roots = made(&store.enqueue(&plans).await?)?;
    ensure!(wait_ended(&*store, roots[0]).await? == State::Completed, "{DEPTH_MAX} generations are too many");
    ensure!(wait_ended(&*store, roots[1]).await? == State::Failed, "{} generations are not too many", DEPTH_MAX + 1);
    let tasks = all_tasks(&*store).await?;
    let levels = |root: TaskId| tasks.values().filter(move |task| task.root == root).map(|task| task.depth).max();
    ensure!(levels(roots[0]) == Some(DEPTH_MAX), "the chain is not whole");
    ensure!(levels(roots[1]) == Some(DEPTH_MAX), "something was made where nothing may be");
    let refused =
        tasks.values().find(|task| task.root == roots[1] && task.depth == DEPTH_MAX).context("no last one")?;
    let failure = refused.failure.as_ref().context("the last one did not fail")?;
    ensure!(refused.outcome.is_none() && failure.message.contains("generations"), "{failure:?}");
    let by_children =
        tasks.values().filter(|task| task.failure.as_ref().is_some_and(|f| f.kind == FailureKind::Children));
    ensure!(by_children.count() == usize::from(DEPTH_MAX), "the failure did not go up to the root");
    assert_unbroken(&*store).await
}

#[tokio::test(flavor = "multi_thread")]
async fn families_of_one_child_and_of_very_many_complete_on_sqlite() -> Result<()> {
    wide(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn families_of_one_child_and_of_very_many_complete_on_postgres() -> Result<()> {
    wide(Kind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_32_generations_completes_and_the_33rd_is_refused_on_sqlite() -> Result<()> {
    deep(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_32_generations_completes_and_the_33rd_is_refused_on_postgres() -> Result<()> {
    deep(Kind::Postgres).await
}
