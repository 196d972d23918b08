//! The three plain scenarios: bulk enqueue, drain, latency; each at N and at 10 N.

use std::time::Duration;

use super::BenchArgs;
use super::figure::{Figure, Output};
use super::rounds::{Sample, interleave};
use super::site::Sites;
use super::stats::{per_second, percentile_ms};

/// How long the worker has nothing to do before each task of `latency`.
const IDLE: Duration = Duration::from_millis(20);
/// Tasks of `drain` and `enqueue` for each sample of `latency`: a sample takes as long as a thousand tasks.
const TASKS_PER_SAMPLE: usize = 400;

/// Bulk enqueue.
pub(super) async fn enqueue(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    for n in args.sizes() {
        output.progress(&format!("enqueue, {n} tasks a round"));
        let site = sites.make(output).await?;
        let rounds = interleave(
            args.rounds,
            "enqueue",
            output,
            async || {
                site.rest().await?;
                let timed = site.bare.enqueue(n).await?;
                Ok(Sample { rate: per_second(n, timed.took), times: timed.calls })
            },
            async || {
                site.rest().await?;
                let timed = site.engine.enqueue(n).await?;
                Ok(Sample { rate: per_second(n, timed.took), times: timed.calls })
            },
        )
        .await?;
        let baseline = match sites.store() {
            "postgres" => "unnest … returning, 1,000 a call, 2 connections",
            _ => "transactions of 1,000",
        };
        let bar = (sites.store() == "postgres").then_some(0.5);
        let figure = Figure::new("enqueue", sites.store(), n, baseline, rounds.comparison()).bar(bar);
        output.figure(figure.times(rounds.times()))?;
        sites.give_back(site).await?;
    }
    Ok(())
}

/// No-op tasks through one worker, until every completion is durable.
pub(super) async fn drain(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    for n in args.sizes() {
        output.progress(&format!("drain, {n} tasks a round"));
        let site = sites.make(output).await?;
        let rounds = interleave(
            args.rounds,
            "drain",
            output,
            async || {
                site.bare.enqueue(n).await?;
                site.rest().await?;
                Ok(Sample { rate: per_second(n, site.bare.drain(n).await?), times: Vec::new() })
            },
            async || {
                site.engine.enqueue(n).await?;
                site.rest().await?;
                let took = site.engine.drain(n, args.capacity).await?;
                Ok(Sample { rate: per_second(n, took), times: Vec::new() })
            },
        )
        .await?;
        let (baseline, bar) = match sites.store() {
            "postgres" => ("claim 500 by skip locked, complete 500 by update, 2 connections", 0.7),
            _ => ("transactions of 100", 0.45),
        };
        let figure = Figure::new("drain", sites.store(), n, baseline, rounds.comparison()).bar(Some(bar));
        output.figure(figure)?;
        sites.give_back(site).await?;
    }
    Ok(())
}

/// From enqueue to handler start on an idle worker.
pub(super) async fn latency(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    for n in args.sizes() {
        let samples = (n / TASKS_PER_SAMPLE).max(1);
        output.progress(&format!("latency, {samples} tasks a round, {} ms apart", IDLE.as_millis()));
        let site = sites.make(output).await?;
        let rounds = interleave(
            args.rounds,
            "latency",
            output,
            async || Ok(median_rate(site.bare.latency(samples, IDLE).await?)),
            async || Ok(median_rate(site.engine.latency(samples, IDLE).await?)),
        )
        .await?;
        let (baseline, bar) = match sites.store() {
            "postgres" => ("notify and claim round trip, per second of its p50", Some(1.0 / 1.6)),
            _ => ("insert, signal to another thread, claim; per second of its p50", None),
        };
        let figure = Figure::new("latency", sites.store(), samples, baseline, rounds.comparison()).bar(bar);
        output.figure(figure.times(rounds.times()))?;
        sites.give_back(site).await?;
    }
    Ok(())
}

/// A latency as a rate, so that more is better: how many fit into a second, one after another.
fn median_rate(times: Vec<Duration>) -> Sample {
    Sample { rate: 1000.0 / percentile_ms(&times, 0.5).max(f64::EPSILON), times }
}
