//! The audit log.

use kinfolk_core::Timestamp;
use kinfolk_core::audit::{Audit, Audited};
use kinfolk_core::limits::{AUDIT_KEPT, PAGE_MAX, SWEEP_PAGE};

use crate::error::Result;
use crate::readers::Snapshot;
use crate::session::Session;

/// Writes an entry.
pub(crate) fn write(session: &Session<'_>, entry: &Audit) -> Result<()> {
    let Audit { who, what, subject, tasks } = entry;
    let tasks = i64::try_from(*tasks).unwrap_or(i64::MAX);
    session.sql(include_str!("../../sql/operate/audit/insert.sql"))?.execute((
        session.micros(),
        who,
        what,
        subject,
        tasks,
    ))?;
    Ok(())
}

/// Removes one page of what is past its time.
pub(crate) fn prune(session: &mut Session<'_>) -> Result<()> {
    let until = session.now.minus(AUDIT_KEPT).as_micros();
    session.sql(include_str!("../../sql/operate/audit/prune.sql"))?.execute((until, SWEEP_PAGE))?;
    Ok(())
}

/// A page, newest first.
pub(crate) fn page(snapshot: &Snapshot<'_>, before: Option<i64>, limit: usize) -> Result<Vec<Audited>> {
    let mut statement = snapshot.conn.prepare_cached(include_str!("../../sql/operate/audit/page.sql"))?;
    let rows = statement.query_map((before.unwrap_or(i64::MAX), limit.min(PAGE_MAX)), |row| {
        let audit = Audit {
            who: row.get(2)?,
            what: row.get(3)?,
            subject: row.get(4)?,
            tasks: row.get::<_, i64>(5)?.unsigned_abs(),
        };
        Ok(Audited { id: row.get(0)?, at: Timestamp::from_micros(row.get(1)?), audit })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
