//! What the program is made of: a list of its parts as CycloneDX, and whether their licences are among those of `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

const PROGRAM: &str = "kinfolk-cli";
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Writes `target/kinfolk.cdx.json`.
pub(crate) fn write(root: &Path) -> Result<bool> {
    let all = metadata(root)?;
    let hashes = hashes(&fs::read_to_string(root.join("Cargo.lock"))?);
    let reached = reached(&all)?;
    let packages = each(&all["packages"]).filter(|package| reached.contains(text(&package["id"])));
    let (mut components, mut program) = (Vec::new(), Value::Null);
    for package in packages {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let mut component = json!({
            "type": "library",
            "bom-ref": package["id"],
            "name": name,
            "version": version,
            "purl": format!("pkg:cargo/{name}@{version}"),
            "licenses": [{"expression": text(&package["license"]).replace('/', " OR ")}],
        });
        if let Some(hash) = hashes.get(&(name.to_owned(), version.to_owned())) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": hash}]);
        }
        if name == PROGRAM {
            component["type"] = json!("application");
            program = component;
        } else {
            components.push(component);
        }
    }
    let many = components.len();
    let list = json!({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": program}, "components": components});
    let file = root.join("target/kinfolk.cdx.json");
    fs::write(&file, serde_json::to_string_pretty(&list)?)?;
    println!("{}: {many} parts", file.display());
    Ok(true)
}

/// Prints the packages whose licence is not among the allowed ones. Whether there is none.
pub(crate) fn check_licences(root: &Path) -> Result<bool> {
    let rules = fs::read_to_string(root.join("deny.toml"))?;
    let allowed = allowed(&rules);
    if allowed.is_empty() {
        bail!("deny.toml allows no licence");
    }
    let all = metadata(root)?;
    let mut fine = true;
    for package in each(&all["packages"]).filter(|package| !package["source"].is_null()) {
        let licence = text(&package["license"]).replace('/', " OR ");
        if !is_allowed(&licence, &allowed) {
            println!(
                "{} {} has the licence {licence:?}, which deny.toml does not allow",
                package["name"], package["version"]
            );
            fine = false;
        }
    }
    Ok(fine)
}

fn metadata(root: &Path) -> Result<Value> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM]);
    let output = cargo.output().context("can't start cargo")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The ids of the packages that are linked into the program.
fn reached(all: &Value) -> Result<BTreeSet<&str>> {
    let nodes: BTreeMap<&str, &Value> = each(&all["resolve"]["nodes"]).map(|node| (text(&node["id"]), node)).collect();
    let program = each(&all["packages"]).find(|package| package["name"] == PROGRAM).context("there is no program")?;
    let (mut reached, mut next) = (BTreeSet::new(), vec![text(&program["id"])]);
    while let Some(id) = next.pop() {
        if reached.insert(id) {
            let needs =
                each(&nodes[id]["deps"]).filter(|need| each(&need["dep_kinds"]).any(|kind| kind["kind"].is_null()));
            next.extend(needs.map(|need| text(&need["pkg"])));
        }
    }
    Ok(reached)
}

/// The hash of each package of the lock, by name and version.
fn hashes(lock: &str) -> BTreeMap<(String, String), String> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
            Some(line.trim_end_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    packages.collect()
}

/// The licences that stand under `allow`.
fn allowed(rules: &str) -> BTreeSet<&str> {
    let lines = rules.lines().skip_while(|line| *line != "allow = [").skip(1).take_while(|line| *line != "]");
    lines.map(|line| line.trim().trim_matches([',', '"'])).collect()
}

/// Whether one may use something under this licence: one of several by `OR`, all of several by `AND`.
fn is_allowed(licence: &str, allowed: &BTreeSet<&str>) -> bool {
    let licence = licence.trim();
    if let Some(parts) = split(licence, " OR ") {
        return parts.iter().any(|part| is_allowed(part, allowed));
    }
    if let Some(parts) = split(licence, " AND ") {
        return parts.iter().all(|part| is_allowed(part, allowed));
    }
    match licence.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => is_allowed(inner, allowed),
        None => allowed.contains(licence),
    }
}

/// The parts of an expression between words that stand in no parentheses; `None` if there is no such word.
fn split<'a>(licence: &'a str, word: &str) -> Option<Vec<&'a str>> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    for (at, _) in licence.match_indices(word) {
        let before = &licence[..at];
        if before.matches('(').count() == before.matches(')').count() {
            parts.push(&licence[begin..at]);
            begin = at + word.len();
        }
    }
    parts.push(&licence[begin..]);
    (parts.len() > 1).then_some(parts)
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_licences_is_enough_and_all_of_a_bundle_are_needed() {
        let allowed = BTreeSet::from(["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]);
        for fine in ["MIT", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception OR X"]
        {
            assert!(is_allowed(fine, &allowed), "{fine}");
        }
        for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR X) AND MIT"] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }
}
