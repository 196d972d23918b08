//! Statuses, and the sweep that should never find anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use kinfolk::{CommandName, Ctx, Event, Json, Kinfolk, StatusName};

use crate::flaky::{Fate, Flaky};
use crate::lab::{Lab, on_both_stores, within};

on_both_stores!(
    a_status_turns_with_the_work_and_back,
    a_status_does_not_stick_when_its_worker_stops,
    a_watcher_is_told_of_every_turn,
    ten_short_derivations_are_told_as_ten_turns_and_back,
);

const BEAT: Duration = Duration::from_millis(200);

fn name() -> StatusName {
    "deriving".parse().unwrap()
}

fn commands() -> Vec<CommandName> {
    vec!["derive".parse().unwrap(), "batch".parse().unwrap()]
}

/// Spawns a batch that ends when it is told to.
fn worker(lab: &Lab, gate: &tokio::sync::watch::Receiver<bool>) -> kinfolk::WorkerBuilder {
    let gate = gate.clone();
    let batch = move |_: Ctx, _: Json| {
        let mut gate = gate.clone();
        async move { Ok(gate.wait_for(|open| *open).await.map(|_| ())?) }
    };
    let derive = |ctx: Ctx, _: Json| async move { Ok(ctx.spawn("batch", &()).await?) };
    lab.worker().heartbeat(BEAT).handler("derive", derive).handler("batch", batch)
}

async fn is_active(lab: &Lab) -> bool {
    lab.kinfolk.statuses().await.unwrap().into_iter().find(|status| status.name == name()).unwrap().active
}

async fn a_status_turns_with_the_work_and_back(lab: &Lab) {
    lab.kinfolk.put_status(&name(), &commands()).await.unwrap();
    assert!(!is_active(lab).await);
    let (open, gate) = tokio::sync::watch::channel(false);
    let worker = worker(lab, &gate).start().await.unwrap();
    let id = lab.enqueue("derive").await;
    lab.events.wait_until(|event| matches!(event, Event::StatusChanged { active: true, .. })).await;
    assert!(is_active(lab).await && lab.kinfolk.is_active(&commands()).await.unwrap());
    open.send(true).unwrap();
    lab.ended(id).await;
    lab.events.wait_until(|event| matches!(event, Event::StatusChanged { active: false, .. })).await;
    assert!(!is_active(lab).await && !lab.kinfolk.is_active(&commands()).await.unwrap());
    worker.stop().await.unwrap();
    let turns: Vec<bool> = lab.events.all().iter().filter_map(turn).collect();
    assert_eq!(turns, [true, false]);
    lab.kinfolk.remove_status(&name()).await.unwrap();
    assert!(lab.kinfolk.statuses().await.unwrap().is_empty());
}

fn turn(event: &Event) -> Option<bool> {
    match event {
        Event::StatusChanged { active, .. } => Some(*active),
        _ => None,
    }
}

async fn a_status_does_not_stick_when_its_worker_stops(lab: &Lab) {
    lab.kinfolk.put_status(&name(), &commands()).await.unwrap();
    let (_open, gate) = tokio::sync::watch::channel(true);
    let worker = worker(lab, &gate).start().await.unwrap();
    let id = lab.enqueue("derive").await;
    lab.ended(id).await;
    worker.stop().await.unwrap();
    assert!(!is_active(lab).await);
}

async fn a_watcher_is_told_of_every_turn(lab: &Lab) {
    let (open, gate) = tokio::sync::watch::channel(false);
    let worker = worker(lab, &gate).start().await.unwrap();
    let mut activity = std::pin::pin!(lab.kinfolk.watch_active(&commands()));
    assert!(!within(activity.next()).await.unwrap().unwrap());
    lab.enqueue("derive").await;
    assert!(within(activity.next()).await.unwrap().unwrap());
    open.send(true).unwrap();
    assert!(!within(activity.next()).await.unwrap().unwrap());
    worker.stop().await.unwrap();
}

async fn ten_short_derivations_are_told_as_ten_turns_and_back(lab: &Lab) {
    lab.kinfolk.put_status(&name(), &commands()).await.unwrap();
    let mut turns = std::pin::pin!(lab.kinfolk.watch_status(&name()));
    assert!(!within(turns.next()).await.unwrap().unwrap());
    let derive = |_: Ctx, _: Json| async { Ok(()) };
    let worker = lab.worker().heartbeat(BEAT).handler("derive", derive).start().await.unwrap();
    for told in 1..=10 {
        lab.ended(lab.enqueue("derive").await).await;
        assert!(within(turns.next()).await.unwrap().unwrap(), "{told} turned");
        assert!(!within(turns.next()).await.unwrap().unwrap(), "{told} turned back");
    }
    worker.stop().await.unwrap();
    let told: Vec<bool> = lab.events.all().iter().filter_map(turn).collect();
    assert_eq!(told, [true, false].repeat(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_status_no_worker_looks_for_one_after_claims_and_settles() {
    let lab = Lab::new().await;
    let looks = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&looks);
    let meddle = move |verb: &'static str, _: &[kinfolk::core::Settle]| {
        count.fetch_add(usize::from(verb == "refresh_statuses"), Ordering::SeqCst);
        Fate::Answered
    };
    let store = Flaky { inner: lab.store.clone(), meddle: Box::new(meddle), stuck: AtomicU64::new(0) };
    let worker = Kinfolk::new(Arc::new(store)).worker().handler("work", |_, _: Json| async { Ok(()) });
    let worker = worker.start().await.unwrap();
    lab.enqueue_many("work", 200).await;
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
    assert_eq!(looks.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_parent_is_reported_loudly() {
    let lab = Lab::new().await;
    let answered = Box::new(|_: &'static str, _: &[kinfolk::core::Settle]| Fate::Answered);
    let store = Flaky { inner: lab.store.clone(), meddle: answered, stuck: AtomicU64::new(3) };
    let events = lab.events.clone();
    let worker = Kinfolk::new(Arc::new(store)).worker().heartbeat(Duration::from_millis(10));
    let worker = worker.on_event(move |event| events.push(event.clone())).start().await.unwrap();
    assert_eq!(lab.events.wait_for("unstuck").await, Event::Unstuck { tasks: 3 });
    worker.stop().await.unwrap();
    assert_eq!(lab.events.count(|event| event.name() == "unstuck"), 1);
}
