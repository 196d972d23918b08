//! What the tests of the store share.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk_core::*;
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing::TestDatabase;
use uuid::Uuid;

pub(crate) fn command(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

pub(crate) fn queue(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

pub(crate) fn task(name: &str) -> NewTask {
    NewTask::new(command(name), Json::object())
}

pub(crate) fn with(name: &str, payload: &str) -> NewTask {
    NewTask::new(command(name), Json::parse(payload).unwrap())
}

/// A database, a store on it, and the command `work` on the queue `default`.
pub(crate) async fn fresh() -> (TestDatabase, PgStore) {
    let database = TestDatabase::create().await;
    let store = database.store().await;
    store.register(&[Command::new(command("work"))]).await.unwrap();
    (database, store)
}

pub(crate) async fn worker(store: &PgStore) -> WorkerId {
    let id = WorkerId(Uuid::new_v4());
    let spec = WorkerSpec {
        id,
        name: "test".to_owned(),
        version: String::new(),
        queues: vec![QueueName::default()],
        commands: vec![command("work")],
        lease: Duration::from_secs(30),
    };
    store.register_worker(&spec).await.unwrap();
    id
}

pub(crate) fn claim_of(worker: WorkerId, commands: &[&str], limit: usize) -> Claim {
    Claim {
        worker,
        token: Token(Uuid::new_v4()),
        queue: QueueName::default(),
        commands: commands.iter().map(|name| command(name)).collect(),
        limit,
        repeated: false,
    }
}

pub(crate) fn done(task: &ClaimedTask) -> Settle {
    Settle::new(task.id, task.token, Outcome::Done(None))
}

pub(crate) async fn enqueue(store: &PgStore, task: NewTask) -> TaskId {
    match store.enqueue(&[task]).await.unwrap().remove(0) {
        Enqueued::Created(id) => id,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn sound(store: &PgStore) {
    assert_eq!(store.check().await.unwrap(), []);
}

/// Claims and settles until nothing is left, with four stores at once. `counts` says which tasks count; the most of them
/// that were seen at work at once is the answer.
pub(crate) async fn most_at_once(database: &TestDatabase, many: usize, counts: fn(&ClaimedTask) -> bool) -> usize {
    let (at_work, most, ended) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let shared = Arc::new((at_work, most, ended));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (store, shared) = (database.store().await, Arc::clone(&shared));
        workers.spawn(async move {
            let worker = worker(&store).await;
            let (at_work, most, ended) = &*shared;
            while ended.load(Ordering::SeqCst) < many {
                let claimed = store.claim(&claim_of(worker, &["work"], 5)).await.unwrap().tasks;
                let counted = claimed.iter().filter(|task| counts(task)).count();
                most.fetch_max(at_work.fetch_add(counted, Ordering::SeqCst) + counted, Ordering::SeqCst);
                tokio::task::yield_now().await;
                // Room is free from the commit of the settle on, which is before its answer.
                at_work.fetch_sub(counted, Ordering::SeqCst);
                let settles: Vec<Settle> = claimed.iter().map(done).collect();
                store.settle(&settles).await.unwrap();
                ended.fetch_add(claimed.len(), Ordering::SeqCst);
            }
        });
    }
    let all = async { while workers.join_next().await.transpose().unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("all tasks ended");
    shared.1.load(Ordering::SeqCst)
}

/// Keeps the server's housekeeping away from the tables: it comes and goes with the load of the machine.
const KEEP_STILL: &str = "do $$ declare v_table regclass; begin
    for v_table in select c.oid from pg_class c where c.relnamespace = 'kinfolk'::regnamespace and c.relkind = 'r' loop
        execute format('alter table %s set (autovacuum_enabled = off)', v_table);
    end loop;
end $$";
/// Calls from which the cheapest is taken: the first ones make plans, and whatever else disturbs one only adds to it.
const CALLS: usize = 8;

/// How many pages a call touches at least. It is made several times on tables without dead rows, and undone each time.
pub(crate) async fn pages_of(database: &TestDatabase, call: &str) -> i64 {
    let client = database.client().await;
    client.batch_execute(KEEP_STILL).await.unwrap();
    let tables =
        database.texts("select format('kinfolk.%I', tablename) from pg_tables where schemaname = 'kinfolk'").await;
    client.batch_execute(&format!("vacuum (analyze) {}", tables.join(", "))).await.unwrap();
    pages_as_it_stands(database, call).await
}

/// The same as the tables stand, with what the server knows of them.
pub(crate) async fn pages_as_it_stands(database: &TestDatabase, call: &str) -> i64 {
    let client = database.client().await;
    let call = format!("explain (analyze, buffers, format json) {call}");
    let mut least = i64::MAX;
    for _ in 0..CALLS {
        client.batch_execute("begin").await.unwrap();
        let row = client.query_one(&call, &[]).await.unwrap();
        client.batch_execute("rollback").await.unwrap();
        let plan: serde_json::Value = row.get(0);
        let blocks = |kind: &str| plan[0]["Plan"][kind].as_i64().unwrap();
        least = least.min(blocks("Shared Hit Blocks") + blocks("Shared Read Blocks"));
    }
    least
}
