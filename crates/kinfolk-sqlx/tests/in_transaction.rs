//! Tasks live and die with the sqlx transaction that made them.

use std::time::Duration;

use kinfolk_core::*;
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_sqlx::{complete_in, enqueue_in, try_enqueue_in};
use sqlx_core::connection::Connection;
use sqlx_postgres::PgConnection;
use uuid::Uuid;

fn command(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

async fn fresh() -> (TestDatabase, kinfolk_postgres::PgStore, PgConnection) {
    let database = TestDatabase::create().await;
    let store = database.store().await;
    store.register(&[Command::new(command("mail"))]).await.unwrap();
    let connection = PgConnection::connect(&database.url).await.unwrap();
    (database, store, connection)
}

#[tokio::test]
async fn what_is_enqueued_exists_only_if_the_transaction_commits() {
    let (_database, store, mut connection) = fresh().await;
    let plain = NewTask::new(command("mail"), Json::parse(r#"{"to":"ada"}"#).unwrap());
    let later = NewTask { due: Due::After(Duration::from_secs(60)), priority: Some(3), ..plain.clone() };
    let unique = NewTask { unique: Some(Unique::key("k")), ..plain.clone() };
    let stray = NewTask::new(command("nobody"), Json::object());
    let tasks = [plain, later, unique.clone(), unique, stray];

    let mut dropped = connection.begin().await.unwrap();
    let ids: Vec<_> =
        try_enqueue_in(&mut dropped, &tasks).await.unwrap().iter().filter_map(|answer| answer.id().ok()).collect();
    dropped.rollback().await.unwrap();
    assert_eq!(store.task(ids[0]).await.unwrap(), None);

    let mut kept = connection.begin().await.unwrap();
    let answers = try_enqueue_in(&mut kept, &tasks).await.unwrap();
    kept.commit().await.unwrap();
    let [Enqueued::Created(first), Enqueued::Created(second), Enqueued::Created(third), fourth, fifth] = &answers[..]
    else {
        panic!("{answers:?}")
    };
    assert_eq!(fourth, &Enqueued::Existing(*third));
    assert_eq!(fifth, &Enqueued::Rejected(Rejection::UnknownCommand(command("nobody"))));
    let first = store.task(*first).await.unwrap().unwrap();
    assert_eq!((first.gate, first.payload), (Some(Gate::Open), Json::parse(r#"{"to":"ada"}"#).unwrap()));
    let second = store.task(*second).await.unwrap().unwrap();
    assert_eq!((second.gate, second.priority), (Some(Gate::Time), 3));
}

/// Enqueues so many tasks and claims them, all under one token.
async fn claimed(store: &kinfolk_postgres::PgStore, many: usize) -> (Vec<TaskId>, Token) {
    store.enqueue(&vec![NewTask::new(command("mail"), Json::object()); many]).await.unwrap();
    let worker = WorkerSpec {
        id: WorkerId(Uuid::new_v4()),
        name: "sqlx".to_owned(),
        version: String::new(),
        queues: vec![QueueName::default()],
        commands: vec![command("mail")],
        lease: Duration::from_secs(30),
    };
    store.register_worker(&worker).await.unwrap();
    let token = Token(Uuid::new_v4());
    let claim = Claim {
        worker: worker.id,
        token,
        queue: QueueName::default(),
        commands: vec![command("mail")],
        limit: many,
        repeated: false,
    };
    let tasks: Vec<TaskId> = store.claim(&claim).await.unwrap().tasks.iter().map(|task| task.id).collect();
    assert_eq!(tasks.len(), many);
    (tasks, token)
}

#[tokio::test]
async fn a_completion_is_one_with_the_writes_beside_it() {
    let (_database, store, mut connection) = fresh().await;
    let (tasks, token) = claimed(&store, 1).await;
    let (id, result, nothing) = (tasks[0], Json::parse("[1]").unwrap(), Made::default());

    let mut dropped = connection.begin().await.unwrap();
    let done = complete_in(&mut dropped, id, token, Some(&result), &nothing).await;
    assert_eq!(done.unwrap(), State::Completed);
    dropped.rollback().await.unwrap();
    assert_eq!(store.task(id).await.unwrap().unwrap().state, State::Running);

    let mut kept = connection.begin().await.unwrap();
    complete_in(&mut kept, id, token, Some(&result), &nothing).await.unwrap();
    kept.commit().await.unwrap();
    let task = store.task(id).await.unwrap().unwrap();
    assert_eq!((task.state, task.result), (State::Completed, Some(result)));
}

#[tokio::test]
async fn a_transaction_whose_attempt_is_not_recorded_as_done_can_not_be_committed() {
    let (database, store, mut connection) = fresh().await;
    database.run("create table effect (task bigint)").await;
    let (tasks, token) = claimed(&store, 4).await;
    let nothing = Made::default();
    store.settle(&[Settle::new(tasks[0], token, Outcome::Done(None))]).await.unwrap();
    store.cancel(tasks[1]).await.unwrap();
    let refused = Made { children: vec![NewTask::new(command("nobody"), Json::object())], ..Made::default() };
    for (why, task, token, made) in [
        ("settled before", tasks[0], token, &nothing),
        ("asked for", tasks[1], token, &nothing),
        ("no longer with this attempt", tasks[2], Token(Uuid::new_v4()), &nothing),
        ("refused", tasks[3], token, &refused),
    ] {
        let mut transaction = connection.begin().await.unwrap();
        let effect = sqlx_core::query::query::<sqlx_postgres::Postgres>("insert into effect values ($1)").bind(task.0);
        effect.execute(&mut *transaction).await.unwrap();
        let fault = complete_in(&mut transaction, task, token, None, made).await.unwrap_err();
        assert!(matches!(&fault, StoreError::NotRecorded { detail } if detail.contains(why)), "{why}: {fault:?}");
        // By mistake: the server makes it a rollback.
        drop(transaction.commit().await);
    }
    assert_eq!(database.texts("select task::text from effect").await, [""; 0]);
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn what_a_handler_made_is_one_with_its_completion() {
    let (_database, store, mut connection) = fresh().await;
    let (tasks, token) = claimed(&store, 1).await;
    let mail = NewTask::new(command("mail"), Json::parse(r#"{"to":"ada"}"#).unwrap());
    let later = NewTask { due: Due::At(store.now().await.unwrap().plus(Duration::from_secs(60))), ..mail.clone() };
    let flush = NewTask { unique: Some(Unique::key("flush")), ..mail.clone() };
    let made = Made {
        children: vec![mail.clone(), later],
        follow_ups: vec![FollowUp { task: flush, when: When::Completed }],
        tasks: vec![mail],
        ..Made::default()
    };

    let mut dropped = connection.begin().await.unwrap();
    complete_in(&mut dropped, tasks[0], token, None, &made).await.unwrap();
    dropped.rollback().await.unwrap();
    assert_eq!(store.tally(tasks[0]).await.unwrap(), Tally::default());

    let mut kept = connection.begin().await.unwrap();
    let state = complete_in(&mut kept, tasks[0], token, None, &made).await.unwrap();
    assert_eq!(state, State::Waiting);
    kept.commit().await.unwrap();
    let children = store.children(tasks[0], 0, 10).await.unwrap();
    let gates: Vec<_> = children.iter().map(|child| child.gate).collect();
    assert_eq!(gates, [Some(Gate::Open), Some(Gate::Time)]);
    let all = store.list(&inspect::Filter { limit: 10, ..inspect::Filter::default() }).await.unwrap().tasks;
    assert_eq!((all.len(), all[1].gate, all[0].gate), (5, Some(Gate::After), Some(Gate::Open)));
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn bad_input_is_refused_before_anything_is_written() {
    let (_database, _store, mut connection) = fresh().await;
    let bad = NewTask { priority: Some(i32::MAX), ..NewTask::new(command("mail"), Json::object()) };
    assert!(matches!(enqueue_in(&mut connection, &[bad]).await, Err(StoreError::Input(InputError::Priority(_)))));
}

#[tokio::test]
async fn a_rejected_task_is_an_error_and_the_transaction_can_not_be_committed() {
    let (_database, store, mut connection) = fresh().await;
    let tasks = [command("mail"), command("nobody")].map(|name| NewTask::new(name, Json::object()));
    let mut transaction = connection.begin().await.unwrap();
    let fault = enqueue_in(&mut transaction, &tasks).await.unwrap_err();
    let unknown = Rejection::UnknownCommand(command("nobody"));
    assert!(matches!(&fault, StoreError::Rejected(why) if *why == unknown), "{fault:?}");
    drop(transaction.commit().await);
    let all = store.list(&inspect::Filter { limit: 10, ..inspect::Filter::default() }).await.unwrap().tasks;
    assert_eq!(all, []);
}
