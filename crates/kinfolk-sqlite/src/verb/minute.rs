//! The work of workers, minute by minute, as they recorded it.

use std::time::Duration;

use kinfolk_core::limits::{MINUTES_KEPT, SWEEP_PAGE};
use kinfolk_core::minute::{Figures, Minute, MinuteRecord};
use kinfolk_core::{StoreError, Timestamp, WorkerId};
use rusqlite::Row;

use crate::error::Result;
use crate::readers::Snapshot;
use crate::rows::{span, span_from};
use crate::session::Session;
use crate::verb::worker;

/// Adds what a worker did since its last record to this minute, unless that was done already.
pub(crate) fn record(session: &mut Session<'_>, worker: WorkerId, number: u64, records: &[MinuteRecord]) -> Result<()> {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    let mut taken = session.sql(include_str!("../../sql/worker/minute/recorded.sql"))?;
    if taken.execute((worker.0.as_bytes(), number))? == 0 {
        return match worker::exists(session, worker)? {
            true => Ok(()),
            false => Err(StoreError::LeaseLost { worker }.into()),
        };
    }
    let minute = Minute::of(session.now).as_micros();
    let mut add = session.sql(include_str!("../../sql/worker/minute/add.sql"))?;
    for MinuteRecord { queue, command, figures } in records {
        let known = session.catalogue.queue(queue).ok_or_else(|| StoreError::not_found("queue", queue))?;
        let what = session.catalogue.command(command).ok_or_else(|| StoreError::not_found("command", command))?;
        add.execute((
            minute,
            known.id,
            what.id,
            whole(figures.started),
            span(figures.waited),
            span(figures.waited_max),
            whole(figures.completed),
            whole(figures.failed),
            whole(figures.retried),
            whole(figures.cancelled),
            whole(figures.suspended),
            span(figures.ran),
            span(figures.ran_max),
        ))?;
    }
    Ok(())
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The minutes that began in the span until now.
pub(crate) fn minutes(snapshot: &Snapshot<'_>, back: Duration) -> Result<Vec<Minute>> {
    let since = snapshot.now.minus(back).as_micros();
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/worker/minute/since.sql"))?;
    let mut rows = statement.query([since])?;
    let mut minutes = Vec::new();
    while let Some(row) = rows.next()? {
        minutes.push(Minute {
            at: Timestamp::from_micros(row.get(0)?),
            queue: snapshot.catalogue.queue_name(row.get(1)?)?.clone(),
            command: snapshot.catalogue.command_name(row.get(2)?)?.clone(),
            figures: figures(row)?,
        });
    }
    minutes.sort_by(|a, b| (a.at, &a.queue, &a.command).cmp(&(b.at, &b.queue, &b.command)));
    Ok(minutes)
}

fn figures(row: &Row<'_>) -> rusqlite::Result<Figures> {
    let count = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
    let micros = |index| row.get(index).map(span_from);
    Ok(Figures {
        started: count(3)?,
        waited: micros(4)?,
        waited_max: micros(5)?,
        completed: count(6)?,
        failed: count(7)?,
        retried: count(8)?,
        cancelled: count(9)?,
        suspended: count(10)?,
        ran: micros(11)?,
        ran_max: micros(12)?,
    })
}

/// Removes one page of what is past its time.
pub(crate) fn prune(session: &mut Session<'_>) -> Result<()> {
    let until = session.now.minus(MINUTES_KEPT).as_micros();
    session.sql(include_str!("../../sql/worker/minute/prune.sql"))?.execute((until, SWEEP_PAGE))?;
    Ok(())
}
