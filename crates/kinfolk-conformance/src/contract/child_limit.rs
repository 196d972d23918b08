//! Queues on which only so many children run at once, over all families.

use kinfolk_core::{NewTask, Outcome, Policy, Retry, State};

use crate::family::{children, children_at_once, on, these};
use crate::world::{World, failed, ids, new_task, secs, settle_of};

/// No more children run than the limit says, over all families together; roots are not counted.
pub async fn only_so_many_children_run_at_once(w: &World) {
    w.limit("default", children_at_once(3)).await;
    let (one, two) = (w.root().await, w.root().await);
    w.leave_behind(&one, children(2)).await;
    w.leave_behind(&two, children(2)).await;
    let flat = w.create(NewTask { priority: Some(9), ..new_task("mail") }).await;
    let worker = w.worker().await;
    let taken = w.claim(worker, 10).await;
    let kids = [w.kids(one.id).await, w.kids(two.id).await].concat();
    assert_eq!(ids(&taken), [kids[0], kids[1], kids[2], flat]);
    assert_eq!(w.claimable().await, []);
    w.done(&taken[1]).await;
    assert_eq!(w.claimable().await, [kids[3]]);
}

/// A child that stops running gives its room back, however it stops.
pub async fn every_way_to_stop_gives_the_room_back(w: &World) {
    w.limit("default", children_at_once(1)).await;
    let (_, kids) = w.parent_of(6).await;
    let ends = [
        Outcome::Done(None),
        failed(Retry::Never),
        failed(Retry::After(secs(900))),
        Outcome::Snooze(secs(900)),
        Outcome::YieldFamilySlot(secs(900)),
    ];
    for (child, outcome) in kids.iter().zip(ends) {
        assert_eq!(w.claimable().await, [*child]);
        w.work(*child, outcome).await;
    }
    w.work(kids[5], Outcome::Release).await;
    w.start(kids[5]).await;
    assert_eq!(w.claimable().await, []);
    w.lose_all().await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 5).await, [kids[5]]);
    w.store.leave(worker).await.unwrap();
    assert_eq!(w.claimable().await, [kids[5]]);
}

/// Children that wait for their own children use no room, so nested families can't lock each other up.
pub async fn waiting_children_use_no_room(w: &World) {
    w.limit("default", children_at_once(1)).await;
    let (line, leaf) = w.chain(6).await;
    w.done(&leaf).await;
    for id in line {
        assert_eq!(w.state(id).await, State::Completed);
    }
}

/// A limit belongs to the queue the child is on, not to its family's.
pub async fn the_limit_belongs_to_the_childs_queue(w: &World) {
    w.limit("bulk", children_at_once(1)).await;
    let root = w.waiting(these([on("bulk"), new_task("report"), on("bulk"), new_task("report")])).await;
    let kids = w.kids(root).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 10).await, [kids[1], kids[3]]);
    assert_eq!(ids(&w.claim_on("bulk", worker, 10).await), [kids[0]]);
    assert_eq!(ids(&w.claim_on("bulk", worker, 10).await), []);
}

/// A limit that is introduced counts the children that run by then; lowered, it interrupts nothing; raised, it lets more in.
pub async fn the_limit_may_change_while_children_run(w: &World) {
    let (_, kids) = w.parent_of(6).await;
    let worker = w.worker().await;
    let running = w.claim(worker, 3).await;
    w.limit("default", children_at_once(2)).await;
    for task in &running[..2] {
        assert_eq!(w.claimable().await, []);
        w.done(task).await;
    }
    assert_eq!(w.claimable().await, [kids[3]]);
    w.limit("default", children_at_once(3)).await;
    assert_eq!(w.claimable().await, kids[3..5]);
    w.limit("default", Policy::default()).await;
    assert_eq!(w.claimable().await, kids[3..]);
}

/// Both limits hold together: one family at work, and in it so many children.
pub async fn both_limits_hold_together(w: &World) {
    w.limit("default", Policy { family_limit: Some(1), ..children_at_once(2) }).await;
    let root = w.waiting(children(3)).await;
    let other = w.enqueue("mail").await;
    let worker = w.worker().await;
    let first = w.claim(worker, 10).await;
    assert_eq!(ids(&first), w.kids(root).await[..2]);
    let batch: Vec<_> = first.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
    w.store.settle(&batch).await.unwrap();
    let last = w.claim(worker, 10).await;
    assert_eq!(ids(&last), w.kids(root).await[2..]);
    w.done(&last[0]).await;
    assert_eq!(w.claimable().await, [other]);
}
