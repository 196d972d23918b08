//! Pairs in which the groups of a command change while its tasks start and end: whatever runs then is counted, and nothing else.

use std::time::Duration;

use kinfolk_core::*;
use kinfolk_postgres::PgStore;

use super::common::{claim_of, command, done, enqueue, task, worker};
use super::pairs::{cancelled, settled};
use super::walker::{Call, call};
use super::{Pair, every_schedule_is_sound};

fn tenant() -> GroupName {
    GroupName::new("tenant").unwrap()
}

fn under_key() -> NewTask {
    NewTask { keys: Keys::new().and(tenant(), "acme"), ..task("work") }
}

/// The command with this group, or with none.
fn with(group: Option<(GroupName, GroupSpec)>) -> Command {
    let groups = group.into_iter().fold(Groups::new(), |groups, (name, spec)| groups.and(name, spec));
    Command { groups: Some(groups), ..Command::new(command("work")) }
}

fn one_of_a_tenant() -> GroupSpec {
    GroupSpec::limit(1)
}

fn registered(command: Command) -> Call {
    call(|store| async move { store.register(&[command]).await })
}

fn claimed(worker: WorkerId) -> Call {
    call(move |store| async move { store.claim(&claim_of(worker, &["work"], 5)).await.map(drop) })
}

fn snoozed(claimed: &ClaimedTask) -> Settle {
    Settle { outcome: Outcome::Snooze(Duration::from_secs(3600)), ..done(claimed) }
}

/// One task that runs under the key, one that waits for it, and a worker that has looked.
async fn one_runs_one_waits(store: &PgStore, spec: GroupSpec) -> (ClaimedTask, WorkerId, TaskId) {
    store.register(&[with(Some((tenant(), spec)))]).await.unwrap();
    enqueue(store, under_key()).await;
    let worker = worker(store).await;
    let runs = store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.remove(0);
    let waits = enqueue(store, under_key()).await;
    store.claim(&claim_of(worker, &["work"], 5)).await.unwrap();
    (runs, worker, waits)
}

/// So many run after one more claim.
async fn running_are(store: &PgStore, worker: WorkerId, many: usize) -> Result<(), String> {
    store.claim(&claim_of(worker, &["work"], 5)).await.unwrap();
    let filter = inspect::Filter { state: vec![State::Running], limit: 10, ..inspect::Filter::default() };
    let broken = store.check().await.unwrap();
    match store.list(&filter).await.unwrap().tasks.len() {
        running if running == many && broken.is_empty() => Ok(()),
        running => Err(format!("{running} run, {broken:?}")),
    }
}

/// A group holds slots no longer while its holder is put off: the slot is free, whichever comes first.
struct HoldEndsAndSettle;

impl Pair for HoldEndsAndSettle {
    type Scene = (ClaimedTask, WorkerId, TaskId);
    const NAME: &'static str = "a group holds no longer × settle of a holder";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        one_runs_one_waits(store, one_of_a_tenant().hold()).await
    }

    fn calls(&self, (runs, ..): &Self::Scene) -> [Call; 2] {
        [registered(with(Some((tenant(), one_of_a_tenant())))), settled(snoozed(runs))]
    }

    async fn judge(&self, store: &PgStore, (_, worker, _): &Self::Scene) -> Result<(), String> {
        running_are(store, *worker, 1).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_holds_no_longer_and_settle_of_a_holder() {
    every_schedule_is_sound(HoldEndsAndSettle).await;
}

/// A group becomes shared while one of its tasks ends: it counts there, or is over.
struct SharedAndSettle;

impl Pair for SharedAndSettle {
    type Scene = (ClaimedTask, WorkerId, TaskId);
    const NAME: &'static str = "a group becomes shared × settle";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        one_runs_one_waits(store, one_of_a_tenant()).await
    }

    fn calls(&self, (runs, ..): &Self::Scene) -> [Call; 2] {
        [registered(with(Some((tenant(), one_of_a_tenant().shared())))), settled(done(runs))]
    }

    async fn judge(&self, store: &PgStore, (_, worker, _): &Self::Scene) -> Result<(), String> {
        running_are(store, *worker, 1).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_becomes_shared_and_settle() {
    every_schedule_is_sound(SharedAndSettle).await;
}

/// A group that holds slots becomes shared while one that is put off, and holds its slot, is cancelled.
struct SharedAndCancel;

impl Pair for SharedAndCancel {
    type Scene = (ClaimedTask, WorkerId, TaskId);
    const NAME: &'static str = "a group that holds becomes shared × cancel of a holder";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        let scene = one_runs_one_waits(store, one_of_a_tenant().hold()).await;
        store.settle(&[snoozed(&scene.0)]).await.unwrap();
        scene
    }

    fn calls(&self, (holds, ..): &Self::Scene) -> [Call; 2] {
        [registered(with(Some((tenant(), one_of_a_tenant().hold().shared())))), cancelled(holds.id)]
    }

    async fn judge(&self, store: &PgStore, (_, worker, _): &Self::Scene) -> Result<(), String> {
        running_are(store, *worker, 1).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_holds_becomes_shared_and_cancel_of_a_holder() {
    every_schedule_is_sound(SharedAndCancel).await;
}

/// A group becomes shared while a claim takes its tasks.
struct SharedAndClaim;

impl Pair for SharedAndClaim {
    type Scene = WorkerId;
    const NAME: &'static str = "a group becomes shared × claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        store.register(&[with(Some((tenant(), one_of_a_tenant())))]).await.unwrap();
        let worker = worker(store).await;
        store.claim(&claim_of(worker, &["work"], 5)).await.unwrap();
        for _ in 0..2 {
            enqueue(store, under_key()).await;
        }
        worker
    }

    fn calls(&self, worker: &Self::Scene) -> [Call; 2] {
        [registered(with(Some((tenant(), one_of_a_tenant().shared())))), claimed(*worker)]
    }

    async fn judge(&self, store: &PgStore, worker: &Self::Scene) -> Result<(), String> {
        running_are(store, *worker, 1).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_becomes_shared_and_claim() {
    every_schedule_is_sound(SharedAndClaim).await;
}

/// A command gets its first group while a claim, which asks no group, takes its tasks: all that it took count.
struct FirstGroupAndClaim;

impl Pair for FirstGroupAndClaim {
    type Scene = WorkerId;
    const NAME: &'static str = "a command gets its first group × claim";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        store.register(&[with(None)]).await.unwrap();
        let worker = worker(store).await;
        store.claim(&claim_of(worker, &["work"], 5)).await.unwrap();
        for _ in 0..2 {
            enqueue(store, task("work")).await;
        }
        worker
    }

    fn calls(&self, worker: &Self::Scene) -> [Call; 2] {
        [registered(with(Some((GroupName::total(), one_of_a_tenant())))), claimed(*worker)]
    }

    async fn judge(&self, store: &PgStore, worker: &Self::Scene) -> Result<(), String> {
        let alone = running_are(store, *worker, 1).await;
        // Both were taken before it had the group.
        if alone.is_err() { running_are(store, *worker, 2).await } else { alone }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_its_first_group_and_claim() {
    every_schedule_is_sound(FirstGroupAndClaim).await;
}
