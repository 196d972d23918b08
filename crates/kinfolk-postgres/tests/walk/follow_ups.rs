//! What follows a family that is retried, beside all that may touch it meanwhile.

use kinfolk_core::filter::Filter;
use kinfolk_core::operate::Action;
use kinfolk_core::*;
use kinfolk_postgres::PgStore;

use super::bulk::ONE_BY_ONE;
use super::common::{claim_of, enqueue, task, worker};
use super::families::making;
use super::pairs::settled;
use super::walker::{Call, call};
use super::{Pair, a_worse_piece_shows, every_schedule_is_sound};

/// A family whose child runs, and that has asked for follow-ups.
struct Asking {
    root: TaskId,
    child: ClaimedTask,
}

/// Follow-ups under these keys, which need a completed family.
fn follow_ups(keys: &[&str]) -> Vec<FollowUp> {
    let follow_up = |key: &&str| {
        let unique = Some(Unique::key(*key).on_duplicate(OnDuplicate::Merge));
        FollowUp { task: NewTask { unique, ..task("after") }, when: When::Completed }
    };
    keys.iter().map(follow_up).collect()
}

async fn commands(store: &PgStore) {
    let names = ["work", "other", "after"].map(|name| Command::new(name.parse().unwrap()));
    store.register(&names).await.unwrap();
}

async fn claimed(store: &PgStore, command: &str) -> ClaimedTask {
    let worker = worker(store).await;
    store.claim(&claim_of(worker, &[command], 1)).await.unwrap().tasks.remove(0)
}

/// A family of this command that asks for follow-ups under these keys.
async fn asking(store: &PgStore, command: &str, keys: &[&str]) -> Asking {
    enqueue(store, task(command)).await;
    let root = claimed(store, command).await;
    let made = Made { children: vec![task(command)], follow_ups: follow_ups(keys), ..Made::default() };
    store.settle(&[making(&root, made)]).await.unwrap();
    Asking { root: root.id, child: claimed(store, command).await }
}

/// These families fail with their children.
async fn fail(store: &PgStore, asked: &[&Asking]) {
    let outcome = || Outcome::Failed { failure: Failure::new(FailureKind::Error, "no"), retry: Retry::Never };
    let settles: Vec<_> = asked.iter().map(|one| Settle::new(one.child.id, one.child.token, outcome())).collect();
    store.settle(&settles).await.unwrap();
}

/// They do, and a claim skips what was to follow.
async fn spoil(store: &PgStore, asked: &[&Asking]) {
    fail(store, asked).await;
    let worker = worker(store).await;
    assert_eq!(store.claim(&claim_of(worker, &["after"], 1)).await.unwrap().tasks, []);
}

/// A claim that looks at the follow-ups.
fn look(worker: WorkerId) -> Call {
    call(move |store| async move { store.claim(&claim_of(worker, &["after"], 1)).await.map(drop) })
}

fn retried(root: TaskId) -> Call {
    call(move |store| async move { store.retry_family(root).await.map(drop) })
}

/// The follow-up under this key waits for these families.
async fn waits_for(store: &PgStore, key: &str, roots: &[TaskId]) -> Result<(), String> {
    let filter = Filter { unique: Some(key.to_owned()), limit: 10, ..Filter::default() };
    let found = store.list(&filter).await.unwrap().tasks;
    let [task] = &found[..] else { return Err(format!("{key}: {found:?}")) };
    let why = store.explain(task.id).await.unwrap().reasons;
    match why.first() {
        Some(Reason::Families { roots: waited_for }) if waited_for == roots => Ok(()),
        _ => Err(format!("{key} is {}: {why:?}", task.state)),
    }
}

/// A claim judges the follow-up of a family that is retried at that moment.
struct RetryAndClaim;

impl Pair for RetryAndClaim {
    type Scene = (TaskId, WorkerId);
    const NAME: &'static str = "retry of a family × claim that skips its follow-up";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        commands(store).await;
        let asked = asking(store, "work", &["a"]).await;
        fail(store, &[&asked]).await;
        (asked.root, worker(store).await)
    }

    fn calls(&self, &(root, worker): &Self::Scene) -> [Call; 2] {
        [retried(root), look(worker)]
    }

    async fn judge(&self, store: &PgStore, &(root, _): &Self::Scene) -> Result<(), String> {
        waits_for(store, "a", &[root]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_of_a_family_and_claim() {
    every_schedule_is_sound(RetryAndClaim).await;
}

/// The retry does not lock the follow-ups.
const UNLOCKED: &str = "create or replace function kinfolk.lock_follow_ups(p_roots bigint[]) returns void language sql
    as 'select'";

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_does_not_lock_what_follows_loses_it() {
    a_worse_piece_shows("", RetryAndClaim, UNLOCKED).await;
}

/// Two families that have spoiled the same two follow-ups are retried at the same moment.
struct RetryAndRetry;

impl Pair for RetryAndRetry {
    type Scene = [TaskId; 2];
    const NAME: &'static str = "retry of a family × retry of another with the same follow-ups";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        commands(store).await;
        let asked = [asking(store, "work", &["a", "b"]).await, asking(store, "other", &["b", "a"]).await];
        spoil(store, &asked.each_ref()).await;
        asked.map(|one| one.root)
    }

    fn calls(&self, roots: &Self::Scene) -> [Call; 2] {
        roots.map(retried)
    }

    async fn judge(&self, store: &PgStore, roots: &Self::Scene) -> Result<(), String> {
        waits_for(store, "a", roots).await?;
        waits_for(store, "b", roots).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_of_a_family_and_retry_of_another() {
    every_schedule_is_sound(RetryAndRetry).await;
}

/// A bulk retry goes from family to family, and comes to the follow-ups in another order than that of their numbers; a family
/// that has spoiled the same ones is retried at that moment.
struct BulkAndRetry;

impl Pair for BulkAndRetry {
    type Scene = [TaskId; 3];
    const NAME: &'static str = "bulk retry × retry of a family with the same follow-ups";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        commands(store).await;
        // The numbers of the follow-ups are those of this one's order.
        let other = asking(store, "other", &["a", "b"]).await;
        let asked = [asking(store, "work", &["b"]).await, asking(store, "work", &["a"]).await, other];
        spoil(store, &asked.each_ref()).await;
        asked.map(|one| one.root)
    }

    fn calls(&self, roots: &Self::Scene) -> [Call; 2] {
        let filter = Filter { command: Some("work".parse().unwrap()), roots: true, limit: 100, ..Filter::default() };
        let bulk = call(move |store| async move { store.bulk(Action::Retry, &filter).await.map(drop) });
        [bulk, retried(roots[2])]
    }

    async fn judge(&self, store: &PgStore, roots: &Self::Scene) -> Result<(), String> {
        waits_for(store, "a", &[roots[2], roots[1]]).await?;
        waits_for(store, "b", &[roots[2], roots[0]]).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_retry_and_retry_of_a_family() {
    every_schedule_is_sound(BulkAndRetry).await;
}

/// A family joins the follow-ups of one that is retried, in another order than that of their numbers.
struct RetryAndJoin;

impl Pair for RetryAndJoin {
    type Scene = (TaskId, Asking, ClaimedTask);
    const NAME: &'static str = "retry of a family × settle that joins its follow-ups";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        commands(store).await;
        // Nothing is judged while this one goes on.
        let open = asking(store, "work", &["a", "b"]).await;
        let asked = asking(store, "work", &["a", "b"]).await;
        fail(store, &[&asked]).await;
        enqueue(store, task("other")).await;
        (asked.root, open, claimed(store, "other").await)
    }

    fn calls(&self, (root, _, maker): &Self::Scene) -> [Call; 2] {
        let made = Made { children: vec![task("other")], follow_ups: follow_ups(&["b", "a"]), ..Made::default() };
        [retried(*root), settled(making(maker, made))]
    }

    async fn judge(&self, store: &PgStore, (root, open, maker): &Self::Scene) -> Result<(), String> {
        let roots = [open.root, *root, maker.id];
        waits_for(store, "a", &roots).await?;
        waits_for(store, "b", &roots).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_of_a_family_and_join() {
    every_schedule_is_sound(RetryAndJoin).await;
}

/// Two follow-ups are cancelled by their numbers, while a family joins them in the opposite order.
struct CancelAndJoin;

impl Pair for CancelAndJoin {
    type Scene = (Asking, ClaimedTask);
    const NAME: &'static str = "bulk cancel of follow-ups × settle that joins them";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        commands(store).await;
        let asked = asking(store, "work", &["a", "b"]).await;
        enqueue(store, task("other")).await;
        (asked, claimed(store, "other").await)
    }

    fn calls(&self, (_, maker): &Self::Scene) -> [Call; 2] {
        let filter = Filter { command: Some("after".parse().unwrap()), limit: 100, ..Filter::default() };
        let made = Made { children: vec![task("other")], follow_ups: follow_ups(&["b", "a"]), ..Made::default() };
        let cancelled = call(move |store| async move { store.bulk(Action::Cancel, &filter).await.map(drop) });
        [cancelled, settled(making(maker, made))]
    }

    async fn judge(&self, store: &PgStore, (_, maker): &Self::Scene) -> Result<(), String> {
        open_ones_wait_for(store, maker.id).await
    }
}

/// Follow-ups that have not ended wait for this family alone.
async fn open_ones_wait_for(store: &PgStore, maker: TaskId) -> Result<(), String> {
    let filter = Filter { command: Some("after".parse().unwrap()), limit: 10, ..Filter::default() };
    let open = store.list(&filter).await.unwrap().tasks.into_iter().filter(|task| !task.state.is_terminal());
    for task in open {
        let why = store.explain(task.id).await.unwrap().reasons;
        match why.first() {
            Some(Reason::Families { roots }) if roots[..] == [maker] => {}
            _ => return Err(format!("follow-up {}: {why:?}", task.id)),
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_cancel_of_follow_ups_and_join() {
    every_schedule_is_sound(CancelAndJoin).await;
}

/// A family joins tasks under its keys that were enqueued only after it had looked for such tasks, in the opposite order of their numbers;
/// they are cancelled at that moment.
struct EnqueueAndJoin;

impl Pair for EnqueueAndJoin {
    type Scene = ClaimedTask;
    const NAME: &'static str = "enqueue and bulk cancel under two keys × settle that joins them";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        commands(store).await;
        enqueue(store, task("other")).await;
        claimed(store, "other").await
    }

    fn calls(&self, maker: &Self::Scene) -> [Call; 2] {
        let filter = Filter { command: Some("after".parse().unwrap()), limit: 100, ..Filter::default() };
        let holders: Vec<_> = follow_ups(&["a", "b"]).into_iter().map(|follow_up| follow_up.task).collect();
        let made = Made { children: vec![task("other")], follow_ups: follow_ups(&["b", "a"]), ..Made::default() };
        let cancelled = call(move |store| async move {
            store.enqueue(&holders).await?;
            store.bulk(Action::Cancel, &filter).await.map(drop)
        });
        [cancelled, settled(making(maker, made))]
    }

    async fn judge(&self, store: &PgStore, maker: &Self::Scene) -> Result<(), String> {
        open_ones_wait_for(store, maker.id).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn enqueue_and_join() {
    every_schedule_is_sound(EnqueueAndJoin).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_action_that_holds_a_joined_task_while_it_waits_for_another_locks_up() {
    a_worse_piece_shows("deadlock detected", EnqueueAndJoin, ONE_BY_ONE).await;
}
