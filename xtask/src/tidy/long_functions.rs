//! SQL functions fit on a screen, and take few parameters. Those that do not are in a list, which only shrinks.

use std::collections::BTreeMap;

use super::Tree;

/// The list: `folder/name lines parameters reason`, one a line.
const LIST: &str = "xtask/src/tidy/long_functions.txt";
/// The folder whose files define a function each.
const FUNCTIONS: &str = "crates/kinfolk-postgres/sql/functions/";

/// Lines of a function, from its first word to its last, and what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    lines: usize,
    parameters: usize,
}

/// What any function may have.
const MOST: Size = Size { lines: 60, parameters: 8 };

impl Size {
    fn fits(self, most: Self) -> bool {
        self.lines <= most.lines && self.parameters <= most.parameters
    }
}

pub(super) fn check(tree: &mut Tree) {
    let listed = listed(tree);
    let files = tree.files.iter().filter_map(|file| Some((file.path.strip_prefix(FUNCTIONS)?, file)));
    let mut found = Vec::new();
    let mut needed = Vec::new();
    for (name, file) in files {
        let Some(name) = name.strip_suffix(".sql") else { continue };
        let sizes = sizes(&file.text);
        if sizes.iter().any(|(_, size)| !size.fits(MOST)) {
            needed.push(name.to_owned());
        }
        let most = listed.get(name).map_or(MOST, |(_, most)| *most);
        for (line, size) in sizes.into_iter().filter(|(_, size)| !size.fits(most)) {
            let Size { lines, parameters } = size;
            let what = format!(
                "{lines} lines and {parameters} parameters, where {} and {} are the most; give a part of it a name",
                most.lines, most.parameters
            );
            found.push((file.path.clone(), line, what));
        }
    }
    for (name, (line, _)) in listed.iter().filter(|(name, _)| !needed.contains(name)) {
        found.push((LIST.to_owned(), *line, format!("{name} needs no exception any more; take it off the list")));
    }
    found.into_iter().for_each(|(path, line, what)| tree.find(&path, line, what));
}

/// The exceptions by name, each with its line in the list and what it may have.
fn listed(tree: &mut Tree) -> BTreeMap<String, (usize, Size)> {
    let text = tree.text(LIST).unwrap_or_default().to_owned();
    let mut listed = BTreeMap::new();
    for (line, entry) in (1..).zip(text.lines()).filter(|(_, entry)| !entry.starts_with('#')) {
        let mut words = entry.splitn(4, ' ');
        let parts = (words.next(), words.next().map(str::parse), words.next().map(str::parse), words.next());
        match parts {
            (Some(name), Some(Ok(lines)), Some(Ok(parameters)), Some(_)) => {
                listed.insert(name.to_owned(), (line, Size { lines, parameters }));
            }
            _ => tree.find(LIST, line, "an entry is `folder/name lines parameters reason`"),
        }
    }
    listed
}

/// The functions of a file: the line where each begins, and its size.
fn sizes(text: &str) -> Vec<(usize, Size)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_first = |line: &str| {
        line.starts_with("create or replace function ") || line.starts_with("create or replace procedure ")
    };
    let firsts = (0..lines.len()).filter(|at| is_first(lines[*at]));
    let size = |first: usize| {
        let rest = &lines[first..];
        let last = rest.iter().position(|line| line.ends_with("$$;")).unwrap_or(rest.len() - 1);
        Size { lines: last + 1, parameters: parameters(&rest[..=last].join("\n")) }
    };
    firsts.map(|first| (first + 1, size(first))).collect()
}

/// How many parameters a function is given; what it answers by `out` does not count.
fn parameters(function: &str) -> usize {
    let mut depth = 0;
    let mut list = String::new();
    for letter in function.chars() {
        match letter {
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 1 => list.push('\n'),
            _ if depth > 0 => list.push(letter),
            _ => {}
        }
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            _ => {}
        }
    }
    list.lines().map(str::trim).filter(|one| !one.is_empty() && !one.starts_with("out ")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: &str = "-- Short.\ncreate or replace function kinfolk.short(\n    a integer[] default '{1,2}', b numeric(1, 2),\n    out c integer\n)\nas $$ select 1 $$;\n";

    #[test]
    fn lines_and_parameters_are_counted() {
        assert_eq!(sizes(SHORT), [(2, Size { lines: 5, parameters: 2 })]);
        assert_eq!(parameters("create or replace function kinfolk.none() returns integer"), 0);
    }

    #[test]
    fn a_long_function_needs_an_entry_and_an_entry_needs_a_long_function() {
        let long = format!("-- Long.\ncreate or replace function kinfolk.long()\nas $${}\n$$;\n", "\n    x".repeat(80));
        let path = |name: &str| format!("{FUNCTIONS}claim/{name}.sql");
        let of = |list: &str| {
            let mut tree = Tree::of(&[(LIST, list), (&path("long"), &long), (&path("short"), SHORT)]);
            check(&mut tree);
            tree.findings
        };
        assert_eq!(of("# The list.\nclaim/long 90 0 it is a list\n"), Vec::<String>::new());
        assert_eq!(of("").len(), 1);
        assert_eq!(of("claim/long 80 0 it has grown\n").len(), 1);
        assert_eq!(of("claim/long 90 0 a list\nclaim/short 90 8 why\n").len(), 1);
        assert_eq!(of("claim/long 90 0 a list\nclaim/gone 90 0 why\n").len(), 1);
        assert_eq!(of("claim/long 90\n").len(), 2);
    }
}
