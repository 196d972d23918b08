//! Pairs with a claim that takes tasks before it asks their groups: whoever else is about, a key's slot is taken once, and nobody
//! who needs it is forgotten.

use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing;

use super::common::{command, done, enqueue};
use super::groups::{holder, idle_worker, one_gets_it, one_slot, tenant, under_key};
use super::pairs::{cancelled, settled};
use super::walker::{Call, call};
use super::{Pair, every_schedule_is_sound};

/// Such a claim, once: what it undoes is left to who judges.
fn early(worker: WorkerId) -> Call {
    let sql = format!(
        "select kinfolk.claim('{}', gen_random_uuid(), 'default', '{{work}}', 5, false, true, p_early => true)",
        worker.0
    );
    call(move |store| async move { testing::execute(&store, &sql).await })
}

struct EarlyAndEarly;

impl Pair for EarlyAndEarly {
    type Scene = ([WorkerId; 2], [TaskId; 1]);
    const NAME: &'static str = "early claim × early claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        one_slot(store).await;
        let workers = [idle_worker(store).await, idle_worker(store).await];
        (workers, [enqueue(store, under_key()).await])
    }

    fn calls(&self, (workers, _): &Self::Scene) -> [Call; 2] {
        workers.map(early)
    }

    async fn judge(&self, store: &PgStore, (workers, tasks): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, workers[0], tasks).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn early_claim_and_early_claim() {
    every_schedule_is_sound(EarlyAndEarly).await;
}

/// The slot that a claim needs is freed meanwhile.
struct SettleAndEarly;

impl Pair for SettleAndEarly {
    type Scene = (ClaimedTask, WorkerId, TaskId);
    const NAME: &'static str = "settle × early claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        let holder = holder(store).await;
        let worker = idle_worker(store).await;
        (holder, worker, enqueue(store, under_key()).await)
    }

    fn calls(&self, (holder, worker, _): &Self::Scene) -> [Call; 2] {
        [settled(done(holder)), early(*worker)]
    }

    async fn judge(&self, store: &PgStore, (_, worker, next): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, *worker, &[*next]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_early_claim() {
    every_schedule_is_sound(SettleAndEarly).await;
}

/// One of two tasks is cancelled while a claim has both in hand and can start one.
struct CancelAndEarly;

impl Pair for CancelAndEarly {
    type Scene = (WorkerId, [TaskId; 2]);
    const NAME: &'static str = "cancel × early claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        one_slot(store).await;
        let worker = idle_worker(store).await;
        (worker, [enqueue(store, under_key()).await, enqueue(store, under_key()).await])
    }

    fn calls(&self, &(worker, tasks): &Self::Scene) -> [Call; 2] {
        [cancelled(tasks[0]), early(worker)]
    }

    async fn judge(&self, store: &PgStore, &(worker, tasks): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, worker, &tasks).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_and_early_claim() {
    every_schedule_is_sound(CancelAndEarly).await;
}

/// The group is removed while a claim waits for its lock with a task in hand.
struct RemoveGroupAndEarly;

impl Pair for RemoveGroupAndEarly {
    type Scene = (WorkerId, TaskId);
    const NAME: &'static str = "remove_group × early claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        holder(store).await;
        let worker = idle_worker(store).await;
        (worker, enqueue(store, under_key()).await)
    }

    fn calls(&self, &(worker, _): &Self::Scene) -> [Call; 2] {
        let remove = call(|store| async move { store.remove_group(&GroupRef::of(command("work"), tenant())).await });
        [remove, early(worker)]
    }

    async fn judge(&self, store: &PgStore, &(worker, next): &Self::Scene) -> Result<(), String> {
        one_gets_it(store, worker, &[next]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn remove_group_and_early_claim() {
    every_schedule_is_sound(RemoveGroupAndEarly).await;
}
