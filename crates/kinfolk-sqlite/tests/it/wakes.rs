//! Wake-ups: at once from the same store, soon from any other on the same file.

use std::time::Duration;

use kinfolk_core::store::{Operate, WakeSource, Work};
use kinfolk_core::{Clock, Json, QueueName, SignalName, Signalled, Suspend, Wake, WorkerId};
use kinfolk_sqlite::SqliteStore;
use uuid::Uuid;

use crate::support::{Lab, claim, enqueue, ids, queue, register, task, worker};

/// Far longer than any wake-up takes, also on a busy machine. Nothing but a wake-up ends these waits.
const SOON: Duration = Duration::from_secs(120);

async fn listen(store: &SqliteStore, worker: WorkerId) -> Box<dyn WakeSource> {
    store.wakes(worker, &[queue()]).await.unwrap().unwrap()
}

async fn next(wakes: &mut Box<dyn WakeSource>) -> Wake {
    tokio::time::timeout(SOON, wakes.next()).await.expect("no wake-up came")
}

#[tokio::test]
async fn an_enqueue_wakes_who_listens_to_its_queue() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let mut wakes = listen(&lab.store, WorkerId(Uuid::new_v4())).await;
    let mut elsewhere = lab.store.wakes(WorkerId(Uuid::new_v4()), &[QueueName::new("other").unwrap()]).await.unwrap();
    enqueue(&lab.store, &[task("echo")]).await;
    assert_eq!(next(&mut wakes).await, Wake::Queue(queue()));
    let silent = tokio::time::timeout(Duration::ZERO, elsewhere.as_mut().unwrap().next()).await;
    assert!(silent.is_err(), "nobody else is woken");
}

#[tokio::test]
async fn another_store_on_the_file_is_heard() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let mut wakes = listen(&lab.store, WorkerId(Uuid::new_v4())).await;
    let other = lab.another();
    for _ in 0..3 {
        enqueue(&other, &[task("echo")]).await;
        assert_eq!(next(&mut wakes).await, Wake::Queue(queue()));
    }
}

#[tokio::test]
async fn a_cancellation_wakes_the_worker_that_has_the_task() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let worker = worker(&lab.store).await;
    enqueue(&lab.store, &[task("echo"), task("echo")]).await;
    let taken = ids(&claim(&lab.store, worker, &["echo"], 2).await);
    let mut wakes = listen(&lab.store, worker).await;
    lab.store.cancel(taken[0]).await.unwrap();
    assert_eq!(next(&mut wakes).await, Wake::Cancel);
    // The watcher may tell of the same cancellation once more: it comes from the file.
    let mut asked = lab.store.heartbeat(worker).await.unwrap().cancel;
    assert_eq!(asked.len(), 1);
    lab.another().cancel(taken[1]).await.unwrap();
    while asked.len() < 2 {
        assert_eq!(next(&mut wakes).await, Wake::Cancel);
        asked = lab.store.heartbeat(worker).await.unwrap().cancel;
    }
}

#[tokio::test]
async fn resuming_a_queue_and_retrying_a_task_wake_too() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let id = enqueue(&lab.store, &[task("echo")]).await[0];
    lab.store.cancel(id).await.unwrap();
    lab.store.pause(&queue(), None).await.unwrap();
    let mut wakes = listen(&lab.store, WorkerId(Uuid::new_v4())).await;
    lab.store.retry(id).await.unwrap();
    assert_eq!(next(&mut wakes).await, Wake::Queue(queue()));
    lab.store.resume(&queue()).await.unwrap();
    assert_eq!(next(&mut wakes).await, Wake::Queue(queue()));
}

#[tokio::test]
async fn listening_again_after_a_pause_misses_nothing() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let other = lab.another();
    for _ in 0..3 {
        let mut wakes = listen(&lab.store, WorkerId(Uuid::new_v4())).await;
        enqueue(&other, &[task("echo")]).await;
        assert_eq!(next(&mut wakes).await, Wake::Queue(queue()));
    }
}

#[tokio::test]
async fn a_resumed_task_wakes_who_listens_on_any_store() {
    let lab = Lab::new();
    register(&lab.store, &["echo"]).await;
    let worker = worker(&lab.store).await;
    enqueue(&lab.store, &[task("echo")]).await;
    let flow = claim(&lab.store, worker, &["echo"], 1).await.tasks.remove(0);
    let done = SignalName::new("done").unwrap();
    let suspend = Suspend { signals: vec![done.clone()], ..Suspend::new(flow.id, flow.token) };
    lab.store.suspend(&[suspend]).await.unwrap();
    let other = lab.another();
    let (mut here, mut there) = (listen(&lab.store, worker).await, listen(&other, worker).await);
    assert_eq!(other.signal(flow.id, &done, &Json::object()).await.unwrap(), Signalled::Resumed);
    assert_eq!(next(&mut here).await, Wake::Queue(queue()));
    assert_eq!(next(&mut there).await, Wake::Queue(queue()));
    // A timer is told too: whoever sleeps until the next due time has to learn of it.
    let flow = claim(&other, worker, &["echo"], 1).await.tasks.remove(0);
    let until = Some(lab.clock.now().plus(Duration::from_secs(60)));
    let suspend = Suspend { until, ..Suspend::new(flow.id, flow.token) };
    lab.store.suspend(&[suspend]).await.unwrap();
    assert_eq!(next(&mut there).await, Wake::Queue(queue()));
    assert_eq!(claim(&other, worker, &["echo"], 1).await.next_due, until);
}
