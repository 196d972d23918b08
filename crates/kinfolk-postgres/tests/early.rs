//! Claims that take tasks before they ask their groups: what they do beside each other, and beside those who free slots.

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::*;
use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing::{self, TestDatabase};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

/// The command `work` with one slot for each tenant.
async fn stage() -> (TestDatabase, Arc<PgStore>) {
    let (database, store) = fresh().await;
    let groups = Groups::new().and(GroupName::new("tenant").unwrap(), GroupSpec::limit(1));
    store.register(&[Command { groups: Some(groups), ..Command::new(command("work")) }]).await.unwrap();
    (database, Arc::new(store))
}

async fn under(store: &PgStore, tenant: &str) -> TaskId {
    enqueue(store, NewTask { keys: Keys::new().and(GroupName::new("tenant").unwrap(), tenant), ..task("work") }).await
}

/// Someone who has the admission locks of all groups.
async fn with_the_locks(database: &TestDatabase) -> Client {
    let client = database.client().await;
    client
        .batch_execute("begin; select pg_advisory_xact_lock(1263160910, g.id) from kinfolk.slot_group g")
        .await
        .unwrap();
    client
}

/// A claim by a worker of its own, on its way.
async fn claiming(store: &Arc<PgStore>, limit: usize) -> JoinHandle<Vec<ClaimedTask>> {
    let (store, worker) = (Arc::clone(store), worker(store).await);
    tokio::spawn(async move { store.claim(&claim_of(worker, &["work"], limit)).await.unwrap().tasks })
}

/// Waits until so many wait for the admission lock of a group.
async fn until_waiting(client: &Client, many: i64) {
    let waiting =
        "select count(*) from pg_locks l where l.locktype = 'advisory' and l.classid = 1263160910 and not l.granted
        and l.database = (select d.oid from pg_database d where d.datname = current_database())";
    let all = async {
        while client.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0) < many {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all).await.expect("they wait for the lock");
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_of_one_group_have_their_tasks_in_hand_before_they_wait_for_its_lock() {
    let (database, store) = stage().await;
    for tenant in ["a", "b", "c", "d"] {
        under(&store, tenant).await;
    }
    let holder = with_the_locks(&database).await;
    let claims = [claiming(&store, 2).await, claiming(&store, 2).await];
    until_waiting(&holder, 2).await;
    let free = "select id from kinfolk.task where state = 'pending' for update skip locked";
    assert_eq!(holder.query(free, &[]).await.unwrap().len(), 0, "both have two of the four in hand");
    holder.batch_execute("commit").await.unwrap();
    for claim in claims {
        assert_eq!(claim.await.unwrap().len(), 2);
    }
    sound(&store).await;
}

/// Such a claim alone, on its way: what it took after all, and what was undone.
async fn claiming_early(
    database: &TestDatabase,
    store: &PgStore,
    limit: usize,
) -> JoinHandle<(Vec<TaskId>, Option<Vec<TaskId>>)> {
    let (client, worker) = (database.client().await, worker(store).await.0);
    let early = format!(
        "select id, undone from kinfolk.claim('{worker}', gen_random_uuid(), 'default', '{{work}}', {limit}, false, true, p_early => true)"
    );
    tokio::spawn(async move {
        let rows = client.query(&early, &[]).await.unwrap();
        let undone: Option<Vec<i64>> = rows.last().unwrap().get(1);
        let mut taken: Vec<i64> = rows.iter().filter_map(|row| row.get(0)).collect();
        taken.retain(|id| !undone.iter().flatten().any(|undone| undone == id));
        let ids = |ids: Vec<i64>| ids.into_iter().map(TaskId).collect();
        (ids(taken), undone.map(ids))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_has_a_slot_that_was_freed_since_it_was_set_running_starts_as_of_then() {
    let (database, store) = stage().await;
    testing::install_clock(&store).await.unwrap();
    let first = under(&store, "a").await;
    let begun = claiming(&store, 1).await.await.unwrap().remove(0);
    let (second, other) = (under(&store, "a").await, under(&store, "b").await);

    let holder = with_the_locks(&database).await;
    let claim = claiming_early(&database, &store, 5).await;
    until_waiting(&holder, 1).await;
    let before = store.task(first).await.unwrap().unwrap().created_at;
    testing::set_clock(&store, before.plus(Duration::from_secs(60))).await.unwrap();
    store.settle(&[done(&begun)]).await.unwrap();
    holder.batch_execute("commit").await.unwrap();

    assert_eq!(claim.await.unwrap(), (vec![second, other], None));
    let ended = store.task(first).await.unwrap().unwrap().finished_at.unwrap();
    let started = async |id| store.task(id).await.unwrap().unwrap().started_at.unwrap();
    assert!(started(second).await >= ended, "by the book they ran side by side");
    assert!(started(other).await < ended, "it was asked for no slot of that key");
    sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_without_room_are_put_back_as_they_were_and_the_others_start() {
    let (database, store) = stage().await;
    let first = under(&store, "full").await;
    let begun = claiming(&store, 1).await.await.unwrap().remove(0);
    let (held_up, free, behind) =
        (under(&store, "full").await, under(&store, "free").await, under(&store, "free").await);
    let pending = "select to_jsonb(t)::text from kinfolk.task t where id = any (array[$]::bigint[]) order by id";
    let pending = pending.replace('$', &format!("{held_up}, {behind}"));
    let before = database.texts(&pending).await;

    // Whoever has the lock parks nobody, and the keys were free when it was last seen.
    let holder = with_the_locks(&database).await;
    let claim = claiming_early(&database, &store, 5).await;
    until_waiting(&holder, 1).await;
    holder.batch_execute("commit").await.unwrap();

    let (taken, undone) = claim.await.unwrap();
    assert_eq!((taken, undone.map(|mut ids| (ids.sort(), ids).1)), (vec![free], Some(vec![held_up, behind])));
    assert_eq!(database.texts(&pending).await, before, "not a column of them has changed");
    store.settle(&[done(&begun)]).await.unwrap();
    assert_eq!(claiming(&store, 5).await.await.unwrap().iter().map(|task| task.id).collect::<Vec<_>>(), [held_up]);
    assert_eq!(store.task(first).await.unwrap().unwrap().state, State::Completed);
    sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_behind_a_full_key_are_in_nobodys_way_and_are_not_overtaken_once_it_has_room() {
    let (database, store) = stage().await;
    under(&store, "full").await;
    let begun = claiming(&store, 1).await.await.unwrap().remove(0);
    let waiter = under(&store, "full").await;
    assert_eq!(claiming(&store, 5).await.await.unwrap(), []);

    let others = vec![under(&store, "a").await, under(&store, "b").await];
    assert_eq!(claiming_early(&database, &store, 2).await.await.unwrap(), (others, None));

    let late = under(&store, "c").await;
    store.settle(&[done(&begun)]).await.unwrap();
    assert_eq!(claiming_early(&database, &store, 1).await.await.unwrap(), (vec![], Some(vec![late])));
    let started = claiming(&store, 2).await.await.unwrap();
    assert_eq!(started.iter().map(|task| task.id).collect::<Vec<_>>(), [waiter, late]);
    sound(&store).await;
}
