//! Queues with limits: families one after another, children a few at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::{Command, Ctx, Done, Json, Policy, State, TaskError, TaskId, Timestamp, WorkerHandle};

use crate::lab::{Lab, on_both_stores, within};

on_both_stores!(
    families_of_a_serial_queue_never_overlap,
    a_family_that_yields_lets_others_go_first,
    children_run_a_few_at_a_time,
);

async fn limit(lab: &Lab, queue: &str, policy: Policy) {
    lab.kinfolk.set_queue(&queue.parse().unwrap(), &policy).await.unwrap();
}

fn on(queue: &str, name: &str) -> Command {
    Command { queue: queue.parse().unwrap(), ..Command::new(name.parse().unwrap()) }
}

/// From the first claim of a task until it was terminal.
async fn at_work(lab: &Lab, id: TaskId) -> (Timestamp, Timestamp) {
    let task = lab.ended(id).await;
    assert_eq!(task.state, State::Completed, "{:?}", task.failure);
    let first = lab.store.attempts(id).await.unwrap().first().map(|attempt| attempt.started_at);
    (first.or(task.started_at).unwrap(), task.finished_at.unwrap())
}

/// Fails once, snoozes once, then spawns children on its own queue.
async fn troubled(ctx: Ctx, _: Json) -> Result<Done<()>, TaskError> {
    match ctx.kinfolk().store().attempts(ctx.task()).await?.len() {
        0 => Err(TaskError::new("once more").retry_after(Duration::from_millis(3))),
        1 => Ok(Done::snooze(Duration::from_millis(3))),
        _ => {
            for _ in 0..5 {
                ctx.spawn("child", &()).await?;
            }
            Ok(Done::value(()))
        }
    }
}

async fn families_of_a_serial_queue_never_overlap(lab: &Lab) {
    limit(lab, "serial", Policy { family_limit: Some(1), ..Policy::default() }).await;
    let start = || async {
        let worker = lab.worker().handler(on("serial", "root"), troubled);
        let child = |_: Ctx, _: Json| async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(())
        };
        worker.handler(on("serial", "child"), child).start().await.unwrap()
    };
    let workers: [WorkerHandle; 2] = [start().await, start().await];
    let roots = lab.enqueue_many("root", 12).await;
    let mut intervals = Vec::new();
    for id in roots {
        intervals.push(at_work(lab, id).await);
    }
    assert!(intervals.is_sorted(), "they run in the order in which they were enqueued");
    for pair in intervals.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{pair:?} overlap");
    }
    for worker in workers {
        worker.stop().await.unwrap();
    }
    lab.check().await;
}

async fn a_family_that_yields_lets_others_go_first(lab: &Lab) {
    limit(lab, "serial", Policy { family_limit: Some(1), ..Policy::default() }).await;
    let seen = Arc::new(AtomicBool::new(false));
    let looked = Arc::clone(&seen);
    let patient = move |_: Ctx, _: Json| {
        let seen = looked.load(Ordering::SeqCst);
        std::future::ready(Ok(if seen { Done::value(()) } else { Done::yield_family_slot(Duration::from_millis(5)) }))
    };
    let hasty = move |_: Ctx, _: Json| {
        seen.store(true, Ordering::SeqCst);
        std::future::ready(Ok(()))
    };
    let worker = lab.worker().handler(on("serial", "patient"), patient).handler(on("serial", "hasty"), hasty);
    let worker = worker.start().await.unwrap();
    let patient = lab.enqueue("patient").await;
    lab.events.wait_for("snoozed").await;
    let hasty = lab.enqueue("hasty").await;
    let (patient, hasty) = (lab.ended(patient).await, lab.ended(hasty).await);
    assert_eq!((patient.state, patient.attempt), (State::Completed, 1));
    assert!(hasty.finished_at <= patient.finished_at);
    worker.stop().await.unwrap();
    lab.check().await;
}

async fn children_run_a_few_at_a_time(lab: &Lab) {
    limit(lab, "narrow", Policy { child_limit: Some(3), ..Policy::default() }).await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let start = || async {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        let child = move |_: Ctx, _: Json| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        };
        let parent = |ctx: Ctx, _: Json| async move {
            for _ in 0..12 {
                ctx.spawn("child", &()).await?;
            }
            Ok(())
        };
        let worker = lab.worker().handler(on("default", "parent"), parent).handler(on("narrow", "child"), child);
        worker.start().await.unwrap()
    };
    let workers = [start().await, start().await];
    for id in lab.enqueue_many("parent", 3).await {
        assert_eq!(lab.ended(id).await.state, State::Completed);
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
    for worker in workers {
        within(worker.stop()).await.unwrap();
    }
    lab.check().await;
}
