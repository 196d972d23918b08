//! Opening and closing a file, and what is refused.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Clock, Inspect, Operate, Produce, StoreError, TaskId, Timestamp, Work};
use kinfolk_sqlite::{Options, SqliteStore, SystemClock};
use rusqlite::Connection;

use crate::support::{Place, claim, enqueue, ids, quick, register, scratch, task, worker};

#[tokio::test]
async fn opening_makes_the_file_and_opening_again_finds_what_was_stored() {
    let place = Place::new();
    register(&place.store, &["echo"]).await;
    let id = enqueue(&place.store, &[task("echo")]).await[0];
    let path = place.path();
    drop(place.store);
    assert!(!path.with_extension("db-wal").exists(), "closing copies the log into the file");
    let again = quick(&path, place.clock);
    assert_eq!(again.task(id).await.unwrap().unwrap().id, id);
    assert!(again.pending_migrations().await.unwrap().is_empty());
    let done = again.migrate().await.unwrap();
    assert_eq!(done.from, done.to);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let folder = scratch();
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("create table mine (x); insert into mine values (1)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let fault = SqliteStore::open(&path).unwrap_err();
    assert!(fault.to_string().contains("is not a Kinfolk database"), "{fault}");
    assert!(fault.to_string().contains("other.db"), "{fault}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_with_another_application_id_is_refused() {
    let folder = scratch();
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("pragma application_id = 7; create table mine (x)").unwrap();
    assert!(matches!(SqliteStore::open(&path), Err(StoreError::Foreign { .. })));
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = scratch();
    let path = folder.path().join("letter.txt");
    std::fs::write(&path, "Dear Sir or Madam, ".repeat(100)).unwrap();
    let fault = SqliteStore::open(&path).unwrap_err();
    assert_eq!(fault.code(), "foreign", "{fault}");
    assert!(fault.to_string().contains("letter.txt"), "{fault}");
    assert_eq!(SqliteStore::open(folder.path()).unwrap_err().code(), "foreign");
}

#[test]
fn a_missing_folder_is_named() {
    let folder = scratch();
    let fault = SqliteStore::open(folder.path().join("no/such/kinfolk.db")).unwrap_err();
    assert!(matches!(&fault, StoreError::NotFound { what: "folder", name } if name.ends_with("no/such")), "{fault}");
}

#[test]
fn a_file_from_a_newer_version_is_refused() {
    let place = Place::new();
    let path = place.path();
    drop(place.store);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let fault = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(fault, StoreError::SchemaTooNew { found: 99, .. }), "{fault}");
}

#[test]
fn a_name_that_looks_like_a_uri_is_a_plain_name() {
    let folder = scratch();
    let path = folder.path().join("file:x?mode=memory");
    drop(SqliteStore::open(&path).unwrap());
    assert!(path.exists());
}

#[tokio::test]
async fn a_write_waits_its_turn_and_gives_up_at_its_time_limit() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    let options = Options { busy_timeout: Duration::from_millis(50), ..Options::default() };
    let store = SqliteStore::open_as(&path, Arc::new(SystemClock), options).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let fault = store.register(&[]).await.unwrap_err();
    assert!(matches!(fault, StoreError::Busy { .. }), "{fault}");
    other.execute_batch("rollback").unwrap();
    store.register(&[]).await.unwrap();
}

#[tokio::test]
async fn a_temporary_store_leaves_nothing_behind() {
    let store = SqliteStore::open(":memory:").unwrap();
    register(&store, &["echo"]).await;
    enqueue(&store, &[task("echo")]).await;
    let folder = store.path().parent().unwrap().to_owned();
    let clone = store.clone();
    drop(store);
    assert!(folder.exists(), "a clone keeps it open");
    assert_eq!(clone.stats().await.unwrap().counts[0].tasks, 1);
    drop(clone);
    assert!(!folder.exists());
}

#[tokio::test]
async fn the_clock_never_goes_below_what_is_stored() {
    let place = Place::new();
    register(&place.store, &["echo"]).await;
    place.clock.advance(Duration::from_secs(3600));
    let late = place.clock.now();
    let id = enqueue(&place.store, &[task("echo")]).await[0];
    let other = place.another();
    place.clock.set(Timestamp::from_micros(0));
    assert_eq!(other.now().await.unwrap(), late, "another store sees what was stored");
    let path = place.path();
    drop((place.store, other));
    let again = quick(&path, place.clock);
    let next = enqueue(&again, &[task("echo")]).await[0];
    assert!(next > id);
    assert_eq!(again.task(next).await.unwrap().unwrap().created_at, late);
}

#[tokio::test]
async fn task_numbers_are_never_reused() {
    let place = Place::new();
    register(&place.store, &["echo"]).await;
    let last = enqueue(&place.store, &[task("echo"), task("echo")]).await[1];
    let path = place.path();
    drop(place.store);
    Connection::open(&path).unwrap().execute("delete from task", ()).unwrap();
    let again = quick(&path, place.clock);
    assert!(enqueue(&again, &[task("echo")]).await[0] > last);
}

/// A file as the first version of the schema left it: one task pending, one running on a lost worker, one completed.
fn first_version(path: &std::path::Path) {
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(include_str!("../../sql/migrations/0001_engine.sql")).unwrap();
    conn.execute_batch(
        "pragma journal_mode = wal;
        pragma application_id = 0x4B494E46;
        pragma user_version = 1;
        update store set clock = 1000, last_task = 3;
        insert into queue (id, name, keep_completed) values (1, 'default', 0);
        insert into command (name, queue_id, priority, max_attempts, base_ms, cap_ms, jitter_pct)
        values ('echo', 1, 0, 3, 1000, 60000, 0);
        insert into worker values (zeroblob(16), 'lost', '[]', '[]', 30, 1, 31, 1);
        insert into task (id, command_id, queue_id, state, gate, priority, due, place, max_attempts, created_at, payload)
        values (1, 1, 1, 'pending', 'open', 0, 1, 1, 3, 1, '{}');
        insert into task (id, command_id, queue_id, state, priority, due, place, attempt, runs, max_attempts, created_at,
                          started_at, worker, token, payload)
        values (2, 1, 1, 'running', 0, 1, 1, 1, 1, 3, 1, 2, zeroblob(16), zeroblob(16), '{}');
        insert into task (id, command_id, queue_id, state, priority, due, place, attempt, runs, max_attempts, created_at,
                          started_at, finished_at, payload)
        values (3, 1, 1, 'completed', 0, 1, 1, 1, 1, 3, 1, 2, 3, '{}');",
    )
    .unwrap();
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date_and_goes_on() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    first_version(&path);
    assert_eq!(kinfolk_sqlite::pending_migrations(&path).unwrap().len(), 2);
    let clock = crate::support::HandClock::at(Timestamp::from_micros(4_102_444_800_000_000));
    let store = quick(&path, clock.clone());
    assert_eq!(store.check().await.unwrap(), []);
    let old = store.task(TaskId(1)).await.unwrap().unwrap();
    assert_eq!((old.parent, old.root, old.depth, old.outcome), (None, TaskId(1), 0, None));
    assert_eq!(store.queues().await.unwrap()[0].policy.depth_limit, kinfolk_core::limits::DEPTH_MAX);
    let counts: Vec<_> = store.stats().await.unwrap().counts.into_iter().map(|count| count.tasks).collect();
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(store.prune().await.unwrap(), 1);
    let judge = worker(&store).await;
    clock.advance(Duration::from_secs(30));
    assert_eq!(store.recover(judge).await.unwrap().returned, 1);
    assert_eq!(ids(&claim(&store, judge, &["echo"], 10).await), [TaskId(1), TaskId(2)]);
    assert_eq!(store.check().await.unwrap(), []);
}
