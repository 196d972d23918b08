//! Pairs around a handler that is suspended: whatever the order, it is resumed once, and for all it waited for.

use std::time::Duration;

use kinfolk_core::*;
use kinfolk_postgres::PgStore;

use super::common::{claim_of, done, enqueue, task, worker};
use super::pairs::{cancelled, command, settled, state};
use super::walker::{Call, call};
use super::{Pair, every_schedule_is_sound};

/// A task whose handler has begun fan-outs, and their children, which all run.
struct Scene {
    owner: TaskId,
    /// The owner's attempt, where it runs.
    running: Option<ClaimedTask>,
    fan_outs: Vec<FanOutId>,
    children: Vec<ClaimedTask>,
}

/// How the owner of a scene goes on once its fan-outs are begun.
#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Suspended,
    Runs,
    /// Its own work is done, and it waits for its children.
    Done,
}

pub(crate) fn fan_out(name: &str, children: usize, rule: Rule) -> NewFanOut {
    NewFanOut {
        key: Key { branch: String::new(), name: name.to_owned(), occurrence: 0 },
        digest: String::new(),
        children: (0..children).map(|_| task("work")).collect::<Vec<_>>().into(),
        rule,
        timeout: None,
        cancel_on_failure: false,
        wake_at: u32::try_from(children).unwrap(),
    }
}

pub(crate) async fn next(store: &PgStore) -> ClaimedTask {
    let worker = worker(store).await;
    store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.remove(0)
}

pub(crate) async fn running(store: &PgStore) -> ClaimedTask {
    command(store).await;
    enqueue(store, task("work")).await;
    next(store).await
}

async fn scene(store: &PgStore, fan_outs: Vec<NewFanOut>, owner: Owner) -> Scene {
    let attempt = running(store).await;
    let children: usize = fan_outs.iter().map(|fan_out| fan_out.children.len()).sum();
    // One that is to go on is resumed at once, by a timer.
    let until = if owner == Owner::Suspended { None } else { Some(store.now().await.unwrap()) };
    let suspend = Suspend { fan_outs, until, ..Suspend::new(attempt.id, attempt.token) };
    store.suspend(&[suspend]).await.unwrap();
    let mut claimed = Vec::new();
    for _ in 0..children + usize::from(owner != Owner::Suspended) {
        claimed.push(next(store).await);
    }
    let (mut own, children): (Vec<_>, Vec<_>) = claimed.into_iter().partition(|one| one.id == attempt.id);
    let mut running = own.pop();
    if owner == Owner::Done {
        store.settle(&[done(&running.take().expect("the owner, resumed"))]).await.unwrap();
    }
    let fan_outs = store.history(attempt.id).await.unwrap().fan_outs.iter().map(|fan_out| fan_out.id).collect();
    Scene { owner: attempt.id, running, fan_outs, children }
}

pub(crate) fn failed(task: &ClaimedTask) -> Settle {
    let failure = Failure::new(FailureKind::Error, "no");
    Settle::new(task.id, task.token, Outcome::Failed { failure, retry: Retry::Never })
}

fn suspended(suspend: Suspend) -> Call {
    call(move |store| async move { store.suspend(&[suspend]).await.map(drop) })
}

/// Whether the owner is in this state.
async fn owner_is(store: &PgStore, scene: &Scene, expected: State) -> Result<(), String> {
    match state(store, scene.owner).await {
        found if found == expected => Ok(()),
        other => Err(format!("the owner is {other}")),
    }
}

/// The verdict over the first fan-out, and how many children had ended then and have by now.
async fn verdict(store: &PgStore, scene: &Scene) -> (Option<Verdict>, Option<u32>, u64) {
    let fan_out = store.history(scene.owner).await.unwrap().fan_outs.remove(0);
    (fan_out.verdict, fan_out.decided_at, fan_out.tally.ended())
}

/// The last children of two fan-outs of one owner settle, which is suspended or done with its own work.
struct TwoFanOuts(Owner);

impl Pair for TwoFanOuts {
    type Scene = Scene;
    const NAME: &'static str = "settle × settle of the last children of two fan-outs";

    async fn set_up(&self, store: &PgStore) -> Scene {
        scene(store, vec![fan_out("a", 1, Rule::CollectAll), fan_out("b", 1, Rule::CollectAll)], self.0).await
    }

    fn calls(&self, scene: &Scene) -> [Call; 2] {
        [settled(done(&scene.children[0])), settled(done(&scene.children[1]))]
    }

    async fn judge(&self, store: &PgStore, scene: &Scene) -> Result<(), String> {
        let expected = if self.0 == Owner::Done { State::Completed } else { State::Pending };
        owner_is(store, scene, expected).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_settle_of_the_last_children_of_two_fan_outs() {
    every_schedule_is_sound(TwoFanOuts(Owner::Done)).await;
    every_schedule_is_sound(TwoFanOuts(Owner::Suspended)).await;
}

/// One child fails a fan-out at once while another completes.
struct FailFast;

impl Pair for FailFast {
    type Scene = Scene;
    const NAME: &'static str = "fail-fast verdict × settle of a sibling";

    async fn set_up(&self, store: &PgStore) -> Scene {
        scene(store, vec![fan_out("a", 2, Rule::FailFast)], Owner::Suspended).await
    }

    fn calls(&self, scene: &Scene) -> [Call; 2] {
        [settled(failed(&scene.children[0])), settled(done(&scene.children[1]))]
    }

    /// It failed with one or with two ends, and both are counted.
    async fn judge(&self, store: &PgStore, scene: &Scene) -> Result<(), String> {
        match verdict(store, scene).await {
            (Some(Verdict::Failed), Some(1 | 2), 2) => owner_is(store, scene, State::Pending).await,
            other => Err(format!("{other:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fail_fast_verdict_and_settle_of_a_sibling() {
    every_schedule_is_sound(FailFast).await;
}

/// A fan-out is given up at its deadline while its last child settles.
struct ExpireAndSettle;

impl Pair for ExpireAndSettle {
    type Scene = Scene;
    const NAME: &'static str = "expire × settle of the last child";

    async fn set_up(&self, store: &PgStore) -> Scene {
        let begun = NewFanOut { timeout: Some(Duration::ZERO), ..fan_out("a", 1, Rule::FailFast) };
        scene(store, vec![begun], Owner::Runs).await
    }

    fn calls(&self, scene: &Scene) -> [Call; 2] {
        let owner = scene.running.clone().expect("an owner that runs");
        let fan_out = scene.fan_outs[0];
        let expire = call(move |store| async move { store.expire(owner.id, owner.token, fan_out).await.map(drop) });
        [expire, settled(done(&scene.children[0]))]
    }

    /// One outcome: it completed, or it timed out and the child was asked to end.
    async fn judge(&self, store: &PgStore, scene: &Scene) -> Result<(), String> {
        match (verdict(store, scene).await, state(store, scene.children[0].id).await) {
            ((Some(Verdict::Completed), Some(1), 1), State::Completed)
            | ((Some(Verdict::TimedOut), Some(0), 1), State::Cancelled) => owner_is(store, scene, State::Running).await,
            other => Err(format!("{other:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn expire_and_settle_of_the_last_child() {
    every_schedule_is_sound(ExpireAndSettle).await;
}

/// A handler suspends for a fan-out that it began before, and for another, while the last child of the first settles.
struct SuspendAndSettle;

impl Pair for SuspendAndSettle {
    type Scene = Scene;
    const NAME: &'static str = "suspend × settle of a child of an earlier fan-out";

    async fn set_up(&self, store: &PgStore) -> Scene {
        scene(store, vec![fan_out("a", 1, Rule::FailFast)], Owner::Runs).await
    }

    fn calls(&self, scene: &Scene) -> [Call; 2] {
        let owner = scene.running.as_ref().expect("an owner that runs");
        let suspend = Suspend {
            fan_outs: vec![fan_out("b", 1, Rule::FailFast)],
            awaits: vec![Await { fan_out: scene.fan_outs[0], wake_at: 1 }],
            ..Suspend::new(owner.id, owner.token)
        };
        [suspended(suspend), settled(done(&scene.children[0]))]
    }

    async fn judge(&self, store: &PgStore, scene: &Scene) -> Result<(), String> {
        owner_is(store, scene, State::Pending).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn suspend_and_settle_of_a_child_of_an_earlier_fan_out() {
    every_schedule_is_sound(SuspendAndSettle).await;
}

/// A signal comes while a handler suspends for it.
struct SignalAndSuspend;

impl Pair for SignalAndSuspend {
    type Scene = ClaimedTask;
    const NAME: &'static str = "signal × suspend";

    async fn set_up(&self, store: &PgStore) -> ClaimedTask {
        running(store).await
    }

    fn calls(&self, scene: &ClaimedTask) -> [Call; 2] {
        let name = SignalName::new("go").unwrap();
        let suspend = Suspend { signals: vec![name.clone()], ..Suspend::new(scene.id, scene.token) };
        let id = scene.id;
        let signal = call(move |store| async move { store.signal(id, &name, &Json::object()).await.map(drop) });
        [signal, suspended(suspend)]
    }

    async fn judge(&self, store: &PgStore, scene: &ClaimedTask) -> Result<(), String> {
        match state(store, scene.id).await {
            State::Pending => Ok(()),
            other => Err(format!("it is {other}, with a signal")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn signal_and_suspend() {
    every_schedule_is_sound(SignalAndSuspend).await;
}

/// A suspended task is cancelled while the child that it waits for settles.
struct CancelAndResume;

impl Pair for CancelAndResume {
    type Scene = Scene;
    const NAME: &'static str = "cancel × settle of the child that is awaited";

    async fn set_up(&self, store: &PgStore) -> Scene {
        scene(store, vec![fan_out("a", 1, Rule::FailFast)], Owner::Suspended).await
    }

    fn calls(&self, scene: &Scene) -> [Call; 2] {
        [cancelled(scene.owner), settled(done(&scene.children[0]))]
    }

    /// The owner is cancelled either way: before the child ends, or when it pends again.
    async fn judge(&self, store: &PgStore, scene: &Scene) -> Result<(), String> {
        owner_is(store, scene, State::Cancelled).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_and_settle_of_the_child_that_is_awaited() {
    every_schedule_is_sound(CancelAndResume).await;
}

/// A resumed handler is done while a child of its, which it no longer waits for, settles.
struct OwnerAndChild;

impl Pair for OwnerAndChild {
    type Scene = Scene;
    const NAME: &'static str = "settle of the owner × settle of its awaited child";

    async fn set_up(&self, store: &PgStore) -> Scene {
        scene(store, vec![fan_out("a", 1, Rule::FailFast)], Owner::Runs).await
    }

    fn calls(&self, scene: &Scene) -> [Call; 2] {
        let owner = scene.running.as_ref().expect("an owner that runs");
        [settled(done(owner)), settled(done(&scene.children[0]))]
    }

    async fn judge(&self, store: &PgStore, scene: &Scene) -> Result<(), String> {
        owner_is(store, scene, State::Completed).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_of_the_owner_and_settle_of_its_awaited_child() {
    every_schedule_is_sound(OwnerAndChild).await;
}
