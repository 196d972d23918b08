//! Enqueueing: many at once, with the result, and in a transaction of the caller's own.

use std::time::Duration;

use kinfolk::{Ctx, Enqueued, Error, Filter, Json, Kinfolk, Rejection, ResultError, State, Task, TaskError, TaskId};
use rusqlite::{Connection, TransactionBehavior};
use serde::{Deserialize, Serialize};
use sqlx_core::connection::{ConnectOptions, Connection as _};
use sqlx_core::query::query;
use sqlx_postgres::PgConnectOptions;
use sqlx_sqlite::{Sqlite, SqliteConnectOptions};

use crate::lab::{Lab, on_both_stores, within};

on_both_stores!(
    typed_tasks_are_enqueued_in_bulk_all_or_nothing,
    an_enqueue_waits_for_its_result_and_not_for_ever,
    the_handle_sees_what_the_store_has,
);

#[derive(Debug, Serialize, Deserialize, Task)]
#[task(command = "double", output = u32)]
struct Double {
    #[task(unique)]
    number: u32,
}

async fn double(task: Double, ctx: Ctx) -> Result<u32, TaskError> {
    match task.number {
        0 => ctx.cancelled().await,
        1 => return Err(TaskError::validation("one is odd")),
        _ => {}
    }
    Ok(2 * task.number)
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "unheard_of")]
struct UnheardOf;

async fn many(kinfolk: &Kinfolk) -> u64 {
    kinfolk.count(&Filter::default()).await.unwrap().tasks
}

async fn typed_tasks_are_enqueued_in_bulk_all_or_nothing(lab: &Lab) {
    lab.kinfolk.register_task::<Double>().await.unwrap();
    let answers = lab.kinfolk.enqueue_tasks([3, 4, 3].map(|number| Double { number })).await.unwrap();
    let first = answers[0].id().unwrap();
    assert!(matches!(answers[1], Enqueued::Created(_)) && answers[2] == Enqueued::Existing(first), "{answers:?}");
    assert_eq!(lab.task(first).await.unique_key.as_deref(), Some("3"));
    let none = lab.kinfolk.enqueue_tasks([UnheardOf, UnheardOf]).await.unwrap_err();
    assert!(matches!(none, Error::Rejected(Rejection::UnknownCommand(_))), "{none}");
    assert_eq!(lab.kinfolk.enqueue_tasks(Vec::<Double>::new()).await.unwrap(), []);
    assert_eq!(many(&lab.kinfolk).await, 2);
}

async fn an_enqueue_waits_for_its_result_and_not_for_ever(lab: &Lab) {
    let worker = lab.worker().grace(Duration::from_millis(1)).handle(double).start().await.unwrap();
    let long = Duration::from_secs(30);
    assert_eq!(lab.kinfolk.enqueue_task(&Double { number: 21 }).wait(long).await.unwrap(), 42);
    let failed = lab.kinfolk.enqueue_task(&Double { number: 1 }).wait(long).await.unwrap_err();
    assert!(matches!(&failed, ResultError::Failed { failure, .. } if failure.message == "one is odd"), "{failed}");
    let untyped: Json = lab.kinfolk.enqueue("double", &Double { number: 4 }).wait(long).await.unwrap();
    assert_eq!(untyped, Json::of(&8).unwrap());
    let slow = lab.kinfolk.enqueue_task(&Double { number: 0 }).wait(Duration::from_millis(20)).await.unwrap_err();
    let ResultError::TimedOut { task, .. } = slow else { panic!("{slow}") };
    assert!(!lab.task(task).await.state.is_terminal(), "it goes on");
    lab.kinfolk.cancel(task).await.unwrap();
    assert_eq!(lab.ended(task).await.state, State::Cancelled);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn the_handle_sees_what_the_store_has(lab: &Lab) {
    let worker = lab.worker().handle(double).start().await.unwrap();
    let id = lab.kinfolk.enqueue_task(&Double { number: 1 }).await.unwrap().id().unwrap();
    lab.ended(id).await;
    let kinfolk = &lab.kinfolk;
    assert_eq!(kinfolk.list(&Filter { limit: 10, ..Filter::default() }).await.unwrap().tasks[0].id, id);
    assert_eq!(kinfolk.stats().await.unwrap().counts[0].state, State::Failed);
    assert_eq!(kinfolk.failures(Duration::from_secs(3600)).await.unwrap().causes[0].tasks, 1);
    assert_eq!(kinfolk.attempts(id).await.unwrap().len(), 1);
    assert_eq!((kinfolk.commands().await.unwrap().len(), kinfolk.workers().await.unwrap().len()), (1, 1));
    let newest = kinfolk::core::error_log::ErrorFilter::newest(5);
    assert_eq!((kinfolk.schedules().await.unwrap().len(), kinfolk.errors(&newest).await.unwrap().len()), (0, 1));
    assert!(kinfolk.queues().await.unwrap().iter().any(|queue| queue.name.as_str() == "default"));
    assert_eq!((kinfolk.check().await.unwrap(), kinfolk.held(None).await.unwrap().len()), (vec![], 0));
    worker.stop().await.unwrap();
}

/// A task that was enqueued by someone else than a store is run at once, and what was rolled back never was.
async fn one_is_run(lab: &Lab, id: TaskId, number: u32) {
    assert_eq!(lab.ended(id).await.result, Some(Json::of(&(2 * number)).unwrap()));
    assert_eq!(many(&lab.kinfolk).await, 1);
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_enqueued_in_a_transaction_of_rusqlite_on_the_same_file() {
    let lab = Lab::new().await;
    // Nothing but the commit itself can wake it.
    let worker = lab.worker().poll(Duration::from_secs(3600)).handle(double).start().await.unwrap();
    within(worker.wait_idle()).await;
    let mut file = Connection::open(lab.url().strip_prefix("sqlite:").unwrap()).unwrap();
    file.execute_batch("create table customer (name text)").unwrap();
    fn begin(file: &mut Connection) -> rusqlite::Transaction<'_> {
        file.transaction_with_behavior(TransactionBehavior::Immediate).unwrap()
    }

    let mut tx = begin(&mut file);
    tx.execute("insert into customer values ('nobody')", ()).unwrap();
    lab.kinfolk.enqueue_task(&Double { number: 7 }).in_tx(&mut tx).await.unwrap();
    tx.rollback().unwrap();

    let mut tx = begin(&mut file);
    tx.execute("insert into customer values ('cousin')", ()).unwrap();
    let refused = lab.kinfolk.enqueue_task(&UnheardOf).in_tx(&mut tx).await.unwrap_err();
    assert!(matches!(refused, Error::Rejected(_)), "{refused}");
    let answers = lab.kinfolk.enqueue_tasks([8, 8].map(|number| Double { number })).in_tx(&mut tx).await.unwrap();
    let id = answers[0].id().unwrap();
    assert_eq!(answers[1], Enqueued::Existing(id));
    tx.commit().unwrap();
    one_is_run(&lab, id, 8).await;
    let names: String = file.query_row("select group_concat(name) from customer", (), |row| row.get(0)).unwrap();
    assert_eq!(names, "cousin", "a refused enqueue leaves the transaction as it was");
    let next = lab.kinfolk.enqueue_task(&Double { number: 9 }).await.unwrap().id().unwrap();
    assert!(next > id, "no number is given out twice");
    lab.ended(next).await;
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_transaction_of_rusqlite_on_another_file_is_told() {
    let lab = Lab::new().await;
    lab.kinfolk.register(&[Double::command().build().unwrap()]).await.unwrap();
    let mut other = Connection::open_in_memory().unwrap();
    let enqueue = async |tx: &mut rusqlite::Transaction<'_>| {
        lab.kinfolk.enqueue_task(&Double { number: 7 }).in_tx(tx).await.unwrap_err()
    };
    let empty = enqueue(&mut other.transaction().unwrap()).await;
    assert!(matches!(empty, Error::SchemaMissing { .. }), "{empty}");
    other.execute_batch("create table customer (name text)").unwrap();
    let foreign = enqueue(&mut other.transaction().unwrap()).await;
    assert!(matches!(foreign, Error::Foreign { .. }), "{foreign}");
}

/// Of a handler of a web server, say: what it does must be able to go from thread to thread, and a transaction of rusqlite can't.
#[tokio::test(flavor = "multi_thread")]
async fn a_future_that_changes_threads_enqueues_in_a_transaction_of_rusqlite_without_waiting() {
    let lab = Lab::new().await;
    let worker = lab.worker().handle(double).start().await.unwrap();
    let (kinfolk, url) = (lab.kinfolk.clone(), lab.url());
    let id = tokio::spawn(async move {
        let mut file = Connection::open(url.strip_prefix("sqlite:").unwrap()).unwrap();
        let tx = file.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let task = kinfolk.enqueue_task(&Double { number: 8 }).into_task().unwrap();
        let id = kinfolk::sqlite::enqueue_in(&tx, &[task]).unwrap()[0].id().unwrap();
        tx.commit().unwrap();
        id
    });
    one_is_run(&lab, id.await.unwrap(), 8).await;
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_enqueued_in_a_transaction_of_tokio_postgres() {
    let lab = Lab::on_postgres(kinfolk::pg::testing::TestDatabase::create().await).await;
    let worker = lab.worker().handle(double).start().await.unwrap();
    let (mut client, connection) = tokio_postgres::connect(&lab.url(), tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let kinfolk = lab.kinfolk.clone();
    // Of a handler of a web server, say: what it does must be able to go from thread to thread.
    let id = tokio::spawn(async move {
        let mut tx = client.transaction().await.unwrap();
        kinfolk.enqueue_task(&Double { number: 7 }).in_tx(&mut tx).await.unwrap();
        tx.rollback().await.unwrap();
        let mut tx = client.transaction().await.unwrap();
        let id = kinfolk.enqueue_task(&Double { number: 8 }).in_tx(&mut tx).await.unwrap().id().unwrap();
        tx.commit().await.unwrap();
        id
    });
    one_is_run(&lab, id.await.unwrap(), 8).await;
    connection.abort();
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_enqueued_in_a_transaction_of_sqlx_on_postgresql() {
    let lab = Lab::on_postgres(kinfolk::pg::testing::TestDatabase::create().await).await;
    let worker = lab.worker().handle(double).start().await.unwrap();
    let mut connection = lab.url().parse::<PgConnectOptions>().unwrap().connect().await.unwrap();
    let mut tx = connection.begin().await.unwrap();
    lab.kinfolk.enqueue_task(&Double { number: 7 }).in_tx(&mut tx).await.unwrap();
    tx.rollback().await.unwrap();
    let mut tx = connection.begin().await.unwrap();
    let id = lab.kinfolk.enqueue_task(&Double { number: 8 }).in_tx(&mut tx).await.unwrap().id().unwrap();
    tx.commit().await.unwrap();
    one_is_run(&lab, id, 8).await;
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_enqueued_in_a_transaction_of_sqlx_on_the_same_file() {
    let lab = Lab::new().await;
    // Nothing but the commit itself can wake it.
    let worker = lab.worker().poll(Duration::from_secs(3600)).handle(double).start().await.unwrap();
    within(worker.wait_idle()).await;
    let path = lab.url().strip_prefix("sqlite:").unwrap().to_owned();
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    query::<Sqlite>("create table customer (name text)").execute(&mut connection).await.unwrap();
    let kinfolk = lab.kinfolk.clone();
    // Of a handler of a web server, say: what it does must be able to go from thread to thread.
    let id = tokio::spawn(async move {
        let mut tx = connection.begin().await.unwrap();
        kinfolk.enqueue_task(&Double { number: 7 }).in_tx(&mut tx).await.unwrap();
        tx.rollback().await.unwrap();
        let mut tx = connection.begin_with("begin immediate").await.unwrap();
        query::<Sqlite>("insert into customer values ('cousin')").execute(&mut *tx).await.unwrap();
        let refused = kinfolk.enqueue_task(&UnheardOf).in_tx(&mut tx).await.unwrap_err();
        assert!(matches!(refused, Error::Rejected(_)), "{refused}");
        let answers = kinfolk.enqueue_tasks([8, 8].map(|number| Double { number })).in_tx(&mut tx).await.unwrap();
        assert_eq!(answers[1], Enqueued::Existing(answers[0].id().unwrap()));
        tx.commit().await.unwrap();
        let customers = query::<Sqlite>("select * from customer").fetch_all(&mut connection).await.unwrap();
        assert_eq!(customers.len(), 1, "a refused enqueue leaves the transaction as it was");
        answers[0].id().unwrap()
    });
    one_is_run(&lab, id.await.unwrap(), 8).await;
    worker.stop().await.unwrap();
}
