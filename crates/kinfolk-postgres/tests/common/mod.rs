//! What the tests of the store share.
#![allow(dead_code, reason = "each test file uses its own part")]

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
