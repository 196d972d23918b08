//! Groups and keys, as they are shown.

use std::collections::{BTreeMap, BTreeSet};

use kinfolk_core::limits::{HOLDERS_SHOWN_MAX, PAGE_MAX};
use kinfolk_core::{Command, CommandName, GroupName, GroupRef, GroupView, Groups, KeyFilter, KeyView};

use super::group::{GroupRow, KeyOf};
use super::{Engine, Row};

impl Engine {
    pub(super) fn commands_shown(&self) -> Vec<Command> {
        let shown = |command: &Command| Command { groups: self.groups_of(&command.name), ..command.clone() };
        self.commands.values().map(shown).collect()
    }

    fn groups_of(&self, command: &CommandName) -> Option<Groups> {
        let spec = |(name, group): (&GroupName, &GroupRef)| (name.clone(), self.groups[group].spec.clone());
        let groups: BTreeMap<_, _> = self.declared.get(command)?.iter().map(spec).collect();
        (!groups.is_empty()).then_some(Groups(groups))
    }

    pub(super) fn groups_shown(&self) -> Vec<GroupView> {
        let declaring = |group: &GroupRef| {
            let all = self.declared.iter().filter(|(_, declared)| declared.values().any(|other| other == group));
            all.map(|(command, _)| command.clone()).collect()
        };
        let shown = |(group, row): (&GroupRef, &GroupRow)| GroupView {
            group: group.clone(),
            commands: declaring(group),
            declared: row.spec.clone(),
            set: row.set,
            keys: row.keys.clone(),
        };
        self.groups.iter().map(shown).collect()
    }

    pub(super) fn keys_shown(&self, filter: &KeyFilter) -> Vec<KeyView> {
        let mut in_use: BTreeSet<KeyOf> = self.tasks.values().filter_map(|row| row.behind.clone()).collect();
        for (group, row) in &self.groups {
            let keys = row.held.keys().chain(row.spent.keys());
            in_use.extend(keys.map(|key| (group.clone(), key.clone())));
        }
        let matches = |key: &KeyOf| {
            filter.group.as_ref().is_none_or(|group| key.0 == *group) && filter.after.as_ref() < Some(key)
        };
        let keys = in_use.into_iter().filter(matches).map(|key| self.key_shown(key));
        let keys = keys.filter(|key| key.held > 0 || key.waiters > 0 || key.until.is_some());
        keys.filter(|key| !filter.blocking || key.waiters > 0).take(filter.limit.clamp(1, PAGE_MAX)).collect()
    }

    fn key_shown(&self, (group, key): KeyOf) -> KeyView {
        let row = &self.groups[&group];
        let mut holders = row.holders(&key);
        let held = holders.len() as u64;
        holders.truncate(HOLDERS_SHOWN_MAX);
        let waits = |row: &&Row| row.behind.as_ref().is_some_and(|(other, behind)| *other == group && *behind == key);
        let waiters = self.tasks.values().filter(waits).count() as u64;
        let (limit, until) = (row.limit(&key), row.until(&key, self.now));
        KeyView { group, key, limit, held, holders, waiters, until }
    }
}
