//! Enqueueing inside a transaction of the caller's own, on the file that a store has.

use std::collections::BTreeMap;
use std::sync::Arc;

use kinfolk_core::store::Answer;
use kinfolk_core::{Enqueued, NewTask, Timestamp};
use rusqlite::Connection;

use crate::catalogue::Catalogue;
use crate::clock::{StoreClock, SystemClock};
use crate::error::Result;
use crate::family::fan_out::FanOuts;
use crate::locks::Locks;
use crate::migrate::refuse_theirs;
use crate::session::{News, Session};
use crate::store::check_batch;
use crate::verb::enqueue;

/// The waker number of a caller that is no open store: every store hears it.
pub(crate) const NOBODY: i64 = 0;

/// Enqueues tasks on the caller's connection: inside its transaction they exist if, and only if, that commits; outside of one they
/// exist at once. The connection must be on a file that a store has opened before. Workers of all processes notice the commit
/// within milliseconds. A task whose command, queue or group is not there is an error,
/// [`kinfolk_core::StoreError::Rejected`]; then nothing was written, and the transaction can go on.
///
/// Begin the transaction as `immediate`: one that has read before it writes is refused by SQLite, as
/// [`kinfolk_core::StoreError::Busy`], if another connection has written meanwhile.
pub fn enqueue_in(connection: &Connection, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    check_batch(tasks)?;
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    Ok(undone_on_error(connection, || enqueue_all(connection, tasks))?)
}

fn enqueue_all(connection: &Connection, tasks: &[NewTask]) -> Result<Vec<Enqueued>> {
    refuse_theirs(connection)?;
    // A write first, so that no other writer comes between the reads and the writes.
    connection.execute_batch(include_str!("../sql/base/touch.sql"))?;
    let (clock, mut last_task) = {
        let mut statement = connection.prepare_cached(include_str!("../sql/base/read.sql"))?;
        statement.query_row((), |row| Ok((row.get::<_, i64>("clock")?, row.get::<_, i64>("last_task")?)))?
    };
    let (catalogue, now) = (Catalogue::load(connection)?, not_before(clock));
    let mut session = Session {
        conn: connection,
        now,
        catalogue: &catalogue,
        locks: &Locks::none(),
        last_task: &mut last_task,
        fan_outs: FanOuts::default(),
        freed: BTreeMap::new(),
        doomed: Vec::new(),
        give_back: None,
        news: News::default(),
    };
    let answers = enqueue::enqueue_all(&mut session, tasks)?;
    session.keep()?;
    let News { queues, .. } = std::mem::take(&mut session.news);
    drop(session);
    let mut write = connection.prepare_cached(include_str!("../sql/base/write.sql"))?;
    write.execute((now.as_micros(), last_task, 0, 0))?;
    let mut wake = connection.prepare_cached(include_str!("../sql/base/wake.sql"))?;
    for queue in queues {
        wake.execute((queue, NOBODY))?;
    }
    Ok(answers)
}

/// The time now, which is never before the one in the file.
pub(crate) fn not_before(stored: i64) -> Timestamp {
    let clock = StoreClock::new(Arc::new(SystemClock));
    clock.raise(Timestamp::from_micros(stored));
    clock.now()
}

/// All of it, or nothing, inside whatever transaction there is.
fn undone_on_error<T>(connection: &Connection, act: impl FnOnce() -> Result<T>) -> Result<T> {
    connection.execute_batch("savepoint kinfolk_enqueue")?;
    let done = act();
    if done.is_err() {
        connection.execute_batch("rollback to kinfolk_enqueue")?;
    }
    connection.execute_batch("release kinfolk_enqueue")?;
    done
}
