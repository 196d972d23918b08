//! One vocabulary (`docs/glossary.md`): other people's words for the same things do not enter, and nothing speaks of
//! the machine it was written on.

use super::Tree;

/// Words that have one of ours in their place.
const NOT_OUR_WORDS: &[(&str, &str)] = &[
    ("job", "task"),
    ("jobs", "tasks"),
    ("subjob", "child"),
    ("fiber", "task"),
    ("fibers", "tasks"),
    ("orchestrator", "worker"),
    ("nursery", "family"),
    ("uncle", "follow-up"),
];

/// The files and folders in which such a word may stand, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/kinfolk-cli/src/demo/register/", "an import job is a row of that example"),
    ("crates/kinfolk-cli/tests/cli/register.rs", "an import job is a row of that example"),
    ("examples/register/", "an import job is a row of this example"),
    ("docs/glossary.md", "translates the words of other systems into ours"),
    ("xtask/src/tidy/reference.rs", "names a file of the command `work`"),
    ("xtask/src/tidy/words.rs", "this list"),
];

/// Paths of someone's machine.
const MACHINE_PATHS: &[&str] = &["/home/", "/root/", "/Users/", "/work/", "C:\\"];

pub(super) fn check(tree: &mut Tree) {
    tree.each_line(&[".rs", ".sql", ".md", ".toml", ".sh", "run"], |path, line| {
        if ALLOWED.iter().any(|(allowed, _)| *allowed == path || (allowed.ends_with('/') && path.starts_with(allowed)))
        {
            return None;
        }
        if let Some(found) = MACHINE_PATHS.iter().find(|text| line.contains(**text)) {
            return Some(format!("`{found}`: a path of someone's machine"));
        }
        let (word, ours) = words(line).find_map(|word| NOT_OUR_WORDS.iter().find(|(theirs, _)| *theirs == word))?;
        Some(format!("the word `{word}`; ours is `{ours}`, see docs/glossary.md"))
    });
}

/// The words of a line in lower case; `FooBar` and `foo_bar` are two each.
fn words(line: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(line.len() + 8);
    let mut before_is_lower = false;
    for letter in line.chars() {
        if letter.is_uppercase() && before_is_lower {
            spaced.push(' ');
        }
        before_is_lower = letter.is_lowercase();
        spaced.extend(letter.to_lowercase());
    }
    let words: Vec<String> = spaced
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_word_is_found_in_names_of_any_case_and_only_as_a_whole_word() {
        let text = "//! Rust.\nstruct NextJob;\nfn job_of() {}\nlet jobber = 1;\n";
        let mut tree = Tree::of(&[("a.rs", text), ("docs/glossary.md", "job")]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 2, "{:?}", tree.findings);
    }

    #[test]
    fn a_path_of_a_machine_is_found() {
        let mut tree = Tree::of(&[("README.md", concat!("see /ho", "me/me/x"))]);
        check(&mut tree);
        assert_eq!(tree.findings.len(), 1);
    }
}
