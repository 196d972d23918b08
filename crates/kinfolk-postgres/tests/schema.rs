//! The schema: built new or migrated it is the same, one migrator at a time, and nobody has rights he was not given.

mod common;

use common::*;
use kinfolk_core::*;
use kinfolk_postgres::testing::{NEXT_VERSION, TestDatabase, VERSION, schema_dump, with_next_version};
use kinfolk_postgres::{PgOptions, PgStore};

async fn empty() -> (TestDatabase, PgStore) {
    let database = TestDatabase::create_empty().await;
    let store = database.store().await;
    (database, store)
}

async fn rows(database: &TestDatabase, sql: &str) -> Vec<String> {
    database.texts(sql).await
}

#[tokio::test]
async fn a_migrated_schema_equals_a_new_one() {
    let (_new_database, new) = empty().await;
    let new = with_next_version(new);
    assert_eq!(new.migrate().await.unwrap(), operate::Migrated { from: 0, to: NEXT_VERSION });
    let (_old_database, old) = empty().await;
    assert_eq!(old.migrate().await.unwrap(), operate::Migrated { from: 0, to: VERSION });
    let shipped = schema_dump(&old).await.unwrap();
    let old = with_next_version(old);
    assert_eq!(old.migrate().await.unwrap(), operate::Migrated { from: VERSION, to: NEXT_VERSION });
    let (new, old) = (schema_dump(&new).await.unwrap(), schema_dump(&old).await.unwrap());
    assert_ne!(shipped, old, "the step has changed nothing");
    assert!(new.len() > 200, "the dump holds columns, indexes and functions");
    for (new, old) in new.iter().zip(&old) {
        assert_eq!(new, old);
    }
    assert_eq!(new.len(), old.len());
}

#[tokio::test]
async fn before_the_migration_every_verb_says_what_is_missing() {
    let (_database, store) = empty().await;
    let fault = store.task(TaskId(1)).await.unwrap_err();
    assert!(matches!(fault, StoreError::SchemaMissing { .. }), "{fault}");
    assert!(fault.to_string().contains("kinfolk migrate"));
    let pending = store.pending_migrations().await.unwrap();
    assert!(pending.iter().any(|step| step.sql.contains("create table kinfolk.task")));
    store.migrate().await.unwrap();
    assert_eq!(store.task(TaskId(1)).await.unwrap(), None);
    assert_eq!(store.pending_migrations().await.unwrap(), []);
    assert_eq!(store.migrate().await.unwrap(), operate::Migrated { from: VERSION, to: VERSION });
}

#[tokio::test]
async fn what_a_dry_run_prints_is_what_a_migration_does() {
    let (database, store) = empty().await;
    let sql: Vec<String> = store.pending_migrations().await.unwrap().into_iter().map(|step| step.sql).collect();
    database.run(&format!("begin; {}; commit", sql.join("\n"))).await;
    let (_other, migrated) = empty().await;
    migrated.migrate().await.unwrap();
    assert_eq!(schema_dump(&store).await.unwrap(), schema_dump(&migrated).await.unwrap());
}

#[tokio::test]
async fn a_schema_too_new_or_too_old_is_named() {
    let (_database, store) = fresh().await;
    let store = with_next_version(store);
    let fault = store.queues().await.unwrap_err();
    assert!(matches!(fault, StoreError::SchemaTooOld { found: VERSION, needed: NEXT_VERSION }), "{fault}");
    store.migrate().await.unwrap();
    assert_eq!(store.queues().await.unwrap().len(), 1);
    let database = TestDatabase::create().await;
    database.run("insert into kinfolk.migration (version, name) values (99, 'from the future')").await;
    let store = database.store().await;
    let fault = store.queues().await.unwrap_err();
    assert!(matches!(fault, StoreError::SchemaTooNew { found: 99, known: VERSION }), "{fault}");
    assert!(matches!(store.migrate().await.unwrap_err(), StoreError::SchemaTooNew { .. }));
    assert!(matches!(store.pending_migrations().await.unwrap_err(), StoreError::SchemaTooNew { .. }));
}

#[tokio::test]
async fn a_schema_from_before_the_first_release_is_left_as_it_was() {
    let (database, store) = fresh().await;
    database.run("insert into kinfolk.migration (version, name) values (2, 'who migrated'), (3, 'what spoiled')").await;
    database.run("alter table kinfolk.task rename column due to due_at").await;
    let before = schema_dump(&store).await.unwrap();
    for fault in [store.migrate().await.unwrap_err(), store.pending_migrations().await.unwrap_err()] {
        assert!(matches!(fault, StoreError::SchemaTooNew { found: 3, known: VERSION }), "{fault}");
        assert!(fault.to_string().contains("make the database anew"), "{fault}");
    }
    database.run("delete from kinfolk.migration").await;
    let fault = store.migrate().await.unwrap_err();
    assert!(matches!(fault, StoreError::SchemaBroken { .. }), "{fault}");
    assert_eq!(schema_dump(&store).await.unwrap(), before);
}

#[tokio::test]
async fn of_migrators_at_once_one_wins_and_the_others_are_told_or_find_it_done() {
    let (database, first) = empty().await;
    let second = database.store().await;
    let third = database.store().await;
    let (a, b, c) = tokio::join!(first.migrate(), second.migrate(), third.migrate());
    let mut made = 0;
    for answer in [a, b, c] {
        match answer {
            Ok(operate::Migrated { from: 0, to: VERSION }) => made += 1,
            Ok(operate::Migrated { from: VERSION, to: VERSION }) | Err(StoreError::Busy { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(made, 1);
    assert_eq!(first.queues().await.unwrap(), []);
}

#[tokio::test]
async fn a_migration_behind_a_transaction_that_stays_open_gives_up_and_leaves_all_as_it_was() {
    let (database, store) = fresh().await;
    let store = with_next_version(store);
    let before = schema_dump(&store).await.unwrap();
    let other = database.client().await;
    other.batch_execute("begin; lock table kinfolk.migration in access share mode").await.unwrap();
    let fault = store.migrate().await.unwrap_err();
    assert!(matches!(fault, StoreError::Busy { .. }), "{fault:?}");
    assert_eq!(rows(&database, "select kinfolk.schema_version()::text").await, ["1"]);
    assert_eq!(schema_dump(&store).await.unwrap(), before);
    other.batch_execute("commit").await.unwrap();
    assert_eq!(store.migrate().await.unwrap(), operate::Migrated { from: VERSION, to: NEXT_VERSION });
}

#[tokio::test]
async fn a_migration_that_fails_leaves_nothing_behind() {
    let (database, store) = empty().await;
    database.run("create schema kinfolk; create table kinfolk.task (mine text)").await;
    assert!(store.migrate().await.is_err());
    assert_eq!(
        rows(&database, "select relname::text from pg_class where relnamespace = 'kinfolk'::regnamespace").await,
        ["task"]
    );
}

#[tokio::test]
async fn every_definer_function_has_a_fixed_path_and_nothing_is_public() {
    let (database, _store) = fresh().await;
    let loose = "select p.proname::text from pg_proc p where p.pronamespace = 'kinfolk'::regnamespace and p.prosecdef
        and not coalesce(p.proconfig, '{}') @> array['search_path=pg_catalog, pg_temp']";
    assert_eq!(rows(&database, loose).await, Vec::<String>::new());
    let public = "select p.proname::text from pg_proc p where p.pronamespace = 'kinfolk'::regnamespace
        and (p.proacl is null or exists (select from aclexplode(p.proacl) a where a.grantee = 0))";
    assert_eq!(rows(&database, public).await, Vec::<String>::new());
    let tables = "select c.relname || ' to ' || a.grantee::regrole from pg_class c, aclexplode(c.relacl) a
        where c.relnamespace = 'kinfolk'::regnamespace and a.grantee <> c.relowner and c.relkind <> 'v'";
    assert_eq!(rows(&database, tables).await, Vec::<String>::new());
    let owners =
        "select distinct r.rolname || ' ' || r.rolcanlogin from pg_class c join pg_roles r on r.oid = c.relowner
        where c.relnamespace = 'kinfolk'::regnamespace";
    assert_eq!(rows(&database, owners).await, ["kinfolk_owner false"]);
}

#[tokio::test]
async fn a_role_may_do_its_verbs_and_nothing_else() {
    let (database, store) = fresh().await;
    let id = enqueue(&store, task("work")).await;
    let may = |role: &str, sql: &str| {
        let sql = format!("begin; set local role {role}; {sql}; rollback");
        let database = &database;
        async move { database.try_run(&sql).await }
    };
    may("kinfolk_producer", "select kinfolk.enqueue('work')").await.unwrap();
    may("kinfolk_worker", "select kinfolk.enqueue('work'); select kinfolk.prune()").await.unwrap();
    may("kinfolk_viewer", "select * from kinfolk.tasks; select * from kinfolk.doctor(now())").await.unwrap();
    may("kinfolk_operator", &format!("select kinfolk.cancel({id})")).await.unwrap();
    for (role, sql) in [
        ("kinfolk_producer", "select kinfolk.prune()"),
        ("kinfolk_producer", "select * from kinfolk.tasks"),
        ("kinfolk_viewer", "select kinfolk.enqueue('work')"),
        ("kinfolk_worker", "select * from kinfolk.task"),
        ("kinfolk_worker", "select kinfolk.cancel(1)"),
        ("kinfolk_operator", "delete from kinfolk.task"),
        ("kinfolk_viewer", "select kinfolk.refuse('KF001', 'no')"),
    ] {
        let fault = may(role, sql).await.unwrap_err();
        assert!(matches!(fault, StoreError::Forbidden { .. }), "{role}: {sql}: {fault}");
    }
}

#[tokio::test]
async fn a_database_that_takes_no_writes_says_so() {
    let (database, store) = fresh().await;
    database.run(&format!("alter database {} set default_transaction_read_only = on", database.name())).await;
    let read_only = PgStore::connect(&database.url, PgOptions::default()).await.unwrap();
    let fault = read_only.enqueue(&[task("work")]).await.unwrap_err();
    assert!(matches!(fault, StoreError::ReadOnly { .. }), "{fault}");
    assert_eq!(read_only.queues().await.unwrap(), store.queues().await.unwrap());
}

#[tokio::test]
async fn a_database_that_is_not_there_is_unavailable() {
    let fault = PgStore::connect("postgres://postgres@127.0.0.1:1/none", PgOptions::default()).await.err().unwrap();
    assert!(matches!(fault, StoreError::Unavailable { .. }), "{fault}");
}

#[tokio::test]
async fn a_schema_that_someone_else_made_is_not_moved_into() {
    let (database, store) = empty().await;
    database.run("create schema kinfolk").await;
    let fault = store.migrate().await.unwrap_err();
    assert!(matches!(fault, StoreError::Foreign { .. }), "{fault}");
    assert!(fault.to_string().contains("not to kinfolk_owner"), "{fault}");
    database.run("drop schema kinfolk").await;
    store.migrate().await.unwrap();
}
