//! The whereabouts of a task: its queue and state, its worker and its family. An operator's verbs look at them first.

use kinfolk_core::{State, StoreError, TaskId};

use crate::error::{Result, unreadable};
use crate::family::{Lane, Member};
use crate::session::Session;

/// Where a task is.
pub(crate) struct Whereabouts {
    pub(crate) state: State,
    pub(crate) gate: Option<String>,
    pub(crate) worker: Option<[u8; 16]>,
    pub(crate) parent_id: Option<i64>,
    pub(crate) root_id: i64,
    /// How its own work ended, where that is not how it ended itself.
    pub(crate) outcome: Option<String>,
    /// It has been suspended, and may have children in any state.
    pub(crate) was_suspended: bool,
    pub(crate) member: Member,
}

/// Where a task is that must be there.
pub(crate) fn of(session: &Session<'_>, id: TaskId) -> Result<Whereabouts> {
    Ok(look_up(session, id)?.ok_or_else(|| StoreError::not_found("task", id))?)
}

/// Where a task is, if there is one.
pub(crate) fn look_up(session: &Session<'_>, id: TaskId) -> Result<Option<Whereabouts>> {
    let mut statement = session.sql(include_str!("../../sql/family/whereabouts.sql"))?;
    let mut rows = statement.query([id.0])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let (state, lane): (String, String) = (row.get(0)?, row.get(7)?);
    let lane = Lane::from_word(&lane).ok_or_else(|| unreadable("lane", &lane))?;
    Ok(Some(Whereabouts {
        state: state.parse()?,
        gate: row.get(1)?,
        worker: row.get(2)?,
        parent_id: row.get(5)?,
        root_id: row.get(6)?,
        outcome: row.get(8)?,
        was_suspended: row.get(10)?,
        member: Member { id: id.0, queue_id: row.get(3)?, fan_out_id: row.get(4)?, nth: row.get(9)?, lane },
    }))
}
