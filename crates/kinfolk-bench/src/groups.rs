//! Groups: what keys cost a drain, what very many tasks behind full keys cost it, and what tasks without groups notice of
//! all that.

use super::BenchArgs;
use super::engine::{Engine, NOOP};
use super::figure::{Figure, Output};
use super::flat::{Cost, buffers_figure, drain};
use super::grouped::{GROUPED, Shape};
use super::load::ENQUEUE_BATCH;
use super::rounds::{Sample, interleave};
use super::scratch::Scratch;
use super::site::Sites;
use super::stats::per_second;

/// How much of the speed without groups is to be left with two of them.
const GROUPS_BAR: f64 = 0.5;
/// How much of the speed is to be left when very many tasks wait behind full keys.
const BLOCKED_BAR: f64 = 0.8;
/// Tasks of `groups-seed`.
const SEED_TASKS: usize = 1_000;
/// Tasks of `groups` for each of N.
const STEADY: usize = 5;

/// All of it.
pub(super) async fn groups(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    let (scratch, engine) = sites.engine().await?;
    engine.declare_groups().await?;
    let site = (&scratch, &engine);
    let seed = args.n.min(SEED_TASKS);
    let note = format!("{seed} tasks with 10 groups of 100 keys, 5 slots each");
    beside_plain("groups-seed", Shape::Many, (seed, None), &note, args, site, output).await?;
    let steady = args.n * STEADY;
    let note = "tenant: 100 keys, 20 slots each; message: distinct keys, 1 slot each";
    beside_plain("groups", Shape::Tenants(100), (steady, Some(GROUPS_BAR)), note, args, site, output).await?;
    let note = "tenant: 10 keys, 20 slots each, so that workers meet full keys; message: distinct keys, 1 slot each";
    beside_plain("groups-tight", Shape::Tenants(10), (steady, None), note, args, site, output).await?;
    drop(engine);
    scratch.remove().await?;
    blocked(args, sites, output).await
}

/// A drain of tasks with keys beside the same without any, in one store.
async fn beside_plain(
    scenario: &str,
    shape: Shape,
    (n, bar): (usize, Option<f64>),
    note: &str,
    args: &BenchArgs,
    (scratch, engine): (&Scratch, &Engine),
    output: &mut Output,
) -> anyhow::Result<()> {
    output.progress(&format!("{scenario}, {n} tasks a round"));
    for shape in [Shape::Plain, shape] {
        round(scratch, engine, shape, n.min(ENQUEUE_BATCH), args).await?;
    }
    let rounds = interleave(
        args.rounds,
        scenario,
        output,
        async || round(scratch, engine, Shape::Plain, n, args).await,
        async || round(scratch, engine, shape, n, args).await,
    )
    .await?;
    let figure =
        Figure::new(scenario, scratch.store(), n, "the same drain without groups", rounds.comparison()).bar(bar);
    output.figure(figure.note(note))
}

/// How fast `n` tasks of a shape are drained, which are enqueued first.
pub(super) async fn round(
    scratch: &Scratch,
    engine: &Engine,
    shape: Shape,
    n: usize,
    args: &BenchArgs,
) -> anyhow::Result<Sample> {
    engine.enqueue_shape(shape, n).await?;
    scratch.rest().await?;
    let took = engine.drain_of(&[shape.command()], n, args.capacity).await?;
    Ok(Sample { rate: per_second(n, took), times: Vec::new() })
}

/// Drains in a store with very many tasks behind full keys, beside a store without any.
async fn blocked(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    output.progress(&format!("groups: {} tasks behind full keys", args.blocked));
    let (scratch, engine) = sites.engine().await?;
    engine.declare_groups().await?;
    let holder = engine.block(args.blocked, args.capacity).await?;
    let (empty_scratch, empty) = sites.engine().await?;
    empty.declare_groups().await?;
    for (scratch, engine) in [(&empty_scratch, &empty), (&scratch, &engine)] {
        for shape in [Shape::Plain, Shape::Tenants(100)] {
            round(scratch, engine, shape, args.n.min(ENQUEUE_BATCH), args).await?;
        }
    }
    let shape = Shape::Tenants(100);
    let rounds = interleave(
        args.rounds,
        "groups-blocked",
        output,
        async || round(&empty_scratch, &empty, shape, args.n, args).await,
        async || round(&scratch, &engine, shape, args.n, args).await,
    )
    .await?;
    let figure = Figure::new("groups-blocked", sites.store(), args.n, "none behind full keys", rounds.comparison());
    output.figure(figure.bar(Some(BLOCKED_BAR)).note(format!("{} tasks behind full keys", args.blocked)))?;

    let stores = Stores { full: (&scratch, &engine), empty: (&empty_scratch, &empty) };
    stores
        .plain("groups-beside", &[NOOP], "by a worker that handles no command with groups", args, sites, output)
        .await?;
    let note = "by a worker that handles commands with groups, too";
    stores.plain("groups-mixed", &[NOOP, GROUPED], note, args, sites, output).await?;
    holder.kill().await?;
    // The server refuses to remove a database while a session is connected to it.
    drop((holder, engine, empty));
    scratch.remove().await?;
    empty_scratch.remove().await
}

/// A store with tasks behind full keys, and one without groups or any tasks.
struct Stores<'a> {
    full: (&'a Scratch, &'a Engine),
    empty: (&'a Scratch, &'a Engine),
}

impl Stores<'_> {
    /// Tasks without groups, beside all that, by a worker that handles these commands.
    async fn plain(
        &self,
        scenario: &str,
        commands: &[&str],
        note: &str,
        args: &BenchArgs,
        sites: &Sites,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        output.progress(&format!("{scenario}, {} tasks a round", args.n));
        let (mut buffers, mut full_buffers) = (Vec::new(), Vec::new());
        let rounds = interleave(
            args.rounds,
            scenario,
            output,
            async || {
                let Cost { sample, buffers: seen, .. } = drain(args, self.empty.0, self.empty.1, &[NOOP]).await?;
                buffers.extend(seen);
                Ok(sample)
            },
            async || {
                let Cost { sample, buffers: seen, .. } = drain(args, self.full.0, self.full.1, commands).await?;
                full_buffers.extend(seen);
                Ok(sample)
            },
        )
        .await?;
        let baseline = "the same tasks where no key is in use";
        let figure = Figure::new(scenario, sites.store(), args.n, baseline, rounds.comparison());
        output.figure(figure.note(format!("{note}; {} tasks behind full keys", args.blocked)))?;
        if !buffers.is_empty() {
            let baseline = format!("{baseline}, in claims per million buffers");
            output.figure(buffers_figure(&format!("{scenario}-buffers"), &baseline, &buffers, &full_buffers))?;
        }
        Ok(())
    }
}
