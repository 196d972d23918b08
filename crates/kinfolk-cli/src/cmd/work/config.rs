//! The file that says what a worker works on, and how its queues are to be: `kinfolk work --config kinfolk.toml`.
//!
//! ```toml
//! capacity = 16              # tasks at once, over all queues
//!
//! [queues.analytics]
//! capacity = 4               # of this queue at once, in this process
//! family_limit = 1           # from here on: set in the database when the worker starts
//! child_limit = 3
//! depth_limit = 1
//! keep_failed = "30d"
//! paused = false
//! ```
//!
//! What is not said stays as it is in the database. A key that is not known is an error: it may be a slip of the pen.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kinfolk_core::{Policy, QueueName, Store};
use serde::Deserialize;

use crate::fault::Fault;
use crate::span;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Tasks at once, over all queues.
    pub(crate) capacity: Option<u32>,
    /// What to take from.
    #[serde(default)]
    pub(crate) queues: BTreeMap<QueueName, QueueConfig>,
}

/// One queue.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueConfig {
    /// Tasks of this queue at once.
    pub(crate) capacity: Option<usize>,
    family_limit: Option<Limit>,
    child_limit: Option<Limit>,
    depth_limit: Option<u16>,
    keep_completed: Option<String>,
    keep_failed: Option<String>,
    keep_cancelled: Option<String>,
    paused: Option<bool>,
}

/// A limit, or the word that there is to be none.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Limit {
    At(u32),
    Not(NoLimit),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoLimit {
    None,
}

impl Config {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Fault> {
        let text =
            std::fs::read_to_string(path).map_err(|fault| Fault::input(format!("{}: {fault}", path.display())))?;
        Self::parse(&text).map_err(|fault| fault.about(&path.display().to_string()))
    }

    fn parse(text: &str) -> Result<Self, Fault> {
        let config: Self = toml::from_str(text).map_err(|fault| Fault::input(fault.to_string().trim_end()))?;
        if config.capacity == Some(0) || config.queues.values().any(|queue| queue.capacity == Some(0)) {
            return Err(Fault::input("a capacity of 0 would run nothing; give 1 or more, or say paused = true"));
        }
        Ok(config)
    }

    /// Sets in the database what the file says about queues.
    pub(crate) async fn apply(&self, store: &dyn Store) -> Result<(), Fault> {
        let there = store.queues().await?;
        for (name, wanted) in &self.queues {
            let now = there.iter().find(|queue| queue.name == *name);
            let policy = wanted.policy(now.map_or_else(Policy::default, |queue| queue.policy))?;
            if now.is_none_or(|queue| queue.policy != policy) {
                store.set_queue(name, &policy).await?;
            }
            match (wanted.paused, now.is_some_and(|queue| queue.paused_at.is_some())) {
                (Some(true), false) => store.pause(name).await?,
                (Some(false), true) => store.resume(name).await?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl QueueConfig {
    fn policy(&self, now: Policy) -> Result<Policy, Fault> {
        let limit = |wanted: Option<Limit>, now| match wanted {
            None => now,
            Some(Limit::At(limit)) => Some(limit),
            Some(Limit::Not(NoLimit::None)) => None,
        };
        let mut policy = now;
        policy.family_limit = limit(self.family_limit, now.family_limit);
        policy.child_limit = limit(self.child_limit, now.child_limit);
        policy.depth_limit = self.depth_limit.unwrap_or(now.depth_limit);
        policy.retention.completed = kept(self.keep_completed.as_deref(), now.retention.completed)?;
        policy.retention.failed = kept(self.keep_failed.as_deref(), now.retention.failed)?;
        policy.retention.cancelled = kept(self.keep_cancelled.as_deref(), now.retention.cancelled)?;
        policy.check().map_err(|fault| Fault::input(fault.to_string()))?;
        Ok(policy)
    }
}

fn kept(wanted: Option<&str>, now: Option<Duration>) -> Result<Option<Duration>, Fault> {
    match wanted {
        None => Ok(now),
        Some("forever") => Ok(None),
        Some(text) => span::parse(text).map(Some).map_err(|fault| Fault::input(fault.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_said_stays_as_it_is() {
        let config =
            Config::parse("[queues.q]\nchild_limit = 3\nfamily_limit = \"none\"\nkeep_failed = \"forever\"").unwrap();
        let now = Policy { family_limit: Some(1), depth_limit: 5, ..Policy::default() };
        let policy = config.queues.values().next().unwrap().policy(now).unwrap();
        assert_eq!((policy.family_limit, policy.child_limit, policy.depth_limit), (None, Some(3), 5));
        assert_eq!((policy.retention.failed, policy.retention.completed), (None, now.retention.completed));
    }

    #[test]
    fn slips_of_the_pen_are_refused() {
        for text in
            ["capacitty = 1", "[queues.q]\ncapacity = 0", "[queues.q]\nfamily_limit = \"some\"", "[queues.\"a b\"]"]
        {
            assert!(Config::parse(text).is_err(), "{text}");
        }
    }
}
