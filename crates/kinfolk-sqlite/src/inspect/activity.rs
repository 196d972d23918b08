//! Whether anything is going on among a set of commands, and the statuses that keep an eye on it.

use std::collections::BTreeSet;

use kinfolk_core::{CommandName, Status, StatusName, Timestamp};
use rusqlite::{Connection, Row};

use crate::catalogue::Catalogue;
use crate::error::{Result, unreadable};
use crate::rows;

/// The activity of commands; looked up for each command as it is needed.
pub(crate) struct Activity<'a> {
    conn: &'a Connection,
    catalogue: &'a Catalogue,
    running: BTreeSet<i64>,
}

impl<'a> Activity<'a> {
    /// Looks which commands run.
    pub(crate) fn new(conn: &'a Connection, catalogue: &'a Catalogue) -> Result<Self> {
        let mut statement = conn.prepare_cached(include_str!("../../sql/operate/status/running.sql"))?;
        let running = statement.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(Self { conn, catalogue, running })
    }

    /// Whether a task of one of these commands is at work or ready to be. Unknown commands have no tasks.
    pub(crate) fn among(&self, commands: &[CommandName]) -> Result<bool> {
        for command in commands.iter().filter_map(|name| self.catalogue.command(name)) {
            if self.running.contains(&command.id) || self.is_ready(command.id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_ready(&self, command_id: i64) -> Result<bool> {
        let mut statement = self.conn.prepare_cached(include_str!("../../sql/operate/status/ready.sql"))?;
        for queue in self.catalogue.queues() {
            if statement.query_row((queue.id, command_id), |row| row.get(0))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// All statuses, by name, as they were last looked at.
pub(crate) fn statuses(conn: &Connection) -> Result<Vec<Status>> {
    let mut statement = conn.prepare_cached(include_str!("../../sql/operate/status/all.sql"))?;
    let rows = statement.query_map((), |row| Ok(from_row(row)))?;
    rows.collect::<rusqlite::Result<Result<_>>>()?
}

/// The turns of statuses since they were last looked at, the last of each as it is at this moment. One that is idle as it was,
/// and of whose commands tasks were started meanwhile, was active in between.
pub(crate) fn turned(conn: &Connection, catalogue: &Catalogue, now: Timestamp) -> Result<Vec<Status>> {
    let known = statuses(conn)?;
    if known.is_empty() {
        return Ok(known);
    }
    let mut statement = conn.prepare_cached(include_str!("../../sql/operate/status/started.sql"))?;
    let started: BTreeSet<i64> = statement.query_map((), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let activity = Activity::new(conn, catalogue)?;
    let mut turned = Vec::new();
    for status in known {
        let is_active = activity.among(&status.commands)?;
        let mut commands = status.commands.iter().filter_map(|name| catalogue.command(name));
        let turn = |active| Status { active, changed_at: now, ..status.clone() };
        if is_active != status.active {
            turned.push(turn(is_active));
        } else if !is_active && commands.any(|command| started.contains(&command.id)) {
            turned.extend([turn(true), turn(false)]);
        }
    }
    Ok(turned)
}

fn from_row(row: &Row<'_>) -> Result<Status> {
    let (name, commands): (String, String) = (row.get("name")?, row.get("commands")?);
    Ok(Status {
        name: StatusName::new(&name)?,
        commands: serde_json::from_str(&commands).map_err(|_| unreadable("commands of a status", &commands))?,
        active: row.get("active")?,
        changed_at: rows::moment(row, "changed_at")?,
    })
}
