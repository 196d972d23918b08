//! The life of a task, from the enqueue to its end.

mod common;

use common::*;
use kinfolk_core::*;

#[tokio::test]
async fn a_task_is_enqueued_claimed_and_completed() {
    let (_database, store) = fresh().await;
    let worker = worker(&store).await;
    let id = enqueue(&store, with("work", r#"{"a":[1,2.50]}"#)).await;
    let claimed = store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
    assert_eq!(claimed.tasks.len(), 1);
    assert_eq!((claimed.tasks[0].id, claimed.tasks[0].attempt), (id, 1));
    assert_eq!(claimed.tasks[0].payload, Json::parse(r#"{"a":[1,2.50]}"#).unwrap());
    let result = Some(Json::parse("[7]").unwrap());
    let settle = Settle { outcome: Outcome::Done(result.clone()), ..done(&claimed.tasks[0]) };
    assert_eq!(store.settle(std::slice::from_ref(&settle)).await.unwrap(), [Settled::Recorded(State::Completed)]);
    assert_eq!(store.settle(&[settle]).await.unwrap(), [Settled::Repeated(State::Completed)]);
    let task = store.task(id).await.unwrap().unwrap();
    assert_eq!((task.state, task.result, task.worker), (State::Completed, result, None));
    assert_eq!(store.attempts(id).await.unwrap(), []);
    sound(&store).await;
}

#[tokio::test]
async fn a_claim_merges_the_heads_of_its_commands_in_order() {
    let (_database, store) = fresh().await;
    let names = ["a", "b", "c"];
    store.register(&names.map(|name| Command::new(command(name)))).await.unwrap();
    let worker = worker(&store).await;
    let mut tasks = Vec::new();
    for n in 0..200_i32 {
        let name = names[if n < 120 { 0 } else { (n % 3) as usize }];
        tasks.push(NewTask { priority: Some(n * 7 % 13), ..task(name) });
    }
    tasks.push(task("work"));
    store.enqueue(&tasks).await.unwrap();
    let mut wanted: Vec<(i32, i64)> = Vec::new();
    for task in store.list(&inspect::Filter { limit: 1000, ..Default::default() }).await.unwrap().tasks {
        if task.command != command("work") {
            wanted.push((task.priority, task.id.0));
        }
    }
    wanted.sort_unstable();
    let mut got = Vec::new();
    for limit in [1, 7, 100, 50, 100] {
        let claimed = store.claim(&claim_of(worker, &names, limit)).await.unwrap();
        got.extend(claimed.tasks.iter().map(|task| task.id.0));
    }
    assert_eq!(got, wanted.iter().map(|(_, id)| *id).collect::<Vec<_>>());
    sound(&store).await;
}
