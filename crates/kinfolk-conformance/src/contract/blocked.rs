//! Tasks that wait for a key: nothing else is held up by them, and whatever makes room lets the right one start.

use kinfolk_core::{Claim, ClaimedTask, GroupSpec, Groups, NewTask, Outcome, Setting, TaskId, Wake};

use super::inspect::wake;
use crate::family::{follow_up, home};
use crate::flow::sleeping;
use crate::grouped::{of_mail, slots, task_of, with_groups};
use crate::world::{World, claim_of, command, ids, new_task, queue_name, secs, settle_of};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

/// A task that holds the only slot of a key, and so many that a claim has found waiting for it.
async fn waiters(w: &World, many: usize) -> (ClaimedTask, Vec<TaskId>) {
    w.groups([("tenant", 1)]).await;
    let holder = w.start(w.under(&ACME).await).await;
    let waiting = w.many_under("mail", &ACME, many).await;
    assert_eq!(w.claimable().await, []);
    (holder, waiting)
}

/// Takes and ends tasks one by one; in which order they came.
async fn drain(w: &World) -> Vec<TaskId> {
    let mut order = Vec::new();
    loop {
        let taken = w.look(1).await.tasks;
        let [task] = &taken[..] else { return order };
        order.push(task.id);
        w.done(task).await;
    }
}

/// Under one key they start by priority, position and number, whenever they came.
pub async fn priority_and_age_decide_within_a_key(w: &World) {
    let (holder, waiting) = waiters(w, 3).await;
    w.advance(1).await;
    let late = w.under(&ACME).await;
    let low = w.create(NewTask { priority: Some(5), ..task_of("mail", &ACME) }).await;
    let high = w.create(NewTask { priority: Some(-5), ..task_of("mail", &ACME) }).await;
    assert_eq!(w.claimable().await, []);
    let newest = w.create(NewTask { priority: Some(-9), ..task_of("mail", &ACME) }).await;
    w.done(&holder).await;
    assert_eq!(drain(w).await, [&[newest, high][..], &waiting, &[late, low]].concat());
}

/// A full key holds up no other, however many wait for it and however early they came.
pub async fn a_full_key_holds_up_no_other(w: &World) {
    let (_, waiting) = waiters(w, 50).await;
    let others = [("tenant", "beta"), ("tenant", "gamma"), ("tenant", "delta")];
    let mut made = Vec::new();
    for key in others {
        made.push(w.under(&[key]).await);
    }
    assert_eq!(w.claimable().await, made);
    assert_eq!(w.words(waiting[49]).await, ["key_full"]);
}

/// A task that is found without room by the very claim that takes the last slot starts when that slot is free.
pub async fn one_that_just_missed_the_last_slot_is_not_forgotten(w: &World) {
    w.groups([("tenant", 1)]).await;
    let made = w.many_under("mail", &ACME, 2).await;
    let taken = w.look(9).await.tasks;
    assert_eq!(ids(&taken), [made[0]]);
    w.done(&taken[0]).await;
    assert_eq!(w.claimable().await, [made[1]]);
}

/// The one whose turn it is is cancelled before or after the slot is free: the next one starts.
pub async fn a_cancelled_waiter_passes_its_turn_on(w: &World) {
    let (holder, waiting) = waiters(w, 4).await;
    w.store.cancel(waiting[0]).await.unwrap();
    w.done(&holder).await;
    w.store.cancel(waiting[1]).await.unwrap();
    let task = w.start(waiting[2]).await;
    assert_eq!(w.claimable().await, []);
    w.done(&task).await;
    assert_eq!(w.claimable().await, [waiting[3]]);
}

/// The same on a queue that was not claimed from since the slot is free.
pub async fn a_cancelled_waiter_on_another_queue_passes_its_turn_on(w: &World) {
    let (holder, _) = waiters(w, 0).await;
    let far = || NewTask { queue: Some(queue_name("bulk")), ..task_of("mail", &ACME) };
    let made = [w.create(far()).await, w.create(far()).await];
    let worker = w.worker().await;
    assert!(w.claim_on("bulk", worker, 9).await.is_empty());
    w.done(&holder).await;
    assert!(w.claim(worker, 9).await.is_empty());
    w.store.cancel(made[0]).await.unwrap();
    assert_eq!(ids(&w.claim_on("bulk", worker, 9).await), made[1..]);
}

/// One that goes on waiting behind its other key leaves the room to the next waiter, and not to a younger task.
pub async fn a_waiter_that_moves_on_makes_way_for_the_next_waiter(w: &World) {
    w.groups([("a", 1), ("b", 1)]).await;
    let holder = w.start(w.under(&[("a", "1")]).await).await;
    w.start(w.under(&[("b", "1")]).await).await;
    w.under(&[("a", "1"), ("b", "1")]).await;
    let next = w.under(&[("a", "1")]).await;
    assert_eq!(w.claimable().await, []);
    w.advance(1).await;
    w.under(&[("a", "1")]).await;
    w.done(&holder).await;
    assert_eq!(ids(&w.look(1).await.tasks), [next]);
}

/// Waiters on a paused queue keep their turn, and hold up nobody on another.
pub async fn waiters_on_a_paused_queue_hold_up_nobody(w: &World) {
    let (holder, waiting) = waiters(w, 1).await;
    let far = w.create(NewTask { queue: Some(queue_name("bulk")), ..task_of("mail", &ACME) }).await;
    let worker = w.worker().await;
    assert_eq!(ids(&w.claim_on("bulk", worker, 9).await), []);
    w.store.pause(&home(), None).await.unwrap();
    w.done(&holder).await;
    assert!(w.claim(worker, 9).await.is_empty());
    let taken = w.claim_on("bulk", worker, 9).await;
    assert_eq!(ids(&taken), [far]);
    w.store.resume(&home()).await.unwrap();
    assert_eq!(w.claimable().await, []);
    w.done(&taken[0]).await;
    assert_eq!(w.claimable().await, waiting);
}

/// A queue that is paused and resumed while a slot becomes free gives it out afterwards.
pub async fn room_made_during_a_pause_is_not_forgotten(w: &World) {
    let (holder, waiting) = waiters(w, 1).await;
    w.store.pause(&home(), None).await.unwrap();
    w.done(&holder).await;
    assert_eq!(w.claimable().await, []);
    w.store.resume(&home()).await.unwrap();
    assert_eq!(w.claimable().await, waiting);
}

/// Waiters that no worker handles hold up nobody, and start when one does.
pub async fn waiters_without_a_worker_hold_up_nobody(w: &World) {
    for name in ["mail", "report"] {
        w.declare(name, [("tenant", GroupSpec::limit(1).shared())]).await;
    }
    let holder = w.start(w.under(&ACME).await).await;
    let (report, mail) = (w.create(task_of("report", &ACME)).await, w.under(&ACME).await);
    assert_eq!(w.claimable().await, []);
    w.done(&holder).await;
    let worker = w.worker().await;
    let only = |name: &str| Claim { commands: vec![command(name)], ..claim_of(worker, 9) };
    let taken = w.store.claim(&only("mail")).await.unwrap().tasks;
    assert_eq!(ids(&taken), [mail]);
    assert!(w.store.claim(&only("report")).await.unwrap().tasks.is_empty());
    w.done(&taken[0]).await;
    assert!(w.store.claim(&only("mail")).await.unwrap().tasks.is_empty());
    assert_eq!(ids(&w.store.claim(&only("report")).await.unwrap().tasks), [report]);
}

/// Everything that makes room lets a waiter start.
pub async fn a_raised_limit_lets_waiters_start(w: &World) {
    let (_, waiting) = waiters(w, 5).await;
    w.set("tenant", slots(2)).await;
    assert_eq!(w.claimable().await, waiting[..1]);
    w.set_key("tenant", "acme", slots(4)).await;
    assert_eq!(w.claimable().await, waiting[..3]);
    w.groups([("tenant", 9)]).await;
    w.set_key("tenant", "acme", Setting::default()).await;
    assert_eq!(w.claimable().await, waiting[..1]);
    w.set("tenant", Setting::default()).await;
    assert_eq!(w.claimable().await, waiting);
}

/// A removed group lets all its waiters start, those of undeclared ones too.
pub async fn a_removed_group_lets_waiters_start(w: &World) {
    let (holder, waiting) = waiters(w, 3).await;
    w.store.remove_group(&of_mail("tenant")).await.unwrap();
    assert_eq!(w.claimable().await, waiting);
    for id in waiting {
        w.store.cancel(id).await.unwrap();
    }
    // It would count in the group that is declared anew.
    w.done(&holder).await;
    let (_, waiting) = waiters(w, 3).await;
    w.store.register(&[with_groups("mail", Groups::new())]).await.unwrap();
    assert_eq!(w.claimable().await, waiting);
}

/// A recovery lets a waiter start.
pub async fn a_recovery_lets_a_waiter_start(w: &World) {
    let (holder, waiting) = waiters(w, 2).await;
    w.lose_all().await;
    w.store.cancel(holder.id).await.unwrap();
    assert_eq!(w.claimable().await, waiting[..1]);
}

/// A suspension lets a waiter start, and the one that was suspended waits for its slot when it is resumed.
pub async fn a_suspension_lets_a_waiter_start(w: &World) {
    let (holder, waiting) = waiters(w, 1).await;
    w.suspend_and_wait(sleeping(&holder, w.now().plus(secs(5)))).await;
    let task = w.start(waiting[0]).await;
    w.advance(5).await;
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.words(holder.id).await, ["key_full"]);
    w.done(&task).await;
    assert_eq!(w.claimable().await, [holder.id]);
}

/// A task that waits for two keys starts when both have room, in whichever order that comes.
pub async fn a_task_between_two_keys_starts_when_both_have_room(w: &World) {
    for swapped in [false, true] {
        w.groups([("a", 1), ("b", 1)]).await;
        let mut holders = [w.start(w.under(&[("a", "1")]).await).await, w.start(w.under(&[("b", "1")]).await).await];
        let both = w.under(&[("a", "1"), ("b", "1")]).await;
        if swapped {
            holders.reverse();
        }
        for holder in &holders {
            assert_eq!(w.claimable().await, []);
            w.done(holder).await;
        }
        assert_eq!(w.claimable().await, [both]);
        w.work(both, Outcome::Done(None)).await;
    }
}

/// One that waits for two keys does not keep the room of one from others.
pub async fn a_task_between_two_keys_holds_up_neither(w: &World) {
    w.groups([("a", 1), ("b", 1)]).await;
    let holder = w.start(w.under(&[("b", "1")]).await).await;
    w.under(&[("a", "1"), ("b", "1")]).await;
    for id in w.many_under("mail", &[("a", "1")], 3).await {
        let taken = w.look(9).await.tasks;
        assert_eq!(ids(&taken), [id]);
        w.done(&taken[0]).await;
    }
    w.done(&holder).await;
}

/// Slots that become free let as many start, in order.
pub async fn as_many_start_as_there_is_room_for(w: &World) {
    w.groups([("tenant", 4)]).await;
    let made = w.many_under("mail", &ACME, 14).await;
    let mut running = w.look(100).await.tasks;
    let mut from = 4;
    for ended in [1, 3, 4, 2] {
        for task in running.drain(..ended) {
            w.done(&task).await;
        }
        let next = w.look(100).await.tasks;
        assert_eq!(ids(&next), made[from..from + ended]);
        from += ended;
        running.extend(next);
    }
}

/// A claim that may take only some of the waiters leaves the others to the next.
pub async fn what_one_claim_leaves_the_next_one_takes(w: &World) {
    let (holder, waiting) = waiters(w, 6).await;
    w.set("tenant", slots(4)).await;
    w.done(&holder).await;
    assert_eq!(ids(&w.look(1).await.tasks), waiting[..1]);
    assert_eq!(ids(&w.look(2).await.tasks), waiting[1..3]);
    assert_eq!(ids(&w.look(9).await.tasks), waiting[3..4]);
    assert_eq!(ids(&w.look(9).await.tasks), []);
}

/// Waiters keep their position among those that need no room.
pub async fn a_waiter_keeps_its_position_in_line(w: &World) {
    let (holder, waiting) = waiters(w, 1).await;
    w.advance(1).await;
    let plain = w.enqueue("mail").await;
    w.done(&holder).await;
    assert_eq!(ids(&w.look(1).await.tasks), waiting);
    assert_eq!(ids(&w.look(1).await.tasks), [plain]);
}

/// A waiter that a follow-up joins waits for the family first and for its key then.
pub async fn a_waiter_may_be_made_to_wait_for_a_family(w: &World) {
    let (holder, _) = waiters(w, 0).await;
    let unique = Some(kinfolk_core::Unique::key("k"));
    let waiter = w.create(NewTask { unique: unique.clone(), ..task_of("mail", &ACME) }).await;
    assert_eq!(w.claimable().await, []);
    let root = w.start(w.enqueue("report").await).await;
    let made = follow_up(NewTask { unique, ..new_task("mail") }, kinfolk_core::When::Settled);
    w.leave_behind(&root, kinfolk_core::Made { children: vec![new_task("report")], ..made }).await;
    w.done(&holder).await;
    assert_eq!(w.words(waiter).await, ["families"]);
    let kid = w.kids(root.id).await[0];
    assert_eq!(w.claimable().await, [kid]);
    w.work(kid, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [waiter]);
}

/// Many waiters behind few keys all start in the end, and none twice.
pub async fn hundreds_of_waiters_drain(w: &World) {
    w.groups([("tenant", 2)]).await;
    for key in ["a", "b", "c"] {
        w.many_under("mail", &[("tenant", key)], 60).await;
    }
    let worker = w.worker().await;
    for _ in 0..30 {
        let taken = w.claim(worker, 100).await;
        assert_eq!(taken.len(), 6);
        let ends: Vec<_> = taken.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
        w.store.settle(&ends).await.unwrap();
    }
    assert!(w.claim(worker, 9).await.is_empty());
    assert_eq!(w.keys().await, []);
}

/// A slot that becomes free wakes the workers of the queue where tasks wait for it, also if it is another one.
pub async fn a_freed_slot_wakes_the_queue_that_waits(w: &World) {
    let (holder, _) = waiters(w, 0).await;
    w.create(NewTask { queue: Some(queue_name("bulk")), ..task_of("mail", &ACME) }).await;
    let worker = w.worker().await;
    assert!(w.claim_on("bulk", worker, 9).await.is_empty());
    let Some(mut wakes) = w.store.wakes(worker, &[queue_name("bulk")]).await.unwrap() else {
        assert_eq!(w.store.kind(), "model", "a real store wakes its workers");
        return;
    };
    w.another().await.settle(&[settle_of(&holder, Outcome::Done(None))]).await.unwrap();
    wake(&mut *wakes, |wake| matches!(wake, Wake::All) || *wake == Wake::Queue(queue_name("bulk"))).await;
    assert_eq!(w.claim_on("bulk", worker, 9).await.len(), 1);
}
