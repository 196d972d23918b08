//! Recurring schedules.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk::core::Schedule as Kept;
use kinfolk::testing::TestKit;
use kinfolk::{
    Command, Ctx, Event, Groups, Json, Keys, Missed, NewTask, Overlap, Schedule, State, Task, TaskError, WorkerBuilder,
};
use serde::{Deserialize, Serialize};

use crate::lab::{Lab, on_both_stores, within};

on_both_stores!(a_schedule_is_declared_with_the_worker_and_told_when_it_is_no_more);

#[tokio::test(flavor = "multi_thread")]
async fn each_tick_is_fired_once_however_many_workers_there_are() {
    let lab = Lab::new().await;
    let start = || async { lab.worker().handler("tick", |_, _: Json| async { Ok(()) }).start().await.unwrap() };
    let workers = [start().await, start().await, start().await];
    let task = NewTask::new("tick".parse().unwrap(), Json::object());
    let hourly = Kept { missed: Missed::All, ..Kept::new("hourly".parse().unwrap(), "0 * * * *", task) };
    let armed_for = lab.store.put_schedule(&hourly).await.unwrap().next_at.unwrap();
    for hour in 1..=5_u32 {
        lab.clock.forward(Duration::from_secs(3600));
        let fired = armed_for.plus(Duration::from_secs(3600) * (hour - 1));
        crate::lab::within(async {
            while lab.store.schedules().await.unwrap()[0].last_at != Some(fired) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
    for worker in &workers {
        crate::lab::within(worker.wait_idle()).await;
    }
    let counts = lab.store.stats().await.unwrap().counts;
    assert_eq!(counts.iter().map(|count| (count.state, count.tasks)).collect::<Vec<_>>(), [(State::Completed, 5)]);
    for worker in workers {
        worker.stop().await.unwrap();
    }
    assert_eq!(lab.events.count(|event| matches!(event, Event::ScheduleFired { tasks, .. } if tasks.len() == 1)), 5);
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_makes_no_task_is_reported() {
    let lab = Lab::new().await;
    let command = |groups| Command { groups: Some(groups), ..Command::new("tick".parse().unwrap()) };
    lab.store.register(&[command(Groups::of([("tenant", 1)]).unwrap())]).await.unwrap();
    let keys = Keys::of([("tenant", "acme")]).unwrap();
    let task = NewTask { keys, ..NewTask::new("tick".parse().unwrap(), Json::object()) };
    lab.store.put_schedule(&Kept::new("hourly".parse().unwrap(), "0 * * * *", task)).await.unwrap();
    lab.store.register(&[command(Groups::total(1))]).await.unwrap();
    let worker = lab.worker().handler("other", |_, _: Json| async { Ok(()) }).start().await.unwrap();
    lab.clock.forward(Duration::from_secs(3600));
    let fired = lab.events.wait_for("schedule_fired").await;
    let Event::ScheduleFired { tasks, rejected, .. } = fired else { panic!("{fired:?}") };
    assert_eq!((tasks.len(), rejected.len()), (0, 1));
    assert!(rejected[0].to_string().contains("tenant"), "{rejected:?}");
    worker.stop().await.unwrap();
}

#[derive(Serialize, Deserialize, Task)]
#[task(command = "nightly")]
struct Nightly {
    full: bool,
}

async fn nightly(_task: Nightly) -> Result<(), TaskError> {
    Ok(())
}

async fn a_schedule_is_declared_with_the_worker_and_told_when_it_is_no_more(lab: &Lab) {
    let at = |hour: u8| {
        Schedule::cron(format!("0 {hour} * * *"), "Europe/Oslo").task(&Nightly { full: true }).overlap(Overlap::Skip)
    };
    let schedules = async || lab.kinfolk.schedules().await.unwrap();
    let told = async || {
        let findings = lab.kinfolk.doctor().await.unwrap();
        findings
            .into_iter()
            .any(|finding| finding.found.contains("no longer declared") && finding.found.contains("nightly"))
    };
    let first = lab.worker().handle(nightly).schedule(at(3)).start().await.unwrap();
    let made = schedules().await.remove(0);
    assert_eq!((made.name.as_str(), made.zone.as_str(), made.overlap), ("nightly", "Europe/Oslo", Overlap::Skip));
    assert!(made.next_at.is_some() && made.declared_at.is_some());
    lab.kinfolk.pause_schedule("nightly", true).await.unwrap();
    let same = lab.worker().handle(nightly).schedule(at(3)).start().await.unwrap();
    let again = schedules().await.remove(0);
    assert_eq!((again.next_at, again.paused), (made.next_at, true), "it is not armed anew, and stays paused");
    same.stop().await.unwrap();
    let other = lab.worker().handle(nightly).schedule(at(4)).start().await.unwrap();
    let changed = schedules().await.remove(0);
    assert_eq!((changed.cron.as_str(), changed.paused), ("0 4 * * *", true));
    assert_ne!(changed.next_at, made.next_at);
    other.stop().await.unwrap();
    let without = lab.worker().handle(nightly).start().await.unwrap();
    assert!(!told().await, "a worker that declared it lives");
    first.stop().await.unwrap();
    assert!(told().await && schedules().await.len() == 1, "it is told of, and stays");
    without.stop().await.unwrap();
    lab.check().await;
}

#[tokio::test]
async fn a_kit_fires_what_is_due_and_runs_it_before_it_is_idle() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let handlers = move |worker: WorkerBuilder| {
        let count = Arc::clone(&count);
        let tick = move |_: Ctx, (): ()| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Ok(()) }
        };
        worker.handler("tick", tick).schedule(Schedule::cron("0 18 * * *", "UTC").command("tick", &()))
    };
    let mut kit = TestKit::new(handlers).await.unwrap();
    kit.run_until_idle().await.unwrap();
    for day in 1..=3 {
        kit.advance(Duration::from_secs(24 * 3600)).await.unwrap();
        kit.run_until_idle().await.unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), day);
    }
    assert_eq!(kit.left().await.unwrap(), "");
}

#[tokio::test]
async fn a_schedule_that_makes_no_sense_is_told_at_the_start() {
    let lab = Lab::new().await;
    let start = async |schedule: Schedule| {
        within(lab.worker().handle(nightly).schedule(schedule).start()).await.unwrap_err().to_string()
    };
    let task = Nightly { full: true };
    assert!(start(Schedule::cron("soon", "UTC").task(&task)).await.contains("soon"));
    assert!(start(Schedule::cron("0 3 * * *", "Mars/Base").task(&task)).await.contains("Mars/Base"));
    assert!(start(Schedule::cron("0 3 * * *", "UTC")).await.contains("has no task"));
    assert!(start(Schedule::cron("0 3 * * *", "UTC").command("unheard_of", &())).await.contains("unheard_of"));
    let twice = lab.worker().handle(nightly).schedule(Schedule::cron("0 3 * * *", "UTC").task(&task));
    let twice = twice.schedule(Schedule::cron("0 4 * * *", "UTC").task(&task)).start().await.unwrap_err().to_string();
    assert!(twice.contains("two schedules are called nightly"), "{twice}");
    assert!(lab.store.workers().await.unwrap().is_empty());
}
