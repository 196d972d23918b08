//! The calls of an operator on queues.

use kinfolk_core::{Policy, QueueName, StoreError};

use crate::admission::blocked;
use crate::catalogue::make_queue;
use crate::error::Result;
use crate::limits;
use crate::session::Session;

/// Makes a queue, or changes its policy. A new limit counts what is at work already; it interrupts nothing.
pub(crate) fn set(session: &mut Session<'_>, name: &QueueName, policy: &Policy) -> Result<()> {
    let before = session.catalogue.queue(name).map(|known| known.queue.policy.clone());
    let id = make_queue(session.conn, name, policy)?;
    session.news.catalogue = true;
    let Some(before) = before else { return Ok(()) };
    match (before.family_limit, policy.family_limit) {
        (None, Some(_)) => {
            session.sql(include_str!("../../sql/limits/start_families.sql"))?.execute([id])?;
            find_ready_anew(session, id)?;
        }
        (Some(_), None) => limits::admit_all_families(session, id)?,
        _ => {}
    }
    if before.child_limit.is_none() && policy.child_limit.is_some() {
        session.sql(include_str!("../../sql/limits/start_children.sql"))?.execute([id])?;
    }
    if before.fair != policy.fair {
        sort(session, id, policy)?;
    }
    session.news.queues.insert(id);
    Ok(())
}

/// The tasks of a queue take turns by another key, or by none; the turn begins anew.
fn sort(session: &Session<'_>, queue_id: i64, policy: &Policy) -> Result<()> {
    let path = policy.fair.as_ref().map(|name| format!("$.\"{name}\""));
    session.sql(include_str!("../../sql/turns/sort.sql"))?.execute((queue_id, path))?;
    session.sql(include_str!("../../sql/turns/move_cursor.sql"))?.execute((queue_id, None::<String>))?;
    Ok(())
}

/// Tasks of a queue have come into other lanes: tasks behind keys are looked for there.
fn find_ready_anew(session: &mut Session<'_>, queue_id: i64) -> Result<()> {
    session.sql(include_str!("../../sql/admission/blocked/remove_ready_of_queue.sql"))?.execute([queue_id])?;
    let groups: Vec<i64> = session.catalogue.groups().all().iter().map(|group| group.id).collect();
    groups.into_iter().try_for_each(|group_id| blocked::wake_group(session, group_id))
}

/// Takes nothing more from a queue; the first operator that paused it stays noted.
pub(crate) fn pause(session: &mut Session<'_>, name: &QueueName, by: Option<&str>) -> Result<()> {
    let id = queue_id(session, name)?;
    session.sql(include_str!("../../sql/limits/pause.sql"))?.execute((id, session.micros(), by))?;
    session.news.catalogue = true;
    Ok(())
}

/// Takes from a queue again.
pub(crate) fn resume(session: &mut Session<'_>, name: &QueueName) -> Result<()> {
    let id = queue_id(session, name)?;
    session.sql(include_str!("../../sql/limits/resume.sql"))?.execute([id])?;
    session.news.catalogue = true;
    session.news.queues.insert(id);
    Ok(())
}

fn queue_id(session: &Session<'_>, name: &QueueName) -> Result<i64> {
    let known = session.catalogue.queue(name).ok_or_else(|| StoreError::not_found("queue", name))?;
    Ok(known.id)
}
