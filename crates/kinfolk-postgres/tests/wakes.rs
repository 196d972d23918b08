//! Wake-ups: who sleeps is woken, who is busy is left alone, and a broken line is mended.

mod common;

use std::time::Duration;

use common::*;
use kinfolk_core::*;
use kinfolk_postgres::{enqueue_in, testing};

async fn heard(source: &mut Box<dyn WakeSource>) -> Wake {
    tokio::time::timeout(Duration::from_secs(120), source.next()).await.expect("a wake-up")
}

/// Whether nothing comes before a wake-up that is sent now for the worker alone.
async fn quiet(
    database: &kinfolk_postgres::testing::TestDatabase,
    source: &mut Box<dyn WakeSource>,
    worker: WorkerId,
) -> bool {
    database.run(&format!("select pg_notify('kinfolk', 'c:{worker}')")).await;
    heard(source).await == Wake::Cancel
}

#[tokio::test]
async fn an_idle_worker_is_woken_and_a_busy_one_is_not() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let queues = [QueueName::default()];
    let mut source = store.wakes(worker, &queues).await.unwrap().unwrap();
    enqueue(&store, task("work")).await;
    assert!(quiet(&database, &mut source, worker).await, "a worker that has never found a queue empty is busy");
    assert_eq!(store.claim(&claim_of(worker, &["work"], 10)).await.unwrap().tasks.len(), 1);
    enqueue(&store, task("work")).await;
    assert_eq!(heard(&mut source).await, Wake::Queue(QueueName::default()));
    assert_eq!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.len(), 1);
    enqueue(&store, task("work")).await;
    assert!(quiet(&database, &mut source, worker).await);
}

#[tokio::test]
async fn a_transaction_wakes_when_it_commits_and_a_cancel_wakes_the_worker_that_runs_the_task() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let mut source = store.wakes(worker, &[QueueName::default()]).await.unwrap().unwrap();
    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    let id = enqueue_in(&transaction, &[task("work"), task("work")]).await.unwrap()[0].id().unwrap();
    assert!(quiet(&database, &mut source, worker).await);
    transaction.commit().await.unwrap();
    assert_eq!(heard(&mut source).await, Wake::Queue(QueueName::default()));
    store.claim(&claim_of(worker, &["work"], 2)).await.unwrap();
    assert_eq!(store.cancel(id).await.unwrap(), operate::Cancelled::Requested);
    assert_eq!(heard(&mut source).await, Wake::Cancel);
    assert_eq!(store.heartbeat(worker).await.unwrap().cancel.len(), 1);
}

#[tokio::test]
async fn a_transaction_that_puts_its_wake_ups_off_names_the_queues_that_are_then_woken() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let mut source = store.wakes(worker, &[QueueName::default()]).await.unwrap().unwrap();
    assert!(store.claim(&claim_of(worker, &["work"], 1)).await.unwrap().tasks.is_empty());
    let mut client = database.client().await;
    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute("select kinfolk.put_off_wakes()").await.unwrap();
    enqueue_in(&transaction, &[task("work")]).await.unwrap();
    enqueue_in(&transaction, &[task("work")]).await.unwrap();
    let queues: Vec<i32> = transaction.query_one("select kinfolk.wakes_put_off()", &[]).await.unwrap().get(0);
    assert_eq!(queues.len(), 1);
    transaction.commit().await.unwrap();
    assert!(quiet(&database, &mut source, worker).await);
    client.query("select kinfolk.wake_queues($1)", &[&queues]).await.unwrap();
    assert_eq!(heard(&mut source).await, Wake::Queue(QueueName::default()));
    // Only that transaction put them off.
    let transaction = client.transaction().await.unwrap();
    enqueue_in(&transaction, &[task("work")]).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(heard(&mut source).await, Wake::Queue(QueueName::default()));
}

#[tokio::test]
async fn a_broken_line_is_mended_and_then_everything_is_looked_at() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let mut source = store.wakes(worker, &[QueueName::default()]).await.unwrap().unwrap();
    let listeners = "select count(pg_terminate_backend(pid))::text from pg_stat_activity
        where datname = current_database() and query = 'listen kinfolk'";
    assert_eq!(database.texts(listeners).await, ["1"]);
    assert_eq!(heard(&mut source).await, Wake::All);
    store.claim(&claim_of(worker, &["work"], 1)).await.unwrap();
    enqueue(&store, task("work")).await;
    assert_eq!(heard(&mut source).await, Wake::Queue(QueueName::default()));
}

#[tokio::test]
async fn what_a_claim_opens_for_others_wakes_them() {
    let (_database, store) = fresh().await;
    store.register(&[Command::new(command("other"))]).await.unwrap();
    testing::install_clock(&store).await.unwrap();
    let (opener, sleeper) = (worker(&store).await, worker(&store).await);
    let mut source = store.wakes(sleeper, &[QueueName::default()]).await.unwrap().unwrap();
    let later = NewTask { due: Due::After(Duration::from_secs(60)), ..task("other") };
    let id = enqueue(&store, later).await;
    assert!(store.claim(&claim_of(sleeper, &["other"], 1)).await.unwrap().tasks.is_empty());
    let due = store.task(id).await.unwrap().unwrap().due;
    testing::set_clock(&store, due).await.unwrap();
    assert!(store.claim(&claim_of(opener, &["work"], 1)).await.unwrap().tasks.is_empty());
    assert_eq!(heard(&mut source).await, Wake::Queue(QueueName::default()));
    assert_eq!(store.claim(&claim_of(sleeper, &["other"], 1)).await.unwrap().tasks[0].id, id);
}

#[tokio::test]
async fn a_status_is_told_when_it_turns_and_an_old_look_does_not_make_it_stick() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    let mut notes = database.listen("kinfolk_status").await;
    let name = StatusName::new("busy").unwrap();
    store.put_status(&name, &[command("work")]).await.unwrap();
    enqueue(&store, task("work")).await;
    // A look is under way, and has seen the task, when the task ends and another look is made.
    let mut client = database.client().await;
    let old = client.transaction().await.unwrap();
    assert_eq!(old.query("select * from kinfolk.refresh_statuses()", &[]).await.unwrap().len(), 1);
    let claimed = store.claim(&claim_of(worker, &["work"], 1)).await.unwrap();
    store.settle(&[done(&claimed.tasks[0])]).await.unwrap();
    let (turned, committed) = tokio::join!(store.refresh_statuses(), old.commit());
    committed.unwrap();
    assert_eq!(turned.unwrap().len(), 1);
    assert!(!store.statuses().await.unwrap()[0].active);
    assert_eq!(notes.next().await, r#"{"name" : "busy", "active" : true}"#);
    assert_eq!(notes.next().await, r#"{"name" : "busy", "active" : false}"#);
}
