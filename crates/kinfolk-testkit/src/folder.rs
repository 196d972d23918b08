//! The folder of a throw-away server: named after the process that made it, so that a later run can tell whether
//! that process still lives.

use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

use crate::tools::{self, is_root};

const PREFIX: &str = "kinfolk-server-";

/// Makes a folder that the server's user owns.
pub(crate) fn make() -> Result<PathBuf> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("{PREFIX}{}-{number}", process::id()));
    let mut install = Command::new("install");
    install.args(["-d", "-m", "700"]);
    if is_root() {
        install.args(["-o", "postgres"]);
    }
    tools::run(install.arg(&path)).context("can't make the folder of a throw-away server")?;
    Ok(path)
}

/// A port of the loopback interface that was free a moment ago.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Stops and removes the throw-away servers of processes that are gone. Returns how many there were.
pub fn sweep() -> usize {
    let entries = fs::read_dir(env::temp_dir()).into_iter().flatten().flatten();
    let left = entries.map(|entry| entry.path()).filter(|path| maker(path).is_some_and(|maker| !alive(maker)));
    left.map(|path| remove(&path)).count()
}

/// Ends the server of a folder, if one runs, and removes the folder.
pub(crate) fn remove(folder: &Path) {
    // The first line of both servers' pid files is the process.
    for pid_file in ["data/postmaster.pid", "pgbouncer.pid"] {
        let text = fs::read_to_string(folder.join(pid_file)).unwrap_or_default();
        let Some(pid) = text.lines().next().and_then(|line| line.trim().parse::<u32>().ok()) else { continue };
        if is_server(pid) {
            // SIGQUIT is PostgreSQL's immediate shutdown: it takes its children along.
            let signal = if pid_file.starts_with("data") { "QUIT" } else { "KILL" };
            let _ = tools::signal(signal, pid);
            for _ in 0..200 {
                if !alive(pid) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(25));
            }
        }
    }
    let _ = fs::remove_dir_all(folder);
}

fn maker(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

fn is_server(pid: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    matches!(name.trim(), "postgres" | "postmaster" | "pgbouncer")
}
