//! Repair: what failed in a family runs again, and those above it wait again, as if it had never failed.

use kinfolk_core::filter::Filter;
use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::operate::{Action, BulkPage};
use kinfolk_core::task::Ending;
use kinfolk_core::{
    ChildOrder, Failure, Gate, Outcome, Policy, Retention, Retried, Retry, Settled, State, StoreError, TaskId,
};

use crate::family::{children, counts, in_order};
use crate::world::{World, failed, json, secs, settle_of};

fn wrong_state<T: std::fmt::Debug>(answer: Result<T, StoreError>, wanted: TaskId, its: State, remedy: &str) {
    match answer {
        Err(StoreError::WrongState { task, state, remedy: given }) => {
            assert_eq!((task, state, given), (wanted, its, remedy));
        }
        other => panic!("not refused: {other:?}"),
    }
}

/// Failed leaves become pending with fresh attempts at their old position; those that failed because of them wait again.
pub async fn failed_leaves_run_again_and_their_parents_wait(w: &World) {
    let (line, leaf) = w.chain(3).await;
    w.fail(&leaf, Retry::Never).await;
    let position = w.get(leaf.id).await.position;
    w.advance(60).await;
    assert_eq!(w.store.retry_family(line[0]).await.unwrap(), Retried { pending: 1, waiting: 3 });
    for id in &line[..3] {
        let task = w.get(*id).await;
        assert_eq!((task.state, task.outcome, task.gate), (State::Waiting, Some(State::Completed), None));
        assert_eq!((task.failure, task.finished_at, task.result), (None, None, Some(json("1"))));
        assert_eq!(w.tally(*id).await, counts(1, 0, 0, 0));
    }
    let task = w.get(leaf.id).await;
    assert_eq!((task.state, task.gate, task.attempt), (State::Pending, Some(Gate::Open), 0));
    assert_eq!((task.due, task.position, task.failure), (w.now(), position, None));
    assert_eq!((task.started_at, task.finished_at), (None, None));
}

/// A repaired family settles as if it had never failed, keeps its records, and can fail and be repaired again.
pub async fn a_repaired_family_settles_as_if_it_had_never_failed(w: &World) {
    let (root, child) = w.failed_family().await;
    w.store.retry_family(root).await.unwrap();
    w.work(child, failed(Retry::Never)).await;
    assert_eq!(w.get(root).await.failure, Some(Failure::children(&counts(1, 0, 1, 0))));
    w.store.retry_family(root).await.unwrap();
    w.advance(1).await;
    w.work(child, Outcome::Done(None)).await;
    let shown = w.get(root).await;
    assert_eq!((shown.state, shown.failure, shown.outcome), (State::Completed, None, None));
    assert_eq!((shown.finished_at, w.tally(root).await), (Some(w.now()), counts(1, 1, 0, 0)));
    assert_eq!(w.endings(child).await, [Ending::Failed, Ending::Failed, Ending::Completed]);
}

/// What has completed is left as it is, and all else runs again; any member may name the family.
pub async fn what_has_completed_does_not_run_again(w: &World) {
    let (root, kids) = w.parent_of(4).await;
    w.work(kids[0], Outcome::Done(None)).await;
    w.work(kids[1], failed(Retry::Never)).await;
    w.store.cancel(kids[2]).await.unwrap();
    w.work(kids[3], failed(Retry::Never)).await;
    assert_eq!(w.store.retry_family(kids[0]).await.unwrap(), Retried { pending: 3, waiting: 1 });
    assert_eq!(w.states(root).await, [State::Completed, State::Pending, State::Pending, State::Pending]);
    assert_eq!(w.tally(root).await, counts(4, 1, 0, 0));
    assert_eq!(w.claimable().await, [kids[1], kids[2], kids[3]]);
}

/// Only the branches that failed are opened: a completed branch stays, with everything in it.
pub async fn completed_branches_stay_as_they_are(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    for (child, outcome) in kids.iter().zip([Outcome::Done(None), failed(Retry::Never)]) {
        let task = w.start(*child).await;
        w.leave_behind(&task, crate::family::these([crate::world::new_task("mail")])).await;
        w.work(w.kids(*child).await[0], outcome).await;
    }
    assert_eq!(w.store.retry_family(root).await.unwrap(), Retried { pending: 1, waiting: 2 });
    assert_eq!(w.states(root).await, [State::Completed, State::Waiting]);
    assert_eq!(w.states(kids[0]).await, [State::Completed]);
    assert_eq!(w.states(kids[1]).await, [State::Pending]);
}

/// A branch that was cancelled waits again, and what failed or was cancelled below it runs again.
pub async fn a_cancelled_branch_runs_again(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    let branch = w.start(kids[0]).await;
    w.leave_behind(&branch, crate::family::these([crate::world::new_task("mail"), crate::world::new_task("mail")]))
        .await;
    w.work(w.kids(branch.id).await[0], failed(Retry::Never)).await;
    w.store.cancel(branch.id).await.unwrap();
    w.work(kids[1], failed(Retry::Never)).await;
    assert_eq!(w.store.retry_family(root).await.unwrap(), Retried { pending: 3, waiting: 2 });
    assert_eq!(w.states(branch.id).await, [State::Pending, State::Pending]);
    assert_eq!((w.state(branch.id).await, w.tally(branch.id).await), (State::Waiting, counts(2, 0, 0, 0)));
    for id in w.kids(branch.id).await.into_iter().chain([kids[1]]) {
        assert_eq!(w.state(root).await, State::Waiting);
        w.work(id, Outcome::Done(None)).await;
    }
    assert_eq!(w.state(root).await, State::Completed);
}

/// A family that was cancelled runs again: its leaves pend with fresh attempts, those above them wait, without the old
/// request, and the family ends as if nobody had cancelled it.
pub async fn a_cancelled_family_runs_again(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    w.work(kids[0], Outcome::Done(None)).await;
    let runs = w.start(kids[1]).await;
    w.store.cancel(root).await.unwrap();
    let early = w.store.retry_family(root).await;
    wrong_state(early, root, State::Waiting, "only a failed or cancelled family can be retried");
    w.settle(&runs, Outcome::Cancelled).await;
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Cancelled, counts(3, 1, 0, 2)));
    assert_eq!(w.store.retry_family(kids[2]).await.unwrap(), Retried { pending: 2, waiting: 1 });
    let shown = w.get(root).await;
    assert_eq!((shown.state, shown.outcome, shown.failure), (State::Waiting, Some(State::Completed), None));
    assert_eq!((shown.finished_at, shown.cancel_requested_at), (None, None));
    assert_eq!((w.claimable().await, w.tally(root).await), (vec![kids[1], kids[2]], counts(3, 1, 0, 0)));
    for child in &kids[1..] {
        let task = w.start(*child).await;
        let worker = w.get(*child).await.worker.unwrap();
        assert_eq!((task.attempt, w.store.heartbeat(worker).await.unwrap().cancel), (1, vec![]));
        w.done(&task).await;
    }
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(3, 3, 0, 0)));
}

/// A cancelled family in order goes on where it was, one after another.
pub async fn a_cancelled_family_goes_on_in_order(w: &World) {
    let root = w.waiting(in_order(3, ChildOrder::InOrder)).await;
    let kids = w.kids(root).await;
    w.work(kids[0], Outcome::Done(None)).await;
    w.store.cancel(root).await.unwrap();
    assert_eq!(w.store.retry_family(root).await.unwrap(), Retried { pending: 2, waiting: 1 });
    for child in &kids[1..] {
        assert_eq!(w.claimable().await, [*child]);
        w.work(*child, Outcome::Done(None)).await;
    }
    assert_eq!(w.state(root).await, State::Completed);
}

/// On a queue without room a family that was cancelled waits for a family slot, as one that failed does.
pub async fn a_cancelled_family_waits_for_room(w: &World) {
    w.serial(1).await;
    let (root, kids) = w.parent_of(1).await;
    w.store.cancel(root).await.unwrap();
    let busy = w.root().await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!((w.state(root).await, w.gate(kids[0]).await), (State::Waiting, Some(Gate::Limit)));
    assert_eq!(w.claimable().await, []);
    w.done(&busy).await;
    assert_eq!(w.claimable().await, kids);
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Completed);
}

/// A root that failed by itself is a family of one.
pub async fn a_root_that_failed_by_itself_runs_again(w: &World) {
    let id = w.failed().await;
    assert_eq!(w.store.retry_family(id).await.unwrap(), Retried { pending: 1, waiting: 0 });
    assert_eq!(w.claimable().await, [id]);
}

/// Only a family whose root has failed or was cancelled is repaired.
pub async fn only_a_family_that_ended_badly_is_repaired(w: &World) {
    let remedy = "only a failed or cancelled family can be retried";
    let (root, kids) = w.parent_of(2).await;
    wrong_state(w.store.retry_family(root).await, root, State::Waiting, remedy);
    w.work(kids[0], failed(Retry::Never)).await;
    wrong_state(w.store.retry_family(kids[0]).await, root, State::Waiting, remedy);
    w.store.cancel(root).await.unwrap();
    let flat = w.enqueue("mail").await;
    wrong_state(w.store.retry_family(flat).await, flat, State::Pending, remedy);
    let task = w.start(flat).await;
    wrong_state(w.store.retry_family(flat).await, flat, State::Running, remedy);
    w.done(&task).await;
    wrong_state(w.store.retry_family(flat).await, flat, State::Completed, remedy);
    let nobody = w.store.retry_family(TaskId(i64::MAX)).await;
    assert!(matches!(nobody, Err(StoreError::NotFound { what: "task", .. })), "{nobody:?}");
}

/// Skipped children run again behind the one that failed, in their order.
pub async fn skipped_children_run_again_in_order(w: &World) {
    let root = w.waiting(in_order(3, ChildOrder::InOrderUntilFailure)).await;
    let kids = w.kids(root).await;
    w.work(kids[0], failed(Retry::Never)).await;
    assert_eq!(w.store.retry_family(root).await.unwrap(), Retried { pending: 3, waiting: 1 });
    assert_eq!(w.gates(root).await, [Some(Gate::Open), Some(Gate::After), Some(Gate::After)]);
    for child in kids {
        assert_eq!(w.claimable().await, [child]);
        w.work(child, Outcome::Done(None)).await;
    }
    assert_eq!(w.state(root).await, State::Completed);
}

/// In order, the lowest that waits again holds the ones that pend again.
pub async fn in_order_the_lowest_goes_first(w: &World) {
    let root = w.waiting(in_order(3, ChildOrder::InOrder)).await;
    let kids = w.kids(root).await;
    let first = w.start(kids[0]).await;
    w.leave_behind(&first, children(1)).await;
    let grandchild = w.kids(first.id).await[0];
    w.work(grandchild, failed(Retry::Never)).await;
    w.work(kids[1], Outcome::Done(None)).await;
    w.work(kids[2], failed(Retry::Never)).await;
    assert_eq!(w.store.retry_family(root).await.unwrap(), Retried { pending: 2, waiting: 2 });
    assert_eq!(w.gates(root).await, [None, None, Some(Gate::After)]);
    w.work(grandchild, Outcome::Done(None)).await;
    assert_eq!(w.gates(root).await, [None, None, Some(Gate::Open)]);
}

/// On a queue without room a repaired family waits for a family slot, and gets the next one before new families do.
pub async fn a_repaired_family_waits_for_room(w: &World) {
    w.serial(1).await;
    let (root, child) = w.failed_family().await;
    let busy = w.root().await;
    w.advance(1).await;
    let new = w.enqueue("mail").await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!((w.state(root).await, w.gate(child).await), (State::Waiting, Some(Gate::Limit)));
    assert_eq!(w.claimable().await, []);
    w.done(&busy).await;
    assert_eq!(w.claimable().await, [child]);
    w.work(child, Outcome::Done(None)).await;
    assert_eq!((w.state(root).await, w.claimable().await), (State::Completed, vec![new]));
}

/// What would open in a family that has no family slot yet waits too: the next in order, and a child that is retried.
pub async fn nothing_of_a_family_without_room_opens(w: &World) {
    w.serial(1).await;
    let root = w.waiting(in_order(3, ChildOrder::InOrderUntilFailure)).await;
    let kids = w.kids(root).await;
    w.work(kids[0], failed(Retry::Never)).await;
    let busy = w.root().await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.gates(root).await, [Some(Gate::Limit), Some(Gate::After), Some(Gate::After)]);
    w.store.cancel(kids[0]).await.unwrap();
    assert_eq!(w.gates(root).await, [None, Some(Gate::Limit), Some(Gate::After)]);
    w.store.retry(kids[0]).await.unwrap();
    assert_eq!(w.gates(root).await, [Some(Gate::Limit), Some(Gate::Limit), Some(Gate::After)]);
    w.done(&busy).await;
    assert_eq!(w.claimable().await, kids[..2]);
}

/// Removing the limit lets a repaired family go to work.
pub async fn a_removed_limit_lets_repaired_families_work(w: &World) {
    w.serial(1).await;
    let (root, child) = w.failed_family().await;
    let busy = w.root().await;
    w.store.retry_family(root).await.unwrap();
    w.limit("default", Policy::default()).await;
    assert_eq!(w.gate(child).await, Some(Gate::Open));
    assert_eq!(w.claimable().await, [child]);
    w.done(&busy).await;
    assert_eq!(w.state(root).await, State::Waiting);
}

/// A family that waits for a family slot is cancelled like any other.
pub async fn a_family_without_room_can_be_cancelled(w: &World) {
    w.serial(1).await;
    let (root, child) = w.failed_family().await;
    let busy = w.root().await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.store.cancel(root).await.unwrap(), kinfolk_core::operate::Cancelled::Now);
    assert_eq!((w.state(root).await, w.state(child).await), (State::Cancelled, State::Cancelled));
    w.done(&busy).await;
    assert_eq!(w.claimable().await, []);
}

/// After a repair, a settle of the failed attempt is stale, and one of the parent hears that it waits.
pub async fn old_tokens_do_no_harm_after_a_repair(w: &World) {
    let root = w.root().await;
    w.leave_behind(&root, children(1)).await;
    let child = w.start(w.kids(root.id).await[0]).await;
    w.fail(&child, Retry::Never).await;
    w.store.retry_family(root.id).await.unwrap();
    assert_eq!(w.done(&child).await, Settled::Stale);
    assert_eq!(w.leave_behind(&root, children(1)).await, Settled::Repeated(State::Waiting));
    assert_eq!(w.tally(root.id).await, counts(1, 0, 0, 0));
}

/// A single child is retried while its parent waits, and its old end is no longer counted.
pub async fn a_child_is_retried_while_its_parent_waits(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    w.work(kids[0], failed(Retry::Never)).await;
    w.store.cancel(kids[1]).await.unwrap();
    assert_eq!(w.tally(root).await, counts(3, 0, 1, 1));
    for child in &kids[..2] {
        assert_eq!(w.store.retry(*child).await.unwrap().state, State::Pending);
    }
    assert_eq!(w.tally(root).await, counts(3, 0, 0, 0));
    for child in kids {
        assert_eq!(w.state(root).await, State::Waiting);
        w.work(child, Outcome::Done(None)).await;
    }
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(3, 3, 0, 0)));
}

/// A parent is retried with what is below it, and waits for that again: a root, and a branch while its parent waits.
pub async fn a_parent_is_retried_with_what_is_below_it(w: &World) {
    let (root, child) = w.failed_family().await;
    assert_eq!(w.store.retry(root).await.unwrap().state, State::Waiting);
    assert_eq!(w.claimable().await, [child]);
    w.store.cancel(root).await.unwrap();
    let task = w.store.retry(root).await.unwrap();
    assert_eq!((task.state, task.outcome, &task), (State::Waiting, Some(State::Completed), &w.get(root).await));
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Completed);
    let (root, kids) = w.parent_of(2).await;
    let branch = w.start(kids[0]).await;
    w.leave_behind(&branch, crate::family::these([crate::world::new_task("mail")])).await;
    w.store.cancel(branch.id).await.unwrap();
    assert_eq!(w.tally(root).await, counts(2, 0, 0, 1));
    assert_eq!(w.store.retry(branch.id).await.unwrap().state, State::Waiting);
    assert_eq!(w.tally(root).await, counts(2, 0, 0, 0));
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Waiting);
    w.work(w.kids(branch.id).await[0], Outcome::Done(None)).await;
    assert_eq!((w.state(branch.id).await, w.state(root).await), (State::Completed, State::Completed));
}

/// A child whose parent has ended is not retried without it.
pub async fn a_child_of_an_ended_parent_is_not_retried_alone(w: &World) {
    let (root, child) = w.failed_family().await;
    wrong_state(w.store.retry(child).await, child, State::Failed, "retry its family instead");
    w.store.retry(root).await.unwrap();
    wrong_state(w.store.retry(root).await, root, State::Waiting, "only failed and cancelled tasks can be retried");
}

/// A family whose failed tasks have gone by retention, while its root has not, is refused. A refused retry changes nothing, alone
/// and within a bulk.
pub async fn a_refused_retry_changes_nothing(w: &World) {
    const REMEDY: &str = "its failed tasks have been removed by retention, enqueue it anew";
    w.limit("default", Policy::keeping(Retention { failed: Some(secs(0)), ..Retention::default() })).await;
    let (line, parent) = w.chain(1).await;
    w.leave_behind(&parent, children(SWEEP_PAGE)).await;
    let worker = w.worker().await;
    let leaves = w.claim(worker, SWEEP_PAGE).await;
    let settles: Vec<_> = leaves.iter().map(|leaf| settle_of(leaf, failed(Retry::Never))).collect();
    w.store.settle(&settles).await.unwrap();
    assert_eq!(w.state(line[0]).await, State::Failed);
    assert_eq!(w.store.prune().await.unwrap(), SWEEP_PAGE as u64, "the root and its child are left");

    let before = w.everything().await;
    wrong_state(w.store.retry_family(line[1]).await, line[0], State::Failed, REMEDY);
    wrong_state(w.store.retry(line[0]).await, line[0], State::Failed, REMEDY);
    let page = w.store.bulk(Action::Retry, &Filter { limit: 10, ..Filter::default() }).await.unwrap();
    assert_eq!(page, BulkPage { skipped: 2, ..BulkPage::default() });
    assert_eq!(w.everything().await, before);
}
