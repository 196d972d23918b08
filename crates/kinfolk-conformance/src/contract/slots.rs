//! Slots: given back by everything that ends an attempt, once.

use kinfolk_core::operate::Cancelled;
use kinfolk_core::{ClaimedTask, Outcome, Retry, Rule, Settled, State, TaskId};

use crate::family::children;
use crate::flow::{fan_out, listening, sleeping, waiting_for};
use crate::world::{LEASE, World, failed, ids, secs};

const ACME: [(&str, &str); 2] = [("tenant", "acme"), ("zone", "north")];

/// A task that holds the only slots of two keys, and one that waits for them.
async fn full(w: &World) -> (ClaimedTask, TaskId) {
    w.groups([("tenant", 1), ("zone", 1)]).await;
    let first = w.start(w.under(&ACME).await).await;
    let next = w.under(&ACME).await;
    assert_eq!(w.claimable().await, []);
    assert_eq!((w.holders("tenant", "acme").await, w.holders("zone", "north").await), (vec![first.id], vec![first.id]));
    (first, next)
}

/// Nothing holds a slot, and the one that waited starts.
async fn freed(w: &World, next: TaskId) {
    let held: Vec<_> = w.keys().await.into_iter().filter(|key| key.held > 0).collect();
    assert_eq!(held, []);
    let task = w.start(next).await;
    w.done(&task).await;
}

/// However an attempt ends, its slots are free.
pub async fn every_end_of_an_attempt_frees_them(w: &World) {
    for outcome in [
        Outcome::Done(None),
        failed(Retry::Never),
        failed(Retry::After(secs(900))),
        Outcome::Snooze(secs(900)),
        Outcome::YieldFamilySlot(secs(900)),
        Outcome::Cancelled,
    ] {
        let (first, next) = full(w).await;
        w.settle(&first, outcome).await;
        freed(w, next).await;
    }
}

/// A released task gives them up, and is the first to take them again.
pub async fn a_release_frees_them(w: &World) {
    let (first, next) = full(w).await;
    w.settle(&first, Outcome::Release).await;
    assert_eq!(w.holders("tenant", "acme").await, []);
    w.work(first.id, Outcome::Done(None)).await;
    freed(w, next).await;
}

/// A worker that leaves gives them up.
pub async fn a_worker_that_leaves_frees_them(w: &World) {
    let (first, next) = full(w).await;
    let worker = w.get(first.id).await.worker.unwrap();
    w.store.leave(worker).await.unwrap();
    assert_eq!(w.holders("tenant", "acme").await, []);
    w.store.cancel(first.id).await.unwrap();
    freed(w, next).await;
}

/// A recovery gives them up, for tasks that go on and for those that end.
pub async fn a_recovery_frees_them(w: &World) {
    let (first, next) = full(w).await;
    w.lose_all().await;
    assert_eq!(w.holders("tenant", "acme").await, []);
    w.work(first.id, Outcome::Done(None)).await;
    freed(w, next).await;
    let (first, next) = full(w).await;
    w.store.cancel(first.id).await.unwrap();
    assert_eq!(w.lose_all().await.cancelled, 1);
    freed(w, next).await;
}

/// A suspended handler holds none, whatever it waits for.
pub async fn a_suspension_frees_them(w: &World) {
    let (first, next) = full(w).await;
    w.suspend_and_wait(sleeping(&first, w.now().plus(secs(900)))).await;
    freed(w, next).await;
    let (first, next) = full(w).await;
    w.suspend_and_wait(listening(&first, "go")).await;
    freed(w, next).await;
    let (first, next) = full(w).await;
    w.suspend_and_wait(waiting_for(&first, fan_out("items", 1, Rule::CollectAll))).await;
    freed(w, next).await;
}

/// A handler that is resumed at once needs them anew.
pub async fn a_suspension_that_resumes_at_once_frees_them_too(w: &World) {
    let (first, next) = full(w).await;
    assert_eq!(w.suspend(sleeping(&first, w.now())).await, Settled::Recorded(State::Pending));
    assert_eq!(w.holders("tenant", "acme").await, []);
    assert_eq!(w.claimable().await, [first.id]);
    w.store.cancel(first.id).await.unwrap();
    freed(w, next).await;
}

/// A parent that waits for its children holds none.
pub async fn a_waiting_parent_frees_them(w: &World) {
    let (first, next) = full(w).await;
    assert_eq!(w.leave_behind(&first, children(2)).await, Settled::Recorded(State::Waiting));
    freed(w, next).await;
}

/// A task whose end is asked for holds them until its worker answers.
pub async fn a_cancelled_task_holds_them_until_it_ends(w: &World) {
    let (first, next) = full(w).await;
    assert_eq!(w.store.cancel(first.id).await.unwrap(), Cancelled::Requested);
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.holders("tenant", "acme").await, [first.id]);
    w.settle(&first, Outcome::Done(None)).await;
    assert_eq!(w.state(first.id).await, State::Cancelled);
    freed(w, next).await;
}

/// A handler that made what can't be made gives them up.
pub async fn a_refused_attempt_frees_them(w: &World) {
    let (first, next) = full(w).await;
    let made = kinfolk_core::Made { siblings: vec![crate::world::new_task("report")], ..Default::default() };
    assert_eq!(w.leave_behind(&first, made).await, Settled::Recorded(State::Failed));
    freed(w, next).await;
}

/// A worker that was lost and comes back late frees nothing: its task runs elsewhere, under another token, and its slots are
/// those of the new attempt.
pub async fn a_settle_after_recovery_frees_nothing(w: &World) {
    let (first, _) = full(w).await;
    w.lose_all().await;
    let again = w.start(first.id).await;
    for outcome in [Outcome::Done(None), Outcome::Release, failed(Retry::Never), Outcome::Cancelled] {
        assert_eq!(w.settle(&first, outcome).await, Settled::Stale);
        assert_eq!(w.suspend(sleeping(&first, w.now())).await, Settled::Stale);
        assert_eq!(w.holders("tenant", "acme").await, [again.id]);
        assert_eq!(w.claimable().await, []);
    }
}

/// The slot of a lost task goes to another, and the late settle of the lost one does not free it.
pub async fn a_late_settle_does_not_free_anothers_slot(w: &World) {
    let (first, next) = full(w).await;
    w.lose_all().await;
    w.store.cancel(first.id).await.unwrap();
    let second = w.start(next).await;
    w.under(&ACME).await;
    assert_eq!(w.settle(&first, Outcome::Done(None)).await, Settled::Stale);
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.holders("zone", "north").await, [second.id]);
}

/// A settle that is sent again after a lost answer frees nothing more.
pub async fn a_settle_sent_twice_frees_once(w: &World) {
    let (first, next) = full(w).await;
    w.done(&first).await;
    let second = w.start(next).await;
    w.under(&ACME).await;
    assert_eq!(w.done(&first).await, Settled::Repeated(State::Completed));
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.holders("tenant", "acme").await, [second.id]);
}

/// Recovering and leaving again frees nothing more.
pub async fn recovering_and_leaving_twice_frees_once(w: &World) {
    let (first, next) = full(w).await;
    let worker = w.get(first.id).await.worker.unwrap();
    w.lose_all().await;
    let task = w.start(first.id).await;
    w.store.leave(worker).await.unwrap();
    let judge = w.worker().await;
    w.pass_a_lease(&[judge, w.get(task.id).await.worker.unwrap()]).await;
    assert_eq!(w.recover_all(judge).await.returned, 0);
    assert_eq!(w.claimable().await, []);
    w.done(&task).await;
    freed(w, next).await;
}

/// A lease that has ended frees nothing by itself: only the recovery does, since the task may still be at work.
pub async fn an_ended_lease_frees_nothing_by_itself(w: &World) {
    let (first, next) = full(w).await;
    w.advance_by(LEASE + secs(60)).await;
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.holders("tenant", "acme").await, [first.id]);
    assert_eq!(w.done(&first).await, Settled::Recorded(State::Completed));
    freed(w, next).await;
}

/// A renewed lease does not take slots anew, and one that was lost can't be renewed into a second slot.
pub async fn a_heartbeat_takes_no_slot(w: &World) {
    let (first, next) = full(w).await;
    let worker = w.get(first.id).await.worker.unwrap();
    w.store.heartbeat(worker).await.unwrap();
    assert_eq!(w.holders("tenant", "acme").await, [first.id]);
    w.lose_all().await;
    w.store.cancel(first.id).await.unwrap();
    let second = w.start(next).await;
    assert!(w.store.heartbeat(worker).await.is_err());
    assert_eq!(w.holders("tenant", "acme").await, [second.id]);
}

/// A task that is retried by hand starts without slots and needs them anew.
pub async fn a_retried_task_needs_them_anew(w: &World) {
    let (first, next) = full(w).await;
    w.fail(&first, Retry::Never).await;
    let second = w.start(next).await;
    w.store.retry(first.id).await.unwrap();
    assert_eq!(w.claimable().await, []);
    w.done(&second).await;
    assert_eq!(w.claimable().await, [first.id]);
}

/// One batch that ends many frees as many, under each key.
pub async fn a_batch_frees_as_many_as_it_ends(w: &World) {
    w.groups([("tenant", 5), ("zone", 5)]).await;
    let made = w.many_under("mail", &ACME, 12).await;
    let taken = w.look(20).await.tasks;
    assert_eq!(taken.len(), 5);
    let ends: Vec<_> = taken[..3].iter().map(|task| crate::world::settle_of(task, Outcome::Done(None))).collect();
    w.store.settle(&ends).await.unwrap();
    assert_eq!(ids(&w.look(20).await.tasks), made[5..8]);
    assert_eq!(w.claimable().await, []);
}

/// A child that ends in the same call as its parent's other children frees its slot, too.
pub async fn a_cancelled_family_frees_all_it_held(w: &World) {
    w.groups([("tenant", 2)]).await;
    w.declare("report", [("tenant", kinfolk_core::GroupSpec::limit(2).shared())]).await;
    let root = w.start(w.under(&ACME[..1]).await).await;
    let kid = crate::grouped::heir("report", &[]);
    w.leave_behind(&root, crate::family::these([kid.clone(), kid.clone(), kid])).await;
    let running = w.look(9).await.tasks;
    assert_eq!(running.len(), 2);
    w.store.cancel(root.id).await.unwrap();
    for task in &running {
        w.settle(task, Outcome::Cancelled).await;
    }
    assert_eq!(w.state(root.id).await, State::Cancelled);
    assert_eq!(w.keys().await, []);
}

/// A thousand keys that have been in use leave nothing behind.
pub async fn a_thousand_keys_leave_nothing_behind(w: &World) {
    w.groups([("tenant", 1)]).await;
    let asked: Vec<_> = (0..1_000).map(|n| crate::grouped::task_of("mail", &[("tenant", &format!("t{n}"))])).collect();
    w.store.enqueue(&asked).await.unwrap();
    let worker = w.worker().await;
    let taken = w.claim(worker, 1_000).await;
    assert_eq!(taken.len(), 1_000);
    assert_eq!(w.keys().await.len(), 1_000);
    let ends: Vec<_> = taken.iter().map(|task| crate::world::settle_of(task, Outcome::Done(None))).collect();
    w.store.settle(&ends).await.unwrap();
    assert_eq!(w.claim(worker, 9).await, []);
    assert_eq!(w.keys().await, []);
}
