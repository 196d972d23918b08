//! Pages: links lead somewhere, paths that are named exist, the program in the README is the one that is compiled.

use super::Tree;

/// Pages that name files of the sources in backticks; each such path must exist.
const PAGES_WITH_PATHS: &[&str] = &[
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/internals/admission.md",
    "docs/internals/claim.md",
    "docs/internals/durable.md",
    "docs/internals/families.md",
    "docs/internals/locks.md",
    "docs/internals/settle.md",
    "docs/releasing.md",
];

/// The programs that the README shows, and tests compile and run, each from its line with this beginning on. The last one
/// is what the demo runs, too.
const PROGRAMS: [(&str, &str); 3] = [
    ("crates/kinfolk/examples/welcome.rs", "async fn "),
    ("crates/kinfolk/examples/first.rs", "use "),
    ("crates/kinfolk/examples/order_workflow/workflow.rs", "#[derive("),
];

pub(super) fn check(tree: &mut Tree) {
    for index in tree.ending(".md") {
        links(tree, index);
    }
    for page in PAGES_WITH_PATHS {
        paths(tree, page);
    }
    if !tree.text("CHANGELOG.md").unwrap_or_default().contains("\n## [Unreleased]\n") {
        tree.find("CHANGELOG.md", 1, "there is no section `## [Unreleased]`");
    }
    PROGRAMS.iter().for_each(|(program, begin)| readme(tree, program, begin));
}

/// Every link to a file of the project leads to one.
fn links(tree: &mut Tree, index: usize) {
    let (path, text) = (tree.files[index].path.clone(), tree.files[index].text.clone());
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut in_code = false;
    for (number, line) in text.lines().enumerate() {
        in_code ^= line.starts_with("```");
        for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if in_code || file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
                continue;
            }
            if !tree.root.join(folder).join(file).exists() {
                tree.find(&path, number + 1, format_args!("the link to {file} leads nowhere"));
            }
        }
    }
}

/// Every word in backticks that looks like a path of the sources is one.
fn paths(tree: &mut Tree, page: &str) {
    let text = tree.text(page).unwrap_or_default().to_owned();
    for (number, line) in text.lines().enumerate() {
        for path in line.split('`').skip(1).step_by(2) {
            let is_path =
                ["crates/", "xtask/", "docs/", "deploy/", "examples/"].iter().any(|start| path.starts_with(start));
            if is_path && !path.contains(['…', '*', '<', ' ']) && !tree.root.join(path).exists() {
                tree.find(page, number + 1, format_args!("there is no {path}"));
            }
        }
    }
}

/// The README shows a program as it is, from its line with this beginning on.
fn readme(tree: &mut Tree, path: &str, begin: &str) {
    let Some(program) = tree.text(path) else {
        return tree.find("README.md", 1, format_args!("there is no {path}"));
    };
    let lines = program.lines().skip_while(|line| !line.starts_with(begin));
    let shown = format!("```rust\n{}\n```", lines.collect::<Vec<_>>().join("\n"));
    if !tree.text("README.md").unwrap_or_default().contains(&shown) {
        tree.find("README.md", 1, format_args!("it does not show {path} as it is; copy that file into it"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_link_is_found_and_a_link_in_code_is_not() {
        let mut tree = Tree::of(&[("docs/a.md", "[x](nowhere.md) [y](https://example.org)\n```\nv[0](x)\n```\n")]);
        links(&mut tree, 0);
        assert_eq!(tree.findings.len(), 1, "{:?}", tree.findings);
    }

    #[test]
    fn the_program_in_the_readme_must_be_the_one_that_is_compiled() {
        let program = ("first.rs", "//! First.\n\nfn main() {}\n");
        let mut same = Tree::of(&[program, ("README.md", "x\n```rust\nfn main() {}\n```\n")]);
        readme(&mut same, "first.rs", "fn ");
        assert_eq!(same.findings, Vec::<String>::new());
        let mut other = Tree::of(&[program, ("README.md", "x\n```rust\nfn main() { }\n```\n")]);
        readme(&mut other, "first.rs", "fn ");
        assert_eq!(other.findings.len(), 1);
    }
}
