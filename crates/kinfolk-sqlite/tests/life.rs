//! The life of a task, verb by verb.

use std::time::Duration;

use kinfolk_core::*;
use kinfolk_sqlite::SqliteStore;
use uuid::Uuid;

fn command(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

#[tokio::test]
async fn a_task_is_enqueued_claimed_settled_and_shown() {
    let store = SqliteStore::open(":memory:").unwrap();
    store.register(&[Command::new(command("echo"))]).await.unwrap();
    let made = store
        .enqueue(&[NewTask::new(command("echo"), Json::object()), NewTask::new(command("no"), Json::null())])
        .await
        .unwrap();
    assert_eq!(made[0], Enqueued::Created(TaskId(1)));
    let worker = WorkerId(Uuid::new_v4());
    store
        .register_worker(&WorkerSpec {
            id: worker,
            name: "me".into(),
            queues: vec![QueueName::default()],
            commands: vec![command("echo")],
            lease: Duration::from_secs(30),
        })
        .await
        .unwrap();
    let token = Token(Uuid::new_v4());
    let claimed = store
        .claim(&Claim {
            worker,
            token,
            queue: QueueName::default(),
            commands: vec![command("echo")],
            limit: 10,
            repeated: false,
        })
        .await
        .unwrap();
    assert_eq!(claimed.tasks.len(), 1);
    let settled = store.settle(&[Settle { task: TaskId(1), token, outcome: Outcome::Done(None) }]).await.unwrap();
    assert_eq!(settled, [Settled::Recorded(State::Completed)]);
    assert_eq!(store.task(TaskId(1)).await.unwrap().unwrap().state, State::Completed);
    assert_eq!(store.check().await.unwrap(), []);

    store.leave(worker).await.unwrap();
}
