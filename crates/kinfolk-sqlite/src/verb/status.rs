//! Statuses: whether anything is going on among a set of commands, for a front end that shows it.

use kinfolk_core::{CommandName, Json, Status, StatusName, StoreError};

use crate::error::Result;
use crate::look::activity::{Activity, turned};
use crate::session::Session;

/// Makes a status, or changes what it watches, and looks at it at once.
pub(crate) fn put(session: &mut Session<'_>, name: &StatusName, commands: &[CommandName]) -> Result<()> {
    let active = Activity::new(session.conn, session.catalogue)?.among(commands)?;
    let mut statement = session.sql(include_str!("../../sql/status/put.sql"))?;
    statement.execute((name.as_str(), Json::of(commands)?.as_str(), active, session.micros()))?;
    Ok(())
}

/// Removes a status.
pub(crate) fn remove(session: &mut Session<'_>, name: &StatusName) -> Result<()> {
    match session.sql(include_str!("../../sql/status/remove.sql"))?.execute([name.as_str()])? {
        0 => Err(StoreError::not_found("status", name).into()),
        _ => Ok(()),
    }
}

/// Looks at every status again, and gives back those that have turned.
pub(crate) fn refresh(session: &mut Session<'_>) -> Result<Vec<Status>> {
    let turned = turned(session.conn, session.catalogue, session.now)?;
    let mut statement = session.sql(include_str!("../../sql/status/put.sql"))?;
    for status in &turned {
        let commands = Json::of(&status.commands)?;
        statement.execute((status.name.as_str(), commands.as_str(), status.active, session.micros()))?;
    }
    Ok(turned)
}
