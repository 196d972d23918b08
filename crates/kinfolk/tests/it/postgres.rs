//! The worker on PostgreSQL, where it differs from the embedded store: wake-ups by notification, several processes, a
//! server that cuts connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kinfolk::pg::testing::TestDatabase;
use kinfolk::{Ctx, Event, Json, Kinfolk, State, TaskError};
use tokio_postgres::NoTls;

use crate::lab::{Lab, within};

async fn lab() -> Lab {
    Lab::on_postgres(TestDatabase::create().await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_tasks_are_each_run_once_by_several_workers() {
    let lab = lab().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let start = || async {
        let count = Arc::clone(&runs);
        let handler = move |_: Ctx, _: Json| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready(Ok(()))
        };
        lab.worker().queue("default", 300).handler("count", handler).start().await.unwrap()
    };
    let workers = [start().await, start().await];
    for _ in 0..4 {
        lab.enqueue_many("count", 1000).await;
    }
    for worker in &workers {
        within(worker.wait_idle()).await;
    }
    for worker in &workers {
        worker.stop().await.unwrap();
    }
    assert_eq!(runs.load(Ordering::SeqCst), 4000);
    assert_eq!(lab.events.count(|event| event.name() == "completed"), 4000);
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_worker_is_woken_and_does_not_wait_for_its_poll() {
    let lab = lab().await;
    let worker = lab
        .worker()
        .poll(Duration::from_secs(600))
        .handler("noop", |_, _: Json| async { Ok(()) })
        .start()
        .await
        .unwrap();
    within(worker.wait_idle()).await;
    // Long enough for the poll to have backed off beyond the patience of this test.
    for _ in 0..8 {
        let began = Instant::now();
        let id = lab.enqueue("noop").await;
        lab.ended(id).await;
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_handler_hears_of_its_cancellation_from_another_connection() {
    let lab = lab().await;
    let handler = |ctx: Ctx, _: Json| async move {
        ctx.cancelled().await;
        Ok(())
    };
    let worker = lab.worker().grace(Duration::from_secs(600)).handler("listen", handler).start().await.unwrap();
    let id = lab.enqueue("listen").await;
    lab.events.wait_for("started").await;
    Kinfolk::open(&lab.url()).await.unwrap().cancel(id).await.unwrap();
    assert_eq!(lab.ended(id).await.state, State::Cancelled);
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_survives_the_loss_of_all_its_connections() {
    let lab = lab().await;
    let (client, connection) = tokio_postgres::connect(&lab.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let handler = |_: Ctx, _: Json| async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok::<_, TaskError>(())
    };
    let worker = lab.worker().queue("default", 20).handler("work", handler).start().await.unwrap();
    let ids = lab.enqueue_many("work", 2000).await;
    let cut = "select pg_terminate_backend(pid) from pg_stat_activity \
               where datname = current_database() and pid <> pg_backend_pid()";
    for nth in [300, 900, 1500] {
        within(async {
            while lab.events.count(|event| event.name() == "completed") < nth {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        client.execute(cut, &[]).await.unwrap();
    }
    within(worker.wait_idle()).await;
    for id in ids {
        assert_eq!(lab.kinfolk.wait(id).await.unwrap().state, State::Completed);
    }
    assert_eq!(lab.events.count(|event| matches!(event, Event::Completed { .. })), 2000, "each is reported once");
    assert_eq!(lab.events.count(|event| event.name() == "lease_lost"), 0);
    worker.stop().await.unwrap();
    lab.check().await;
}
