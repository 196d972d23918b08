//! The error log.

use kinfolk_core::error_log::ErrorFilter;
use kinfolk_core::limits::{ERRORS_KEPT, PAGE_MAX};
use kinfolk_core::{Failure, FailureKind, Outcome, Retry, State, TaskId};

use crate::world::{World, command, failure, json, secs};

/// The entries that are there, newest first: whose, which attempt, and what.
async fn log(w: &World) -> Vec<(TaskId, u16, Failure)> {
    let entries = w.store.errors(&ErrorFilter::newest(PAGE_MAX)).await.unwrap();
    assert!(entries.iter().all(|entry| entry.command == command("mail") && entry.handler.is_none()), "{entries:?}");
    entries.into_iter().map(|entry| (entry.task, entry.attempt, entry.failure)).collect()
}

/// Every attempt that fails is logged with what went wrong, also one that is tried again or that succeeds later.
pub async fn every_attempt_that_fails_is_logged(w: &World) {
    let worker = w.worker().await;
    let id = w.enqueue("mail").await;
    let detail = Failure::new(FailureKind::Timeout, "too slow").detail(json(r#"{"sqlstate":"57014"}"#));
    let retry = Retry::After(secs(0));
    w.settle(&w.take(worker).await, Outcome::Failed { failure: detail.clone(), retry }).await;
    w.advance(1).await;
    w.settle(&w.take(worker).await, Outcome::Failed { failure: failure(), retry }).await;
    w.done(&w.take(worker).await).await;
    assert_eq!(w.state(id).await, State::Completed);
    assert_eq!(log(w).await, [(id, 2, failure()), (id, 1, detail)]);
    let entries = w.store.errors(&ErrorFilter::newest(2)).await.unwrap();
    assert_eq!((entries[0].at, entries[0].at.since(entries[1].at)), (w.now(), secs(1)));
    assert_eq!(entries[1].told("sqlstate").as_deref(), Some("57014"));
}

/// What ends otherwise than by a failure of its own is not logged: a snooze, a release, an end that was asked for.
pub async fn only_failures_are_logged(w: &World) {
    let task = w.running().await;
    w.settle(&task, Outcome::Snooze(secs(0))).await;
    let worker = w.worker().await;
    w.settle(&w.take(worker).await, Outcome::Release).await;
    let task = w.take(worker).await;
    w.store.cancel(task.id).await.unwrap();
    w.fail(&task, Retry::Policy).await;
    assert_eq!(w.state(task.id).await, State::Cancelled);
    assert_eq!(log(w).await, []);
}

/// A settle that is stale or repeated logs nothing more.
pub async fn a_repeated_settle_logs_nothing(w: &World) {
    let task = w.running().await;
    w.fail(&task, Retry::Never).await;
    w.fail(&task, Retry::Never).await;
    assert_eq!(log(w).await.len(), 1);
}

/// The log is shown newest first, in pages that follow each other.
pub async fn the_log_is_newest_first_in_pages(w: &World) {
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.insert(0, w.failed().await);
    }
    let filter = ErrorFilter::newest(3);
    let first = w.store.errors(&filter).await.unwrap();
    let rest = w.store.errors(&ErrorFilter { before: first.last().map(|entry| entry.id), ..filter }).await.unwrap();
    assert_eq!((first.len(), rest.len()), (3, 2));
    let all: Vec<_> = first.iter().chain(&rest).collect();
    assert_eq!(all.iter().map(|entry| entry.task).collect::<Vec<_>>(), tasks);
    assert!(all.windows(2).all(|pair| pair[0].id > pair[1].id), "{all:?}");
}

/// Entries are found by task, command and queue, alone and together, in pages; where nothing is meant, nothing is found.
pub async fn entries_are_found_by_task_command_and_queue(w: &World) {
    let worker = w.worker().await;
    let retry = || Outcome::Failed { failure: failure(), retry: Retry::After(secs(0)) };
    let id = w.enqueue("mail").await;
    w.settle(&w.take(worker).await, retry()).await;
    w.settle(&w.take(worker).await, retry()).await;
    w.fail(&w.take(worker).await, Retry::Never).await;
    let other = w.failed().await;
    let (mail, queue) = (command("mail"), w.store.task(id).await.unwrap().unwrap().queue);
    let found = async |filter: ErrorFilter| -> Vec<(TaskId, u16)> {
        let entries = w.store.errors(&filter).await.unwrap();
        entries.into_iter().map(|entry| (entry.task, entry.attempt)).collect()
    };
    let all = ErrorFilter::newest(9);
    let of_one = [(id, 3), (id, 2), (id, 1)];
    let every = [(other, 1), (id, 3), (id, 2), (id, 1)];
    assert_eq!(found(ErrorFilter { task: Some(id), ..all.clone() }).await, of_one);
    let by_command = ErrorFilter { command: Some(mail.clone()), ..all.clone() };
    let by_queue = ErrorFilter { queue: Some(queue.clone()), ..all.clone() };
    let by_both = ErrorFilter { command: Some(mail), queue: Some(queue), ..all.clone() };
    for filter in [by_command, by_queue, by_both] {
        assert_eq!(found(filter.clone()).await, every, "{filter:?}");
        let first = w.store.errors(&ErrorFilter { limit: 1, ..filter.clone() }).await.unwrap();
        let rest = ErrorFilter { before: first.last().map(|entry| entry.id), limit: 2, ..filter.clone() };
        assert_eq!((first[0].task, found(rest).await), (other, of_one[..2].to_vec()), "{filter:?}");
        assert_eq!(found(ErrorFilter { task: Some(other), ..filter }).await, [(other, 1)]);
    }
    assert_eq!(found(ErrorFilter { task: Some(TaskId(i64::MAX)), ..all.clone() }).await, []);
    assert_eq!(found(ErrorFilter { command: Some(command("nobody")), ..all.clone() }).await, []);
    assert_eq!(found(ErrorFilter { queue: Some("nowhere".parse().unwrap()), ..all }).await, []);
}

/// Entries outlive their tasks, and go with a prune when they are past their time; the others stay.
pub async fn entries_outlive_their_tasks_and_go_by_age(w: &World) {
    let old = w.failed().await;
    w.advance(60).await;
    let young = w.failed().await;
    w.advance(ERRORS_KEPT.as_secs() - 61).await;
    w.store.prune().await.unwrap();
    assert_eq!(w.store.task(old).await.unwrap(), None);
    assert_eq!(log(w).await.iter().map(|(task, ..)| *task).collect::<Vec<_>>(), [young, old]);
    w.advance(1).await;
    w.store.prune().await.unwrap();
    assert_eq!(log(w).await.iter().map(|(task, ..)| *task).collect::<Vec<_>>(), [young]);
}
