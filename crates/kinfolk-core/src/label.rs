//! Labels: the names that people give to tasks, read from the payload.
//!
//! A command names a path; the value at that path of a task's payload is the task's label. It is stored nowhere
//! else, so a payload of which that value was taken out has none.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::json::Json;
use crate::limits::{JSON_DEPTH_MAX, LABEL_CHARS_MAX, LABEL_PATH_BYTES_MAX};

/// The path of the payload to the labels of a command's tasks, such as `customer.name`: keys of objects, and in
/// arrays the place from 0 on, with dots between them. An empty one names no place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LabelPath(Vec<String>);

impl LabelPath {
    /// Whether it names no place.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys that lead there.
    pub fn keys(&self) -> &[String] {
        &self.0
    }

    /// The label of a task with this payload: a text, a number or a truth value; of a long text its beginning.
    pub fn of(&self, payload: &Json) -> Option<String> {
        let value = payload.at(&self.0).filter(|_| !self.is_none())?;
        let text = match value.as_str().as_bytes().first()? {
            b'"' => value.to::<String>().ok()?,
            b'{' | b'[' | b'n' => return None,
            _ => value.to_string(),
        };
        let (text, mut words) = (text.trim(), String::new());
        for (count, letter) in text.chars().enumerate() {
            if count == LABEL_CHARS_MAX {
                words.push('…');
                break;
            }
            words.push(letter);
        }
        (!words.is_empty()).then_some(words)
    }
}

impl FromStr for LabelPath {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let path = Self(if text.is_empty() { Vec::new() } else { text.split('.').map(str::to_owned).collect() });
        let strange = |key: &String| key.is_empty() || key.contains('\0');
        if path.0.len() > JSON_DEPTH_MAX || text.len() > LABEL_PATH_BYTES_MAX || path.0.iter().any(strange) {
            return Err(InputError::Other(format!(
                "{text:?} is no path of a payload; write keys with dots between them, such as customer.name, in at most \
                 {LABEL_PATH_BYTES_MAX} bytes"
            )));
        }
        Ok(path)
    }
}

impl fmt::Display for LabelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl TryFrom<String> for LabelPath {
    type Error = InputError;

    fn try_from(text: String) -> Result<Self, InputError> {
        text.parse()
    }
}

impl From<LabelPath> for String {
    fn from(path: LabelPath) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_plain_value_of_the_payload() {
        let long = "x".repeat(LABEL_CHARS_MAX + 1);
        let text = format!(
            r#"{{"order":{{"id":9007199254740993,"name":" Ann ","paid":true}},"items":["hat"],"none":null,"blank":" ","long":"{long}"}}"#
        );
        let payload = Json::parse(&text).unwrap();
        let label = |path: &str| path.parse::<LabelPath>().unwrap().of(&payload);
        assert_eq!(label("order.id").as_deref(), Some("9007199254740993"));
        assert_eq!(label("order.name").as_deref(), Some("Ann"));
        assert_eq!(label("order.paid").as_deref(), Some("true"));
        assert_eq!(label("items.0").as_deref(), Some("hat"));
        assert_eq!(label("long"), Some(format!("{}…", "x".repeat(LABEL_CHARS_MAX))));
        for nothing in ["order", "items", "none", "blank", "order.who", "items.1", ""] {
            assert_eq!(label(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_path_is_written_with_dots() {
        assert_eq!("a.b".parse::<LabelPath>().unwrap().to_string(), "a.b");
        assert!("".parse::<LabelPath>().unwrap().is_none());
        let long = "x".repeat(LABEL_PATH_BYTES_MAX + 1);
        for strange in ["a..b", ".a", "a.", "a\0", &long] {
            assert!(strange.parse::<LabelPath>().is_err(), "{strange:?}");
        }
    }
}
