//! An enqueue by sqlx on the file of a SQLite store: what it makes and refuses is what the store makes and refuses.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::*;
use kinfolk_sqlite::SqliteStore;
use kinfolk_sqlx::enqueue_in_sqlite;
use sqlx_core::connection::{ConnectOptions, Connection};
use sqlx_core::query::query;
use sqlx_sqlite::{Sqlite, SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

/// A clock that stands still, later than any other: whoever opens the file has its time.
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        "2100-01-01T00:00:00Z".parse().unwrap()
    }
}

fn command(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

/// A store with two commands, one of which has defaults of its own, groups, and a queue on which the values of a key take turns.
async fn store(folder: &TempDir, name: &str) -> (SqliteStore, std::path::PathBuf) {
    let path = folder.path().join(name);
    let store = SqliteStore::open_with(&path, Arc::new(Still)).unwrap();
    let queue = QueueName::new("post").unwrap();
    let groups = Groups::of([("tenant", GroupSpec::limit(2)), ("region", GroupSpec::limit(1))]).unwrap();
    let particular = Command {
        queue: queue.clone(),
        priority: 7,
        timeout: Some(Duration::from_secs(9)),
        groups: Some(groups),
        ..Command::new(command("letter"))
    };
    store.register(&[Command::new(command("mail")), particular]).await.unwrap();
    let fair = Some(GroupName::new("tenant").unwrap());
    store.set_queue(&queue, &Policy { fair, ..Policy::default() }).await.unwrap();
    (store, path)
}

async fn connect(path: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(path).connect().await.unwrap()
}

fn unique(task: &NewTask, scope: UniqueScope, on_duplicate: OnDuplicate) -> NewTask {
    NewTask { unique: Some(Unique::key("k").scope(scope).on_duplicate(on_duplicate)), ..task.clone() }
}

/// One call after another: every property that a task may have, and every answer to a unique key.
fn calls() -> Vec<Vec<NewTask>> {
    let mail = NewTask::new(command("mail"), Json::parse(r#"{"to": "ada", "n": 1}"#).unwrap());
    let other = NewTask { payload: Json::parse(r#"{"n": 2}"#).unwrap(), ..mail.clone() };
    let large = NewTask { payload: Json::of(&"x".repeat(5_000)).unwrap(), ..mail.clone() };
    let letter = NewTask::new(command("letter"), Json::object());
    let full = NewTask {
        queue: Some(QueueName::default()),
        priority: Some(-3),
        due: Due::After(Duration::from_secs(60)),
        max_attempts: Some(2),
        timeout: Some(Duration::from_secs(5)),
        keys: Keys::of([("tenant", "acme")]).unwrap(),
        trace: Some("00-abc-def-01".to_owned()),
        ..letter.clone()
    };
    let at = |moment: &str| NewTask { due: Due::At(moment.parse().unwrap()), ..mail.clone() };
    let window = UniqueScope::Window(Duration::from_secs(60));
    vec![
        vec![mail.clone(), letter.clone(), full, large.clone()],
        vec![at("2000-01-01T00:00:00Z"), at("2101-01-01T00:00:00Z")],
        vec![NewTask { keys: Keys::of([("region", "north")]).unwrap(), ..letter.clone() }],
        vec![
            unique(&mail, UniqueScope::Pending, OnDuplicate::Keep),
            unique(&other, UniqueScope::Pending, OnDuplicate::Keep),
        ],
        vec![unique(&other, UniqueScope::Active, OnDuplicate::Merge)],
        vec![unique(&large, UniqueScope::Pending, OnDuplicate::Replace)],
        vec![unique(&mail, UniqueScope::Pending, OnDuplicate::Replace)],
        vec![unique(&letter, window, OnDuplicate::Keep), unique(&letter, window, OnDuplicate::Keep)],
        // What is refused, with all that comes with it.
        vec![mail.clone(), NewTask::new(command("nobody"), Json::object())],
        vec![mail.clone(), NewTask { queue: Some(QueueName::new("nowhere").unwrap()), ..mail.clone() }],
        vec![mail.clone(), NewTask { keys: Keys::of([("tenant", "acme")]).unwrap(), ..mail.clone() }],
        vec![mail.clone(), NewTask { max_attempts: Some(0), ..mail.clone() }],
        vec![],
        vec![mail],
    ]
}

#[tokio::test]
async fn what_sqlx_enqueues_is_what_the_store_enqueues_and_so_is_what_it_refuses() {
    let folder = TempDir::new().unwrap();
    let ((own, _), (file, path)) = (store(&folder, "own.db").await, store(&folder, "sqlx.db").await);
    let mut connection = connect(&path).await;
    let (mut made, mut refused) = (Vec::new(), 0);
    for tasks in calls() {
        let mut transaction = connection.begin_with("begin immediate").await.unwrap();
        let answers = enqueue_in_sqlite(&mut transaction, &tasks).await;
        transaction.commit().await.unwrap();
        match (own.enqueue_all(&tasks).await, answers) {
            (Ok(own), Ok(answers)) => {
                let index = |answer: &Enqueued, made: &[TaskId]| {
                    let id = answer.id().unwrap();
                    (std::mem::discriminant(answer), made.iter().position(|made| *made == id))
                };
                for (own, answer) in own.iter().zip(&answers) {
                    let ids = |nth: usize| made.iter().map(|pair: &[TaskId; 2]| pair[nth]).collect::<Vec<_>>();
                    assert_eq!(index(own, &ids(0)), index(answer, &ids(1)), "{tasks:?}");
                    made.push([own.id().unwrap(), answer.id().unwrap()]);
                }
                assert_eq!(own.len(), answers.len());
            }
            (Err(own), Err(fault)) => {
                assert_eq!(own.to_string(), fault.to_string(), "{tasks:?}");
                refused += 1;
            }
            (own, answers) => panic!("{tasks:?}: {own:?}, but by sqlx {answers:?}"),
        }
    }
    assert_eq!((made.len(), refused), (15, 4));
    for [own_id, id] in made {
        let task = file.task(id).await.unwrap().unwrap();
        let own = own.task(own_id).await.unwrap().unwrap();
        assert_eq!(Task { id: own_id, root: own_id, ..task }, own);
    }
    assert_eq!(file.check().await.unwrap(), []);
}

#[tokio::test]
async fn what_is_rolled_back_never_was_and_no_number_is_given_out_twice() {
    let folder = TempDir::new().unwrap();
    let (store, path) = store(&folder, "tasks.db").await;
    let mut connection = connect(&path).await;
    query::<Sqlite>("create table customer (name text)").execute(&mut connection).await.unwrap();
    let mail = NewTask::new(command("mail"), Json::object());
    let mut transaction = connection.begin().await.unwrap();
    query::<Sqlite>("insert into customer values ('nobody')").execute(&mut *transaction).await.unwrap();
    let gone = enqueue_in_sqlite(&mut transaction, std::slice::from_ref(&mail)).await.unwrap()[0].id().unwrap();
    transaction.rollback().await.unwrap();
    assert_eq!(store.task(gone).await.unwrap(), None);
    let mut last = TaskId(0);
    for _ in 0..3 {
        let mut transaction = connection.begin().await.unwrap();
        let by_sqlx = enqueue_in_sqlite(&mut transaction, std::slice::from_ref(&mail)).await.unwrap()[0].id().unwrap();
        transaction.commit().await.unwrap();
        let own = store.enqueue(std::slice::from_ref(&mail)).await.unwrap()[0].id().unwrap();
        assert!(last < by_sqlx && by_sqlx < own, "{last} {by_sqlx} {own}");
        last = own;
    }
    // A transaction that has read is refused when someone else has written since.
    let mut transaction = connection.begin().await.unwrap();
    query::<Sqlite>("select * from customer").fetch_all(&mut *transaction).await.unwrap();
    store.enqueue(std::slice::from_ref(&mail)).await.unwrap();
    let late = enqueue_in_sqlite(&mut transaction, &[mail]).await.unwrap_err();
    assert!(matches!(late, StoreError::Busy { .. }), "{late}");
    transaction.rollback().await.unwrap();
    assert_eq!(store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_file_that_no_store_has_made_is_told() {
    let folder = TempDir::new().unwrap();
    let mail = [NewTask::new(command("mail"), Json::object())];
    let mut memory = SqliteConnectOptions::new().in_memory(true).connect().await.unwrap();
    let fault = enqueue_in_sqlite(&mut memory, &mail).await.unwrap_err();
    assert!(matches!(fault, StoreError::Unsupported { .. }), "{fault}");
    let other = SqliteConnectOptions::new().filename(folder.path().join("other.db")).create_if_missing(true);
    let mut other = other.connect().await.unwrap();
    let fault = enqueue_in_sqlite(&mut other, &mail).await.unwrap_err();
    assert!(matches!(fault, StoreError::SchemaMissing { .. }), "{fault}");
    query::<Sqlite>("create table mine (n int)").execute(&mut other).await.unwrap();
    let fault = enqueue_in_sqlite(&mut other, &mail).await.unwrap_err();
    assert!(matches!(fault, StoreError::Foreign { .. }), "{fault}");
}
