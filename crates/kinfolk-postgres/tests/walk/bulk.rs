//! Bulk actions beside each other and beside what goes on in the families they touch: one order of locks, whatever page they have.

use std::time::Duration;

use kinfolk_core::filter::Filter;
use kinfolk_core::operate::Action;
use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing;

use super::common::{claim_of, done, enqueue, fresh, task, worker};
use super::durable::{fan_out, running};
use super::families::{Family, family, making, tasks};
use super::pairs::{cancelled, command, state};
use super::walker::{Call, call};
use super::{Pair, a_worse_piece_shows, every_schedule_is_sound};

/// A page of a bulk action on all tasks that match.
fn bulk(action: Action, filter: Filter) -> Call {
    call(move |store| async move { store.bulk(action, &filter).await.map(drop) })
}

/// The same in SQL, where nobody narrows the filter to what the action can be done to.
fn bulk_in_sql(action: &'static str, filter: &'static str) -> Call {
    call(
        move |store| async move { testing::execute(&store, &format!("select kinfolk.bulk('{action}', '{filter}')")).await },
    )
}

fn all() -> Filter {
    Filter { limit: 100, ..Filter::default() }
}

/// Two parents that wait, each with one running child.
async fn two_families(store: &PgStore) -> [Family; 2] {
    [family(store, 1).await, family(store, 1).await]
}

/// Each family has ended as a whole, in one way, once its child has heard of its end.
async fn ended_whole(store: &PgStore, families: &[Family; 2]) -> Result<(), String> {
    for Family { parent, children } in families {
        store.settle(&[done(&children[0])]).await.unwrap();
        match (state(store, *parent).await, state(store, children[0].id).await) {
            (State::Completed, State::Completed) | (State::Cancelled, State::Cancelled) => {}
            other => return Err(format!("{other:?}")),
        }
    }
    Ok(())
}

async fn all_cancelled(store: &PgStore, families: &[Family; 2]) -> Result<(), String> {
    ended_whole(store, families).await?;
    for Family { parent, .. } in families {
        if state(store, *parent).await != State::Cancelled {
            return Err(format!("task {parent} was lost"));
        }
    }
    Ok(())
}

/// Two operators cancel everything.
struct BulkAndBulk;

impl Pair for BulkAndBulk {
    type Scene = [Family; 2];
    const NAME: &'static str = "bulk cancel × bulk cancel";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        two_families(store).await
    }

    fn calls(&self, _: &Self::Scene) -> [Call; 2] {
        [bulk(Action::Cancel, all()), bulk(Action::Cancel, Filter { roots: true, ..all() })]
    }

    async fn judge(&self, store: &PgStore, families: &Self::Scene) -> Result<(), String> {
        all_cancelled(store, families).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_and_bulk() {
    every_schedule_is_sound(BulkAndBulk).await;
}

/// The last children of both families settle in one call, the younger first.
struct BulkAndSettle;

impl Pair for BulkAndSettle {
    type Scene = [Family; 2];
    const NAME: &'static str = "bulk cancel × settle of both last children";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        two_families(store).await
    }

    fn calls(&self, [one, other]: &Self::Scene) -> [Call; 2] {
        let settles = [done(&other.children[0]), done(&one.children[0])];
        let settled = call(move |store| async move { store.settle(&settles).await.map(drop) });
        [bulk(Action::Cancel, all()), settled]
    }

    async fn judge(&self, store: &PgStore, families: &Self::Scene) -> Result<(), String> {
        ended_whole(store, families).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_and_settle() {
    every_schedule_is_sound(BulkAndSettle).await;
}

/// The younger family is cancelled as well.
struct BulkAndCancelFamily;

impl Pair for BulkAndCancelFamily {
    type Scene = [Family; 2];
    const NAME: &'static str = "bulk cancel × cancel of a family";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        two_families(store).await
    }

    fn calls(&self, [_, other]: &Self::Scene) -> [Call; 2] {
        [bulk(Action::Cancel, all()), cancelled(other.parent)]
    }

    async fn judge(&self, store: &PgStore, families: &Self::Scene) -> Result<(), String> {
        all_cancelled(store, families).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_and_cancel_of_a_family() {
    every_schedule_is_sound(BulkAndCancelFamily).await;
}

/// Two families that have failed with their only child. The child of the older one has the higher number.
async fn two_failed(store: &PgStore) -> [TaskId; 2] {
    command(store).await;
    let roots = [enqueue(store, task("work")).await, enqueue(store, task("work")).await];
    let worker = worker(store).await;
    let claimed = store.claim(&claim_of(worker, &["work"], 2)).await.unwrap().tasks;
    for root in claimed.iter().rev() {
        let made = Made { children: tasks(1), ..Made::default() };
        store.settle(&[making(root, made)]).await.unwrap();
    }
    let children = store.claim(&claim_of(worker, &["work"], 2)).await.unwrap().tasks;
    let failure = Failure::new(FailureKind::Error, "no");
    let failed = |task: &ClaimedTask| {
        let outcome = Outcome::Failed { failure: failure.clone(), retry: Retry::Never };
        Settle::new(task.id, task.token, outcome)
    };
    store.settle(&children.iter().map(failed).collect::<Vec<_>>()).await.unwrap();
    for root in roots {
        assert_eq!(state(store, root).await, State::Failed);
    }
    roots
}

/// A retry goes from family to family, so it comes to the children in another order than that of their numbers.
struct RetryAndRunNow;

impl Pair for RetryAndRunNow {
    type Scene = [TaskId; 2];
    const NAME: &'static str = "bulk retry × bulk run now";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        two_failed(store).await
    }

    fn calls(&self, _: &Self::Scene) -> [Call; 2] {
        [bulk(Action::Retry, all()), bulk_in_sql("run_now", r#"{"has_children": false, "limit": 100}"#)]
    }

    async fn judge(&self, store: &PgStore, roots: &Self::Scene) -> Result<(), String> {
        match (state(store, roots[0]).await, state(store, roots[1]).await) {
            (State::Waiting, State::Waiting) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_retry_and_bulk_run_now() {
    every_schedule_is_sound(RetryAndRunNow).await;
}

/// What has ended is removed family by family, which is not the order of numbers: a cancel has nothing to lock there.
struct DeleteAndCancel;

impl Pair for DeleteAndCancel {
    type Scene = [TaskId; 2];
    const NAME: &'static str = "bulk delete × bulk cancel of what has ended";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        two_failed(store).await
    }

    fn calls(&self, _: &Self::Scene) -> [Call; 2] {
        [bulk(Action::Delete, all()), bulk_in_sql("cancel", r#"{"has_children": false, "limit": 100}"#)]
    }

    async fn judge(&self, store: &PgStore, _: &Self::Scene) -> Result<(), String> {
        let left = store.list(&all()).await.unwrap().tasks;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_delete_and_bulk_cancel() {
    every_schedule_is_sound(DeleteAndCancel).await;
}

/// Two families whose first children run, and whose second ones wait for them in order. The children of the older family have the higher
/// numbers.
async fn two_in_order(store: &PgStore) -> [Vec<ClaimedTask>; 2] {
    command(store).await;
    for _ in 0..2 {
        enqueue(store, task("work")).await;
    }
    let worker = worker(store).await;
    let roots = store.claim(&claim_of(worker, &["work"], 2)).await.unwrap().tasks;
    for root in roots.iter().rev() {
        let made = Made { children: tasks(2), order: ChildOrder::InOrder, ..Made::default() };
        store.settle(&[making(root, made)]).await.unwrap();
    }
    let first = store.claim(&claim_of(worker, &["work"], 2)).await.unwrap().tasks;
    assert_eq!(first.len(), 2);
    [roots, first]
}

/// A settle opens the next children in the order of their parents, which is not that of their numbers.
struct RunNowAndSettle;

impl Pair for RunNowAndSettle {
    type Scene = [Vec<ClaimedTask>; 2];
    const NAME: &'static str = "bulk run now × settle that opens the next children";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        two_in_order(store).await
    }

    fn calls(&self, [_, first]: &Self::Scene) -> [Call; 2] {
        let settles: Vec<_> = first.iter().map(done).collect();
        let settled = call(move |store| async move { store.settle(&settles).await.map(drop) });
        [bulk(Action::RunNow, all()), settled]
    }

    async fn judge(&self, store: &PgStore, [roots, _]: &Self::Scene) -> Result<(), String> {
        for root in roots {
            let next = store.children(root.id, 1, 1).await.unwrap().remove(0);
            if (next.state, next.gate) != (State::Pending, Some(Gate::Open)) {
                return Err(format!("{next:?}"));
            }
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_run_now_and_settle() {
    every_schedule_is_sound(RunNowAndSettle).await;
}

/// A settle locks plain completions before the others, which is not the order of numbers, and roots without a family lock none.
struct CancelAndMixedSettle;

impl Pair for CancelAndMixedSettle {
    type Scene = Vec<ClaimedTask>;
    const NAME: &'static str = "bulk cancel × settle of two roots that end differently";

    async fn set_up(&self, store: &PgStore) -> Self::Scene {
        command(store).await;
        for _ in 0..2 {
            enqueue(store, task("work")).await;
        }
        let worker = worker(store).await;
        store.claim(&claim_of(worker, &["work"], 2)).await.unwrap().tasks
    }

    fn calls(&self, roots: &Self::Scene) -> [Call; 2] {
        let snoozed = Settle { outcome: Outcome::Snooze(Duration::from_secs(3_600)), ..done(&roots[0]) };
        let settles = [snoozed, done(&roots[1])];
        let settled = call(move |store| async move { store.settle(&settles).await.map(drop) });
        [bulk(Action::Cancel, all()), settled]
    }

    async fn judge(&self, store: &PgStore, roots: &Self::Scene) -> Result<(), String> {
        match (state(store, roots[0].id).await, state(store, roots[1].id).await) {
            (State::Cancelled, State::Cancelled | State::Completed) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_cancel_and_mixed_settle() {
    every_schedule_is_sound(CancelAndMixedSettle).await;
}

/// A page of a bulk action locks its tasks one after another, by number.
pub(crate) const ONE_BY_ONE: &str =
    "create or replace function kinfolk.lock_all_or_none(p_tasks bigint[]) returns boolean language plpgsql as $$
    declare v_task bigint;
    begin
        foreach v_task in array p_tasks loop
            perform from kinfolk.task t where t.id = v_task for update;
            perform kinfolk.point('lock_all_or_none.one');
        end loop;
        return true;
    end $$";

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_action_that_waits_for_one_task_while_it_holds_another_locks_up() {
    a_worse_piece_shows("deadlock detected", RunNowAndSettle, ONE_BY_ONE).await;
    a_worse_piece_shows("deadlock detected", CancelAndMixedSettle, ONE_BY_ONE).await;
}

/// A transaction that signals a suspended task and then its child goes by number. A bulk cancel of the child goes up to the task.
#[tokio::test]
async fn a_bulk_cancel_holds_no_task_while_it_waits_for_an_owner() {
    let (database, store) = fresh().await;
    let owner = running(&store).await;
    let fan_outs = vec![fan_out("f", 1, Rule::CollectAll)];
    store.suspend(&[Suspend { fan_outs, ..Suspend::new(owner.id, owner.token) }]).await.unwrap();
    let child = store.children(owner.id, 0, 1).await.unwrap()[0].id;
    let signals = database.client().await;
    let signal = |task| format!("select kinfolk.signal({task}, 'word', '1')");
    signals.batch_execute(&format!("begin; {}", signal(owner.id))).await.unwrap();
    let one = Filter { root: Some(owner.id), has_children: Some(false), ..all() };
    let cancel = tokio::spawn({
        let store = database.store().await;
        async move { store.bulk(Action::Cancel, &one).await }
    });
    let waits = "select (count(*) = 1)::text from pg_stat_activity \
        where datname = current_database() and wait_event_type = 'Lock' and query like '%bulk%'";
    while database.texts(waits).await != ["true"] {
        tokio::task::yield_now().await;
    }
    signals.batch_execute(&signal(child)).await.expect("a child that nobody holds");
    signals.batch_execute("commit").await.unwrap();
    cancel.await.unwrap().unwrap();
    assert_eq!(state(&store, child).await, State::Cancelled);
    assert_eq!(store.check().await.unwrap(), []);
}
