//! Workers killed with -9 at random moments under load, fifty rounds on each store: nothing is lost, nothing is doubled.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kinfolk_core::task::Ending;
use kinfolk_core::{State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::ledger::{Ledger, TABLE};
use kinfolk_faults::process::Process;
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::{EFFECT, NOTE, Orders, made, tasks};

use crate::{Chance, PATIENCE, ledger, start, worker};

const ROUNDS: u64 = 50;
const WORKERS: usize = 3;
const TASKS_A_ROUND: usize = 60;

/// Kills one worker a round, starts another in its place, and enqueues all the while. Returns the tasks answered for.
async fn rounds(bed: &Bed, store: &dyn Store, command: &str) -> Result<Vec<TaskId>> {
    let orders = Orders { work_ms: 15, ..worker(bed) };
    let mut fleet: Vec<Process> = (0..WORKERS).map(|_| start("a worker", &orders)).collect::<Result<_>>()?;
    for process in &mut fleet {
        process.wait_line("ready", PATIENCE)?;
    }
    let mut answered = Vec::new();
    let mut chance = Chance::new();
    for _ in 0..ROUNDS {
        answered.extend(made(&store.enqueue(&tasks(command, TASKS_A_ROUND)?).await?)?);
        wait_running(store).await?;
        tokio::time::sleep(Duration::from_millis(chance.below(30))).await;
        let index = usize::try_from(chance.below(WORKERS as u64))?;
        fleet[index].kill()?;
        fleet[index] = start("a worker", &orders)?;
        fleet[index].wait_line("ready", PATIENCE)?;
    }
    // Those that are left finish the rest.
    wait_drained(store, PATIENCE).await?;
    ensure!(losses(store, &answered).await? > ROUNDS / 5, "hardly a task was lost: the kills hit nobody at work");
    Ok(answered)
}

/// Waits until somebody is at work, or has been and is through already.
pub(crate) async fn wait_running(store: &dyn Store) -> Result<()> {
    wait_many_running(store, 1).await
}

/// As many tasks run as that, or all is done.
pub(crate) async fn wait_many_running(store: &dyn Store, many: u64) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let counts = store.stats().await?.counts;
        let running = counts.iter().filter(|count| count.state == State::Running).map(|count| count.tasks).sum::<u64>();
        let is_through = counts.iter().all(|count| count.state.is_terminal());
        if running >= many || is_through {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "nobody starts to work: {counts:?}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// How many attempts ended by the loss of their worker.
pub(crate) async fn losses(store: &dyn Store, tasks: impl IntoIterator<Item = &TaskId>) -> Result<u64> {
    let mut losses = 0;
    for task in tasks {
        losses += store.attempts(*task).await?.iter().filter(|attempt| attempt.ending == Ending::Lost).count() as u64;
    }
    println!("{losses} attempts were lost");
    Ok(losses)
}

async fn lose_nothing(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let answered = rounds(&bed, &*store, NOTE).await?;
    assert_eq!(all_tasks(&*store).await?.len(), answered.len(), "more or fewer tasks than were enqueued");
    assert_sound(&*store, &answered, &Ledger::of_file(&ledger(&bed))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_workers_killed_on_sqlite_lose_and_double_nothing() -> Result<()> {
    lose_nothing(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_workers_killed_on_postgres_lose_and_double_nothing() -> Result<()> {
    lose_nothing(Kind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_workers_killed_leave_every_effect_in_the_database_exactly_once() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let store = bed.open().await?;
    let plain = bed.plain().await?;
    plain.batch_execute(TABLE).await?;
    let answered = rounds(&bed, &*store, EFFECT).await?;
    assert_eq!(all_tasks(&*store).await?.len(), answered.len(), "more or fewer tasks than were enqueued");
    assert_sound(&*store, &answered, &Ledger::of_both(&ledger(&bed), &plain).await?).await
}
