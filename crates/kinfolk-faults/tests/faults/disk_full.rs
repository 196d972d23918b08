//! A full disk under an SQLite file: the typed error, nothing half-written, and on it goes when there is room.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};
use kinfolk_faults::process::Process;
use kinfolk_faults::victim::{Mode, Orders};
use tempfile::TempDir;

use crate::PATIENCE;

/// Mounts a small file system that only the program sees, and runs the program on it.
const ON_A_SMALL_DISK: &str = "mount -t tmpfs -o size=4m tmpfs \"$1\" && shift && exec \"$@\"";

/// Some containers let nobody mount anything, not even for themselves.
fn may_mount() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).stdout(Stdio::null()).stderr(Stdio::null());
    unshare.status().is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk_gives_the_typed_error_and_leaves_nothing_half_written() -> Result<()> {
    if !may_mount() {
        println!("NOT TESTED: this machine does not let `unshare -rm mount` make a small file system");
        return Ok(());
    }
    let folder = TempDir::new()?;
    let url = format!("sqlite:{}", folder.path().join("tasks.db").display());
    let orders = Orders { mode: Mode::Fill, ..Orders::work(&url, folder.path().join("ledger")) };
    let victim = orders.command(env!("CARGO_BIN_EXE_kinfolk-victim"))?;
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", ON_A_SMALL_DISK, "sh"]).arg(folder.path());
    command.arg(victim.get_program()).args(victim.get_args());
    let mut process = Process::spawn("the victim on a small disk", &mut command)?;
    process.wait_line("end", PATIENCE)?;
    let lines = process.lines();
    ensure!(lines.iter().any(|line| line.starts_with("full")), "the disk was never full: {lines:#?}");
    Ok(())
}
