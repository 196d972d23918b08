//! Losing a lease, and taking care of those who lost theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::core::{Claim, Token, WorkerId, WorkerSpec};
use kinfolk::{Command, Ctx, Event, Json, State, TaskError, WorkerBuilder};
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::lab::{Lab, MINUTE};

/// A worker that may judge others after one second.
fn judge(lab: &Lab) -> WorkerBuilder {
    lab.worker().lease(Duration::from_secs(1)).heartbeat(Duration::from_millis(100))
}

/// A worker that does not notice anything by itself for a long while.
fn dull(lab: &Lab) -> WorkerBuilder {
    lab.worker().lease(MINUTE).heartbeat(MINUTE / 2).maintenance(false).queue("default", 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_settle_is_refused_and_counted_and_the_worker_registers_anew() {
    let lab = Lab::new().await;
    let may_end = Arc::new(Semaphore::new(0));
    let gate = Arc::clone(&may_end);
    let late = dull(&lab)
        .handler("slow", move |_: Ctx, _: Json| {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await?.forget();
                Ok("too late")
            }
        })
        .start()
        .await
        .unwrap();
    let id = lab.enqueue("slow").await;
    lab.events.wait_for("started").await;
    let first_id = late.id().unwrap();

    let in_time = judge(&lab).handler("slow", |_: Ctx, _: Json| async { Ok("in time") }).start().await.unwrap();
    lab.clock.forward(MINUTE * 2);
    let task = lab.ended(id).await;
    assert_eq!((task.result, task.attempt), (Some(Json::of("in time").unwrap()), 1), "a loss costs no attempt");

    may_end.add_permits(1);
    lab.events.wait_for("stale").await;
    lab.events.wait_until(|event| *event == Event::LeaseLost { worker: first_id }).await;
    lab.events.wait_until(|event| matches!(event, Event::WorkerStarted { worker } if late.id() == Some(*worker))).await;
    assert_eq!(lab.task(id).await.result, Some(Json::of("in time").unwrap()));
    in_time.stop().await.unwrap();
    let again = lab.enqueue("slow").await;
    may_end.add_permits(1);
    assert_eq!(lab.ended(again).await.result, Some(Json::of("too late").unwrap()), "it works on under its new id");
    late.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_lost_its_lease_drops_its_handlers() {
    let lab = Lab::new().await;
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let count = Arc::clone(&dropped);
    let loser = lab
        .worker()
        .lease(MINUTE)
        .maintenance(false)
        .handler("endless", move |_: Ctx, _: Json| {
            let held = Count(Arc::clone(&count));
            async move {
                let _held = held;
                std::future::pending::<Result<(), TaskError>>().await
            }
        })
        .start()
        .await
        .unwrap();
    let ids = lab.enqueue_many("endless", 3).await;
    for id in &ids {
        lab.in_state(*id, State::Running).await;
    }
    let loser_id = loser.id().unwrap();
    let judge = judge(&lab).queue("elsewhere", 1).start().await.unwrap();
    lab.clock.forward(MINUTE * 2);
    lab.events.wait_until(|event| *event == Event::LeaseLost { worker: loser_id }).await;
    crate::lab::within(async {
        while dropped.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(lab.events.count(|event| event.name() == "stale"), 0, "nothing of the lost attempts is sent");
    judge.stop().await.unwrap();
    loser.kill().await.unwrap();
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_a_worker_that_vanished_are_run_by_another_and_never_side_by_side() {
    let lab = Lab::new().await;
    lab.kinfolk.register(&[Command::new("work".parse().unwrap())]).await.unwrap();
    let ids = lab.enqueue_many("work", 20).await;
    let gone = WorkerId(Uuid::now_v7());
    let (queues, commands) = (vec!["default".parse().unwrap()], vec!["work".parse().unwrap()]);
    let spec = WorkerSpec {
        id: gone,
        name: "gone".into(),
        version: String::new(),
        queues,
        commands: commands.clone(),
        lease: MINUTE,
    };
    lab.store.register_worker(&spec).await.unwrap();
    let token = Token(Uuid::new_v4());
    let claim = Claim { worker: gone, token, queue: "default".parse().unwrap(), commands, limit: 20, repeated: false };
    assert_eq!(lab.store.claim(&claim).await.unwrap().tasks.len(), 20);

    let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, peak) = (Arc::clone(&inside), Arc::clone(&most));
    let worker = judge(&lab)
        .handler("work", move |_: Ctx, _: Json| {
            let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
            async move {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        })
        .start()
        .await
        .unwrap();
    lab.clock.forward(MINUTE * 2);
    for id in ids {
        assert_eq!(lab.ended(id).await.state, State::Completed);
    }
    assert_eq!(most.load(Ordering::SeqCst), 1, "suspects run one at a time");
    match lab.events.wait_for("recovered").await {
        Event::Recovered { returned, poisoned, .. } => assert_eq!((returned, poisoned), (20, 0)),
        other => panic!("{other:?}"),
    }
    worker.stop().await.unwrap();
    lab.check().await;
}
