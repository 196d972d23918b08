//! A worker that is stopped past its lease and then goes on: its tasks were finished by another one, and its own late
//! writes are refused and counted.

use anyhow::{Result, ensure};
use kinfolk_core::State;
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::ledger::Ledger;
use kinfolk_faults::sound::{assert_sound, wait_drained};
use kinfolk_faults::victim::{HOLD, Orders, made, tasks};

use crate::{PATIENCE, ledger, start, worker};

/// The late worker's heart and its handlers race: either it learns of its loss first and drops its work, or it settles
/// first and is refused. Both are right; the second one has to be seen.
const ROUNDS: usize = 12;

async fn late(kind: Kind) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let mut answered = Vec::new();
    let mut refused = 0;
    for _ in 0..ROUNDS {
        let slow = Orders { capacity: 4, work_ms: 400, ..worker(&bed) };
        let mut late = start("the late worker", &slow)?;
        late.wait_line("ready", PATIENCE)?;
        let ids = made(&store.enqueue(&tasks(HOLD, 4)?).await?)?;
        late.wait_line("event started", PATIENCE)?;
        late.signal("STOP")?;

        let mut other = start("the other worker", &Orders { work_ms: 1, ..slow.clone() })?;
        other.wait_line("ready", PATIENCE)?;
        wait_drained(&*store, PATIENCE).await?;
        late.signal("CONT")?;
        // It has nothing to do any more; it leaves when its handlers have ended.
        late.signal("TERM")?;
        late.wait_line("end", PATIENCE)?;
        other.signal("TERM")?;
        other.wait_line("end", PATIENCE)?;

        refused += late.lines().iter().filter(|line| line.starts_with("event stale")).count();
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
    assert_sound(&*store, &answered, &Ledger::of_file(&ledger(&bed))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stopped_past_its_lease_is_refused_on_sqlite() -> Result<()> {
    late(Kind::Sqlite).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_stopped_past_its_lease_is_refused_on_postgres() -> Result<()> {
    late(Kind::Postgres).await
}
