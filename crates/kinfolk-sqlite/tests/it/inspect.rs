//! Looking: what check and doctor say, and what a look never does.

use std::time::Duration;

use kinfolk_core::inspect::{Filter, Health};
use kinfolk_core::{Inspect, Outcome, State};
use rusqlite::Connection;

use crate::support::{Place, claim, enqueue, register, settle, task, worker};

#[tokio::test]
async fn check_names_what_someone_broke_by_hand() {
    let place = Place::new();
    register(&place.store, &["echo"]).await;
    let worker = worker(&place.store).await;
    let made = enqueue(&place.store, &[task("echo"), task("echo"), task("echo"), task("echo")]).await;
    let taken = claim(&place.store, worker, &["echo"], 2).await;
    settle(&place.store, &claim(&place.store, worker, &["echo"], 1).await, Outcome::Done(None)).await;
    assert_eq!(place.store.check().await.unwrap(), []);
    let breaks: &[(&str, &str)] = &[
        ("update task set token = null where state = 'running'", "registered worker"),
        ("delete from worker", "registered worker"),
        ("update task set failure = '{}' where state = 'completed'", "no failure"),
        ("update task set attempt = max_attempts + 1 where state = 'running'", "more attempts"),
        ("update task set suspect = 1 where state = 'running'", "one suspect"),
        ("update task set unique_key = 'k', unique_scope = 'active', key_until = 9e18", "holds a key"),
        ("update task set due = 9e18 where state = 'pending'", "due"),
        ("update task set payload = null", "one payload"),
        ("update store set last_task = 0", "store's row"),
        (
            "pragma foreign_keys = off; insert into attempt values (99, 1, 1, 0, 0, x'00', 'failed', null)",
            "without its task",
        ),
        ("insert into attempt select id, 7, 1, 0, 0, x'00', 'failed', null from task", "ended attempts"),
        ("pragma ignore_check_constraints = on; update task set gate = null where state = 'pending'", "a gate"),
        (
            "pragma ignore_check_constraints = on; update task set finished_at = null where state = 'completed'",
            "has ended",
        ),
        (
            "pragma ignore_check_constraints = on; update task set state = 'pending' where state = 'running'",
            "does not run",
        ),
    ];
    let path = place.path();
    for (sql, words) in breaks {
        let copy = place.folder.path().join("broken.db");
        Connection::open(&path).unwrap().execute("vacuum into ?1", [copy.to_str().unwrap()]).unwrap();
        Connection::open(&copy).unwrap().execute_batch(sql).unwrap();
        let broken = crate::support::quick(&copy, place.clock.clone());
        let found = broken.check().await.unwrap();
        assert!(found.iter().any(|found| found.invariant.contains(words)), "{sql}: {found:#?}");
        drop(broken);
        std::fs::remove_file(&copy).unwrap();
    }
    assert_eq!(made.len(), taken.tasks.len() + 2);
}

#[tokio::test]
async fn doctor_tells_of_lost_workers_and_of_tasks_that_nobody_handles() {
    let place = Place::new();
    register(&place.store, &["echo", "lonely"]).await;
    let findings = place.store.doctor().await.unwrap();
    let health = |subject: &str, findings: &[kinfolk_core::inspect::Finding]| {
        findings.iter().find(|finding| finding.subject == subject).unwrap().clone()
    };
    assert_eq!(health("workers", &findings).health, Health::Good);
    assert_eq!(health("handlers", &findings).health, Health::Good);
    worker(&place.store).await;
    enqueue(&place.store, &[task("lonely")]).await;
    place.clock.advance(Duration::from_secs(31));
    let findings = place.store.doctor().await.unwrap();
    assert_eq!(health("workers", &findings).health, Health::Warning);
    assert!(health("handlers", &findings).found.contains("1 of lonely on default"));
    place.clock.set(kinfolk_core::Timestamp::from_micros(0));
    let clock = health("clock", &place.store.doctor().await.unwrap());
    assert!(clock.health == Health::Warning && clock.found.contains("behind"), "{clock:?}");
}

#[tokio::test]
async fn a_listing_goes_page_by_page_from_the_newest_down() {
    let place = Place::new();
    register(&place.store, &["echo"]).await;
    let mut made = enqueue(&place.store, &[task("echo"), task("echo"), task("echo")]).await;
    made.reverse();
    let mut filter = Filter { states: vec![State::Pending], limit: 2, ..Filter::default() };
    let first = place.store.list(&filter).await.unwrap();
    filter.before = first.next;
    let second = place.store.list(&filter).await.unwrap();
    let listed: Vec<_> = first.tasks.iter().chain(&second.tasks).map(|task| task.id).collect();
    assert_eq!(listed, made);
    assert_eq!(second.next, None);
}
