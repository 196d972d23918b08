//! Many callers at once: they share commits, do not disturb each other, and never see SQLite's "busy".

use std::collections::BTreeSet;
use std::sync::Arc;

use kinfolk_core::limits::PAYLOAD_BYTES_MAX;
use kinfolk_core::{
    Inspect, Json, NewTask, OnDuplicate, Outcome, Produce, Settled, State, StoreError, TaskId, Unique, Work, WorkerId,
};
use rusqlite::Connection;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::{Lab, claim, claim_of, enqueue, register, settle, task, worker};

/// Holds the file's write lock, so that requests gather behind it.
fn hold(lab: &Lab) -> Connection {
    let conn = Connection::open(lab.path()).unwrap();
    conn.execute_batch("begin immediate").unwrap();
    conn
}

/// Gives every task of this single-threaded runtime enough turns to send its request.
async fn all_send() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// How often the queue was woken: once for each commit that enqueued something.
fn commits(lab: &Lab) -> i64 {
    Connection::open(lab.path()).unwrap().query_row("select sum(wakes) from queue", (), |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn requests_that_wait_together_share_a_commit() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let before = commits(&lab);
    let lock = hold(&lab);
    let mut waiting = JoinSet::new();
    for _ in 0..100 {
        let store = lab.store.clone();
        waiting.spawn(async move { enqueue(&store, &[task("echo")]).await });
    }
    all_send().await;
    lock.execute_batch("rollback").unwrap();
    let made: BTreeSet<TaskId> = waiting.join_all().await.into_iter().flatten().collect();
    assert_eq!(made.len(), 100);
    assert!(commits(&lab) - before <= 2, "{} commits", commits(&lab) - before);
}

#[tokio::test]
async fn a_request_that_fails_does_not_disturb_its_neighbours() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let text = Json::of(&"x".repeat(PAYLOAD_BYTES_MAX - 100)).unwrap();
    let big = |key: &str| NewTask {
        payload: Json::parse(&format!("{{\"{key}\":{text}}}")).unwrap(),
        unique: Some(Unique::key("k").on_duplicate(OnDuplicate::Merge)),
        ..task("echo")
    };
    enqueue(&lab.store, &[big("a")]).await;
    let lock = hold(&lab);
    let store = &lab.store;
    let plain = [task("echo")];
    let good = async { tokio::join!(enqueue(store, &plain), enqueue(store, &plain)) };
    let (too_large, nobody) = ([task("echo"), big("b")], claim_of(WorkerId(Uuid::new_v4()), &["echo"], 1));
    let bad = async { tokio::join!(store.enqueue(&too_large), store.claim(&nobody)) };
    let unlock = async {
        all_send().await;
        lock.execute_batch("rollback").unwrap();
    };
    let ((one, other), (too_large, nobody), ()) = tokio::join!(good, bad, unlock);
    assert_ne!(one, other);
    assert!(matches!(too_large, Err(StoreError::Input(_))), "{too_large:?}");
    assert!(matches!(nobody, Err(StoreError::LeaseLost { .. })), "{nobody:?}");
    let tasks: u64 = store.stats().await.unwrap().counts.iter().map(|count| count.tasks).sum();
    assert_eq!(tasks, 3, "of the call that failed nothing is left");
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_and_four_callers_each_never_see_busy_and_settle_each_task_once() {
    const ROUNDS: usize = 20;
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let stores = [lab.store.clone(), lab.another()];
    let mut callers = JoinSet::new();
    for store in stores.iter().cycle().take(8) {
        let store = store.clone();
        callers.spawn(async move {
            let worker = worker(&store).await;
            let mut settled = Vec::new();
            for _ in 0..ROUNDS {
                enqueue(&store, &[task("echo"), task("echo"), task("echo")]).await;
                let taken = claim(&store, worker, &["echo"], 4).await;
                store.heartbeat(worker).await.unwrap();
                for (task, answer) in taken.tasks.iter().zip(settle(&store, &taken, Outcome::Done(None)).await) {
                    assert_eq!(answer, Settled::Recorded(State::Completed));
                    settled.push(task.id);
                }
            }
            store.leave(worker).await.unwrap();
            settled
        });
    }
    let mut settled: Vec<TaskId> = callers.join_all().await.into_iter().flatten().collect();
    let last = worker(&stores[1]).await;
    loop {
        let taken = claim(&stores[1], last, &["echo"], 1000).await;
        if taken.tasks.is_empty() {
            break;
        }
        settle(&stores[1], &taken, Outcome::Done(None)).await;
        settled.extend(taken.tasks.iter().map(|task| task.id));
    }
    assert_eq!(settled.len(), 8 * ROUNDS * 3);
    assert_eq!(settled.iter().collect::<BTreeSet<_>>().len(), settled.len(), "no task twice");
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_go_on_while_someone_writes() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let id = enqueue(&lab.store, &[task("echo")]).await[0];
    let lock = hold(&lab);
    let store = Arc::new(lab.store.clone());
    let writing = tokio::spawn({
        let store = store.clone();
        async move { store.enqueue(&[task("echo")]).await }
    });
    for _ in 0..20 {
        assert!(store.task(id).await.unwrap().is_some());
    }
    assert!(!writing.is_finished());
    lock.execute_batch("rollback").unwrap();
    writing.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn opening_while_others_write_and_close_never_fails() {
    let Lab { folder, clock, store } = Lab::new();
    let path = folder.path().join("kinfolk.db");
    register(&store, &["echo"]).await;
    drop(store);
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        let (path, clock) = (path.clone(), clock.clone());
        callers.spawn(async move {
            for _ in 0..25 {
                enqueue(&crate::support::quick(&path, clock.clone()), &[task("echo")]).await;
            }
        });
    }
    callers.join_all().await;
    let counts = crate::support::quick(&path, clock).stats().await.unwrap().counts;
    assert_eq!(counts[0].tasks, 100);
}
