//! The canonical text of a JSON value: sorted keys, every digit of a number, no exponent.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::InputError;
use crate::limits::{JSON_DEPTH_MAX, NUMBER_CHARS_MAX, NUMBER_DIGITS_MAX};

/// Writes the canonical text of a value, or says why no store can keep it.
pub(super) fn write_canonical(raw: &RawValue, depth: usize, out: &mut String) -> Result<(), InputError> {
    if depth > JSON_DEPTH_MAX {
        return Err(InputError::JsonTooDeep);
    }
    let text = raw.get().trim();
    match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = parsed(text)?;
            out.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out)?;
                out.push(':');
                write_canonical(value, depth + 1, out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            let Items(items) = parsed(text)?;
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, depth + 1, out)?;
            }
            out.push(']');
        }
        Some(b'"') => write_string(&parsed::<String>(text)?, out)?,
        Some(b'-' | b'0'..=b'9') => write_number(text, out)?,
        _ => out.push_str(text),
    }
    Ok(())
}

/// Writes the older value with the newer one laid over it. The text is not yet canonical.
pub(super) fn write_merged(older: &str, newer: &str, out: &mut String) -> Result<(), InputError> {
    if !(older.trim_start().starts_with('{') && newer.trim_start().starts_with('{')) {
        out.push_str(newer);
        return Ok(());
    }
    let Members(older) = parsed(older)?;
    let Members(mut newer) = parsed(newer)?;
    out.push('{');
    let mut first = true;
    let mut key_into = |key: &str, out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        write_string(key, out)?;
        out.push(':');
        Ok::<(), InputError>(())
    };
    for (key, old) in &older {
        key_into(key, out)?;
        match newer.remove(key) {
            Some(new) => write_merged(old.get(), new.get(), out)?,
            None => out.push_str(old.get()),
        }
    }
    for (key, new) in &newer {
        key_into(key, out)?;
        out.push_str(new.get());
    }
    out.push('}');
    Ok(())
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, InputError> {
    serde_json::from_str(text).map_err(|fault| InputError::NotJson(fault.to_string()))
}

fn write_string(text: &str, out: &mut String) -> Result<(), InputError> {
    if text.contains('\0') {
        return Err(InputError::JsonNul);
    }
    out.push_str(&serde_json::to_string(text).map_err(|fault| InputError::NotJson(fault.to_string()))?);
    Ok(())
}

/// Writes a JSON number without exponent and without a negative zero, keeping its digits.
fn write_number(text: &str, out: &mut String) -> Result<(), InputError> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        None => (text, 0),
        Some((mantissa, exponent)) => {
            let exponent: i64 = exponent.parse().map_err(|_| InputError::JsonNumber(text.to_owned()))?;
            (mantissa, exponent)
        }
    };
    let (sign, unsigned) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if exponent.unsigned_abs() as usize > NUMBER_CHARS_MAX || unsigned.len() > NUMBER_CHARS_MAX {
        return Err(InputError::JsonNumber(text.chars().take(60).collect()));
    }
    let digits = format!("{whole}{fraction}");
    let point = whole.len() as i64 + exponent;
    let scale = usize::try_from(fraction.len() as i64 - exponent).unwrap_or(0);
    let whole = match usize::try_from(point) {
        Ok(point) if point > 0 => {
            let kept = &digits[..point.min(digits.len())];
            format!("{kept:0<point$}")
        }
        _ => "0".to_owned(),
    };
    let whole = whole.trim_start_matches('0');
    if whole.len() > NUMBER_DIGITS_MAX {
        return Err(InputError::JsonNumberSize(text.chars().take(60).collect()));
    }
    let tail = &digits[usize::try_from(point).unwrap_or(0).min(digits.len())..];
    if sign == "-" && digits.bytes().any(|digit| digit != b'0') {
        out.push('-');
    }
    out.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        out.push('.');
        out.extend(std::iter::repeat_n('0', scale - tail.len()));
        out.push_str(tail);
    }
    Ok(())
}

/// The members of an object, sorted; a key that is there twice is an error.
pub(super) struct Members<'a>(pub(super) BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = BTreeMap<String, &'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, value)) = access.next_entry::<String, &RawValue>()? {
                    if members.contains_key(&key) {
                        return Err(serde::de::Error::custom(format!("the key {key:?} stands twice")));
                    }
                    members.insert(key, value);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(MembersVisitor).map(Self)
    }
}

/// The items of an array.
pub(super) struct Items<'a>(pub(super) Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ItemsVisitor;
        impl<'de> Visitor<'de> for ItemsVisitor {
            type Value = Vec<&'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = access.next_element()? {
                    items.push(item);
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(ItemsVisitor).map(Self)
    }
}
