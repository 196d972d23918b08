//! Words that are no names any more: each had several meanings, or hid its own. The list says what stands for them. Comments
//! and texts may use them as the English words that they are.

use super::Tree;

/// The list: `word: what stands for it`, one a line.
const LIST: &str = "xtask/src/tidy/retired.txt";

/// What the rule does not look at, and why.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/kinfolk/examples/", "a shop has shelves"),
    ("crates/kinfolk-cli/src/demo/", "the same shop"),
    ("examples/", "programs of users, with words of their own"),
];

/// A word that is no name any more.
struct Retired {
    /// Its parts, in lower case: `hand_on` has two.
    parts: Vec<String>,
    /// Only as the whole name of a type.
    is_type: bool,
    instead: String,
}

pub(super) fn check(tree: &mut Tree) {
    let retired = listed(tree.text(LIST).unwrap_or_default());
    let mut found = Vec::new();
    for file in &tree.files {
        let is_sql = file.path.ends_with(".sql");
        let is_code = is_sql || file.path.ends_with(".rs");
        if !is_code || ALLOWED.iter().any(|(allowed, _)| file.path.starts_with(allowed)) {
            continue;
        }
        for (line, text) in (1..).zip(code_of(&file.text, is_sql).lines()) {
            if let Some((name, retired)) = first_in(text, &retired) {
                let what = format!("the name `{name}`; say {}, see docs/glossary.md", retired.instead);
                found.push((file.path.clone(), line, what));
            }
        }
    }
    found.into_iter().for_each(|(path, line, what)| tree.find(&path, line, what));
}

fn listed(text: &str) -> Vec<Retired> {
    let entries = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(": "));
    entries
        .map(|(word, instead)| {
            let (word, is_type) = word.strip_prefix("type ").map_or((word, false), |word| (word, true));
            Retired { parts: parts(word), is_type, instead: instead.to_owned() }
        })
        .collect()
}

/// The first name of a line that has a retired word in it.
fn first_in<'a>(line: &'a str, retired: &'a [Retired]) -> Option<(&'a str, &'a Retired)> {
    let mut before = "";
    for name in line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|name| !name.is_empty()) {
        let parts = parts(name);
        let declares = ["struct", "enum", "trait", "type", "union"].contains(&before);
        let is_it = |retired: &&Retired| {
            let is_in = || parts.windows(retired.parts.len()).any(|some| some == retired.parts);
            if retired.is_type { declares && parts == retired.parts } else { is_in() }
        };
        if let Some(retired) = retired.iter().find(is_it) {
            return Some((name, retired));
        }
        before = name;
    }
    None
}

/// The parts of a name in lower case; `FooBar` and `foo_bar` have two each.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before_is_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && before_is_lower) {
            parts.push(String::new());
        }
        if letter != '_' {
            parts.last_mut().into_iter().for_each(|part| part.extend(letter.to_lowercase()));
        }
        before_is_lower = letter.is_lowercase();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// A source with blanks for its comments and texts; its lines stay where they are.
fn code_of(source: &str, is_sql: bool) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        let length = if is_sql { sql_text(rest) } else { rust_text(rest) };
        match length {
            0 => code.push(letter),
            length => code.extend(rest[..length].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' })),
        }
        rest = &rest[length.max(letter.len_utf8())..];
    }
    code
}

/// How long the comment or text is that an SQL source begins with; 0 if it begins with neither.
fn sql_text(source: &str) -> usize {
    if source.starts_with("--") {
        return source.find('\n').unwrap_or(source.len());
    }
    source.strip_prefix('\'').map_or(0, |text| text.find('\'').map_or(source.len(), |end| end + 2))
}

/// The same of a Rust source. A name that ends with `r` before a text is none that we use.
fn rust_text(source: &str) -> usize {
    if source.starts_with("//") {
        return source.find('\n').unwrap_or(source.len());
    }
    if let Some(raw) = source.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let text = &raw[hashes + 1..];
            return text.find(&end).map_or(source.len(), |at| 1 + hashes + 1 + at + end.len());
        }
    }
    let quote = source.chars().next().filter(|letter| ['"', '\''].contains(letter));
    match quote {
        Some('\'') if !is_letter(source) => 0,
        Some(quote) => closed_by(&source[1..], quote).map_or(source.len(), |end| end + 2),
        None => 0,
    }
}

/// Whether a quote begins a letter, and no lifetime.
fn is_letter(source: &str) -> bool {
    let mut letters = source.chars().skip(1);
    letters.next() == Some('\\') || letters.next() == Some('\'')
}

/// Where a text ends, from behind its first quote on.
fn closed_by(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        let ends = letter == quote && !escaped;
        escaped = letter == '\\' && !escaped;
        ends.then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "# Words.\nparked: blocked\nhand_on: forward\ntype Line: what it is\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut tree = Tree::of(&[(LIST, WORDS), (path, text)]);
        check(&mut tree);
        tree.findings
    }

    #[test]
    fn a_retired_word_is_found_as_a_part_of_a_name_and_only_as_a_whole_part() {
        let text = "struct ParkedTask;\nfn is_parked() {}\nlet sparked = 1;\nlet hand = on;\nhand_on!();\nlet un_hand_on = 2;\n";
        let found = findings("a.rs", text);
        let lines: Vec<_> = found.iter().map(|found| found.split(": ").next().unwrap()).collect();
        assert_eq!(lines, ["a.rs:1", "a.rs:2", "a.rs:5", "a.rs:6"], "{found:?}");
        assert!(found[0].contains("`ParkedTask`; say blocked"), "{found:?}");
    }

    #[test]
    fn comments_and_texts_may_use_the_word() {
        let rust =
            "//! Parked.\nlet a = \"parked \\\" parked\"; // parked\nlet b = r#\"a \" parked\"#;\nlet c = 'p';\n";
        assert_eq!(findings("a.rs", rust), [""; 0]);
        assert_eq!(findings("a.sql", "-- Parked.\nselect 'it''s parked';\n"), [""; 0]);
        assert_eq!(findings("a.rs", "fn f<'a>(x: &'a str, y: &'a str) -> parked {}\n").len(), 1);
        assert_eq!(findings("a.sql", "select 'x', t.parked -- y\nfrom t;\n").len(), 1);
    }

    #[test]
    fn a_retired_type_is_found_where_it_is_declared_and_nowhere_else() {
        assert_eq!(
            findings("a.rs", "struct Line;\nenum Kind { Line }\nlet line = Line;\nstruct LinePoint;\n").len(),
            1
        );
    }

    #[test]
    fn examples_have_words_of_their_own() {
        assert_eq!(findings("examples/shop/a.rs", "fn parked() {}\n"), [""; 0]);
    }
}
