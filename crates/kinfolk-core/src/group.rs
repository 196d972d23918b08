//! Groups: how many tasks of one key may run at once, and how many may start in a span of time.
//!
//! A command declares groups, each with a limit for every key of it: `{tenant: 20, message: 1}`. A task may give a key for
//! each; where it gives none, that group does not concern it. It starts when all its keys have room, and takes a **slot** of
//! each of them or of none. [`crate::admit`] decides which tasks take slots.
//!
//! A group belongs to the command that declares it, unless it is declared as shared: all commands that declare a shared
//! group of one name count in it together. The name `total` is the command's own total: every task of it takes a slot there,
//! and nobody gives a key.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::InputError;
use crate::ids::TaskId;
use crate::limits::{GROUP_KEY_BYTES_MAX, GROUP_LIMIT_MAX, GROUPS_MAX, RATE_MAX, RATE_SPAN_MAX};
use crate::name::{CommandName, GroupName};
use crate::time::Timestamp;

/// The name of a command's own total.
pub const TOTAL: &str = "total";

/// The groups of a command, by name.
///
/// Written as JSON, a bare number is the command's total: `5` is `{"total": 5}`, and a group that has only a limit is that
/// number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Groups(pub BTreeMap<GroupName, GroupSpec>);

/// What a group is declared as.
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

/// So many starts in a span of time, after a pause so many at once. Every claim of a task counts as a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// How many.
    pub count: u32,
    /// In this span.
    #[serde(rename = "per_us", with = "micros")]
    pub per: Duration,
    /// How many at once, when none have started for long enough.
    pub burst: u32,
}

/// The keys of a task: the group's name, and the value in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Keys(pub BTreeMap<GroupName, String>);

/// A group, wherever it is spoken of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupRef {
    /// The command it belongs to; `None` for a shared one.
    pub command: Option<CommandName>,
    /// Its name.
    pub name: GroupName,
}

/// What an operator has set for a group or for one key of it. It stands until it is set again, also when the command is
/// registered anew; what is `None` is as the command declares it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Slots.
    pub limit: Option<u32>,
    /// Starts in a span of time.
    pub rate: Option<Rate>,
}

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

impl Setting {
    /// Refuses what no store would keep.
    pub fn check(&self) -> Result<(), InputError> {
        if let Some(limit) = self.limit
            && limit > GROUP_LIMIT_MAX
        {
            return Err(InputError::Other(format!(
                "a limit of {limit} is out of range; it may be {GROUP_LIMIT_MAX} at most"
            )));
        }
        self.rate.map_or(Ok(()), |rate| rate.check())
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Rate {
    /// So many in each second, one at a time.
    pub fn per_second(count: u32) -> Self {
        Self::new(count, Duration::from_secs(1))
    }

    /// So many in each minute, one at a time.
    pub fn per_minute(count: u32) -> Self {
        Self::new(count, Duration::from_secs(60))
    }

    /// So many in each span of time, one at a time.
    pub fn new(count: u32, per: Duration) -> Self {
        Self { count, per, burst: 1 }
    }

    /// And so many at once, when none have started for long enough.
    #[must_use]
    pub fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// The span between two starts, in microseconds: rounded up, so that the rate is never passed.
    pub fn interval_us(&self) -> i64 {
        let per = i64::try_from(self.per.as_micros()).unwrap_or(i64::MAX);
        let count = i64::from(self.count.max(1));
        per / count + i64::from(per % count != 0)
    }

    fn check(&self) -> Result<(), InputError> {
        let in_range = 1..=RATE_MAX;
        if !in_range.contains(&self.count) || !in_range.contains(&self.burst) {
            return Err(InputError::Other(format!(
                "a rate of {} with a burst of {} is out of range; both must be 1 to {RATE_MAX}",
                self.count, self.burst
            )));
        }
        if self.per < Duration::from_millis(1) || self.per > RATE_SPAN_MAX {
            return Err(InputError::Other(format!(
                "a rate per {} µs is out of range; the span must be 1 millisecond to 31 days",
                self.per.as_micros()
            )));
        }
        if u128::from(self.count) > self.per.as_micros() {
            return Err(InputError::Other("a rate of more than one in a microsecond is out of range".to_owned()));
        }
        Ok(())
    }
}

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

impl GroupRef {
    /// The group of this name that belongs to this command.
    pub fn of(command: CommandName, name: GroupName) -> Self {
        Self { command: Some(command), name }
    }

    /// The shared group of this name.
    pub fn shared(name: GroupName) -> Self {
        Self { command: None, name }
    }

    /// Refuses a setting for this group, or for one key of it, that no store would keep.
    pub fn check_setting(&self, key: Option<&str>, setting: &Setting) -> Result<(), InputError> {
        if let Some(key) = key {
            if self.name.as_str() == TOTAL {
                return Err(InputError::Other("a command's total has no keys; set it for the whole group".to_owned()));
            }
            check_key(key)?;
        }
        setting.check()
    }
}

impl IntoIterator for Groups {
    type Item = (GroupName, GroupSpec);
    type IntoIter = std::collections::btree_map::IntoIter<GroupName, GroupSpec>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl IntoIterator for Keys {
    type Item = (GroupName, String);
    type IntoIter = std::collections::btree_map::IntoIter<GroupName, String>;

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

impl fmt::Display for GroupRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) => write!(f, "{} of {command}", self.name),
            None => write!(f, "{}", self.name),
        }
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

pub(crate) mod micros {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_read_from_a_number_or_by_name() {
        let read = |text| serde_json::from_str::<Groups>(text).unwrap();
        assert_eq!(read("5"), Groups::total(5));
        let tenant = GroupName::new("tenant").unwrap();
        assert_eq!(read(r#"{"tenant": 20}"#), Groups::new().and(tenant.clone(), GroupSpec::limit(20)));
        let whole = read(r#"{"tenant": {"rate": {"count": 7, "per_us": 1000000, "burst": 2}, "shared": true}}"#);
        assert_eq!(whole.0[&tenant].rate.unwrap().interval_us(), 142_858);
        assert_eq!(read(&serde_json::to_string(&whole).unwrap()), whole);
        assert!(serde_json::from_str::<Groups>(r#"{"tenant": {"limits": 3}}"#).is_err());
    }

    #[test]
    fn groups_and_keys_are_made_of_names_and_values() {
        let tenant = GroupName::new("tenant").unwrap();
        assert_eq!(Groups::of([("total", 5)]).unwrap(), Groups::total(5));
        let spec = GroupSpec::limit(2).and_rate(Rate::per_minute(9).burst(3)).hold().shared();
        let rate = Some(Rate { count: 9, per: Duration::from_secs(60), burst: 3 });
        assert_eq!(spec, GroupSpec { limit: Some(2), rate, hold: true, shared: true });
        let groups = Groups::of([("tenant", spec)]).unwrap();
        assert_eq!(Groups::of(groups.clone()).unwrap(), groups);
        assert_eq!(Keys::of(Some(("tenant", "acme"))).unwrap().get(&tenant), Some("acme"));
        assert!(matches!(Groups::of([("two words", 1)]), Err(InputError::Name { kind: "group", .. })));
        assert!(matches!(Keys::of([("", "acme")]), Err(InputError::Name { kind: "group", .. })));
    }

    #[test]
    fn bad_groups_and_keys_are_refused() {
        let tenant = GroupName::new("tenant").unwrap();
        let total = GroupName::total();
        let rate = |count, per, burst| GroupSpec { rate: Some(Rate { count, per, burst }), ..GroupSpec::default() };
        for spec in [
            GroupSpec::default(),
            GroupSpec::limit(GROUP_LIMIT_MAX + 1),
            rate(0, Duration::from_secs(1), 1),
            rate(1, Duration::from_secs(1), 0),
            rate(1, Duration::ZERO, 1),
            rate(2_000, Duration::from_millis(1), 1_000_001),
        ] {
            assert!(Groups::new().and(tenant.clone(), spec.clone()).check().is_err(), "{spec:?}");
        }
        assert!(Groups::new().and(total.clone(), GroupSpec { shared: true, ..GroupSpec::limit(1) }).check().is_err());
        for key in ["", "nul\0", &"x".repeat(GROUP_KEY_BYTES_MAX + 1)] {
            assert!(Keys::new().and(tenant.clone(), key).check().is_err(), "{key:?}");
        }
        let total_of_mail = GroupRef::of(CommandName::new("mail").unwrap(), total.clone());
        assert!(total_of_mail.check_setting(Some("x"), &Setting::default()).is_err());
        assert!(total_of_mail.check_setting(None, &Setting::default()).is_ok());
        assert!(Keys::new().and(total, "x").check().is_err());
        assert!(Keys::new().and(tenant, "åse & co").check().is_ok());
    }
}
