//! Queues on which only so many families work at once: from the first claim of the root until it has ended.

use std::time::Duration;

use kinfolk_core::{Claim, Gate, NewTask, Outcome, Policy, Retention, Retry, Settled, State, TaskId, Timestamp};

use crate::family::{children, children_at_once, families_at_once, on, these};
use crate::world::{World, claim_of, failed, new_task, queue_name, secs};

async fn roots(w: &World, many: usize) -> Vec<TaskId> {
    let mut made = Vec::new();
    for _ in 0..many {
        made.push(w.enqueue("mail").await);
        w.advance(1).await;
    }
    made
}

/// With a limit of one, a claim as wide as it likes gets one root, and the next ones get none until that one has ended.
pub async fn top_level_tasks_run_one_after_another(w: &World) {
    w.serial(1).await;
    let made = roots(w, 3).await;
    for (n, root) in made.iter().enumerate() {
        let worker = w.worker().await;
        let tasks = w.claim(worker, 10).await;
        assert_eq!(crate::world::ids(&tasks), [*root]);
        assert_eq!(w.claimable().await, []);
        let outcomes = [Outcome::Done(None), failed(Retry::Never), Outcome::Cancelled];
        w.settle(&tasks[0], outcomes[n].clone()).await;
    }
    assert_eq!(w.claimable().await, []);
}

/// A limit of two lets two families work.
pub async fn as_many_families_work_as_the_limit_says(w: &World) {
    w.serial(2).await;
    let made = roots(w, 4).await;
    let worker = w.worker().await;
    let tasks = w.claim(worker, 10).await;
    assert_eq!(crate::world::ids(&tasks), made[..2]);
    w.done(&tasks[1]).await;
    assert_eq!(w.claim_ids(worker, 10).await, [made[2]]);
}

/// Children run side by side inside the family at work, whatever its limit; no other root starts until the last has ended.
pub async fn children_run_side_by_side_inside_the_family(w: &World) {
    w.serial(1).await;
    let root = w.waiting(children(3)).await;
    let other = w.enqueue("mail").await;
    let worker = w.worker().await;
    let kids = w.claim(worker, 10).await;
    assert_eq!(crate::world::ids(&kids), w.kids(root).await);
    for child in &kids {
        assert_eq!(w.claimable().await, []);
        w.done(child).await;
    }
    assert_eq!(w.claimable().await, [other]);
}

/// A family keeps its family slot through a retry, a snooze, a release, a lost worker and a worker that leaves.
pub async fn a_family_keeps_its_family_slot_between_attempts(w: &World) {
    w.serial(1).await;
    let made = roots(w, 2).await;
    let outcomes = [failed(Retry::After(secs(20))), Outcome::Snooze(secs(20)), Outcome::Release];
    for outcome in outcomes {
        assert_eq!(w.work(made[0], outcome.clone()).await, Settled::Recorded(State::Pending));
        if outcome != Outcome::Release {
            assert_eq!(w.claimable().await, [], "{outcome:?}");
            w.advance(20).await;
        }
    }
    w.start(made[0]).await;
    w.lose_all().await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 10).await, [made[0]]);
    w.store.leave(worker).await.unwrap();
    let task = w.start(made[0]).await;
    w.done(&task).await;
    assert_eq!(w.claimable().await, [made[1]]);
}

/// Cancelling the root at work frees its family slot at once, if it is between attempts, or when it has ended.
pub async fn a_cancelled_root_frees_its_family_slot(w: &World) {
    w.serial(1).await;
    let made = roots(w, 3).await;
    w.work(made[0], Outcome::Snooze(secs(500))).await;
    w.store.cancel(made[0]).await.unwrap();
    let second = w.start(made[1]).await;
    w.store.cancel(second.id).await.unwrap();
    assert_eq!(w.claimable().await, []);
    w.done(&second).await;
    assert_eq!(w.claimable().await, [made[2]]);
}

/// Queues do not block each other, and a limit belongs to the queue of the root alone.
pub async fn queues_do_not_block_each_other(w: &World) {
    w.serial(1).await;
    w.limit("bulk", families_at_once(1)).await;
    let root = w.waiting(these([on("bulk"), on("bulk")])).await;
    let there = w.enqueue("export").await;
    let worker = w.worker().await;
    let taken = w.claim_on("bulk", worker, 10).await;
    let mut expected = w.kids(root).await;
    expected.push(there);
    assert_eq!(crate::world::ids(&taken), expected, "children take no family slot of the queue they are on");
    assert_eq!(w.claimable().await, []);
}

/// Families finish before new ones start: children stand at their root's position, before every younger root.
pub async fn families_finish_before_new_ones_start(w: &World) {
    let first = w.root().await;
    w.advance(1).await;
    let second = w.enqueue("mail").await;
    w.advance(1).await;
    w.leave_behind(&first, children(2)).await;
    let mut line = w.kids(first.id).await;
    line.push(second);
    assert_eq!(w.claimable().await, line);
}

/// A root that yields its family slot lets others go first, and needs a new one to go on. It is a snooze in all else.
pub async fn a_root_that_yields_lets_others_go_first(w: &World) {
    w.serial(1).await;
    let made = roots(w, 2).await;
    let first = w.start(made[0]).await;
    assert_eq!(w.settle(&first, Outcome::YieldFamilySlot(secs(10))).await, Settled::Recorded(State::Pending));
    let shown = w.get(first.id).await;
    assert_eq!((shown.gate, shown.due, shown.attempt), (Some(Gate::Time), w.now().plus(secs(10)), 0));
    assert_eq!(w.endings(first.id).await, [kinfolk_core::task::Ending::Snoozed]);
    let second = w.start(made[1]).await;
    w.advance(10).await;
    assert_eq!(w.claimable().await, [], "its family slot is taken");
    w.done(&second).await;
    assert_eq!(w.claimable().await, [made[0]]);
}

/// On a queue without a limit, and from a child, yielding is a snooze.
pub async fn yielding_without_a_family_slot_is_a_snooze(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    assert_eq!(w.work(kids[0], Outcome::YieldFamilySlot(secs(0))).await, Settled::Recorded(State::Pending));
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!(w.state(root).await, State::Completed);
    let flat = w.root().await;
    w.settle(&flat, Outcome::YieldFamilySlot(secs(0))).await;
    assert_eq!(w.claimable().await, [flat.id]);
}

/// A limit that is introduced counts what is at work by then, and interrupts nothing.
pub async fn a_new_limit_counts_what_is_at_work(w: &World) {
    let made = roots(w, 4).await;
    let (first, second) = (w.start(made[0]).await, w.start(made[1]).await);
    w.settle(&second, Outcome::Snooze(secs(0))).await;
    w.serial(1).await;
    assert_eq!(w.claimable().await, [made[1]], "it is at work already");
    w.leave_behind(&first, children(1)).await;
    w.work(made[1], Outcome::Done(None)).await;
    let kids = w.kids(first.id).await;
    assert_eq!(w.claimable().await, kids);
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [made[2]]);
}

/// A raised limit lets more in, a lowered one interrupts nothing, and without one all may start.
pub async fn a_limit_may_change_while_families_work(w: &World) {
    w.serial(1).await;
    let made = roots(w, 5).await;
    let worker = w.worker().await;
    let mut running = w.claim(worker, 10).await;
    w.serial(3).await;
    running.extend(w.claim(worker, 10).await);
    assert_eq!(crate::world::ids(&running), made[..3]);
    w.serial(1).await;
    for task in &running[..2] {
        assert_eq!(w.state(task.id).await, State::Running);
        w.done(task).await;
        assert_eq!(w.claimable().await, []);
    }
    w.limit("default", Policy::default()).await;
    assert_eq!(w.claimable().await, made[3..]);
}

/// Changing a queue's retention or depth leaves its families as they are.
pub async fn other_changes_leave_the_families_alone(w: &World) {
    w.serial(1).await;
    let made = roots(w, 2).await;
    w.start(made[0]).await;
    let retention = Retention { completed: None, ..Retention::default() };
    w.limit("default", Policy { retention, depth_limit: 3, ..families_at_once(1) }).await;
    assert_eq!(w.claimable().await, []);
}

/// A repeated claim gives back the same root; it takes no second family slot.
pub async fn a_repeated_claim_takes_no_second_family_slot(w: &World) {
    w.serial(2).await;
    let made = roots(w, 3).await;
    let claim = Claim { limit: 1, ..claim_of(w.worker().await, 1) };
    let first = w.store.claim(&claim).await.unwrap();
    let again = w.store.claim(&Claim { repeated: true, ..claim.clone() }).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(w.claimable().await, [made[1]]);
}

/// The line is walked in order, over roots at work, new roots and children alike; what has no room is passed over.
pub async fn the_order_holds_over_roots_and_children(w: &World) {
    w.serial(2).await;
    let at_work = w.root().await;
    w.advance(1).await;
    w.leave_behind(&at_work, these([NewTask { priority: Some(5), ..new_task("report") }, new_task("report")])).await;
    let kids = w.kids(at_work.id).await;
    let urgent = w.create(NewTask { priority: Some(-1), ..new_task("mail") }).await;
    let (next, last) = (w.enqueue("mail").await, w.create(NewTask { priority: Some(9), ..new_task("report") }).await);
    assert_eq!(w.claimable().await, [urgent, kids[1], kids[0]]);
    w.store.cancel(urgent).await.unwrap();
    assert_eq!(w.claimable().await, [kids[1], next, kids[0]]);
    w.store.cancel(next).await.unwrap();
    assert_eq!(w.claimable().await, [kids[1], kids[0], last]);
}

/// A suspect that has no room does not keep the worker from another suspect that has.
pub async fn a_suspect_without_room_is_passed_over(w: &World) {
    let (_, kids) = w.parent_of(2).await;
    let flat = w.enqueue("mail").await;
    let lost = w.worker().await;
    assert_eq!(w.claim_ids(lost, 10).await, [kids[0], kids[1], flat]);
    w.lose_all().await;
    w.start(kids[0]).await;
    w.limit("default", children_at_once(1)).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 10).await, [flat]);
    assert_eq!(w.claim_ids(worker, 10).await, []);
}

/// Roots that are due later take no family slot before their time, and hold up nobody.
pub async fn a_root_for_later_takes_no_family_slot(w: &World) {
    w.serial(1).await;
    let late = w.create(crate::world::later(30)).await;
    w.advance(1).await;
    let now = w.enqueue("mail").await;
    let claimed: Option<Timestamp> = w.store.claim(&claim_of(w.worker().await, 5)).await.unwrap().next_due;
    assert_eq!(claimed, Some(w.get(late).await.due));
    assert_eq!(w.state(now).await, State::Running);
    w.advance_by(Duration::from_secs(40)).await;
    assert_eq!(w.claimable().await, []);
}

/// A paused serial queue gives nothing out, and keeps the family slots.
pub async fn a_paused_queue_keeps_the_family_slots(w: &World) {
    w.serial(1).await;
    let made = roots(w, 2).await;
    let first = w.start(made[0]).await;
    w.store.pause(&queue_name("default"), None).await.unwrap();
    w.leave_behind(&first, children(1)).await;
    assert_eq!(w.claimable().await, []);
    w.store.resume(&queue_name("default")).await.unwrap();
    assert_eq!(w.claimable().await, w.kids(first.id).await);
}
