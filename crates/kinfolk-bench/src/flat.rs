//! What lies in the store must not slow down what runs: drain speed, buffers per claim and write-ahead log per task, in
//! a store full of tasks that are not to be run now beside an empty one.

use super::BenchArgs;
use super::engine::{CLAIM_BATCH, Engine, NOOP, QUEUE};
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
    scratch.rest().await?;
    output.progress(&format!("flat, {} tasks a round", args.n));
    let (mut wal, mut buffers, mut full_buffers) = (Vec::new(), Vec::new(), Vec::new());
    let rounds = interleave(
        args.rounds,
        "flat",
        output,
        async || {
            let (scratch, engine) = sites.engine().await?;
            engine.enqueue(ENQUEUE_BATCH).await?;
            engine.drain(ENQUEUE_BATCH, args.capacity).await?;
            let empty = drain(args, &scratch, &engine, &[NOOP]).await?;
            buffers.extend(empty.buffers);
            drop(engine);
            scratch.remove().await?;
            Ok(empty.sample)
        },
        async || {
            let full = drain(args, &scratch, &engine, &[NOOP]).await?;
            wal.extend(full.wal);
            full_buffers.extend(full.buffers);
            Ok(full.sample)
        },
    )
    .await?;
    let figure = Figure::new("flat", sites.store(), args.n, "an empty store", rounds.comparison()).bar(Some(BAR));
    output.figure(figure.note(format!("{} tasks in the store", 3 * args.load + args.load / 10)))?;
    if !wal.is_empty() {
        let baseline = "an empty store, in claims per million buffers";
        output.figure(buffers_figure("buffers", baseline, &buffers, &full_buffers))?;
        output.figure(wal_figure(&wal, args.n))?;
    }
    drop(engine);
    scratch.remove().await
}

/// What one round in one store cost.
pub(super) struct Cost {
    pub sample: Sample,
    /// Bytes of write-ahead log for each task, from its enqueue to its end.
    wal: Option<f64>,
    /// Buffers that one claim looked at.
    pub buffers: Option<f64>,
}

/// Enqueues tasks without groups and drains them by a worker that handles these commands.
pub(super) async fn drain(
    args: &BenchArgs,
    scratch: &Scratch,
    engine: &Engine,
    commands: &[&str],
) -> anyhow::Result<Cost> {
    let start = scratch.wal_bytes().await?;
    engine.enqueue(args.n).await?;
    let enqueued = scratch.wal_bytes().await?;
    scratch.rest().await?;
    let buffers = engine.buffers_per_claim(scratch, QUEUE, commands).await?;
    let rest = scratch.wal_bytes().await?;
    let took = engine.drain_of(commands, args.n, args.capacity).await?;
    let end = scratch.wal_bytes().await?;
    let wal = match (start, enqueued, rest, end) {
        (Some(start), Some(enqueued), Some(rest), Some(end)) => {
            Some((enqueued - start + end - rest) as f64 / args.n as f64)
        }
        _ => None,
    };
    Ok(Cost { sample: Sample { rate: per_second(args.n, took), times: Vec::new() }, wal, buffers })
}

/// As a rate, so that more is better: claims per million buffers.
pub(super) fn buffers_figure(scenario: &str, baseline: &str, empty: &[f64], full: &[f64]) -> Figure {
    let claims = |buffers: &f64| 1e6 / buffers;
    let rounds: Vec<_> = empty.iter().map(claims).zip(full.iter().map(claims)).collect();
    let comparison = Comparison::of(&rounds);
    let (empty, full) = (1e6 / comparison.baseline_rate, 1e6 / comparison.rate);
    Figure::new(scenario, "postgres", CLAIM_BATCH, baseline, comparison)
        .bar(Some(BAR))
        .note(format!("{full:.0} buffers a claim instead of {empty:.0}"))
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
