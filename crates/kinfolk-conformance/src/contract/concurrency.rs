//! Many at once, on handles that share nothing but the data, on real threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kinfolk_core::operate::Cancelled;
use kinfolk_core::schedule::Fired;
use kinfolk_core::task::Ending;
use kinfolk_core::{
    ClaimedTask, Enqueued, FailureKind, OnDuplicate, Outcome, Schedule, Settled, State, Store, TaskId, Unique,
    UniqueScope,
};

use crate::crowd::{CROWD, crowd, register};
use crate::world::{World, claim_of, ids, new_task, queue_name, schedule_name, settle_of, unique_task};

/// Many claimers at once: every task is given out once, and none is forgotten.
pub async fn many_claimers_never_double_and_forget_nothing(w: &World) {
    let all: BTreeSet<_> = w.enqueue_many("mail", 600).await.into_iter().collect();
    let given = Arc::new(AtomicUsize::new(0));
    let taken = crowd(w, |n, store| {
        let given = Arc::clone(&given);
        async move {
            let worker = register(&*store).await;
            let mut mine = Vec::new();
            while given.load(Ordering::SeqCst) < 600 {
                let tasks = store.claim(&claim_of(worker, 7 + n)).await.unwrap().tasks;
                given.fetch_add(tasks.len(), Ordering::SeqCst);
                mine.extend(ids(&tasks));
                tokio::task::yield_now().await;
            }
            (store, mine)
        }
    })
    .await;
    let flat: Vec<_> = taken.iter().flat_map(|(_, mine)| mine.clone()).collect();
    assert_eq!(flat.len(), 600, "given out twice");
    assert_eq!(flat.into_iter().collect::<BTreeSet<_>>(), all);
}

/// Claiming and settling all at once drains everything, each task by one completion.
pub async fn a_crowd_of_workers_drains_everything_once(w: &World) {
    w.enqueue_many("mail", 400).await;
    let settled = Arc::new(AtomicUsize::new(0));
    crowd(w, |_, store| {
        let settled = Arc::clone(&settled);
        async move {
            let worker = register(&*store).await;
            while settled.load(Ordering::SeqCst) < 400 {
                let tasks = store.claim(&claim_of(worker, 10)).await.unwrap().tasks;
                let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
                for answer in store.settle(&batch).await.unwrap() {
                    assert_eq!(answer, Settled::Recorded(State::Completed));
                    settled.fetch_add(1, Ordering::SeqCst);
                }
            }
            store.leave(worker).await.unwrap();
        }
    })
    .await;
    assert_eq!(settled.load(Ordering::SeqCst), 400);
    assert_eq!(w.in_state(State::Completed).await.len(), 400);
}

/// Enqueues at once get numbers of their own, and none is lost.
pub async fn parallel_enqueues_lose_nothing(w: &World) {
    let made = crowd(w, |_, store| async move {
        let mut mine = Vec::new();
        for _ in 0..20 {
            mine.extend(store.enqueue(&vec![new_task("mail"); 5]).await.unwrap());
        }
        mine
    })
    .await;
    let made: BTreeSet<_> = made.into_iter().flatten().map(|answer| answer.id().unwrap()).collect();
    assert_eq!(made.len(), CROWD * 100);
    assert_eq!(w.in_state(State::Pending).await, made);
}

/// The same settle from all sides at once is recorded once.
pub async fn the_same_settle_at_once_is_recorded_once(w: &World) {
    w.enqueue_many("mail", 50).await;
    let worker = w.worker().await;
    let tasks = Arc::new(w.claim(worker, 50).await);
    let answers = crowd(w, |_, store| {
        let tasks = Arc::clone(&tasks);
        async move {
            let mut answers = Vec::new();
            for task in &*tasks {
                answers.extend(store.settle(&[settle_of(task, Outcome::Done(None))]).await.unwrap());
            }
            answers
        }
    })
    .await;
    for n in 0..50 {
        let recorded = answers.iter().filter(|mine| mine[n] == Settled::Recorded(State::Completed)).count();
        let repeated = answers.iter().filter(|mine| mine[n] == Settled::Repeated(State::Completed)).count();
        assert_eq!((recorded, repeated), (1, CROWD - 1));
    }
}

/// Batches that settle the same tasks in crossing orders do not lock each other up.
pub async fn crossing_batches_do_not_lock_up(w: &World) {
    w.enqueue_many("mail", 200).await;
    let worker = w.worker().await;
    let tasks = Arc::new(w.claim(worker, 200).await);
    let answers = crowd(w, |n, store| {
        let mut batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
        if n % 2 == 1 {
            batch.reverse();
        }
        async move { store.settle(&batch).await.unwrap() }
    })
    .await;
    let recorded = answers.into_iter().flatten().filter(|answer| matches!(answer, Settled::Recorded(_))).count();
    assert_eq!(recorded, 200);
}

/// Enqueues at once under one key that is held while active: however many were made, one runs, and the others end as
/// merged into it.
pub async fn at_most_one_task_runs_under_an_active_key(w: &World) {
    for round in 0..10 {
        let key = Unique::key(format!("k{round}")).scope(UniqueScope::Active).on_duplicate(OnDuplicate::Merge);
        let answers = crowd(w, |n, store| {
            let task = unique_task(key.clone(), &format!(r#"{{"n{n}":{n}}}"#));
            async move { store.enqueue(&[task]).await.unwrap().remove(0) }
        })
        .await;
        let created = answers.iter().filter(|answer| matches!(answer, Enqueued::Created(_))).count();
        assert!(created >= 1);
        let worker = w.worker().await;
        let tasks = w.claim(worker, 10).await;
        assert_eq!(tasks.len(), 1, "one runs: {answers:?}");
        for n in 0..CROWD {
            assert!(tasks[0].payload.as_str().contains(&format!("\"n{n}\"")), "{:?}", tasks[0].payload);
        }
        for answer in &answers {
            let task = w.get(answer.id().unwrap()).await;
            if task.id != tasks[0].id {
                assert_eq!(task.state, State::Cancelled);
                assert_eq!(task.failure.map(|failure| failure.kind), Some(FailureKind::Cancelled));
            }
        }
        w.done(&tasks[0]).await;
        assert!(w.claim(worker, 10).await.is_empty());
    }
}

/// Merges that race with claims are never lost: what comes too late for one task is in the next.
pub async fn no_merge_is_lost_however_it_races_with_claims(w: &World) {
    const EACH: usize = 40;
    let key = Unique::key("k").on_duplicate(OnDuplicate::Merge);
    let busy = Arc::new(AtomicUsize::new(CROWD - 1));
    let seen = crowd(w, |n, store| {
        let (key, busy) = (key.clone(), Arc::clone(&busy));
        async move {
            let mut seen = BTreeMap::<String, usize>::new();
            if n > 0 {
                for m in 0..EACH {
                    let answers =
                        store.enqueue(&[unique_task(key.clone(), &format!(r#"{{"p{n}-{m}":1}}"#))]).await.unwrap();
                    assert!(!matches!(answers[0], Enqueued::Existing(_)), "a pending task takes every merge");
                }
                busy.fetch_sub(1, Ordering::SeqCst);
                return seen;
            }
            let worker = register(&*store).await;
            loop {
                let last = busy.load(Ordering::SeqCst) == 0;
                let tasks = store.claim(&claim_of(worker, 5)).await.unwrap().tasks;
                for task in &tasks {
                    for part in task.payload.to::<BTreeMap<String, usize>>().unwrap().into_keys() {
                        *seen.entry(part).or_default() += 1;
                    }
                    store.settle(&[settle_of(task, Outcome::Done(None))]).await.unwrap();
                }
                if last && tasks.is_empty() {
                    store.leave(worker).await.unwrap();
                    return seen;
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    let seen: BTreeMap<_, _> = seen.into_iter().flatten().collect();
    assert_eq!(seen.len(), (CROWD - 1) * EACH);
    assert!(seen.values().all(|times| *times == 1), "merged into two tasks: {seen:?}");
}

/// Two transactions with crossing unique keys do not lock each other up.
pub async fn crossing_keys_do_not_lock_up(w: &World) {
    crowd(w, |n, store| async move {
        for _ in 0..20 {
            let under = |key: &str| unique_task(Unique::key(key).on_duplicate(OnDuplicate::Merge), "{}");
            let mut batch: Vec<_> = ["a", "b", "c", "d"].map(under).to_vec();
            if n % 2 == 1 {
                batch.reverse();
            }
            store.enqueue(&batch).await.unwrap();
        }
    })
    .await;
    let worker = w.worker().await;
    assert_eq!(w.claim(worker, 100).await.len(), 4);
}

/// Once a pause has returned, nothing more is taken, whatever was under way.
pub async fn once_paused_nothing_more_is_taken(w: &World) {
    w.enqueue_many("mail", 900).await;
    let (stop, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    crowd(w, |n, store| {
        let (stop, begun) = (Arc::clone(&stop), Arc::clone(&begun));
        async move {
            if n == 0 {
                while begun.load(Ordering::SeqCst) < 10 {
                    tokio::task::yield_now().await;
                }
                store.pause(&queue_name("default"), None).await.unwrap();
                let count = async || {
                    let counts = store.stats().await.unwrap().counts;
                    counts.iter().find(|count| count.state == State::Pending).map_or(0, |count| count.tasks)
                };
                let before = count().await;
                let seen = begun.load(Ordering::SeqCst);
                while begun.load(Ordering::SeqCst) < seen + 3 * CROWD {
                    tokio::task::yield_now().await;
                }
                stop.store(true, Ordering::SeqCst);
                assert_eq!(count().await, before);
                return;
            }
            let worker = register(&*store).await;
            while !stop.load(Ordering::SeqCst) {
                store.claim(&claim_of(worker, 3)).await.unwrap();
                begun.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
}

/// A completion and a cancellation at once: one of them wins, and both hear the same.
pub async fn a_cancel_and_a_completion_agree(w: &World) {
    w.enqueue_many("mail", 60).await;
    let worker = w.worker().await;
    let tasks = Arc::new(w.claim(worker, 60).await);
    let heard = crowd(w, |n, store| {
        let tasks = Arc::clone(&tasks);
        async move {
            let mut heard = BTreeMap::new();
            for task in tasks.iter().filter(|_| n < 2) {
                let word = if n == 0 {
                    format!("{:?}", store.cancel(task.id).await.map_err(|fault| fault.to_string()))
                } else {
                    format!("{:?}", store.settle(&[settle_of(task, Outcome::Done(None))]).await.unwrap()[0])
                };
                heard.insert((task.id, n), word);
            }
            heard
        }
    })
    .await;
    let heard: BTreeMap<_, _> = heard.into_iter().flatten().collect();
    for task in &*tasks {
        let (cancel, settle, state) = (&heard[&(task.id, 0)], &heard[&(task.id, 1)], w.state(task.id).await);
        let wants = match state {
            State::Completed => {
                (Err(Cancelled::too_late(task.id, State::Completed).to_string()), Settled::Recorded(State::Completed))
            }
            _ => (Ok(Cancelled::Requested), Settled::Recorded(State::Cancelled)),
        };
        assert_eq!((cancel, settle), (&format!("{:?}", wants.0), &format!("{:?}", wants.1)));
    }
}

/// A claim and a cancellation at once: a task that was cancelled at once is never given out.
pub async fn a_cancel_and_a_claim_agree(w: &World) {
    let made = Arc::new(w.enqueue_many("mail", 120).await);
    let heard = crowd(w, |n, store| {
        let made = Arc::clone(&made);
        async move {
            let (mut now, mut taken) = (BTreeSet::new(), BTreeSet::new());
            if n == 0 {
                for id in &*made {
                    if store.cancel(*id).await.unwrap() == Cancelled::Now {
                        now.insert(*id);
                    }
                }
                return (store, now, taken);
            }
            let worker = register(&*store).await;
            for _ in 0..20 {
                taken.extend(ids(&store.claim(&claim_of(worker, 3)).await.unwrap().tasks));
            }
            (store, now, taken)
        }
    })
    .await;
    let now: BTreeSet<TaskId> = heard.iter().flat_map(|(_, now, _)| now.clone()).collect();
    let taken: BTreeSet<TaskId> = heard.iter().flat_map(|(_, _, taken)| taken.clone()).collect();
    assert!(now.is_disjoint(&taken), "cancelled and given out");
    assert_eq!(w.in_state(State::Cancelled).await, now);
    assert_eq!(w.in_state(State::Running).await, taken);
}

/// A recovery and a late settle at once: each task either was completed or is lost, never both.
pub async fn a_recovery_and_a_late_settle_never_both_count(w: &World) {
    w.enqueue_many("mail", 100).await;
    let worker = w.worker().await;
    let tasks = Arc::new(w.claim(worker, 100).await);
    let judge = w.worker().await;
    w.pass_a_lease(&[judge]).await;
    let answers = crowd(w, |n, store| {
        let tasks = Arc::clone(&tasks);
        async move {
            match n {
                0 => {
                    store.recover(judge).await.unwrap();
                    Vec::new()
                }
                1 => settle_one_by_one(&*store, &tasks).await,
                _ => Vec::new(),
            }
        }
    })
    .await;
    w.recover_all(judge).await;
    for (id, answer) in answers.into_iter().flatten() {
        let lost = w.endings(id).await == [Ending::Lost];
        let expected = match answer {
            Settled::Recorded(State::Completed) => (State::Completed, false),
            Settled::Stale => (State::Pending, true),
            other => panic!("{other:?}"),
        };
        assert_eq!((w.state(id).await, lost), expected);
    }
}

async fn settle_one_by_one(store: &dyn Store, tasks: &[ClaimedTask]) -> Vec<(TaskId, Settled)> {
    let mut answers = Vec::new();
    for task in tasks {
        answers.push((task.id, store.settle(&[settle_of(task, Outcome::Done(None))]).await.unwrap()[0]));
    }
    answers
}

/// Several that recover at once give back each task once.
pub async fn parallel_recoveries_return_each_task_once(w: &World) {
    let made = w.enqueue_many("mail", 200).await;
    let lost = w.worker().await;
    w.claim(lost, 200).await;
    let mut judges = Vec::new();
    for _ in 0..CROWD {
        judges.push(w.worker().await);
    }
    w.pass_a_lease(&judges).await;
    let returned = crowd(w, |n, store| {
        let judge = judges[n];
        async move { store.recover(judge).await.unwrap().returned }
    })
    .await;
    w.recover_all(judges[0]).await;
    assert!(returned.iter().sum::<u64>() <= 200);
    for id in made {
        assert_eq!((w.state(id).await, w.endings(id).await), (State::Pending, vec![Ending::Lost]));
    }
}

/// A tick that is fired from all sides at once is fired once.
pub async fn a_tick_fired_at_once_is_fired_once(w: &World) {
    for round in 1..=5 {
        let schedule = Schedule::new(schedule_name("s"), "* * * * *", new_task("mail"));
        w.store.put_schedule(&schedule).await.unwrap();
        w.advance(60).await;
        let plan = w.store.due_schedules().await.unwrap()[0].plan(w.now()).unwrap().unwrap();
        let fired = crowd(w, |_, store| {
            let plan = plan.clone();
            async move { store.fire(&plan).await.unwrap() }
        })
        .await;
        let late = fired.iter().filter(|fired| **fired == Fired { too_late: true, ..Fired::default() }).count();
        assert_eq!((late, w.all().await.len()), (CROWD - 1, round));
    }
}

/// Pruning from all sides at once removes each task once.
pub async fn parallel_prunes_count_each_task_once(w: &World) {
    for id in w.enqueue_many("mail", 100).await {
        w.store.cancel(id).await.unwrap();
    }
    w.advance(8 * 24 * 3_600).await;
    let gone = crowd(w, |_, store| async move { store.prune().await.unwrap() }).await;
    let rest = w.store.prune().await.unwrap();
    assert_eq!(gone.iter().sum::<u64>() + rest, 100);
    assert!(w.all().await.is_empty());
}

/// Commands registered from all sides at once, in crossing orders, are all there in the end.
pub async fn parallel_registrations_do_not_lock_up(w: &World) {
    crowd(w, |n, store| async move {
        let mut commands: Vec<_> = (0..20).map(|m| crate::world::plain_command(&format!("c{m}"))).collect();
        if n % 2 == 1 {
            commands.reverse();
        }
        for _ in 0..5 {
            store.register(&commands).await.unwrap();
        }
    })
    .await;
    assert_eq!(w.store.commands().await.unwrap().len(), 23);
}

/// A worker that leaves while its tasks are settled: each task was completed or given back, never both.
pub async fn leaving_and_settling_agree(w: &World) {
    w.enqueue_many("mail", 60).await;
    let worker = w.worker().await;
    let tasks = Arc::new(w.claim(worker, 60).await);
    let answers = crowd(w, |n, store| {
        let tasks = Arc::clone(&tasks);
        async move {
            match n {
                0 => settle_one_by_one(&*store, &tasks).await,
                1 => {
                    store.leave(worker).await.unwrap();
                    Vec::new()
                }
                _ => Vec::new(),
            }
        }
    })
    .await;
    for (id, answer) in answers.into_iter().flatten() {
        let state = match answer {
            Settled::Recorded(state) | Settled::Repeated(state) => state,
            Settled::Stale => State::Pending,
        };
        assert_eq!(w.state(id).await, state, "{answer:?}");
    }
}
