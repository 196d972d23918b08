//! Making commands known. Registering what is known already writes nothing.

use kinfolk_core::{Command, Policy, QueueName, StoreError};

use crate::catalogue::make_queue;
use crate::error::Result;
use crate::rows::span;
use crate::session::Session;
use crate::verb::group;

/// Makes commands known, or changes their defaults; missing queues are made with default policy.
pub(crate) fn register(session: &mut Session<'_>, commands: &[Command]) -> Result<()> {
    if commands.iter().any(|command| command.handler.is_some()) {
        return Err(StoreError::Unsupported {
            store: "sqlite",
            ability: "a handler written in SQL",
            remedy: "handle the command in Rust, or use PostgreSQL",
        }
        .into());
    }
    let mut made: Vec<(QueueName, i64)> = Vec::new();
    for command in commands {
        let known = session.catalogue.command(&command.name);
        if session.news.catalogue || known.is_none_or(|known| differs(&known.command, command)) {
            let queue_id = queue_id(session, &mut made, &command.queue)?;
            let id = put(session, command, queue_id)?;
            if let Some(groups) = &command.groups {
                group::declare(session, id, groups)?;
            }
        }
    }
    Ok(())
}

/// Whether a command is to be something else than what is known. Groups and a label that are not spoken of stay.
fn differs(known: &Command, command: &Command) -> bool {
    let groups = match &command.groups {
        None => known.groups.clone(),
        Some(groups) => Some(groups.clone()).filter(|groups| !groups.0.is_empty()),
    };
    let label = command.label.clone().or(known.label.clone()).filter(|path| !path.is_none());
    *known != Command { groups, label, ..command.clone() }
}

fn queue_id(session: &mut Session<'_>, made: &mut Vec<(QueueName, i64)>, name: &QueueName) -> Result<i64> {
    if let Some(known) = session.catalogue.queue(name) {
        return Ok(known.id);
    }
    if let Some((_, id)) = made.iter().find(|(queue, _)| queue == name) {
        return Ok(*id);
    }
    let id = make_queue(session.conn, name, &Policy::default())?;
    session.news.catalogue = true;
    made.push((name.clone(), id));
    Ok(id)
}

/// Writes a command; its number.
fn put(session: &mut Session<'_>, command: &Command, queue_id: i64) -> Result<i64> {
    session.news.catalogue = true;
    let columns = (
        command.name.as_str(),
        queue_id,
        command.priority,
        command.retry.max_attempts,
        command.retry.base_ms,
        command.retry.cap_ms,
        command.retry.jitter_pct,
        command.timeout.map(span),
        command.retry.max_strikes,
        command.label.as_ref().map(ToString::to_string),
    );
    let mut statement = session.sql(include_str!("../../sql/register/make_command.sql"))?;
    Ok(statement.query_row(columns, |row| row.get(0))?)
}
