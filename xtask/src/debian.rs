//! Getting PostgreSQL and pgbouncer from Debian's packages when they are missing and we may.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use kinfolk_testkit::{Bouncer, Tools, is_root};

use crate::interrupt;

const PACKAGES: [&str; 2] = ["postgresql", "pgbouncer"];

/// PostgreSQL's programs; installs them, and pgbouncer, if need be.
pub(crate) fn tools() -> Result<Tools> {
    if let Some(tools) = Tools::find(None)
        && Bouncer::installed()
    {
        return Ok(tools);
    }
    let by_hand = format!("install them by hand (on Debian: apt-get install {})", PACKAGES.join(" "));
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("PostgreSQL or pgbouncer is missing, and this is not a Debian machine: {by_hand}");
    }
    if !is_root() && !may_sudo() {
        bail!("PostgreSQL or pgbouncer is missing, and this user may not install packages: {by_hand}");
    }
    println!("==> installing {} from Debian's packages", PACKAGES.join(" and "));
    apt_get(&["update", "-q"])?;
    apt_get(&["install", "-q", "-y", "--no-install-recommends", PACKAGES[0], PACKAGES[1]])?;
    Tools::find(None).context("PostgreSQL was installed, but its programs are not under /usr/lib/postgresql")
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let mut command = if is_root() { Command::new("apt-get") } else { Command::new("sudo") };
    if !is_root() {
        command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    }
    command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
    if !interrupt::run(&mut command)? {
        bail!("{command:?} failed; see its words above");
    }
    Ok(())
}

fn may_sudo() -> bool {
    let sudo = Command::new("sudo").args(["-n", "true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    sudo.is_ok_and(|status| status.success())
}
