//! The keys that a task gives for groups.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TOTAL;
use crate::error::InputError;
use crate::limits::{GROUP_KEY_BYTES_MAX, GROUPS_MAX};
use crate::name::GroupName;

/// The keys of a task: the group's name, and the value in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Keys(pub BTreeMap<GroupName, String>);

impl Keys {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// These keys, each the name of a group and the value in it.
    ///
    /// ```
    /// # use kinfolk_core::{InputError, Keys};
    /// let keys = Keys::of([("tenant", "acme"), ("message", "msg-1")])?;
    /// # Ok::<(), InputError>(())
    /// ```
    pub fn of<N: AsRef<str>, K: Into<String>>(keys: impl IntoIterator<Item = (N, K)>) -> Result<Self, InputError> {
        let named = |(name, key): (N, K)| Ok((GroupName::new(name.as_ref())?, key.into()));
        keys.into_iter().map(named).collect::<Result<_, _>>().map(Self)
    }

    /// And this one. What can't be a key is refused when the task is enqueued.
    #[must_use]
    pub fn and(mut self, name: GroupName, key: impl Into<String>) -> Self {
        self.0.insert(name, key.into());
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key in this group.
    pub fn get(&self, name: &GroupName) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.0.len() > GROUPS_MAX {
            return Err(InputError::Batch { what: "keys of one task", given: self.0.len(), max: GROUPS_MAX });
        }
        for (name, key) in &self.0 {
            if name.as_str() == TOTAL {
                return Err(InputError::Other(
                    "a key for the group total; every task of its command is in it".to_owned(),
                ));
            }
            check_key(key)?;
        }
        Ok(())
    }
}

/// Refuses a key that no store would keep.
pub fn check_key(key: &str) -> Result<(), InputError> {
    if key.is_empty() || key.len() > GROUP_KEY_BYTES_MAX || key.contains('\0') {
        let shown = key.chars().take(GROUP_KEY_BYTES_MAX).collect();
        return Err(InputError::GroupKey { key: shown, bytes: key.len() });
    }
    Ok(())
}

impl IntoIterator for Keys {
    type Item = (GroupName, String);
    type IntoIter = std::collections::btree_map::IntoIter<GroupName, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
