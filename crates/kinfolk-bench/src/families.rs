//! Families: one parent with many children to its completion, and a queue that runs one family at a time.

use super::BenchArgs;
use super::engine::{Engine, NOOP, SERIAL, SQL_NOOP};
use super::figure::{Figure, Output};
use super::rounds::{Sample, interleave};
use super::scratch::Scratch;
use super::site::Sites;
use super::stats::{Comparison, per_second};

/// How much of the bare loop's speed a fan-out is to reach.
const FAN_OUT_BAR: f64 = 0.45;
/// How much of the claims per buffer is to be left when very many stand behind a family at work.
const BEHIND_BAR: f64 = 0.8;
/// The widest fan-out there is.
const WIDTH_MAX: usize = kinfolk_core::limits::MADE_MAX;

/// One parent with no-op children, from its enqueue to its completion; half of N wide, and ten times that.
pub(super) async fn fan_out(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    for width in args.sizes().map(|n| (n / 2).clamp(1, WIDTH_MAX)) {
        output.progress(&format!("fan-out, {width} children a round"));
        let site = sites.make(output).await?;
        let rounds = interleave(
            args.rounds,
            "fan-out",
            output,
            async || site.bare_round(width).await,
            async || {
                site.rest().await?;
                let took = site.engine.fan_out(width, args.capacity).await?;
                Ok(Sample { rate: per_second(width, took), times: vec![took] })
            },
        )
        .await?;
        let baseline = "insert, claim and complete as many rows";
        let figure = Figure::new("fan-out", sites.store(), width, baseline, rounds.comparison()).bar(Some(FAN_OUT_BAR));
        output.figure(figure.times(rounds.times()))?;
        sites.give_back(site).await?;
    }
    Ok(())
}

/// Top-level tasks on a queue with `family_limit` 1: strictly one after another; half of N. On PostgreSQL also with a function
/// in the database as their handler.
pub(super) async fn serial(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    one_by_one("serial", NOOP, args, sites, output).await?;
    if sites.store() == "postgres" {
        one_by_one("serial-sql", SQL_NOOP, args, sites, output).await?;
    }
    behind(args, sites, output).await
}

async fn one_by_one(
    scenario: &str,
    command: &str,
    args: &BenchArgs,
    sites: &Sites,
    output: &mut Output,
) -> anyhow::Result<()> {
    let n = (args.n / 2).max(1);
    output.progress(&format!("{scenario}, {n} tasks a round"));
    let site = sites.make(output).await?;
    let mut busy = Vec::new();
    let rounds = interleave(
        args.rounds,
        scenario,
        output,
        async || {
            site.bare.enqueue(n).await?;
            site.rest().await?;
            Ok(Sample { rate: per_second(n, site.bare.one_by_one(n).await?), times: Vec::new() })
        },
        async || {
            site.engine.enqueue_serial(n, command).await?;
            site.rest().await?;
            let (took, in_handlers) = site.engine.serial(n, args.capacity).await?;
            busy.push(1.0 - in_handlers.as_secs_f64() / took.as_secs_f64());
            Ok(Sample { rate: per_second(n, took), times: Vec::new() })
        },
    )
    .await?;
    let share = super::stats::median(busy) * 100.0;
    let baseline = "claim 1, complete 1, on one connection";
    let figure = Figure::new(scenario, sites.store(), n, baseline, rounds.comparison());
    output.figure(figure.note(format!("{share:.0} % of the time outside of handlers")))?;
    sites.give_back(site).await
}

/// What a claim looks at when very many top-level tasks wait behind a family at work.
async fn behind(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    output.progress(&format!("serial: {} tasks behind a family at work", args.load));
    let mut buffers = Vec::new();
    for many in [1, args.load] {
        let (scratch, engine) = sites.engine().await?;
        buffers.extend(buffers_behind(&engine, &scratch, many).await?);
        drop(engine);
        scratch.remove().await?;
    }
    let [few, many] = buffers[..] else { return Ok(()) };
    let comparison = Comparison::of(&[(1e6 / few, 1e6 / many)]);
    let baseline = "one task behind the family, in claims per million buffers";
    let figure = Figure::new("serial-behind", sites.store(), args.load, baseline, comparison).bar(Some(BEHIND_BAR));
    output.figure(figure.note(format!("{many:.0} buffers a claim instead of {few:.0}")))
}

async fn buffers_behind(engine: &Engine, scratch: &Scratch, many: usize) -> anyhow::Result<Option<f64>> {
    engine.start_family().await?;
    engine.enqueue_serial(many, NOOP).await?;
    scratch.rest().await?;
    engine.buffers_per_claim(scratch, SERIAL, &[NOOP]).await
}
