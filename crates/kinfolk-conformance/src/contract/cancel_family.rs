//! Cancelling: a task and everything below it, in one go.

use std::collections::BTreeSet;

use kinfolk_core::limits::DEPTH_MAX;
use kinfolk_core::operate::Cancelled;
use kinfolk_core::{ChildOrder, Failure, Outcome, Retry, Settled, State};

use super::cancel::too_late;
use crate::family::{children, counts, in_order, these};
use crate::world::{World, failed, new_task};

/// A family in which nothing runs is cancelled at once, from the root to the last leaf.
pub async fn a_family_in_which_nothing_runs_ends_at_once(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    let child = w.start(kids[0]).await;
    w.leave_behind(&child, children(2)).await;
    w.advance(1).await;
    assert_eq!(w.store.cancel(root).await.unwrap(), Cancelled::Now);
    for task in w.all().await {
        assert_eq!((task.state, task.outcome), (State::Cancelled, None), "task {}", task.id);
        assert_eq!((task.failure, task.result), (Some(Failure::cancelled()), None));
        assert_eq!(task.finished_at, Some(w.now()));
    }
    assert_eq!(w.tally(root).await, counts(2, 0, 0, 2));
}

/// What runs is asked to stop, what pends is cancelled, and what waits ends as cancelled with its last child.
pub async fn what_runs_is_asked_and_its_parents_wait_for_it(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    let (runs, parent) = (w.start(kids[0]).await, w.start(kids[1]).await);
    w.leave_behind(&parent, these([new_task("mail")])).await;
    let grandchild = w.start(w.kids(parent.id).await[0]).await;
    w.advance(1).await;
    assert_eq!(w.store.cancel(root).await.unwrap(), Cancelled::Requested);
    assert_eq!(w.states(root).await, [State::Running, State::Waiting, State::Cancelled]);
    for id in [root, parent.id] {
        let task = w.get(id).await;
        assert_eq!((task.state, task.outcome), (State::Waiting, Some(State::Cancelled)));
        assert_eq!((task.result, task.failure, task.finished_at), (None, None, None));
        assert_eq!(task.cancel_requested_at, Some(w.now()));
    }
    assert_eq!(w.done(&grandchild).await, Settled::Recorded(State::Cancelled));
    assert_eq!((w.state(parent.id).await, w.state(root).await), (State::Cancelled, State::Waiting));
    w.settle(&runs, Outcome::Cancelled).await;
    let shown = w.get(root).await;
    assert_eq!((shown.state, shown.failure, shown.outcome), (State::Cancelled, Some(Failure::cancelled()), None));
    assert_eq!(w.tally(root).await, counts(3, 0, 0, 3));
}

/// The heartbeats of all workers bring the requests of the whole family.
pub async fn the_heartbeats_bring_all_requests(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    let tasks = [w.start(kids[0]).await, w.start(kids[1]).await];
    w.store.cancel(root).await.unwrap();
    for task in tasks {
        let worker = w.get(task.id).await.worker.unwrap();
        assert_eq!(w.store.heartbeat(worker).await.unwrap().cancel, [(task.id, task.token)]);
    }
}

/// A running child of a cancelled family makes no more children: its completion comes too late.
pub async fn a_cancelled_family_takes_no_new_child(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    let child = w.start(kids[0]).await;
    w.store.cancel(root).await.unwrap();
    let made = kinfolk_core::Made { siblings: crate::family::siblings(1).siblings, ..children(2) };
    assert_eq!(w.leave_behind(&child, made).await, Settled::Recorded(State::Cancelled));
    assert_eq!((w.all().await.len(), w.state(root).await), (2, State::Cancelled));
}

/// Cancelling in the middle ends that branch alone; those above settle as if it had ended by itself.
pub async fn a_branch_is_cancelled_alone(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    let branch = w.start(kids[0]).await;
    w.leave_behind(&branch, children(2)).await;
    assert_eq!(w.store.cancel(branch.id).await.unwrap(), Cancelled::Now);
    assert_eq!(w.states(root).await, [State::Cancelled, State::Pending]);
    assert_eq!(w.states(branch.id).await, [State::Cancelled, State::Cancelled]);
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Completed);
}

/// Cancelling the last open branch settles everything above it in the same call.
pub async fn cancelling_the_last_branch_settles_those_above(w: &World) {
    let (line, leaf) = w.chain(4).await;
    w.settle(&leaf, Outcome::Release).await;
    assert_eq!(w.store.cancel(line[2]).await.unwrap(), Cancelled::Now);
    for (id, state) in line.iter().zip([State::Completed, State::Completed, State::Cancelled, State::Cancelled]) {
        assert_eq!(w.state(*id).await, state);
    }
}

/// What has ended keeps its state; a family with a failed child that is cancelled is cancelled, not failed.
pub async fn what_has_ended_keeps_its_state(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    w.work(kids[0], failed(Retry::Never)).await;
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!(w.store.cancel(root).await.unwrap(), Cancelled::Now);
    assert_eq!(w.states(root).await, [State::Failed, State::Completed, State::Cancelled]);
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Cancelled, counts(3, 1, 1, 1)));
}

/// The deepest family is cancelled to its last leaf.
pub async fn the_deepest_family_is_cancelled_whole(w: &World) {
    let (line, leaf) = w.chain(usize::from(DEPTH_MAX)).await;
    assert_eq!(w.store.cancel(line[0]).await.unwrap(), Cancelled::Requested);
    assert!(w.get(leaf.id).await.cancel_requested_at.is_some());
    w.done(&leaf).await;
    for id in line {
        assert_eq!(w.state(id).await, State::Cancelled);
    }
}

/// The widest family is cancelled whole, and not a page of it.
pub async fn a_wide_family_is_cancelled_whole(w: &World) {
    let (root, kids) = w.parent_of(1_500).await;
    assert_eq!(kids.len(), 1_000, "a page of children");
    assert_eq!(w.store.cancel(root).await.unwrap(), Cancelled::Now);
    assert_eq!(w.tally(root).await, counts(1_500, 0, 0, 1_500));
    assert_eq!(w.in_state(State::Cancelled).await.len(), 1_501);
}

/// Asking twice changes nothing, and asking after the end is too late.
pub async fn asking_twice_changes_nothing(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    let child = w.start(kids[0]).await;
    assert_eq!(w.store.cancel(root).await.unwrap(), Cancelled::Requested);
    let before = w.all().await;
    w.advance(5).await;
    assert_eq!(w.store.cancel(root).await.unwrap(), Cancelled::Requested);
    assert_eq!(w.all().await, before);
    w.done(&child).await;
    too_late(w, root, State::Cancelled).await;
}

/// A cancelled family whose worker is lost ends with the recovery.
pub async fn a_lost_worker_ends_a_cancelled_family(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    w.start(kids[0]).await;
    w.start(kids[1]).await;
    w.store.cancel(root).await.unwrap();
    assert_eq!(w.lose_all().await.cancelled, 2);
    assert_eq!(w.state(root).await, State::Cancelled);
}

/// Cancelling children in order opens none of them on the way.
pub async fn nothing_of_a_cancelled_order_begins(w: &World) {
    let root = w.waiting(in_order(4, ChildOrder::InOrder)).await;
    let kids = w.kids(root).await;
    let first = w.start(kids[0]).await;
    w.store.cancel(root).await.unwrap();
    assert_eq!(w.claimable().await, []);
    w.done(&first).await;
    let cancelled: BTreeSet<_> = kids.into_iter().chain([root]).collect();
    assert_eq!(w.in_state(State::Cancelled).await, cancelled);
}
