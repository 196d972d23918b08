//! What the workers in other languages need: psycopg from PyPI, node-postgres and the compiler of TypeScript from npm. They
//! stand in the build folder once they were fetched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::tools::run;

const PSYCOPG: &str = "psycopg[binary]==3.3.9";

/// A Python with psycopg, made in the build folder of the workspace unless it is there; `None` on a machine without Python
/// 3.11 or newer.
pub fn fetch_python(root: &Path) -> Result<Option<PathBuf>> {
    if let Some(there) = python(root) {
        return Ok(Some(there));
    }
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 11))";
    if !Command::new("python3").args(["-c", new_enough]).output().is_ok_and(|ended| ended.status.success()) {
        return Ok(None);
    }
    let folder = folder(root, "python");
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(folder.join("bin/python")).args(["-m", "pip", "install", "--quiet", PSYCOPG]))?;
    // Written last: one that was cut off is never taken for all of it.
    fs::write(folder.join("whole"), PSYCOPG)?;
    Ok(python(root))
}

/// That Python, if it was made.
pub fn python(root: &Path) -> Option<PathBuf> {
    let folder = folder(root, "python");
    (fs::read_to_string(folder.join("whole")).ok()? == PSYCOPG).then(|| folder.join("bin/python"))
}

/// The packages of `examples/typescript`, fetched into the build folder of the workspace unless they are there; `None` on a
/// machine without npm.
pub fn fetch_node_modules(root: &Path) -> Result<Option<PathBuf>> {
    if let Some(there) = node_modules(root) {
        return Ok(Some(there));
    }
    if Command::new("npm").arg("--version").output().is_err() {
        return Ok(None);
    }
    let folder = folder(root, "typescript");
    fs::create_dir_all(&folder)?;
    let manifest = fs::read(manifest(root)).context("there is no manifest of the example")?;
    fs::write(folder.join("package.json"), &manifest)?;
    run(Command::new("npm").current_dir(&folder).args(["install", "--silent", "--no-audit", "--no-fund"]))?;
    fs::write(folder.join("whole"), &manifest)?;
    Ok(node_modules(root))
}

/// Those packages, if they were fetched for this manifest.
pub fn node_modules(root: &Path) -> Option<PathBuf> {
    let folder = folder(root, "typescript");
    let is_whole = fs::read(folder.join("whole")).ok()? == fs::read(manifest(root)).ok()?;
    is_whole.then(|| folder.join("node_modules"))
}

fn manifest(root: &Path) -> PathBuf {
    root.join("examples/typescript/package.json")
}

fn folder(root: &Path, language: &str) -> PathBuf {
    root.join("target/clients").join(language)
}
