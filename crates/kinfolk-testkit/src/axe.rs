//! axe-core, which looks for what keeps people from using a page. It is a package of npm, and stands in the build folder once it
//! was fetched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::tools::run;

/// The version whose rules the pages are held to.
const VERSION: &str = "4.10.3";

/// Fetches it into the build folder of the workspace, unless it is there. Whether it is there now; it is not on a machine
/// without npm.
pub fn fetch_axe(root: &Path) -> Result<bool> {
    let folder = folder(root);
    if folder.join("axe.min.js").exists() {
        return Ok(true);
    }
    if Command::new("npm").arg("--version").output().is_err() {
        return Ok(false);
    }
    // Unpacked beside its place and moved there whole: one that was cut off is never taken for all of it.
    let part = tempfile::tempdir_in(root.join("target"))?;
    run(Command::new("npm").current_dir(part.path()).args(["pack", "--silent", &format!("axe-core@{VERSION}")]))?;
    let archive = part.path().join(format!("axe-core-{VERSION}.tgz"));
    run(Command::new("tar").current_dir(part.path()).arg("-xzf").arg(&archive))?;
    fs::create_dir_all(&folder)?;
    fs::rename(part.path().join("package/axe.min.js"), folder.join("axe.min.js"))
        .context("the package of axe-core has no axe.min.js")?;
    Ok(true)
}

/// The script, if it was fetched.
pub fn axe(root: &Path) -> Option<String> {
    fs::read_to_string(folder(root).join("axe.min.js")).ok()
}

fn folder(root: &Path) -> PathBuf {
    root.join(format!("target/axe-core-{VERSION}"))
}
