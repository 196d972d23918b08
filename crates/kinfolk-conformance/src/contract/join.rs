//! The family rule: a parent settles with its last child, well or badly, at any depth, and never before.

use kinfolk_core::{Failure, FailureKind, Gate, NewTask, Outcome, Retry, Settled, State};

use crate::family::{children, counts, done_with, these};
use crate::world::{World, failed, json, later, new_task, secs, settle_of};

/// The last child completes the parent, at that moment, with the result it had left.
pub async fn the_last_child_completes_the_parent(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    w.advance(1).await;
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Waiting);
    w.advance(1).await;
    w.work(kids[1], Outcome::Done(None)).await;
    let shown = w.get(root).await;
    assert_eq!((shown.state, shown.outcome, shown.failure), (State::Completed, None, None));
    assert_eq!((shown.result, shown.finished_at), (Some(json("1")), Some(w.now())));
}

/// A failed child fails its parent, after all have ended: the others are not interrupted.
pub async fn a_failed_child_fails_its_parent_after_all_have_ended(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    w.work(kids[0], failed(Retry::Never)).await;
    assert_eq!(w.states(root).await, [State::Failed, State::Pending, State::Pending]);
    assert_eq!(w.state(root).await, State::Waiting);
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Waiting);
    w.work(kids[2], Outcome::Done(None)).await;
    let shown = w.get(root).await;
    assert_eq!((shown.state, shown.outcome), (State::Failed, Some(State::Completed)));
    assert_eq!(shown.failure, Some(Failure::children(&counts(3, 2, 1, 0))));
    assert_eq!((shown.result, shown.finished_at), (Some(json("1")), Some(w.now())));
}

/// A failure because of a child costs no attempt and is final, whatever attempts are left.
pub async fn a_failure_by_a_child_is_final_and_no_attempt(w: &World) {
    let (root, _) = w.failed_family().await;
    w.advance(3_600).await;
    assert_eq!(w.claimable().await, []);
    let shown = w.get(root).await;
    assert_eq!((shown.state, shown.attempt), (State::Failed, 1));
    assert_eq!(w.endings(root).await, []);
}

/// A cancelled child does not fail its parent.
pub async fn a_cancelled_child_does_not_fail_its_parent(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    w.store.cancel(kids[0]).await.unwrap();
    assert_eq!(w.tally(root).await, counts(2, 0, 0, 1));
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Completed);
}

/// All children cancelled: the parent completes, since its own work was done.
pub async fn a_parent_of_cancelled_children_completes(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    for child in kids {
        w.store.cancel(child).await.unwrap();
    }
    assert_eq!(w.state(root).await, State::Completed);
}

/// A parent waits for the whole family of each child, at any depth, and they settle from below in one call.
pub async fn ends_go_up_at_any_depth_at_once(w: &World) {
    let (line, leaf) = w.chain(5).await;
    for id in &line[..5] {
        assert_eq!(w.state(*id).await, State::Waiting);
    }
    w.advance(1).await;
    w.done(&leaf).await;
    for id in line {
        let task = w.get(id).await;
        assert_eq!((task.state, task.finished_at), (State::Completed, Some(w.now())));
    }
}

/// A failure goes up through all generations.
pub async fn a_failure_goes_up_through_all_generations(w: &World) {
    let (line, leaf) = w.chain(3).await;
    w.fail(&leaf, Retry::Never).await;
    for id in &line[..3] {
        let task = w.get(*id).await;
        assert_eq!((task.state, task.outcome), (State::Failed, Some(State::Completed)));
        assert_eq!(task.failure.map(|failure| failure.kind), Some(FailureKind::Children));
    }
    assert_eq!(w.get(line[3]).await.outcome, None);
}

/// Retry, snooze, release and the loss of a worker are no ends: the parent waits on, and nothing is counted.
pub async fn only_an_end_counts(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    for outcome in [failed(Retry::After(secs(0))), Outcome::Snooze(secs(0)), Outcome::Release] {
        assert_eq!(w.work(kids[0], outcome).await, Settled::Recorded(State::Pending));
        assert_eq!((w.state(root).await, w.tally(root).await), (State::Waiting, counts(1, 0, 0, 0)));
    }
    w.start(kids[0]).await;
    w.lose_all().await;
    assert_eq!((w.state(kids[0]).await, w.state(root).await), (State::Pending, State::Waiting));
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(1, 1, 0, 0)));
}

/// A child that takes down its workers fails as poison, and its parent with it.
pub async fn a_poisoned_child_fails_its_parent(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    w.allow_strikes(w.get(kids[0]).await.command.as_str(), 1).await;
    for _ in 0..2 {
        assert_eq!(w.state(root).await, State::Waiting);
        w.start(kids[0]).await;
        w.lose_all().await;
    }
    assert_eq!(w.get(kids[0]).await.failure.map(|failure| failure.kind), Some(FailureKind::Poison));
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Failed, counts(1, 0, 1, 0)));
}

/// A child whose end was asked for ends with its worker, by loss or by leave, and is counted like any other.
pub async fn a_child_that_ends_with_its_worker_is_counted(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    let (lost, left) = (w.start(kids[0]).await, w.start(kids[1]).await);
    for task in [&lost, &left] {
        w.store.cancel(task.id).await.unwrap();
    }
    let leaver = w.get(left.id).await.worker.unwrap();
    w.store.leave(leaver).await.unwrap();
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Waiting, counts(2, 0, 0, 1)));
    w.lose_all().await;
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(2, 0, 0, 2)));
}

/// The last children of several families in one batch settle each family once, through all generations.
pub async fn one_batch_settles_many_families(w: &World) {
    let mut roots = Vec::new();
    for _ in 0..5 {
        roots.push(w.waiting(children(3)).await);
    }
    let worker = w.worker().await;
    let mut tasks = w.claim(worker, 100).await;
    tasks.reverse();
    let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
    assert_eq!(w.store.settle(&batch).await.unwrap(), vec![Settled::Recorded(State::Completed); 15]);
    for root in roots {
        assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(3, 3, 0, 0)));
    }
}

/// One batch that ends a child, makes children of another and ends grandchildren of a third leaves each parent right.
pub async fn one_batch_may_end_and_make_in_one_family(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    let (first, second, third) = (w.start(kids[0]).await, w.start(kids[1]).await, w.start(kids[2]).await);
    w.leave_behind(&third, children(1)).await;
    let grandchild = w.start(w.kids(third.id).await[0]).await;
    let batch = [
        settle_of(&grandchild, failed(Retry::Never)),
        done_with(&second, children(1)),
        settle_of(&first, Outcome::Done(None)),
    ];
    let answers = w.store.settle(&batch).await.unwrap();
    assert_eq!(answers, [State::Failed, State::Waiting, State::Completed].map(Settled::Recorded));
    assert_eq!(w.states(root).await, [State::Completed, State::Waiting, State::Failed]);
    w.work(w.kids(second.id).await[0], Outcome::Done(None)).await;
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Failed, counts(3, 2, 1, 0)));
}

/// A waiting parent belongs to no worker: when the one that ran it leaves or is lost, nothing happens to it.
pub async fn a_waiting_parent_belongs_to_no_worker(w: &World) {
    let root = w.root().await;
    let worker = w.get(root.id).await.worker.unwrap();
    w.leave_behind(&root, children(1)).await;
    w.store.leave(worker).await.unwrap();
    w.lose_all().await;
    assert_eq!((w.state(root.id).await, w.endings(root.id).await), (State::Waiting, vec![]));
    let kids = w.kids(root.id).await;
    assert_eq!(w.claimable().await, kids, "only the child can be claimed");
}

/// A settle that is sent again hears what its task has come to since: waiting, then its end.
pub async fn a_repeated_settle_hears_how_the_family_ended(w: &World) {
    let root = w.root().await;
    w.leave_behind(&root, children(1)).await;
    assert_eq!(w.done(&root).await, Settled::Repeated(State::Waiting));
    w.work(w.kids(root.id).await[0], failed(Retry::Never)).await;
    assert_eq!(w.done(&root).await, Settled::Repeated(State::Failed));
}

/// The sweep leaves parents alone that wait for a child that runs, is not due, waits itself or is behind another.
pub async fn the_sweep_leaves_healthy_parents_alone(w: &World) {
    let (_, leaf) = w.chain(2).await;
    let root = w.root().await;
    w.leave_behind(&root, crate::family::in_order(2, kinfolk_core::ChildOrder::InOrder)).await;
    let other = w.root().await;
    w.leave_behind(&other, these([NewTask { command: new_task("report").command, ..later(500) }])).await;
    w.advance(100).await;
    let before = w.everything().await;
    assert_eq!(w.store.sweep().await.unwrap(), 0);
    assert_eq!(w.everything().await, before);
    assert_eq!(w.state(leaf.id).await, State::Running);
    assert_eq!(w.gates(root.id).await, [Some(Gate::Open), Some(Gate::After)]);
}

/// A settled family is over: a late settle of a child is stale or repeated, and moves nothing above it.
pub async fn a_late_settle_moves_nothing_above(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    let lost = w.start(kids[0]).await;
    w.lose_all().await;
    let task = w.start(kids[0]).await;
    w.done(&task).await;
    let before = w.everything().await;
    assert_eq!(w.fail(&lost, Retry::Never).await, Settled::Stale);
    assert_eq!(w.fail(&task, Retry::Never).await, Settled::Repeated(State::Completed));
    assert_eq!(w.everything().await, before);
    assert_eq!(w.tally(root).await, counts(1, 1, 0, 0));
}
