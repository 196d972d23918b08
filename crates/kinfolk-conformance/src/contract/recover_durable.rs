//! Lost workers, releases and snoozes of durable handlers: nothing that was recorded or made is lost or doubled.

use kinfolk_core::{Failure, FailureKind, NewFanOut, Outcome, Retry, Rule, Settled, State, Verdict};

use crate::family::counts;
use crate::flow::{Flow, fan_out, step, waiting_again};
use crate::world::{World, secs};

/// A flow whose owner was resumed by the first failure, and runs again while two children are open.
async fn resumed_early(w: &World) -> Flow {
    let mut flow = w.flow(3, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    flow.task = w.start(flow.id()).await;
    flow
}

/// A handler whose worker was lost goes on from its history; children, verdicts and kept signals stay.
pub async fn a_lost_handler_goes_on_from_its_history(w: &World) {
    let flow = resumed_early(w).await;
    w.record(&flow.task, &[step("after", "1")]).await;
    w.signal(flow.id(), "go", "1").await;
    let before = w.history(flow.id()).await;
    assert_eq!(w.lose_all().await.returned, 1);
    assert_eq!((w.history(flow.id()).await, w.tally(flow.id()).await), (before, counts(3, 0, 1, 0)));
    let task = w.start(flow.id()).await;
    assert_eq!((task.steps, task.attempt), (2, 1));
    assert_eq!(w.take_signal(&task, "taken", "go").await, kinfolk_core::TakenSignal::Signal(crate::world::json("1")));
    assert_eq!(w.done(&flow.task).await, Settled::Stale);
}

/// Releases, snoozes and errors leave fan-outs and checkpoints as they are.
pub async fn every_pause_leaves_the_history_as_it_is(w: &World) {
    let mut flow = resumed_early(w).await;
    let before = w.history(flow.id()).await;
    for outcome in [Outcome::Release, Outcome::Snooze(secs(0)), crate::world::failed(Retry::After(secs(0)))] {
        assert_eq!(w.settle(&flow.task, outcome).await, Settled::Recorded(State::Pending));
        assert_eq!(w.history(flow.id()).await, before);
        flow.task = w.start(flow.id()).await;
    }
    let worker = w.get(flow.id()).await.worker.unwrap();
    w.store.leave(worker).await.unwrap();
    assert_eq!(w.history(flow.id()).await, before);
    flow.task = w.start(flow.id()).await;
    assert_eq!(w.suspend(waiting_again(&flow.task, flow.fan_out, 3)).await, Settled::Recorded(State::Pending));
}

/// A suspended handler has no worker to lose: lost leases leave it alone.
pub async fn a_suspended_handler_has_no_worker_to_lose(w: &World) {
    let flow = w.flow(1, Rule::FailFast).await;
    let before = w.get(flow.id()).await;
    assert_eq!(w.lose_all().await.returned, 0);
    assert_eq!(w.get(flow.id()).await, before);
}

/// A lost child goes on, and is counted when it ends.
pub async fn a_lost_child_is_counted_when_it_ends(w: &World) {
    let flow = w.flow(1, Rule::FailFast).await;
    w.start(flow.kids[0]).await;
    w.lose_all().await;
    assert_eq!((w.state(flow.id()).await, w.ended(flow.fan_out).await), (State::Waiting, vec![]));
    w.complete(flow.kids[0]).await;
    assert_eq!(w.state(flow.id()).await, State::Pending);
}

/// A handler whose end was asked for is cancelled when its worker is lost or leaves, after its open children.
pub async fn a_lost_handler_whose_end_was_asked_for_waits_for_its_children(w: &World) {
    for leaves in [false, true] {
        let flow = resumed_early(w).await;
        let busy = w.start(flow.kids[1]).await;
        w.store.cancel(flow.id()).await.unwrap();
        let alive = w.get(busy.id).await.worker.unwrap();
        if leaves {
            w.store.leave(w.get(flow.id()).await.worker.unwrap()).await.unwrap();
        } else {
            assert_eq!(w.lose_all_but(&[alive]).await.cancelled, 1);
        }
        let shown = w.get(flow.id()).await;
        assert_eq!((shown.state, shown.outcome, shown.worker), (State::Waiting, Some(State::Cancelled), None));
        assert_eq!(w.done(&busy).await, Settled::Recorded(State::Cancelled));
        assert_eq!(w.get(flow.id()).await.failure, Some(Failure::cancelled()));
    }
}

/// Poison waits for its open children, and ends those that are to end with it.
pub async fn poison_waits_for_its_children(w: &World) {
    for cancel_on_failure in [false, true] {
        let new = NewFanOut { cancel_on_failure, ..fan_out("items", 3, Rule::FailFast) };
        let flow = w.flow_of(new).await;
        w.allow_strikes(w.get(flow.id()).await.command.as_str(), 2).await;
        w.let_fail(flow.kids[0]).await;
        let busy = w.start(flow.kids[1]).await;
        let alive = w.get(busy.id).await.worker.unwrap();
        for strike in 0..=2 {
            w.start(flow.id()).await;
            let done = w.lose_all_but(&[alive]).await;
            assert_eq!(done.poisoned, u64::from(strike == 2));
            // It waits a second after its first strike.
            w.advance(2).await;
        }
        let shown = w.get(flow.id()).await;
        assert_eq!((shown.state, shown.outcome, shown.finished_at), (State::Waiting, Some(State::Failed), None));
        assert_eq!(shown.failure.unwrap().kind, FailureKind::Poison);
        let other = if cancel_on_failure { State::Cancelled } else { State::Pending };
        assert_eq!(w.state(flow.kids[2]).await, other);
        w.done(&busy).await;
        if !cancel_on_failure {
            w.complete(flow.kids[2]).await;
        }
        let shown = w.get(flow.id()).await;
        assert_eq!((shown.state, shown.outcome), (State::Failed, None));
        assert_eq!(shown.failure.unwrap().kind, FailureKind::Poison);
    }
}

/// A poisoned or cancelled child that is lost is counted for the one that awaits it.
pub async fn a_child_that_ends_by_loss_is_counted(w: &World) {
    let flow = w.flow(2, Rule::CollectAll).await;
    w.start(flow.kids[0]).await;
    w.store.cancel(flow.kids[0]).await.unwrap();
    assert_eq!(w.lose_all().await.cancelled, 1);
    assert_eq!(w.ended(flow.fan_out).await, [0]);
    let other = w.start(flow.kids[1]).await;
    w.store.cancel(flow.kids[1]).await.unwrap();
    w.store.leave(w.get(other.id).await.worker.unwrap()).await.unwrap();
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.tally), (Some(Verdict::Completed), counts(2, 0, 0, 2)));
    assert_eq!(w.state(flow.id()).await, State::Pending);
}
