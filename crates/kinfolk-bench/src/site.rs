//! A place with both sides in it, ready to be measured: the engine migrated and warmed up, the bare loop's rows made as
//! wide as the engine's.

use std::sync::Mutex;
use std::time::Duration;

use super::bare_postgres::{self, BarePostgres};
use super::bare_sqlite::{self, BareSqlite};
use super::engine::Engine;
use super::figure::Output;
use super::load::{ENQUEUE_BATCH, Timed};
use super::rounds::Sample;
use super::scratch::{Scratch, Target};
use super::stats::per_second;

/// Makes sites on the server, or the disk, of one database, and removes them all at the end.
pub(super) struct Sites {
    target: Target,
    made: Mutex<Vec<Scratch>>,
}

/// The engine and the bare loop, in a scratch place of their own.
pub(super) struct Site {
    pub scratch: Scratch,
    pub engine: Engine,
    pub bare: Bare,
}

/// The bare loop of either store.
pub(super) enum Bare {
    Postgres(BarePostgres),
    Sqlite(BareSqlite),
}

impl Sites {
    pub(super) fn new(target: Target) -> Self {
        Self { target, made: Mutex::default() }
    }

    /// The store that is measured.
    pub(super) fn store(&self) -> &'static str {
        match self.target {
            Target::Server(_) => "postgres",
            Target::File(_) => "sqlite",
        }
    }

    /// The statements of the bare loop.
    pub(super) fn statements(&self) -> &'static [(&'static str, &'static str)] {
        match self.target {
            Target::Server(_) => &bare_postgres::STATEMENTS,
            Target::File(_) => &bare_sqlite::STATEMENTS,
        }
    }

    /// What makes a server's figures worth little.
    pub(super) async fn warnings(&self) -> anyhow::Result<Vec<String>> {
        let mut warnings = Vec::new();
        if let Target::Server(server) = &self.target {
            let (client, _) = bare_postgres::connect(server).await?;
            for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
                let row = client.query_one("select current_setting($1)", &[&setting]).await?;
                if row.try_get::<_, String>(0)? == "off" {
                    warnings.push(format!("{setting} is off on this server: what is measured is not durable"));
                }
            }
        }
        if cfg!(debug_assertions) {
            warnings.push("this is a debug build: measure with --release".to_owned());
        }
        Ok(warnings)
    }

    /// A new place with the engine alone in it.
    pub(super) async fn engine(&self) -> anyhow::Result<(Scratch, Engine)> {
        let scratch = Scratch::make(&self.target).await?;
        self.made.lock().expect("nobody panics with this lock").push(scratch.clone());
        let engine = Engine::open(&scratch.url()).await?;
        Ok((scratch, engine))
    }

    /// A new place with both sides in it.
    pub(super) async fn make(&self, output: &Output) -> anyhow::Result<Site> {
        let (scratch, engine) = self.engine().await?;
        engine.enqueue(ENQUEUE_BATCH).await?;
        let width = scratch.row_width("kinfolk.task", "task").await?;
        engine.drain(ENQUEUE_BATCH, ENQUEUE_BATCH).await?;
        let narrow = Bare::open(&scratch, 0).await?;
        narrow.enqueue(ENQUEUE_BATCH).await?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rows are small")]
        let filler = (width - scratch.bare().row_width("bare_task", "bare_task").await?).max(0.0).round() as usize;
        drop(narrow);
        let bare = Bare::open(&scratch, filler).await?;
        bare.enqueue(ENQUEUE_BATCH).await?;
        let bare_width = scratch.bare().row_width("bare_task", "bare_task").await?;
        output.detail(&format!("row width: kinfolk {width:.0} bytes, bare {bare_width:.0} bytes"));
        bare.drain(ENQUEUE_BATCH).await?;
        Ok(Site { scratch, engine, bare })
    }

    /// Removes a site that is no longer needed.
    pub(super) async fn give_back(&self, site: Site) -> anyhow::Result<()> {
        let Site { scratch, engine, bare } = site;
        drop((engine, bare));
        scratch.remove().await
    }

    /// Removes every place that was ever made here.
    pub(super) async fn remove(&self) -> anyhow::Result<()> {
        let made = std::mem::take(&mut *self.made.lock().expect("nobody panics with this lock"));
        for scratch in made {
            scratch.remove().await?;
        }
        Ok(())
    }
}

impl Site {
    /// Brings the place to rest before something is timed.
    pub(super) async fn rest(&self) -> anyhow::Result<()> {
        self.scratch.rest().await?;
        if let bare @ Scratch::Sqlite { .. } = self.scratch.bare() {
            bare.rest().await?;
        }
        Ok(())
    }

    /// A round of the bare loop that inserts so many rows, claims them and completes them.
    pub(super) async fn bare_round(&self, rows: usize) -> anyhow::Result<Sample> {
        self.rest().await?;
        let took = self.bare.enqueue(rows).await?.took + self.bare.drain(rows).await?;
        Ok(Sample { rate: per_second(rows, took), times: Vec::new() })
    }
}

impl Bare {
    async fn open(scratch: &Scratch, filler: usize) -> anyhow::Result<Self> {
        Ok(match scratch.bare() {
            Scratch::Postgres { url, .. } => Self::Postgres(BarePostgres::open(&url, filler).await?),
            Scratch::Sqlite { path } => Self::Sqlite(BareSqlite::open(&path, filler).await?),
        })
    }

    pub(super) async fn enqueue(&self, n: usize) -> anyhow::Result<Timed> {
        match self {
            Self::Postgres(bare) => bare.enqueue(n).await,
            Self::Sqlite(bare) => bare.enqueue(n).await,
        }
    }

    pub(super) async fn drain(&self, n: usize) -> anyhow::Result<Duration> {
        match self {
            Self::Postgres(bare) => bare.drain(n).await,
            Self::Sqlite(bare) => bare.drain(n).await,
        }
    }

    pub(super) async fn one_by_one(&self, n: usize) -> anyhow::Result<Duration> {
        match self {
            Self::Postgres(bare) => bare.one_by_one(n).await,
            Self::Sqlite(bare) => bare.one_by_one(n).await,
        }
    }

    pub(super) async fn latency(&self, samples: usize, idle: Duration) -> anyhow::Result<Vec<Duration>> {
        match self {
            Self::Postgres(bare) => bare.latency(samples, idle).await,
            Self::Sqlite(bare) => bare.latency(samples, idle).await,
        }
    }
}
