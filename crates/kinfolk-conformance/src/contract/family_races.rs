//! Families under many hands at once, on handles that share nothing but the data, on real threads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kinfolk_core::{
    ClaimedTask, Gate, Made, NewTask, OnDuplicate, Outcome, Policy, Retried, Retry, Settle, Settled, State, Store,
    StoreError, TaskId, Unique, When, WorkerId,
};

use crate::crowd::{CROWD, crowd, register};
use crate::family::{children, children_at_once, counts, done_with, follow_up, home, siblings, these};
use crate::world::{World, claim_of, failed, json, new_task, secs, settle_of};

/// How often a race is run.
const ROUNDS: usize = 12;

/// A family whose children all run: the root, and they.
async fn all_running(w: &World, many: usize) -> (TaskId, Vec<ClaimedTask>) {
    let root = w.waiting(children(many)).await;
    let worker = w.worker().await;
    let tasks = w.claim(worker, many).await;
    assert_eq!(tasks.len(), many);
    (root, tasks)
}

/// Settles these one after another, each alone.
async fn settle_each(store: &dyn Store, settles: Vec<Settle>) -> Vec<Settled> {
    let mut answers = Vec::new();
    for settle in settles {
        answers.extend(store.settle(&[settle]).await.unwrap());
    }
    answers
}

/// The last children end at once, each settled by another process: exactly then the parent ends, and never is one missed.
pub async fn the_last_siblings_settle_at_once(w: &World) {
    let mut families = Vec::new();
    for _ in 0..ROUNDS {
        families.push(all_running(w, CROWD).await);
    }
    crowd(w, |n, store| {
        let mine = families.iter().map(|(_, tasks)| settle_of(&tasks[n], Outcome::Done(None))).collect();
        async move { settle_each(&*store, mine).await }
    })
    .await;
    assert_eq!(w.store.sweep().await.unwrap(), 0, "a parent was missed");
    for (root, _) in families {
        assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(4, 4, 0, 0)));
    }
}

/// The same through three generations: the ends of cousins meet at the root.
pub async fn the_last_cousins_settle_at_once(w: &World) {
    let mut families = Vec::new();
    for _ in 0..ROUNDS {
        let (root, parents) = all_running(w, CROWD).await;
        let batch: Vec<_> = parents.iter().map(|task| done_with(task, children(2))).collect();
        w.store.settle(&batch).await.unwrap();
        let worker = w.worker().await;
        families.push((root, w.claim(worker, 100).await));
    }
    crowd(w, |n, store| {
        let mine = |(_, tasks): &(TaskId, Vec<ClaimedTask>)| {
            let mine = tasks.iter().skip(n).step_by(CROWD);
            mine.map(|task| settle_of(task, Outcome::Done(None))).collect::<Vec<_>>()
        };
        let mine: Vec<_> = families.iter().flat_map(mine).collect();
        async move { settle_each(&*store, mine).await }
    })
    .await;
    assert_eq!(w.store.sweep().await.unwrap(), 0, "a parent was missed");
    for (root, _) in families {
        assert_eq!(w.state(root).await, State::Completed);
        assert_eq!(w.store.progress(root).await.unwrap().levels, [counts(4, 4, 0, 0), counts(8, 8, 0, 0)]);
    }
}

/// Some children leave siblings while the others end: the parent never ends before the siblings have.
pub async fn a_sibling_and_the_last_end_at_once(w: &World) {
    let mut families = Vec::new();
    for _ in 0..ROUNDS {
        families.push(all_running(w, CROWD).await);
    }
    crowd(w, |n, store| {
        let settle =
            |task| if n % 2 == 0 { done_with(task, siblings(1)) } else { settle_of(task, Outcome::Done(None)) };
        let mine = families.iter().map(|(_, tasks)| settle(&tasks[n])).collect();
        async move { settle_each(&*store, mine).await }
    })
    .await;
    for (root, _) in &families {
        assert_eq!((w.state(*root).await, w.tally(*root).await), (State::Waiting, counts(6, 4, 0, 0)));
    }
    let worker = w.worker().await;
    let rest = w.claim(worker, 1_000).await;
    assert_eq!(rest.len(), 2 * ROUNDS);
    w.store.settle(&rest.iter().map(|task| settle_of(task, Outcome::Done(None))).collect::<Vec<_>>()).await.unwrap();
    for (root, _) in families {
        assert_eq!(w.state(root).await, State::Completed);
    }
}

/// Batches that end children of the same families in crossing orders do not lock each other up.
pub async fn crossing_batches_of_families_do_not_lock_up(w: &World) {
    let mut families = Vec::new();
    for _ in 0..20 {
        families.push(all_running(w, CROWD).await);
    }
    crowd(w, |n, store| {
        let mut mine: Vec<_> = families.iter().map(|(_, tasks)| done_with(&tasks[n], siblings(n % 2))).collect();
        if n >= CROWD / 2 {
            mine.reverse();
        }
        async move { store.settle(&mine).await.unwrap() }
    })
    .await;
    for (root, _) in families {
        assert_eq!(w.tally(root).await, counts(6, 4, 0, 0));
    }
}

/// A cancellation of the family and the end of its last child at once: both say the same, and nothing is left open.
pub async fn a_cancel_of_the_family_and_the_last_end_agree(w: &World) {
    let mut families = Vec::new();
    for _ in 0..ROUNDS {
        families.push(all_running(w, 1).await);
    }
    let families = Arc::new(families);
    let heard = crowd(w, |n, store| {
        let families = Arc::clone(&families);
        async move {
            let mut heard = BTreeMap::new();
            for (root, tasks) in families.iter().filter(|_| n < 2) {
                let cancelled = match n {
                    0 => store.cancel(*root).await.is_ok(),
                    _ => {
                        let answer = store.settle(&[settle_of(&tasks[0], Outcome::Done(None))]).await.unwrap();
                        answer == [Settled::Recorded(State::Cancelled)]
                    }
                };
                heard.insert((*root, n), cancelled);
            }
            heard
        }
    })
    .await;
    let heard: BTreeMap<_, _> = heard.into_iter().flatten().collect();
    for (root, tasks) in &*families {
        let state = if heard[&(*root, 0)] { State::Cancelled } else { State::Completed };
        assert_eq!(heard[&(*root, 0)], heard[&(*root, 1)]);
        assert_eq!((w.state(*root).await, w.state(tasks[0].id).await), (state, state));
    }
}

/// A cancellation and a settle that makes children at once: none of the children is left behind.
pub async fn a_cancel_leaves_no_child_behind_that_is_just_made(w: &World) {
    let mut families = Vec::new();
    for _ in 0..ROUNDS {
        families.push(all_running(w, 2).await);
    }
    crowd(w, |n, store| {
        let families = families.clone();
        async move {
            for (root, tasks) in families {
                match n {
                    0 => drop(store.cancel(root).await.unwrap()),
                    1 | 2 => {
                        let made = Made { siblings: siblings(1).siblings, ..children(3) };
                        store.settle(&[done_with(&tasks[n - 1], made)]).await.unwrap();
                    }
                    _ => {}
                }
            }
        }
    })
    .await;
    let ended = [State::Completed, State::Failed, State::Cancelled];
    for task in w.all().await {
        assert!(ended.contains(&task.state), "task {} is {} after all was cancelled", task.id, task.state);
    }
    for (root, _) in families {
        assert_eq!(w.state(root).await, State::Cancelled);
    }
}

/// A repair from all sides at once is done once, and what it set going is given out once.
pub async fn a_repair_at_once_is_done_once(w: &World) {
    for _ in 0..ROUNDS {
        let (root, tasks) = all_running(w, 3).await;
        for task in &tasks {
            w.fail(task, Retry::Never).await;
        }
        let heard = crowd(w, |_, store| async move {
            let worker = register(&*store).await;
            let done = match store.retry_family(root).await {
                Ok(done) => Some(done),
                Err(StoreError::WrongState { .. }) => None,
                Err(other) => panic!("{other}"),
            };
            (done, store.claim(&claim_of(worker, 2)).await.unwrap().tasks)
        })
        .await;
        let done: Vec<_> = heard.iter().filter_map(|(done, _)| *done).collect();
        assert_eq!(done, [Retried { pending: 3, waiting: 1 }]);
        let taken: Vec<_> = heard.iter().flat_map(|(_, tasks)| tasks).collect();
        let ids: BTreeSet<_> = taken.iter().map(|task| task.id).collect();
        assert_eq!(ids.len(), taken.len(), "given out twice");
        for task in taken {
            w.done(task).await;
        }
        for id in w.claimable().await {
            w.work(id, Outcome::Done(None)).await;
        }
        assert_eq!(w.state(root).await, State::Completed);
    }
}

/// Who is at work, as those who work say it: each begins after its claim and ends before its settle, so that what overlaps
/// here has overlapped in the store.
struct Watch {
    limit: usize,
    at_work: Mutex<BTreeMap<TaskId, usize>>,
}

impl Watch {
    fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, at_work: Mutex::default() })
    }

    fn begin(&self, id: TaskId) {
        let mut at_work = self.at_work.lock().unwrap();
        at_work.entry(id).or_default();
        assert!(at_work.len() <= self.limit, "more at once than the limit: {at_work:?}");
    }

    /// A child of this family is about to end; the last of `all` ends the family.
    fn child(&self, root: TaskId, all: usize) {
        let mut at_work = self.at_work.lock().unwrap();
        let ended = at_work.get_mut(&root).unwrap();
        *ended += 1;
        if *ended == all {
            at_work.remove(&root);
        }
    }

    fn end(&self, id: TaskId) {
        self.at_work.lock().unwrap().remove(&id);
    }
}

/// Claims and settles until this many tasks have ended, or panics; `each` says how a task ends.
async fn drain(
    store: &dyn Store,
    worker: WorkerId,
    ended: &AtomicUsize,
    all: usize,
    each: impl Fn(&ClaimedTask) -> Settle,
) {
    while ended.load(Ordering::SeqCst) < all {
        for task in store.claim(&claim_of(worker, 3)).await.unwrap().tasks {
            let settle = each(&task);
            let done = matches!(settle.outcome, Outcome::Done(_));
            let answers = store.settle(&[settle]).await.unwrap();
            assert!(matches!(answers[0], Settled::Recorded(_)), "{answers:?}");
            ended.fetch_add(usize::from(done), Ordering::SeqCst);
        }
        tokio::task::yield_now().await;
    }
}

/// Four claimers on a serial queue: top-level tasks never overlap, from their first claim to their end, through snoozes
/// and errors, while their children run side by side.
pub async fn top_level_tasks_of_a_serial_queue_never_overlap(w: &World) {
    const ROOTS: usize = 12;
    w.serial(1).await;
    w.enqueue_many("mail", ROOTS).await;
    let (watch, ended) = (Watch::new(1), Arc::new(AtomicUsize::new(0)));
    crowd(w, |_, store| {
        let (watch, ended) = (Arc::clone(&watch), Arc::clone(&ended));
        async move {
            let worker = register(&*store).await;
            drain(&*store, worker, &ended, ROOTS * 4, |task| {
                // The family is at work from here until its last child has said that it ends: before its settle.
                watch.begin(task.root);
                if task.parent.is_none() {
                    return match task.attempt {
                        1 if task.id.0 % 3 == 0 => settle_of(task, failed(Retry::After(secs(0)))),
                        _ => done_with(task, children(3)),
                    };
                }
                watch.child(task.root, 3);
                settle_of(task, Outcome::Done(None))
            })
            .await;
        }
    })
    .await;
    assert_eq!(w.in_state(State::Completed).await.len(), ROOTS * 4);
}

/// Claimers at once never start more families than the limit says.
pub async fn no_more_families_work_than_the_limit_says(w: &World) {
    const ROOTS: usize = 40;
    w.serial(2).await;
    w.enqueue_many("mail", ROOTS).await;
    let (watch, ended) = (Watch::new(2), Arc::new(AtomicUsize::new(0)));
    crowd(w, |_, store| {
        let (watch, ended) = (Arc::clone(&watch), Arc::clone(&ended));
        async move {
            let worker = register(&*store).await;
            drain(&*store, worker, &ended, ROOTS, |task| {
                watch.begin(task.root);
                if task.attempt == 1 && task.id.0 % 2 == 0 {
                    return settle_of(task, failed(Retry::After(secs(0))));
                }
                watch.end(task.root);
                settle_of(task, Outcome::Done(None))
            })
            .await;
        }
    })
    .await;
    assert_eq!(w.in_state(State::Completed).await.len(), ROOTS);
}

/// Claimers at once never run more children than the limit says.
pub async fn no_more_children_run_than_the_limit_says(w: &World) {
    w.limit("default", children_at_once(2)).await;
    for _ in 0..3 {
        w.waiting(children(20)).await;
    }
    let (watch, ended) = (Watch::new(2), Arc::new(AtomicUsize::new(0)));
    crowd(w, |_, store| {
        let (watch, ended) = (Arc::clone(&watch), Arc::clone(&ended));
        async move {
            let worker = register(&*store).await;
            while ended.load(Ordering::SeqCst) < 60 {
                let tasks = store.claim(&claim_of(worker, 3)).await.unwrap().tasks;
                tasks.iter().for_each(|task| watch.begin(task.id));
                for task in &tasks {
                    watch.end(task.id);
                    store.settle(&[settle_of(task, Outcome::Done(None))]).await.unwrap();
                    ended.fetch_add(1, Ordering::SeqCst);
                }
            }
        }
    })
    .await;
    assert_eq!(w.in_state(State::Completed).await.len(), 63);
}

/// A follow-up that many families ask for at once starts after all of them, with what each of them said.
pub async fn a_follow_up_asked_for_at_once_waits_for_all(w: &World) {
    let unique = Unique::key("flush").on_duplicate(OnDuplicate::Merge);
    let mut roots = Vec::new();
    for _ in 0..CROWD * 4 {
        roots.push(w.root().await);
    }
    let asked: BTreeSet<_> = roots.iter().map(|root| root.id.to_string()).collect();
    crowd(w, |n, store| {
        let mine: Vec<_> = roots.iter().skip(n).step_by(CROWD).cloned().collect();
        let unique = unique.clone();
        async move {
            for root in mine {
                let payload = json(&format!(r#"{{"{}":1}}"#, root.id));
                let task = NewTask { unique: Some(unique.clone()), payload, ..new_task("export") };
                let made =
                    Made { follow_ups: follow_up(task, When::Settled).follow_ups, ..these([new_task("report")]) };
                assert_eq!(store.settle(&[done_with(&root, made)]).await.unwrap(), [Settled::Recorded(State::Waiting)]);
            }
        }
    })
    .await;
    let flush = w.only("export").await;
    assert_eq!(w.gate(flush).await, Some(Gate::After));
    let worker = w.worker().await;
    let kids = w.claim(worker, 1_000).await;
    crowd(w, |n, store| {
        let mine = kids.iter().skip(n).step_by(CROWD).map(|task| settle_of(task, Outcome::Done(None))).collect();
        async move { settle_each(&*store, mine).await }
    })
    .await;
    let flush = w.start(flush).await;
    let told: BTreeSet<_> = flush.payload.to::<BTreeMap<String, u8>>().unwrap().into_keys().collect();
    assert_eq!(told, asked);
}

/// Limits that change while claimers are at it lock nothing up, and everything gets done.
pub async fn changing_limits_at_work_locks_nothing_up(w: &World) {
    const ROOTS: usize = 40;
    w.enqueue_many("mail", ROOTS).await;
    let ended = Arc::new(AtomicUsize::new(0));
    crowd(w, |n, store| {
        let ended = Arc::clone(&ended);
        async move {
            if n > 0 {
                let worker = register(&*store).await;
                return drain(&*store, worker, &ended, ROOTS * 3, |task| match task.parent {
                    None => done_with(task, children(2)),
                    Some(_) => settle_of(task, Outcome::Done(None)),
                })
                .await;
            }
            let limits = [(Some(1), None), (None, Some(1)), (Some(2), Some(2)), (None, None)];
            for (family_limit, child_limit) in limits.into_iter().cycle() {
                if ended.load(Ordering::SeqCst) >= ROOTS * 3 {
                    return;
                }
                match store.set_queue(&home(), &Policy { family_limit, child_limit, ..Policy::default() }).await {
                    Ok(()) | Err(StoreError::Busy { .. }) => tokio::task::yield_now().await,
                    Err(other) => panic!("{other}"),
                }
            }
        }
    })
    .await;
    assert_eq!(w.in_state(State::Completed).await.len(), ROOTS * 3);
}

/// Recovery and late settles of children at once: each child ends once or is lost, and the parents settle right.
pub async fn lost_children_and_late_ends_agree(w: &World) {
    let mut families = Vec::new();
    for _ in 0..ROUNDS {
        families.push(all_running(w, 3).await);
    }
    let judge = w.worker().await;
    w.pass_a_lease(&[judge]).await;
    crowd(w, |n, store| {
        let families = families.clone();
        async move {
            match n {
                0 => drop(store.recover(judge).await.unwrap()),
                1 | 2 => {
                    let late = families.iter().map(|(_, tasks)| settle_of(&tasks[n], Outcome::Done(None))).collect();
                    settle_each(&*store, late).await;
                }
                _ => {}
            }
        }
    })
    .await;
    w.recover_all(judge).await;
    for (root, tasks) in &families {
        assert_eq!(w.state(*root).await, State::Waiting);
        let completed = w.states(*root).await.iter().filter(|state| **state == State::Completed).count() as u64;
        assert_eq!((w.tally(*root).await, w.state(tasks[0].id).await), (counts(3, completed, 0, 0), State::Pending));
    }
}

/// Pruning families from all sides at once removes each task once, and never a part of a family that works.
pub async fn parallel_prunes_of_families_count_each_task_once(w: &World) {
    for _ in 0..10 {
        let (root, _) = all_running(w, 3).await;
        w.store.cancel(root).await.unwrap();
    }
    w.lose_all().await;
    let (at_work, _) = w.parent_of(2).await;
    w.advance(8 * 24 * 3_600).await;
    let gone = crowd(w, |_, store| async move { store.prune().await.unwrap() }).await;
    let rest = w.store.prune().await.unwrap();
    assert_eq!(gone.iter().sum::<u64>() + rest, 40);
    assert_eq!((w.all().await.len(), w.state(at_work).await), (3, State::Waiting));
}
