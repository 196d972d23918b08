//! Statuses: whether anything is going on among a set of commands, for a front end that shows it.

use std::collections::BTreeSet;

use kinfolk_core::{ClaimedTask, CommandName, Json, Status, StatusName, StoreError};

use crate::error::Result;
use crate::inspect::activity::{self, Activity, turned};
use crate::session::Session;

/// Makes a status, or changes what it watches, and looks at it at once.
pub(crate) fn put(session: &mut Session<'_>, name: &StatusName, commands: &[CommandName]) -> Result<()> {
    let active = Activity::new(session.conn, session.catalogue)?.among(commands)?;
    let mut statement = session.sql(include_str!("../../sql/operate/status/put.sql"))?;
    statement.execute((name.as_str(), Json::of(commands)?.as_str(), active, session.micros()))?;
    Ok(())
}

/// Removes a status.
pub(crate) fn remove(session: &mut Session<'_>, name: &StatusName) -> Result<()> {
    if session.sql(include_str!("../../sql/operate/status/remove.sql"))?.execute([name.as_str()])? == 0 {
        return Err(StoreError::not_found("status", name).into());
    }
    if activity::statuses(session.conn)?.is_empty() {
        session.sql(include_str!("../../sql/operate/status/forget_started.sql"))?.execute(())?;
    }
    Ok(())
}

/// Looks at every status again, and gives back their turns: both, where one was active since the last look and is idle again.
pub(crate) fn refresh(session: &mut Session<'_>) -> Result<Vec<Status>> {
    let turned = turned(session.conn, session.catalogue, session.now)?;
    let mut statement = session.sql(include_str!("../../sql/operate/status/turn.sql"))?;
    for status in &turned {
        statement.execute((status.name.as_str(), status.active, session.micros()))?;
    }
    session.sql(include_str!("../../sql/operate/status/forget_started.sql"))?.execute(())?;
    Ok(turned)
}

/// Notes for the next look that tasks of these commands were started.
pub(crate) fn tell_statuses<'t>(session: &Session<'_>, tasks: impl IntoIterator<Item = &'t ClaimedTask>) -> Result<()> {
    let commands: BTreeSet<&CommandName> = tasks.into_iter().map(|task| &task.command).collect();
    let mut statement = session.sql(include_str!("../../sql/operate/status/tell.sql"))?;
    for command in commands {
        let id = session.catalogue.command(command).map(|known| known.id);
        statement.execute((id, command.as_str()))?;
    }
    Ok(())
}
