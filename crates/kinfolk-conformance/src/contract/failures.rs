//! Failures by cause.

use std::time::Duration;

use kinfolk_core::cause::{Cause, TREND_PARTS};
use kinfolk_core::{Failure, FailureKind, Outcome, Retry, TaskId};

use crate::world::{World, command, failed, secs};

const HOUR: Duration = Duration::from_secs(3_600);

async fn fail(w: &World, name: &str, kind: FailureKind, message: &str) -> TaskId {
    let task = w.start(w.enqueue(name).await).await;
    w.settle(&task, Outcome::Failed { failure: Failure::new(kind, message), retry: Retry::Never }).await;
    task.id
}

async fn causes(w: &World, span: Duration) -> Vec<Cause> {
    w.store.failures(span).await.unwrap().causes
}

/// Failures that differ only in numbers and names are one cause, with the last of them as a sample; the most frequent first.
pub async fn failures_that_say_the_same_are_one_cause(w: &World) {
    fail(w, "mail", FailureKind::Timeout, "ran longer than 5 s").await;
    let first = w.now();
    fail(w, "mail", FailureKind::Error, "no such host: \"a.example\"").await;
    w.advance(60).await;
    fail(w, "report", FailureKind::Error, "no such host: \"a.example\"").await;
    let sample = fail(w, "mail", FailureKind::Error, "no such host: \"b.example\"").await;
    let found = w.store.failures(HOUR).await.unwrap();
    assert_eq!((found.since, found.until, found.more), (w.now().minus(HOUR), w.now(), false));
    let cause = &found.causes[0];
    assert_eq!(
        (cause.command.clone(), cause.kind, cause.text.as_str()),
        (command("mail"), FailureKind::Error, "no such host: \"…\"")
    );
    assert_eq!((cause.tasks, cause.first_at, cause.last_at), (2, first, w.now()));
    assert_eq!((cause.sample, cause.message.as_str()), (sample, "no such host: \"b.example\""));
    assert_eq!((cause.trend.len(), cause.trend.iter().sum::<u64>()), (TREND_PARTS, 2));
    let rest: Vec<_> = found.causes[1..].iter().map(|cause| (cause.command.as_ref().to_owned(), cause.tasks)).collect();
    assert_eq!(rest, [("report".to_owned(), 1), ("mail".to_owned(), 1)], "the latest first");
}

/// Only what has failed for good, and in the span, is counted; a parent whose child failed is not: the child is.
pub async fn only_what_failed_in_the_span_is_counted(w: &World) {
    assert_eq!(causes(w, HOUR).await, []);
    let old = w.failed().await;
    w.advance(3_600).await;
    assert_eq!(causes(w, HOUR).await.len(), 1, "the beginning of the span is in it");
    w.advance(1).await;
    assert_eq!(causes(w, HOUR).await, []);
    assert_eq!(causes(w, 2 * HOUR).await[0].sample, old);
    let tried_again = w.running().await;
    w.fail(&tried_again, Retry::Policy).await;
    w.store.cancel(tried_again.id).await.unwrap();
    w.completed().await;
    let again = w.failed().await;
    w.store.retry(again).await.unwrap();
    w.store.cancel(again).await.unwrap();
    assert_eq!(causes(w, HOUR).await, []);
    let (_, kids) = w.parent_of(2).await;
    w.work(kids[0], failed(Retry::Never)).await;
    w.complete(kids[1]).await;
    let found = causes(w, secs(10)).await;
    assert_eq!(found.iter().map(|cause| (cause.tasks, cause.sample)).collect::<Vec<_>>(), [(1, kids[0])]);
}
