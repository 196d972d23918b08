//! How many run at once, and in which order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinfolk::{Command, Ctx, Json, TaskError};

use crate::lab::{Lab, within};

/// Counts how many are inside at once.
#[derive(Clone, Default)]
struct Gate {
    inside: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Gate {
    async fn pass(&self) -> Result<(), TaskError> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(2)).await;
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

fn on_queue(name: &str, queue: &str) -> Command {
    Command { queue: queue.parse().unwrap(), ..Command::new(name.parse().unwrap()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_a_queues_capacity_nor_the_total_is_ever_exceeded() {
    let lab = Lab::new().await;
    let (a, b, all) = (Gate::default(), Gate::default(), Gate::default());
    let handler = |own: &Gate| {
        let (own, all) = (own.clone(), all.clone());
        move |_: Ctx, _: Json| {
            let (own, all) = (own.clone(), all.clone());
            async move {
                let (own, all) = tokio::join!(own.pass(), all.pass());
                own.and(all)
            }
        }
    };
    let worker = lab
        .worker()
        .queue("a", 5)
        .queue("b", 4)
        .capacity(7)
        .handler(on_queue("on_a", "a"), handler(&a))
        .handler(on_queue("on_b", "b"), handler(&b))
        .start()
        .await
        .unwrap();
    for _ in 0..3 {
        lab.enqueue_many("on_a", 100).await;
        lab.enqueue_many("on_b", 100).await;
    }
    within(worker.wait_idle()).await;
    assert_eq!(lab.events.count(|event| event.name() == "completed"), 600);
    assert!(a.most() <= 5 && b.most() <= 4 && all.most() <= 7, "{} {} {}", a.most(), b.most(), all.most());
    assert!(a.most() >= 3 && b.most() >= 3, "both queues get their share: {} {}", a.most(), b.most());
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_queue_does_not_starve_another_of_the_total() {
    let lab = Lab::new().await;
    let slow = |_: Ctx, _: Json| async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(())
    };
    let worker = lab
        .worker()
        .queue("busy", 4)
        .queue("calm", 4)
        .capacity(4)
        .handler(on_queue("many", "busy"), slow)
        .handler(on_queue("one", "calm"), slow)
        .start()
        .await
        .unwrap();
    let many = lab.enqueue_many("many", 3000).await;
    let one = lab.enqueue("one").await;
    lab.ended(one).await;
    assert!(!lab.task(*many.last().unwrap()).await.state.is_terminal(), "it did not have to wait for all the others");
    worker.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lower_priorities_go_first_and_equals_in_the_order_they_came() {
    let lab = Lab::new().await;
    let order = Arc::new(Mutex::new(Vec::new()));
    lab.kinfolk.register(&[Command::new("note".parse().unwrap())]).await.unwrap();
    for (name, priority) in [("c", 5), ("a", -1), ("d", 5), ("b", 0)] {
        lab.kinfolk.enqueue("note", name).priority(priority).await.unwrap();
    }
    let seen = Arc::clone(&order);
    let handler = move |_: Ctx, name: String| {
        seen.lock().unwrap().push(name);
        std::future::ready(Ok(()))
    };
    let worker = lab.worker().queue("default", 1).handler("note", handler).start().await.unwrap();
    within(worker.wait_idle()).await;
    assert_eq!(*order.lock().unwrap(), ["a", "b", "c", "d"]);
    worker.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_tasks_are_each_run_once() {
    let lab = Lab::new().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let handler = move |_: Ctx, _: Json| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(()))
    };
    let worker = lab.worker().queue("default", 500).handler("count", handler).start().await.unwrap();
    for _ in 0..5 {
        lab.enqueue_many("count", 1000).await;
    }
    within(worker.wait_idle()).await;
    assert_eq!(runs.load(Ordering::SeqCst), 5000);
    worker.stop().await.unwrap();
    lab.check().await;
}
