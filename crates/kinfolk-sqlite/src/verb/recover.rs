//! Recovering the tasks of lost workers: of a worker whose lease has run out, and of one whose process is dead.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{Recovered, State, StoreError, WorkerId};
use rusqlite::OptionalExtension;

use crate::error::Result;
use crate::rows::worker_from;
use crate::session::Session;
use crate::verb::{cancel, settle, worker};

/// Recovers one page of the tasks of lost workers. A lease is judged only by a worker that is itself steady; a dead
/// process needs no judge.
pub(crate) fn recover(session: &mut Session<'_>, judge: WorkerId) -> Result<Recovered> {
    let mut statement = session.sql(include_str!("../../sql/worker/recover/judge.sql"))?;
    let steady: Option<bool> =
        statement.query_row((judge.0.as_bytes(), session.micros()), |row| row.get(0)).optional()?;
    let steady = steady.ok_or(StoreError::LeaseLost { worker: judge })?;
    let mut statement = session.sql(include_str!("../../sql/worker/recover/others.sql"))?;
    let others: Vec<(WorkerId, bool)> = statement
        .query_map((judge.0.as_bytes(), session.micros()), |row| Ok((worker_from(row.get(0)?), row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut lost = others;
    lost.retain(|(worker, late)| (steady && *late) || session.locks.is_dead(*worker));
    sweep(session, lost.into_iter().map(|(worker, _)| worker))
}

/// Recovers one page of the tasks of workers whose process is dead; the calling worker need not have been steady for that.
pub(crate) fn recover_dead(session: &mut Session<'_>, dead: &[WorkerId]) -> Result<Recovered> {
    let mut lost = dead.to_vec();
    lost.retain(|worker| session.locks.is_dead(*worker));
    sweep(session, lost.into_iter())
}

fn sweep(session: &mut Session<'_>, lost: impl Iterator<Item = WorkerId>) -> Result<Recovered> {
    let mut recovered = Recovered::default();
    let mut left = SWEEP_PAGE;
    for lost in lost {
        let tasks = worker::running(session, lost, left + 1)?;
        recovered.more |= tasks.len() > left;
        for id in tasks.iter().take(left) {
            match settle::lose(session, *id)? {
                Some(State::Failed) => recovered.poisoned += 1,
                Some(State::Cancelled) => recovered.cancelled += 1,
                _ => recovered.returned += 1,
            }
        }
        if tasks.len() <= left {
            worker::remove(session, lost)?;
            recovered.workers += 1;
        }
        left -= tasks.len().min(left);
    }
    cancel::doomed(session)?;
    Ok(recovered)
}
