//! Cancelling durable handlers, in every state they can be in.

use kinfolk_core::operate::Cancelled;
use kinfolk_core::{Failure, Gate, Outcome, Rule, Settled, State, StoreError, Suspend, Verdict};

use crate::family::{children, counts};
use crate::flow::{fan_out, having_made, listening, signal_name, sleeping, waiting_for};
use crate::world::{World, json, secs};

/// A suspended handler without open children is cancelled at once: no timer, no signal, no end brings it back.
pub async fn a_suspended_handler_is_cancelled_at_once(w: &World) {
    let task = w.root().await;
    w.suspend_and_wait(Suspend { until: Some(w.now().plus(secs(60))), ..listening(&task, "go") }).await;
    w.advance(1).await;
    assert_eq!(w.store.cancel(task.id).await.unwrap(), Cancelled::Now);
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.outcome, shown.gate), (State::Cancelled, None, None));
    assert_eq!((shown.failure, shown.signals), (Some(Failure::cancelled()), vec![]));
    assert_eq!((shown.finished_at, shown.cancel_requested_at), (Some(w.now()), Some(w.now())));
    let answer = w.store.signal(task.id, &signal_name("go"), &json("1")).await;
    assert!(matches!(answer, Err(StoreError::WrongState { .. })), "{answer:?}");
    w.advance(60).await;
    assert_eq!(w.claimable().await, []);
}

/// With its children in line all of them end at once.
pub async fn a_handler_whose_children_are_in_line_ends_with_them(w: &World) {
    let root = w.root().await;
    w.suspend_and_wait(having_made(waiting_for(&root, fan_out("items", 2, Rule::CollectAll)), children(1))).await;
    let fan_out = w.latest(root.id).await;
    assert_eq!(w.store.cancel(root.id).await.unwrap(), Cancelled::Now);
    assert_eq!((w.state(root.id).await, w.tally(root.id).await), (State::Cancelled, counts(3, 0, 0, 3)));
    assert_eq!(w.ended(fan_out).await, [0, 1]);
    assert_eq!(w.claimable().await, []);
}

/// While children run, a suspended handler waits for them as cancelled, and is not resumed by their ends.
pub async fn a_suspended_handler_waits_for_running_children(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    let busy = w.start(flow.kids[0]).await;
    w.advance(1).await;
    assert_eq!(w.store.cancel(flow.id()).await.unwrap(), Cancelled::Requested);
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.outcome, shown.gate), (State::Waiting, Some(State::Cancelled), None));
    assert_eq!((shown.failure, shown.result, shown.cancel_requested_at), (None, None, Some(w.now())));
    assert_eq!(w.states(flow.id()).await, [State::Running, State::Cancelled]);
    assert_eq!(w.done(&busy).await, Settled::Recorded(State::Cancelled));
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.outcome, shown.failure), (State::Cancelled, None, Some(Failure::cancelled())));
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.tally), (Some(Verdict::Failed), counts(2, 0, 0, 2)));
}

/// A resumed handler that pends while children run waits for them as cancelled.
pub async fn a_pending_handler_waits_for_running_children(w: &World) {
    let flow = w.flow(3, Rule::FailFast).await;
    let busy = w.start(flow.kids[0]).await;
    w.let_fail(flow.kids[1]).await;
    assert_eq!(w.state(flow.id()).await, State::Pending);
    assert_eq!(w.store.cancel(flow.id()).await.unwrap(), Cancelled::Requested);
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.outcome, shown.gate), (State::Waiting, Some(State::Cancelled), None));
    assert_eq!(w.claimable().await, []);
    w.settle(&busy, Outcome::Cancelled).await;
    assert_eq!((w.state(flow.id()).await, w.tally(flow.id()).await), (State::Cancelled, counts(3, 0, 1, 2)));
}

/// A resumed handler that pends, and whose other children are in line, ends with them.
pub async fn a_pending_handler_ends_with_its_children(w: &World) {
    let flow = w.flow(3, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    assert_eq!(w.gate(flow.id()).await, Some(Gate::Open));
    assert_eq!(w.store.cancel(flow.id()).await.unwrap(), Cancelled::Now);
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.outcome, shown.failure), (State::Cancelled, None, Some(Failure::cancelled())));
    assert_eq!(w.tally(flow.id()).await, counts(3, 0, 1, 2));
}

/// A running handler is asked, and however it goes on it ends as cancelled, after its children.
pub async fn a_running_handler_is_asked(w: &World) {
    for settles in [true, false] {
        let flow = w.flow(3, Rule::FailFast).await;
        w.let_fail(flow.kids[0]).await;
        let busy = w.start(flow.kids[1]).await;
        let owner = w.start(flow.id()).await;
        assert_eq!(w.store.cancel(flow.id()).await.unwrap(), Cancelled::Requested);
        assert_eq!(w.states(flow.id()).await, [State::Failed, State::Running, State::Cancelled]);
        let answer = if settles {
            w.done(&owner).await
        } else {
            w.suspend(waiting_for(&owner, fan_out("more", 2, Rule::FailFast))).await
        };
        assert_eq!(answer, Settled::Recorded(State::Waiting));
        let shown = w.get(flow.id()).await;
        assert_eq!((shown.outcome, shown.failure, shown.steps), (Some(State::Cancelled), None, 1));
        w.done(&busy).await;
        assert_eq!((w.state(flow.id()).await, w.tally(flow.id()).await.total), (State::Cancelled, 3));
    }
}

/// The whole tree below a suspended handler is cancelled, through awaited and spawned children alike.
pub async fn everything_below_is_cancelled(w: &World) {
    let flow = w.flow(2, Rule::CollectAll).await;
    let first = w.start(flow.kids[0]).await;
    let inner = w.await_in(first, fan_out("inner", 2, Rule::FailFast)).await;
    let deep = w.start(flow.kids[1]).await;
    w.leave_behind(&deep, children(2)).await;
    let sleeper = w.start(inner.kids[0]).await;
    w.suspend_and_wait(sleeping(&sleeper, w.now().plus(secs(5)))).await;
    assert_eq!(w.store.cancel(flow.id()).await.unwrap(), Cancelled::Now);
    for task in w.all().await {
        assert_eq!((task.state, task.outcome), (State::Cancelled, None), "task {}", task.id);
    }
    assert_eq!(w.all().await.len(), 7);
}

/// Cancelling one awaited child resumes the handler as any other end does.
pub async fn a_cancelled_child_resumes_its_handler(w: &World) {
    let flow = w.flow(2, Rule::CollectAll).await;
    let child = w.start(flow.kids[0]).await;
    let inner = w.await_in(child, fan_out("inner", 1, Rule::FailFast)).await;
    assert_eq!(w.store.cancel(inner.kids[0]).await.unwrap(), Cancelled::Now);
    assert_eq!((w.state(inner.id()).await, w.state(flow.id()).await), (State::Pending, State::Waiting));
    assert_eq!(w.store.cancel(inner.id()).await.unwrap(), Cancelled::Now);
    assert_eq!(w.store.cancel(flow.kids[1]).await.unwrap(), Cancelled::Now);
    assert_eq!((w.state(flow.id()).await, w.tally(flow.id()).await), (State::Pending, counts(2, 0, 0, 2)));
}

/// An owner that failed and waits for its children is cancelled like one that completed.
pub async fn a_failed_owner_that_waits_is_cancelled(w: &World) {
    let flow = w.flow(3, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    let busy = w.start(flow.kids[1]).await;
    let owner = w.start(flow.id()).await;
    w.fail(&owner, kinfolk_core::Retry::Never).await;
    assert_eq!(w.store.cancel(flow.id()).await.unwrap(), Cancelled::Requested);
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.outcome, shown.failure), (Some(State::Cancelled), None));
    w.done(&busy).await;
    assert_eq!(w.get(flow.id()).await.failure, Some(Failure::cancelled()));
}
