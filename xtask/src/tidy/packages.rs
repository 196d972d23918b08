//! A crate is either published, with all that crates.io shows of it, or says that it never is.

use super::Tree;

/// What the manifest of a published crate says.
const SAID: [&str; 4] = ["description", "documentation", "keywords", "categories"];
/// What lies beside it.
const BESIDE: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

pub(super) fn check(tree: &mut Tree) {
    let manifests: Vec<(String, String)> = tree
        .files
        .iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        .map(|f| (f.path.clone(), f.text.clone()))
        .collect();
    let internal: Vec<&str> =
        manifests.iter().filter(|(_, text)| is_internal(text)).filter_map(|(_, text)| name(text)).collect();
    for (path, text) in manifests.iter().filter(|(_, text)| !is_internal(text)) {
        for key in SAID.iter().filter(|key| !text.lines().any(|line| line.starts_with(&format!("{key} = ")))) {
            tree.find(path, 1, format_args!("a published crate says its {key}, or `publish = false`"));
        }
        let folder = path.trim_end_matches("Cargo.toml");
        for file in BESIDE {
            if tree.text(&format!("{folder}{file}")).is_none() {
                tree.find(path, 1, format_args!("a published crate has a {file} beside it"));
            }
        }
        for (file, line) in outside(tree, folder) {
            tree.find(&file, line, format_args!("a published crate embeds only files below its own folder"));
        }
        let needs = text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        for (need, line) in needs.take_while(|line| !line.starts_with('[')).zip(1..) {
            let need = need.split(['.', ' ', '=']).next().unwrap_or_default();
            if internal.contains(&need) {
                tree.find(path, line, format_args!("it is published, and needs {need}, which never is"));
            }
        }
    }
}

/// Where the sources of the crate in this folder name a file that its package does not hold.
fn outside(tree: &Tree, folder: &str) -> Vec<(String, usize)> {
    let sources = tree.files.iter().filter(|file| file.path.ends_with(".rs"));
    let mut found = Vec::new();
    for file in sources {
        let Some(inside) = file.path.strip_prefix(folder).filter(|path| path.starts_with("src/")) else { continue };
        let depth = inside.matches('/').count();
        for (line, text) in (1..).zip(file.text.lines()) {
            let ups = |path: &str| path.split('/').take_while(|part| *part == "..").count();
            let ups = text.split('"').map(ups).max().unwrap_or_default();
            if text.contains("include_") && ups > depth {
                found.push((file.path.clone(), line));
            }
        }
    }
    found
}

fn is_internal(manifest: &str) -> bool {
    manifest.lines().any(|line| line == "publish = false")
}

fn name(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_crate_needs_a_description_no_crate_that_never_is_and_no_file_of_others() {
        let inner = ("crates/b/Cargo.toml", "[package]\nname = \"b\"\npublish = false\n");
        let outer = "[package]\nname = \"a\"\ndocumentation = \"\"\nkeywords = []\ncategories = []\n[dependencies]\nb.workspace = true\n";
        let beside = BESIDE.map(|file| format!("crates/a/{file}"));
        let mut files: Vec<(&str, &str)> = beside.iter().map(|path| (path.as_str(), "")).collect();
        let embeds = [
            ("crates/a/src/own.rs", "include_str!(\"../README.md\")"),
            ("crates/a/src/b.rs", "include_str!(\"../../b.sql\")"),
        ];
        files.extend([inner, ("crates/a/Cargo.toml", outer)]);
        files.extend(embeds);
        let mut tree = Tree::of(&files);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 3, "{:?}", tree.findings);
    }
}
