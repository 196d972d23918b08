//! The writer's memory of groups: what each allows, and which command declares which.

use std::collections::HashMap;

use kinfolk_core::group::TOTAL;
use kinfolk_core::{CommandName, GroupName, GroupRef, GroupSpec, Groups, Rate, Setting};
use rusqlite::{Connection, Row};

use crate::error::Result;
use crate::rows::{span, span_from};

/// A group with its number.
pub(crate) struct KnownGroup {
    pub(crate) id: i64,
    pub(crate) group: GroupRef,
    pub(crate) declared: GroupSpec,
    /// The setting for all its keys.
    pub(crate) set: Setting,
    /// Whether anything is set for single keys.
    pub(crate) has_settings: bool,
}

/// A group as a command declares it.
pub(crate) struct DeclaredGroup {
    pub(crate) name: GroupName,
    pub(crate) id: i64,
    /// A slot is held until the task is terminal.
    pub(crate) hold: bool,
    /// The command's own total, which every task of it is in.
    pub(crate) is_total: bool,
}

/// All groups.
#[derive(Default)]
pub(crate) struct KnownGroups {
    groups: HashMap<i64, KnownGroup>,
    declared: HashMap<i64, Vec<DeclaredGroup>>,
}

impl KnownGroups {
    /// Everything as it is in the file.
    pub(crate) fn load(conn: &Connection) -> Result<Self> {
        let mut known = Self::default();
        let mut statement = conn.prepare_cached(include_str!("../sql/register/groups.sql"))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let group = group(row)?;
            known.groups.insert(group.id, group);
        }
        let mut statement = conn.prepare_cached(include_str!("../sql/register/declared.sql"))?;
        let mut rows = statement.query(())?;
        while let Some(row) = rows.next()? {
            let (command_id, id): (i64, i64) = (row.get(0)?, row.get(2)?);
            let name = GroupName::new(&row.get::<_, String>(1)?)?;
            let hold = known.groups.get(&id).is_some_and(|group| group.declared.hold);
            let is_total = name.as_str() == TOTAL;
            known.declared.entry(command_id).or_default().push(DeclaredGroup { name, id, hold, is_total });
        }
        Ok(known)
    }

    pub(crate) fn by_id(&self, id: i64) -> Option<&KnownGroup> {
        self.groups.get(&id)
    }

    pub(crate) fn of_command(&self, command_id: i64) -> &[DeclaredGroup] {
        self.declared.get(&command_id).map_or(&[], Vec::as_slice)
    }

    /// The group that is spoken of.
    pub(crate) fn find(&self, group: &GroupRef) -> Option<&KnownGroup> {
        self.groups.values().find(|known| known.group == *group)
    }

    /// All groups: the shared ones by name, then those of commands by command and name.
    pub(crate) fn all(&self) -> Vec<&KnownGroup> {
        let mut all: Vec<_> = self.groups.values().collect();
        all.sort_by(|one, other| one.group.cmp(&other.group));
        all
    }

    /// The commands that declare a group.
    pub(crate) fn declarers(&self, group_id: i64) -> impl Iterator<Item = i64> {
        let declares = move |(&command_id, groups): (&i64, &Vec<DeclaredGroup>)| {
            groups.iter().any(|group| group.id == group_id).then_some(command_id)
        };
        self.declared.iter().filter_map(declares)
    }

    /// The groups that a command declares, as it is registered.
    pub(crate) fn declared_by(&self, command_id: i64) -> Option<Groups> {
        let groups = self.declared.get(&command_id)?.iter();
        let specs = groups.filter_map(|group| Some((group.name.clone(), self.groups.get(&group.id)?.declared.clone())));
        Some(Groups(specs.collect()))
    }
}

impl KnownGroup {
    /// The limits of a key, with this setting for it.
    fn allows(&self, key: Option<&Setting>) -> Setting {
        Setting {
            limit: key.and_then(|key| key.limit).or(self.set.limit).or(self.declared.limit),
            rate: key.and_then(|key| key.rate).or(self.set.rate).or(self.declared.rate),
        }
    }

    /// The limits of a key.
    pub(crate) fn allows_now(&self, conn: &Connection, key: &str) -> Result<Setting> {
        Ok(self.allows(self.setting(conn, key)?.as_ref()))
    }

    /// The setting for one key, if there is one.
    fn setting(&self, conn: &Connection, key: &str) -> Result<Option<Setting>> {
        if !self.has_settings {
            return Ok(None);
        }
        let mut statement = conn.prepare_cached(include_str!("../sql/groups/setting.sql"))?;
        let mut rows = statement.query((self.id, key))?;
        Ok(rows.next()?.map(|row| setting_from(row, 0)).transpose()?)
    }
}

/// A setting, from four columns from this one on.
pub(crate) fn setting_from(row: &Row<'_>, first: usize) -> rusqlite::Result<Setting> {
    let rate = match row.get::<_, Option<u32>>(first + 1)? {
        None => None,
        Some(count) => Some(Rate { count, per: span_from(row.get(first + 2)?), burst: row.get(first + 3)? }),
    };
    Ok(Setting { limit: row.get(first)?, rate })
}

/// A setting, as four parameters: slots, and the three parts of the rate.
pub(crate) type AllowedColumns = (Option<u32>, Option<u32>, Option<i64>, Option<u32>);

/// A setting as it is stored.
pub(crate) fn columns(limit: Option<u32>, rate: Option<Rate>) -> AllowedColumns {
    (limit, rate.map(|rate| rate.count), rate.map(|rate| span(rate.per)), rate.map(|rate| rate.burst))
}

fn group(row: &Row<'_>) -> Result<KnownGroup> {
    let name = GroupName::new(&row.get::<_, String>("name")?)?;
    let command = row.get::<_, Option<String>>("command")?.map(|name| CommandName::new(&name)).transpose()?;
    let declared = setting_from(row, 3)?;
    let spec =
        GroupSpec { limit: declared.limit, rate: declared.rate, hold: row.get("hold")?, shared: command.is_none() };
    Ok(KnownGroup {
        id: row.get("id")?,
        group: GroupRef { command, name },
        declared: spec,
        set: setting_from(row, 8)?,
        has_settings: row.get("has_settings")?,
    })
}
