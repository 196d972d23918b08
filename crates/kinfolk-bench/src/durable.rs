//! The engine's side of durable handlers: parents that await their children and read what they returned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kinfolk::{Ctx, Event, Sub, TaskError};

use super::engine::{Engine, PARENT};

/// What gives its payload back.
const ECHO: &str = "bench.echo";
/// What calls [`ECHO`] as often as its payload says, one after another.
const CALLER: &str = "bench.caller";

async fn echo(_ctx: Ctx, n: usize) -> Result<usize, TaskError> {
    Ok(n)
}

async fn call(ctx: Ctx, calls: usize) -> Result<usize, TaskError> {
    let mut sum = 0;
    for n in 0..calls {
        sum += ctx.call::<usize>(ECHO, &n).await?;
    }
    Ok(sum)
}

async fn await_all(ctx: Ctx, width: usize) -> Result<usize, TaskError> {
    let results = ctx.fan_out::<usize>((0..width).map(|n| Sub::new(ECHO, &n))).await?;
    Ok(results.values().into_iter().sum())
}

/// The sum of what so many children return.
fn sum(width: usize) -> usize {
    width * width.saturating_sub(1) / 2
}

impl Engine {
    /// One parent with `calls` calls in a loop: from its enqueue until it is completed.
    pub(super) async fn calls(&self, calls: usize, capacity: usize) -> anyhow::Result<Duration> {
        let (took, _) = self.flow(CALLER, 1, calls, capacity).await?;
        Ok(took)
    }

    /// One parent that awaits `width` children and reads their results: from its enqueue until it is completed.
    pub(super) async fn awaited(&self, width: usize, capacity: usize) -> anyhow::Result<Duration> {
        let (took, _) = self.flow(PARENT, 1, width, capacity).await?;
        Ok(took)
    }

    /// Many parents with so many awaited children each, until all are completed. Also how often a parent was resumed.
    pub(super) async fn parents(
        &self,
        many: usize,
        children: usize,
        capacity: usize,
    ) -> anyhow::Result<(Duration, usize)> {
        self.flow(PARENT, many, children, capacity).await
    }

    /// Runs `many` tasks of a durable command, each with `width` children.
    async fn flow(
        &self,
        command: &str,
        many: usize,
        width: usize,
        capacity: usize,
    ) -> anyhow::Result<(Duration, usize)> {
        let resumed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&resumed);
        let listener = move |event: &Event| {
            if let Event::Resumed { .. } = event {
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        let worker = self.worker(capacity, || {}).on_event(listener);
        let worker = worker.handler(ECHO, echo).handler(CALLER, call).handler(PARENT, await_all).start().await?;
        worker.wait_idle().await;
        let start = Instant::now();
        let parents = self.enqueue_parents(command, many, width).await?;
        for parent in &parents {
            self.wait(*parent).await?;
        }
        let took = start.elapsed();
        worker.stop().await?;
        for parent in parents {
            let result: Option<usize> = self.result(parent).await?;
            anyhow::ensure!(result == Some(sum(width)), "task {parent} returned {result:?} instead of {}", sum(width));
        }
        Ok((took, resumed.load(Ordering::Relaxed)))
    }
}
