//! One killer in a batch of five hundred: it fails as poison, its neighbours complete.

use anyhow::{Result, ensure};
use kinfolk_core::{FailureKind, State, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::ledger::Ledger;
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::{KILL, NOTE, Orders, made, tasks};

use crate::{PATIENCE, ledger, start, worker};

/// The claim that makes it a suspect, three strikes, and some that die for nothing.
const DEATHS_MAX: usize = 12;

async fn one_killer(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    // Every neighbour is in hand when the killer strikes: handlers that take longer than a claim of 500.
    let orders = Orders { capacity: 500, ..worker(&bed) };
    let mut first = start("the first worker", &orders)?;
    first.wait_line("ready", PATIENCE)?;
    let mut batch = tasks(NOTE, 499)?;
    batch.insert(250, tasks(KILL, 1)?.remove(0));
    let answered = made(&store.enqueue(&batch).await?)?;
    let killer = answered[250];
    first.wait_abort(PATIENCE)?;

    let mut deaths = 1;
    while !failed(&*store, killer).await? {
        ensure!(deaths < DEATHS_MAX, "{deaths} workers died and the killer has not failed");
        let mut next = start("the next worker", &orders)?;
        while !next.ended()? && !failed(&*store, killer).await? {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        deaths += usize::from(next.ended()?);
    }
    ensure!(deaths == 4, "the killer should take down four workers: one to be a suspect, three strikes; not {deaths}");

    let mut last = start("the last worker", &orders)?;
    last.wait_line("ready", PATIENCE)?;
    wait_drained(&*store, PATIENCE).await?;
    drop(last);
    let tasks = all_tasks(&*store).await?;
    let poison = tasks[&killer].failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Poison);
    ensure!(poison, "the killer did not fail as poison: {:#?}", tasks[&killer]);
    let completed = tasks.values().filter(|task| task.state == State::Completed).count();
    ensure!(completed == 499, "{completed} neighbours completed, not 499");
    assert_sound(&*store, &answered, &Ledger::of_file(&ledger(&bed))?).await
}

async fn failed(store: &dyn kinfolk_core::Store, id: TaskId) -> Result<bool> {
    Ok(store.task(id).await?.is_some_and(|task| task.state == State::Failed))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_killer_in_a_batch_of_500_fails_alone_on_sqlite() -> Result<()> {
    one_killer(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_killer_in_a_batch_of_500_fails_alone_on_postgres() -> Result<()> {
    one_killer(Kind::Postgres).await
}
