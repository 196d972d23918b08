//! Slots: which keys a task has in the groups of its command, and giving back their slots.
//!
//! A slot is a row that names its holder. It is written by the claim and goes in the transaction that ends the attempt, or
//! the task where its group says so. The session remembers freed keys, and wakes them once when the call is over.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::error::{Result, unreadable};
use crate::known_group::DeclaredGroup;
use crate::session::Session;

/// The keys that a task was given, by the names of groups.
pub(crate) struct GivenKeys(BTreeMap<String, String>);

impl GivenKeys {
    /// Reads them as they are stored.
    pub(crate) fn read(text: Option<&str>) -> Result<Self> {
        let keys = text.map(|text| serde_json::from_str(text).map_err(|_| unreadable("keys", text))).transpose()?;
        Ok(Self(keys.unwrap_or_default()))
    }

    /// The key in a group: always the empty one in a total, elsewhere perhaps none.
    pub(crate) fn of(&self, group: &DeclaredGroup) -> Option<&str> {
        if group.is_total { Some("") } else { self.0.get(group.name.as_str()).map(String::as_str) }
    }
}

/// A task gives back the slots it holds: all when it is terminal, else only slots that are held for no longer than an
/// attempt. Whether it holds some still.
pub(crate) fn give_back(
    session: &mut Session<'_>,
    id: i64,
    command_id: i64,
    keys: Option<&str>,
    terminal: bool,
) -> Result<bool> {
    let keys = GivenKeys::read(keys)?;
    let mut statement = match session.give_back.take() {
        Some(statement) => statement,
        None => session.sql(include_str!("../sql/slots/give_back.sql"))?,
    };
    let mut holds_some = false;
    for group in session.catalogue.groups_of(command_id) {
        let Some(key) = keys.of(group) else { continue };
        if group.hold && !terminal {
            holds_some = holds_some || holds(session, group.id, key, id)?;
        } else if statement.execute((group.id, key, id))? > 0 {
            session.free(group.id, key);
        }
    }
    session.give_back = Some(statement);
    Ok(holds_some)
}

/// How many tasks hold a slot of a key.
pub(crate) fn held(conn: &Connection, group_id: i64, key: &str) -> Result<u64> {
    let mut statement = conn.prepare_cached(include_str!("../sql/slots/held.sql"))?;
    Ok(statement.query_row((group_id, key), |row| row.get(0))?)
}

/// Whether a task holds a slot of a key.
pub(crate) fn holds(session: &Session<'_>, group_id: i64, key: &str, id: i64) -> Result<bool> {
    Ok(session.sql(include_str!("../sql/slots/holds.sql"))?.exists((group_id, key, id))?)
}

/// The holders of a slot of a key among a task and the tasks above it.
pub(crate) fn held_above(conn: &Connection, group_id: i64, key: &str, id: i64) -> Result<Vec<i64>> {
    let mut statement = conn.prepare_cached(include_str!("../sql/slots/above.sql"))?;
    Ok(statement.query_map((group_id, key, id), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}
