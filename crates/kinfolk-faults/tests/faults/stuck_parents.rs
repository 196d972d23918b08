//! Parents that wait though all their children have ended. The engine makes none; these are made by hand, so that it can be
//! seen that the invariants name them, that workers set them right and say so, and that a death in the middle does no harm.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kinfolk_core::{State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::families::assert_whole;
use kinfolk_faults::journal;
use kinfolk_faults::victim::{Plan, made};

use crate::{PATIENCE, journal, start, start_doomed, worker};

/// A root that waits for a parent, which waits for children that have ended, because one of them is not counted.
async fn plant(bed: &Bed, store: &dyn Store, name: &str) -> Result<TaskId> {
    let mut parent = Plan::wide(&format!("{name}.parent"), 2);
    parent.children[1].later = true;
    let plan = Plan { children: vec![parent], ..Plan::named(name) };
    let mut first = start("the first worker", &worker(bed))?;
    first.wait_line("ready", PATIENCE)?;
    let root = made(&store.enqueue(&[plan.task()?]).await?)?[0];
    let deadline = Instant::now() + PATIENCE;
    let parent = loop {
        if let Some(parent) = store.children(root, 0, 1).await?.first()
            && store.tally(parent.id).await?.completed == 1
        {
            break parent.id;
        }
        ensure!(Instant::now() < deadline, "the family did not grow within {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    first.kill()?;
    miscount(bed, parent).await?;
    let child = store.children(parent, 1, 1).await?.first().context("no second child")?.id;
    store.cancel(child).await?;
    let broken = store.check().await?;
    ensure!(!broken.is_empty(), "a parent that waits for nothing goes unnoticed");
    Ok(root)
}

/// Forgets that a child has ended.
async fn miscount(bed: &Bed, parent: TaskId) -> Result<()> {
    let forget = format!("fan_out set completed = completed - 1 where task_id = {parent}");
    match bed.url().strip_prefix("sqlite:") {
        Some(file) => drop(rusqlite::Connection::open(file)?.execute(&format!("update {forget}"), [])?),
        None => bed.plain().await?.batch_execute(&format!("update kinfolk.{forget}")).await?,
    }
    Ok(())
}

async fn state(store: &dyn Store, id: TaskId) -> Result<State> {
    Ok(store.task(id).await?.context("the root is gone")?.state)
}

async fn set_right(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let first = plant(&bed, &*store, "one").await?;
    start_doomed("one that dies before", &worker(&bed), "sweep.before")?.wait_abort(PATIENCE)?;
    ensure!(state(&*store, first).await? == State::Waiting, "half a sweep has been written");
    start_doomed("one that dies after", &worker(&bed), "sweep.after")?.wait_abort(PATIENCE)?;
    ensure!(state(&*store, first).await? == State::Completed, "the sweep has not set the family right");

    let second = plant(&bed, &*store, "two").await?;
    let mut other = start("the other worker", &worker(&bed))?;
    let told = other.wait_line("event unstuck", PATIENCE)?;
    ensure!(told == "1", "{told} parents were set right, not one");
    assert_whole(&*store, &[first, second], &journal::read(&journal(&bed))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn parents_that_wait_for_nothing_are_named_and_set_right_on_sqlite() -> Result<()> {
    set_right(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn parents_that_wait_for_nothing_are_named_and_set_right_on_postgres() -> Result<()> {
    set_right(Kind::Postgres).await
}
