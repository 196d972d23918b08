//! Unique keys of tasks that wait to be let in: behind a full key, behind a rate, or for their turn.

use kinfolk_core::{
    ClaimedTask, Enqueued, GroupSpec, NewTask, OnDuplicate, Policy, Rate, State, TaskId, Unique, UniqueScope,
};

use crate::grouped::{keys_of, task_of};
use crate::world::{World, group_name, ids, json, unique_task};

/// What a task waits for.
#[derive(Clone, Copy, Debug)]
enum Wait {
    Slot,
    Rate,
    Turn,
}

const WAITS: [Wait; 3] = [Wait::Slot, Wait::Rate, Wait::Turn];

fn unique(scope: UniqueScope) -> Unique {
    Unique::key("order-1").scope(scope)
}

fn of_acme(unique: Unique, payload: &str) -> NewTask {
    NewTask { keys: keys_of(&[("tenant", "acme")]), ..unique_task(unique, payload) }
}

/// A task that runs, and one under a unique key that a claim has found to wait behind it.
async fn waiter(w: &World, wait: Wait, scope: UniqueScope) -> (ClaimedTask, TaskId) {
    let (spec, fair, before) = match wait {
        Wait::Slot => (GroupSpec::limit(1), None, "acme"),
        Wait::Rate => (GroupSpec::rate(Rate::per_minute(1)), None, "acme"),
        Wait::Turn => (GroupSpec::limit(1_000), Some(group_name("tenant")), "aaa"),
    };
    // Past what was spent before.
    w.advance(3_600).await;
    w.groups([("tenant", spec)]).await;
    w.limit("default", Policy { fair, ..Policy::default() }).await;
    let first = w.create(task_of("mail", &[("tenant", before)])).await;
    let id = w.create(of_acme(unique(scope), r#"{"n":1}"#)).await;
    let running = w.start(first).await;
    if !matches!(wait, Wait::Turn) {
        assert!(w.claim_nothing().await, "{wait:?}");
    }
    (running, id)
}

/// Lets the next one that waits start.
async fn let_in(w: &World, wait: Wait, running: &ClaimedTask) {
    match wait {
        Wait::Slot => drop(w.done(running).await),
        Wait::Rate => w.advance(60).await,
        Wait::Turn => {}
    }
}

/// Ends all that runs, and all that can be started then.
async fn end_all(w: &World, running: &ClaimedTask) {
    w.done(running).await;
    while let [task] = &w.look(1).await.tasks[..] {
        w.done(task).await;
    }
    w.sound().await;
}

/// A waiter takes in what is merged into it or replaces it, and stays where it is until it is let in.
pub async fn a_waiter_takes_its_duplicates_in(w: &World) {
    for wait in WAITS {
        for scope in [UniqueScope::Pending, UniqueScope::Active] {
            let (running, id) = waiter(w, wait, scope).await;
            let rule = |rule| unique(scope).on_duplicate(rule);
            assert_eq!(w.put(of_acme(rule(OnDuplicate::Keep), r#"{"k":1}"#)).await, Enqueued::Existing(id));
            assert_eq!(w.put(of_acme(rule(OnDuplicate::Replace), r#"{"r":1}"#)).await, Enqueued::Merged(id));
            assert_eq!(w.put(of_acme(rule(OnDuplicate::Merge), r#"{"m":2}"#)).await, Enqueued::Merged(id));
            w.sound().await;
            let_in(w, wait, &running).await;
            let taken = w.look(9).await.tasks;
            assert_eq!(ids(&taken), [id], "{wait:?}");
            assert_eq!(taken[0].payload, json(r#"{"m":2,"r":1}"#), "{wait:?}");
            w.sound().await;
            end_all(w, &taken[0]).await;
            w.done(&running).await;
        }
    }
}

/// A waiter that is cancelled gives up its unique key and its position, and the next one under that key is let in.
pub async fn a_cancelled_waiter_leaves_its_key_to_the_next(w: &World) {
    for wait in WAITS {
        for scope in [UniqueScope::Pending, UniqueScope::Active] {
            let (running, id) = waiter(w, wait, scope).await;
            let merge = unique(scope).on_duplicate(OnDuplicate::Merge);
            assert_eq!(w.put(of_acme(merge, r#"{"m":2}"#)).await, Enqueued::Merged(id));
            w.store.cancel(id).await.unwrap();
            w.sound().await;
            let next = w.create(of_acme(unique(scope), r#"{"n":2}"#)).await;
            let_in(w, wait, &running).await;
            let taken = w.look(9).await.tasks;
            assert_eq!(ids(&taken), [next], "{wait:?}");
            assert_eq!(taken[0].payload, json(r#"{"n":2}"#), "{wait:?}");
            assert_eq!(w.state(id).await, State::Cancelled);
            end_all(w, &taken[0]).await;
            w.done(&running).await;
        }
    }
}
