//! JSON as the engine keeps it: one canonical text for each value.
//!
//! Keys are sorted, duplicate keys and `\u0000` are refused, numbers keep every digit and are written without
//! exponent. Both stores see only canonical text, so a value that was stored equals the value that was given.
//! Text that comes out of a store is trusted and not parsed again ([`Json::trusted`]).

mod canonical;

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use self::canonical::{Items, Members, write_canonical, write_merged};
use crate::error::InputError;

/// A JSON value, kept as text. Equality is equality of values, not of spelling.
#[derive(Clone)]
pub struct Json(Box<str>);

impl Json {
    /// The value `null`.
    pub fn null() -> Self {
        Self("null".into())
    }

    /// The empty object, the payload of a task that was given none.
    pub fn object() -> Self {
        Self("{}".into())
    }

    /// Parses a text, checks it and makes it canonical.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|fault| InputError::NotJson(fault.to_string()))?;
        let mut out = String::with_capacity(text.len());
        write_canonical(raw, 0, &mut out)?;
        Ok(Self(out.into()))
    }

    /// Makes canonical JSON of any serialisable value.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, InputError> {
        let text = serde_json::to_string(value).map_err(|fault| InputError::NotJson(fault.to_string()))?;
        Self::parse(&text)
    }

    /// Takes a text that a store gave back. It is not checked: a store only holds what [`Json::parse`] made.
    pub fn trusted(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// Reads the value as a type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, InputError> {
        serde_json::from_str(&self.0).map_err(|fault| InputError::NotJson(fault.to_string()))
    }

    /// The text. Canonical unless it came from a store.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Length of the text in bytes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The canonical form of this value.
    #[must_use]
    pub fn canonical(&self) -> Self {
        Self::parse(&self.0).unwrap_or_else(|_| self.clone())
    }

    /// The value at a path, if there is one: keys of objects, and in arrays the place, from 0 on, or below 0 from the end.
    pub fn at<K: AsRef<str>>(&self, path: &[K]) -> Option<Self> {
        let mut text: &str = &self.0;
        for key in path {
            text = match text.as_bytes().first() {
                Some(b'{') => serde_json::from_str::<Members<'_>>(text).ok()?.0.get(key.as_ref())?.get(),
                Some(b'[') => {
                    let Items(items) = serde_json::from_str(text).ok()?;
                    let index: i64 = key.as_ref().parse().ok()?;
                    let index = if index < 0 { index + i64::try_from(items.len()).ok()? } else { index };
                    items.get(usize::try_from(index).ok()?)?.get()
                }
                _ => return None,
            }
            .trim();
        }
        Some(Self::trusted(text))
    }

    /// This value with a newer one laid over it: objects are merged key by key, at any depth; in all other
    /// places the newer value wins.
    #[must_use]
    pub fn merged(&self, newer: &Self) -> Self {
        let mut out = String::with_capacity(self.0.len() + newer.0.len());
        match write_merged(&self.0, &newer.0, &mut out) {
            Ok(()) => Self(out.into()).canonical(),
            Err(_) => newer.clone(),
        }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.canonical().0 == other.canonical().0
    }
}

impl Eq for Json {}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().0.hash(state);
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Json::parse(text).unwrap().to_string()
    }

    #[test]
    fn keys_are_sorted_and_white_space_goes() {
        assert_eq!(canonical(r#" { "b" : [ 1 , true ] , "a" : null } "#), r#"{"a":null,"b":[1,true]}"#);
    }

    #[test]
    fn numbers_keep_every_digit_and_lose_the_exponent() {
        for (given, kept) in [
            ("9007199254740993", "9007199254740993"),
            ("0.1000", "0.1000"),
            ("1e2", "100"),
            ("1.50e1", "15.0"),
            ("1.5e-3", "0.0015"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("12e-1", "1.2"),
            ("100e-2", "1.00"),
            ("0e5", "0"),
            ("1E+2", "100"),
            ("-12.5", "-12.5"),
        ] {
            assert_eq!(canonical(given), kept, "{given}");
        }
    }

    #[test]
    fn what_no_store_can_keep_is_refused() {
        for text in ["", "{", r#"{"a":1,"a":2}"#, r#""\u0000""#, r#"{"a\u0000":1}"#, "1e999", "nul", r#""\ud800""#] {
            assert!(Json::parse(text).is_err(), "{text}");
        }
        let deep = "[".repeat(120) + &"]".repeat(120);
        assert!(Json::parse(&deep).is_err());
    }

    #[test]
    fn a_number_that_is_kept_can_be_read_by_a_handler() {
        let long = "9".repeat(308);
        for text in ["1e307", "-9.99999999999999999e307", "1e-400", "12345678901234567890", &long] {
            let kept = Json::parse(text).unwrap();
            assert!(kept.to::<serde_json::Value>().is_ok() && kept.to::<f64>().is_ok(), "{text}");
        }
        for text in ["1e308", "-1e400", "1.8e308", &"9".repeat(309)] {
            assert!(matches!(Json::parse(text), Err(InputError::JsonNumberSize(_))), "{text}");
        }
    }

    #[test]
    fn merging_goes_into_objects_and_replaces_everything_else() {
        let old = Json::parse(r#"{"a":{"x":1,"y":[1]},"b":1}"#).unwrap();
        let new = Json::parse(r#"{"a":{"y":[2],"z":3},"c":null}"#).unwrap();
        assert_eq!(old.merged(&new).as_str(), r#"{"a":{"x":1,"y":[2],"z":3},"b":1,"c":null}"#);
        assert_eq!(old.merged(&Json::null()).as_str(), "null");
    }

    #[test]
    fn values_are_equal_whatever_their_spelling() {
        assert_eq!(Json::trusted(r#"{"b": 1, "a": 2}"#), Json::trusted(r#"{"a":2,"b":1}"#));
    }
}
