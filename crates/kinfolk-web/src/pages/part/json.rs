//! JSON to be read by people: folded where it is long, every digit as it was stored, long texts cut with their length.

use std::fmt;

use askama::filters::{Escaper as _, Html, HtmlSafe};
use kinfolk_core::Json;
use serde_json::value::RawValue;

/// Longer texts are cut.
const TEXT_MAX: usize = 400;
/// Objects and arrays with more members than this show the first ones.
const MEMBERS_MAX: usize = 100;
/// What lies deeper than this is folded at first.
const OPEN_DEPTH: usize = 2;
/// Members in all that are written out.
const NODES_MAX: usize = 500;

/// A value as nested `details`.
#[derive(Clone)]
pub(crate) struct JsonTree(String);

impl HtmlSafe for JsonTree {}

impl fmt::Display for JsonTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonTree {
    /// The markup of a value.
    pub(crate) fn of(json: &Json) -> Self {
        let mut tree = Tree { out: String::new(), left: NODES_MAX };
        match serde_json::from_str::<&RawValue>(json.as_str()) {
            Ok(raw) => tree.value(raw, "", 0, true),
            Err(_) => tree.text(json.as_str()),
        }
        Self(tree.out)
    }
}

struct Tree {
    out: String,
    left: usize,
}

impl Tree {
    /// A value behind its name (markup that is escaped already), with a comma unless it is the last.
    fn value(&mut self, raw: &RawValue, name: &str, depth: usize, last: bool) {
        let text = raw.get();
        self.left = self.left.saturating_sub(1);
        match text.as_bytes().first() {
            Some(b'{') => match serde_json::from_str::<Members<'_>>(text) {
                Ok(Members(members)) => {
                    let members: Vec<_> = members.iter().map(|(key, value)| (Some(key.as_str()), *value)).collect();
                    self.nested(&members, ('{', '}', "field", "fields"), name, depth, last);
                }
                Err(_) => self.line(name, text, last),
            },
            Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(items) => {
                    let items: Vec<_> = items.into_iter().map(|item| (None, item)).collect();
                    self.nested(&items, ('[', ']', "item", "items"), name, depth, last);
                }
                Err(_) => self.line(name, text, last),
            },
            _ => self.line(name, text, last),
        }
    }

    fn nested(
        &mut self,
        members: &[(Option<&str>, &RawValue)],
        (open, close, one, more): (char, char, &str, &str),
        name: &str,
        depth: usize,
        last: bool,
    ) {
        let comma = if last { "" } else { "," };
        if members.is_empty() {
            self.out.push_str(&format!("<div class=\"v\">{name}{open}{close}{comma}</div>"));
            return;
        }
        let unfolded = if depth < OPEN_DEPTH && self.left > members.len() { " open" } else { "" };
        let count = members.len();
        let counted = format!("{count} {} {close}{comma}", if count == 1 { one } else { more });
        self.out.push_str(&format!(
            "<details{unfolded}><summary>{name}{open}<span class=\"count\"> {counted}</span></summary><div class=\"m\">"
        ));
        let shown = count.min(MEMBERS_MAX).min(self.left.max(1));
        for (at, (key, value)) in members.iter().take(shown).enumerate() {
            let mut name = String::new();
            if let Some(key) = key {
                name.push_str("<i>");
                escape(&quoted(key), &mut name);
                name.push_str(":</i> ");
            }
            self.value(value, &name, depth + 1, at + 1 == count);
        }
        if shown < count {
            self.out.push_str(&format!("<div class=\"v\"><i>… {} more</i></div>", count - shown));
        }
        self.out.push_str(&format!("</div><div class=\"v\">{close}{comma}</div></details>"));
    }

    fn line(&mut self, name: &str, text: &str, last: bool) {
        self.out.push_str("<div class=\"v\">");
        self.out.push_str(name);
        self.text(text);
        if !last {
            self.out.push(',');
        }
        self.out.push_str("</div>");
    }

    fn text(&mut self, text: &str) {
        self.out.push_str("<bdi>");
        if text.len() > TEXT_MAX {
            let end = (0..=TEXT_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
            escape(&visible(&text[..end]), &mut self.out);
            self.out.push_str(&format!("</bdi><i>… {} bytes in all</i>", text.len()));
        } else {
            escape(&visible(text), &mut self.out);
            self.out.push_str("</bdi>");
        }
    }
}

fn quoted(key: &str) -> String {
    visible(&serde_json::to_string(key).unwrap_or_default())
}

/// Characters that change the direction or the place of others are written as their numbers.
fn visible(text: &str) -> String {
    let hidden = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if !text.contains(hidden) {
        return text.to_owned();
    }
    text.chars()
        .map(|letter| if hidden(letter) { format!("\\u{:04x}", u32::from(letter)) } else { letter.to_string() })
        .collect()
}

fn escape(text: &str, out: &mut String) {
    // Writing to a string does not fail.
    let _ = Html.write_escaped_str(out, text);
}

/// The members of an object in the order in which they are stored.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> serde::de::Visitor<'de> for Visit {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry::<String, &RawValue>()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Visit).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        JsonTree::of(&Json::parse(text).unwrap()).to_string()
    }

    #[test]
    fn digits_are_shown_as_they_are_stored() {
        assert!(shown(r#"{"n":9007199254740993,"f":0.1000}"#).contains("9007199254740993"));
        assert!(shown("0.1000").contains("0.1000"));
    }

    #[test]
    fn no_text_becomes_markup() {
        let text = shown(r#"{"<img src=x>":"</bdi><script>alert(1)</script>"}"#);
        assert!(!text.contains("<script>") && !text.contains("<img"), "{text}");
    }

    #[test]
    fn characters_that_turn_text_around_are_written_out() {
        let text = shown("\"a\u{202e}b\"");
        assert!(text.contains("\\u202e") && !text.contains('\u{202e}'), "{text}");
    }

    #[test]
    fn a_large_value_stays_small_on_the_page() {
        let large = format!("[{}]", vec!["\"x\""; 50_000].join(","));
        assert!(shown(&large).len() < 20_000);
        assert!(shown(&format!("\"{}\"", "x".repeat(100_000))).contains("100002 bytes in all"));
    }
}
