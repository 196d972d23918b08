//! The test kit on PostgreSQL.

use std::time::Duration;

use kinfolk::pg::testing::TestDatabase;
use kinfolk::testing::TestKit;
use kinfolk::{Command, Ctx, Json, State};

use crate::lab::Lab;

#[tokio::test(flavor = "multi_thread")]
async fn a_kit_on_postgresql_moves_its_clock_past_delays_and_backoffs() {
    let database = TestDatabase::create_empty().await;
    let flaky = |ctx: Ctx, _: Json| async move {
        ctx.sleep(Duration::from_secs(9 * 86_400)).await?;
        if ctx.attempt() == 1 { Err("not yet".into()) } else { Ok(7) }
    };
    let handlers = move |worker: kinfolk::WorkerBuilder| worker.handler(Command::named("flaky").attempts(2), flaky);
    let mut kit = TestKit::on_postgres(&database.url, handlers).await.unwrap();
    let hour = Duration::from_secs(3600);
    let id = kit.kinfolk().enqueue("flaky", &()).delay(hour).await.unwrap().id().unwrap();
    let state = async |kit: &TestKit| {
        let task = kit.kinfolk().task(id).await.unwrap();
        (task.state, task.attempt)
    };
    kit.run_until_idle().await.unwrap();
    assert_eq!(state(&kit).await, (State::Pending, 0), "it is not due");
    kit.advance(hour).await.unwrap();
    kit.run_until_idle().await.unwrap();
    assert_eq!(state(&kit).await.0, State::Waiting, "it sleeps");
    kit.skip_ahead().await.unwrap();
    kit.run_until_idle().await.unwrap();
    assert_eq!(state(&kit).await, (State::Pending, 1), "it waits for its next attempt");
    kit.skip_ahead().await.unwrap();
    kit.run_until_idle().await.unwrap();
    assert_eq!(kit.result::<u32>(id).await.unwrap(), 7);
    assert_eq!(kit.check().await.unwrap(), []);
    let (lab, none) = (Lab::new().await, |worker: kinfolk::WorkerBuilder| worker);
    let told = TestKit::on(lab.store.clone(), none).await.unwrap().advance(hour).await.unwrap_err();
    assert!(told.to_string().contains("on_postgres"), "a clock that can't be moved is told: {told}");
}
