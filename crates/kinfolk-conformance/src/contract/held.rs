//! Pending, and why: how many pending tasks of each queue are held up by what.

use kinfolk_core::held::{Held, HeldBy};
use kinfolk_core::{NewTask, Policy, Rate};

use crate::family::in_order;
use crate::grouped::of_mail;
use crate::world::{World, group_name, later, new_task, queue_name};

/// By queue: the word, and how many.
async fn held(w: &World) -> Vec<(String, &'static str, u64)> {
    let held = w.store.held(None).await.unwrap();
    assert!(held.iter().all(|held| !held.more));
    held.iter().map(|held| (held.queue.to_string(), held.by.word(), held.tasks)).collect()
}

fn of(queue: &str, word: &'static str, tasks: u64) -> (String, &'static str, u64) {
    (queue.to_owned(), word, tasks)
}

/// Each pending task counts under one reason; those that no worker can run are told from those in line.
pub async fn each_pending_task_counts_under_one_reason(w: &World) {
    assert_eq!(held(w).await, []);
    w.enqueue_many("mail", 3).await;
    w.create(later(60)).await;
    w.enqueue("export").await;
    assert_eq!(held(w).await, [of("bulk", "no_worker", 1), of("default", "not_due", 1), of("default", "no_worker", 3)]);
    let worker = w.worker().await;
    assert_eq!(held(w).await, [of("bulk", "in_line", 1), of("default", "not_due", 1), of("default", "in_line", 3)]);
    w.take(worker).await;
    w.advance(60).await;
    w.store.heartbeat(worker).await.ok();
    let words = held(w).await;
    assert_eq!(words.iter().map(|(_, _, tasks)| tasks).sum::<u64>(), 4, "what runs does not count: {words:?}");
    assert!(!words.iter().any(|(_, word, _)| *word == "not_due"));
    w.store.pause(&queue_name("default"), None).await.unwrap();
    w.create(later(60)).await;
    assert_eq!(held(w).await[1], of("default", "paused", 4), "whatever else holds them");
    let alone = w.store.held(Some(&queue_name("default"))).await.unwrap();
    assert_eq!(alone.len(), 1);
}

/// In-order children behind an earlier one wait for it, and nothing else.
pub async fn what_waits_for_another_is_told(w: &World) {
    w.worker().await;
    w.waiting(in_order(3, kinfolk_core::ChildOrder::InOrder)).await;
    assert_eq!(held(w).await, [of("default", "after", 2), of("default", "in_line", 1)]);
}

/// What waits behind a key is told by the key, and whether its slots or its rate are used up.
pub async fn a_key_that_holds_tasks_up_is_named(w: &World) {
    w.groups([("tenant", kinfolk_core::GroupSpec::limit(1)), ("provider", Rate::per_minute(1).into())]).await;
    let worker = w.worker().await;
    for key in ["acme", "acme", "acme", "other"] {
        w.under(&[("tenant", key)]).await;
    }
    for _ in 0..2 {
        w.under(&[("provider", "p")]).await;
    }
    w.claim(worker, 10).await;
    let found = w.store.held(None).await.unwrap();
    let full = HeldBy::KeyFull { group: of_mail("tenant"), key: "acme".to_owned() };
    let spent = HeldBy::KeyRate { group: of_mail("provider"), key: "p".to_owned() };
    let default = queue_name("default");
    assert_eq!(
        found,
        [
            Held { queue: default.clone(), by: full, tasks: 2, more: false },
            Held { queue: default, by: spent, tasks: 1, more: false },
        ]
    );
}

/// On a queue with a fair key what nothing else holds waits for its turn.
pub async fn on_a_fair_queue_tasks_wait_for_their_turn(w: &World) {
    w.groups([("tenant", 10)]).await;
    w.worker().await;
    w.limit("default", Policy { fair: Some(group_name("tenant")), ..Policy::default() }).await;
    w.under(&[("tenant", "a")]).await;
    w.create(NewTask { queue: Some(queue_name("bulk")), ..new_task("report") }).await;
    assert_eq!(held(w).await, [of("bulk", "in_line", 1), of("default", "turn", 1)]);
    assert_eq!(w.store.held(None).await.unwrap()[0].by, HeldBy::InLine);
}
