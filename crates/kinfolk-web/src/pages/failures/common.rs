//! What failed tasks have in common: their queue, their keys, and values of their payloads, as far as most of them share it.

use std::collections::BTreeMap;

use kinfolk_core::Task;
use serde_json::Value;

use crate::pages::part::words;

/// So many of the newest tasks of a cause are compared.
pub(crate) const LOOKED_AT: usize = 200;
/// Rows at most.
const SHOWN: usize = 6;
/// Values longer than this say little in a row.
const VALUE_MAX: usize = 60;

/// What they have in common.
pub(crate) struct Common {
    pub(crate) of: usize,
    pub(crate) shares: Vec<Share>,
}

/// Something that many of them have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) what: String,
    pub(crate) tasks: usize,
    pub(crate) percent: usize,
}

impl Common {
    /// Of these tasks: what at least half of them have, and of what is the same in all payloads the first few. One task has
    /// nothing in common with itself.
    pub(crate) fn of(tasks: &[Task]) -> Self {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for task in tasks {
            for what in facts(task) {
                *counts.entry(what).or_default() += 1;
            }
        }
        let mut shares: Vec<Share> = counts
            .into_iter()
            .filter(|(_, many)| tasks.len() > 1 && many * 2 >= tasks.len() && *many > 1)
            .map(|(what, many)| Share { what, tasks: many, percent: many * 100 / tasks.len() })
            .collect();
        shares.sort_by_key(|share| std::cmp::Reverse(share.tasks));
        shares.truncate(SHOWN);
        Self { of: tasks.len(), shares }
    }
}

/// What can be said of one task.
fn facts(task: &Task) -> Vec<String> {
    let mut facts = vec![format!("queue {}", task.queue)];
    facts.extend(task.keys.0.iter().map(|(group, key)| format!("key {group} = {}", words::short(key, VALUE_MAX))));
    if let Ok(Value::Object(fields)) = task.payload.to::<Value>() {
        for (name, value) in &fields {
            match value {
                Value::Object(inner) => {
                    facts.extend(inner.iter().filter_map(|(below, value)| {
                        said(value).map(|said| format!("payload.{name}.{below} = {said}"))
                    }));
                }
                value => facts.extend(said(value).map(|said| format!("payload.{name} = {said}"))),
            }
        }
    }
    facts
}

/// A simple value in words.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text != "redacted" => Some(words::short(text, VALUE_MAX)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}
