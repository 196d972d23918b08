//! Pairs within a family: its counts, its shape and its end.

use kinfolk_core::*;
use kinfolk_postgres::PgStore;

use super::common::{claim_of, done, enqueue, task, worker};
use super::durable::{failed, next};
use super::pairs::{cancelled, command, settled, state};
use super::walker::{Call, call};
use super::{Pair, a_worse_piece_shows, every_schedule_is_sound};

/// A parent that waits, and its children, which all run.
pub(crate) struct Family {
    pub(crate) parent: TaskId,
    pub(crate) children: Vec<ClaimedTask>,
}

/// A done attempt that made these.
pub(crate) fn making(task: &ClaimedTask, made: Made) -> Settle {
    Settle { made: Some(Box::new(made)), ..done(task) }
}

pub(crate) fn tasks(many: usize) -> Vec<NewTask> {
    (0..many).map(|_| task("work")).collect()
}

/// A waiting parent with running children, each on a worker of its own.
pub(crate) async fn family(store: &PgStore, children: usize) -> Family {
    command(store).await;
    let parent = enqueue(store, task("work")).await;
    let first = worker(store).await;
    let claimed = store.claim(&claim_of(first, &["work"], 1)).await.unwrap().tasks.remove(0);
    let made = Made { children: tasks(children), ..Made::default() };
    store.settle(&[making(&claimed, made)]).await.unwrap();
    let mut running = Vec::new();
    for _ in 0..children {
        let next = worker(store).await;
        running.append(&mut store.claim(&claim_of(next, &["work"], 1)).await.unwrap().tasks);
    }
    assert_eq!((running.len(), state(store, parent).await), (children, State::Waiting));
    Family { parent, children: running }
}

/// The two last children of a parent settle at the same moment.
pub(crate) struct TwoLastSiblings;

impl Pair for TwoLastSiblings {
    type Scene = Family;
    const NAME: &'static str = "settle × settle of the two last siblings";

    async fn set_up(&self, store: &PgStore) -> Family {
        family(store, 2).await
    }

    fn calls(&self, scene: &Family) -> [Call; 2] {
        [settled(done(&scene.children[0])), settled(done(&scene.children[1]))]
    }

    async fn judge(&self, store: &PgStore, scene: &Family) -> Result<(), String> {
        match state(store, scene.parent).await {
            State::Completed => Ok(()),
            other => Err(format!("the parent is {other}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_settle_of_the_two_last_siblings() {
    every_schedule_is_sound(TwoLastSiblings).await;
}

/// The last child but one settles while the last one makes a sibling.
struct SettleAndSpawnSibling;

impl Pair for SettleAndSpawnSibling {
    type Scene = Family;
    const NAME: &'static str = "settle × spawn a sibling";

    async fn set_up(&self, store: &PgStore) -> Family {
        family(store, 2).await
    }

    fn calls(&self, scene: &Family) -> [Call; 2] {
        let made = Made { siblings: tasks(1), ..Made::default() };
        [settled(done(&scene.children[0])), settled(making(&scene.children[1], made))]
    }

    /// The parent waits for the sibling, and for nothing else.
    async fn judge(&self, store: &PgStore, scene: &Family) -> Result<(), String> {
        let waits = (state(store, scene.parent).await, store.tally(scene.parent).await.unwrap());
        if waits != (State::Waiting, Tally { total: 3, completed: 2, ..Tally::default() }) {
            return Err(format!("{waits:?}"));
        }
        let last = worker(store).await;
        let sibling = store.claim(&claim_of(last, &["work"], 1)).await.unwrap().tasks.remove(0);
        store.settle(&[done(&sibling)]).await.unwrap();
        match state(store, scene.parent).await {
            State::Completed => Ok(()),
            other => Err(format!("the parent is {other}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_spawn_a_sibling() {
    every_schedule_is_sound(SettleAndSpawnSibling).await;
}

/// The last child settles while the family is cancelled.
struct SettleAndCancelFamily;

impl Pair for SettleAndCancelFamily {
    type Scene = Family;
    const NAME: &'static str = "settle of the last child × cancel of its parent";

    async fn set_up(&self, store: &PgStore) -> Family {
        family(store, 1).await
    }

    fn calls(&self, scene: &Family) -> [Call; 2] {
        [settled(done(&scene.children[0])), cancelled(scene.parent)]
    }

    async fn judge(&self, store: &PgStore, scene: &Family) -> Result<(), String> {
        match (state(store, scene.parent).await, state(store, scene.children[0].id).await) {
            (State::Completed, State::Completed) | (State::Cancelled, State::Cancelled) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_of_the_last_child_and_cancel_of_its_parent() {
    every_schedule_is_sound(SettleAndCancelFamily).await;
}

/// A parent makes its children while it is cancelled.
struct SpawnAndCancel;

impl Pair for SpawnAndCancel {
    type Scene = ClaimedTask;
    const NAME: &'static str = "settle with children × cancel";

    async fn set_up(&self, store: &PgStore) -> ClaimedTask {
        command(store).await;
        enqueue(store, task("work")).await;
        let first = worker(store).await;
        store.claim(&claim_of(first, &["work"], 1)).await.unwrap().tasks.remove(0)
    }

    fn calls(&self, scene: &ClaimedTask) -> [Call; 2] {
        let made = Made { children: tasks(2), ..Made::default() };
        [settled(making(scene, made)), cancelled(scene.id)]
    }

    /// Cancelled either way: without children, or with all of them.
    async fn judge(&self, store: &PgStore, scene: &ClaimedTask) -> Result<(), String> {
        let children = store.children(scene.id, 0, 10).await.unwrap();
        match state(store, scene.id).await {
            State::Cancelled if children.iter().all(|child| child.state == State::Cancelled) => Ok(()),
            other => Err(format!("{other}, with {children:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_with_children_and_cancel() {
    every_schedule_is_sound(SpawnAndCancel).await;
}

/// A root that failed is repaired, on a queue with room for one family, and starts again while the first of two children that go in
/// order is cancelled.
struct CancelAndRepairedRoot;

impl Pair for CancelAndRepairedRoot {
    type Scene = (TaskId, TaskId, Claim);
    const NAME: &'static str = "cancel of a child in order × claim of its repaired root";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        command(store).await;
        let one = Policy { family_limit: Some(1), ..Policy::default() };
        store.set_queue(&QueueName::default(), &one).await.unwrap();
        let root = enqueue(store, task("work")).await;
        let first = next(store).await;
        let made = Some(Box::new(Made { children: tasks(2), order: ChildOrder::InOrder, ..Made::default() }));
        let until = Some(store.now().await.unwrap());
        store.suspend(&[Suspend { made, until, ..Suspend::new(first.id, first.token) }]).await.unwrap();
        while state(store, root).await != State::Failed {
            let next = next(store).await;
            store.settle(&[failed(&next)]).await.unwrap();
        }
        store.retry_family(root).await.unwrap();
        let child = store.children(root, 0, 10).await.unwrap()[0].id;
        // A repeated claim looks once, and tells the judge what it has taken.
        (root, child, Claim { repeated: true, ..claim_of(worker(store).await, &["work"], 1) })
    }

    fn calls(&self, (_, child, claim): &Self::Scene) -> [Call; 2] {
        let claim = claim.clone();
        [cancelled(*child), call(move |store| async move { store.claim(&claim).await.map(drop) })]
    }

    /// The family comes to its end.
    async fn judge(&self, store: &PgStore, (root, _, claim): &Self::Scene) -> Result<(), String> {
        let mut claim = claim.clone();
        loop {
            let taken = store.claim(&claim).await.unwrap();
            if taken.tasks.is_empty() {
                break;
            }
            let settles: Vec<Settle> = taken.tasks.iter().map(done).collect();
            store.settle(&settles).await.unwrap();
            claim = claim_of(claim.worker, &["work"], 10);
        }
        match state(store, *root).await {
            state if state.is_terminal() => Ok(()),
            other => Err(format!("the root is {other}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_of_a_child_in_order_and_claim_of_its_repaired_root() {
    every_schedule_is_sound(CancelAndRepairedRoot).await;
}

/// The claim does not lock the family.
const UNLOCKED: &str = "create or replace function kinfolk.try_lock_family(p_root bigint) returns boolean language sql
    as 'select true'";

#[tokio::test(flavor = "multi_thread")]
async fn a_repaired_root_that_starts_without_its_familys_lock_is_stuck() {
    a_worse_piece_shows("", CancelAndRepairedRoot, UNLOCKED).await;
}

/// Two children of different depth settle, and both ends go up to the root.
struct TwoDepths;

impl Pair for TwoDepths {
    type Scene = (TaskId, ClaimedTask, ClaimedTask);
    const NAME: &'static str = "settle × settle at two depths of a family";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        let Family { parent, mut children } = family(store, 2).await;
        let (other, middle) = (children.remove(0), children.remove(0));
        store.settle(&[making(&middle, Made { children: tasks(1), ..Made::default() })]).await.unwrap();
        let last = worker(store).await;
        (parent, other, store.claim(&claim_of(last, &["work"], 1)).await.unwrap().tasks.remove(0))
    }

    fn calls(&self, (_, other, grandchild): &Self::Scene) -> [Call; 2] {
        [settled(done(other)), settled(done(grandchild))]
    }

    async fn judge(&self, store: &PgStore, (root, ..): &Self::Scene) -> Result<(), String> {
        match state(store, *root).await {
            State::Completed => Ok(()),
            other => Err(format!("the root is {other}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settle_and_settle_at_two_depths_of_a_family() {
    every_schedule_is_sound(TwoDepths).await;
}

/// The suite would notice a join that decides from counts it read before it had the lock.
#[tokio::test(flavor = "multi_thread")]
async fn a_join_without_the_lock_is_caught() {
    a_worse_piece_shows("1 stuck", TwoLastSiblings, include_str!("../../sql/testing/join_without_lock.sql")).await;
}
