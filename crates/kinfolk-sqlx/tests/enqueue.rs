//! Tasks enqueued in an sqlx transaction exist if, and only if, it commits; and they are what was asked for.

use std::time::Duration;

use kinfolk_core::{
    Command, CommandName, Due, Enqueued, InputError, Inspect, Json, NewTask, OnDuplicate, Produce, QueueName,
    Rejection, StoreError, Unique, UniqueScope,
};
use kinfolk_postgres::testing::TestDatabase;
use sqlx_core::connection::Connection;
use sqlx_postgres::PgConnection;

fn command(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

fn task(name: &str) -> NewTask {
    NewTask::new(command(name), Json::parse(r#"{"order": 9007199254740993}"#).unwrap())
}

async fn set_up() -> (TestDatabase, PgConnection) {
    let database = TestDatabase::create().await;
    database.store().await.register(&[Command::new(command("invoice"))]).await.unwrap();
    let connection = PgConnection::connect(&database.url).await.unwrap();
    (database, connection)
}

#[tokio::test]
async fn tasks_exist_only_if_the_transaction_commits() {
    let (database, mut connection) = set_up().await;
    let store = database.store().await;

    let mut transaction = connection.begin().await.unwrap();
    let undone = kinfolk_sqlx::enqueue(&mut transaction, &[task("invoice")]).await.unwrap();
    transaction.rollback().await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    let done = kinfolk_sqlx::enqueue(&mut transaction, &[task("invoice"), task("invoice")]).await.unwrap();
    transaction.commit().await.unwrap();

    assert_eq!(store.task(undone[0].task().unwrap()).await.unwrap(), None);
    for answer in &done {
        let found = store.task(answer.task().unwrap()).await.unwrap().unwrap();
        assert_eq!(found.payload, task("invoice").payload, "numbers are kept to the digit");
    }
}

#[tokio::test]
async fn every_property_arrives() {
    let (database, mut connection) = set_up().await;
    let store = database.store().await;
    let at = store.now().await.unwrap().plus(Duration::from_secs(7_200));
    let asked = NewTask {
        queue: Some(QueueName::default()),
        priority: Some(-3),
        due: Due::At(at),
        unique: Some(Unique::key("k").scope(UniqueScope::Active)),
        max_attempts: Some(4),
        timeout: Some(Duration::from_micros(90_000_001)),
        trace: Some("00-trace".to_owned()),
        ..task("invoice")
    };
    let answers = kinfolk_sqlx::enqueue(&mut connection, std::slice::from_ref(&asked)).await.unwrap();
    let found = store.task(answers[0].task().unwrap()).await.unwrap().unwrap();
    assert_eq!((found.priority, found.due, found.max_attempts), (-3, at, 4));
    assert_eq!((found.timeout, found.unique_key.as_deref()), (asked.timeout, Some("k")));
    assert_eq!(found.trace, asked.trace);

    let later = NewTask { due: Due::After(Duration::from_secs(100 * 24 * 3_600)), ..task("invoice") };
    let answers = kinfolk_sqlx::enqueue(&mut connection, &[later]).await.unwrap();
    let found = store.task(answers[0].task().unwrap()).await.unwrap().unwrap();
    assert_eq!(found.due, found.created_at.plus(Duration::from_secs(100 * 24 * 3_600)));
}

#[tokio::test]
async fn every_enqueue_is_answered() {
    let (_database, mut connection) = set_up().await;
    let keyed = NewTask { unique: Some(Unique::key("k").on_duplicate(OnDuplicate::Merge)), ..task("invoice") };
    let lost = NewTask { queue: Some(QueueName::new("nowhere").unwrap()), ..task("invoice") };
    let kept = NewTask { unique: Some(Unique::key("k")), ..task("invoice") };
    let batch = [keyed.clone(), task("unheard_of"), lost, keyed, kept];
    let answers = kinfolk_sqlx::enqueue(&mut connection, &batch).await.unwrap();
    let first = answers[0].task().unwrap();
    assert_eq!(
        answers,
        [
            Enqueued::Created(first),
            Enqueued::Rejected(Rejection::UnknownCommand(command("unheard_of"))),
            Enqueued::Rejected(Rejection::UnknownQueue(QueueName::new("nowhere").unwrap())),
            Enqueued::Merged(first),
            Enqueued::Existing(first),
        ]
    );
    assert_eq!(kinfolk_sqlx::enqueue(&mut connection, &[]).await.unwrap(), []);
}

#[tokio::test]
async fn what_can_not_be_is_refused_with_the_typed_error() {
    let (_database, mut connection) = set_up().await;
    let bad = NewTask { max_attempts: Some(0), ..task("invoice") };
    let fault = kinfolk_sqlx::enqueue(&mut connection, &[bad]).await.unwrap_err();
    assert!(matches!(fault, StoreError::Input(InputError::Attempts(0))), "{fault:?}");

    let empty = TestDatabase::create_empty().await;
    let mut connection = PgConnection::connect(&empty.url).await.unwrap();
    let fault = kinfolk_sqlx::enqueue(&mut connection, &[task("invoice")]).await.unwrap_err();
    assert!(matches!(fault, StoreError::SchemaMissing { .. }), "{fault:?}");
}
