//! Where PostgreSQL's and pgbouncer's programs are, and as whom they run.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The folder that holds `initdb`, `pg_ctl` and `postgres` of one version.
#[derive(Clone, Debug)]
pub struct Tools {
    bin: PathBuf,
}

impl Tools {
    /// The variable that names the folder; set by `cargo xtask test` for the tests that start clusters of their own.
    pub const VARIABLE: &str = "KINFOLK_TEST_PG_BIN";

    /// The folder that [`Tools::VARIABLE`] names, else the newest version of Debian's packages, else the one on `PATH`.
    /// `major` asks for one version, such as 15.
    pub fn find(major: Option<u32>) -> Option<Self> {
        if let (None, Some(bin)) = (major, env::var_os(Self::VARIABLE)) {
            return Some(Self { bin: bin.into() });
        }
        let mut installed: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let version = path.file_name()?.to_str()?.parse().ok()?;
                Some((version, path.join("bin")))
            })
            .filter(|(version, bin)| major.is_none_or(|major| major == *version) && bin.join("initdb").exists())
            .collect();
        installed.sort();
        let on_path = || program("initdb").and_then(|initdb| initdb.parent().map(Path::to_path_buf));
        let bin = installed.pop().map(|(_, bin)| bin).or_else(|| major.is_none().then(on_path).flatten())?;
        Some(Self { bin })
    }

    /// Those of this folder.
    pub fn in_folder(bin: &Path) -> Self {
        Self { bin: bin.to_path_buf() }
    }

    /// Those that [`Tools::find`] finds, or an error that says what to do.
    pub fn need() -> Result<Self> {
        Self::find(None).context("PostgreSQL's programs were not found; run the tests with `cargo xtask test`")
    }

    /// The folder.
    pub fn bin(&self) -> &Path {
        &self.bin
    }

    pub(crate) fn command(&self, name: &str, folder: &Path) -> Command {
        as_server_user(self.bin.join(name), folder)
    }
}

/// The full path of a program on `PATH`, or in the folders for servers that an ordinary user's `PATH` may lack.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Whether this process runs as root. PostgreSQL and pgbouncer refuse to.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A command that runs as the user `postgres` when this process is root, else as the current user.
pub(crate) fn as_server_user(program: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    // The current folder may be one that the server's user can't enter.
    command.current_dir(folder).env_remove("PGHOST").env_remove("PGPORT").env_remove("PGUSER").env_remove("PGDATA");
    command
}

/// Sends a signal, by its name, to one process that the caller has started. By way of the shell, which is always there,
/// as the program `kill` is not.
pub fn signal(name: &str, pid: u32) -> Result<()> {
    run(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")])).map(drop)
}

/// Runs a command to its end; an error holds what it printed.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("can't start {command:?}"))?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("{command:?} ended with {}:\n{said}", output.status);
    }
    Ok(said)
}
