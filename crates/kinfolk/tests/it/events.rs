//! What is reported.

use std::time::Duration;

use kinfolk::{Ctx, Event, Json, TaskError};

use crate::lab::{Lab, within};

#[test]
fn the_documentation_lists_every_event_and_no_other() {
    let page = include_str!("../../../../docs/events.md");
    let listed: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name))
        .filter(|name| !name.starts_with("kinfolk_"))
        .collect();
    assert_eq!(listed, Event::NAMES);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_has_a_beginning_and_one_ending() {
    let lab = Lab::new().await;
    let handler = |ctx: Ctx, _: Json| async move {
        match ctx.attempt() {
            1 => Err(TaskError::new("once more").retry_after(Duration::ZERO)),
            _ => Ok(()),
        }
    };
    let worker = lab.worker().handler("twice", handler).start().await.unwrap();
    lab.enqueue_many("twice", 50).await;
    within(worker.wait_idle()).await;
    worker.stop().await.unwrap();
    let count = |name: &str| lab.events.count(|event| event.name() == name);
    assert_eq!((count("started"), count("retried"), count("completed")), (100, 50, 50));
    let all = lab.events.all();
    assert_eq!(all.first().map(Event::name), Some("worker_started"));
    assert_eq!(all.last().map(Event::name), Some("worker_stopped"));
}
