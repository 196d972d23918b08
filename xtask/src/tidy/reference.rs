//! `docs/configuration.md`, made from the types that the configuration file is read into: every key, what it takes, and the comment
//! that stands above its field.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Tree;

const PAGE: &str = "docs/configuration.md";

const WORK: &str = "crates/kinfolk-cli/src/cmd/work/config.rs";
const SERVE: &str = "crates/kinfolk-cli/src/cmd/serve/config.rs";
const PROVIDERS: &str = "crates/kinfolk-providers/src/config.rs";

/// The tables of the file: how they are headed, and the type that each is read into. A variant is named after its type.
const TABLES: [(&str, &str, &str); 13] = [
    ("The file itself", WORK, "Config"),
    ("`[queues.NAME]`", WORK, "QueueConfig"),
    ("`[commands.NAME]`", WORK, "CommandConfig"),
    ("`[commands.NAME.groups.GROUP]`", WORK, "WholeGroup"),
    ("`[providers.email]`, `kind = \"smtp\"`", PROVIDERS, "EmailConfig::Smtp"),
    ("`[providers.email]`, `kind = \"resend\"`", PROVIDERS, "EmailConfig::Resend"),
    ("`[providers.email]`, `kind = \"outbox\"`", PROVIDERS, "EmailConfig::Outbox"),
    ("`[providers.sms]`, `kind = \"twilio\"`", PROVIDERS, "SmsConfig::Twilio"),
    ("`[providers.sms]`, `kind = \"outbox\"`", PROVIDERS, "SmsConfig::Outbox"),
    ("`[providers.http]`, `kind = \"http\"`", PROVIDERS, "HttpConfig::Http"),
    ("`[providers.http]`, `kind = \"outbox\"`", PROVIDERS, "HttpConfig::Outbox"),
    ("`[web]`", SERVE, "WebConfig"),
    ("`[[web.tokens]]`", SERVE, "TokenConfig"),
];

/// What a field takes, by its type.
const TYPES: [(&str, &str); 19] = [
    ("u16", "number"),
    ("u32", "number"),
    ("u64", "number"),
    ("NonZeroU64", "number from 1 on"),
    ("usize", "number"),
    ("bool", "`true` or `false`"),
    ("String", "text"),
    ("PathBuf", "path of a folder"),
    ("Limit", "number, or `\"none\"`"),
    ("GroupName", "name of a group, or `\"none\"`"),
    ("Declared", "number, or table of groups"),
    ("Safety", "`\"starttls\"`, `\"implicit\"` or `\"none\"`"),
    ("SecretAt", "`{ env = \"VARIABLE\" }` or `{ file = \"/path\" }`"),
    ("Role", "`\"viewer\"`, `\"operator\"` or `\"admin\"`"),
    ("Vec<String>", "list of texts"),
    ("Vec<QueueName>", "list of names of queues"),
    ("Vec<TokenConfig>", "tables"),
    ("kinfolk_providers::Config", "tables"),
    ("WebConfig", "table"),
];

const HEAD: &str = "\
# The configuration file

`kinfolk work --config kinfolk.toml` and `kinfolk serve --config kinfolk.toml` read one TOML file. An unknown key is an error, because it may be a typing error. Settings of
queues and commands that the file leaves out stay as they are in the database. The address of the database is not in the file: it is `--database`, or the variable `KINFOLK_DATABASE`.

The command `cargo xtask reference` makes this page from the code; a check fails when the page is not current. [A file to begin with](../deploy/kinfolk.toml) is among those for [deploying](deploying.md).
";

/// A key of a table.
#[derive(Debug, Default, PartialEq)]
struct Key {
    name: String,
    kind: String,
    about: String,
    needed: bool,
}

pub(super) fn check(tree: &mut Tree) {
    match page(|path| tree.text(path).map(str::to_owned)) {
        Err(fault) => tree.find(PAGE, 1, fault),
        Ok(page) if tree.text(PAGE) == Some(&page) => {}
        Ok(_) => tree.find(PAGE, 1, "it is not what the code says; `cargo xtask reference` writes it"),
    }
}

/// Writes the page.
pub(crate) fn write(root: &Path) -> Result<bool> {
    let page = page(|path| fs::read_to_string(root.join(path)).ok()).map_err(anyhow::Error::msg)?;
    fs::write(root.join(PAGE), page)?;
    println!("{PAGE}");
    Ok(true)
}

fn page(read: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut page = HEAD.to_owned();
    for (heading, file, kind) in TABLES {
        let source = read(file).ok_or_else(|| format!("there is no {file}"))?;
        let _ = write!(page, "\n## {heading}\n\n| key | takes | |\n|---|---|---|\n");
        for key in keys(&source, kind)? {
            let takes =
                key.takes().ok_or_else(|| format!("{kind}.{}: no words for the type {}", key.name, key.kind))?;
            if key.about.is_empty() {
                return Err(format!("{file}: the field {} of {kind} has no comment", key.name));
            }
            let needed = if key.needed { " Needed." } else { "" };
            let _ = writeln!(page, "| `{}` | {takes} | {}{needed} |", key.name, key.about);
        }
    }
    Ok(page)
}

impl Key {
    fn takes(&self) -> Option<String> {
        if self.kind.starts_with("BTreeMap<") {
            return Some("tables by name".to_owned());
        }
        TYPES.iter().find(|(kind, _)| *kind == self.kind).map(|(_, words)| (*words).to_owned())
    }
}

/// The fields of a type, or of a variant of one, as its source has them.
fn keys(source: &str, kind: &str) -> Result<Vec<Key>, String> {
    let (outer, variant) = kind.split_once("::").unwrap_or((kind, ""));
    let begins =
        |line: &str, word: &str| line.trim().trim_start_matches("pub(crate) ").trim_start_matches("pub ") == word;
    let mut lines = source
        .lines()
        .skip_while(|line| !begins(line, &format!("struct {outer} {{")) && !begins(line, &format!("enum {outer} {{")));
    if !variant.is_empty() {
        lines.by_ref().find(|line| line.trim() == format!("{variant} {{"));
    } else {
        lines.next();
    }
    let (mut keys, mut next) = (Vec::new(), Key { needed: true, ..Key::default() });
    for line in lines.map(str::trim).take_while(|line| !matches!(*line, "}" | "},")) {
        if let Some(comment) = line.strip_prefix("///") {
            next.about = format!("{} {}", next.about, comment.trim()).trim().to_owned();
        } else if line.starts_with("#[serde(default") {
            next.needed = false;
        } else if let Some((name, kind)) = line.trim_end_matches(',').split_once(": ") {
            let inner = kind.strip_prefix("Option<").and_then(|kind| kind.strip_suffix('>'));
            next.needed &= inner.is_none();
            next.name = name.trim_start_matches("pub(crate) ").to_owned();
            next.kind = inner.unwrap_or(kind).to_owned();
            keys.push(std::mem::replace(&mut next, Key { needed: true, ..Key::default() }));
        }
    }
    if keys.is_empty() { Err(format!("the fields of {kind} were not found")) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_type_and_of_a_variant_are_found_with_what_stands_above_them() {
        let source = "/// A.\npub(crate) struct A {\n    /// How\n    /// many.\n    pub(crate) many: Option<u32>,\n    /// Which.\n    \
                      which: String,\n}\nenum B {\n    C {\n        /// Where.\n        #[serde(default)]\n        folder: PathBuf,\n    },\n}\n";
        let key = |name: &str, kind: &str, about: &str, needed| Key {
            name: name.to_owned(),
            kind: kind.to_owned(),
            about: about.to_owned(),
            needed,
        };
        let of_a = [key("many", "u32", "How many.", false), key("which", "String", "Which.", true)];
        assert_eq!(keys(source, "A").unwrap(), of_a);
        assert_eq!(keys(source, "B::C").unwrap(), [key("folder", "PathBuf", "Where.", false)]);
        assert!(keys(source, "D").is_err());
    }
}
