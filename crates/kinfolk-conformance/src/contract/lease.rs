//! Leases: heartbeats, workers that leave and workers that are lost, suspects and poison.

use std::collections::BTreeSet;

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::task::Ending;
use kinfolk_core::{
    Command, Failure, Gate, Outcome, Recovered, Retry, RetryPolicy, Settled, State, StoreError, TaskId, WorkerId,
    WorkerSpec,
};
use uuid::Uuid;

use crate::world::{LEASE, World, claim_of, ids, plain_command, secs, settle_of, worker_spec};

const NOTHING: Recovered = Recovered { returned: 0, poisoned: 0, cancelled: 0, workers: 0, more: false };

/// A worker is shown as it registered, with a lease from now on.
pub async fn a_worker_is_shown_as_it_registered(w: &World) {
    let spec = WorkerSpec { name: "é:42".to_owned(), version: "shop 1.8.2".to_owned(), ..worker_spec(secs(45)) };
    w.store.register_worker(&spec).await.unwrap();
    let shown = w.store.workers().await.unwrap().remove(0);
    assert_eq!((shown.id, shown.name, shown.running), (spec.id, spec.name, 0));
    assert_eq!((shown.queues, shown.commands, shown.version), (spec.queues, spec.commands, spec.version));
    assert_eq!((shown.started_at, shown.lease_until), (w.now(), w.now().plus(secs(45))));
}

/// A heartbeat renews the lease from now on.
pub async fn a_heartbeat_renews_the_lease(w: &World) {
    let worker = w.worker().await;
    w.advance(12).await;
    assert_eq!(w.store.heartbeat(worker).await.unwrap().cancel, []);
    assert_eq!(w.store.workers().await.unwrap()[0].lease_until, w.now().plus(LEASE));
}

/// Someone who is not a worker can neither renew nor recover.
pub async fn a_stranger_has_no_lease(w: &World) {
    let stranger = WorkerId(Uuid::now_v7());
    let fault = w.store.heartbeat(stranger).await.unwrap_err();
    assert!(matches!(fault, StoreError::LeaseLost { worker } if worker == stranger));
    assert!(matches!(w.store.recover(stranger).await, Err(StoreError::LeaseLost { .. })));
}

/// A worker that leaves gives back what it holds, at no cost, and is gone.
pub async fn a_worker_that_leaves_gives_everything_back(w: &World) {
    let made = w.enqueue_many("mail", 3).await;
    let worker = w.worker().await;
    let tasks = w.claim(worker, 3).await;
    w.done(&tasks[0]).await;
    w.store.leave(worker).await.unwrap();
    assert!(w.store.workers().await.unwrap().is_empty());
    for id in &made[1..] {
        let task = w.get(*id).await;
        assert_eq!((task.state, task.gate, task.attempt), (State::Pending, Some(Gate::Open), 0));
        assert_eq!((task.suspect, task.failure), (false, None));
        assert_eq!(w.endings(*id).await, [Ending::Released]);
    }
    assert!(matches!(w.store.heartbeat(worker).await, Err(StoreError::LeaseLost { .. })));
}

/// A worker that leaves while the end of its task is asked for ends that task.
pub async fn leaving_completes_a_cancellation(w: &World) {
    let task = w.running().await;
    w.store.cancel(task.id).await.unwrap();
    w.store.leave(w.get(task.id).await.worker.unwrap()).await.unwrap();
    assert_eq!(w.state(task.id).await, State::Cancelled);
}

/// Nobody is judged before the lease has ended, and the lease's last moment belongs to it.
pub async fn a_lease_holds_to_its_last_moment(w: &World) {
    let task = w.running().await;
    let judge = w.worker().await;
    w.advance(20).await;
    w.store.heartbeat(judge).await.unwrap();
    w.advance(10).await;
    assert_eq!(w.store.recover(judge).await.unwrap(), NOTHING);
    w.advance_by(std::time::Duration::from_micros(1)).await;
    assert_eq!(w.store.recover(judge).await.unwrap(), Recovered { returned: 1, workers: 1, ..NOTHING });
    assert_eq!(w.state(task.id).await, State::Pending);
}

/// A recovered task is open again at its old position, costs no attempt, says why, and is a suspect.
pub async fn a_lost_task_comes_back_as_a_suspect(w: &World) {
    let task = w.running().await;
    let before = w.get(task.id).await;
    assert_eq!(w.lose_all().await, Recovered { returned: 1, workers: 1, ..NOTHING });
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.gate, shown.attempt), (State::Pending, Some(Gate::Open), 0));
    assert_eq!((shown.due, shown.position, shown.worker), (before.due, before.position, None));
    assert_eq!((shown.suspect, shown.strikes), (true, 0));
    let lost = Failure::lost(before.worker.unwrap());
    assert_eq!(shown.failure, Some(lost.clone()));
    let attempt = w.store.attempts(task.id).await.unwrap().remove(0);
    assert_eq!((attempt.run, attempt.attempt, attempt.ending, attempt.failure), (1, 1, Ending::Lost, Some(lost)));
    assert!(w.store.workers().await.unwrap().is_empty());
}

/// A lost worker learns of it at its next heartbeat and its next claim.
pub async fn a_lost_worker_learns_that_it_is_lost(w: &World) {
    let task = w.running().await;
    let worker = w.get(task.id).await.worker.unwrap();
    w.lose_all().await;
    assert!(matches!(w.store.heartbeat(worker).await, Err(StoreError::LeaseLost { .. })));
    assert!(matches!(w.store.claim(&claim_of(worker, 1)).await, Err(StoreError::LeaseLost { .. })));
}

/// A settle that comes after the recovery is stale and changes nothing, before and after the task runs again.
pub async fn a_settle_after_recovery_is_stale(w: &World) {
    let old = w.running().await;
    w.lose_all().await;
    assert_eq!(w.done(&old).await, Settled::Stale);
    assert_eq!(w.state(old.id).await, State::Pending);
    let worker = w.worker().await;
    let new = w.take(worker).await;
    assert_eq!(w.done(&old).await, Settled::Stale);
    assert_eq!(w.done(&new).await, Settled::Recorded(State::Completed));
    assert_eq!(w.done(&old).await, Settled::Stale);
}

/// A worker that is late, but was not recovered, goes on: its settle counts.
pub async fn a_late_settle_before_recovery_counts(w: &World) {
    let task = w.running().await;
    w.advance(3_600).await;
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
}

/// A worker that has not itself been steady for a full lease judges nobody: after an outage all are late alike.
pub async fn only_a_steady_worker_judges(w: &World) {
    let task = w.running().await;
    let judge = w.worker().await;
    w.advance(31).await;
    w.store.heartbeat(judge).await.unwrap();
    assert_eq!(w.store.recover(judge).await.unwrap(), NOTHING, "it has just had a gap itself");
    w.advance(20).await;
    w.store.heartbeat(judge).await.unwrap();
    w.advance(9).await;
    assert_eq!(w.store.recover(judge).await.unwrap(), NOTHING);
    w.advance(1).await;
    assert_eq!(w.store.recover(judge).await.unwrap(), Recovered { returned: 1, workers: 1, ..NOTHING });
    assert_eq!(w.state(task.id).await, State::Pending);
}

/// A worker whose own lease has run out judges nobody, though it was steady for long before: it may be the one that was
/// away.
pub async fn a_worker_that_is_late_itself_judges_nobody(w: &World) {
    let task = w.running().await;
    let worker = w.get(task.id).await.worker.unwrap();
    let judge = w.worker().await;
    w.pass_a_lease(&[worker, judge]).await;
    w.advance(31).await;
    assert_eq!(w.store.recover(judge).await.unwrap(), NOTHING, "both are late alike");
    w.store.heartbeat(worker).await.unwrap();
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
}

/// A heartbeat at the very end of the lease is no gap.
pub async fn a_heartbeat_at_the_last_moment_is_no_gap(w: &World) {
    w.running().await;
    let judge = w.worker().await;
    w.advance(30).await;
    w.store.heartbeat(judge).await.unwrap();
    w.advance(1).await;
    assert_eq!(w.store.recover(judge).await.unwrap().returned, 1);
}

/// Workers that renew keep their tasks, whichever other worker is lost.
pub async fn the_living_keep_their_tasks(w: &World) {
    w.enqueue_many("mail", 2).await;
    let (alive, lost) = (w.worker().await, w.worker().await);
    let (kept, taken) = (w.take(alive).await, w.take(lost).await);
    assert_eq!(w.lose_all_but(&[alive]).await.returned, 1);
    assert_eq!((w.state(kept.id).await, w.state(taken.id).await), (State::Running, State::Pending));
    assert_eq!(w.done(&kept).await, Settled::Recorded(State::Completed));
}

/// A task that was recovered and claimed again is not touched by what is left of its old worker.
pub async fn a_task_claimed_again_is_not_recovered_for_its_old_worker(w: &World) {
    let old = w.running().await;
    w.lose_all().await;
    let (judge, worker) = (w.worker().await, w.worker().await);
    let new = w.take(worker).await;
    w.pass_a_lease(&[judge, worker]).await;
    assert_eq!(w.recover_all(judge).await, NOTHING);
    assert_eq!(w.get(old.id).await.worker, Some(worker));
    assert_eq!(w.done(&new).await, Settled::Recorded(State::Completed));
}

/// A process that starts anew has another identity, and does not hide the tasks of the one that died.
pub async fn a_restarted_worker_does_not_hide_the_lost_one(w: &World) {
    let task = w.running().await;
    let restarted = w.worker().await;
    w.pass_a_lease(&[restarted]).await;
    assert_eq!(w.recover_all(restarted).await.returned, 1);
    assert_eq!(w.state(task.id).await, State::Pending);
}

/// A worker with nothing to do that is lost is simply removed.
pub async fn an_idle_lost_worker_is_removed(w: &World) {
    w.worker().await;
    assert_eq!(w.lose_all().await, Recovered { workers: 1, ..NOTHING });
}

/// More lost tasks than one page holds: recovery goes on page by page, a lost worker stays until its last task is back,
/// and another worker can go on where one stopped.
pub async fn recovery_goes_page_by_page_whoever_does_it(w: &World) {
    let many = SWEEP_PAGE + 100;
    let all: BTreeSet<TaskId> = w.enqueue_many("mail", many).await.into_iter().collect();
    let lost = w.worker().await;
    while !w.claim(lost, 1_000).await.is_empty() {}
    let (first, second) = (w.worker().await, w.worker().await);
    w.pass_a_lease(&[first, second]).await;
    let page = w.store.recover(first).await.unwrap();
    assert_eq!(page, Recovered { returned: SWEEP_PAGE as u64, more: true, ..NOTHING });
    assert!(w.store.workers().await.unwrap().iter().any(|worker| worker.id == lost));
    w.store.leave(first).await.unwrap();
    let rest = w.store.recover(second).await.unwrap();
    assert_eq!(rest, Recovered { returned: 100, workers: 1, ..NOTHING });
    assert_eq!(w.in_state(State::Pending).await, all);
}

/// Recovering again when there is nothing more to do does nothing.
pub async fn recovering_again_does_nothing(w: &World) {
    w.running().await;
    let judge = w.worker().await;
    w.pass_a_lease(&[judge]).await;
    w.recover_all(judge).await;
    let before = w.everything().await;
    assert_eq!(w.store.recover(judge).await.unwrap(), NOTHING);
    assert_eq!(w.everything().await, before);
}

/// A loss completes a cancellation that was asked for.
pub async fn a_loss_completes_a_cancellation(w: &World) {
    let task = w.running().await;
    w.store.cancel(task.id).await.unwrap();
    assert_eq!(w.lose_all().await, Recovered { cancelled: 1, workers: 1, ..NOTHING });
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.failure), (State::Cancelled, Some(Failure::cancelled())));
    assert_eq!(w.endings(task.id).await, [Ending::Lost]);
}

/// A batch of suspects: a worker gets one of them at a time, and all others go on as ever.
pub async fn a_worker_gets_one_suspect_at_a_time(w: &World) {
    let suspects = w.enqueue_many("mail", 3).await;
    let worker = w.worker().await;
    w.claim(worker, 3).await;
    w.lose_all().await;
    let fresh = w.enqueue_many("mail", 2).await;
    let (ada, bob) = (w.worker().await, w.worker().await);
    let first = w.claim(ada, 10).await;
    assert_eq!(ids(&first), [suspects[0], fresh[0], fresh[1]]);
    assert!(w.claim(ada, 10).await.is_empty(), "it runs a suspect already");
    let second = w.claim(bob, 10).await;
    assert_eq!(ids(&second), [suspects[1]]);
    w.done(&first[0]).await;
    assert_eq!(w.claim_ids(ada, 10).await, [suspects[2]]);
}

/// A claim of one passes over suspects to the first that it may take.
pub async fn a_claim_passes_over_suspects_it_may_not_take(w: &World) {
    w.enqueue_many("mail", 2).await;
    let worker = w.worker().await;
    w.claim(worker, 2).await;
    w.lose_all().await;
    let fresh = w.enqueue("mail").await;
    let ada = w.worker().await;
    assert!(w.get(w.take(ada).await.id).await.suspect);
    assert_eq!(w.claim_ids(ada, 1).await, [fresh]);
}

/// An attempt that ends, well or badly, clears the suspicion; a release says nothing and keeps it.
pub async fn an_ended_attempt_clears_the_suspicion(w: &World) {
    w.running().await;
    w.lose_all().await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    w.settle(&task, Outcome::Release).await;
    assert!(w.get(task.id).await.suspect);
    let task = w.take(worker).await;
    w.fail(&task, Retry::After(secs(0))).await;
    let shown = w.get(task.id).await;
    assert_eq!((shown.suspect, shown.strikes), (false, 0));
}

/// Each strike makes the task wait: a second, then twice as long each time. Others go on, and it is claimed again when it is due.
pub async fn a_task_waits_longer_after_each_strike(w: &World) {
    let task = w.running().await;
    w.lose_all().await;
    for (strike, wait) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        let worker = w.worker().await;
        assert_eq!(w.claim_ids(worker, 9).await, [task.id]);
        assert_eq!(w.lose_all().await, Recovered { returned: 1, workers: 1, ..NOTHING });
        let shown = w.get(task.id).await;
        assert_eq!((shown.state, shown.gate, shown.attempt), (State::Pending, Some(Gate::Time), 0));
        assert_eq!((shown.suspect, shown.strikes, shown.due), (true, strike, w.now().plus(secs(wait))));
        assert_eq!(shown.position, w.get(task.id).await.position);
        w.advance(wait - 1).await;
        let (other, worker) = (w.enqueue("mail").await, w.worker().await);
        let claimed = w.store.claim(&claim_of(worker, 9)).await.unwrap();
        assert_eq!((ids(&claimed.tasks), claimed.next_due), (vec![other], Some(shown.due)));
        w.done(&claimed.tasks[0]).await;
        w.store.leave(worker).await.unwrap();
        w.advance(1).await;
    }
}

/// No wait is longer than five minutes, and a task fails as poison only after twenty strikes, and says so.
pub async fn a_task_that_takes_down_its_workers_is_poison_in_the_end(w: &World) {
    let task = w.running().await;
    w.lose_all().await;
    for strike in 1..=20 {
        let worker = w.worker().await;
        assert_eq!(w.claim_ids(worker, 9).await, [task.id]);
        let recovered = w.lose_all().await;
        let shown = w.get(task.id).await;
        assert_eq!(shown.strikes, strike);
        assert_eq!((recovered.returned, recovered.poisoned), if strike == 20 { (0, 1) } else { (1, 0) });
        assert!(shown.due <= w.now().plus(secs(300)), "strike {strike}");
        if strike < 20 {
            w.advance(300).await;
        }
    }
    let shown = w.get(task.id).await;
    assert_eq!(
        (shown.state, shown.failure, shown.finished_at),
        (State::Failed, Some(Failure::poison(20)), Some(w.now()))
    );
    assert_eq!(w.endings(task.id).await, [Ending::Lost; 21]);
}

/// How many strikes a task may have is up to its command, as it is registered at the time.
pub async fn a_command_says_how_many_strikes_make_poison(w: &World) {
    let task = w.running().await;
    w.lose_all().await;
    w.allow_strikes("mail", 2).await;
    for strike in 1..=2 {
        let worker = w.worker().await;
        assert_eq!(w.claim_ids(worker, 9).await, [task.id]);
        assert_eq!(w.lose_all().await.poisoned, u64::from(strike == 2));
        w.advance(2).await;
    }
    assert_eq!(w.get(task.id).await.failure, Some(Failure::poison(2)));
    for max_strikes in [0, 1_001] {
        let plain = plain_command("mail");
        let retry = RetryPolicy { max_strikes, ..plain.retry };
        assert!(matches!(w.store.register(&[Command { retry, ..plain }]).await, Err(StoreError::Input(_))));
    }
}

/// An operator clears a suspect that waits: it is open at once, runs beside other suspects, and a loss makes it a suspect anew.
pub async fn an_acquitted_task_runs_at_once_like_any_other(w: &World) {
    let suspects = w.enqueue_many("mail", 2).await;
    let worker = w.worker().await;
    w.claim(worker, 2).await;
    w.lose_all().await;
    let worker = w.worker().await;
    let struck = w.take(worker).await.id;
    assert_eq!(struck, suspects[0]);
    w.lose_all().await;
    assert_eq!(w.get(struck).await.gate, Some(Gate::Time));
    let shown = w.store.acquit(struck).await.unwrap();
    assert_eq!(shown, w.get(struck).await);
    assert_eq!((shown.state, shown.gate, shown.due), (State::Pending, Some(Gate::Open), w.now()));
    assert_eq!((shown.suspect, shown.strikes), (false, 0));
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 9).await, suspects, "it runs beside a suspect");
    w.lose_all().await;
    let shown = w.get(struck).await;
    assert_eq!((shown.suspect, shown.strikes, shown.gate), (true, 0, Some(Gate::Open)));
}

/// A running suspect that is cleared runs on, and its worker may take another suspect.
pub async fn an_acquitted_task_that_runs_goes_on(w: &World) {
    let suspects = w.enqueue_many("mail", 2).await;
    let worker = w.worker().await;
    w.claim(worker, 2).await;
    w.lose_all().await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    assert!(w.claim(worker, 1).await.is_empty());
    let shown = w.store.acquit(task.id).await.unwrap();
    assert_eq!((shown.state, shown.suspect, shown.worker), (State::Running, false, Some(worker)));
    assert_eq!(w.claim_ids(worker, 1).await, [suspects[1]]);
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
}

/// To clear a task that is no suspect changes nothing, also when the call is repeated; one that has ended is refused.
pub async fn only_suspects_are_acquitted(w: &World) {
    let ended = w.failed().await;
    let later = w.create(crate::world::later(60)).await;
    let running = w.running().await;
    let before = w.everything().await;
    for id in [later, running.id] {
        assert_eq!(w.store.acquit(id).await.unwrap(), w.get(id).await);
    }
    assert!(matches!(w.store.acquit(ended).await, Err(StoreError::WrongState { task, .. }) if task == ended));
    assert!(matches!(w.store.acquit(TaskId(i64::MAX)).await, Err(StoreError::NotFound { .. })));
    assert_eq!(w.everything().await, before);
}

/// One killer in a batch of 500: its 499 neighbours complete, and only the killer fails, when it has the strikes that it may.
pub async fn one_killer_does_not_fail_its_neighbours(w: &World) {
    w.allow_strikes("mail", 3).await;
    let all = w.enqueue_many("mail", 500).await;
    let killer = all[250];
    for _ in 0..4 {
        // A worker takes all it gets, completes everything up to the killer, and is taken down by it.
        let worker = w.worker().await;
        let tasks = w.claim(worker, 500).await;
        let survivors = tasks.iter().take_while(|task| task.id != killer);
        let batch: Vec<_> = survivors.map(|task| settle_of(task, Outcome::Done(None))).collect();
        w.store.settle(&batch).await.unwrap();
        w.lose_all().await;
        w.advance(4).await;
    }
    // The suspects that are left run one by one.
    let worker = w.worker().await;
    while let Some(task) = w.claim(worker, 1).await.pop() {
        assert_ne!(task.id, killer, "poison by now");
        w.done(&task).await;
    }
    assert_eq!(w.in_state(State::Failed).await, BTreeSet::from([killer]));
    assert_eq!(w.in_state(State::Completed).await.len(), 499);
}

/// Losses of tasks that were no suspects are no strikes, however many workers die around them.
pub async fn a_first_loss_is_no_strike(w: &World) {
    let task = w.running().await;
    for _ in 0..5 {
        w.lose_all().await;
        let worker = w.worker().await;
        let task = w.take(worker).await;
        w.settle(&task, Outcome::Snooze(secs(0))).await;
        w.take(worker).await;
        assert_eq!(w.get(task.id).await.strikes, 0);
    }
    assert_eq!(w.state(task.id).await, State::Running);
}

/// A loss that a server restart explains makes neither a suspect nor a strike; a store without a server says that it
/// can't be restarted.
pub async fn a_server_restart_is_no_strike(w: &World) {
    let task = w.running().await;
    let judge = w.worker().await;
    w.pass_a_lease(&[judge]).await;
    if !w.fixture().restart_server().await {
        assert_ne!(w.store.kind(), "postgres", "a PostgreSQL server can be restarted");
        assert_eq!(w.recover_all(judge).await.returned, 1);
        assert!(w.get(task.id).await.suspect, "without a server, a loss always speaks against the task");
        return;
    }
    assert_eq!(w.recover_all(judge).await.returned, 1);
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.suspect, shown.strikes), (State::Pending, false, 0));
}

/// Workers are shown oldest first.
pub async fn workers_are_shown_oldest_first(w: &World) {
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(w.worker().await);
        w.advance(1).await;
    }
    let shown: Vec<_> = w.store.workers().await.unwrap().into_iter().map(|worker| worker.id).collect();
    assert_eq!(shown, made);
}
