//! Siblings: a child finds more work for its own parent, and the parent waits for that too.

use kinfolk_core::{Failure, Gate, Made, NewTask, Outcome, Rejection, Retry, Settled, State};

use crate::family::{children, children_at_once, counts, deep, done_with, home, siblings};
use crate::world::{World, failed, new_task, queue_name, settle_of};

/// A sibling is a child of the same parent, with the parent's priority and the root's position, after those there are.
pub async fn a_sibling_is_a_child_of_the_same_parent(w: &World) {
    let root = w.root().await;
    let wanted = NewTask { priority: Some(3), ..new_task("report") };
    w.leave_behind(&root, crate::family::these([wanted, new_task("report")])).await;
    let kids = w.kids(root.id).await;
    w.advance(10).await;
    w.start(kids[1]).await;
    let maker = w.start(kids[0]).await;
    w.leave_behind(&maker, siblings(1)).await;
    let all = w.kids(root.id).await;
    assert_eq!(all[..2], kids);
    let (sibling, root) = (w.get(all[2]).await, w.get(root.id).await);
    assert_eq!((sibling.parent, sibling.root, sibling.depth), (Some(root.id), root.id, 1));
    assert_eq!((sibling.priority, sibling.position, sibling.gate), (root.priority, root.position, Some(Gate::Open)));
    assert_eq!(w.kids(maker.id).await, []);
}

/// The last child leaves a sibling behind: the parent does not end before that one has.
pub async fn the_parent_waits_for_siblings_too(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    let mut maker = w.start(kids[0]).await;
    for n in 2..=6 {
        assert_eq!(w.leave_behind(&maker, siblings(1)).await, Settled::Recorded(State::Completed));
        assert_eq!((w.state(root).await, w.tally(root).await), (State::Waiting, counts(n, n - 1, 0, 0)));
        let latest = *w.kids(root).await.last().unwrap();
        maker = w.start(latest).await;
    }
    w.done(&maker).await;
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(6, 6, 0, 0)));
}

/// In one batch, the sibling that one child leaves and the end of the last other child do not miss each other.
pub async fn a_sibling_in_a_batch_of_last_ends_is_waited_for(w: &World) {
    for maker_first in [true, false] {
        let (root, kids) = w.parent_of(2).await;
        let (maker, other) = (w.start(kids[0]).await, w.start(kids[1]).await);
        let mut batch = vec![done_with(&maker, siblings(1)), settle_of(&other, Outcome::Done(None))];
        if !maker_first {
            batch.reverse();
        }
        w.store.settle(&batch).await.unwrap();
        assert_eq!((w.state(root).await, w.tally(root).await), (State::Waiting, counts(3, 2, 0, 0)));
        w.work(w.kids(root).await[2], Outcome::Done(None)).await;
        assert_eq!(w.state(root).await, State::Completed);
    }
}

/// A root has no siblings: the attempt fails for good, and says why.
pub async fn a_root_has_no_siblings(w: &World) {
    let root = w.root().await;
    assert_eq!(w.leave_behind(&root, siblings(1)).await, Settled::Recorded(State::Failed));
    assert_eq!(w.get(root.id).await.failure, Some(Failure::refused(&Rejection::NoParent(root.id))));
    assert_eq!(w.all().await.len(), 1);
}

/// A child may leave siblings and children of its own at once; it waits for its own, the parent for all.
pub async fn a_child_may_leave_siblings_and_children_at_once(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    let maker = w.start(kids[0]).await;
    let made = Made { siblings: siblings(1).siblings, ..children(1) };
    assert_eq!(w.leave_behind(&maker, made).await, Settled::Recorded(State::Waiting));
    let (sibling, child) = (w.kids(root).await[1], w.kids(maker.id).await[0]);
    assert!(sibling < child);
    w.work(sibling, Outcome::Done(None)).await;
    assert_eq!((w.state(root).await, w.state(maker.id).await), (State::Waiting, State::Waiting));
    w.work(child, failed(Retry::Never)).await;
    assert_eq!((w.state(root).await, w.state(maker.id).await), (State::Failed, State::Failed));
}

/// A sibling is refused where a child would be: by its queue, and by the depth that the family has now.
pub async fn a_sibling_is_refused_where_a_child_would_be(w: &World) {
    w.limit("bulk", children_at_once(0)).await;
    let cases = [
        (new_task("export"), Rejection::NoChildren(queue_name("bulk"))),
        (new_task("report"), Rejection::TooDeep(home())),
    ];
    for (sibling, why) in cases {
        let (root, kids) = w.parent_of(1).await;
        let maker = w.start(kids[0]).await;
        w.limit("default", deep(0)).await;
        let made = Made { siblings: vec![sibling], ..Made::default() };
        assert_eq!(w.leave_behind(&maker, made).await, Settled::Recorded(State::Failed));
        assert_eq!(w.get(maker.id).await.failure, Some(Failure::refused(&why)));
        assert_eq!((w.state(root).await, w.tally(root).await.total), (State::Failed, 1));
        w.limit("default", deep(1)).await;
    }
}
