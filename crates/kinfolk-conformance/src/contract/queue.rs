//! Queues: pausing, resuming, retention.

use kinfolk_core::{Claim, Retention, State, StoreError};

use crate::world::{World, claim_of, ids, later, queue_name, secs};

/// A paused queue gives nothing out, and what runs goes on; resumed, it gives out what has waited, in order.
pub async fn a_paused_queue_gives_nothing_out_until_resumed(w: &World) {
    let made = w.enqueue_many("mail", 3).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    w.store.pause(&queue_name("default"), None).await.unwrap();
    assert!(w.claim(worker, 9).await.is_empty());
    assert_eq!(w.state(task.id).await, State::Running);
    w.done(&task).await;
    w.store.resume(&queue_name("default")).await.unwrap();
    assert_eq!(w.claim_ids(worker, 9).await, made[1..]);
}

/// A claim on a paused queue has nothing to sleep for.
pub async fn a_paused_queue_names_no_next_task(w: &World) {
    w.create(later(60)).await;
    w.store.pause(&queue_name("default"), None).await.unwrap();
    let worker = w.worker().await;
    let claimed = w.store.claim(&claim_of(worker, 9)).await.unwrap();
    assert_eq!((claimed.tasks.len(), claimed.next_due), (0, None));
}

/// Queues do not hold each other up.
pub async fn pausing_one_queue_leaves_the_others(w: &World) {
    let (_, export) = (w.enqueue("mail").await, w.enqueue("export").await);
    w.store.pause(&queue_name("default"), None).await.unwrap();
    let worker = w.worker().await;
    let bulk = Claim { queue: queue_name("bulk"), ..claim_of(worker, 9) };
    assert_eq!(ids(&w.store.claim(&bulk).await.unwrap().tasks), [export]);
}

/// Pausing twice keeps the first moment; resuming twice is no mistake.
pub async fn pausing_twice_keeps_the_first_moment(w: &World) {
    let (name, since) = (queue_name("bulk"), w.now());
    w.store.pause(&name, None).await.unwrap();
    w.advance(9).await;
    w.store.pause(&name, None).await.unwrap();
    assert_eq!(w.store.queues().await.unwrap()[0].paused_at, Some(since));
    w.store.resume(&name).await.unwrap();
    w.store.resume(&name).await.unwrap();
    assert_eq!(w.store.queues().await.unwrap()[0].paused_at, None);
}

/// Pausing or resuming a queue that nobody knows is an error that names it, and makes no queue.
pub async fn an_unknown_queue_is_not_found(w: &World) {
    let name = queue_name("nowhere");
    for answer in [w.store.pause(&name, None).await, w.store.resume(&name).await] {
        let fault = answer.unwrap_err();
        assert!(matches!(&fault, StoreError::NotFound { what: "queue", name } if name == "nowhere"), "{fault}");
    }
    assert_eq!(w.store.queues().await.unwrap().len(), 2);
}

/// Setting a queue makes it, or changes how long it keeps what is finished, and nothing else.
pub async fn setting_a_queue_makes_it_or_changes_its_retention(w: &World) {
    let retention = Retention { completed: Some(secs(0)), failed: None, cancelled: Some(secs(86_400)) };
    w.store.pause(&queue_name("default"), None).await.unwrap();
    for name in ["default", "fresh"] {
        w.store.set_queue(&queue_name(name), &kinfolk_core::Policy::keeping(retention)).await.unwrap();
    }
    let queues = w.store.queues().await.unwrap();
    let names: Vec<_> = queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["bulk", "default", "fresh"]);
    assert_eq!(
        (queues[0].policy.retention, queues[1].policy.retention, queues[2].policy.retention),
        (Retention::default(), retention, retention)
    );
    assert_eq!((queues[1].paused_at, queues[2].paused_at), (Some(w.now()), None));
}

/// A pause is seen by every process at once.
pub async fn a_pause_is_seen_by_every_process(w: &World) {
    w.enqueue("mail").await;
    let worker = w.worker().await;
    w.another().await.pause(&queue_name("default"), None).await.unwrap();
    assert!(w.claim(worker, 9).await.is_empty());
}

/// A pause says who asked for it first; a longer name than fits is cut, and resuming forgets it.
pub async fn a_pause_says_who_asked(w: &World) {
    let by = async || w.store.queues().await.unwrap().remove(0).paused_by;
    let bulk = queue_name("bulk");
    w.store.pause(&bulk, Some("åse")).await.unwrap();
    w.store.pause(&bulk, Some("bo")).await.unwrap();
    assert_eq!(by().await.as_deref(), Some("åse"));
    w.store.resume(&bulk).await.unwrap();
    assert_eq!(by().await, None);
    w.store.pause(&bulk, None).await.unwrap();
    w.store.pause(&bulk, Some("bo")).await.unwrap();
    assert_eq!(by().await, None);
    w.store.resume(&bulk).await.unwrap();
    w.store.pause(&bulk, Some(&format!("x{}", "å".repeat(100)))).await.unwrap();
    assert_eq!(by().await, Some(format!("x{}", "å".repeat(63))));
}
