//! A PostgreSQL server that is gone for good, and a standby that takes over.

use anyhow::{Result, ensure};
use kinfolk_core::State;
use kinfolk_faults::bed::{Bed, connect};
use kinfolk_faults::ledger::Ledger;
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::Orders;
use kinfolk_testkit::{Cluster, Stop, Tools};

use crate::server::{enqueue_some, prepare};
use crate::{PATIENCE, ledger, start, worker};

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_takes_over_loses_and_doubles_nothing() -> Result<()> {
    let first = Cluster::new(&Tools::need()?, "")?;
    let bed = Bed::database_in(&first.url("postgres")).await?;
    prepare(&bed, &*bed.open().await?).await?;
    let second = first.standby()?;
    let name = bed.url().rsplit('/').next().unwrap_or_default();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", first.port(), second.port());
    let url = format!("postgres://postgres@{hosts}/{name}?target_session_attrs=read-write");
    let store = kinfolk::open(&url).await?;
    let orders = Orders { url, lease_ms: 3_000, ..worker(&bed) };
    let mut fleet = [start("a worker", &orders)?, start("a worker", &orders)?];
    for process in &mut fleet {
        process.wait_line("ready", PATIENCE)?;
    }
    let mut answered = Vec::new();
    for _ in 0..20 {
        enqueue_some(&*store, &mut answered).await?;
    }
    ensure!(!answered.is_empty(), "nothing was enqueued before");
    first.stop(Stop::Immediate)?;
    // Nobody takes writes for a moment: the standby is there, and must not be mistaken for the one.
    enqueue_some(&*store, &mut answered).await?;
    second.promote()?;
    let before = answered.len();
    while answered.len() == before {
        enqueue_some(&*store, &mut answered).await?;
    }
    wait_drained(&*store, PATIENCE).await?;
    for process in &mut fleet {
        ensure!(!process.ended()?, "a worker did not survive: {:#?}", process.lines());
    }
    drop(fleet);
    second.assert_no_deadlock()?;
    let open = all_tasks(&*store).await?.into_values().find(|task| task.state != State::Completed);
    ensure!(open.is_none(), "that a server is gone is no fault of a task: {open:#?}");
    assert_sound(&*store, &answered, &Ledger::of_both(&ledger(&bed), &connect(&second.url(name)).await?).await?).await
}
