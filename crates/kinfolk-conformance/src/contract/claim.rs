//! Claiming: what is taken, in which order, by whom.

use std::collections::BTreeSet;

use kinfolk_core::limits::CLAIM_BATCH_MAX;
use kinfolk_core::{Claim, Gate, NewTask, Outcome, Retry, State, StoreError, TaskId, WorkerId};
use uuid::Uuid;

use crate::world::{World, claim_of, command, ids, later, new_task, queue_name, secs};

/// A claimed task runs, on this worker, since now, at its first attempt.
pub async fn a_claimed_task_runs_on_its_worker(w: &World) {
    let id = w.enqueue("mail").await;
    let worker = w.worker().await;
    w.advance(3).await;
    let claim = claim_of(worker, 10);
    let claimed = w.store.claim(&claim).await.unwrap();
    let [task] = &claimed.tasks[..] else { panic!("one task: {claimed:?}") };
    assert_eq!((task.id, task.token, task.attempt, task.max_attempts), (id, claim.token, 1, 3));
    let task = w.get(id).await;
    assert_eq!((task.state, task.gate, task.attempt), (State::Running, None, 1));
    assert_eq!((task.worker, task.started_at), (Some(worker), Some(w.now())));
}

/// Two workers never get the same task.
pub async fn two_workers_never_get_the_same_task(w: &World) {
    let all: BTreeSet<_> = w.enqueue_many("mail", 30).await.into_iter().collect();
    let (ada, bob) = (w.worker().await, w.worker().await);
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        for worker in [ada, bob] {
            for id in w.claim_ids(worker, 5).await {
                assert!(seen.insert(id), "{id} was given out twice");
            }
        }
    }
    assert_eq!(seen, all);
    assert!(w.claim(ada, 5).await.is_empty());
}

/// A claim never takes more than its limit, and never more than a batch may hold.
pub async fn a_claim_never_takes_more_than_its_limit(w: &World) {
    w.enqueue_many("mail", CLAIM_BATCH_MAX + 20).await;
    let worker = w.worker().await;
    for limit in [0, 1, 7] {
        assert_eq!(w.claim(worker, limit).await.len(), limit);
    }
    assert_eq!(w.claim(worker, usize::MAX).await.len(), CLAIM_BATCH_MAX);
    assert_eq!(w.claim(worker, 100).await.len(), 12);
}

/// Lower priority goes first, then the position in line, then the number.
pub async fn tasks_come_by_priority_then_position_then_number(w: &World) {
    let make = |priority| NewTask { priority: Some(priority), ..new_task("mail") };
    let late = w.create(NewTask { priority: Some(1), ..later(5) }).await;
    let (c, a) = (w.create(make(1)).await, w.create(make(-1)).await);
    w.advance(1).await;
    let (d, b) = (w.create(make(1)).await, w.create(make(0)).await);
    w.advance(9).await;
    let e = w.create(make(1)).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 10).await, [a, b, c, d, late, e]);
}

/// The order holds over all commands of the claim, and a claim that is cut short takes the head of the line.
pub async fn the_order_holds_across_commands(w: &World) {
    let mut made = Vec::new();
    for name in ["report", "mail", "mail", "report", "mail", "report"] {
        made.push(w.enqueue(name).await);
        w.advance(1).await;
    }
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 4).await, made[..4]);
    assert_eq!(w.claim_ids(worker, 4).await, made[4..]);
}

/// A worker gets only commands that it names.
pub async fn a_worker_gets_only_commands_it_handles(w: &World) {
    let (mail, report) = (w.enqueue("mail").await, w.enqueue("report").await);
    let worker = w.worker().await;
    let only =
        |names: &[&str]| Claim { commands: names.iter().map(|name| command(name)).collect(), ..claim_of(worker, 9) };
    assert_eq!(ids(&w.store.claim(&only(&["report"])).await.unwrap().tasks), [report]);
    assert!(w.store.claim(&only(&["report", "nobody"])).await.unwrap().tasks.is_empty());
    assert_eq!(w.state(mail).await, State::Pending);
}

/// A claim takes from its own queue and from no other.
pub async fn a_claim_stays_on_its_queue(w: &World) {
    let (mail, export) = (w.enqueue("mail").await, w.enqueue("export").await);
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 9).await, [mail]);
    let bulk = Claim { queue: queue_name("bulk"), ..claim_of(worker, 9) };
    assert_eq!(ids(&w.store.claim(&bulk).await.unwrap().tasks), [export]);
}

/// No commands, or a queue that nobody knows: an empty answer, no error.
pub async fn a_claim_of_nothing_is_empty(w: &World) {
    w.enqueue("mail").await;
    let worker = w.worker().await;
    for claim in [
        Claim { commands: Vec::new(), ..claim_of(worker, 9) },
        Claim { queue: queue_name("nowhere"), ..claim_of(worker, 9) },
        Claim { commands: vec![command("nobody")], ..claim_of(worker, 9) },
    ] {
        assert!(w.store.claim(&claim).await.unwrap().tasks.is_empty());
    }
}

/// Someone who is not a worker gets nothing but the advice to drop its work.
pub async fn a_stranger_gets_lease_lost(w: &World) {
    let id = w.enqueue("mail").await;
    let stranger = WorkerId(Uuid::now_v7());
    let fault = w.store.claim(&claim_of(stranger, 9)).await.unwrap_err();
    assert!(matches!(fault, StoreError::LeaseLost { worker } if worker == stranger), "{fault}");
    assert_eq!(w.state(id).await, State::Pending);
}

/// A task is not claimed before it is due, and is from that very moment on.
pub async fn a_task_is_claimed_from_the_moment_it_is_due(w: &World) {
    let id = w.create(later(60)).await;
    let worker = w.worker().await;
    w.advance_by(secs(60) - std::time::Duration::from_micros(1)).await;
    assert!(w.claim(worker, 9).await.is_empty());
    assert_eq!(w.get(id).await.gate, Some(Gate::Time));
    w.advance_by(std::time::Duration::from_micros(1)).await;
    assert_eq!(w.claim_ids(worker, 9).await, [id]);
}

/// A claim says when the next task of the queue is due, whatever its command, so that a worker can sleep until then.
pub async fn a_claim_says_when_the_next_task_is_due(w: &World) {
    let worker = w.worker().await;
    assert_eq!(w.store.claim(&claim_of(worker, 9)).await.unwrap().next_due, None);
    w.create(later(60)).await;
    w.create(NewTask { due: kinfolk_core::Due::After(secs(40)), ..new_task("report") }).await;
    w.create(NewTask { queue: Some(queue_name("bulk")), ..later(5) }).await;
    let only_mail = Claim { commands: vec![command("mail")], ..claim_of(worker, 9) };
    assert_eq!(w.store.claim(&only_mail).await.unwrap().next_due, Some(w.now().plus(secs(40))));
    w.advance(40).await;
    let next = w.store.claim(&only_mail).await.unwrap();
    assert_eq!(next.next_due, Some(w.now().plus(secs(20))), "what is open already is not what one sleeps for");
}

/// A million tasks for later, or of another command, are not in the way of one that is open: here, a few hundred.
pub async fn waiting_tasks_are_not_in_the_way(w: &World) {
    w.store.enqueue(&vec![later(600); 300]).await.unwrap();
    w.enqueue_many("report", 300).await;
    let id = w.enqueue("mail").await;
    let worker = w.worker().await;
    let only_mail = Claim { commands: vec![command("mail")], ..claim_of(worker, 9) };
    assert_eq!(ids(&w.store.claim(&only_mail).await.unwrap().tasks), [id]);
}

/// More tasks come due at once than one page opens: further claims open the rest, and none is left behind.
pub async fn all_that_is_due_is_opened_page_by_page(w: &World) {
    let many = kinfolk_core::limits::SWEEP_PAGE + 50;
    w.store.enqueue(&vec![later(5); many]).await.unwrap();
    w.advance(5).await;
    let worker = w.worker().await;
    let mut seen = BTreeSet::new();
    for _ in 0..4 {
        seen.extend(w.claim_ids(worker, CLAIM_BATCH_MAX).await);
    }
    assert_eq!(seen.len(), many);
}

/// A retried task keeps its position in line, before tasks that came after it.
pub async fn a_retried_task_keeps_its_position(w: &World) {
    let worker = w.worker().await;
    let first = w.enqueue("mail").await;
    let task = w.take(worker).await;
    w.advance(1).await;
    let second = w.enqueue("mail").await;
    w.fail(&task, Retry::After(secs(10))).await;
    w.advance(10).await;
    assert_eq!(w.claim_ids(worker, 2).await, [first, second]);
}

/// Snoozed and released tasks keep their position too.
pub async fn snoozed_and_released_tasks_keep_their_position(w: &World) {
    let worker = w.worker().await;
    let made = w.enqueue_many("mail", 2).await;
    let tasks = w.claim(worker, 2).await;
    w.advance(1).await;
    let third = w.enqueue("mail").await;
    w.settle(&tasks[0], Outcome::Snooze(secs(5))).await;
    w.settle(&tasks[1], Outcome::Release).await;
    w.advance(5).await;
    assert_eq!(w.claim_ids(worker, 9).await, [made[0], made[1], third]);
}

/// Each claim call has its own token, and all its tasks share it.
pub async fn a_claim_gives_all_its_tasks_its_token(w: &World) {
    w.enqueue_many("mail", 4).await;
    let worker = w.worker().await;
    let (first, second) = (w.claim(worker, 2).await, w.claim(worker, 2).await);
    assert_eq!(first[0].token, first[1].token);
    assert_eq!(second[0].token, second[1].token);
    assert_ne!(first[0].token, second[0].token);
}

/// A worker sees as running exactly what it has claimed.
pub async fn the_count_of_running_tasks_is_shown_with_the_worker(w: &World) {
    w.enqueue_many("mail", 3).await;
    let (busy, idle) = (w.worker().await, w.worker().await);
    let tasks = w.claim(busy, 3).await;
    w.done(&tasks[0]).await;
    let shown = w.store.workers().await.unwrap();
    let running = |id: WorkerId| shown.iter().find(|worker| worker.id == id).map(|worker| worker.running);
    assert_eq!((running(busy), running(idle)), (Some(2), Some(0)));
}

/// A task goes round many times without ever being given out twice at once or lost.
pub async fn a_task_can_go_round_many_times(w: &World) {
    let id: TaskId = w.enqueue("mail").await;
    let worker = w.worker().await;
    for round in 0..25 {
        let task = w.take(worker).await;
        assert_eq!((task.id, task.attempt), (id, 1), "round {round}");
        assert!(w.claim(worker, 5).await.is_empty());
        w.settle(&task, Outcome::Snooze(secs(1))).await;
        w.advance(1).await;
    }
    assert_eq!(w.endings(id).await.len(), 25);
}

/// A clock that is set back, by a fail-over say, loses nothing, gives nothing out twice and ends no lease.
pub async fn a_clock_set_back_does_no_harm(w: &World) {
    let (worker, judge) = (w.worker().await, w.worker().await);
    let (first, second) = (w.enqueue("mail").await, w.enqueue("mail").await);
    let running = w.take(worker).await;
    assert_eq!(running.id, first);
    w.advance(25).await;
    w.set_back(secs(600)).await;
    for alive in [worker, judge] {
        w.store.heartbeat(alive).await.unwrap();
    }
    assert_eq!(w.store.recover(judge).await.unwrap().returned, 0);
    let third = w.enqueue("mail").await;
    let mut rest = w.claim_ids(judge, 9).await;
    rest.sort_unstable();
    assert_eq!(rest, [second, third]);
    w.done(&running).await;
    assert_eq!(w.state(first).await, State::Completed);
    w.advance(1).await;
    assert!(w.claim(worker, 9).await.is_empty());
}
