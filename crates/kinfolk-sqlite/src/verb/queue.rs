//! What an operator does to queues.

use kinfolk_core::{Policy, QueueName, StoreError};

use crate::catalogue::make_queue;
use crate::error::Result;
use crate::session::Session;
use crate::verb::admit;

/// Makes a queue, or changes its policy. A new limit counts what is at work already; it interrupts nothing.
pub(crate) fn set(session: &mut Session<'_>, name: &QueueName, policy: &Policy) -> Result<()> {
    let before = session.catalogue.queue(name).map(|known| known.queue.policy);
    let id = make_queue(session.conn, name, policy)?;
    session.news.catalogue = true;
    let Some(before) = before else { return Ok(()) };
    match (before.family_limit, policy.family_limit) {
        (None, Some(_)) => {
            session.sql(include_str!("../../sql/queue/start_families.sql"))?.execute([id])?;
        }
        (Some(_), None) => admit::admit_all(session, id)?,
        _ => {}
    }
    if before.child_limit.is_none() && policy.child_limit.is_some() {
        session.sql(include_str!("../../sql/queue/start_children.sql"))?.execute([id])?;
    }
    session.news.queues.insert(id);
    Ok(())
}

/// Takes nothing more from a queue.
pub(crate) fn pause(session: &mut Session<'_>, name: &QueueName) -> Result<()> {
    let id = queue_id(session, name)?;
    session.sql(include_str!("../../sql/queue/pause.sql"))?.execute((id, session.micros()))?;
    session.news.catalogue = true;
    Ok(())
}

/// Takes from a queue again.
pub(crate) fn resume(session: &mut Session<'_>, name: &QueueName) -> Result<()> {
    let id = queue_id(session, name)?;
    session.sql(include_str!("../../sql/queue/resume.sql"))?.execute([id])?;
    session.news.catalogue = true;
    session.news.queues.insert(id);
    Ok(())
}

fn queue_id(session: &Session<'_>, name: &QueueName) -> Result<i64> {
    let known = session.catalogue.queue(name).ok_or_else(|| StoreError::not_found("queue", name))?;
    Ok(known.id)
}
