//! One parent that waits for very many children, and one that takes very many large results in as they come, in little
//! memory.
//!
//! `KINFOLK_FAULTS_RESULTS` is how many children each has.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use kinfolk_core::{Policy, QueueName, State};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::flows::{Flow, Op, assert_flows, notes};
use kinfolk_faults::process::Process;
use kinfolk_faults::victim::{Orders, made};

use crate::breadth::wait_ended;
use crate::{PATIENCE, ledger, start, worker};

/// As many as fit into a test, unless the environment says otherwise.
const RESULTS: u32 = 5_000;
/// What the parent's process may take beyond what it has when idle.
const ABOVE_IDLE: u64 = 50 * 1024;

fn results() -> Result<u32> {
    match std::env::var("KINFOLK_FAULTS_RESULTS") {
        Ok(text) => text.parse().context("KINFOLK_FAULTS_RESULTS is not a number"),
        Err(_) => Ok(RESULTS),
    }
}

/// A line of what the kernel knows of a process's memory, in KiB.
fn memory(process: &Process, what: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()))?;
    let line = status.lines().find(|line| line.starts_with(what)).context("no such line")?;
    Ok(line.split_whitespace().nth(1).context("no number")?.parse()?)
}

async fn await_many(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let pads = QueueName::new("pads")?;
    store.set_queue(&pads, &Policy::default()).await?;
    let wide = Orders { capacity: 1_000, lease_ms: 30_000, work_ms: 0, ..worker(&bed) };
    let mut children = start("the children's worker", &Orders { queue: Some(pads.to_string()), ..wide.clone() })?;
    children.wait_line("ready", PATIENCE)?;
    let many = results()?;
    let mut roots = Vec::new();
    for (name, op) in [("stream", Op::Pads(many)), ("wide", Op::Leaves(many))] {
        // The children run elsewhere: this process has nothing to do but their parent.
        let queue = Some(QueueName::default().to_string());
        let mut parent = start("the parent's worker", &Orders { queue, ..wide.clone() })?;
        parent.wait_line("ready", PATIENCE)?;
        let idle = memory(&parent, "VmRSS")?;
        let from = Instant::now();
        let root = made(&store.enqueue(&[Flow::new(name, vec![op]).task()?]).await?)?[0];
        let end = wait_ended(&*store, root).await?;
        ensure!(end == State::Completed, "the {name} of {many} is {end}: {:#?}", store.task(root).await?);
        let (peak, took) = (memory(&parent, "VmHWM")?, from.elapsed());
        println!("{name} of {many} on {kind:?}: {took:?}, {} KiB above idle ({idle} KiB)", peak - idle);
        ensure!(name != "stream" || peak - idle < ABOVE_IDLE, "the stream took {} KiB", peak - idle);
        roots.push(root);
    }
    if many <= RESULTS {
        assert_flows(&*store, &roots, notes::read(&notes::beside(&ledger(&bed)))?).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_of_very_many_awaited_children_completes_in_little_memory_on_sqlite() -> Result<()> {
    await_many(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_of_very_many_awaited_children_completes_in_little_memory_on_postgres() -> Result<()> {
    await_many(Kind::Postgres).await
}
