//! Killers among other tasks: all others complete, a killer waits longer after each strike, and fails as poison in the end.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kinfolk_core::{Command, CommandName, FailureKind, RetryPolicy, State, TaskId};
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
    allow_strikes(&*store, 3).await?;
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

/// So many strikes make a killer poison. Workers leave it at that.
async fn allow_strikes(store: &dyn kinfolk_core::Store, max_strikes: u16) -> Result<()> {
    let kill = Command::new(CommandName::new(KILL)?);
    let retry = RetryPolicy { max_strikes, ..kill.retry };
    store.register(&[Command { retry, ..kill }]).await?;
    Ok(())
}

/// Three killers among many tasks, and workers that are started anew whenever they die: all others complete, while the killers
/// wait longer and longer. An operator ends them.
async fn three_killers(kind: Kind) -> Result<()> {
    const OTHERS: usize = 600;
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let orders = worker(&bed);
    let mut fleet = [start("a worker", &orders)?, start("another worker", &orders)?];
    for process in &mut fleet {
        process.wait_line("ready", PATIENCE)?;
    }
    let mut batch = tasks(NOTE, OTHERS)?;
    for at in [10, OTHERS / 2, OTHERS - 10] {
        batch.insert(at, tasks(KILL, 1)?.remove(0));
    }
    let answered = made(&store.enqueue(&batch).await?)?;
    let deadline = Instant::now() + PATIENCE;
    let mut deaths = 0;
    loop {
        let all = all_tasks(&*store).await?;
        if all.values().filter(|task| task.state == State::Completed).count() == OTHERS {
            break;
        }
        ensure!(Instant::now() < deadline, "{deaths} deaths, and not all others are done: {:#?}", store.stats().await?);
        for process in &mut fleet {
            if process.ended()? {
                deaths += 1;
                *process = start("the next worker", &orders)?;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ensure!(deaths > 0, "nobody died: the test proves nothing");
    drop(fleet);
    let killers = all_tasks(&*store).await?.into_values().filter(|task| task.command.as_str() == KILL);
    for killer in killers {
        ensure!(!killer.state.is_terminal(), "a killer may have twenty strikes: {killer:#?}");
        store.cancel(killer.id).await?;
    }
    // Those that ran at the end are cancelled by whoever finds that their worker is gone.
    let mut last = start("the last worker", &orders)?;
    last.wait_line("ready", PATIENCE)?;
    wait_drained(&*store, PATIENCE).await?;
    drop(last);
    let failed = all_tasks(&*store).await?.into_values().find(|task| task.state == State::Failed);
    ensure!(failed.is_none(), "{failed:#?}");
    let ended = all_tasks(&*store).await?;
    let done: Vec<TaskId> = answered.into_iter().filter(|id| ended[id].state == State::Completed).collect();
    ensure!(done.len() == OTHERS, "{} others completed", done.len());
    assert_sound(&*store, &done, &Ledger::of_file(&ledger(&bed))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn three_killers_among_many_tasks_fail_nobody_else_on_sqlite() -> Result<()> {
    three_killers(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn three_killers_among_many_tasks_fail_nobody_else_on_postgres() -> Result<()> {
    three_killers(Kind::Postgres).await
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
