//! A worker that is stopped past its lease while its task holds the only slot of a key, and then goes on: the slot is
//! another's by then, and the late settle does not free it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use kinfolk_core::{Command, GroupSpec, Groups, KeyFilter, Keys, NewTask, State, Store, TaskId};
use kinfolk_faults::bed::{Bed, Kind};
use kinfolk_faults::sound::wait_drained;
use kinfolk_faults::victim::{Orders, Room, WITH_KEYS, WithKeys, command_with_keys, made};
use kinfolk_faults::with_keys::assert_limits;

use crate::late_worker::{refusals, stop};
use crate::{PATIENCE, ledger, start, worker};

/// The late worker's heartbeat and its handler race, as in `late_worker`.
const ROUNDS: usize = 12;
/// Tasks that wait for the slot in each round.
const WAITERS: usize = 4;

/// The holder of the slot when the late worker goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    /// The same task, run again.
    Same,
    /// One that waited behind it.
    Another,
}

/// A task that holds the only slot of the only key.
fn task() -> Result<NewTask> {
    let room = Room { name: "only".to_owned(), limit: 1, hold: false };
    let with_keys = WithKeys { rooms: vec![room], blocks: true, ..WithKeys::default() };
    with_keys.task(WITH_KEYS[0], Keys::of([("message", "only")])?)
}

/// Waits until this holder has the slot.
async fn wait_held(store: &dyn Store, late: TaskId, holder: Holder) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let keys = store.keys(&KeyFilter { limit: 10, ..KeyFilter::default() }).await?;
        let holders: Vec<_> = keys.iter().flat_map(|key| key.holders.clone()).collect();
        ensure!(holders.len() <= 1, "a slot was given twice: {keys:#?}");
        let is_again = || async { anyhow::Ok(!store.attempts(late).await?.is_empty()) };
        let is_it = match (holder, holders.first()) {
            (_, None) => false,
            (Holder::Same, Some(held)) => *held == late && is_again().await?,
            (Holder::Another, Some(held)) => *held != late,
        };
        if is_it {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the slot did not come to {holder:?}: {keys:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether some are still waiting, so that a slot freed by mistake would have been taken.
async fn is_contested(store: &dyn Store, waiters: &[TaskId]) -> Result<bool> {
    let last = store.task(waiters[waiters.len() - 1]).await?;
    Ok(last.is_some_and(|task| task.state == State::Pending))
}

async fn frees_nothing(kind: Kind, holder: Holder) -> Result<()> {
    let bed = Bed::new(kind).await?;
    let store = bed.open().await?;
    let groups = Some(Groups::of([("message", GroupSpec::limit(1))])?);
    store.register(&[Command { groups, ..command_with_keys(WITH_KEYS[0])? }]).await?;
    let orders = Orders { capacity: 4, work_ms: 250, with_keys: true, ..worker(&bed) };
    let (mut answered, mut late_ones) = (Vec::new(), BTreeSet::new());
    for _ in 0..ROUNDS {
        let mut late = start("the late worker", &orders)?;
        late.wait_line("ready", PATIENCE)?;
        late_ones.insert(late.id());
        let first = made(&store.enqueue(&[task()?]).await?)?[0];
        late.wait_line("event started", PATIENCE)?;
        if !stop(&mut late, &*store).await? {
            answered.push(first);
            continue;
        }
        let mut other = start("the other worker", &orders)?;
        other.wait_line("ready", PATIENCE)?;
        let waiters = made(&store.enqueue(&vec![task()?; WAITERS]).await?)?;
        wait_held(&*store, first, holder).await?;
        late.signal("CONT")?;
        let refused = refusals(&late).await;
        let was_contested = is_contested(&*store, &waiters).await?;
        wait_drained(&*store, PATIENCE).await?;
        for process in [&mut late, &mut other] {
            process.signal("TERM")?;
            process.wait_line("end", PATIENCE)?;
        }
        answered.push(first);
        answered.extend(waiters);
        // On a busy machine the other one may be late, too.
        if other.has_lost_its_lease() {
            late_ones.insert(other.id());
        }
        if refused > 0 && was_contested {
            assert_limits(&*store, &answered, &ledger(&bed), &late_ones).await?;
            return Ok(());
        }
    }
    bail!("in {ROUNDS} rounds no late write was refused while others waited: the test proves nothing")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_settle_does_not_free_the_slot_of_the_same_task_run_again_on_sqlite() -> Result<()> {
    frees_nothing(Kind::Sqlite, Holder::Same).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_settle_does_not_free_the_slot_of_the_same_task_run_again_on_postgres() -> Result<()> {
    frees_nothing(Kind::Postgres, Holder::Same).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_settle_does_not_free_the_slot_of_another_task_on_sqlite() -> Result<()> {
    frees_nothing(Kind::Sqlite, Holder::Another).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_settle_does_not_free_the_slot_of_another_task_on_postgres() -> Result<()> {
    frees_nothing(Kind::Postgres, Holder::Another).await
}
