//! What lies in the store must not slow down what runs: drain speed, buffers per claim and write-ahead log per task, in
//! a store full of tasks that are not to be run now beside an empty one.

use super::BenchArgs;
use super::engine::Engine;
use super::figure::{Figure, Output};
use super::load::ENQUEUE_BATCH;
use super::rounds::{Sample, interleave};
use super::scratch::Scratch;
use super::site::Sites;
use super::stats::{Comparison, per_second};

/// How much of the speed in an empty store is to be left in a full one.
const BAR: f64 = 0.8;
/// The most write-ahead log that one task may cost, from its enqueue to its end, in bytes.
const WAL_BYTES_MAX: f64 = 2.5 * 1024.0;
const MIB: f64 = 1024.0 * 1024.0;

/// Fills a store, then drains beside it in empty ones.
pub(super) async fn flat(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    output.progress(&format!("flat: filling a store with {} tasks", 3 * args.load + args.load / 10));
    let (scratch, engine) = sites.engine().await?;
    engine.fill(args.load, args.capacity).await?;
    scratch.calm().await?;
    output.progress(&format!("flat, {} tasks a round", args.n));
    let mut wal = Vec::new();
    let rounds = interleave(
        args.rounds,
        "flat",
        output,
        async || {
            let (scratch, engine) = sites.engine().await?;
            engine.enqueue(ENQUEUE_BATCH).await?;
            engine.drain(ENQUEUE_BATCH, args.capacity).await?;
            let sample = drain(args, &scratch, &engine).await?.0;
            drop(engine);
            scratch.remove().await?;
            Ok(sample)
        },
        async || {
            let (sample, bytes) = drain(args, &scratch, &engine).await?;
            wal.extend(bytes);
            Ok(sample)
        },
    )
    .await?;
    let figure = Figure::new("flat", sites.store(), args.n, "an empty store", rounds.comparison()).bar(Some(BAR));
    output.figure(figure.note(format!("{} tasks in the store", 3 * args.load + args.load / 10)))?;
    if !wal.is_empty() {
        output.figure(wal_figure(&wal, args.n))?;
    }
    drop(engine);
    scratch.remove().await
}

/// Enqueues and drains; the speed of the drain, and the write-ahead log that both wrote per task.
async fn drain(args: &BenchArgs, scratch: &Scratch, engine: &Engine) -> anyhow::Result<(Sample, Option<f64>)> {
    let start = scratch.wal_bytes().await?;
    engine.enqueue(args.n).await?;
    let enqueued = scratch.wal_bytes().await?;
    scratch.calm().await?;
    let calm = scratch.wal_bytes().await?;
    let took = engine.drain(args.n, args.capacity).await?;
    let end = scratch.wal_bytes().await?;
    let bytes = match (start, enqueued, calm, end) {
        (Some(start), Some(enqueued), Some(calm), Some(end)) => {
            Some((enqueued - start + end - calm) as f64 / args.n as f64)
        }
        _ => None,
    };
    Ok((Sample { rate: per_second(args.n, took), times: Vec::new() }, bytes))
}

/// As a rate, so that more is better: tasks per MiB of write-ahead log.
fn wal_figure(bytes_per_task: &[f64], n: usize) -> Figure {
    let rounds: Vec<_> = bytes_per_task.iter().map(|bytes| (MIB / WAL_BYTES_MAX, MIB / bytes)).collect();
    let comparison = Comparison::of(&rounds);
    let bytes = MIB / comparison.rate;
    Figure::new("wal", "postgres", n, "2.5 KiB a task, in tasks per MiB", comparison)
        .bar(Some(1.0))
        .note(format!("{bytes:.0} bytes a task"))
}
