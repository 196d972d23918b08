//! The doctor: what it says of what holds dead rows, of tasks that nobody handles, and of a database that takes no writes.

mod common;

use std::time::{Duration, Instant};

use common::*;
use kinfolk_core::inspect::{Finding, Health};
use kinfolk_core::*;
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_postgres::{PgOptions, PgStore};

/// Far longer than anything here takes.
const SOON: Duration = Duration::from_secs(120);

async fn finding(store: &PgStore, subject: &str) -> Finding {
    let all = store.doctor().await.unwrap();
    all.iter().find(|finding| finding.subject == subject).unwrap_or_else(|| panic!("{subject}: {all:?}")).clone()
}

/// Asks the doctor until he finds this.
async fn found(store: &PgStore, subject: &str, is: impl Fn(&Finding) -> bool) -> Finding {
    let begun = Instant::now();
    loop {
        let finding = finding(store, subject).await;
        if is(&finding) {
            return finding;
        }
        assert!(begun.elapsed() < SOON, "{finding:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_doctor_names_who_holds_the_horizon_and_nobody_when_nobody_does() {
    let (database, store) = fresh().await;
    found(&store, "horizon", |horizon| horizon.found == "held by nobody" && horizon.health == Health::Good).await;
    // One that has written and sits idle in its transaction has no snapshot, and holds the horizon all the same.
    let mut client = database.client().await;
    let open = client.transaction().await.unwrap();
    open.execute("select pg_current_xact_id()", &[]).await.unwrap();
    let pid: i32 = open.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let words = format!("held by process {pid} of ");
    found(&store, "horizon", |horizon| horizon.found.starts_with(&words)).await;
    open.rollback().await.unwrap();
    found(&store, "horizon", |horizon| horizon.found == "held by nobody").await;
}

/// Begins this many transactions, by their numbers.
async fn pass_transactions(database: &TestDatabase, many: usize) {
    let pass = format!(
        "create table if not exists public.passed (n integer); do $$ begin for n in 1..{many} loop
            begin insert into public.passed values (n); exception when division_by_zero then null; end;
        end loop; end $$"
    );
    database.run(&pass).await;
}

#[tokio::test]
async fn the_doctor_warns_of_a_snapshot_that_a_busy_queue_has_left_behind() {
    let (database, store) = fresh().await;
    let client = database.client().await;
    client
        .batch_execute("set application_name = 'report'; begin isolation level repeatable read; select 1 from pg_class")
        .await
        .unwrap();
    let pid: i32 = client.query_one("select pg_backend_pid()", &[]).await.unwrap().get(0);
    let is_held = |horizon: &Finding| horizon.found.starts_with(&format!("held by process {pid} of "));
    assert_eq!(found(&store, "horizon", is_held).await.health, Health::Good, "it has only begun");
    pass_transactions(&database, 20_100).await;
    let horizon = found(&store, "horizon", is_held).await;
    assert_eq!(horizon.health, Health::Warning, "{horizon:?}");
    for words in ["application report", "idle in transaction", "in a transaction for ", "its last statement began "] {
        assert!(horizon.found.contains(words), "{words}: {horizon:?}");
    }
    assert!(horizon.remedy.contains(&format!("pg_terminate_backend({pid})")), "{horizon:?}");
    client.batch_execute("rollback").await.unwrap();
    found(&store, "horizon", |horizon| horizon.found == "held by nobody" && horizon.health == Health::Good).await;
}

#[tokio::test]
async fn the_doctor_warns_of_a_prepared_transaction_that_was_forgotten() {
    let (database, store) = fresh().await;
    let client = database.client().await;
    let name = format!("forgotten in {}", database.name());
    client.batch_execute("begin; select pg_current_xact_id()").await.unwrap();
    client.batch_execute(&format!("prepare transaction '{name}'")).await.unwrap();
    pass_transactions(&database, 20_100).await;
    let horizon = finding(&store, "horizon").await;
    client.batch_execute(&format!("rollback prepared '{name}'")).await.unwrap();
    assert!(horizon.found.contains(&name) && horizon.health == Health::Warning, "{horizon:?}");
    assert!(horizon.remedy.contains(&format!("rollback prepared '{name}'")), "{horizon:?}");
}

#[tokio::test]
async fn the_doctor_tells_of_every_kind_of_task_that_nobody_handles() {
    let (database, store) = fresh().await;
    store.register(&[Command::new(command("other"))]).await.unwrap();
    assert_eq!(finding(&store, "handlers").await.health, Health::Good);
    enqueue(&store, NewTask { due: Due::After(Duration::from_secs(3_600)), ..task("other") }).await;
    assert_eq!(finding(&store, "handlers").await.health, Health::Good, "it is not due");
    enqueue(&store, NewTask { due: Due::After(Duration::from_millis(1)), ..task("work") }).await;
    let due = found(&store, "handlers", |handlers| handlers.health == Health::Warning).await;
    assert_eq!(due.found, "no live worker handles work on default");
    worker(&store).await;
    assert_eq!(finding(&store, "handlers").await.health, Health::Good);
    database.run("update kinfolk.worker set commands = '{}'").await;
    for kind in ["gate = 'open', suspect = false", "gate = 'open', suspect = true", "gate = 'limit', suspect = false"] {
        let change = format!("update kinfolk.task set due = now(), {kind} where due < now() + interval '1 minute'");
        database.run(&change).await;
        assert_eq!(finding(&store, "handlers").await.found, "no live worker handles work on default", "{kind}");
    }
}

#[tokio::test]
async fn the_doctor_tells_of_a_database_that_takes_no_writes() {
    let (database, store) = fresh().await;
    assert_eq!(finding(&store, "writes").await.health, Health::Good);
    database.run(&format!("alter database {} set default_transaction_read_only = on", database.name())).await;
    let read_only = PgStore::connect(&database.url, PgOptions::default()).await.unwrap();
    let writes = finding(&read_only, "writes").await;
    assert!(writes.health == Health::Bad && !writes.remedy.is_empty(), "{writes:?}");
}

#[tokio::test]
async fn the_doctor_asks_the_functions_of_modules_and_tells_of_those_that_fail() {
    let (database, store) = fresh().await;
    let finder = |name: &str, options: &str, says: &str| {
        format!(
            "create function shop.{name}() returns table (subject text, health text, found text, remedy text) {options}
                language plpgsql as $$ begin return query {says}; end $$"
        )
    };
    let safe = "stable security definer set search_path = pg_catalog, pg_temp";
    database.run("create schema shop; grant usage on schema shop to kinfolk_owner").await;
    database.run(&finder("orders", safe, "select 'orders', 'bad', '3 are stuck', 'look at them'")).await;
    database.run(&finder("broken", safe, "select 'x', 'good', (1 / 0)::text, ''")).await;
    database
        .run(&finder("wild", "volatile security definer set search_path = pg_catalog", "select 'x', 'x', 'x', 'x'"))
        .await;
    database.run(&finder("borrower", "stable", "select 'x', 'x', 'x', 'x'")).await;
    database.run(&finder("hidden", safe, "select 'x', 'x', 'x', 'x'")).await;
    database.run("revoke execute on function shop.hidden() from public").await;
    for (name, why) in [
        ("shop.wild", "not stable"),
        ("shop.borrower", "not security definer"),
        ("shop.hidden", "may not call it"),
        ("shop.nothing", "no such function"),
        ("pg_catalog.now", "does not return"),
        ("shop.orders(); drop table kinfolk.task; --", "no such function"),
        ("orders", "no such function"),
    ] {
        let sql = format!("select kinfolk.put_finder('{name}')");
        let fault = database.try_run(&sql).await.unwrap_err().to_string();
        assert!(fault.contains(why), "{name}: {fault}");
    }
    database.run("select kinfolk.put_finder('shop.orders'); select kinfolk.put_finder('shop.broken')").await;
    let orders = finding(&store, "orders").await;
    assert_eq!(
        (orders.health, orders.found.as_str(), orders.remedy.as_str()),
        (Health::Bad, "3 are stuck", "look at them")
    );
    assert!(finding(&store, "shop.broken").await.found.contains("division by zero"));
    database.run("drop function shop.broken()").await;
    assert!(finding(&store, "shop.broken").await.remedy.contains("kinfolk.remove_finder('shop.broken')"));
    database.run("select kinfolk.remove_finder('shop.broken')").await;
    assert!(!store.doctor().await.unwrap().iter().any(|finding| finding.subject == "shop.broken"));
}
