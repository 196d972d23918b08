//! The steps of `cargo xtask check` and `cargo xtask test`. All steps run even when an earlier one failed, so that one
//! run shows everything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::time::Instant;

use anyhow::Result;
use kinfolk_testkit::{Cluster, Tools};

use crate::tally::Tally;
use crate::{debian, interrupt, parts, tidy};

/// Marks every process that the tests start, so that one left behind is found.
const RUN_VARIABLE: &str = "KINFOLK_TEST_RUN";

/// Format, lints, docs, tidy and licences. Whether all is well.
pub(crate) fn check(root: &Path) -> Result<bool> {
    let unclean = unclean(root)?;
    report(&unclean);
    Ok(unclean.is_empty())
}

/// Everything. Ends with a line that says how many tests passed and failed.
pub(crate) fn test(root: &Path, filters: &[&str]) -> Result<bool> {
    let begun = Instant::now();
    let removed = kinfolk_testkit::sweep();
    if removed > 0 {
        println!("removed {removed} servers that an earlier run had left behind");
    }
    let tools = debian::tools()?;
    for_the_browser(root);
    for_other_languages(root);
    let mut unclean = if filters.is_empty() { unclean(root)? } else { Vec::new() };
    heading("tests");
    let outcome = run_tests(root, &tools, filters, &mut unclean);
    if end_leftovers() > 0 {
        unclean.push("leftover processes");
    }
    kinfolk_testkit::sweep();
    let tally = outcome?;
    report(&unclean);
    println!("took {} seconds", begun.elapsed().as_secs());
    match tally.not_tested {
        0 => println!("{} passed, {} failed", tally.passed, tally.failed),
        some => println!("{} passed, {} failed, {some} NOT TESTED", tally.passed.saturating_sub(some), tally.failed),
    }
    Ok(unclean.is_empty() && tally.failed == 0 && tally.passed > 0)
}

/// What the tests in a browser need. Without it they say that they have tested nothing.
fn for_the_browser(root: &Path) {
    debian::browser();
    match kinfolk_testkit::fetch_axe(root) {
        Ok(true) => {}
        Ok(false) => println!("npm is missing, and with it axe-core: the pages are NOT TESTED with it"),
        Err(fault) => println!("axe-core can't be fetched, and the pages are NOT TESTED with it: {fault:#}"),
    }
}

/// What the workers in other languages need, in the same way.
fn for_other_languages(root: &Path) {
    type Fetch = fn(&Path) -> Result<Option<PathBuf>>;
    let fetches: [(&str, Fetch); 2] =
        [("Python", kinfolk_testkit::fetch_python), ("TypeScript", kinfolk_testkit::fetch_node_modules)];
    for (language, fetch) in fetches {
        match fetch(root) {
            Ok(Some(_)) => {}
            Ok(None) => println!("there is no {language} here: a worker in it is NOT TESTED"),
            Err(fault) => println!("what a worker in {language} needs can't be fetched; it is NOT TESTED: {fault:#}"),
        }
    }
}

fn run_tests(root: &Path, tools: &Tools, filters: &[&str], unclean: &mut Vec<&'static str>) -> Result<Tally> {
    let cluster = Cluster::new(tools, "")?;
    let mut tally = Tally::default();
    let all = [""];
    for filter in if filters.is_empty() { &all[..] } else { filters } {
        tally.run(&mut tests(root, &cluster, tools, filter))?;
    }
    if let Err(deadlock) = cluster.assert_no_deadlock() {
        println!("{deadlock}");
        unclean.push("deadlocks");
    }
    Ok(tally)
}

fn tests(root: &Path, cluster: &Cluster, tools: &Tools, filter: &str) -> Command {
    let mut command = cargo(root, &["test", "--workspace", "--no-fail-fast"]);
    command
        .env("KINFOLK_TEST_PG", cluster.url("postgres"))
        .env(Tools::VARIABLE, tools.bin())
        .env(RUN_VARIABLE, process::id().to_string());
    if !filter.is_empty() {
        command.args(["--", filter]);
    }
    command
}

/// The names of the steps that found something.
fn unclean(root: &Path) -> Result<Vec<&'static str>> {
    let mut doc = cargo(root, &["doc", "--workspace", "--no-deps", "--quiet"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    let mut commands = [
        ("format", cargo(root, &["fmt", "--all", "--check"])),
        ("lints", cargo(root, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])),
        ("docs", doc),
    ];
    let mut unclean = Vec::new();
    for (name, command) in &mut commands {
        heading(name);
        if !interrupt::run(command)? {
            unclean.push(*name);
        }
    }
    heading("tidy");
    if !tidy::run(root) {
        unclean.push("tidy");
    }
    heading("licences");
    if !parts::check_licences(root)? {
        unclean.push("licences");
    }
    Ok(unclean)
}

fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(arguments);
    command
}

fn heading(name: &str) {
    println!("==> {name}");
}

fn report(unclean: &[&str]) {
    if !unclean.is_empty() {
        println!("not clean: {}", unclean.join(", "));
    }
}

/// Ends the processes that the tests started and left behind. Returns how many there were.
fn end_leftovers() -> usize {
    let tag = format!("{RUN_VARIABLE}={}", process::id());
    let mut ended = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if pid != process::id() && environment.split(|byte| *byte == 0).any(|line| line == tag.as_bytes()) {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            println!("a test left process {pid} behind: {}", String::from_utf8_lossy(&words).replace('\0', " "));
            let _ = kinfolk_testkit::signal("KILL", pid);
            ended += 1;
        }
    }
    ended
}
