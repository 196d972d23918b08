//! SQL files: a header that says what the file does, lower-case keywords, no tabs.

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

pub(super) fn check(tree: &mut Tree) {
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
    fn a_file_without_a_header_is_found() {
        let mut tree = Tree::of(&[("a.sql", "select 1;\n")]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 1, "{:?}", tree.findings);
    }
}
