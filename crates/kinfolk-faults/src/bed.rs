//! A fresh store for one test, reachable by its address from several processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use kinfolk_core::Store;
use kinfolk_postgres::{PgOptions, PgStore};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// The two stores that every fault is tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A database of its own in the test cluster.
    Postgres,
    /// A file in a temporary folder.
    Sqlite,
}

/// A fresh, migrated store; removed when dropped.
#[derive(Debug)]
pub struct Bed {
    url: String,
    home: Home,
    folder: TempDir,
}

#[derive(Debug)]
enum Home {
    Database { admin: String, name: String },
    File,
}

impl Bed {
    /// A fresh store of this kind.
    pub async fn new(kind: Kind) -> Result<Self> {
        match kind {
            Kind::Sqlite => Self::file(),
            Kind::Postgres => Self::database_in(&cluster_url()?).await,
        }
    }

    /// A fresh database in the cluster that this address of a superuser names.
    pub async fn database_in(admin: &str) -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("kinfolk_fault_{}_{number}", std::process::id());
        let client = connect(admin).await?;
        client.batch_execute(&format!("drop database if exists {name} with (force)")).await?;
        client.batch_execute(&format!("create database {name}")).await?;
        let url = with_database(admin, &name)?;
        let bed = Self { url, home: Home::Database { admin: admin.to_owned(), name }, folder: TempDir::new()? };
        bed.open().await?.migrate().await?;
        Ok(bed)
    }

    fn file() -> Result<Self> {
        let folder = TempDir::new()?;
        let url = format!("sqlite:{}", folder.path().join("tasks.db").display());
        Ok(Self { url, home: Home::File, folder })
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A folder for the test's other files; gone with the bed.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Opens it.
    pub async fn open(&self) -> Result<Arc<dyn Store>> {
        kinfolk::open(&self.url).await.with_context(|| format!("can't open {}", self.url))
    }

    /// The address of the same database through another port of the loopback interface: a proxy, a pooler.
    pub fn url_through(&self, port: u16) -> Result<String> {
        let (start, rest) = self.url.split_once("127.0.0.1:").context("not a PostgreSQL of this machine")?;
        let (_, name) = rest.split_once('/').context("no database in the address")?;
        Ok(format!("{start}127.0.0.1:{port}/{name}?sslmode=disable"))
    }

    /// The port of its server.
    pub fn port(&self) -> Result<u16> {
        let (_, rest) = self.url.split_once("127.0.0.1:").context("not a PostgreSQL of this machine")?;
        let (port, _) = rest.split_once('/').context("no database in the address")?;
        Ok(port.parse()?)
    }

    /// A plain connection to it, for what is done behind the engine's back.
    pub async fn plain(&self) -> Result<Client> {
        connect(&self.url).await
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let Home::Database { admin, name } = &self.home else { return };
        let (admin, sql) = (admin.clone(), format!("drop database if exists {name} with (force)"));
        // A runtime of its own: a drop can't wait on the test's.
        let drop_it = move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async { Ok(connect(&admin).await?.batch_execute(&sql).await?) })
        };
        let _ = std::thread::spawn(drop_it).join();
    }
}

/// Opens a PostgreSQL store that sits behind a transaction pooler.
pub async fn open_pooled(url: &str) -> Result<PgStore> {
    let options = PgOptions { prepared: false, notify: false, ..PgOptions::default() };
    PgStore::connect(url, options).await.with_context(|| format!("can't open {url}"))
}

/// The cluster in which tests may make and drop databases.
pub fn cluster_url() -> Result<String> {
    std::env::var("KINFOLK_TEST_PG").context("KINFOLK_TEST_PG is not set: run the tests with `cargo xtask test`")
}

/// A plain connection.
pub async fn connect(url: &str) -> Result<Client> {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.with_context(|| format!("can't connect to {url}"))?;
    tokio::spawn(connection);
    Ok(client)
}

fn with_database(url: &str, name: &str) -> Result<String> {
    let (server, _) = url.rsplit_once('/').context("no database in KINFOLK_TEST_PG")?;
    Ok(format!("{server}/{name}"))
}
