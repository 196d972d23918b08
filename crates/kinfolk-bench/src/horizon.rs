//! A steady load under a snapshot that is held open: what a forgotten transaction, a long report or a stuck replica does
//! to a queue; and drains beside drains without one. Nothing that dies meanwhile can be cleaned away, so every claim has to pass what lies dead before it.

use std::time::Instant;

use super::BenchArgs;
use super::bare_postgres;
use super::figure::{Figure, Output};
use super::grouped::Shape;
use super::groups::round;
use super::load::ENQUEUE_BATCH;
use super::rounds::interleave;
use super::scratch::Scratch;
use super::site::Sites;
use super::stats::{Comparison, median, per_second};

/// The load that is offered, as a share of the maximum.
const SHARE: f64 = 0.6;
/// How much of the offered load is to be done.
const BAR: f64 = 0.9;

/// All of it.
pub(super) async fn horizon(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    steady(args, sites, output).await?;
    beside_free("horizon-drain", Shape::Plain, args, sites, output).await?;
    beside_free("horizon-groups", Shape::Tenants(100), args, sites, output).await
}

/// Drains again and again in a store whose snapshot is held open, beside the same in a store without one. Both grow alike, so
/// what differs is what the snapshot keeps from being cleaned away. The second half of the rounds counts.
async fn beside_free(
    scenario: &str,
    shape: Shape,
    args: &BenchArgs,
    sites: &Sites,
    output: &mut Output,
) -> anyhow::Result<()> {
    output.progress(&format!(
        "{scenario}: a snapshot held open for {:.1} minutes, {} tasks a round",
        args.minutes, args.n
    ));
    let (free_scratch, free) = sites.engine().await?;
    let (held_scratch, held) = sites.engine().await?;
    for (scratch, engine) in [(&free_scratch, &free), (&held_scratch, &held)] {
        engine.declare_groups().await?;
        round(scratch, engine, shape, args.n.min(ENQUEUE_BATCH), args).await?;
    }
    let snapshot = Snapshot::hold(&held_scratch).await?;
    let (begun, mut rates) = (Instant::now(), Vec::new());
    while rates.is_empty() || begun.elapsed() < args.held() {
        let pair = interleave(
            2,
            scenario,
            output,
            async || round(&free_scratch, &free, shape, args.n, args).await,
            async || round(&held_scratch, &held, shape, args.n, args).await,
        );
        rates.extend(pair.await?.rates());
    }
    let (minutes, done) = (begun.elapsed().as_secs_f64() / 60.0, rates.len() * args.n);
    snapshot.release().await?;
    let comparison = Comparison::of(&rates[rates.len() / 2..]);
    let figure = Figure::new(scenario, sites.store(), args.n, "the same drain without a snapshot", comparison);
    output.figure(
        figure.note(format!("snapshot held for {minutes:.1} minutes and {done} tasks; the second half of them")),
    )?;
    drop((free, held));
    free_scratch.remove().await?;
    held_scratch.remove().await
}

/// Measures the maximum, then offers 60 % of it while a snapshot is held open.
async fn steady(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    let (scratch, engine) = sites.engine().await?;
    let mut maximum = Vec::new();
    for _ in 0..args.rounds {
        engine.enqueue(args.n).await?;
        scratch.rest().await?;
        maximum.push(per_second(args.n, engine.drain(args.n, args.capacity).await?));
    }
    let offered = median(maximum) * SHARE;
    let span = args.held();
    output.progress(&format!("horizon: a snapshot held open for {:.1} minutes, {offered:.0} tasks/s", args.minutes));
    let snapshot = Snapshot::hold(&scratch).await?;
    let done = engine.steady(offered, span, args.capacity).await?;
    snapshot.release().await?;
    let comparison = Comparison::whole(per_second(done.offered, span), per_second(done.completed, span), &done.shares);
    let figure = Figure::new("horizon", sites.store(), done.offered, "tasks offered", comparison).bar(Some(BAR));
    output.figure(figure.note(format!("snapshot held for {:.1} minutes", args.minutes)))?;
    scratch.remove().await
}

/// A snapshot that is held open.
enum Snapshot {
    Postgres(tokio_postgres::Client),
    Sqlite { release: std::sync::mpsc::Sender<()>, holder: tokio::task::JoinHandle<anyhow::Result<()>> },
}

impl Snapshot {
    async fn hold(scratch: &Scratch) -> anyhow::Result<Self> {
        match scratch {
            Scratch::Postgres { url, .. } => {
                let (client, _) = bare_postgres::connect(url).await?;
                client.batch_execute("begin isolation level repeatable read; select 1 from pg_class limit 1").await?;
                Ok(Self::Postgres(client))
            }
            Scratch::Sqlite { path } => {
                let path = path.clone();
                let (release, released) = std::sync::mpsc::channel();
                let (tell, holding) = tokio::sync::oneshot::channel();
                let holder = tokio::task::spawn_blocking(move || {
                    let mut file = rusqlite::Connection::open(path)?;
                    let tx = file.transaction()?;
                    tx.query_row("select count(*) from sqlite_schema", [], |_| Ok(()))?;
                    let _ = tell.send(());
                    // Ends when the other end is dropped, too.
                    let _ = released.recv();
                    Ok(tx.rollback()?)
                });
                holding.await?;
                Ok(Self::Sqlite { release, holder })
            }
        }
    }

    async fn release(self) -> anyhow::Result<()> {
        match self {
            Self::Postgres(client) => Ok(client.batch_execute("rollback").await?),
            Self::Sqlite { release, holder } => {
                drop(release);
                holder.await?
            }
        }
    }
}
