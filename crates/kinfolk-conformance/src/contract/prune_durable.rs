//! Retention of durable handlers: with the family goes everything that was recorded.

use kinfolk_core::{History, Outcome, ReadBy, Retention, Rule, Settled, State, StoreError};

use crate::flow::{fan_out, listening, step, waiting_for};
use crate::world::{World, secs};

/// Checkpoints, fan-outs, ends and kept signals go with their family, and nothing of another family does.
pub async fn everything_recorded_goes_with_the_family(w: &World) {
    let span = Some(secs(60));
    let policy = kinfolk_core::Policy::keeping(Retention { completed: span, failed: span, cancelled: span });
    w.limit("default", policy).await;
    let flow = w.flow(2, Rule::CollectAll).await;
    w.signal(flow.id(), "never-taken", "1").await;
    w.complete(flow.kids[0]).await;
    w.let_fail(flow.kids[1]).await;
    assert_eq!(w.work(flow.id(), Outcome::Done(None)).await, Settled::Recorded(State::Completed));
    let stays = w.root().await;
    w.record(&stays, &[step("a", "1")]).await;
    w.suspend_and_wait(waiting_for(&stays, fan_out("items", 1, Rule::FailFast))).await;
    w.advance(59).await;
    assert_eq!(w.store.prune().await.unwrap(), 0);
    w.advance(1).await;
    assert_eq!(w.store.prune().await.unwrap(), 3);
    assert_eq!(w.history(flow.id()).await, History::default());
    let gone = w.store.results(flow.fan_out, ReadBy::Ended, 0, 10).await;
    assert!(matches!(gone, Err(StoreError::NotFound { what: "fan-out", .. })), "{gone:?}");
    let history = w.history(stays.id).await;
    assert_eq!((history.checkpoints.len(), history.fan_outs.len()), (2, 1));
}

/// A suspended handler is not over, however long it waits.
pub async fn a_suspended_handler_is_never_pruned(w: &World) {
    w.limit(
        "default",
        kinfolk_core::Policy::keeping(Retention {
            completed: Some(secs(0)),
            failed: Some(secs(0)),
            cancelled: Some(secs(0)),
        }),
    )
    .await;
    let flow = w.flow(1, Rule::FailFast).await;
    w.complete(flow.kids[0]).await;
    let task = w.start(flow.id()).await;
    w.suspend_and_wait(listening(&task, "go")).await;
    w.advance(10 * 365 * 24 * 3_600).await;
    assert_eq!((w.store.prune().await.unwrap(), w.all().await.len()), (0, 2));
    w.signal(flow.id(), "go", "1").await;
    let task = w.start(flow.id()).await;
    w.done(&task).await;
    assert_eq!((w.store.prune().await.unwrap(), w.all().await.len()), (2, 0));
}
