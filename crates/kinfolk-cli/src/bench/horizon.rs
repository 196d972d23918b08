//! A steady load under a snapshot that is held open: what a forgotten transaction, a long report or a stuck replica does
//! to a queue. Nothing that dies meanwhile can be cleaned away, so every claim has to pass what lies dead before it.

use super::BenchArgs;
use super::bare_postgres;
use super::figure::{Figure, Output};
use super::scratch::Scratch;
use super::site::Sites;
use super::stats::{Comparison, median, per_second};

/// The load that is offered, as a share of the maximum.
const SHARE: f64 = 0.6;
/// How much of the offered load is to be done.
const BAR: f64 = 0.9;

/// Measures the maximum, then offers 60 % of it while a snapshot is held open.
pub(super) async fn horizon(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    let (scratch, engine) = sites.engine().await?;
    let mut maximum = Vec::new();
    for _ in 0..args.rounds {
        engine.enqueue(args.n).await?;
        scratch.calm().await?;
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
