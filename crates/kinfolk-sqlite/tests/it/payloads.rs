//! Payloads of every size come back as they went in, wherever they lie.

use std::time::Duration;

use kinfolk_core::{
    Enqueued, Inspect, Json, NewTask, OnDuplicate, Operate, Outcome, Produce, Retention, TaskId, Unique, Work,
};
use rusqlite::Connection;

use crate::support::{Lab, claim, queue, register, settle, task, worker};

fn sized(key: &str, bytes: usize) -> Json {
    Json::parse(&format!("{{\"{key}\":\"{}\"}}", "x".repeat(bytes))).unwrap()
}

fn large_ones(lab: &Lab) -> i64 {
    let conn = Connection::open(lab.path()).unwrap();
    conn.query_row("select count(*) from large_payload", (), |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_large_payload_lies_beside_its_task_until_the_task_is_removed() {
    let lab = Lab::new();
    let store = &lab.store;
    register(store, &["echo"]).await;
    let worker = worker(store).await;
    let payloads = [sized("a", 0), sized("a", 1_000), sized("a", 1_100), sized("a", 200_000)];
    let tasks: Vec<_> = payloads.iter().map(|payload| NewTask { payload: payload.clone(), ..task("echo") }).collect();
    store.enqueue(&tasks).await.unwrap();
    assert_eq!(large_ones(&lab), 2);
    let taken = claim(store, worker, &["echo"], 10).await;
    let seen: Vec<_> = taken.tasks.iter().map(|task| task.payload.clone()).collect();
    assert_eq!(seen, payloads);
    settle(store, &taken, Outcome::Done(None)).await;
    assert_eq!(store.task(TaskId(4)).await.unwrap().unwrap().payload, payloads[3]);
    store
        .set_queue(
            &queue(),
            &kinfolk_core::Policy::keeping(Retention { completed: Some(Duration::ZERO), ..Retention::default() }),
        )
        .await
        .unwrap();
    assert_eq!(store.prune().await.unwrap(), 4);
    assert_eq!(large_ones(&lab), 0);
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_payload_that_is_replaced_or_merged_moves_to_where_its_size_belongs() {
    let lab = Lab::new();
    let store = &lab.store;
    register(store, &["echo"]).await;
    let under = |payload: &Json, rule| NewTask {
        payload: payload.clone(),
        unique: Some(Unique::key("k").on_duplicate(rule)),
        ..task("echo")
    };
    let (small, large, other) = (sized("a", 10), sized("a", 5_000), sized("b", 5_000));
    store.enqueue(&[under(&small, OnDuplicate::Keep)]).await.unwrap();
    let merged = large.merged(&other);
    for (given, rule, kept, beside) in [
        (&large, OnDuplicate::Replace, &large, 1),
        (&small, OnDuplicate::Replace, &small, 0),
        (&large, OnDuplicate::Merge, &large, 1),
        (&other, OnDuplicate::Merge, &merged, 1),
    ] {
        assert_eq!(store.enqueue(&[under(given, rule)]).await.unwrap(), [Enqueued::Merged(TaskId(1))]);
        assert_eq!(store.task(TaskId(1)).await.unwrap().unwrap().payload, *kept);
        assert_eq!(large_ones(&lab), beside);
        assert_eq!(store.check().await.unwrap(), []);
    }
}
