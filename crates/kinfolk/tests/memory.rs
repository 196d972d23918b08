//! The memory of a parent does not grow with the number of results that it streams. A process of its own, since it looks
//! at what the whole process holds.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use kinfolk::{Ctx, Json, Kinfolk, State, Sub, TaskError};

/// The full size, 100,000, takes minutes in a debug build: set it here to see it.
const CHILDREN: u64 = 10_000;
const RESULT_BYTES: usize = 1024;
/// Over the worker at rest, its store and the children's handlers included.
const MEMORY_MAX: u64 = 50 << 20;

fn memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let found =
        status.lines().find_map(|found| found.strip_prefix(line)?.strip_prefix(':')?.trim().strip_suffix(" kB"));
    found.unwrap().trim().parse::<u64>().unwrap() << 10
}

async fn child(_: Ctx, n: u64) -> Result<String, TaskError> {
    Ok(format!("{n:0>RESULT_BYTES$}"))
}

async fn parent(ctx: Ctx, _: Json) -> Result<(u64, u64), TaskError> {
    let stream = ctx.fan_out_stream::<String>((0..CHILDREN).map(|n| Sub::new("child", &n)));
    let sum = stream.fold((0, 0), |(results, bytes), result| {
        let value = result.outcome.unwrap_or_default();
        (results + 1, bytes + value.len() as u64)
    });
    sum.await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_streams_very_many_results_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let kinfolk = Kinfolk::open(&format!("sqlite:{}", folder.path().join("tasks.db").display())).await.unwrap();
    let worker = kinfolk.worker().queue("default", 500).handler("parent", parent).handler("child", child);
    let worker = worker.start().await.unwrap();
    worker.wait_idle().await;
    let (idle, began) = (memory("VmRSS"), Instant::now());
    let id = kinfolk.enqueue("parent", &()).await.unwrap().id().unwrap();
    let task = tokio::time::timeout(Duration::from_secs(600), kinfolk.wait(id)).await.unwrap().unwrap();
    assert_eq!(task.state, State::Completed, "{:?}", task.failure);
    assert_eq!(task.result.unwrap().to::<(u64, u64)>().unwrap(), (CHILDREN, CHILDREN * RESULT_BYTES as u64));
    let (grown, steps) = (memory("VmHWM").saturating_sub(idle), task.steps);
    println!("{CHILDREN} results in {:?}, {steps} checkpoints, {} MiB over idle", began.elapsed(), grown >> 20);
    assert!(grown < MEMORY_MAX, "{} MiB", grown >> 20);
    worker.stop().await.unwrap();
}
