//! What workers note of what they did, minute by minute.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kinfolk::core::minute::Figures;
use kinfolk::pg::testing::TestDatabase;
use kinfolk::{Command, Ctx, Json, Kinfolk, Store, TaskError};

use crate::flaky::{Fate, Flaky};
use crate::lab::{Lab, MINUTE, within};

/// What was noted, by command: a minute may end while a test runs.
async fn noted(store: &dyn Store) -> BTreeMap<String, Figures> {
    let mut sums: BTreeMap<String, Figures> = BTreeMap::new();
    for minute in store.minutes(Duration::from_secs(3600)).await.unwrap() {
        assert_eq!(minute.queue.as_str(), "default");
        let sum = sums.entry(minute.command.to_string()).or_default();
        *sum = sum.plus(&minute.figures);
    }
    sums
}

async fn a_day_of_work(lab: &Lab) {
    let begun = Instant::now();
    let commands = ["good", "bad", "later", "nap"].map(|name| Command::new(name.parse().unwrap()));
    lab.kinfolk.register(&commands).await.unwrap();
    let mut ids = lab.enqueue_many("good", 3).await;
    for command in ["bad", "later", "nap"] {
        ids.push(lab.enqueue(command).await);
    }
    lab.pass_a_minute().await;
    let worker = lab
        .worker()
        .handler("good", |_: Ctx, _: Json| async { Ok(()) })
        .handler("bad", |_: Ctx, _: Json| async { Err::<(), _>(TaskError::new("no").do_not_retry()) })
        .handler("later", |ctx: Ctx, _: Json| async move {
            if ctx.attempt() == 1 {
                return Err(TaskError::new("not yet").retry_after(Duration::from_millis(1)));
            }
            Ok(())
        })
        .handler("nap", |ctx: Ctx, _: Json| async move {
            ctx.sleep(Duration::from_millis(100)).await?;
            Ok(())
        });
    let worker = worker.start().await.unwrap();
    for id in ids {
        lab.ended(id).await;
    }
    within(worker.stop()).await.unwrap();
    let noted = noted(&*lab.store).await;
    let ends = |command: &str| {
        let figures = &noted[command];
        (figures.started, figures.completed, figures.failed, figures.retried, figures.suspended)
    };
    assert_eq!(ends("good"), (3, 3, 0, 0, 0));
    assert_eq!(ends("bad"), (1, 0, 1, 0, 0));
    assert_eq!(ends("later"), (1, 1, 0, 1, 0));
    assert_eq!(ends("nap"), (1, 1, 0, 0, 1));
    let good = &noted["good"];
    // They waited for the minute in which no worker was there, and for no longer than the test has run beside it.
    let waited = MINUTE..=MINUTE + begun.elapsed();
    assert!(waited.contains(&good.waited_max) && waited.contains(&(good.waited / 3)), "{good:?}");
    assert!(good.ran_max <= good.ran && good.mean_run() <= Some(good.ran_max), "{good:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_has_recorded_all_it_did() {
    a_day_of_work(&Lab::new().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_has_recorded_all_it_did_on_postgres() {
    a_day_of_work(&Lab::on_postgres(TestDatabase::create().await).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minute_record_whose_answer_is_lost_counts_once() {
    let lab = Lab::new().await;
    let lost = Arc::new(AtomicU64::new(0));
    let losing = Arc::clone(&lost);
    let meddle = move |verb: &str, _: &[_]| match verb {
        "record_minutes" if losing.fetch_add(1, Ordering::SeqCst) == 0 => Fate::AnswerLost,
        _ => Fate::Answered,
    };
    let flaky = Flaky { inner: lab.store.clone(), meddle: Box::new(meddle), stuck: AtomicU64::new(0) };
    let worker = Kinfolk::new(Arc::new(flaky)).worker().handler("good", |_: Ctx, _: Json| async { Ok(()) });
    let worker = worker.start().await.unwrap();
    lab.ended(lab.enqueue("good").await).await;
    within(worker.stop()).await.unwrap();
    assert!(lost.load(Ordering::SeqCst) >= 2, "it is sent again");
    let good = noted(&*lab.store).await["good"];
    assert_eq!((good.started, good.completed), (1, 1));
}
