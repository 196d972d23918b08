//! For tests: a clock that is moved by hand, and databases of their own.
//!
//! A test that has no PostgreSQL to run against fails, and says how to get one: it is never skipped in silence.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::future::poll_fn;
use kinfolk_core::store::Answer;
use kinfolk_core::{Operate, Timestamp};
use tokio::sync::OnceCell;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client, SimpleQueryMessage};

use crate::connect::PgOptions;
use crate::error::store_error;
use crate::schema::code;
use crate::store::PgStore;
use crate::values::Moment;

const INSTALL_CLOCK: &str = include_str!("../sql/testing/clock.sql");
const SET_CLOCK: &str = "update kinfolk.test_clock set at = $1";
const RESTART_SERVER: &str = "update kinfolk.test_clock set server_started_at = at";
const WIPE: &str = include_str!("../sql/testing/wipe.sql");
/// Sends all other sessions away. Their open transactions are undone before their locks are free.
const ALONE: &str = "select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()";
const STEP: &str = include_str!("../sql/testing/step.sql");
const DUMP: &str = include_str!("../sql/testing/dump.sql");
const POINTS: &str = include_str!("../sql/testing/points.sql");
const SOURCES: &str = include_str!("../sql/testing/sources.sql");
/// How a point is marked.
const POINT: &str = "-- point: ";

/// Stops the store's clock at its present time until it is set. The server counts as running for
/// ever, so that the moved clock does not look like a restart.
pub async fn install_clock(store: &PgStore) -> Answer<()> {
    let client = store.raw_client().await?;
    client.batch_execute(INSTALL_CLOCK).await.map_err(|fault| store_error(&fault))
}

/// Sets the clock that [`install_clock`] put in place.
pub async fn set_clock(store: &PgStore, now: Timestamp) -> Answer<()> {
    store.rows(SET_CLOCK, &[(&Moment(now), Type::TIMESTAMPTZ)]).await.map(drop)
}

/// Makes the store believe that its server has started just now, by the clock that [`install_clock`] put in place.
pub async fn restart_server(store: &PgStore) -> Answer<()> {
    store.rows(RESTART_SERVER, &[]).await.map(drop)
}

/// Empties a store that [`install_clock`] was called on.
pub async fn wipe(store: &PgStore) -> Answer<()> {
    let client = store.raw_client().await?;
    client.batch_execute(WIPE).await.map_err(|fault| store_error(&fault))
}

/// Installs the test build of the engine's functions: each marked point in them (a comment `-- point: name`, alone on its
/// line) becomes a call that a walker can stop a session at. Nothing else differs.
pub async fn install_points(store: &PgStore) -> Answer<()> {
    let client = store.raw_client().await?;
    let functions = code().filter(|(_, sql)| sql.contains(POINT)).map(|(_, sql)| with_points(sql));
    let sql: Vec<String> = std::iter::once(POINTS.to_owned()).chain(functions).collect();
    client.batch_execute(&sql.join(";\n")).await.map_err(|fault| store_error(&fault))
}

/// A function's text in the test build.
fn with_points(sql: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix(POINT) {
        Some(name) => format!("perform kinfolk.point('{name}');"),
        None => line.to_owned(),
    };
    sql.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Every marked point in the engine's functions.
pub fn points() -> Vec<&'static str> {
    let lines = code().flat_map(|(_, sql)| sql.lines());
    lines.filter_map(|line| line.trim_start().strip_prefix(POINT)).collect()
}

/// The source of every function in the database, as `name: text`, sorted.
pub async fn function_sources(store: &PgStore) -> Answer<Vec<String>> {
    let client = store.raw_client().await?;
    Ok(texts(&client.simple_query(SOURCES).await.map_err(|fault| store_error(&fault))?))
}

/// Runs statements on a connection of the store.
pub async fn execute(store: &PgStore, sql: &str) -> Answer<()> {
    let client = store.raw_client().await?;
    client.batch_execute(sql).await.map_err(|fault| store_error(&fault))
}

/// The version of the schema that this program works with.
pub const VERSION: i32 = 1;
/// The version that the tests' own step leads to.
pub const NEXT_VERSION: i32 = VERSION + 1;

/// The same store in a program of the next version: the step of the tests comes after the shipped ones.
#[must_use]
pub fn with_next_version(mut store: PgStore) -> PgStore {
    store.history.tables.push(STEP);
    store.history.steps.push(("a step of the tests", STEP));
    store.fits = AtomicBool::new(false);
    store
}

/// Everything about the schema that could differ between two databases, one line each, sorted.
pub async fn schema_dump(store: &PgStore) -> Answer<Vec<String>> {
    let client = store.raw_client().await?;
    Ok(texts(&client.simple_query(DUMP).await.map_err(|fault| store_error(&fault))?))
}

fn texts(messages: &[SimpleQueryMessage]) -> Vec<String> {
    let text = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    };
    messages.iter().filter_map(text).collect()
}

/// The URL of the cluster in which tests may make and drop databases.
///
/// # Panics
/// When `KINFOLK_TEST_PG` is not set.
pub fn cluster_url() -> String {
    std::env::var("KINFOLK_TEST_PG").unwrap_or_else(|_| {
        panic!("KINFOLK_TEST_PG names no PostgreSQL to test against; run `cargo xtask test`, which starts one")
    })
}

/// A migrated database of its own for one test; dropped with it.
pub struct TestDatabase {
    /// Its URL.
    pub url: String,
    name: String,
}

static TEMPLATE: OnceCell<String> = OnceCell::const_new();

impl TestDatabase {
    /// A new migrated database. The first one in a process migrates a template; the others are copies of it.
    ///
    /// # Panics
    /// When the cluster can't be reached or made to do this.
    pub async fn create() -> Self {
        let template = TEMPLATE.get_or_init(make_template).await;
        Self::copy_of(template).await
    }

    /// A new empty database, not migrated.
    ///
    /// # Panics
    /// When the cluster can't be reached or made to do this.
    pub async fn create_empty() -> Self {
        Self::copy_of("template0").await
    }

    async fn copy_of(template: &str) -> Self {
        let name = format!("kinfolk_test_{}", uuid::Uuid::new_v4().simple());
        run(&format!("create database {name} template {template}")).await;
        Self { url: url_of(&name), name }
    }

    /// A store on it.
    ///
    /// # Panics
    /// When it can't be connected to.
    pub async fn store(&self) -> PgStore {
        let options = PgOptions { pool_size: 4, ..PgOptions::default() };
        PgStore::connect(&self.url, options).await.expect("a store on the test database")
    }
}

impl TestDatabase {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A plain connection to it.
    ///
    /// # Panics
    /// When it can't be connected to.
    pub async fn client(&self) -> Client {
        let (client, connection) =
            tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await.expect("a connection to the test database");
        tokio::spawn(async move { drop(connection.await) });
        client
    }

    /// The notifications on a channel from now on.
    ///
    /// # Panics
    /// When it can't be connected to.
    pub async fn listen(&self, channel: &str) -> Notes {
        let (client, mut connection) =
            tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await.expect("a connection to the test database");
        let (told, notes) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(note) = message {
                    drop(told.send(note.payload().to_owned()));
                }
            }
        });
        client.batch_execute(&format!("listen {channel}")).await.expect("to listen");
        Notes { _client: client, notes }
    }

    /// Empties it, and sends all connected sessions away; [`install_clock`] was called on it.
    ///
    /// # Panics
    /// When that fails.
    pub async fn empty(&self) {
        self.run(&format!("{ALONE};\n{WIPE}")).await;
    }

    /// Runs statements, and says how that went.
    pub async fn try_run(&self, sql: &str) -> Answer<()> {
        self.client().await.batch_execute(sql).await.map_err(|fault| store_error(&fault))
    }

    /// Runs statements.
    ///
    /// # Panics
    /// When one fails.
    pub async fn run(&self, sql: &str) {
        self.try_run(sql).await.unwrap_or_else(|fault| panic!("{sql}: {fault}"));
    }

    /// Runs a query and gives its first column as texts.
    ///
    /// # Panics
    /// When it fails.
    pub async fn texts(&self, sql: &str) -> Vec<String> {
        texts(&self.client().await.simple_query(sql).await.unwrap_or_else(|fault| panic!("{sql}: {fault}")))
    }
}

/// The notifications on one channel.
pub struct Notes {
    _client: Client,
    notes: UnboundedReceiver<String>,
}

impl Notes {
    /// The next note, for which it waits some seconds.
    ///
    /// # Panics
    /// When none comes.
    pub async fn next(&mut self) -> String {
        let next = tokio::time::timeout(Duration::from_secs(20), self.notes.recv()).await;
        next.ok().flatten().expect("a note")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let sql = format!("drop database if exists {} with (force)", self.name);
        // A thread of its own: the test's runtime may be going down.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(run(&sql));
        });
        drop(dropped.join());
    }
}

async fn make_template() -> String {
    let name = format!("kinfolk_test_template_{}", std::process::id());
    run(&format!("drop database if exists {name} with (force)")).await;
    run(&format!("create database {name} template template0")).await;
    let store = PgStore::connect(&url_of(&name), PgOptions::default()).await.expect("the template database");
    store.migrate().await.expect("a migrated template");
    store.pool.close();
    run(&format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'")).await;
    name
}

async fn run(sql: &str) {
    let url = cluster_url();
    let store = PgStore::connect(&url, PgOptions { pool_size: 1, ..PgOptions::default() }).await;
    let store = store.unwrap_or_else(|fault| panic!("KINFOLK_TEST_PG={url}: {fault}"));
    let client = store.raw_client().await.expect("a connection to the test cluster");
    client.batch_execute(sql).await.unwrap_or_else(|fault| panic!("{sql}: {fault:?}"));
}

/// The cluster's URL with another database in it.
fn url_of(database: &str) -> String {
    let url = cluster_url();
    let (front, query) = url.split_once('?').map_or((url.as_str(), ""), |(front, query)| (front, query));
    let host_from = front.find("://").map_or(0, |at| at + 3);
    let path_from = front[host_from..].find('/').map_or(front.len(), |at| host_from + at);
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("{}/{database}{query}", &front[..path_from])
}
