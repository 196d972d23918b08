//! Groups under fire: many claim, settle and change limits at once, on handles that share nothing but the data.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kinfolk_core::{Claim, ClaimedTask, GroupSpec, NewTask, Outcome, Retry, Settled, State, Store, TaskId, WorkerId};

use crate::crowd::{CROWD, crowd, register};
use crate::grouped::{of_mail, shared, slots, task_of};
use crate::world::{World, claim_of, failed, queue_name, secs, settle_of};

/// Counts who is at work under each key, from after the claim until before the settle: never more than may be.
#[derive(Default)]
struct Witness {
    at_work: Mutex<BTreeMap<String, usize>>,
    ended: AtomicUsize,
    released: AtomicUsize,
}

impl Witness {
    fn begin(&self, key: &str, limit: usize) {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        let now = at_work.entry(key.to_owned()).or_default();
        *now += 1;
        assert!(*now <= limit, "{now} at work under {key}, {limit} may be");
    }

    fn end(&self, key: &str) {
        *self.at_work.lock().unwrap_or_else(PoisonError::into_inner).get_mut(key).expect("it has begun") -= 1;
    }
}

/// The keys that a task was enqueued with, from its payload's number.
type Load = Arc<BTreeMap<TaskId, Vec<String>>>;

async fn load(w: &World, many: usize, queue: impl Fn(usize) -> &'static str) -> Load {
    let mut made = BTreeMap::new();
    for n in 0..many {
        let keys = [("a", format!("a{}", n % 3)), ("b", format!("b{}", n % 4))];
        let named: Vec<_> = keys.iter().map(|(group, key)| (*group, key.as_str())).collect();
        let task = NewTask { queue: Some(queue_name(queue(n))), ..task_of("mail", &named) };
        made.insert(w.create(task).await, keys.into_iter().map(|(_, key)| key).collect());
    }
    Arc::new(made)
}

/// Works off a load until all of it has ended; how each attempt ends is up to `end`.
async fn work(
    store: &dyn Store,
    worker: WorkerId,
    load: &Load,
    witness: &Witness,
    limit: usize,
    end: impl Fn(&ClaimedTask) -> Outcome,
) {
    while witness.ended.load(Ordering::SeqCst) < load.len() {
        for queue in ["default", "bulk"] {
            let claim = Claim { queue: queue_name(queue), ..claim_of(worker, 3) };
            let taken = store.claim(&claim).await.unwrap().tasks;
            for task in &taken {
                load[&task.id].iter().for_each(|key| witness.begin(key, limit));
            }
            tokio::task::yield_now().await;
            for task in taken {
                load[&task.id].iter().for_each(|key| witness.end(key));
                let settled = store.settle(&[settle_of(&task, end(&task))]).await.unwrap();
                if settled == [Settled::Recorded(State::Completed)] {
                    witness.ended.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    }
}

/// Several workers run everything, and none of them sees more than so many under one key.
async fn all_work(w: &World, load: &Load, limit: usize) {
    let witness = Arc::new(Witness::default());
    crowd(w, |_, store| {
        let (load, witness) = (Arc::clone(load), Arc::clone(&witness));
        async move {
            let worker = register(&*store).await;
            work(&*store, worker, &load, &witness, limit, |_| Outcome::Done(None)).await;
        }
    })
    .await;
}

/// Two claims at once never pass a limit: each counts what the other has taken, not what it sees from where it stands.
pub async fn two_claims_at_once_never_pass_a_limit(w: &World) {
    w.groups([("a", 2), ("b", 2)]).await;
    let load = load(w, 60, |_| "default").await;
    all_work(w, &load, 2).await;
    assert_eq!(w.in_state(State::Completed).await.len(), 60);
    assert_eq!(w.keys().await, []);
}

/// A total of one never lets two overlap.
pub async fn a_total_of_one_never_overlaps(w: &World) {
    w.groups([("total", 1)]).await;
    let made = w.enqueue_many("mail", 30).await;
    let load: Load = Arc::new(made.into_iter().map(|id| (id, vec!["total".to_owned()])).collect());
    all_work(w, &load, 1).await;
    assert_eq!(w.in_state(State::Completed).await.len(), 30);
}

/// A group that queues share is exact though their claims don't wait for each other.
pub async fn a_group_shared_by_queues_is_exact(w: &World) {
    w.groups([("a", GroupSpec::limit(1).shared()), ("b", GroupSpec::limit(2).shared())]).await;
    let load = load(w, 40, |n| if n % 2 == 0 { "default" } else { "bulk" }).await;
    all_work(w, &load, 2).await;
    assert_eq!(w.in_state(State::Completed).await.len(), 40);
    assert_eq!(w.holders_in(&shared("a"), "a0").await, []);
}

/// Whatever attempts end in, and however limits change meanwhile, everything drains without help.
pub async fn everything_drains_while_limits_change(w: &World) {
    w.groups([("a", 1), ("b", 2)]).await;
    let load = load(w, 50, |_| "default").await;
    let witness = Arc::new(Witness::default());
    crowd(w, |n, store| {
        let (load, witness) = (Arc::clone(&load), Arc::clone(&witness));
        async move {
            if n == 0 {
                let mut limit = 0;
                while witness.ended.load(Ordering::SeqCst) < load.len() {
                    limit = limit % 3 + 1;
                    store.set_group(&of_mail("a"), None, &slots(limit)).await.unwrap();
                    store.set_group(&of_mail("b"), Some("b1"), &slots(4 - limit)).await.unwrap();
                }
                return;
            }
            let worker = register(&*store).await;
            work(&*store, worker, &load, &witness, 3, |task| match (task.id.0 % 5, task.attempt) {
                (0, 1) => failed(Retry::After(secs(0))),
                (1, _) if witness.released.fetch_add(1, Ordering::SeqCst) < 20 => Outcome::Release,
                _ => Outcome::Done(None),
            })
            .await;
        }
    })
    .await;
    assert_eq!(w.in_state(State::Completed).await.len(), 50);
    w.set("a", slots(1)).await;
    assert!(w.claim_nothing().await);
}

/// Room is not counted by number: one with a higher number that runs counts as one with a lower number does.
pub async fn room_is_not_counted_by_number(w: &World) {
    w.groups([("tenant", 2)]).await;
    let acme = [("tenant", "acme")];
    let low = w.create(NewTask { due: kinfolk_core::Due::After(secs(1)), ..task_of("mail", &acme) }).await;
    let lower = w.create(NewTask { priority: Some(9), ..task_of("mail", &acme) }).await;
    let high = w.create(NewTask { priority: Some(-9), ..task_of("mail", &acme) }).await;
    let higher = w.create(NewTask { priority: Some(-9), ..task_of("mail", &acme) }).await;
    let running = w.look(2).await.tasks;
    assert_eq!(running.iter().map(|task| task.id).collect::<Vec<_>>(), [high, higher]);
    w.advance(1).await;
    assert!(w.claim_nothing().await, "tasks {low} and {lower} stand before those that run");
    w.done(&running[0]).await;
    assert_eq!(w.claimable().await, [low]);
}

/// A recovery and a late settle at once free a slot once.
pub async fn a_recovery_and_a_late_settle_free_once(w: &World) {
    w.groups([("tenant", 1)]).await;
    let acme = [("tenant", "acme")];
    for _ in 0..5 {
        let task = w.start(w.under(&acme).await).await;
        let judge = w.worker().await;
        w.pass_a_lease(&[judge]).await;
        let waiting = w.many_under("mail", &acme, 3).await;
        let task = Arc::new(task);
        crowd(w, |n, store| {
            let task = Arc::clone(&task);
            async move {
                if n % 2 == 0 {
                    store.recover(judge).await.unwrap();
                } else {
                    store.settle(&[settle_of(&task, Outcome::Done(None))]).await.unwrap();
                }
            }
        })
        .await;
        let taken = w.look(CROWD).await.tasks;
        assert_eq!(taken.len(), 1, "one slot is free");
        w.done(&taken[0]).await;
        for id in waiting.into_iter().chain([task.id]) {
            w.cancel_if_open(id).await;
        }
        w.store.leave(judge).await.unwrap();
    }
}

/// Waiters that are cancelled while slots become free take nobody's turn with them.
pub async fn cancels_lose_nobodys_turn(w: &World) {
    w.groups([("tenant", 1)]).await;
    let acme = [("tenant", "acme")];
    for _ in 0..5 {
        let holder = Arc::new(w.start(w.under(&acme).await).await);
        let waiting = Arc::new(w.many_under("mail", &acme, 4).await);
        assert!(w.claim_nothing().await);
        let taken = crowd(w, |n, store| {
            let (holder, waiting) = (Arc::clone(&holder), Arc::clone(&waiting));
            async move {
                match n {
                    0 => drop(store.settle(&[settle_of(&holder, Outcome::Done(None))]).await.unwrap()),
                    1 | 2 => drop(store.cancel(waiting[n - 1]).await.unwrap()),
                    _ => {
                        let worker = register(&*store).await;
                        return store.claim(&claim_of(worker, 9)).await.unwrap().tasks;
                    }
                }
                Vec::new()
            }
        })
        .await;
        let mut running: Vec<_> = taken.into_iter().flatten().collect();
        assert!(running.len() <= 1);
        running.extend(w.look(9).await.tasks);
        let running: Vec<_> = running.into_iter().collect();
        let held = w.holders("tenant", "acme").await;
        assert_eq!(held.len().min(1), held.len(), "one slot, one holder");
        for task in &running {
            w.done(task).await;
        }
        let mut left = 0;
        while let [task] = &w.look(9).await.tasks[..] {
            w.done(task).await;
            left += 1;
        }
        assert!(left <= 3);
        assert_eq!(w.in_state(State::Pending).await.len(), 0, "everyone had a turn");
    }
}
