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
    /// What it is declared as.
    pub declared: GroupSpec,
    /// What is set for all its keys.
    pub set: Setting,
    /// What is set for single keys, by key.
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
    /// Only those that hold something up: tasks wait behind them.
    pub blocking: bool,
    /// Only those after this one, in the order of group (shared ones first) and key.
    pub after: Option<(GroupRef, String)>,
    /// At most this many, and at most [`crate::limits::PAGE_MAX`].
    pub limit: usize,
}
