//! Becoming a worker, staying one, and leaving.

use kinfolk_core::{Heartbeat, Json, Outcome, StoreError, TaskId, Token, WorkerId, WorkerSpec};
use uuid::Uuid;

use crate::error::Result;
use crate::rows::span;
use crate::session::Session;
use crate::verb::settle;

/// Whether a worker is registered.
pub(crate) fn exists(session: &Session<'_>, worker: WorkerId) -> Result<bool> {
    Ok(session.sql(include_str!("../../sql/worker/exists.sql"))?.exists([worker.0.as_bytes()])?)
}

/// Registers a worker, or the same one once more.
pub(crate) fn register(session: &mut Session<'_>, worker: &WorkerSpec) -> Result<()> {
    session.sql(include_str!("../../sql/worker/register.sql"))?.execute((
        worker.id.0.as_bytes(),
        worker.name.as_str(),
        Json::of(&worker.queues)?.as_str(),
        Json::of(&worker.commands)?.as_str(),
        span(worker.lease),
        session.micros(),
        session.now.plus(worker.lease).as_micros(),
        worker.version.as_str(),
    ))?;
    Ok(())
}

/// Renews a lease, and says which tasks should end.
pub(crate) fn heartbeat(session: &mut Session<'_>, worker: WorkerId) -> Result<Heartbeat> {
    let mut renew = session.sql(include_str!("../../sql/worker/heartbeat.sql"))?;
    if renew.execute((worker.0.as_bytes(), session.micros()))? == 0 {
        return Err(StoreError::LeaseLost { worker }.into());
    }
    let mut statement = session.sql(include_str!("../../sql/worker/cancels.sql"))?;
    let cancel = statement
        .query_map([worker.0.as_bytes()], |row| Ok((TaskId(row.get(0)?), Token(Uuid::from_bytes(row.get(1)?)))))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Heartbeat { cancel })
}

/// Releases what a worker still has, and removes it. Leaving twice is no mistake.
pub(crate) fn leave(session: &mut Session<'_>, worker: WorkerId) -> Result<()> {
    for id in running(session, worker, usize::MAX)? {
        settle::apply(session, id, &Outcome::Release)?;
    }
    remove(session, worker)
}

/// The numbers of the tasks a worker has, so many at most.
pub(crate) fn running(session: &Session<'_>, worker: WorkerId, page: usize) -> Result<Vec<TaskId>> {
    let mut statement = session.sql(include_str!("../../sql/worker/running.sql"))?;
    let page = i64::try_from(page).unwrap_or(i64::MAX);
    let ids = statement.query_map((worker.0.as_bytes(), page), |row| Ok(TaskId(row.get(0)?)))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Removes a worker that has nothing more.
pub(crate) fn remove(session: &mut Session<'_>, worker: WorkerId) -> Result<()> {
    session.sql(include_str!("../../sql/worker/remove.sql"))?.execute([worker.0.as_bytes()])?;
    session.news.gone.push(worker);
    Ok(())
}
