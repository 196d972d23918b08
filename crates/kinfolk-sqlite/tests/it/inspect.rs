//! Looking: what check and doctor say, and what a look never does.

use std::time::Duration;

use kinfolk_core::durable::{Key, NewFanOut, Rule, Suspend};
use kinfolk_core::inspect::{Filter, Health};
use kinfolk_core::{
    ChildOrder, Clock, FollowUp, Inspect, Made, Operate, Outcome, Policy, Settle, SignalName, State, When, Work,
};
use rusqlite::Connection;

use crate::support::{Lab, claim, enqueue, queue, register, settle, task, worker};

#[tokio::test]
async fn check_names_what_someone_broke_by_hand() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let worker = worker(&lab.store).await;
    let made = enqueue(&lab.store, &[task("echo"), task("echo"), task("echo"), task("echo")]).await;
    let taken = claim(&lab.store, worker, &["echo"], 2).await;
    settle(&lab.store, &claim(&lab.store, worker, &["echo"], 1).await, Outcome::Done(None)).await;
    assert_eq!(lab.store.check().await.unwrap(), []);
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
            "pragma foreign_keys = off; insert into attempt values (99, 1, 1, 0, 0, x'00', 'failed', null, null, null, null)",
            "without its task",
        ),
        (
            "insert into attempt select id, 7, 1, 0, 0, x'00', 'failed', null, null, null, null from task",
            "ended attempts",
        ),
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
    broken_by(&lab, breaks).await;
    assert_eq!(made.len(), taken.tasks.len() + 2);
}

#[tokio::test]
async fn check_names_what_someone_broke_in_a_family() {
    let lab = Lab::new();
    let store = &lab.store;
    register(store, &["echo"]).await;
    let limits = Policy { family_limit: Some(2), child_limit: Some(2), ..Policy::default() };
    store.set_queue(&queue(), &limits).await.unwrap();
    let worker = worker(store).await;
    enqueue(store, &[task("echo"), task("echo")]).await;
    let roots = claim(store, worker, &["echo"], 2).await;
    let follow_up = FollowUp { task: task("echo"), when: When::Settled };
    for (root, order) in roots.tasks.iter().zip([ChildOrder::Together, ChildOrder::InOrder]) {
        let made =
            Made { children: vec![task("echo"); 3], order, follow_ups: vec![follow_up.clone()], ..Made::default() };
        let settle = Settle::new(root.id, root.token, Outcome::Done(None));
        store.settle(&[Settle { made: Some(Box::new(made)), ..settle }]).await.unwrap();
    }
    settle(store, &claim(store, worker, &["echo"], 1).await, Outcome::Done(None)).await;
    assert_eq!(claim(store, worker, &["echo"], 10).await.tasks.len(), 2);
    assert_eq!(store.check().await.unwrap(), []);
    broken_by(
        &lab,
        &[
            ("update fan_out set completed = completed + 1 where child_order = 'together'", "counts its children"),
            ("update fan_out set held = held - 1 where held > 0", "counts its children"),
            ("update fan_out set waits = 0", "has an open one"),
            ("update fan_out set task_id = 99", "has a waiting task"),
            ("update task set state = 'completed', finished_at = 9, bucket = null where state = 'waiting'", "outlives"),
            ("update task set depth = 7 where parent_id is not null", "fits its parent"),
            ("update task set root_id = 99 where parent_id is not null", "fits its parent"),
            ("update task set nth = 5 where parent_id is null", "nobody's child"),
            ("update task set outcome = null where state = 'waiting'", "waits for something"),
            ("update task set bucket = null where state = 'waiting'", "bucket it belongs"),
            ("update task set child_slot = 1 where state = 'waiting'", "takes a child slot"),
            ("update task set state = 'completed', finished_at = 9 where lane = 'root'", "not at work"),
            (
                "update task set state = 'cancelled', gate = null, finished_at = 9, failure = '{}', bucket = 'cancelled'
              where fan_out_id in (select id from fan_out where child_order = 'in_order') and gate is not 'after';
              update task set state = 'cancelled', finished_at = 9, failure = '{}', bucket = 'cancelled', worker = null,
              child_slot = 0 where fan_out_id in (select id from fan_out where child_order = 'in_order') and gate is null;
              update fan_out set cancelled = 1 where child_order = 'in_order'",
                "one that is open",
            ),
            ("delete from follow_up", "waits for a family"),
            ("update follow_up set task_id = 1", "waits for a family"),
            ("update task set gate = 'limit', bucket = 'limit' where gate is not null", "let in has a root outside"),
        ],
    )
    .await;
}

#[tokio::test]
async fn check_names_what_someone_broke_in_a_durable_task() {
    let lab = Lab::new();
    let store = &lab.store;
    register(store, &["flow", "echo"]).await;
    let worker = worker(store).await;
    enqueue(store, &[task("flow"), task("flow")]).await;
    let flows = claim(store, worker, &["flow"], 2).await;
    let key = Key { branch: String::new(), name: "items".to_owned(), occurrence: 0 };
    let (children, rule) = (vec![task("echo"); 2], Rule::CollectAll);
    let fan_out = NewFanOut {
        key,
        digest: String::new(),
        children: children.into(),
        rule,
        timeout: None,
        cancel_on_failure: false,
        wake_at: 2,
    };
    let (first, second) = (&flows.tasks[0], &flows.tasks[1]);
    let awaits = Suspend { fan_outs: vec![fan_out], ..Suspend::new(first.id, first.token) };
    let until = Some(lab.clock.now().plus(Duration::from_secs(60)));
    let signals = vec![SignalName::new("done").unwrap()];
    let sleeps = Suspend { until, signals, ..Suspend::new(second.id, second.token) };
    store.suspend(&[awaits, sleeps]).await.unwrap();
    settle(store, &claim(store, worker, &["echo"], 1).await, Outcome::Done(None)).await;
    assert_eq!(store.check().await.unwrap(), []);
    broken_by(
        &lab,
        &[
            ("update fan_out set wake_at = null", "waits for something"),
            ("update fan_out set wake_at = 1", "waits for something"),
            ("insert into signal (task_id, name, value) values (2, 'done', '1')", "waits for something"),
            ("update task set gate = 'open', state = 'pending', bucket = null where id = 1", "only a suspended task"),
            ("update task set signals = '[]' where id = 4", "only a suspended task"),
            ("update fan_out set verdict = 'failed'", "decided once"),
            ("update fan_out set rule = null", "decided once"),
            ("delete from ended_page", "has its place"),
            ("insert into ended_page values (99, 0, x'00000000')", "has its place"),
            ("update task set steps = 5", "counts its checkpoints"),
            ("delete from checkpoint", "counts its checkpoints"),
            ("update task set was_suspended = 0", "never suspended"),
            ("update task set bucket = 'waiting' where bucket = 'asleep'", "bucket it belongs"),
            (
                "pragma ignore_check_constraints = on; update task set gate = 'limit' where bucket = 'asleep'",
                "only a sleeping one",
            ),
        ],
    )
    .await;
}

/// Breaks copies of a file, each in one way, and looks that `check` says so.
async fn broken_by(lab: &Lab, breaks: &[(&str, &str)]) {
    for (sql, words) in breaks {
        let copy = lab.folder.path().join("broken.db");
        Connection::open(lab.path()).unwrap().execute("vacuum into ?1", [copy.to_str().unwrap()]).unwrap();
        Connection::open(&copy).unwrap().execute_batch(sql).unwrap();
        let broken = crate::support::quick(&copy, lab.clock.clone());
        let found = broken.check().await.unwrap();
        assert!(found.iter().any(|found| found.invariant.contains(words)), "{sql}: {found:#?}");
        drop(broken);
        std::fs::remove_file(&copy).unwrap();
    }
}

#[tokio::test]
async fn doctor_tells_of_lost_workers_and_of_tasks_that_nobody_handles() {
    let lab = Lab::new();
    register(&lab.store, &["echo", "lonely"]).await;
    let findings = lab.store.doctor().await.unwrap();
    let health = |subject: &str, findings: &[kinfolk_core::inspect::Finding]| {
        findings.iter().find(|finding| finding.subject == subject).unwrap().clone()
    };
    assert_eq!(health("workers", &findings).health, Health::Good);
    assert_eq!(health("handlers", &findings).health, Health::Good);
    worker(&lab.store).await;
    enqueue(&lab.store, &[task("lonely")]).await;
    lab.clock.advance(Duration::from_secs(31));
    let findings = lab.store.doctor().await.unwrap();
    assert_eq!(health("workers", &findings).health, Health::Warning);
    assert_eq!(health("handlers", &findings).found, "no live worker handles lonely on default");
    lab.clock.set(kinfolk_core::Timestamp::from_micros(0));
    let clock = health("clock", &lab.store.doctor().await.unwrap());
    assert!(clock.health == Health::Warning && clock.found.contains("behind"), "{clock:?}");
}

#[tokio::test]
async fn a_listing_goes_page_by_page_from_the_newest_down() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let mut made = enqueue(&lab.store, &[task("echo"), task("echo"), task("echo")]).await;
    made.reverse();
    let mut filter = Filter { state: vec![State::Pending], limit: 2, ..Filter::default() };
    let first = lab.store.list(&filter).await.unwrap();
    filter.before = first.next;
    let second = lab.store.list(&filter).await.unwrap();
    let listed: Vec<_> = first.tasks.iter().chain(&second.tasks).map(|task| task.id).collect();
    assert_eq!(listed, made);
    assert_eq!(second.next, None);
}
