//! Fan-outs: how they are decided, and what becomes of an owner whose children are still at work.

use kinfolk_core::{
    FailureKind, Made, NewFanOut, NewTask, Outcome, ReadBy, Retry, Rule, Settle, Settled, State, Suspend, Verdict,
};

use crate::family::{children, counts};
use crate::flow::{Flow, fan_out, having_made, listening, sleeping, suspend_of, waiting_again, waiting_for};
use crate::world::{World, failed, failure, json, new_task, secs, settle_of};

/// A flow whose owner was resumed by the first failure, and runs again while the other children are open.
async fn resumed_early(w: &World, many: usize, cancel_on_failure: bool) -> Flow {
    let new = NewFanOut { cancel_on_failure, ..fan_out("items", many, Rule::FailFast) };
    let mut flow = w.flow_of(new).await;
    w.let_fail(flow.kids[0]).await;
    flow.task = w.start(flow.id()).await;
    flow
}

/// Fail fast: the first child that fails settles it, badly, and the others go on; all completed settle it well.
pub async fn fail_fast_is_settled_by_the_first_failure(w: &World) {
    let flow = w.flow(3, Rule::FailFast).await;
    w.complete(flow.kids[0]).await;
    assert_eq!(w.fan_out(&flow).await.verdict, None);
    w.let_fail(flow.kids[1]).await;
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.decided_at), (Some(Verdict::Failed), Some(2)));
    assert_eq!((w.state(flow.id()).await, w.state(flow.kids[2]).await), (State::Pending, State::Pending));
    w.complete(flow.kids[2]).await;
    w.complete(flow.id()).await;
    let well = w.flow(2, Rule::FailFast).await;
    w.complete(well.kids[0]).await;
    w.complete(well.kids[1]).await;
    let found = w.fan_out(&well).await;
    assert_eq!((found.verdict, found.decided_at), (Some(Verdict::Completed), Some(2)));
}

/// Collect all: settled well when all have ended, whatever they ended in.
pub async fn collect_all_waits_for_every_child(w: &World) {
    let flow = w.flow(3, Rule::CollectAll).await;
    w.let_fail(flow.kids[0]).await;
    w.store.cancel(flow.kids[1]).await.unwrap();
    assert_eq!((w.state(flow.id()).await, w.fan_out(&flow).await.verdict), (State::Waiting, None));
    w.let_fail(flow.kids[2]).await;
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.tally), (Some(Verdict::Completed), counts(3, 0, 2, 1)));
}

/// A threshold is settled badly as soon as it can't be reached, and well only when all have ended.
pub async fn a_threshold_gives_up_early(w: &World) {
    let flow = w.flow(4, Rule::Threshold(500_000)).await;
    for child in &flow.kids[..2] {
        w.complete(*child).await;
    }
    w.let_fail(flow.kids[2]).await;
    assert_eq!(w.fan_out(&flow).await.verdict, None, "reached, and one is open");
    w.let_fail(flow.kids[3]).await;
    assert_eq!(w.fan_out(&flow).await.verdict, Some(Verdict::Completed));
    w.complete(flow.id()).await;
    let flow = w.flow(4, Rule::Threshold(500_001)).await;
    w.let_fail(flow.kids[0]).await;
    assert_eq!(w.fan_out(&flow).await.verdict, None);
    w.store.cancel(flow.kids[3]).await.unwrap();
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.decided_at), (Some(Verdict::Failed), Some(2)));
}

/// A child that was cancelled did not complete.
pub async fn a_cancelled_child_did_not_complete(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    w.store.cancel(flow.kids[1]).await.unwrap();
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.decided_at, found.tally), (Some(Verdict::Failed), Some(1), counts(2, 0, 0, 1)));
    assert_eq!(w.state(flow.id()).await, State::Pending);
}

/// Children that end in one call end in the order of their index, and the verdict is taken after all of them.
pub async fn children_that_end_at_once_end_in_their_order(w: &World) {
    let flow = w.flow(5, Rule::FailFast).await;
    let worker = w.worker().await;
    let tasks = w.claim(worker, 10).await;
    let batch = [
        settle_of(&tasks[3], Outcome::Done(None)),
        settle_of(&tasks[2], failed(Retry::Never)),
        settle_of(&tasks[0], Outcome::Done(None)),
    ];
    w.store.settle(&batch).await.unwrap();
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.decided_at, found.tally), (Some(Verdict::Failed), Some(3), counts(5, 2, 1, 0)));
    w.store.settle(&[settle_of(&tasks[4], Outcome::Done(None))]).await.unwrap();
    w.store.settle(&[settle_of(&tasks[1], failed(Retry::Never))]).await.unwrap();
    assert_eq!(w.ended(flow.fan_out).await, [0, 2, 3, 4, 1]);
}

/// A verdict stands: children that end later are counted and get their place, and change nothing else.
pub async fn a_verdict_stands(w: &World) {
    let flow = w.flow(4, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    let before = w.get(flow.id()).await;
    for child in &flow.kids[1..] {
        w.complete(*child).await;
    }
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.decided_at, found.tally), (Some(Verdict::Failed), Some(1), counts(4, 3, 1, 0)));
    assert_eq!((w.get(flow.id()).await, w.ended(flow.fan_out).await), (before, vec![0, 1, 2, 3]));
}

/// An owner that is done before its awaited children are waits for them; how they end is not its failure.
pub async fn an_owner_waits_for_awaited_children_in_the_end(w: &World) {
    let flow = resumed_early(w, 3, false).await;
    assert_eq!(w.settle(&flow.task, Outcome::Done(Some(json("1")))).await, Settled::Recorded(State::Waiting));
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.outcome, shown.result), (State::Waiting, Some(State::Completed), Some(json("1"))));
    w.complete(flow.kids[1]).await;
    assert_eq!(w.state(flow.id()).await, State::Waiting);
    w.let_fail(flow.kids[2]).await;
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.outcome, shown.failure), (State::Completed, None, None));
    assert_eq!((shown.result, shown.finished_at), (Some(json("1")), Some(w.now())));
}

/// An owner that failed with open children waits for them with its failure, and it is the one shown in the end.
pub async fn an_own_failure_is_the_one_shown(w: &World) {
    let root = w.root().await;
    let new = fan_out("items", 2, Rule::FailFast);
    w.suspend_and_wait(having_made(waiting_for(&root, new), children(1))).await;
    let kids = w.kids(root.id).await;
    w.let_fail(kids[0]).await;
    w.let_fail(kids[1]).await;
    let again = w.start(root.id).await;
    assert_eq!(w.fail(&again, Retry::Never).await, Settled::Recorded(State::Waiting));
    let shown = w.get(root.id).await;
    assert_eq!((shown.outcome, shown.failure, shown.finished_at), (Some(State::Failed), Some(failure()), None));
    assert_eq!(w.fail(&again, Retry::Never).await, Settled::Repeated(State::Waiting));
    assert_eq!(w.state(kids[2]).await, State::Pending, "nobody asked for its end");
    w.complete(kids[2]).await;
    let shown = w.get(root.id).await;
    assert_eq!((shown.state, shown.outcome, shown.failure), (State::Failed, None, Some(failure())));
    assert_eq!(w.endings(root.id).await, [kinfolk_core::task::Ending::Failed]);
}

/// With `cancel_on_failure` the open children end with their owner: pending ones at once, running ones are asked.
pub async fn open_children_end_with_an_owner_that_failed(w: &World) {
    let flow = resumed_early(w, 4, true).await;
    let busy = w.start(flow.kids[1]).await;
    let inner = w.start(flow.kids[2]).await;
    let inner = w.await_in(inner, fan_out("inner", 1, Rule::FailFast)).await;
    assert_eq!(w.fail(&flow.task, Retry::Never).await, Settled::Recorded(State::Waiting));
    let states = [State::Failed, State::Running, State::Cancelled, State::Cancelled];
    assert_eq!(w.states(flow.id()).await, states);
    assert_eq!(w.state(inner.kids[0]).await, State::Cancelled, "and all below them");
    assert_eq!(w.get(busy.id).await.cancel_requested_at, Some(w.now()));
    assert_eq!(w.done(&busy).await, Settled::Recorded(State::Cancelled));
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.failure), (State::Failed, Some(failure())));
    assert_eq!(w.tally(flow.id()).await, counts(4, 0, 1, 3));
}

/// When that ends all of them, the owner ends at once.
pub async fn an_owner_whose_children_all_end_with_it_ends_at_once(w: &World) {
    let flow = resumed_early(w, 3, true).await;
    assert_eq!(w.fail(&flow.task, Retry::After(secs(0))).await, Settled::Recorded(State::Pending));
    assert_eq!(w.states(flow.id()).await[1..], [State::Pending; 2], "it may be tried again");
    let again = w.start(flow.id()).await;
    assert!(matches!(w.fail(&again, Retry::Never).await, Settled::Recorded(_)));
    assert_eq!((w.state(flow.id()).await, w.tally(flow.id()).await), (State::Failed, counts(3, 0, 1, 2)));
}

/// An owner fails in the call in which the last child of one of its open children ends: that end counts as its handler told it,
/// whichever comes first and whether it made something, and the family can be repaired.
pub async fn a_grandchild_ends_in_the_call_in_which_an_owner_fails(w: &World) {
    let made = Made { tasks: vec![new_task("export")], ..Made::default() };
    for owner_first in [true, false] {
        for (outcome, made, state) in [
            (Outcome::Done(None), None, State::Completed),
            (Outcome::Done(None), Some(Box::new(made.clone())), State::Completed),
            (failed(Retry::Never), None, State::Failed),
        ] {
            let flow = resumed_early(w, 2, true).await;
            let parent = w.start(flow.kids[1]).await;
            w.leave_behind(&parent, children(1)).await;
            let grandchild = w.start(w.kids(parent.id).await[0]).await;
            let owner = settle_of(&flow.task, failed(Retry::Never));
            let mut settles = [owner, Settle { made, ..settle_of(&grandchild, outcome) }];
            let mut wants = [Settled::Recorded(State::Failed), Settled::Recorded(state)];
            if !owner_first {
                settles.reverse();
                wants.reverse();
            }
            assert_eq!(w.store.settle(&settles).await.unwrap(), wants, "owner first: {owner_first}");
            let ended = [flow.id(), parent.id, grandchild.id].map(|id| w.state(id));
            let [owner, parent, grandchild] = ended;
            assert_eq!((owner.await, parent.await, grandchild.await), (State::Failed, state, state));
            w.store.retry_family(flow.id()).await.unwrap();
            w.sound().await;
            w.store.cancel(flow.id()).await.unwrap();
        }
    }
}

/// Success leaves them at work, whatever was said about failure.
pub async fn a_success_leaves_the_children_at_work(w: &World) {
    let flow = resumed_early(w, 2, true).await;
    assert_eq!(w.done(&flow.task).await, Settled::Recorded(State::Waiting));
    assert_eq!(w.state(flow.kids[1]).await, State::Pending);
    w.complete(flow.kids[1]).await;
    assert_eq!(w.state(flow.id()).await, State::Completed);
}

/// Handlers await handlers: each is resumed by its own children, up to the root.
pub async fn fan_outs_nest(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    let mut inner = Vec::new();
    for child in &flow.kids {
        let task = w.start(*child).await;
        inner.push(w.await_in(task, fan_out_of_mails(2)).await);
    }
    for flow in &inner {
        assert_eq!(w.get(flow.kids[0]).await.depth, 2);
        for child in &flow.kids {
            w.complete(*child).await;
        }
        assert_eq!(w.state(flow.id()).await, State::Pending);
        w.complete(flow.id()).await;
    }
    assert_eq!(w.state(flow.id()).await, State::Pending);
    w.complete(flow.id()).await;
    let progress = w.store.progress(inner[0].kids[0]).await.unwrap();
    assert_eq!(progress.levels, [counts(2, 2, 0, 0), counts(4, 4, 0, 0)]);
}

/// A child that waits for its own spawned children has not ended for the one that awaits it.
pub async fn a_child_that_waits_for_its_own_has_not_ended(w: &World) {
    let flow = w.flow(1, Rule::FailFast).await;
    let child = w.start(flow.kids[0]).await;
    assert_eq!(w.leave_behind(&child, children(1)).await, Settled::Recorded(State::Waiting));
    assert_eq!((w.state(flow.id()).await, w.ended(flow.fan_out).await), (State::Waiting, vec![]));
    w.let_fail(w.kids(child.id).await[0]).await;
    assert_eq!((w.state(child.id).await, w.fan_out(&flow).await.verdict), (State::Failed, Some(Verdict::Failed)));
    assert_eq!(w.state(flow.id()).await, State::Pending);
}

/// One after another: fan-outs of one handler have numbers of their own, and children are listed by them.
pub async fn fan_outs_follow_one_another(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    w.complete(flow.kids[0]).await;
    w.complete(flow.kids[1]).await;
    let task = w.start(flow.id()).await;
    let next = w.await_in(task, fan_out("next", 3, Rule::CollectAll)).await;
    assert!(next.fan_out > flow.fan_out);
    assert_eq!(w.kids(flow.id()).await, [flow.kids.clone(), next.kids.clone()].concat());
    assert_eq!(w.tally(flow.id()).await, counts(5, 2, 0, 0));
    let page = w.store.children(flow.id(), 1, 2).await.unwrap();
    assert_eq!(page.iter().map(|task| task.id).collect::<Vec<_>>(), [flow.kids[1], next.kids[0]]);
    assert_eq!(w.results(next.fan_out, ReadBy::Index).await.len(), 3);
}

/// A root that yields its family slot while children are open keeps it: its family is at work.
pub async fn a_yield_with_open_children_is_a_snooze(w: &World) {
    w.serial(1).await;
    let flow = resumed_early(w, 2, false).await;
    w.enqueue("mail").await;
    assert_eq!(w.settle(&flow.task, Outcome::YieldFamilySlot(secs(10))).await, Settled::Recorded(State::Pending));
    assert_eq!(w.claimable().await, [flow.kids[1]]);
}

/// An owner and its child may end in one call, in either order.
pub async fn an_owner_and_its_child_end_in_one_call(w: &World) {
    for owner_first in [true, false] {
        let flow = resumed_early(w, 2, false).await;
        let child = w.start(flow.kids[1]).await;
        let mut batch: [Settle; 2] =
            [settle_of(&flow.task, Outcome::Done(None)), settle_of(&child, Outcome::Done(None))];
        if !owner_first {
            batch.reverse();
        }
        let answers = w.store.settle(&batch).await.unwrap();
        assert!(answers.iter().all(|answer| matches!(answer, Settled::Recorded(_))), "{answers:?}");
        assert_eq!((w.state(flow.id()).await, w.state(child.id).await), (State::Completed, State::Completed));
        assert_eq!(w.ended(flow.fan_out).await, [0, 1]);
    }
}

/// Wide fan-outs settle as narrow ones do, and are counted whatever the size of the batches.
pub async fn a_wide_fan_out_is_settled(w: &World) {
    const MANY: usize = 2_500;
    let flow = w.flow(MANY, Rule::CollectAll).await;
    let worker = w.worker().await;
    let mut left = MANY;
    for size in [1_000, 1, 999, 499] {
        assert_eq!(w.state(flow.id()).await, State::Waiting);
        let tasks = w.claim(worker, size).await;
        left -= tasks.len();
        let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
        w.store.settle(&batch).await.unwrap();
    }
    assert_eq!((left, w.state(flow.id()).await), (1, State::Waiting));
    let child = w.take(worker).await;
    w.done(&child).await;
    let found = w.fan_out(&flow).await;
    assert_eq!((found.decided_at, found.tally), (Some(2_500), counts(2_500, 2_500, 0, 0)));
    let last = w.store.results(flow.fan_out, ReadBy::Ended, 2_499, 10).await.unwrap();
    assert_eq!((last.len(), last[0].index), (1, 2_499));
}

/// A spawned child and awaited ones are counted apart: only the spawned one fails its parent.
pub async fn only_spawned_children_fail_their_parent(w: &World) {
    let root = w.root().await;
    w.suspend_and_wait(having_made(waiting_for(&root, fan_out("items", 1, Rule::CollectAll)), children(2))).await;
    let kids = w.kids(root.id).await;
    for child in &kids {
        w.let_fail(*child).await;
    }
    assert_eq!(w.work(root.id, Outcome::Done(None)).await, Settled::Recorded(State::Failed));
    let why = w.get(root.id).await.failure.unwrap();
    assert_eq!((why.kind, why.message.as_str()), (FailureKind::Children, "2 of 2 children failed"));
}

/// A child that is retried by its policy ends once; attempts are shown with its result.
pub async fn a_child_is_counted_when_it_ends_for_good(w: &World) {
    let root = w.root().await;
    let child = NewTask { max_attempts: Some(2), ..new_task("report") };
    let flow = w.await_in(root, crate::flow::fan_out_of("items", vec![child], Rule::CollectAll)).await;
    w.work(flow.kids[0], failed(Retry::After(secs(0)))).await;
    assert_eq!((w.ended(flow.fan_out).await, w.state(flow.id()).await), (vec![], State::Waiting));
    w.let_fail(flow.kids[0]).await;
    let result = w.results(flow.fan_out, ReadBy::Ended).await.remove(0);
    assert_eq!((result.attempt, result.state, result.failure), (2, State::Failed, Some(failure())));
}

/// Waiting again for what is undecided after other things came in between.
pub async fn a_fan_out_is_awaited_over_several_suspensions(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    let listen = Suspend { signals: listening(&flow.task, "go").signals, ..suspend_of(&flow.task) };
    assert_eq!(w.suspend(listen).await, Settled::Repeated(State::Waiting));
    w.complete(flow.kids[0]).await;
    w.complete(flow.kids[1]).await;
    let task = w.start(flow.id()).await;
    let flow = w.await_in(task, fan_out("slow", 2, Rule::FailFast)).await;
    w.complete(flow.kids[0]).await;
    w.store.cancel(flow.kids[1]).await.unwrap();
    let task = w.start(flow.id()).await;
    w.suspend_and_wait(sleeping(&task, w.now().plus(secs(9)))).await;
    w.advance(9).await;
    let task = w.start(flow.id()).await;
    assert_eq!(w.suspend(waiting_again(&task, flow.fan_out, 2)).await, Settled::Recorded(State::Pending));
}

fn fan_out_of_mails(many: usize) -> NewFanOut {
    crate::flow::fan_out_of("inner", vec![new_task("export"); many], Rule::FailFast)
}
