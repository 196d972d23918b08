//! A worker that is stopped past its lease and then goes on: its tasks were finished by another one, and its own late
//! writes are refused and counted.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use kinfolk_core::{Advice, State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::families::assert_whole;
use kinfolk_faults::journal::{self, JournalLine};
use kinfolk_faults::ledger::{Ledger, TABLE};
use kinfolk_faults::process::Process;
use kinfolk_faults::sound::{all_tasks, assert_sound, wait_drained};
use kinfolk_faults::victim::{EFFECT, FollowUp, HOLD, Orders, Plan, made, tasks};

use crate::{PATIENCE, journal, ledger, start, worker};

/// The late worker's heartbeat and its handlers race: either it learns of its loss first and drops its work, or it settles
/// first and is refused. Both are right; the second one has to be seen.
const ROUNDS: usize = 12;

async fn late(bed: &Bed, command: &str) -> Result<Vec<TaskId>> {
    let store = bed.open().await?;
    let mut answered = Vec::new();
    let mut refused = 0;
    for _ in 0..ROUNDS {
        let slow = Orders { capacity: 4, work_ms: 400, ..worker(bed) };
        let mut late = start("the late worker", &slow)?;
        late.wait_line("ready", PATIENCE)?;
        let ids = made(&store.enqueue(&tasks(command, 4)?).await?)?;
        late.wait_line("event started", PATIENCE)?;
        if !stop(&mut late, &*store).await? {
            answered.extend(ids);
            continue;
        }

        let mut other = start("the other worker", &Orders { work_ms: 1, ..slow.clone() })?;
        other.wait_line("ready", PATIENCE)?;
        wait_drained(&*store, PATIENCE).await?;
        late.signal("CONT")?;
        refused += refusals(&late).await;
        late.signal("TERM")?;
        late.wait_line("end", PATIENCE)?;
        other.signal("TERM")?;
        other.wait_line("end", PATIENCE)?;

        for id in &ids {
            let task = store.task(*id).await?;
            ensure!(task.as_ref().is_some_and(|task| task.state == State::Completed), "not completed: {task:?}");
        }
        answered.extend(ids);
        if refused > 0 {
            break;
        }
    }
    ensure!(refused > 0, "in {ROUNDS} rounds no late write was made, so none was refused: the test proves nothing");
    Ok(answered)
}

/// Stops a worker. `false`: that was in the middle of a write to a file, which keeps everyone else out. Nothing can be seen then,
/// and it was let go on to its end.
pub(crate) async fn stop(late: &mut Process, store: &dyn Store) -> Result<bool> {
    late.signal("STOP")?;
    match store.sweep().await {
        Err(fault) if fault.advice() == Advice::Retry => {
            late.signal("CONT")?;
            wait_drained(store, PATIENCE).await?;
            late.signal("TERM")?;
            late.wait_line("end", PATIENCE)?;
            Ok(false)
        }
        answer => Ok(answer.map(|_| true)?),
    }
}

/// How many writes of a worker were refused; waits a little for the first.
pub(crate) async fn refusals(late: &Process) -> usize {
    let refused = |line: &&String| line.starts_with("event stale") || line.starts_with("event refused");
    for _ in 0..100 {
        if late.lines().iter().any(|line| refused(&line)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    late.lines().iter().filter(refused).count()
}

/// A parent whose worker is stopped while its handler holds the thread, and which another worker then runs to its end. The
/// late one settles first when it goes on, with children in hand, or learns of its loss first: the former has to be seen.
async fn late_parent(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let (mut answered, mut late_ones) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let slow = Orders { capacity: 4, work_ms: 400, ..worker(&bed) };
        let mut late = start("the late worker", &slow)?;
        late.wait_line("ready", PATIENCE)?;
        late_ones.push(late.id());
        let mut plan = Plan { holds: true, ..Plan::wide(&format!("late{round}"), 3) };
        plan.follow_ups.push(FollowUp { plan: Plan::named(format!("after{round}")), when_completed: true, key: None });
        answered.extend(made(&store.enqueue(&[plan.task()?]).await?)?);
        late.wait_line("event started", PATIENCE)?;
        if !stop(&mut late, &*store).await? {
            continue;
        }
        let mut other = start("the other worker", &Orders { work_ms: 1, ..slow.clone() })?;
        other.wait_line("ready", PATIENCE)?;
        wait_drained(&*store, PATIENCE).await?;
        let before = all_tasks(&*store).await?;
        late.signal("CONT")?;
        let refused = refusals(&late).await;
        for process in [&mut late, &mut other] {
            process.signal("TERM")?;
            process.wait_line("end", PATIENCE)?;
        }
        ensure!(all_tasks(&*store).await? == before, "the late settle of round {round} has changed something");
        if refused > 0 {
            // Without the lines of the late ones, which come when all is over.
            let mut journal: Vec<JournalLine> = journal::read(&journal(&bed))?;
            journal.retain(|line| line.entry().is_none_or(|entry| !late_ones.contains(&entry.process)));
            return assert_whole(&*store, &answered, &journal).await;
        }
    }
    bail!("in {ROUNDS} rounds no late write was made, so none was refused: the test proves nothing")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_children_of_a_parent_stopped_past_its_lease_are_made_by_another_only_on_sqlite() -> Result<()> {
    late_parent(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_children_of_a_parent_stopped_past_its_lease_are_made_by_another_only_on_postgres() -> Result<()> {
    late_parent(Kind::Postgres).await
}

async fn late_and_sound(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let answered = late(&bed, HOLD).await?;
    assert_sound(&*bed.open().await?, &answered, &Ledger::of_file(&ledger(&bed))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stopped_past_its_lease_is_refused_on_sqlite() -> Result<()> {
    late_and_sound(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stopped_past_its_lease_is_refused_on_postgres() -> Result<()> {
    late_and_sound(Kind::Postgres).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stopped_in_its_own_transaction_can_not_commit_it_late() -> Result<()> {
    let bed = Bed::new(Kind::Postgres).await?;
    let plain = bed.plain().await?;
    plain.batch_execute(TABLE).await?;
    let answered = late(&bed, EFFECT).await?;
    assert_sound(&*bed.open().await?, &answered, &Ledger::of_both(&ledger(&bed), &plain).await?).await
}
