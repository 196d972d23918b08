//! A private PostgreSQL cluster.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::folder;
use crate::small_disk;
use crate::tools::{self, Tools};

/// What makes a cluster quick to start and light on the disk. `fsync` and `full_page_writes` guard against the loss
/// of the machine, which no test brings about: tests kill processes, and what a killed server had handed to the
/// kernel is still there. `synchronous_commit` stays on, since an immediate shutdown loses what it would put off.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
synchronous_commit = on
shared_buffers = '64MB'
max_connections = 300
max_prepared_transactions = 20
max_wal_size = '256MB'
autovacuum_naptime = '5s'
log_line_prefix = '%m [%p] %a '
log_min_messages = warning
log_lock_waits = on
deadlock_timeout = '200ms'
lc_messages = 'C'
timezone = 'UTC'
";

/// A running (or, between [`Cluster::stop`] and [`Cluster::start`], stopped) cluster; gone when dropped.
#[derive(Debug)]
pub struct Cluster {
    tools: Tools,
    folder: PathBuf,
    port: u16,
    /// How many megabytes its small disk has, if it has one.
    small: Option<u32>,
}

/// How to stop a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Disconnects everyone and shuts down in order.
    Fast,
    /// Ends at once, as a crash would; the next start recovers from the log.
    Immediate,
}

impl Cluster {
    /// Makes and starts a cluster. `settings` are lines of `postgresql.conf` that go after our own.
    pub fn new(tools: &Tools, settings: &str) -> Result<Self> {
        Self::make(tools, settings, None)
    }

    /// The same, with a small file system of its own at [`Cluster::small_disk`], for a tablespace. Only the server sees it,
    /// and it is gone with the server. `None` where this machine lets nobody mount one.
    pub fn with_small_disk(tools: &Tools, settings: &str, megabytes: u32) -> Result<Option<Self>> {
        if !small_disk::may_mount() {
            return Ok(None);
        }
        Self::make(tools, settings, Some(megabytes)).map(Some)
    }

    fn make(tools: &Tools, settings: &str, small: Option<u32>) -> Result<Self> {
        let mut cluster = Self { tools: tools.clone(), folder: folder::make()?, port: 0, small };
        let mut initdb = cluster.tools.command("initdb", &cluster.folder);
        initdb.args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata"]);
        tools::run(initdb.arg(cluster.data()))?;
        let conf = cluster.data().join("postgresql.conf");
        let mut text = fs::read_to_string(&conf).context("can't read postgresql.conf")?;
        writeln!(text, "{SETTINGS}{settings}")?;
        fs::write(&conf, text).context("can't write postgresql.conf")?;
        cluster.start_somewhere()?;
        Ok(cluster)
    }

    /// Another server that follows this one, readable and no more until it is promoted. From now on this one answers a commit when
    /// the other has it too.
    pub fn standby(&self) -> Result<Self> {
        let mut standby = Self { tools: self.tools.clone(), folder: folder::make()?, port: 0, small: None };
        let mut copy = standby.tools.command("pg_basebackup", &standby.folder);
        copy.args(["--no-sync", "--checkpoint=fast", "--write-recovery-conf", "--dbname", &self.url("postgres")]);
        tools::run(copy.arg("--pgdata").arg(standby.data()))?;
        standby.start_somewhere()?;
        self.psql("alter system set synchronous_standby_names = '*'")?;
        self.psql("select pg_reload_conf()")?;
        Ok(standby)
    }

    /// Makes a standby a server of its own, that takes writes.
    pub fn promote(&self) -> Result<()> {
        let mut promote = self.tools.command("pg_ctl", &self.folder);
        promote.args(["promote", "--wait", "--timeout=60", "--silent", "--pgdata"]).arg(self.data());
        tools::run(&mut promote)?;
        Ok(())
    }

    /// Starts the server on a free port. Someone else may take it between our look and the start.
    fn start_somewhere(&mut self) -> Result<()> {
        for _ in 0..3 {
            self.port = folder::free_port()?;
            if self.start().is_ok() {
                return Ok(());
            }
        }
        self.start()
    }

    /// Starts the server again, on the same port, and waits until it takes connections.
    pub fn start(&self) -> Result<()> {
        let mut start = self.tools.command("pg_ctl", &self.folder);
        start.arg("start").arg("--pgdata").arg(self.data()).arg("--log").arg(self.log_file());
        start.args(["--wait", "--timeout=60", "--silent", "--options", &format!("-p {}", self.port)]);
        if let Some(megabytes) = self.small {
            start = small_disk::run_with(&start, &self.small_disk(), megabytes)?;
        }
        tools::run(&mut start).with_context(|| format!("PostgreSQL did not start; its log ends:\n{}", self.log(20)))?;
        Ok(())
    }

    /// Stops the server and waits until it is down.
    pub fn stop(&self, how: Stop) -> Result<()> {
        let mode = match how {
            Stop::Fast => "fast",
            Stop::Immediate => "immediate",
        };
        let mut stop = self.tools.command("pg_ctl", &self.folder);
        stop.args(["stop", "--wait", "--timeout=60", "--silent", "--mode", mode, "--pgdata"]).arg(self.data());
        tools::run(&mut stop)?;
        Ok(())
    }

    /// Runs SQL as the superuser through `psql`, and returns what it printed, bare.
    pub fn psql(&self, sql: &str) -> Result<String> {
        let mut psql = self.tools.command("psql", &self.folder);
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &self.url("postgres"), "-c", sql]);
        Ok(tools::run(&mut psql)?.trim().to_owned())
    }

    /// The address of a database in it, for the superuser.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its small disk is, if it has one.
    pub fn small_disk(&self) -> PathBuf {
        self.folder.join("small")
    }

    /// The last lines of the server's log.
    pub fn log(&self, lines: usize) -> String {
        let text = fs::read(self.log_file()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let from = text.lines().count().saturating_sub(lines);
        text.lines().skip(from).collect::<Vec<_>>().join("\n")
    }

    /// Fails when the server had to break a deadlock, which must never happen.
    pub fn assert_no_deadlock(&self) -> Result<()> {
        let log = self.log(usize::MAX);
        if let Some(at) = log.find("deadlock detected") {
            let from = log[..at].rfind('\n').unwrap_or(0);
            bail!("deadlock in the server's log: {}", log[from..].chars().take(2_000).collect::<String>());
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        folder::remove(&self.folder);
    }
}
