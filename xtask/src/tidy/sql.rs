//! SQL files: a header that says what the file does, lower-case keywords, no tabs; a function is in the file of its name.

use super::Tree;

const KEYWORDS: &[&str] = &[
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "FROM",
    "WHERE",
    "AND",
    "OR",
    "NOT",
    "CREATE",
    "TABLE",
    "FUNCTION",
    "INDEX",
    "RETURNS",
    "RETURNING",
    "BEGIN",
    "END",
    "IF",
    "THEN",
    "ELSE",
    "LANGUAGE",
    "JOIN",
    "ORDER",
    "GROUP",
    "BY",
    "LIMIT",
    "WITH",
    "AS",
    "SET",
    "INTO",
    "VALUES",
    "GRANT",
    "REVOKE",
    "ON",
    "FOR",
    "LOOP",
    "CASE",
    "WHEN",
    "NULL",
    "IS",
    "IN",
];

/// The folder whose files define a function each.
const FUNCTIONS: &str = "/sql/functions/";

pub(super) fn check(tree: &mut Tree) {
    functions(tree);
    for index in tree.ending(".sql") {
        let file = &tree.files[index];
        if !file.text.starts_with("-- ") && !file.text.starts_with("/*") {
            let path = file.path.clone();
            tree.find(&path, 1, "an SQL file starts with a comment: what it does, what it locks, which index it reads");
        }
    }
    tree.each_line(&[".sql"], |_, line| {
        if line.contains('\t') {
            return Some("a tab; indent with spaces".to_owned());
        }
        let code = without_text(line.split("--").next().unwrap_or_default());
        let mut words = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let upper = words.find(|word| KEYWORDS.contains(word))?;
        Some(format!("keyword {upper}; SQL is written in lower case"))
    });
}

/// A file among the functions defines the function of its name, with all its overloads, and no other one; it is in a folder that
/// says what the function is about.
fn functions(tree: &mut Tree) {
    let mut found = Vec::new();
    for file in &tree.files {
        let Some((_, rest)) = file.path.split_once(FUNCTIONS) else { continue };
        let [_, name] = rest.split('/').collect::<Vec<_>>()[..] else {
            found.push((file.path.clone(), 1, "a function's file is in a folder of `functions`".to_owned()));
            continue;
        };
        let defined: Vec<(usize, &str)> =
            (1..).zip(file.text.lines()).filter_map(|(n, line)| Some((n, defines(line)?))).collect();
        if defined.is_empty() {
            found.push((file.path.clone(), 1, "no function is defined here".to_owned()));
        }
        for (number, other) in defined.into_iter().filter(|(_, other)| name != format!("{other}.sql")) {
            found.push((file.path.clone(), number, format!("function {other} belongs in a file of its name")));
        }
    }
    found.iter().for_each(|(path, line, what)| tree.find(path, *line, what));
}

/// The name of the function that a line begins to define.
fn defines(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("create ")?;
    let rest = rest.strip_prefix("or replace ").unwrap_or(rest);
    let name = rest.strip_prefix("function ").or_else(|| rest.strip_prefix("procedure "))?;
    name.split('(').next().map(|name| name.rsplit('.').next().unwrap_or(name))
}

/// The line without what stands between quotes.
fn without_text(line: &str) -> String {
    line.split('\'').step_by(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upper_case_keywords_are_found_in_code_but_not_in_comments_or_text() {
        let mut tree = Tree::of(&[("a.sql", "-- SELECT is fine here\nselect 'FROM';\nselect 1 FROM x;\n")]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 1, "{:?}", tree.findings);
        assert!(tree.findings[0].starts_with("a.sql:3"));
    }

    #[test]
    fn a_function_in_the_file_of_another_one_or_in_no_folder_is_found() {
        let one = "-- One.\ncreate or replace function kinfolk.one(a integer) returns void\n";
        let both = format!("{one}create or replace function kinfolk.two() returns void\n");
        let mut tree = Tree::of(&[
            ("x/sql/functions/claim/one.sql", one),
            ("x/sql/functions/claim/two.sql", &both),
            ("x/sql/functions/one.sql", one),
            ("x/sql/functions/claim/none.sql", "-- None.\n"),
        ]);
        functions(&mut tree);
        assert_eq!(tree.findings.len(), 3, "{:?}", tree.findings);
        assert!(tree.findings[0].starts_with("x/sql/functions/claim/two.sql:2"));
    }

    #[test]
    fn a_file_without_a_header_is_found() {
        let mut tree = Tree::of(&[("a.sql", "select 1;\n")]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 1, "{:?}", tree.findings);
    }
}
