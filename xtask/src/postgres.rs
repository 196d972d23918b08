//! A throw-away PostgreSQL for work by hand.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use kinfolk_testkit::{Cluster, Tools};

use crate::{debian, interrupt};

/// Runs a cluster until someone asks this process to end.
pub(crate) fn by_hand(major: Option<u32>) -> Result<bool> {
    kinfolk_testkit::sweep();
    let tools = match major {
        None => debian::tools()?,
        Some(_) => Tools::find(major)
            .with_context(|| format!("no PostgreSQL {} under /usr/lib/postgresql", major.unwrap_or_default()))?,
    };
    let cluster = Cluster::new(&tools, "")?;
    println!("{}", cluster.url("postgres"));
    println!("A throw-away cluster: Ctrl-C stops and removes it. For tests by hand:");
    println!("  export KINFOLK_TEST_PG={} {}={}", cluster.url("postgres"), Tools::VARIABLE, tools.bin().display());
    while !interrupt::asked() {
        thread::sleep(Duration::from_millis(50));
    }
    Ok(true)
}
