//! Fields that never leave the process: what stands at a configured path of a payload or a result is replaced by `"redacted"`.
//!
//! A path is words with dots between them: `card.number`. `*` is any one key or element, `**` any number of them:
//! `items.*.price`, `**.password`. All else of the JSON stays as it is, to the digit.

use std::collections::BTreeMap;

use kinfolk_core::Json;
use serde_json::value::RawValue;

/// What stands in the place of a field.
const REDACTED: &str = "\"redacted\"";

/// The paths that are redacted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redact(Vec<Vec<String>>);

impl Redact {
    pub(crate) fn add(&mut self, path: &str) {
        self.0.push(path.split('.').map(str::to_owned).collect());
    }

    /// The value without what is at these paths. A value that can't be read is redacted as a whole.
    pub(crate) fn apply(&self, json: Json) -> Json {
        if self.0.is_empty() {
            return json;
        }
        let paths: Vec<&[String]> = self.0.iter().map(Vec::as_slice).collect();
        let mut out = String::with_capacity(json.bytes());
        match write(json.as_str(), &paths, &mut out) {
            Ok(()) => Json::trusted(out),
            Err(_) => Json::trusted(REDACTED),
        }
    }

    /// Whether a filter on this path would tell what is redacted.
    pub(crate) fn hides(&self, path: &[String]) -> bool {
        let mut paths: Vec<&[String]> = self.0.iter().map(Vec::as_slice).collect();
        for word in path {
            paths = below(&paths, word);
            if paths.iter().any(|rest| is_end(rest)) {
                return true;
            }
        }
        // What holds a redacted field tells it too.
        !paths.is_empty()
    }
}

fn write(text: &str, paths: &[&[String]], out: &mut String) -> serde_json::Result<()> {
    if paths.iter().any(|rest| is_end(rest)) {
        out.push_str(REDACTED);
        return Ok(());
    }
    match text.trim_start().as_bytes().first() {
        _ if paths.is_empty() => out.push_str(text),
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            out.push('{');
            for (index, (key, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::to_string(key)?);
                out.push(':');
                write(value.get(), &below(paths, key), out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = serde_json::from_str(text)?;
            out.push('[');
            for (index, value) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(value.get(), &below(paths, &index.to_string()), out)?;
            }
            out.push(']');
        }
        _ => out.push_str(text),
    }
    Ok(())
}

fn is_end(rest: &[String]) -> bool {
    rest.iter().all(|word| word == "**")
}

/// What is left of the paths below this key.
fn below<'a>(paths: &[&'a [String]], key: &str) -> Vec<&'a [String]> {
    let mut left = Vec::new();
    for path in paths {
        let mut path = *path;
        // `**` may stand for nothing, for this key, or for more.
        while let Some((first, rest)) = path.split_first() {
            if first == "**" {
                left.push(path);
                path = rest;
                continue;
            }
            if first == "*" || first == key {
                left.push(rest);
            }
            break;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(paths: &[&str], json: &str) -> String {
        let mut redact = Redact::default();
        paths.iter().for_each(|path| redact.add(path));
        redact.apply(Json::parse(json).unwrap()).as_str().to_owned()
    }

    #[test]
    fn what_is_at_a_path_is_replaced_and_the_rest_stays_to_the_digit() {
        for (path, json, expected) in [
            (
                "card.number",
                r#"{"card":{"number":4111,"name":"a"},"n":0.10000000000000000001}"#,
                r#"{"card":{"name":"a","number":"redacted"},"n":0.10000000000000000001}"#,
            ),
            (
                "items.*.price",
                r#"{"items":[{"price":1,"id":2},{"price":3}]}"#,
                r#"{"items":[{"id":2,"price":"redacted"},{"price":"redacted"}]}"#,
            ),
            (
                "**.password",
                r#"{"a":[{"b":{"password":{"x":1}}}],"password":"s"}"#,
                r#"{"a":[{"b":{"password":"redacted"}}],"password":"redacted"}"#,
            ),
            ("*", r#"{"a":1,"b":[2]}"#, r#"{"a":"redacted","b":"redacted"}"#),
            ("a.b", r#"{"a":"b"}"#, r#"{"a":"b"}"#),
            ("a", r#"[{"a":1}]"#, r#"[{"a":1}]"#),
        ] {
            assert_eq!(redacted(&[path], json), expected, "{path}");
        }
    }

    #[test]
    fn a_filter_that_would_tell_a_redacted_field_is_known() {
        let mut redact = Redact::default();
        redact.add("card.number");
        redact.add("**.password");
        let hides = |path: &str| redact.hides(&path.split('.').map(str::to_owned).collect::<Vec<_>>());
        assert!(hides("card.number") && hides("card") && hides("x.y.password") && hides("card.number.0"));
        assert!(Redact::default().0.is_empty() && !Redact::default().hides(&["card".to_owned()]));
    }
}
