//! Getting PostgreSQL, pgbouncer and a browser from Debian's packages when they are missing and we may.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use kinfolk_testkit::{Bouncer, Browser, Tools, is_root};

use crate::interrupt;

const SERVERS: [&str; 2] = ["postgresql", "pgbouncer"];
const BROWSER: [&str; 2] = ["chromium", "chromium-driver"];

/// PostgreSQL's programs; installs them, and pgbouncer, if need be.
pub(crate) fn tools() -> Result<Tools> {
    if let Some(tools) = Tools::find(None)
        && Bouncer::installed()
    {
        return Ok(tools);
    }
    install("PostgreSQL or pgbouncer", &SERVERS)?;
    Tools::find(None).context("PostgreSQL was installed, but its programs are not under /usr/lib/postgresql")
}

/// Installs a browser and its driver if need be. A machine that can't have them goes without: the tests that need them say so.
pub(crate) fn browser() {
    if Browser::installed() {
        return;
    }
    if let Err(fault) = install("Chromium or its driver", &BROWSER) {
        println!("{fault:#}; tests in a browser are NOT TESTED without it");
    }
}

fn install(what: &str, packages: &[&str]) -> Result<()> {
    let by_hand = format!("install it by hand (on Debian: apt-get install {})", packages.join(" "));
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("{what} is missing, and this is not a Debian machine: {by_hand}");
    }
    if !is_root() && !may_sudo() {
        bail!("{what} is missing, and this user may not install packages: {by_hand}");
    }
    println!("==> installing {} from Debian's packages", packages.join(" and "));
    apt_get(&["update", "-q"])?;
    apt_get(&[&["install", "-q", "-y", "--no-install-recommends"], packages].concat())
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
