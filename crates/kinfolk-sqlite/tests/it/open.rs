//! Opening and closing a file, and what is refused.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Clock, Inspect, Operate, Produce, StoreError, TaskId, Timestamp, Work};
use kinfolk_sqlite::{Options, SqliteStore, SystemClock};
use rusqlite::Connection;

use crate::support::{Lab, claim, enqueue, ids, quick, register, scratch, task, worker};

#[tokio::test]
async fn opening_makes_the_file_and_opening_again_finds_what_was_stored() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let id = enqueue(&lab.store, &[task("echo")]).await[0];
    let path = lab.path();
    drop(lab.store);
    assert!(!path.with_extension("db-wal").exists(), "closing copies the log into the file");
    let again = quick(&path, lab.clock);
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
    let lab = Lab::new();
    let path = lab.path();
    drop(lab.store);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let fault = SqliteStore::open(&path).unwrap_err();
    assert!(matches!(fault, StoreError::SchemaTooNew { found: 99, .. }), "{fault}");
}

#[test]
fn a_file_from_before_the_first_release_is_refused_and_left_as_it_was() {
    for version in [3, 2, 0, -1] {
        let lab = Lab::new();
        let path = lab.path();
        drop(lab.store);
        let conn = Connection::open(&path).unwrap();
        conn.execute_batch("alter table task rename column due to due_at; delete from migration").unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        conn.close().unwrap();
        let before = std::fs::read(&path).unwrap();
        let fault = SqliteStore::open(&path).unwrap_err();
        let remedy = if version > 0 { "make the database anew" } else { "choose another database" };
        assert!(fault.to_string().contains(remedy), "{version}: {fault}");
        assert_eq!(kinfolk_sqlite::pending_migrations(&path).unwrap_err().to_string(), fault.to_string());
        assert_eq!(std::fs::read(&path).unwrap(), before, "{version}");
    }
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
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    lab.clock.advance(Duration::from_secs(3600));
    let late = lab.clock.now();
    let id = enqueue(&lab.store, &[task("echo")]).await[0];
    let other = lab.another();
    lab.clock.set(Timestamp::from_micros(0));
    assert_eq!(other.now().await.unwrap(), late, "another store sees what was stored");
    let path = lab.path();
    drop((lab.store, other));
    let again = quick(&path, lab.clock);
    let next = enqueue(&again, &[task("echo")]).await[0];
    assert!(next > id);
    assert_eq!(again.task(next).await.unwrap().unwrap().created_at, late);
}

#[tokio::test]
async fn task_numbers_are_never_reused() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let last = enqueue(&lab.store, &[task("echo"), task("echo")]).await[1];
    let path = lab.path();
    drop(lab.store);
    Connection::open(&path).unwrap().execute("delete from task", ()).unwrap();
    let again = quick(&path, lab.clock);
    assert!(enqueue(&again, &[task("echo")]).await[0] > last);
}

#[tokio::test]
async fn a_program_that_is_older_than_the_file_became_meanwhile_writes_no_more() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let newer = Connection::open(lab.path()).unwrap();
    let version: i32 = newer.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    newer.pragma_update(None, "user_version", version + 1).unwrap();
    let fault = lab.store.enqueue(&[task("echo")]).await.unwrap_err();
    assert!(matches!(fault, StoreError::SchemaTooNew { .. }), "{fault}");
    newer.pragma_update(None, "user_version", version).unwrap();
    enqueue(&lab.store, &[task("echo")]).await;
}

/// A file as the first version left it: a family at work (one child completed, one running on a lost worker, one held)
/// with a follow-up, a failed family, and a task that is to be tried again.
fn first_version(path: &std::path::Path) {
    drop(SqliteStore::open(path).unwrap());
    let conn = Connection::open(path).unwrap();
    conn.execute_batch(
        "update store set clock = 1000, last_task = 8;
        insert into queue (id, name, keep_completed) values (1, 'default', 0);
        insert into command (name, queue_id, priority, max_attempts, base_ms, cap_ms, jitter_pct, max_strikes)
        values ('echo', 1, 0, 3, 1000, 60000, 0, 20);
        insert into worker (id, name, queues, commands, lease, started_at, lease_until, steady_since)
        values (zeroblob(16), 'lost', '[]', '[]', 30, 1, 31, 1);
        insert into task (id, command_id, queue_id, state, priority, due, position, attempt, runs, max_attempts, created_at,
                          started_at, outcome, result, token, bucket, payload)
        values (1, 1, 1, 'waiting', 0, 1, 1, 1, 1, 3, 1, 2, 'completed', '[1.50]', x'01', 'waiting', '{}');
        insert into task (id, command_id, queue_id, state, priority, due, position, attempt, runs, max_attempts, created_at,
                          started_at, finished_at, parent_id, root_id, depth, fan_out_id, nth, lane, bucket, payload)
        values (2, 1, 1, 'completed', 0, 1, 1, 1, 1, 3, 1, 2, 3, 1, 1, 1, 1, 0, 'child', 'completed', '{}');
        insert into task (id, command_id, queue_id, state, priority, due, position, attempt, runs, max_attempts, created_at,
                          started_at, worker, token, parent_id, root_id, depth, fan_out_id, nth, lane, payload)
        values (3, 1, 1, 'running', 0, 1, 1, 1, 1, 3, 1, 2, zeroblob(16), zeroblob(16), 1, 1, 1, 1, 1, 'child', '{}');
        insert into task (id, command_id, queue_id, state, gate, priority, due, position, max_attempts, created_at,
                          parent_id, root_id, depth, fan_out_id, nth, lane, bucket)
        values (4, 1, 1, 'pending', 'after', 0, 1, 1, 3, 1, 1, 1, 1, 1, 2, 'child', 'after');
        insert into large_payload (task_id, payload) values (4, '{\"large\":true}');
        insert into task (id, command_id, queue_id, state, priority, due, position, attempt, runs, max_attempts, created_at,
                          started_at, finished_at, outcome, failure, payload)
        values (5, 1, 1, 'failed', 0, 1, 1, 1, 1, 3, 1, 2, 3, 'completed', '{\"kind\":\"children\",\"message\":\"m\"}', '{}');
        insert into task (id, command_id, queue_id, state, priority, due, position, attempt, runs, max_attempts, created_at,
                          started_at, finished_at, failure, parent_id, root_id, depth, fan_out_id, nth, lane, bucket,
                          payload)
        values (6, 1, 1, 'failed', 0, 1, 1, 1, 1, 1, 1, 2, 3, '{\"kind\":\"error\",\"message\":\"m\"}', 5, 5, 1, 5, 0,
                'child', 'failed', '{}');
        insert into attempt (task_id, run, attempt, started_at, ended_at, worker, ending, failure)
        values (6, 1, 1, 2, 3, zeroblob(16), 'failed', '{\"kind\":\"error\",\"message\":\"m\"}');
        insert into task (id, command_id, queue_id, state, gate, priority, due, position, attempt, runs, max_attempts,
                          created_at, started_at, unique_key, unique_scope, key_until, bucket, payload)
        values (7, 1, 1, 'pending', 'time', 0, 9, 1, 1, 1, 3, 1, 2, 'k', 'active', 9223372036854775807, 'backoff', '{}');
        insert into task (id, command_id, queue_id, state, gate, priority, due, position, max_attempts, created_at, bucket,
                          payload)
        values (8, 1, 1, 'pending', 'after', 0, 1, 1, 3, 1, 'after', '{}');
        insert into follow_up (task_id, root_id, needs_completed, queue_id) values (8, 1, 1, 1);
        insert into fan_out (id, task_id, root_id, depth, child_order, total, completed, failed, cancelled, held, waits)
        values (1, 1, 1, 0, 'in_order', 3, 1, 0, 0, 1, 1), (5, 5, 5, 0, 'together', 1, 0, 1, 0, 0, 0);
        insert into status (name, commands, active, changed_at) values ('busy', '[\"echo\"]', 1, 1);",
    )
    .unwrap();
}

/// Every row of every table, as far as these columns go.
fn rows(conn: &Connection, columns: &[(String, String)]) -> Vec<String> {
    let all = columns.iter().flat_map(|(table, columns)| {
        let mut statement = conn.prepare(&format!("select {columns} from {table} order by 1")).unwrap();
        let width = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            Ok((0..width).map(|at| format!("{:?}", row.get_ref(at).unwrap())).collect::<Vec<_>>().join(","))
        };
        statement.query_map((), row).unwrap().map(|row| format!("{table}: {}", row.unwrap())).collect::<Vec<_>>()
    });
    all.collect()
}

/// Every table of a file, and its columns.
fn tables(conn: &Connection) -> Vec<(String, String)> {
    let sql = "select schema.name, group_concat(info.name) from sqlite_schema as schema
        join pragma_table_info(schema.name) as info where schema.type = 'table' group by schema.name";
    let mut statement = conn.prepare(sql).unwrap();
    let tables = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    tables.map(rusqlite::Result::unwrap).collect()
}

#[tokio::test]
async fn a_file_of_the_first_version_keeps_everything_and_goes_on() {
    let folder = scratch();
    let path = folder.path().join("kinfolk.db");
    first_version(&path);
    let spy = Connection::open(&path).unwrap();
    let columns = tables(&spy);
    let before = rows(&spy, &columns);
    assert_eq!(kinfolk_sqlite::file_version(&path).unwrap(), 1);
    let clock = crate::support::HandClock::at(Timestamp::from_micros(4_102_444_800_000_000));
    let store = quick(&path, clock.clone());
    assert_eq!(rows(&spy, &columns), before);
    assert_eq!(store.check().await.unwrap(), []);
    let judge = worker(&store).await;
    clock.advance(Duration::from_secs(30));
    assert_eq!(store.recover(judge).await.unwrap().returned, 1);
    assert_eq!(store.retry_family(TaskId(6)).await.unwrap(), kinfolk_core::Retried { pending: 1, waiting: 1 });
    for expected in [vec![3, 6, 7], vec![4], vec![8]] {
        let taken = claim(&store, judge, &["echo"], 10).await;
        let mut numbers: Vec<_> = ids(&taken).into_iter().map(|id| id.0).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, expected);
        crate::support::settle(&store, &taken, kinfolk_core::Outcome::Done(None)).await;
    }
    for id in 1..=8 {
        let task = store.task(TaskId(id)).await.unwrap().unwrap();
        assert_eq!((task.state, task.steps, task.report), (kinfolk_core::State::Completed, 0, None), "task {id}");
    }
    assert_eq!(store.check().await.unwrap(), []);
}
