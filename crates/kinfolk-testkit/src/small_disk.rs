//! A small file system that only one server sees, to be filled. It is mounted in a namespace of the server's own, so nobody
//! else's disk is touched and nothing is left to clean up. Fails where a container allows no mounts: ask first.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::tools::is_root;

/// Mounts it on the first argument, gives it to the owner of the folder that it covers, and runs the rest.
const SCRIPT: &str = "owner=$(stat -c %u \"$1\") && mount -t tmpfs -o \"size=$2m,mode=700\" tmpfs \"$1\" && \
    { [ \"$(stat -c %u \"$1\")\" = \"$owner\" ] || chown \"$owner\" \"$1\"; } && shift 2 && exec \"$@\"";

/// Whether this machine lets us.
pub(crate) fn may_mount() -> bool {
    let mut probe = unshare();
    probe.args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// The command, in a namespace in which `folder` is such a file system.
pub(crate) fn run_with(command: &Command, folder: &Path, megabytes: u32) -> Result<Command> {
    fs::create_dir_all(folder).context("can't make the folder of a small disk")?;
    if let Some(above) = folder.parent().filter(|_| is_root()) {
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(above)?);
        std::os::unix::fs::chown(folder, Some(owner), None).context("can't give the small disk away")?;
    }
    let mut within = unshare();
    within.args(["sh", "-c", SCRIPT, "sh"]).arg(folder).arg(megabytes.to_string());
    within.arg(command.get_program()).args(command.get_args());
    if let Some(current) = command.get_current_dir() {
        within.current_dir(current);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => within.env(name, value),
            None => within.env_remove(name),
        };
    }
    Ok(within)
}

/// Root stays root, who may then become the server's user. Anyone else stays who he is, since PostgreSQL does not run as
/// root, and may mount things in a namespace of his own.
fn unshare() -> Command {
    let mut unshare = Command::new("unshare");
    if is_root() {
        unshare.arg("--mount");
    } else {
        unshare.args(["--user", "--map-current-user", "--keep-caps", "--mount"]);
    }
    unshare
}
