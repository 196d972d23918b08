//! Slots through crashes and across queues: none is leaked, none is given twice, and nobody who waits for one is forgotten.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kinfolk::testing::{Crash, TestKit};
use kinfolk::{Command, Ctx, GroupSpec, Groups, Json, KeyFilter, State, TaskError, WorkerBuilder};
use tokio::sync::Semaphore;

use crate::flaky::{Looks, NO_POLL};
use crate::lab::{Lab, on_both_stores};

on_both_stores!(
    a_crash_at_any_commit_leaks_no_slot_and_passes_no_limit,
    slots_that_are_free_again_are_found_without_any_wake_up,
    a_key_that_queues_share_is_handed_from_one_to_the_other_without_a_poll,
);

/// What the handlers saw: which families of a tenant were at work, in order, and how many held a message at once.
#[derive(Clone, Default)]
struct Witness {
    families: Arc<Mutex<Vec<i64>>>,
    messages: Arc<Mutex<HashMap<String, (usize, usize)>>>,
}

/// A handler at work on a message; its worker may die.
struct AtWork(Witness, String);

impl AtWork {
    fn begin(witness: &Witness, message: &str) -> Self {
        let mut messages = witness.messages.lock().unwrap();
        let (now, most) = messages.entry(message.to_owned()).or_default();
        *now += 1;
        *most = (*most).max(*now);
        Self(witness.clone(), message.to_owned())
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        if let Some((now, _)) = self.0.messages.lock().unwrap().get_mut(&self.1) {
            *now -= 1;
        }
    }
}

/// One family of a tenant at a time, for as long as it lasts; one task of a message.
fn handlers(worker: WorkerBuilder, witness: &Witness) -> WorkerBuilder {
    let tenant = GroupSpec::limit(1).hold().shared();
    let (seen, inside) = (witness.clone(), witness.clone());
    let flow = move |ctx: Ctx, _: Json| {
        seen.families.lock().unwrap().push(ctx.root().0);
        async move { ctx.call::<()>("work", &()).inherit_keys().key("message", "any").await }
    };
    let work = move |ctx: Ctx, _: Json| {
        inside.families.lock().unwrap().push(ctx.root().0);
        let at_work = AtWork::begin(&inside, "any");
        async move {
            tokio::task::yield_now().await;
            drop(at_work);
            Ok(())
        }
    };
    let worker = worker.handler("flow", flow).handler("work", work);
    worker
        .groups("flow", [("tenant", tenant.clone())])
        .groups("work", [("tenant", tenant), ("message", GroupSpec::limit(1)), ("total", GroupSpec::limit(1))])
}

async fn a_crash_at_any_commit_leaks_no_slot_and_passes_no_limit(lab: &Lab) {
    for crash in [Crash::Before, Crash::After] {
        for n in 1.. {
            let witness = Witness::default();
            let seen = witness.clone();
            let mut kit = TestKit::on(lab.store.clone(), move |worker| handlers(worker, &seen)).await.unwrap();
            let mut ids = Vec::new();
            for _ in 0..2 {
                let flow = lab.kinfolk.enqueue("flow", &()).key("tenant", "acme");
                ids.push(flow.await.unwrap().id().unwrap());
            }
            kit.crash_at(crash(n));
            kit.run_until_idle().await.unwrap();
            for id in ids {
                kit.assert_all(id, State::Completed).await;
            }
            let mut families = witness.families.lock().unwrap().clone();
            families.dedup();
            assert_eq!(families.len(), 2, "one family of a tenant at a time: {families:?}");
            assert_eq!(witness.messages.lock().unwrap()["any"], (0, 1));
            let keys = KeyFilter { limit: 10, ..KeyFilter::default() };
            assert_eq!(lab.kinfolk.keys(&keys).await.unwrap(), []);
            lab.check().await;
            kit.stop().await.unwrap();
            if kit.crashes() == 0 {
                assert!(n > 6, "there are more commits than that: {n}");
                break;
            }
        }
    }
}

async fn slots_that_are_free_again_are_found_without_any_wake_up(lab: &Lab) {
    let witness = Witness::default();
    let seen = witness.clone();
    let kit = TestKit::on(lab.store.clone(), move |worker| handlers(worker, &seen)).await.unwrap();
    let mut kit = kit.suppress_wakeups();
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(lab.kinfolk.enqueue("flow", &()).key("tenant", "acme").await.unwrap().id().unwrap());
    }
    kit.run_until_idle().await.unwrap();
    for id in ids {
        kit.assert_all(id, State::Completed).await;
    }
    assert_eq!(witness.messages.lock().unwrap()["any"], (0, 1));
    lab.check().await;
}

async fn a_key_that_queues_share_is_handed_from_one_to_the_other_without_a_poll(lab: &Lab) {
    let (door, (watched, looks)) = (Arc::new(Semaphore::new(0)), Looks::at(&lab.store));
    let open = Arc::clone(&door);
    let handler = move |_: Ctx, _: Json| {
        let open = Arc::clone(&open);
        async move {
            open.acquire().await?.forget();
            Ok::<_, TaskError>(())
        }
    };
    let command = |name: &str| Command {
        queue: name.parse().unwrap(),
        groups: Some(Groups::of([("account", GroupSpec::limit(1).shared())]).unwrap()),
        ..Command::new(name.parse().unwrap())
    };
    let worker = watched.worker().poll(Duration::from_secs(600));
    let worker = worker.handler(command("north"), handler.clone()).handler(command("south"), handler);
    let worker = worker.start().await.unwrap();
    let first = lab.kinfolk.enqueue("north", &()).key("account", "acme").await.unwrap().id().unwrap();
    lab.in_state(first, State::Running).await;
    let second = lab.kinfolk.enqueue("south", &()).key("account", "acme").await.unwrap().id().unwrap();
    looks.are_rare().await;
    let begun = Instant::now();
    door.add_permits(2);
    assert_eq!(lab.ended(second).await.state, State::Completed);
    assert!(begun.elapsed() < NO_POLL, "{:?}", begun.elapsed());
    worker.stop().await.unwrap();
    lab.check().await;
}
