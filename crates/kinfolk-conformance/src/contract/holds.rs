//! Slots that a family holds from the first claim of a task until it has ended.

use kinfolk_core::{GroupSpec, Groups, NewTask, Outcome, Retry, Rule, Settled, State, TaskId};

use crate::family::these;
use crate::flow::{fan_out_of, sleeping, waiting_for};
use crate::grouped::{heir, shared, task_of, with_groups};
use crate::world::{World, failed, ids, secs};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

/// `mail` and `report` share a group with so many slots, held for families or not.
async fn sharing(w: &World, limit: u32, hold: bool) {
    let spec = GroupSpec { hold, ..GroupSpec::limit(limit).shared() };
    let groups = Groups::of([("tenant", spec)]).unwrap();
    w.store.register(&["mail", "report"].map(|name| with_groups(name, groups.clone()))).await.unwrap();
}

async fn held(w: &World) -> Vec<TaskId> {
    w.holders_in(&shared("tenant"), "acme").await
}

/// Twenty parents at the limit with a child each, all under one key: everything ends.
async fn drains(w: &World, hold: bool, awaited: bool) {
    sharing(w, 20, hold).await;
    let made = w.many_under("mail", &ACME, 20).await;
    let parents = w.look(100).await.tasks;
    assert_eq!(parents.len(), 20);
    for parent in &parents {
        if awaited {
            w.suspend_and_wait(waiting_for(parent, fan_out_of("item", vec![heir("report", &[])], Rule::CollectAll)))
                .await;
        } else {
            w.leave_behind(parent, these([heir("report", &[])])).await;
        }
    }
    assert_eq!(held(w).await.len(), if hold { 20 } else { 0 });
    for _ in 0..40 {
        for task in w.look(7).await.tasks {
            w.done(&task).await;
        }
    }
    assert_eq!(w.in_state(State::Completed).await.len(), 40);
    assert!(made.len() == 20 && held(w).await.is_empty());
}

/// Parents at the limit that gave their slots back drain with their children.
pub async fn parents_that_wait_drain_with_their_children(w: &World) {
    drains(w, false, false).await;
}

/// Parents at the limit that hold their slots drain with their children, which need none.
pub async fn parents_that_hold_drain_with_their_children(w: &World) {
    drains(w, true, false).await;
}

/// Handlers at the limit that await children drain.
pub async fn handlers_that_wait_drain_with_their_children(w: &World) {
    drains(w, false, true).await;
}

/// Handlers at the limit that hold their slots while they await children drain.
pub async fn handlers_that_hold_drain_with_their_children(w: &World) {
    drains(w, true, true).await;
}

/// A held slot is kept through everything that is not the end of the task.
pub async fn a_slot_is_held_until_the_task_has_ended(w: &World) {
    sharing(w, 1, true).await;
    let id = w.under(&ACME).await;
    w.under(&ACME).await;
    for outcome in [failed(Retry::After(secs(5))), Outcome::Snooze(secs(5)), Outcome::YieldFamilySlot(secs(5))] {
        w.work(id, outcome).await;
        assert_eq!((held(w).await, w.claim_nothing().await), (vec![id], true));
        w.advance(5).await;
    }
    w.work(id, Outcome::Release).await;
    assert_eq!(held(w).await, [id]);
    let task = w.start(id).await;
    w.suspend_and_wait(sleeping(&task, w.now().plus(secs(5)))).await;
    assert_eq!((held(w).await, w.claim_nothing().await), (vec![id], true));
    w.advance(5).await;
    w.start(id).await;
    w.lose_all().await;
    assert_eq!(held(w).await, [id]);
    let task = w.start(id).await;
    w.leave_behind(&task, these([task_of("report", &[])])).await;
    assert_eq!(held(w).await, [id]);
    let kid = w.kids(id).await[0];
    w.work(kid, Outcome::Done(None)).await;
    assert_eq!((w.state(id).await, held(w).await), (State::Completed, vec![]));
    assert_eq!(w.look(9).await.tasks.len(), 1);
}

/// The tasks below a holder take no slot under the same key, at any depth; under another key they do.
pub async fn descendants_of_a_holder_take_none(w: &World) {
    sharing(w, 1, true).await;
    let root = w.start(w.under(&ACME).await).await;
    let beta = task_of("report", &[("tenant", "beta")]);
    w.leave_behind(&root, these([heir("report", &[]), heir("report", &[]), beta.clone(), beta])).await;
    let taken = w.look(9).await.tasks;
    let kids = w.kids(root.id).await;
    assert_eq!(ids(&taken), kids[..3]);
    assert_eq!(taken.iter().map(|task| task.holds_slots).collect::<Vec<_>>(), [false, false, true]);
    w.leave_behind(&taken[0], these([heir("report", &[])])).await;
    assert_eq!(w.look(9).await.tasks.len(), 1);
    assert_eq!(held(w).await, [root.id]);
    w.under(&ACME).await;
    assert!(w.claim_nothing().await);
}

/// A holder that is cancelled between two attempts gives its slot back.
pub async fn a_cancelled_holder_gives_its_slot_back(w: &World) {
    sharing(w, 1, true).await;
    let first = w.under(&ACME).await;
    w.work(first, Outcome::Snooze(secs(900))).await;
    let next = w.under(&ACME).await;
    assert!(w.claim_nothing().await);
    w.store.cancel(first).await.unwrap();
    assert_eq!(held(w).await, []);
    w.start(next).await;
}

/// A holder that waits for its children, and is cancelled, holds until they have ended.
pub async fn a_cancelled_family_holds_until_it_has_ended(w: &World) {
    sharing(w, 1, true).await;
    let root = w.start(w.under(&ACME).await).await;
    w.leave_behind(&root, these([heir("report", &[])])).await;
    let kid = w.look(1).await.tasks.remove(0);
    w.store.cancel(root.id).await.unwrap();
    let next = w.under(&ACME).await;
    assert!(w.claim_nothing().await);
    w.settle(&kid, Outcome::Cancelled).await;
    assert_eq!(w.state(root.id).await, State::Cancelled);
    w.start(next).await;
}

/// A task that failed and is retried by hand starts without a slot.
pub async fn a_retried_holder_needs_its_slot_anew(w: &World) {
    sharing(w, 1, true).await;
    let first = w.under(&ACME).await;
    w.work(first, failed(Retry::Never)).await;
    assert_eq!(held(w).await, []);
    let next = w.start(w.under(&ACME).await).await;
    w.store.retry(first).await.unwrap();
    assert!(w.claim_nothing().await);
    w.done(&next).await;
    w.start(first).await;
}

/// A group that no longer holds gives back the slots of those that do not run.
pub async fn a_group_that_holds_no_longer_gives_slots_back(w: &World) {
    sharing(w, 2, true).await;
    let waits = w.under(&ACME).await;
    w.work(waits, Outcome::Snooze(secs(900))).await;
    let runs = w.start(w.under(&ACME).await).await;
    let next = w.under(&ACME).await;
    assert!(w.claim_nothing().await);
    sharing(w, 2, false).await;
    assert_eq!(held(w).await, [runs.id]);
    w.start(next).await;
}

/// A child that runs on the slot of one above it holds one of its own when the group no longer holds.
pub async fn who_ran_on_a_held_slot_takes_its_own_when_the_group_holds_no_longer(w: &World) {
    sharing(w, 1, true).await;
    let root = w.start(w.under(&ACME).await).await;
    w.leave_behind(&root, these([heir("report", &[])])).await;
    let kid = w.look(1).await.tasks.remove(0);
    let next = w.under(&ACME).await;
    sharing(w, 1, false).await;
    assert_eq!(held(w).await, [kid.id]);
    assert!(w.claim_nothing().await);
    w.done(&kid).await;
    w.start(next).await;
}

/// The same when the command of the one above leaves the group.
pub async fn who_ran_on_a_held_slot_takes_its_own_when_the_holder_leaves(w: &World) {
    sharing(w, 1, true).await;
    let root = w.start(w.under(&ACME).await).await;
    w.leave_behind(&root, these([heir("report", &[])])).await;
    let kid = w.look(1).await.tasks.remove(0);
    let next = w.create(task_of("report", &ACME)).await;
    w.store.register(&[with_groups("mail", Groups::new())]).await.unwrap();
    assert_eq!(held(w).await, [kid.id]);
    assert!(w.claim_nothing().await);
    w.done(&kid).await;
    w.start(next).await;
}

/// A task that holds a slot for its family keeps one when the group becomes shared.
pub async fn a_held_slot_goes_over_to_a_group_that_becomes_shared(w: &World) {
    w.groups([("tenant", GroupSpec::limit(1).hold())]).await;
    let first = w.under(&ACME).await;
    w.work(first, Outcome::Snooze(secs(900))).await;
    let next = w.under(&ACME).await;
    sharing(w, 1, true).await;
    assert_eq!(held(w).await, [first]);
    assert!(w.claim_nothing().await);
    w.store.cancel(first).await.unwrap();
    assert_eq!(held(w).await, []);
    w.start(next).await;
}

/// Without `hold`, a child takes a slot of its own even while its parent runs.
pub async fn a_running_parent_spares_no_slot(w: &World) {
    sharing(w, 1, false).await;
    let task = w.start(w.under(&ACME).await).await;
    w.suspend_and_wait(kinfolk_core::Suspend {
        made: Some(Box::new(these([heir("report", &[])]))),
        ..sleeping(&task, w.now().plus(secs(1)))
    })
    .await;
    w.advance(1).await;
    let again = w.start(task.id).await;
    assert!(w.claim_nothing().await);
    assert_eq!(w.settle(&again, Outcome::Done(None)).await, Settled::Recorded(State::Waiting));
    assert_eq!(w.look(9).await.tasks.len(), 1);
}

/// A held slot costs a start at each claim all the same.
pub async fn a_holder_takes_a_start_at_each_claim(w: &World) {
    let spec = GroupSpec::limit(1).and_rate(kinfolk_core::Rate::per_minute(1)).hold();
    w.groups([("tenant", spec)]).await;
    let id = w.create(NewTask { max_attempts: Some(5), ..task_of("mail", &ACME) }).await;
    w.work(id, failed(Retry::After(secs(0)))).await;
    assert_eq!(w.words(id).await, ["key_rate"]);
    assert!(w.claim_nothing().await);
    w.advance(60).await;
    w.start(id).await;
}
