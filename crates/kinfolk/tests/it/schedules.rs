//! Recurring schedules.

use std::time::Duration;

use kinfolk::{Command, Event, Groups, Json, Keys, Missed, NewTask, Schedule, State};

use crate::lab::Lab;

#[tokio::test(flavor = "multi_thread")]
async fn each_tick_is_fired_once_however_many_workers_there_are() {
    let lab = Lab::new().await;
    let start = || async { lab.worker().handler("tick", |_, _: Json| async { Ok(()) }).start().await.unwrap() };
    let workers = [start().await, start().await, start().await];
    let task = NewTask::new("tick".parse().unwrap(), Json::object());
    let hourly = Schedule { missed: Missed::All, ..Schedule::new("hourly".parse().unwrap(), "0 * * * *", task) };
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
    assert_eq!(lab.events.count(|event| matches!(event, Event::ScheduleFired { tasks, .. } if tasks.len() == 1)), 5);
    for worker in workers {
        worker.stop().await.unwrap();
    }
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_makes_no_task_is_reported() {
    let lab = Lab::new().await;
    let command = |groups| Command { groups: Some(groups), ..Command::new("tick".parse().unwrap()) };
    lab.store.register(&[command(Groups::of([("tenant", 1)]).unwrap())]).await.unwrap();
    let keys = Keys::of([("tenant", "acme")]).unwrap();
    let task = NewTask { keys, ..NewTask::new("tick".parse().unwrap(), Json::object()) };
    lab.store.put_schedule(&Schedule::new("hourly".parse().unwrap(), "0 * * * *", task)).await.unwrap();
    lab.store.register(&[command(Groups::total(1))]).await.unwrap();
    let worker = lab.worker().handler("other", |_, _: Json| async { Ok(()) }).start().await.unwrap();
    lab.clock.forward(Duration::from_secs(3600));
    let fired = lab.events.wait_for("schedule_fired").await;
    let Event::ScheduleFired { tasks, rejected, .. } = fired else { panic!("{fired:?}") };
    assert_eq!((tasks.len(), rejected.len()), (0, 1));
    assert!(rejected[0].to_string().contains("tenant"), "{rejected:?}");
    worker.stop().await.unwrap();
}
