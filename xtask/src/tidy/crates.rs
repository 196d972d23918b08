//! The crates depend on each other as the table in `ARCHITECTURE.md` says, and on nothing else of ours.

use std::collections::{BTreeMap, BTreeSet};

use super::Tree;

type Graph = BTreeMap<String, BTreeSet<String>>;

const PAGE: &str = "ARCHITECTURE.md";
const HEADER: &str = "| crate | depends on | purpose, and what it never does |";

pub(super) fn check(tree: &mut Tree) {
    let declared = declared(tree.text(PAGE).unwrap_or_default());
    let real = real(tree);
    for name in declared.keys().chain(real.keys()).collect::<BTreeSet<_>>() {
        match (declared.get(name), real.get(name)) {
            (Some(said), Some(is)) if said == is => {}
            (Some(said), Some(is)) => {
                tree.find(PAGE, 1, format_args!("{name} depends on {is:?}, the table says {said:?}"));
            }
            (None, _) => tree.find(PAGE, 1, format_args!("crate {name} is not in the table `{HEADER}`")),
            (_, None) => tree.find(PAGE, 1, format_args!("the table names crate {name}, which does not exist")),
        }
    }
}

/// The rows of the table: crate, and the crates in backticks beside it.
fn declared(page: &str) -> Graph {
    let rows = page.lines().skip_while(|line| *line != HEADER).skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|');
        let name = ticked(cells.next()?).pop_first()?;
        Some((name, ticked(cells.next()?)))
    })
    .collect()
}

fn ticked(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The `[dependencies]` of every manifest, as far as they are ours. What only tests need is free.
fn real(tree: &Tree) -> Graph {
    let manifests = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let sections = manifests.filter_map(|file| {
        let name = file.text.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?;
        let lines = file.text.lines().skip_while(|line| *line != "[dependencies]").skip(1);
        let names = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| {
            let dependency = line.split(['.', ' ', '=']).next()?;
            dependency.starts_with("kinfolk").then(|| dependency.to_owned())
        });
        Some((name.to_owned(), names.collect()))
    });
    sections.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str =
        "[package]\nname = \"kinfolk-a\"\n\n[dependencies]\nkinfolk-b.workspace = true\nserde = \"1\"\n";

    #[test]
    fn an_undeclared_dependency_is_found() {
        let page = format!("{HEADER}\n|---|---|\n| `kinfolk-a` | |\n");
        let mut tree = Tree::of(&[("crates/a/Cargo.toml", MANIFEST), (PAGE, &page)]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 1, "{:?}", tree.findings);
    }

    #[test]
    fn a_declared_dependency_is_fine() {
        let page = format!("{HEADER}\n|---|---|\n| `kinfolk-a` | `kinfolk-b` |\n");
        let mut tree = Tree::of(&[("crates/a/Cargo.toml", MANIFEST), (PAGE, &page)]);
        check(&mut tree);
        assert_eq!(tree.findings, Vec::<String>::new());
    }
}
