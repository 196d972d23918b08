//! The groups that a command declares.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TOTAL;
use super::rate::Rate;
use super::setting::Setting;
use crate::error::InputError;
use crate::limits::GROUPS_MAX;
use crate::name::GroupName;

/// The groups of a command, by name.
///
/// Written as JSON, a bare number is the command's total: `5` is `{"total": 5}`, and a group that has only a limit is that
/// number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Groups(pub BTreeMap<GroupName, GroupSpec>);

/// The declaration of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// Slots of each key; `None` is no limit, 0 lets nothing start.
    #[serde(default)]
    pub limit: Option<u32>,
    /// How many tasks of each key may start in a span of time.
    #[serde(default)]
    pub rate: Option<Rate>,
    /// A task keeps its slot from its first claim until it is terminal, also while it waits for its children, and the tasks
    /// below it that give the same key take none. Otherwise a slot is held only while a task runs.
    #[serde(default)]
    pub hold: bool,
    /// Whether all commands that declare a group of this name as shared count in it together.
    #[serde(default)]
    pub shared: bool,
}

impl Groups {
    /// None at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// The command's own total: so many tasks of it at once.
    #[must_use]
    pub fn total(limit: u32) -> Self {
        Self(BTreeMap::from([(GroupName::total(), GroupSpec::limit(limit))]))
    }

    /// These groups, each a name and a limit, a rate or a whole [`GroupSpec`].
    ///
    /// ```
    /// # use kinfolk_core::{Groups, InputError};
    /// let groups = Groups::of([("tenant", 20), ("message", 1)])?;
    /// # Ok::<(), InputError>(())
    /// ```
    pub fn of<N: AsRef<str>, S: Into<GroupSpec>>(groups: impl IntoIterator<Item = (N, S)>) -> Result<Self, InputError> {
        let named = |(name, spec): (N, S)| Ok((GroupName::new(name.as_ref())?, spec.into()));
        groups.into_iter().map(named).collect::<Result<_, _>>().map(Self)
    }

    /// And this group.
    #[must_use]
    pub fn and(mut self, name: GroupName, spec: GroupSpec) -> Self {
        self.0.insert(name, spec);
        self
    }

    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if self.0.len() > GROUPS_MAX {
            return Err(InputError::Batch { what: "groups of one command", given: self.0.len(), max: GROUPS_MAX });
        }
        for (name, spec) in &self.0 {
            spec.check(name)?;
        }
        Ok(())
    }
}

impl GroupSpec {
    /// So many at once for each key.
    pub fn limit(limit: u32) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    /// So many starts in a span of time for each key.
    pub fn rate(rate: Rate) -> Self {
        Self { rate: Some(rate), ..Self::default() }
    }

    /// And so many starts in a span of time.
    #[must_use]
    pub fn and_rate(self, rate: Rate) -> Self {
        Self { rate: Some(rate), ..self }
    }

    /// A task keeps its slot until it is terminal.
    #[must_use]
    pub fn hold(self) -> Self {
        Self { hold: true, ..self }
    }

    /// All commands that declare it as shared count in it together.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    fn check(&self, name: &GroupName) -> Result<(), InputError> {
        if name.as_str() == TOTAL && self.shared {
            return Err(InputError::Other(
                "a command's total can't be shared; declare a group of another name".to_owned(),
            ));
        }
        if self.limit.is_none() && self.rate.is_none() {
            return Err(InputError::Other(format!("group {name} has neither a limit nor a rate; give it one")));
        }
        Setting { limit: self.limit, rate: self.rate }.check()
    }
}

impl IntoIterator for Groups {
    type Item = (GroupName, GroupSpec);
    type IntoIter = std::collections::btree_map::IntoIter<GroupName, GroupSpec>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<u32> for GroupSpec {
    fn from(limit: u32) -> Self {
        Self::limit(limit)
    }
}

impl From<Rate> for GroupSpec {
    fn from(rate: Rate) -> Self {
        Self::rate(rate)
    }
}

impl<'de> Deserialize<'de> for Groups {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Limit(u32),
            Whole(GroupSpec),
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum All {
            Total(u32),
            Named(BTreeMap<GroupName, Written>),
        }
        Ok(match All::deserialize(deserializer)? {
            All::Total(limit) => Self::total(limit),
            All::Named(groups) => {
                let whole = |written| match written {
                    Written::Limit(limit) => GroupSpec::limit(limit),
                    Written::Whole(spec) => spec,
                };
                Self(groups.into_iter().map(|(name, written)| (name, whole(written))).collect())
            }
        })
    }
}
