//! Families where only PostgreSQL's own eyes see: which locks are taken, which indexes are touched, what is one transaction.

mod common;

use std::time::Duration;

use common::*;
use kinfolk_core::*;
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_postgres::{PgStore, settle_in};

fn making(task: &ClaimedTask, made: Made) -> Settle {
    Settle { made: Some(Box::new(made)), ..done(task) }
}

fn with_children(task: &ClaimedTask, many: usize) -> Settle {
    making(task, Made { children: vec![common::task("work"); many], ..Made::default() })
}

async fn claim(store: &PgStore, worker: WorkerId, limit: usize) -> Vec<ClaimedTask> {
    store.claim(&claim_of(worker, &["work"], limit)).await.unwrap().tasks
}

/// A database and a store with a worker that runs one task.
async fn alone() -> (TestDatabase, PgStore, WorkerId, ClaimedTask) {
    let (database, store) = fresh().await;
    enqueue(&store, task("work")).await;
    let worker = worker(&store).await;
    let alone = claim(&store, worker, 1).await.remove(0);
    (database, store, worker, alone)
}

/// A database and a store with a parent that waits for so many children, and the children, claimed.
async fn family(many: usize) -> (TestDatabase, PgStore, ClaimedTask, Vec<ClaimedTask>) {
    let (database, store, worker, root) = alone().await;
    assert_eq!(store.settle(&[with_children(&root, many)]).await.unwrap(), [Settled::Recorded(State::Waiting)]);
    let children = claim(&store, worker, many).await;
    assert_eq!(children.len(), many);
    (database, store, root, children)
}

async fn state(store: &PgStore, id: TaskId) -> State {
    store.task(id).await.unwrap().unwrap().state
}

async fn sound(store: &PgStore) {
    assert_eq!(store.check().await.unwrap(), []);
    assert_eq!(store.sweep().await.unwrap(), 0);
}

/// Waits until a session of this database waits for a lock.
async fn someone_waits(database: &TestDatabase) {
    let waiting =
        "select 1::text from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let seen = async { while database.texts(waiting).await.is_empty() {} };
    tokio::time::timeout(Duration::from_secs(120), seen).await.expect("someone waits for a lock");
}

#[tokio::test]
async fn a_task_without_relatives_touches_none_of_the_indexes_of_families() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    store.enqueue(&vec![task("work"); 50]).await.unwrap();
    let tasks = claim(&store, worker, 50).await;
    store.settle(&tasks.iter().map(done).collect::<Vec<_>>()).await.unwrap();
    let used =
        "select c.relname::text from pg_class c where c.relname in ('task_fan_out', 'task_after', 'task_at_work',
        'task_slot', 'task_revived', 'task_limited', 'task_waiting', 'task_backoff', 'task_held', 'task_later', 'fan_out')
        and pg_relation_size(c.oid) > case when c.relkind = 'i' then 8192 else 0 end";
    assert_eq!(database.texts(used).await, Vec::<String>::new(), "an empty index has its first page only");
}

#[tokio::test]
async fn a_page_of_children_and_why_a_parent_waits_cost_the_same_however_many_there_are() {
    let (database, store, _, root) = alone().await;
    store.settle(&[with_children(&root, 100)]).await.unwrap();
    let calls = [
        format!("select * from kinfolk.children({}, 0, 50)", root.id),
        format!("select * from kinfolk.explain({})", root.id),
    ];
    let mut few = Vec::new();
    for call in &calls {
        few.push(pages_of(&database, call).await);
    }
    // As many again and again in another family, and tasks that are nobody's.
    let worker = worker(&store).await;
    let other = claim(&store, worker, 1).await.remove(0);
    store.settle(&[with_children(&other, 10_000)]).await.unwrap();
    store.enqueue(&vec![task("work"); 10_000]).await.unwrap();
    for (call, few) in calls.iter().zip(few) {
        let many = pages_of(&database, call).await;
        // Indexes have a level more then; a call that looks through all tasks touches many times as many pages.
        assert!(many <= 2 * few, "{call}: {few} pages with few tasks, {many} with many");
    }
}

#[tokio::test]
async fn a_retry_costs_the_same_however_many_follow_ups_others_have() {
    let (database, store, worker, root) = alone().await;
    let follow_up = |_| FollowUp { task: task("work"), when: When::Completed };
    let made = Made { children: vec![task("work")], follow_ups: (0..3).map(follow_up).collect(), ..Made::default() };
    store.settle(&[making(&root, made)]).await.unwrap();
    let child = claim(&store, worker, 1).await.remove(0);
    let outcome = Outcome::Failed { failure: Failure::new(FailureKind::Error, "no"), retry: Retry::Never };
    store.settle(&[Settle::new(child.id, child.token, outcome)]).await.unwrap();
    assert_eq!(claim(&store, worker, 1).await, []);
    let call = format!("select * from kinfolk.retry_family({})", root.id);
    let few = pages_of(&database, &call).await;
    let others = "insert into kinfolk.skipped_follow_up (task_id, root_id, ended)
        select 1000000 + n, 2000000 + n % 1000, 'failed' from generate_series(1, 50000) n;
        insert into kinfolk.follow_up (task_id, root_id, needs_completed, queue_id, ended)
        select 3000000 + n, 2000000 + n % 1000, true, 1, 'failed' from generate_series(1, 50000) n";
    database.run(others).await;
    let many = pages_of(&database, &call).await;
    assert!(many <= 2 * few, "{few} pages with few follow-ups, {many} with many");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_waits_for_a_settle_of_the_family_and_sees_what_it_made() {
    let (database, store, root, children) = family(1).await;
    let mut other = database.client().await;
    let transaction = other.transaction().await.unwrap();
    settle_in(&transaction, &[with_children(&children[0], 2)]).await.unwrap();
    let cancelling = tokio::spawn({
        let (store, root) = (database.store().await, root.id);
        async move { store.cancel(root).await }
    });
    someone_waits(&database).await;
    transaction.commit().await.unwrap();
    assert_eq!(cancelling.await.unwrap().unwrap(), operate::Cancelled::Now, "the grandchildren were pending");
    assert_eq!(store.progress(root.id).await.unwrap().family, Tally { total: 3, cancelled: 3, ..Tally::default() });
    sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settle_waits_for_a_cancel_of_the_family_and_then_makes_nothing() {
    let (database, store, root, children) = family(1).await;
    let mut other = database.client().await;
    let transaction = other.transaction().await.unwrap();
    transaction.execute("select kinfolk.cancel($1)", &[&root.id.0]).await.unwrap();
    let settling = tokio::spawn({
        let (store, settle) = (database.store().await, with_children(&children[0], 2));
        async move { store.settle(&[settle]).await }
    });
    someone_waits(&database).await;
    transaction.commit().await.unwrap();
    assert_eq!(settling.await.unwrap().unwrap(), [Settled::Recorded(State::Cancelled)]);
    assert_eq!(state(&store, root.id).await, State::Cancelled);
    assert_eq!(store.progress(root.id).await.unwrap().levels.len(), 1);
    sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_leaves_gives_back_what_a_call_that_was_given_up_still_holds() {
    let (database, store, worker, alone) = alone().await;
    let mut other = database.client().await;
    let transaction = other.transaction().await.unwrap();
    settle_in(&transaction, &[done(&alone)]).await.unwrap();
    let leaving = tokio::spawn({
        let store = database.store().await;
        async move { store.leave(worker).await }
    });
    someone_waits(&database).await;
    transaction.rollback().await.unwrap();
    leaving.await.unwrap().unwrap();
    assert_eq!(state(&store, alone.id).await, State::Pending, "nobody has to wait for the end of its lease");
    assert_eq!(store.workers().await.unwrap(), []);
    sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_that_waited_for_the_end_of_a_task_comes_too_late() {
    let (database, store, _, alone) = alone().await;
    let mut other = database.client().await;
    let transaction = other.transaction().await.unwrap();
    settle_in(&transaction, &[done(&alone)]).await.unwrap();
    let cancelling = tokio::spawn({
        let store = database.store().await;
        async move { store.cancel(alone.id).await }
    });
    someone_waits(&database).await;
    transaction.commit().await.unwrap();
    let fault = cancelling.await.unwrap().unwrap_err();
    assert!(matches!(fault, StoreError::WrongState { state: State::Completed, .. }), "{fault}");
    assert_eq!(store.task(alone.id).await.unwrap().unwrap().cancel_requested_at, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_last_children_settled_at_once_do_not_miss_each_other() {
    let (database, store, root, children) = family(2).await;
    let mut other = database.client().await;
    let transaction = other.transaction().await.unwrap();
    settle_in(&transaction, &[done(&children[0])]).await.unwrap();
    let settling = tokio::spawn({
        let (store, settle) = (database.store().await, done(&children[1]));
        async move { store.settle(&[settle]).await }
    });
    someone_waits(&database).await;
    transaction.commit().await.unwrap();
    settling.await.unwrap().unwrap();
    assert_eq!(state(&store, root.id).await, State::Completed);
    sound(&store).await;
}

#[tokio::test]
async fn a_settle_that_names_the_wrong_families_is_refused() {
    let (database, store, root, children) = family(1).await;
    let child = &children[0];
    let settle = |families: &str| {
        format!(
            "select kinfolk.settle(array[{}], array['{}']::uuid[], array['done'], '{{}}', '{{}}', '{{}}', {families})",
            child.id, child.token
        )
    };
    let fault = database.try_run(&settle("'{}'")).await.unwrap_err();
    assert!(fault.to_string().contains("family that was not named"), "{fault}");
    assert_eq!(state(&store, child.id).await, State::Running);
    database.run(&settle(&format!("'{{{}}}'", root.id))).await;
    assert_eq!(state(&store, root.id).await, State::Completed);
}

#[tokio::test]
async fn settles_sent_together_are_one_transaction_in_their_order() {
    let (_database, store, root, children) = family(4).await;
    let large = Json::parse(&format!("{{\"a\":\"{}\"}}", "x".repeat(200_000))).unwrap();
    let other = Json::parse(&format!("{{\"b\":\"{}\"}}", "x".repeat(200_000))).unwrap();
    let merging = |payload: &Json| NewTask {
        payload: payload.clone(),
        unique: Some(Unique { on_duplicate: OnDuplicate::Merge, ..Unique::key("k") }),
        ..task("work")
    };
    let made = |payload: &Json| Made { tasks: vec![merging(payload)], ..Made::default() };
    let settles = [
        done(&children[0]),
        making(&children[1], made(&large)),
        done(&children[2]),
        making(&children[3], made(&other)),
    ];
    let fault = store.settle(&settles).await.unwrap_err();
    assert!(matches!(fault, StoreError::Input(InputError::TooLarge { .. })), "{fault}");
    for child in &children {
        assert_eq!(state(&store, child.id).await, State::Running, "nothing of it was written");
    }
    let fine = [
        with_children(&children[0], 1),
        done(&children[1]),
        making(&children[2], Made { siblings: vec![task("work")], ..Made::default() }),
        done(&children[3]),
    ];
    let answers = store.settle(&fine).await.unwrap();
    let recorded = [State::Waiting, State::Completed, State::Completed, State::Completed].map(Settled::Recorded);
    assert_eq!(answers, recorded);
    assert_eq!(store.settle(&fine).await.unwrap()[0], Settled::Repeated(State::Waiting));
    assert_eq!(store.tally(root.id).await.unwrap(), Tally { total: 5, completed: 3, ..Tally::default() });
    sound(&store).await;
}

#[tokio::test]
async fn what_a_rolled_back_settle_made_was_never_there() {
    let (database, store, root, children) = family(1).await;
    let mut other = database.client().await;
    let transaction = other.transaction().await.unwrap();
    settle_in(&transaction, &[with_children(&children[0], 3)]).await.unwrap();
    transaction.rollback().await.unwrap();
    assert_eq!(state(&store, children[0].id).await, State::Running);
    assert_eq!(store.progress(root.id).await.unwrap().levels.len(), 1);
    sound(&store).await;
}

#[tokio::test]
async fn a_wide_family_is_cancelled_in_one_pass_even_with_old_statistics() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    store.enqueue(&vec![task("work"); 1_000]).await.unwrap();
    let flat = claim(&store, worker, 1_000).await;
    store.settle(&flat.iter().map(done).collect::<Vec<_>>()).await.unwrap();
    // From now on the planner believes that all tasks have ended.
    database.run("analyze kinfolk.task; alter table kinfolk.task set (autovacuum_enabled = off)").await;
    enqueue(&store, task("work")).await;
    let root = claim(&store, worker, 1).await.remove(0);
    store.settle(&[with_children(&root, 20_000)]).await.unwrap();
    let read = "select (pg_stat_get_xact_tuples_returned('kinfolk.task_pkey'::regclass)
        + pg_stat_get_xact_tuples_returned('kinfolk.task_fan_out'::regclass)
        + pg_stat_get_xact_tuples_returned('kinfolk.task_unique'::regclass)
        + pg_stat_get_xact_tuples_returned('kinfolk.task'::regclass))::bigint";
    let client = database.client().await;
    client.batch_execute("begin").await.unwrap();
    client.execute("select kinfolk.cancel($1)", &[&root.id.0]).await.unwrap();
    let read: i64 = client.query_one(read, &[]).await.unwrap().get(0);
    client.batch_execute("commit").await.unwrap();
    assert!(read < 20_000 * 10, "{read} rows read to cancel 20,000 tasks");
    assert_eq!(state(&store, root.id).await, State::Cancelled);
}
