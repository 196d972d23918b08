//! Groups and keys as they are shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::setting::{GroupRef, Setting};
use super::spec::GroupSpec;
use crate::ids::TaskId;
use crate::name::CommandName;
use crate::time::Timestamp;

/// A group as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupView {
    /// Which one.
    #[serde(flatten)]
    pub group: GroupRef,
    /// The commands that declare it.
    pub commands: Vec<CommandName>,
    /// Its limits as the command declares them.
    pub declared: GroupSpec,
    /// An operator's setting for all its keys.
    pub set: Setting,
    /// An operator's settings for single keys, by key.
    pub keys: BTreeMap<String, Setting>,
}

/// A key that is in use: tasks hold slots of it, or wait for one, or have started under its rate not long ago.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// The group.
    #[serde(flatten)]
    pub group: GroupRef,
    /// The key; empty for a total.
    pub key: String,
    /// Its slots.
    pub limit: Option<u32>,
    /// How many of them are taken.
    pub held: u64,
    /// The tasks that hold them, by number: the first [`crate::limits::HOLDERS_SHOWN_MAX`].
    pub holders: Vec<TaskId>,
    /// The tasks that were held up by this key when a claim last looked at them, and wait behind it.
    pub waiters: u64,
    /// No start before this, by its rate or because a handler asked to slow down.
    pub until: Option<Timestamp>,
}

/// Which keys to look at. An empty filter is all that are in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFilter {
    /// Of this group.
    pub group: Option<GroupRef>,
    /// Only keys behind which tasks wait.
    pub blocking: bool,
    /// Only keys after this one, in the order of group (shared ones first) and key.
    pub after: Option<(GroupRef, String)>,
    /// At most this many, and at most [`crate::limits::PAGE_MAX`].
    pub limit: usize,
}
