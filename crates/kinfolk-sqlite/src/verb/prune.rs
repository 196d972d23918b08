//! Retention: finished tasks that are past their time go, with their attempts, oldest first, one page at a time.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{State, Timestamp};

use crate::error::Result;
use crate::session::Session;

/// Removes one page of what is past its retention, and says how many tasks went.
pub(crate) fn prune(session: &mut Session<'_>) -> Result<u64> {
    let mut past: Vec<(i64, i64)> = Vec::new();
    for known in session.catalogue.queues() {
        let keep = &known.queue.policy.retention;
        let spans =
            [(State::Completed, keep.completed), (State::Failed, keep.failed), (State::Cancelled, keep.cancelled)];
        for (state, span) in spans {
            if let Some(span) = span {
                past.extend(ended_before(session, known.id, state, session.now.minus(span))?);
            }
        }
    }
    past.sort_unstable();
    past.truncate(SWEEP_PAGE);
    let mut attempts = session.sql(include_str!("../../sql/prune/attempts.sql"))?;
    let mut payload = session.sql(include_str!("../../sql/prune/payload.sql"))?;
    let mut task = session.sql(include_str!("../../sql/prune/task.sql"))?;
    for (_, id) in &past {
        attempts.execute([id])?;
        payload.execute([id])?;
        task.execute([id])?;
    }
    Ok(past.len() as u64)
}

/// The first page of what ended in a state up to a moment: when it ended, and its number.
fn ended_before(session: &Session<'_>, queue_id: i64, state: State, moment: Timestamp) -> Result<Vec<(i64, i64)>> {
    let mut statement = session.sql(include_str!("../../sql/prune/past.sql"))?;
    let rows = statement
        .query_map((queue_id, state.as_str(), moment.as_micros(), SWEEP_PAGE), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
