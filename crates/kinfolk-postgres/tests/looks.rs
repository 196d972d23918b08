//! What pages and listings ask for, where only PostgreSQL's own eyes see: how many pages of the database an answer touches.

mod common;

use std::time::Duration;

use common::*;
use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX};
use kinfolk_core::operate::Action;
use kinfolk_core::*;
use kinfolk_postgres::PgStore;

/// More tasks of each sort than any look goes through.
const MANY: usize = LOOK_MAX + 2_000;

/// What the pages and listings ask of a store that is full of tasks.
const CALLS: &[&str] = &[
    "select * from kinfolk.count_tasks()",
    "select * from kinfolk.stats()",
    "select * from kinfolk.pending_facts()",
    "select * from kinfolk.keys(blocking => true)",
    "select * from kinfolk.failed_tasks('-infinity', 10001)",
    r#"select * from kinfolk.count_matching('{"state": ["pending"]}')"#,
    r#"select * from kinfolk.count_matching('{"state": ["cancelled"], "finished_after": "2020-01-01T00:00:00Z"}')"#,
    r#"select * from kinfolk.count_matching('{"command": "work"}')"#,
    r#"select * from kinfolk.count_matching('{"payload": {"path": ["n"], "value": 1}}')"#,
    r#"select * from kinfolk.list_tasks('{"state": ["pending"], "limit": 50}')"#,
    r#"select * from kinfolk.list_tasks('{"payload": {"path": ["n"], "value": 1}, "limit": 50}')"#,
];

/// Adds so many tasks that were cancelled, that are not due, and that are ready.
async fn fill(store: &PgStore, many: usize) {
    let later = NewTask { due: Due::After(Duration::from_secs(3_600)), ..task("work") };
    store.enqueue(&vec![task("work"); many]).await.unwrap();
    let mut filter = Filter { state: vec![State::Pending], order: Order::Oldest, limit: PAGE_MAX, ..Filter::default() };
    while let Some(next) = store.bulk(Action::Cancel, &filter).await.unwrap().next {
        filter.after = Some(next);
    }
    for sort in [task("work"), later] {
        store.enqueue(&vec![sort; many]).await.unwrap();
    }
}

#[tokio::test]
async fn what_pages_ask_for_costs_the_same_however_many_tasks_there_are() {
    let (database, store) = fresh().await;
    for _ in 0..2 {
        fill(&store, MANY / 2).await;
    }
    let mut once = Vec::new();
    for call in CALLS {
        once.push(pages_of(&database, call).await);
    }
    for _ in 0..4 {
        fill(&store, MANY / 2).await;
    }
    for (call, once) in CALLS.iter().zip(once) {
        let thrice = pages_of(&database, call).await;
        // Indexes have a level more at most; what goes through all tasks touches three times as many pages.
        assert!(2 * thrice <= 3 * once + 100, "{call}: {once} pages at first, {thrice} with three times as many tasks");
    }
}

#[tokio::test]
async fn whether_commands_are_active_costs_the_same_however_many_tasks_are_open() {
    let (database, store) = fresh().await;
    let names: Vec<CommandName> = (1..=8).map(|n| command(&format!("work{n}"))).collect();
    store.register(&names.iter().cloned().map(Command::new).collect::<Vec<_>>()).await.unwrap();
    let each: Vec<NewTask> = names.iter().map(|name| NewTask::new(name.clone(), Json::object())).collect();
    for _ in 0..5 {
        store.enqueue(&each.iter().cloned().cycle().take(10_000).collect::<Vec<_>>()).await.unwrap();
    }
    // As on a server at work: no housekeeping comes to a table of few commands or queues, so their numbers are not known.
    database.run("vacuum (analyze) kinfolk.task").await;
    for call in ["select kinfolk.is_active(array['work1', 'work2'])", "select * from kinfolk.doctor_handlers()"] {
        let pages = pages_as_it_stands(&database, call).await;
        assert!(pages < 300, "{call}: {pages} pages");
    }
}
