//! Rust sources: each module says what it is, and none is too long to read.

use super::Tree;

/// More than this and a module is two.
const LINES_MAX: usize = 600;

/// What no test may do: wait for a fixed time, or be switched off.
const NOT_IN_SOURCES: &[(&str, &str)] = &[
    ("#[ignore", "a test that does not run; make it run or remove it"),
    ("todo!(", "unfinished code"),
    ("unimplemented!(", "unfinished code"),
];

pub(super) fn check(tree: &mut Tree) {
    for index in tree.ending(".rs") {
        let (path, text) = (tree.files[index].path.clone(), &tree.files[index].text);
        let lines = text.lines().count();
        let says_what_it_is = text.starts_with("//!") || text.starts_with("#!/");
        if !says_what_it_is {
            tree.find(&path, 1, "a module starts with a `//!` comment that says what it is");
        }
        if lines > LINES_MAX {
            tree.find(&path, lines, format_args!("{lines} lines; split it, {LINES_MAX} is the most"));
        }
    }
    tree.each_line(&[".rs"], |path, line| {
        let here = path.starts_with("xtask/src/tidy/") || line.trim_start().starts_with("//");
        let found = NOT_IN_SOURCES.iter().find(|(text, _)| !here && line.contains(text))?;
        Some(format!("`{}`: {}", found.0, found.1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_a_word_about_itself_is_found() {
        let mut tree = Tree::of(&[("a.rs", "fn f() {}\n"), ("b.rs", "//! What it is.\n")]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 1, "{:?}", tree.findings);
    }

    #[test]
    fn a_module_that_is_too_long_is_found() {
        let long = format!("//! Long.\n{}", "\n".repeat(LINES_MAX));
        let mut tree = Tree::of(&[("a.rs", &long)]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 1, "{:?}", tree.findings);
    }
}
