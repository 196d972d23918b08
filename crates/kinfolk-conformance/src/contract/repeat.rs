//! Every call may be repeated as it was when its answer was lost: nothing is done twice.

use kinfolk_core::operate::Cancelled;
use kinfolk_core::schedule::Fired;
use kinfolk_core::{Claim, Outcome, Retry, Schedule, Settled, State, StoreError, Token, WorkerId};
use uuid::Uuid;

use super::cancel::too_late;
use crate::world::{LEASE, World, claim_of, failed, ids, json, new_task, schedule_name, secs, settle_of, worker_spec};

/// A repeated claim gives back exactly what the first one took, in the same order, and takes nothing more.
pub async fn a_repeated_claim_gives_the_same_tasks(w: &World) {
    w.enqueue_many("mail", 10).await;
    let worker = w.worker().await;
    let claim = claim_of(worker, 4);
    let first = w.store.claim(&claim).await.unwrap();
    let again = w.store.claim(&Claim { repeated: true, ..claim }).await.unwrap();
    assert_eq!(again.tasks, first.tasks);
    assert_eq!(w.in_state(State::Running).await.len(), 4);
}

/// A repeated claim whose first one never arrived is an ordinary claim.
pub async fn a_repeated_claim_that_took_nothing_is_a_first_one(w: &World) {
    let made = w.enqueue_many("mail", 3).await;
    let worker = w.worker().await;
    let claim = Claim { repeated: true, ..claim_of(worker, 2) };
    assert_eq!(ids(&w.store.claim(&claim).await.unwrap().tasks), made[..2]);
}

/// A repeated claim gives back what is still running of the first, also on a queue that was paused since.
pub async fn a_repeated_claim_gives_what_still_runs(w: &World) {
    w.enqueue_many("mail", 3).await;
    let worker = w.worker().await;
    let claim = claim_of(worker, 3);
    let first = w.store.claim(&claim).await.unwrap().tasks;
    w.done(&first[1]).await;
    w.store.pause(&crate::world::queue_name("default"), None).await.unwrap();
    let again = w.store.claim(&Claim { repeated: true, ..claim }).await.unwrap();
    assert_eq!(again.tasks, [first[0].clone(), first[2].clone()]);
}

/// Another worker that brings the token gets none of it.
pub async fn a_repeated_claim_needs_its_own_worker(w: &World) {
    w.enqueue("mail").await;
    let (ada, bob) = (w.worker().await, w.worker().await);
    let claim = claim_of(ada, 5);
    assert_eq!(w.store.claim(&claim).await.unwrap().tasks.len(), 1);
    let stolen = Claim { worker: bob, repeated: true, ..claim };
    assert!(w.store.claim(&stolen).await.unwrap().tasks.is_empty());
}

/// A settle that comes twice is recorded once, and the second answer says so, for each outcome.
pub async fn a_settle_sent_twice_is_recorded_once(w: &World) {
    let outcomes = [
        (Outcome::Done(Some(json("1"))), State::Completed),
        (failed(Retry::Never), State::Failed),
        (failed(Retry::Policy), State::Pending),
        (Outcome::Snooze(secs(9)), State::Pending),
        (Outcome::Cancelled, State::Cancelled),
        (Outcome::Release, State::Pending),
    ];
    for (outcome, state) in outcomes {
        let task = w.running().await;
        assert_eq!(w.settle(&task, outcome.clone()).await, Settled::Recorded(state));
        let before = w.everything().await;
        assert_eq!(w.settle(&task, outcome.clone()).await, Settled::Repeated(state), "{outcome:?}");
        assert_eq!(w.everything().await, before, "{outcome:?}");
        if state == State::Pending {
            w.store.cancel(task.id).await.unwrap();
        }
    }
}

/// The same settle twice in one batch is recorded once.
pub async fn a_settle_twice_in_one_batch_is_recorded_once(w: &World) {
    let task = w.running().await;
    let batch = vec![settle_of(&task, failed(Retry::Policy)); 2];
    let answers = w.store.settle(&batch).await.unwrap();
    assert_eq!(answers, [Settled::Recorded(State::Pending), Settled::Repeated(State::Pending)]);
    assert_eq!((w.get(task.id).await.attempt, w.endings(task.id).await.len()), (1, 1));
}

/// A settle that comes again after the task has moved on is told where the task is now, as long as nobody else has it.
pub async fn a_repeated_settle_hears_of_what_came_after(w: &World) {
    let task = w.running().await;
    w.settle(&task, Outcome::Snooze(secs(9))).await;
    w.store.cancel(task.id).await.unwrap();
    assert_eq!(w.settle(&task, Outcome::Snooze(secs(9))).await, Settled::Repeated(State::Cancelled));
}

/// Registering a worker twice is one worker, renewed, with all that it holds.
pub async fn a_worker_registered_twice_is_one_worker(w: &World) {
    let spec = worker_spec(LEASE);
    w.store.register_worker(&spec).await.unwrap();
    w.enqueue("mail").await;
    let task = w.take(spec.id).await;
    let began = w.now();
    w.advance(5).await;
    w.store.register_worker(&spec).await.unwrap();
    let workers = w.store.workers().await.unwrap();
    assert_eq!((workers.len(), workers[0].running, workers[0].started_at), (1, 1, began));
    assert_eq!(workers[0].lease_until, w.now().plus(LEASE));
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
}

/// Leaving twice, or without ever having been there, is no mistake.
pub async fn leaving_twice_is_no_mistake(w: &World) {
    let worker = w.worker().await;
    for _ in 0..2 {
        w.store.leave(worker).await.unwrap();
    }
    w.store.leave(WorkerId(Uuid::now_v7())).await.unwrap();
}

/// A worker that left and registers again under its id starts with nothing.
pub async fn a_worker_may_come_back(w: &World) {
    let spec = worker_spec(LEASE);
    w.store.register_worker(&spec).await.unwrap();
    w.enqueue("mail").await;
    let task = w.take(spec.id).await;
    w.store.leave(spec.id).await.unwrap();
    w.store.register_worker(&spec).await.unwrap();
    assert_eq!(w.store.workers().await.unwrap()[0].running, 0);
    let again = w.take(spec.id).await;
    assert_eq!(w.done(&task).await, Settled::Stale, "the old token");
    assert_eq!(w.done(&again).await, Settled::Recorded(State::Completed));
}

/// A tick fired twice makes one task.
pub async fn a_fire_sent_twice_is_fired_once(w: &World) {
    let schedule = Schedule::new(schedule_name("s"), "* * * * *", new_task("mail"));
    w.store.put_schedule(&schedule).await.unwrap();
    w.advance(60).await;
    let plan = w.store.due_schedules().await.unwrap()[0].plan(w.now()).unwrap().unwrap();
    assert_eq!(w.store.fire(&plan).await.unwrap().tasks.len(), 1);
    assert_eq!(w.store.fire(&plan).await.unwrap(), Fired { too_late: true, ..Fired::default() });
    assert_eq!(w.all().await.len(), 1);
}

/// A repeated cancel is refused, since the task is cancelled; a repeated manual retry, since the task waits already.
pub async fn a_repeated_cancel_and_retry_do_nothing_more(w: &World) {
    let id = w.enqueue("mail").await;
    assert_eq!(w.store.cancel(id).await.unwrap(), Cancelled::Now);
    too_late(w, id, State::Cancelled).await;
    w.store.retry(id).await.unwrap();
    let before = w.everything().await;
    let fault = w.store.retry(id).await.unwrap_err();
    assert!(matches!(fault, StoreError::WrongState { state: State::Pending, .. }), "{fault}");
    assert_eq!(w.everything().await, before);
}

/// Registering the same commands again, by anyone, changes nothing.
pub async fn registering_commands_twice_changes_nothing(w: &World) {
    let commands = w.store.commands().await.unwrap();
    let before = w.everything().await;
    w.store.register(&commands).await.unwrap();
    w.another().await.register(&commands).await.unwrap();
    assert_eq!(w.everything().await, before);
}

/// A heartbeat may come as often as it likes.
pub async fn a_heartbeat_sent_twice_is_one(w: &World) {
    let task = w.running().await;
    let worker = w.get(task.id).await.worker.unwrap();
    w.store.heartbeat(worker).await.unwrap();
    let before = w.everything().await;
    w.store.heartbeat(worker).await.unwrap();
    assert_eq!(w.everything().await, before);
}

/// A fresh token never meets an old one.
pub async fn an_unused_token_settles_nothing(w: &World) {
    let task = w.running().await;
    w.done(&task).await;
    let unused = kinfolk_core::Settle { token: Token(Uuid::new_v4()), ..settle_of(&task, Outcome::Done(None)) };
    assert_eq!(w.store.settle(&[unused]).await.unwrap(), [Settled::Stale]);
}
