//! Durable handlers: calls one after another, one wide fan-out whose results are read, and many small ones at once.

use super::BenchArgs;
use super::figure::{Figure, Output};
use super::rounds::{Sample, interleave};
use super::site::Sites;
use super::stats::{median, per_second};

/// How much of the bare loop's speed a fan-out with results is to reach on PostgreSQL.
const FAN_OUT_BAR: f64 = 0.4;
/// Calls that one parent makes, one after another.
const CALLS: usize = 100;
/// Children of each of many parents.
const CHILDREN: usize = 10;
/// The widest fan-out there is.
const WIDTH_MAX: usize = kinfolk_core::limits::MADE_MAX;

/// All three.
pub(super) async fn flow(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    calls(args, sites, output).await?;
    fan_out(args, sites, output).await?;
    parents(args, sites, output).await
}

/// One parent that calls in a loop: each call is a suspension, a sub-task, and a resumption from the top.
async fn calls(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    let n = CALLS.min(args.n);
    output.progress(&format!("flow: {n} calls one after another a round"));
    let site = sites.make(output).await?;
    let rounds = interleave(
        args.rounds,
        "flow-calls",
        output,
        async || {
            site.rest().await?;
            let mut took = std::time::Duration::ZERO;
            for _ in 0..n {
                took += site.bare.enqueue(1).await?.took + site.bare.one_by_one(1).await?;
            }
            Ok(Sample { rate: per_second(n, took), times: Vec::new() })
        },
        async || {
            site.rest().await?;
            let took = site.engine.calls(n, args.capacity).await?;
            Ok(Sample { rate: per_second(n, took), times: Vec::new() })
        },
    )
    .await?;
    let baseline = "insert 1, claim 1, complete 1, one after another";
    let comparison = rounds.comparison();
    let note = format!("{:.0} resumptions/s", comparison.rate);
    output.figure(Figure::new("flow-calls", sites.store(), n, baseline, comparison).note(note))?;
    sites.give_back(site).await
}

/// One parent that awaits half of N children and reads their results, from its enqueue to its completion.
async fn fan_out(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    let width = (args.n / 2).clamp(1, WIDTH_MAX);
    output.progress(&format!("flow: {width} awaited children a round"));
    let site = sites.make(output).await?;
    let rounds = interleave(
        args.rounds,
        "flow-fan-out",
        output,
        async || site.bare_round(width).await,
        async || {
            site.rest().await?;
            let took = site.engine.awaited(width, args.capacity).await?;
            Ok(Sample { rate: per_second(width, took), times: vec![took] })
        },
    )
    .await?;
    let baseline = "insert, claim and complete as many rows";
    let bar = (sites.store() == "postgres").then_some(FAN_OUT_BAR);
    let figure = Figure::new("flow-fan-out", sites.store(), width, baseline, rounds.comparison()).bar(bar);
    output.figure(figure.times(rounds.times()))?;
    sites.give_back(site).await
}

/// A twentieth of N parents with ten children each, all at once: every one is suspended and resumed.
async fn parents(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    let many = (args.n / 20).max(1);
    let tasks = many * (CHILDREN + 1);
    output.progress(&format!("flow: {many} parents with {CHILDREN} children each a round"));
    let site = sites.make(output).await?;
    let mut resumptions = Vec::new();
    let rounds = interleave(
        args.rounds,
        "flow-parents",
        output,
        async || site.bare_round(tasks).await,
        async || {
            site.rest().await?;
            let (took, resumed) = site.engine.parents(many, CHILDREN, args.capacity).await?;
            resumptions.push(per_second(resumed, took));
            Ok(Sample { rate: per_second(tasks, took), times: Vec::new() })
        },
    )
    .await?;
    let baseline = "insert, claim and complete as many rows";
    let figure = Figure::new("flow-parents", sites.store(), tasks, baseline, rounds.comparison());
    output.figure(figure.note(format!("{:.0} resumptions/s", median(resumptions))))?;
    sites.give_back(site).await
}
