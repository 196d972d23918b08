//! Every named crash point, one by one, on both stores: a process dies right before or right after a commit, another one
//! takes over, and nothing is lost or doubled.

use std::sync::Arc;

use anyhow::{Context, Result};
use kinfolk_core::State;
use kinfolk_core::crash::POINTS;
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::ledger::Ledger;
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::{Mode, Orders};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{PATIENCE, ledger, made, start, start_doomed};

/// How many walks run side by side: they wait most of the time.
const SIDE_BY_SIDE: usize = 4;

async fn walk(kind: Kind) -> Result<()> {
    let turns = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut walks = JoinSet::new();
    for point in POINTS {
        let turns = Arc::clone(&turns);
        walks.spawn(async move {
            let _turn = turns.acquire_owned().await?;
            die_at(kind, point).await.with_context(|| format!("at the crash point {point} on {kind:?}"))
        });
    }
    for answer in walks.join_all().await {
        answer?;
    }
    Ok(())
}

async fn die_at(kind: Kind, point: &'static str) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let script = Orders::script(bed.url(), ledger(&bed));

    // Someone dies with tasks in hand, so that there is something to recover.
    let answered = tokio::task::spawn_blocking(move || -> Result<_> {
        let mut first = start_doomed("the first victim", &script, "handler.before:5")?;
        first.wait_abort(PATIENCE)?;
        let mut second = start_doomed("the second victim", &script, point)?;
        second.wait_abort(PATIENCE)?;
        let mut third = start("the survivor", &script)?;
        let status = third.wait_end(PATIENCE)?;
        anyhow::ensure!(status.success(), "the survivor ended with {status}: {:#?}", third.lines());
        // What is left are schedules' tasks and what the first two held: someone has to finish it.
        let mut fourth = start("the worker", &Orders { mode: Mode::Work, ..script })?;
        fourth.wait_line("ready", PATIENCE)?;
        Ok((fourth, [made(&first), made(&second), made(&third)].concat()))
    });
    let (worker, answered) = answered.await??;
    wait_drained(&*store, PATIENCE).await?;
    drop(worker);
    // A victim that died before its cancel leaves a task that is due in an hour.
    for task in all_tasks(&*store).await?.values().filter(|task| task.state == State::Pending) {
        store.cancel(task.id).await?;
    }
    assert_sound(&*store, &answered, &Ledger::of_file(&ledger(&bed))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_survives_a_death_at_every_crash_point() -> Result<()> {
    walk(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_survives_a_death_at_every_crash_point() -> Result<()> {
    walk(Kind::Postgres).await
}
