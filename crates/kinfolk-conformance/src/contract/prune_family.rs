//! Retention of families: whole, by the end of the root, and never a part.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{Outcome, Policy, Retention, Retry, State, StoreError};

use crate::family::{children, counts, on, these};
use crate::world::{World, failed, queue_name, secs, settle_of};

const DAY: u64 = 24 * 3_600;

fn kept_for(span: u64) -> Policy {
    Policy::keeping(Retention { completed: Some(secs(span)), failed: Some(secs(span)), cancelled: Some(secs(span)) })
}

/// A child that has long ended stays while its family has not, and its parent counts it.
pub async fn an_ended_child_stays_while_its_family_works(w: &World) {
    w.limit("default", kept_for(0)).await;
    let (root, kids) = w.parent_of(2).await;
    w.work(kids[0], failed(Retry::Never)).await;
    w.advance(365 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), 0);
    assert_eq!((w.state(kids[0]).await, w.tally(root).await), (State::Failed, counts(2, 0, 1, 0)));
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Failed);
    assert_eq!(w.store.prune().await.unwrap(), 3);
    assert_eq!(w.all().await, []);
}

/// A family goes when its root's retention has passed, by the root's queue and state; nothing is left of it.
pub async fn a_family_goes_by_its_roots_end(w: &World) {
    w.limit("bulk", kept_for(0)).await;
    let root = w.waiting(these([on("bulk"), on("bulk")])).await;
    let kids = w.kids(root).await;
    w.work(kids[0], failed(Retry::Never)).await;
    w.work(kids[1], Outcome::Done(None)).await;
    w.advance(30 * DAY - 1).await;
    assert_eq!(w.store.prune().await.unwrap(), 0, "children follow their root, not their own queue");
    w.advance(1).await;
    assert_eq!(w.store.prune().await.unwrap(), 3);
    assert_eq!(w.store.attempts(kids[0]).await.unwrap(), []);
    for id in [root, kids[0]] {
        assert_eq!(w.store.task(id).await.unwrap(), None);
        assert!(matches!(w.store.tally(id).await, Err(StoreError::NotFound { .. })));
        assert!(matches!(w.store.progress(id).await, Err(StoreError::NotFound { .. })));
    }
}

/// A family larger than a page goes over several calls, its root last.
pub async fn a_large_family_goes_over_several_calls_root_last(w: &World) {
    let many = SWEEP_PAGE + 200;
    let (root, _) = w.parent_of(many).await;
    let worker = w.worker().await;
    for _ in 0..2 {
        let tasks = w.claim(worker, 1_000).await;
        let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
        w.store.settle(&batch).await.unwrap();
    }
    assert_eq!(w.state(root).await, State::Completed);
    w.advance(7 * DAY).await;
    let mut gone = 0;
    while gone < many as u64 + 1 {
        assert_eq!(w.state(root).await, State::Completed, "the root goes last");
        let page = w.store.prune().await.unwrap();
        assert!((1..=SWEEP_PAGE as u64).contains(&page), "{page} in one call");
        gone += page;
    }
    assert_eq!((gone, w.all().await.len()), (many as u64 + 1, 0));
    assert_eq!(w.store.prune().await.unwrap(), 0);
}

/// The family whose root ended first goes first, and a repaired family stays.
pub async fn a_repaired_family_stays(w: &World) {
    w.limit("default", kept_for(60)).await;
    let (root, child) = w.failed_family().await;
    w.advance(59).await;
    w.store.retry_family(root).await.unwrap();
    w.advance(3_600).await;
    assert_eq!(w.store.prune().await.unwrap(), 0);
    w.work(child, Outcome::Done(None)).await;
    w.advance(59).await;
    assert_eq!(w.store.prune().await.unwrap(), 0, "its new end counts");
    w.advance(1).await;
    assert_eq!(w.store.prune().await.unwrap(), 2);
}

/// A root may be kept for good on one queue while others go.
pub async fn each_root_keeps_its_family_as_its_queue_says(w: &World) {
    w.limit("default", Policy::keeping(Retention { completed: None, ..Retention::default() })).await;
    let (root, kids) = w.parent_of(1).await;
    w.work(kids[0], Outcome::Done(None)).await;
    let other = w.start(w.enqueue("export").await).await;
    assert_eq!(w.get(other.id).await.queue, queue_name("bulk"));
    w.leave_behind(&other, children(1)).await;
    w.work(w.kids(other.id).await[0], Outcome::Done(None)).await;
    w.advance(365 * DAY).await;
    assert_eq!(w.store.prune().await.unwrap(), 2);
    assert_eq!((w.state(root).await, w.state(kids[0]).await), (State::Completed, State::Completed));
}
