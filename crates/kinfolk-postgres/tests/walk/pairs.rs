//! The pairs that are walked.

use std::time::Duration;

use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing;

use super::common::{claim_of, done, enqueue, task, with, worker};
use super::walker::{Call, call};
use super::{Pair, every_schedule_is_sound};

pub(crate) async fn command(store: &PgStore) {
    store.register(&[Command::new("work".parse().unwrap())]).await.unwrap();
}

async fn running(store: &PgStore) -> ClaimedTask {
    command(store).await;
    enqueue(store, task("work")).await;
    let worker = worker(store).await;
    store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.remove(0)
}

pub(crate) async fn state(store: &PgStore, id: TaskId) -> State {
    store.task(id).await.unwrap().expect("the task").state
}

/// Lets the leases of all but this worker end.
async fn outlive(store: &PgStore, worker: WorkerId) {
    let mut now = store.now().await.unwrap();
    for _ in 0..3 {
        now = now.plus(Duration::from_secs(20));
        testing::set_clock(store, now).await.unwrap();
        store.heartbeat(worker).await.unwrap();
    }
}

pub(crate) fn settled(settle: Settle) -> Call {
    call(|store| async move { store.settle(&[settle]).await.map(drop) })
}

/// A cancel, of a task that may have ended.
pub(crate) fn cancelled(id: TaskId) -> Call {
    call(move |store| async move {
        match store.cancel(id).await {
            Err(StoreError::WrongState { .. }) => Ok(()),
            answer => answer.map(drop),
        }
    })
}

struct ClaimAndCancel;

impl Pair for ClaimAndCancel {
    type Scene = (WorkerId, TaskId);
    const NAME: &'static str = "claim × cancel";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        command(store).await;
        (worker(store).await, enqueue(store, task("work")).await)
    }

    fn calls(&self, &(worker, id): &Self::Scene) -> [Call; 2] {
        let claim = call(move |store| async move { store.claim(&claim_of(worker, &["work"], 1)).await.map(drop) });
        [claim, cancelled(id)]
    }

    async fn judge(&self, store: &PgStore, &(_, id): &Self::Scene) -> Result<(), String> {
        let task = store.task(id).await.unwrap().expect("the task");
        match (task.state, task.cancel_requested_at) {
            (State::Cancelled, None) | (State::Running, Some(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_and_cancel() {
    every_schedule_is_sound(ClaimAndCancel).await;
}

struct SettleAndCancel;

impl Pair for SettleAndCancel {
    type Scene = ClaimedTask;
    const NAME: &'static str = "settle × cancel";

    async fn set_up(&self, store: &PgStore) -> ClaimedTask {
        running(store).await
    }

    fn calls(&self, scene: &ClaimedTask) -> [Call; 2] {
        [settled(done(scene)), cancelled(scene.id)]
    }

    async fn judge(&self, store: &PgStore, scene: &ClaimedTask) -> Result<(), String> {
        match state(store, scene.id).await {
            State::Completed | State::Cancelled => Ok(()),
            other => Err(format!("{other}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_cancel() {
    every_schedule_is_sound(SettleAndCancel).await;
}

struct SettleAndRecover;

impl Pair for SettleAndRecover {
    type Scene = (ClaimedTask, WorkerId);
    const NAME: &'static str = "settle × recover";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        let lost = running(store).await;
        let judge = worker(store).await;
        outlive(store, judge).await;
        (lost, judge)
    }

    fn calls(&self, (lost, judge): &Self::Scene) -> [Call; 2] {
        let judge = *judge;
        [settled(done(lost)), call(move |store| async move { store.recover(judge).await.map(drop) })]
    }

    async fn judge(&self, store: &PgStore, (lost, _): &Self::Scene) -> Result<(), String> {
        match state(store, lost.id).await {
            State::Completed | State::Pending => Ok(()),
            other => Err(format!("{other}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_recover() {
    every_schedule_is_sound(SettleAndRecover).await;
}

struct ClaimAndRecover;

impl Pair for ClaimAndRecover {
    type Scene = (WorkerId, WorkerId);
    const NAME: &'static str = "claim of a worker whose lease has ended × recover";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        command(store).await;
        let (late, judge) = (worker(store).await, worker(store).await);
        outlive(store, judge).await;
        (late, judge)
    }

    fn calls(&self, &(late, judge): &Self::Scene) -> [Call; 2] {
        let claim = call(move |store| async move {
            match store.claim(&claim_of(late, &["work"], 1)).await {
                Ok(_) | Err(StoreError::LeaseLost { .. }) => Ok(()),
                Err(other) => Err(other),
            }
        });
        [claim, call(move |store| async move { store.recover(judge).await.map(drop) })]
    }

    async fn judge(&self, _: &PgStore, _: &Self::Scene) -> Result<(), String> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_after_its_lease_and_recover() {
    every_schedule_is_sound(ClaimAndRecover).await;
}

struct EnqueueUniqueAndClaim;

impl Pair for EnqueueUniqueAndClaim {
    type Scene = WorkerId;
    const NAME: &'static str = "enqueue under a unique key × claim";

    async fn set_up(&self, store: &PgStore) -> WorkerId {
        command(store).await;
        enqueue(store, unique_task("{\"first\":1}")).await;
        worker(store).await
    }

    fn calls(&self, &worker: &WorkerId) -> [Call; 2] {
        let claim = call(move |store| async move { store.claim(&claim_of(worker, &["work"], 1)).await.map(drop) });
        [call(|store| async move { store.enqueue(&[unique_task("{\"second\":2}")]).await.map(drop) }), claim]
    }

    /// Both payloads are run: together in the first task, or the second in a task of its own.
    async fn judge(&self, store: &PgStore, &worker: &WorkerId) -> Result<(), String> {
        let mut seen = String::new();
        for _ in 0..2 {
            store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
        }
        for task in store.list(&inspect::Filter { limit: 10, ..Default::default() }).await.unwrap().tasks {
            seen.push_str(task.payload.as_str());
            if task.state != State::Running {
                return Err(format!("{task:?}"));
            }
        }
        let once = |word| seen.matches(word).count() == 1;
        if once("first") && once("second") { Ok(()) } else { Err(seen) }
    }
}

fn unique_task(payload: &str) -> NewTask {
    let unique = Unique { on_duplicate: OnDuplicate::Merge, ..Unique::key("k") };
    NewTask { unique: Some(unique), ..with("work", payload) }
}

#[tokio::test(flavor = "multi_thread")]
async fn enqueue_under_a_unique_key_and_claim() {
    every_schedule_is_sound(EnqueueUniqueAndClaim).await;
}
