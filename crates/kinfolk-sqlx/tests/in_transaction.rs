//! Tasks live and die with the sqlx transaction that made them.

use std::time::Duration;

use kinfolk_core::*;
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_sqlx::{enqueue_in, settle_in};
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
    let keyed = NewTask { unique: Some(Unique::key("k")), ..plain.clone() };
    let stray = NewTask::new(command("nobody"), Json::object());
    let tasks = [plain, later, keyed.clone(), keyed, stray];

    let mut dropped = connection.begin().await.unwrap();
    let ids: Vec<_> =
        enqueue_in(&mut dropped, &tasks).await.unwrap().iter().filter_map(|answer| answer.id().ok()).collect();
    dropped.rollback().await.unwrap();
    assert_eq!(store.task(ids[0]).await.unwrap(), None);

    let mut kept = connection.begin().await.unwrap();
    let answers = enqueue_in(&mut kept, &tasks).await.unwrap();
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
async fn a_settle_is_one_with_the_writes_beside_it() {
    let (_database, store, mut connection) = fresh().await;
    let (tasks, token) = claimed(&store, 1).await;
    let id = tasks[0];
    let done = Settle::new(id, token, Outcome::Done(Some(Json::parse("[1]").unwrap())));

    let mut dropped = connection.begin().await.unwrap();
    assert_eq!(
        settle_in(&mut dropped, std::slice::from_ref(&done)).await.unwrap(),
        [Settled::Recorded(State::Completed)]
    );
    dropped.rollback().await.unwrap();
    assert_eq!(store.task(id).await.unwrap().unwrap().state, State::Running);

    let mut kept = connection.begin().await.unwrap();
    let stale = Settle { token: Token(Uuid::new_v4()), ..done.clone() };
    assert_eq!(
        settle_in(&mut kept, &[done, stale]).await.unwrap(),
        [Settled::Recorded(State::Completed), Settled::Stale]
    );
    kept.commit().await.unwrap();
    let task = store.task(id).await.unwrap().unwrap();
    assert_eq!((task.state, task.result), (State::Completed, Some(Json::parse("[1]").unwrap())));
}

#[tokio::test]
async fn what_a_handler_made_is_one_with_its_settle() {
    let (_database, store, mut connection) = fresh().await;
    let (tasks, token) = claimed(&store, 3).await;
    let mail = NewTask::new(command("mail"), Json::parse(r#"{"to":"ada"}"#).unwrap());
    let later = NewTask { due: Due::At(store.now().await.unwrap().plus(Duration::from_secs(60))), ..mail.clone() };
    let flush = NewTask { unique: Some(Unique::key("flush")), ..mail.clone() };
    let made = Made {
        children: vec![mail.clone(), later],
        follow_ups: vec![FollowUp { task: flush, when: When::Completed }],
        tasks: vec![mail],
        ..Made::default()
    };
    let done = |place: usize| Settle::new(tasks[place], token, Outcome::Done(None));
    let settles = [done(2), Settle { made: Some(Box::new(made)), ..done(1) }, done(0)];

    let mut dropped = connection.begin().await.unwrap();
    settle_in(&mut dropped, &settles).await.unwrap();
    dropped.rollback().await.unwrap();
    assert_eq!(store.tally(tasks[1]).await.unwrap(), Tally::default());

    let mut kept = connection.begin().await.unwrap();
    let states = [State::Completed, State::Waiting, State::Completed].map(Settled::Recorded);
    assert_eq!(settle_in(&mut kept, &settles).await.unwrap(), states);
    kept.commit().await.unwrap();
    let children = store.children(tasks[1], 0, 10).await.unwrap();
    let gates: Vec<_> = children.iter().map(|child| child.gate).collect();
    assert_eq!(gates, [Some(Gate::Open), Some(Gate::Time)]);
    let all = store.list(&inspect::Filter { limit: 10, ..inspect::Filter::default() }).await.unwrap().tasks;
    assert_eq!((all.len(), all[1].gate, all[0].gate), (7, Some(Gate::After), Some(Gate::Open)));
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn bad_input_is_refused_before_anything_is_written() {
    let (_database, _store, mut connection) = fresh().await;
    let bad = NewTask { priority: Some(i32::MAX), ..NewTask::new(command("mail"), Json::object()) };
    assert!(matches!(enqueue_in(&mut connection, &[bad]).await, Err(StoreError::Input(InputError::Priority(_)))));
}
