//! A pgbouncer in front of a PostgreSQL server, in transaction pooling mode.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::folder;
use crate::tools::{as_server_user, program};

/// A running pgbouncer; gone when dropped.
#[derive(Debug)]
pub struct Bouncer {
    folder: PathBuf,
    port: u16,
    child: Child,
}

impl Bouncer {
    /// Whether the program is installed.
    pub fn installed() -> bool {
        program("pgbouncer").is_some()
    }

    /// Starts one that passes every database on to the server at this port of the loopback interface.
    pub fn new(server_port: u16) -> Result<Self> {
        let binary = program("pgbouncer").context("pgbouncer was not found; run the tests with `cargo xtask test`")?;
        let folder = folder::make()?;
        let port = folder::free_port()?;
        let ini = folder.join("pgbouncer.ini");
        // With `auth_type = any` each database line must name the user it connects as.
        let text = format!(
            "[databases]\n* = user=postgres host=127.0.0.1 port={server_port}\n\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n\
             default_pool_size = 8\nmax_client_conn = 200\nignore_startup_parameters = extra_float_digits\n\
             pidfile = {folder}/pgbouncer.pid\nlogfile = {folder}/log\n",
            folder = folder.display()
        );
        fs::write(&ini, text).context("can't write pgbouncer.ini")?;
        if crate::is_root() {
            let mut chown = std::process::Command::new("chown");
            crate::tools::run(chown.arg("postgres").arg(&ini))?;
        }
        let child = as_server_user(binary, &folder)
            .arg("-q")
            .arg(&ini)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("can't start pgbouncer")?;
        let mut bouncer = Self { folder, port, child };
        bouncer.wait_until_up()?;
        Ok(bouncer)
    }

    /// The address of a database behind it.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    fn wait_until_up(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.child.try_wait()?;
            if ended.is_some() || Instant::now() > deadline {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                bail!("pgbouncer did not start within 10 seconds; its log says:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        // Under `runuser` the server is a child of our child: it goes by its pid file.
        folder::remove(&self.folder);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
