//! Every named crash point, one by one, on both stores: a process dies right before or right after a commit, another one
//! takes over, and nothing is lost or doubled, of plain tasks nor of families.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kinfolk_core::crash::POINTS;
use kinfolk_core::{Command, CommandName, State, Store};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::families::assert_whole;
use kinfolk_faults::journal;
use kinfolk_faults::ledger::Ledger;
use kinfolk_faults::sound::{all_tasks, assert_sound, cancel_if_open, wait_drained};
use kinfolk_faults::victim::{FAMILY, MENDED, Mode, Orders, Plan, made as enqueued};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::{PATIENCE, journal, ledger, made, start, start_doomed};

/// How many walks run side by side: they wait most of the time.
const SIDE_BY_SIDE: usize = 4;

async fn walk(kind: Kind) -> Result<()> {
    let turns = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let mut walks = JoinSet::new();
    // SQLite writes nothing in a sweep that finds nothing; see `stuck_parents`.
    let passed = |point: &&&str| kind == Kind::Postgres || !point.starts_with("sweep");
    for point in POINTS.iter().filter(passed) {
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
        ensure!(status.success(), "the survivor ended with {status}: {:#?}", third.lines());
        // What is left are schedules' tasks and what the first two held: someone has to finish it.
        let mut fourth = start("the worker", &Orders { mode: Mode::Work, ..script })?;
        fourth.wait_line("ready", PATIENCE)?;
        Ok((fourth, [made(&first), made(&second), made(&third)].concat()))
    });
    let (worker, answered) = answered.await??;
    wait_drained(&*store, PATIENCE).await?;
    repair_and_put_away(&bed, &*store).await?;
    drop(worker);
    assert_sound(&*store, &answered, &Ledger::of_file(&ledger(&bed))?).await?;
    assert_whole(&*store, &answered, &journal::read(&journal(&bed))?).await
}

/// A victim that died before its retry leaves a family that has failed; before its cancel, a task that is due in an hour.
async fn repair_and_put_away(bed: &Bed, store: &dyn Store) -> Result<()> {
    std::fs::write(bed.folder().join(MENDED), "")?;
    for task in all_tasks(store).await?.values() {
        match task.state {
            State::Failed if task.parent.is_none() => drop(store.retry_family(task.id).await?),
            State::Pending => cancel_if_open(store, task.root).await?,
            _ => {}
        }
    }
    wait_drained(store, PATIENCE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_survives_a_death_at_every_crash_point() -> Result<()> {
    walk(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_survives_a_death_at_every_crash_point() -> Result<()> {
    walk(Kind::Postgres).await
}

/// A worker dies at the settle of a parent or of its only child, and another one goes on. Returns what was left in between:
/// the parent's state and how many children it had, and in which state.
async fn die_settling(kind: Kind, point: &'static str) -> Result<(State, Vec<State>)> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let orders = Orders::work(bed.url(), ledger(&bed));
    store.register(&[Command::new(CommandName::new(FAMILY)?)]).await?;
    let root = enqueued(&store.enqueue(&[Plan::wide("parent", 1).task()?]).await?)?[0];
    let mut doomed = start_doomed("the doomed worker", &orders, point)?;
    tokio::task::spawn_blocking(move || doomed.wait_abort(PATIENCE)).await??;
    let parent = store.task(root).await?.context("the parent is gone")?;
    let children = store.children(root, 0, 10).await?.iter().map(|child| child.state).collect();
    let _other = start("the other worker", &orders)?;
    wait_drained(&*store, PATIENCE).await?;
    assert_whole(&*store, &[root], &journal::read(&journal(&bed))?).await?;
    let end = store.task(root).await?.context("the parent is gone")?;
    ensure!(end.state == State::Completed, "not completed in the end: {end:#?}");
    Ok((parent.state, children))
}

/// Settles are written before the next is awaited, so the parent's is the first and its child's the second.
async fn settle_whole_or_not_at_all(kind: Kind) -> Result<()> {
    use State::{Completed, Pending, Running, Waiting};
    let all = tokio::try_join!(
        die_settling(kind, "settle.before"),
        die_settling(kind, "settle.after"),
        die_settling(kind, "settle.before:2"),
        die_settling(kind, "settle.after:2"),
    )?;
    assert_eq!(all.0, (Running, vec![]), "before the parent's");
    // Whoever is quick has claimed it before the end.
    let is_made = matches!(all.1.1[..], [Pending | Running]);
    assert!(all.1.0 == Waiting && is_made, "after the parent's: {:?}", all.1);
    assert_eq!(all.2, (Waiting, vec![Running]), "before the child's");
    assert_eq!(all.3, (Completed, vec![Completed]), "after the child's");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_the_settle_of_a_parent_or_its_last_child_leaves_no_half_family_on_sqlite() -> Result<()> {
    settle_whole_or_not_at_all(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_death_at_the_settle_of_a_parent_or_its_last_child_leaves_no_half_family_on_postgres() -> Result<()> {
    settle_whole_or_not_at_all(Kind::Postgres).await
}
