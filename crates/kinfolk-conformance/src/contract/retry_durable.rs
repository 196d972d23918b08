//! Setting durable handlers going again: what completed is never run again, what failed is.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{
    Checkpoint, Claim, ClaimedTask, Failure, Gate, NewFanOut, Outcome, Policy, Retention, Retried, Retry, Rule,
    Settled, State, StepKind, StoreError, Suspend, Verdict,
};

use crate::family::{children, counts};
use crate::flow::{Flow, begun, fan_out, having_made, key, listening, sleeping, step, suspend_of, waiting_for};
use crate::world::{World, claim_of, command, failed, json, secs, settle_of};

/// A flow of three of which the middle one failed: its owner has failed because of that.
async fn failed_flow(w: &World) -> Flow {
    let flow = w.flow(3, Rule::CollectAll).await;
    failed_like(w, flow).await
}

async fn failed_like(w: &World, mut flow: Flow) -> Flow {
    w.complete(flow.kids[0]).await;
    w.let_fail(flow.kids[1]).await;
    w.complete(flow.kids[2]).await;
    flow.task = w.start(flow.id()).await;
    assert_eq!(w.fail(&flow.task, Retry::Never).await, Settled::Recorded(State::Failed));
    flow
}

fn wrong_state<T: std::fmt::Debug>(answer: &Result<T, StoreError>) {
    let refused = matches!(answer, Err(StoreError::WrongState { remedy: "retry its family instead", .. }));
    assert!(refused, "{answer:?}");
}

/// A failed handler without fan-outs is retried alone, and replays what it has recorded.
pub async fn a_handler_without_children_replays_what_it_recorded(w: &World) {
    let task = w.root().await;
    w.record(&task, &[step("a", "1")]).await;
    w.suspend_and_wait(sleeping(&task, w.now().plus(secs(1)))).await;
    w.advance(1).await;
    let task = w.start(task.id).await;
    w.signal(task.id, "go", "1").await;
    w.fail(&task, Retry::Never).await;
    assert_eq!(w.store.retry(task.id).await.unwrap().steps, 1);
    let task = w.start(task.id).await;
    assert_eq!((task.steps, task.attempt), (1, 1));
    assert_eq!(
        w.take_signal(&task, "s", "go").await,
        kinfolk_core::TakenSignal::Signal(json("1")),
        "kept until it is taken"
    );
}

/// A child whose end its handler may have heard of is not retried without it; the handler is, as with its family.
pub async fn awaited_children_are_not_retried_alone(w: &World) {
    let flow = failed_flow(w).await;
    wrong_state(&w.store.retry(flow.kids[1]).await);
    let open = w.flow(2, Rule::CollectAll).await;
    w.let_fail(open.kids[0]).await;
    wrong_state(&w.store.retry(open.kids[0]).await);
    assert_eq!(w.store.retry(flow.id()).await.unwrap().state, State::Pending);
    w.store.cancel(open.id()).await.unwrap();
    assert_eq!(w.store.retry(open.id()).await.unwrap().state, State::Waiting);
    assert_eq!(w.states(open.id()).await, [State::Pending, State::Pending]);
    assert_eq!(w.fan_out(&open).await.tally, counts(2, 0, 0, 0));
}

/// A handler that failed though its fan-outs ended well runs again from what it recorded; nothing else does.
pub async fn a_handler_that_failed_by_itself_replays(w: &World) {
    let flow = failed_flow(w).await;
    let before = w.history(flow.id()).await;
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 1, waiting: 0 });
    assert_eq!(w.history(flow.id()).await, before);
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.attempt, shown.failure, shown.steps), (State::Pending, 0, None, 1));
    assert_eq!(w.claimable().await, [flow.id()]);
    let task = w.start(flow.id()).await;
    assert_eq!((task.steps, task.attempt), (1, 1));
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
    assert_eq!(w.tally(flow.id()).await, counts(3, 2, 1, 0));
}

/// A fan-out that failed is opened again: its handler waits for it, and what completed is not run again.
pub async fn a_failed_fan_out_is_opened_again(w: &World) {
    let root = w.root().await;
    w.record(&root, &[step("before", "1")]).await;
    let mut flow = w.await_in(root, fan_out("items", 3, Rule::Threshold(1_000_000))).await;
    w.complete(flow.kids[0]).await;
    let other = w.start(flow.kids[1]).await;
    w.complete(flow.kids[2]).await;
    w.fail(&other, Retry::Never).await;
    flow.task = w.start(flow.id()).await;
    w.record(&flow.task, &[step("sorry", "1")]).await;
    w.fail(&flow.task, Retry::Never).await;
    w.advance(5).await;
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 1, waiting: 1 });
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.outcome, shown.gate), (State::Waiting, None, None));
    assert_eq!((shown.attempt, shown.failure, shown.finished_at, shown.due), (0, None, None, w.now()));
    assert_eq!((shown.started_at, shown.steps), (None, 2));
    let history = w.history(flow.id()).await;
    assert_eq!(history.checkpoints, [step("before", "1"), begun("items", flow.fan_out)]);
    let found = &history.fan_outs[0];
    assert_eq!((found.verdict, found.decided_at, found.tally), (None, None, counts(3, 2, 0, 0)));
    assert_eq!((w.ended(flow.fan_out).await, w.claimable().await), (vec![0, 2], vec![flow.kids[1]]));
    w.complete(flow.kids[1]).await;
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.decided_at), (Some(Verdict::Completed), Some(3)));
    assert_eq!(w.ended(flow.fan_out).await, [0, 2, 1]);
    assert_eq!(w.done(&flow.task).await, Settled::Stale, "the old token is gone");
    assert_eq!(w.work(flow.id(), Outcome::Done(None)).await, Settled::Recorded(State::Completed));
}

/// A fan-out that was given up is opened again without a deadline: cancelled children run again.
pub async fn a_fan_out_that_timed_out_is_opened_again(w: &World) {
    let new = NewFanOut { timeout: Some(secs(10)), ..fan_out("items", 3, Rule::CollectAll) };
    let mut flow = w.flow_of(new).await;
    w.complete(flow.kids[0]).await;
    let child = w.start(flow.kids[1]).await;
    w.advance(10).await;
    flow.task = w.start(flow.id()).await;
    w.expire(&flow.task, flow.fan_out).await;
    w.done(&child).await;
    w.fail(&flow.task, Retry::Never).await;
    assert_eq!(w.state(flow.id()).await, State::Failed);
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 2, waiting: 1 });
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.deadline, found.tally), (None, None, counts(3, 1, 0, 0)));
    for child in &flow.kids[1..] {
        let shown = w.get(*child).await;
        assert_eq!((shown.state, shown.cancel_requested_at, shown.failure), (State::Pending, None, None));
        w.complete(*child).await;
    }
    assert_eq!(w.fan_out(&flow).await.verdict, Some(Verdict::Completed));
    assert_eq!(w.state(flow.id()).await, State::Pending);
}

/// What the handler recorded after the failure is forgotten, with the fan-outs that it began then.
pub async fn what_came_after_the_failure_is_forgotten(w: &World) {
    let mut flow = w.flow(1, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    flow.task = w.start(flow.id()).await;
    w.record(&flow.task, &[step("plan b", "1")]).await;
    let second = w.await_in(flow.task.clone(), fan_out("second", 2, Rule::FailFast)).await;
    w.complete(second.kids[0]).await;
    w.let_fail(second.kids[1]).await;
    let task = w.start(flow.id()).await;
    w.fail(&task, Retry::Never).await;
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 1, waiting: 1 });
    let history = w.history(flow.id()).await;
    assert_eq!(history.checkpoints, [begun("items", flow.fan_out)]);
    let verdicts: Vec<_> = history.fan_outs.iter().map(|fan_out| fan_out.verdict).collect();
    assert_eq!((verdicts, history.results), (vec![None, Some(Verdict::Failed)], vec![]));
    assert_eq!(w.claimable().await, flow.kids, "nobody hears of the second one any more");
    w.complete(flow.kids[0]).await;
    let task = w.start(flow.id()).await;
    w.suspend_and_wait(waiting_for(&task, fan_out("second", 1, Rule::FailFast))).await;
    assert_eq!(w.history(flow.id()).await.fan_outs.len(), 3);
    w.complete(w.kids(flow.id()).await[3]).await;
    assert_eq!(w.work(flow.id(), Outcome::Done(None)).await, Settled::Recorded(State::Completed));
}

/// Repaired twice, the forgotten fan-outs stay forgotten.
pub async fn forgotten_fan_outs_stay_forgotten(w: &World) {
    let flow = w.flow(1, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    let task = w.start(flow.id()).await;
    let second = w.await_in(task, fan_out("second", 1, Rule::FailFast)).await;
    w.let_fail(second.kids[0]).await;
    let task = w.start(flow.id()).await;
    w.fail(&task, Retry::Never).await;
    for _ in 0..2 {
        assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 1, waiting: 1 });
        assert_eq!(w.claimable().await, flow.kids);
        w.let_fail(flow.kids[0]).await;
        let task = w.start(flow.id()).await;
        assert_eq!(task.steps, 1);
        w.fail(&task, Retry::Never).await;
    }
}

/// A stream that was taken in before the failure is taken in again: its cursor points into an order that has changed.
pub async fn a_stream_is_taken_in_again(w: &World) {
    let new = NewFanOut { wake_at: 2, ..fan_out("items", 4, Rule::Threshold(750_000)) };
    let mut flow = w.flow_of(new).await;
    w.let_fail(flow.kids[0]).await;
    w.complete(flow.kids[1]).await;
    flow.task = w.start(flow.id()).await;
    let fold = Checkpoint { key: key("fold"), kind: StepKind::Fold, digest: String::new(), value: json("[2]") };
    w.record(&flow.task, &[step("noted", "1"), fold]).await;
    w.suspend_and_wait(crate::flow::waiting_again(&flow.task, flow.fan_out, 4)).await;
    w.let_fail(flow.kids[2]).await;
    flow.task = w.start(flow.id()).await;
    w.fail(&flow.task, Retry::Never).await;
    w.complete(flow.kids[3]).await;
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 2, waiting: 1 });
    assert_eq!(w.history(flow.id()).await.checkpoints, [begun("items", flow.fan_out), step("noted", "1")]);
    assert_eq!(w.ended(flow.fan_out).await, [1, 3]);
}

/// Deep in a family the same holds: parents above wait again, what failed below is opened again.
pub async fn a_failure_deep_in_the_family_is_repaired(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    let child = w.start(flow.kids[0]).await;
    let inner = w.await_in(child, fan_out("inner", 2, Rule::FailFast)).await;
    w.complete(flow.kids[1]).await;
    w.complete(inner.kids[0]).await;
    w.let_fail(inner.kids[1]).await;
    let task = w.start(inner.id()).await;
    w.fail(&task, Retry::Never).await;
    let task = w.start(flow.id()).await;
    w.fail(&task, Retry::Never).await;
    assert_eq!(w.store.retry_family(inner.kids[1]).await.unwrap(), Retried { pending: 1, waiting: 2 });
    assert_eq!(w.claimable().await, [inner.kids[1]]);
    w.complete(inner.kids[1]).await;
    w.complete(inner.id()).await;
    assert_eq!(w.ended(flow.fan_out).await, [1, 0]);
    w.complete(flow.id()).await;
}

/// A suspended child that was cancelled with its fan-out goes on from its history; one that waited for its own waits again.
pub async fn cancelled_children_of_a_reopened_fan_out_go_on(w: &World) {
    let new = NewFanOut { timeout: Some(secs(10)), ..fan_out("items", 3, Rule::FailFast) };
    let mut flow = w.flow_of(new).await;
    let child = w.start(flow.kids[0]).await;
    w.record(&child, &[step("done", "1")]).await;
    w.suspend_and_wait(listening(&child, "go")).await;
    let child = w.start(flow.kids[1]).await;
    w.leave_behind(&child, crate::family::these([crate::world::new_task("export")])).await;
    let grandchild = w.kids(child.id).await[0];
    w.advance(10).await;
    flow.task = w.start(flow.id()).await;
    w.expire(&flow.task, flow.fan_out).await;
    w.fail(&flow.task, Retry::Never).await;
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 3, waiting: 2 });
    assert_eq!(w.states(flow.id()).await, [State::Pending, State::Waiting, State::Pending]);
    let shown = w.get(flow.kids[1]).await;
    assert_eq!((shown.outcome, shown.failure, shown.cancel_requested_at), (Some(State::Completed), None, None));
    assert_eq!(w.start(flow.kids[0]).await.steps, 1);
    w.complete(grandchild).await;
    assert_eq!(w.state(flow.kids[1]).await, State::Completed);
}

/// An awaited child that failed under a parent that completed stays as it is.
pub async fn a_failure_that_the_handler_heard_of_stays(w: &World) {
    let root = w.root().await;
    w.suspend_and_wait(having_made(waiting_for(&root, fan_out("items", 1, Rule::CollectAll)), children(1))).await;
    let kids = w.kids(root.id).await;
    w.let_fail(kids[0]).await;
    w.let_fail(kids[1]).await;
    assert_eq!(w.work(root.id, Outcome::Done(None)).await, Settled::Recorded(State::Failed), "by the one it spawned");
    assert_eq!(w.store.retry_family(root.id).await.unwrap(), Retried { pending: 1, waiting: 1 });
    assert_eq!((w.states(root.id).await, w.claimable().await), (vec![State::Pending, State::Failed], vec![kids[0]]));
    w.complete(kids[0]).await;
    assert_eq!(w.state(root.id).await, State::Completed);
}

/// A handler that failed by itself and its failed spawned children both run again.
pub async fn failed_spawned_children_run_again_with_their_parent(w: &World) {
    let root = w.root().await;
    w.suspend_and_wait(having_made(listening(&root, "go"), children(2))).await;
    let kids = w.kids(root.id).await;
    w.let_fail(kids[0]).await;
    w.complete(kids[1]).await;
    w.signal(root.id, "go", "1").await;
    let task = w.start(root.id).await;
    w.fail(&task, Retry::Never).await;
    assert_eq!(w.store.retry_family(root.id).await.unwrap(), Retried { pending: 2, waiting: 0 });
    assert_eq!(w.claimable().await, [root.id, kids[0]]);
    let task = w.start(root.id).await;
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Waiting));
    w.complete(kids[0]).await;
    assert_eq!(w.state(root.id).await, State::Completed);
}

/// On a queue without room a reopened family waits for a family slot; its handler is resumed as ever after that.
pub async fn a_reopened_family_waits_for_room(w: &World) {
    w.serial(1).await;
    let mut flow = w.flow(1, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    flow.task = w.start(flow.id()).await;
    w.fail(&flow.task, Retry::Never).await;
    let busy: ClaimedTask = w.root().await;
    w.store.retry_family(flow.id()).await.unwrap();
    assert_eq!((w.gate(flow.kids[0]).await, w.claimable().await), (Some(Gate::Limit), vec![]));
    w.done(&busy).await;
    assert_eq!(w.claimable().await, flow.kids);
    w.complete(flow.kids[0]).await;
    assert_eq!(w.claimable().await, [flow.id()]);
}

/// A cancelled handler without children may be retried alone and goes on from its history.
pub async fn a_cancelled_handler_goes_on_from_its_history(w: &World) {
    let task = w.root().await;
    w.suspend_and_wait(Suspend { checkpoints: vec![step("a", "1")], ..listening(&task, "go") }).await;
    w.store.cancel(task.id).await.unwrap();
    assert_eq!(w.get(task.id).await.failure, Some(Failure::cancelled()));
    let shown = w.store.retry(task.id).await.unwrap();
    assert_eq!((shown.state, shown.signals, shown.steps), (State::Pending, vec![], 1));
    assert_eq!(w.start(task.id).await.steps, 1);
}

/// A handler that was cancelled with its fan-out waits for that again, whatever its rule: the children did not end by
/// themselves.
pub async fn a_cancelled_handler_waits_for_its_children_again(w: &World) {
    let new = NewFanOut { timeout: Some(secs(10)), ..fan_out("items", 1, Rule::FailFast) };
    let mut flow = w.flow_of(new).await;
    let child = w.start(flow.kids[0]).await;
    let exports = vec![crate::world::new_task("export"); 2];
    let inner = w.await_in(child, crate::flow::fan_out_of("inner", exports, Rule::CollectAll)).await;
    w.complete(inner.kids[0]).await;
    w.advance(10).await;
    flow.task = w.start(flow.id()).await;
    w.expire(&flow.task, flow.fan_out).await;
    w.fail(&flow.task, Retry::Never).await;
    assert_eq!(w.fan_out(&inner).await.verdict, Some(Verdict::Completed), "all had ended");
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 1, waiting: 2 });
    assert_eq!(w.states(inner.id()).await, [State::Completed, State::Pending]);
    assert_eq!((w.state(inner.id()).await, w.fan_out(&inner).await.verdict), (State::Waiting, None));
    w.complete(inner.kids[1]).await;
    w.complete(inner.id()).await;
    assert_eq!(w.state(flow.id()).await, State::Pending);
}

/// Signals that were taken after the failure can't be sent again: they stay recorded.
pub async fn taken_signals_are_not_forgotten(w: &World) {
    let mut flow = w.flow(1, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    flow.task = w.start(flow.id()).await;
    w.record(&flow.task, &[step("sorry", "1")]).await;
    for value in ["1", "2"] {
        w.signal(flow.id(), "go", value).await;
        assert_eq!(w.take_signal(&flow.task, value, "go").await, kinfolk_core::TakenSignal::Signal(json(value)));
    }
    w.fail(&flow.task, Retry::Never).await;
    w.store.retry_family(flow.id()).await.unwrap();
    let taken = |value: &str| Checkpoint { kind: StepKind::Signal, ..step(value, &format!("[{value}]")) };
    let left = [begun("items", flow.fan_out), taken("1"), taken("2")];
    assert_eq!((w.history(flow.id()).await.checkpoints, w.get(flow.id()).await.steps), (left.to_vec(), 3));
    w.complete(flow.kids[0]).await;
    let task = w.start(flow.id()).await;
    assert_eq!(w.take_signal(&task, "1", "go").await, kinfolk_core::TakenSignal::Signal(json("1")));
}

/// Of two fan-outs that are awaited again retention has removed what could run again in one: the handler goes on at once, and what
/// runs again in the other does not disturb it.
pub async fn a_handler_goes_on_when_nothing_is_left_of_what_it_awaits_again(w: &World) {
    w.limit("default", Policy::keeping(Retention { failed: Some(secs(0)), ..Retention::default() })).await;
    let root = w.root().await;
    let fan_outs = vec![fan_out("few", 1, Rule::FailFast), fan_out("many", SWEEP_PAGE + 1, Rule::FailFast)];
    w.suspend_and_wait(Suspend { fan_outs, ..suspend_of(&root) }).await;
    let begun: Vec<_> = w.history(root.id).await.fan_outs.iter().map(|fan_out| fan_out.id).collect();
    let (few, many) = (w.children_in(begun[0]).await[0], w.children_in(begun[1]).await);
    let worker = w.worker().await;
    for _ in 0..2 {
        let tasks =
            w.store.claim(&Claim { commands: vec![command("report")], ..claim_of(worker, 1_000) }).await.unwrap();
        let end = |task: &ClaimedTask| {
            let fails = [few, many[1]].contains(&task.id);
            settle_of(task, if fails { failed(Retry::Never) } else { Outcome::Done(None) })
        };
        w.store.settle(&tasks.tasks.iter().map(end).collect::<Vec<_>>()).await.unwrap();
    }
    let task = w.start(root.id).await;
    assert_eq!(w.fail(&task, Retry::Never).await, Settled::Recorded(State::Failed));
    assert_eq!(w.store.prune().await.unwrap(), SWEEP_PAGE as u64, "one child is left of each");

    assert_eq!(w.store.retry_family(root.id).await.unwrap(), Retried { pending: 2, waiting: 0 });
    let verdicts: Vec<_> = w.history(root.id).await.fan_outs.iter().map(|found| (found.verdict, found.tally)).collect();
    assert_eq!(verdicts, [(None, counts(1, 0, 0, 0)), (Some(Verdict::Completed), counts(1, 1, 0, 0))]);
    assert_eq!((w.state(root.id).await, w.store.sweep().await.unwrap()), (State::Pending, 0));
    let task = w.start(root.id).await;
    w.complete(few).await;
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
}

/// A handler below the root of a family that waits for room is resumed, and starts when there is room.
pub async fn a_handler_of_a_family_without_room_is_resumed_when_there_is_room(w: &World) {
    w.serial(1).await;
    let flow = w.flow(1, Rule::FailFast).await;
    let child = w.start(flow.kids[0]).await;
    let inner = w.await_in(child, fan_out("inner", 1, Rule::FailFast)).await;
    w.let_fail(inner.kids[0]).await;
    for owner in [inner.id(), flow.id()] {
        let task = w.start(owner).await;
        assert_eq!(w.fail(&task, Retry::Never).await, Settled::Recorded(State::Failed));
    }
    let busy = w.root().await;
    assert_eq!(w.store.retry_family(flow.id()).await.unwrap(), Retried { pending: 1, waiting: 2 });
    w.store.cancel(inner.kids[0]).await.unwrap();
    assert_eq!((w.gate(inner.id()).await, w.claimable().await), (Some(Gate::Limit), vec![]));
    w.done(&busy).await;
    assert_eq!(w.claimable().await, [inner.id()]);
}
