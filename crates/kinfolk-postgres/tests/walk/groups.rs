//! Pairs that meet at a key: who gets its slot, and that whoever waits for it is not forgotten.

use std::time::Duration;

use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing;

use super::common::{claim_of, command, done, enqueue, task, worker};
use super::pairs::{cancelled, settled, state};
use super::walker::{Call, call};
use super::{Pair, every_schedule_is_sound};

pub(crate) fn tenant() -> GroupName {
    GroupName::new("tenant").unwrap()
}

pub(crate) fn under_key() -> NewTask {
    NewTask { keys: Keys::new().and(tenant(), "acme"), ..task("work") }
}

/// The command, with one slot for each tenant.
pub(crate) async fn one_slot(store: &PgStore) {
    let groups = Groups::new().and(tenant(), GroupSpec::limit(1));
    store.register(&[Command { groups: Some(groups), ..Command::new(command("work")) }]).await.unwrap();
}

/// A worker that has looked for tasks before, and so looks once.
pub(crate) async fn idle_worker(store: &PgStore) -> WorkerId {
    let worker = worker(store).await;
    store.claim(&claim_of(worker, &["work"], 5)).await.unwrap();
    worker
}

/// A task that holds the slot.
pub(crate) async fn holder(store: &PgStore) -> ClaimedTask {
    one_slot(store).await;
    enqueue(store, under_key()).await;
    let worker = worker(store).await;
    store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.remove(0)
}

fn claimed(worker: WorkerId) -> Call {
    call(move |store| async move { store.claim(&claim_of(worker, &["work"], 5)).await.map(drop) })
}

async fn running(store: &PgStore, tasks: &[TaskId]) -> Vec<TaskId> {
    let mut running = Vec::new();
    for id in tasks {
        if state(store, *id).await == State::Running {
            running.push(*id);
        }
    }
    running
}

/// Whoever waits gets the slot by the next claim at the latest, and one alone.
pub(crate) async fn one_gets_it(store: &PgStore, worker: WorkerId, tasks: &[TaskId]) -> Result<(), String> {
    store.claim(&claim_of(worker, &["work"], 5)).await.unwrap();
    match &running(store, tasks).await[..] {
        [_] => Ok(()),
        others => Err(format!("running: {others:?}")),
    }
}

struct ClaimAndClaim;

impl Pair for ClaimAndClaim {
    type Scene = ([WorkerId; 2], [TaskId; 2]);
    const NAME: &'static str = "claim × claim under one key";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        one_slot(store).await;
        let workers = [idle_worker(store).await, idle_worker(store).await];
        (workers, [enqueue(store, under_key()).await, enqueue(store, under_key()).await])
    }

    fn calls(&self, (workers, _): &Self::Scene) -> [Call; 2] {
        workers.map(claimed)
    }

    async fn judge(&self, store: &PgStore, (workers, tasks): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, workers[0], tasks).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_and_claim_under_one_key() {
    every_schedule_is_sound(ClaimAndClaim).await;
}

/// A slot is freed while a claim blocks another task behind it.
struct SettleAndClaim;

impl Pair for SettleAndClaim {
    type Scene = (ClaimedTask, WorkerId, TaskId);
    const NAME: &'static str = "settle × claim that blocks";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        let holder = holder(store).await;
        let worker = idle_worker(store).await;
        (holder, worker, enqueue(store, under_key()).await)
    }

    fn calls(&self, (holder, worker, _): &Self::Scene) -> [Call; 2] {
        [settled(done(holder)), claimed(*worker)]
    }

    async fn judge(&self, store: &PgStore, (_, worker, waiter): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, *worker, &[*waiter]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_claim_that_blocks() {
    every_schedule_is_sound(SettleAndClaim).await;
}

/// The first of two that wait is cancelled while the slot is given out.
struct CancelAndClaim;

impl Pair for CancelAndClaim {
    type Scene = (WorkerId, [TaskId; 2]);
    const NAME: &'static str = "cancel × claim of a waiter";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        let holder = holder(store).await;
        let waiters = [enqueue(store, under_key()).await, enqueue(store, under_key()).await];
        let worker = idle_worker(store).await;
        store.settle(&[done(&holder)]).await.unwrap();
        (worker, waiters)
    }

    fn calls(&self, &(worker, waiters): &Self::Scene) -> [Call; 2] {
        [cancelled(waiters[0]), claimed(worker)]
    }

    async fn judge(&self, store: &PgStore, &(worker, waiters): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, worker, &waiters).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_and_claim_of_a_waiter() {
    every_schedule_is_sound(CancelAndClaim).await;
}

/// A limit is raised while a claim blocks a task behind it.
struct SetGroupAndClaim;

impl Pair for SetGroupAndClaim {
    type Scene = (WorkerId, TaskId);
    const NAME: &'static str = "set_group × claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        holder(store).await;
        let worker = idle_worker(store).await;
        (worker, enqueue(store, under_key()).await)
    }

    fn calls(&self, &(worker, _): &Self::Scene) -> [Call; 2] {
        let set = call(|store| async move {
            let setting = Setting { limit: Some(2), ..Setting::default() };
            store.set_group(&GroupRef::of(command("work"), tenant()), None, &setting).await
        });
        [set, claimed(worker)]
    }

    async fn judge(&self, store: &PgStore, &(worker, waiter): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, worker, &[waiter]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn set_group_and_claim() {
    every_schedule_is_sound(SetGroupAndClaim).await;
}

/// A group is removed while a claim blocks a task behind one of its keys.
struct RemoveGroupAndClaim;

impl Pair for RemoveGroupAndClaim {
    type Scene = (WorkerId, TaskId);
    const NAME: &'static str = "remove_group × claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        SetGroupAndClaim.set_up(store).await
    }

    fn calls(&self, &(worker, _): &Self::Scene) -> [Call; 2] {
        let remove = call(|store| async move { store.remove_group(&GroupRef::of(command("work"), tenant())).await });
        [remove, claimed(worker)]
    }

    async fn judge(&self, store: &PgStore, &(worker, waiter): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, worker, &[waiter]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn remove_group_and_claim() {
    every_schedule_is_sound(RemoveGroupAndClaim).await;
}

/// A holder is recovered at the moment it settles: its slot is freed once.
struct RecoverAndSettle;

impl Pair for RecoverAndSettle {
    type Scene = (ClaimedTask, WorkerId, TaskId);
    const NAME: &'static str = "recover × settle of a holder";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        let lost = holder(store).await;
        let waiter = enqueue(store, under_key()).await;
        let judge = idle_worker(store).await;
        let mut now = store.now().await.unwrap();
        for _ in 0..3 {
            now = now.plus(Duration::from_secs(20));
            testing::set_clock(store, now).await.unwrap();
            store.heartbeat(judge).await.unwrap();
        }
        (lost, judge, waiter)
    }

    fn calls(&self, (lost, judge, _): &Self::Scene) -> [Call; 2] {
        let judge = *judge;
        [call(move |store| async move { store.recover(judge).await.map(drop) }), settled(done(lost))]
    }

    async fn judge(&self, store: &PgStore, (lost, judge, waiter): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, *judge, &[lost.id, *waiter]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recover_and_settle_of_a_holder() {
    every_schedule_is_sound(RecoverAndSettle).await;
}
