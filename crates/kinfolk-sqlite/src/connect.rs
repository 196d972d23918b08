//! Opening connections to the file, and waiting for other processes.

use std::path::Path;
use std::time::{Duration, Instant};

use kinfolk_core::StoreError;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Fault, Result, is_busy};
use crate::options::Options;

/// The oldest SQLite that does not lose data when the write-ahead log starts over.
const SQLITE_OLDEST: i32 = 3_051_003;
/// Statements kept prepared on each connection; more than there are.
const STATEMENTS: usize = 256;
/// Memory for pages on each connection, in KiB.
const CACHE_KIB: i64 = 16 * 1024;
/// Pages that may gather in the write-ahead log before they are copied into the file.
pub(crate) const CHECKPOINT_PAGES: u64 = 4_000;

/// Bytes of the write-ahead log that are kept on the disk for the next writes, once it has been copied.
const LOG_KEPT: i64 = 64 * 1024 * 1024;

const PAUSE_FIRST: Duration = Duration::from_micros(200);
const PAUSE_LONGEST: Duration = Duration::from_millis(5);

/// The writer's connection. While the file is opened it waits inside SQLite; [`hurry`] ends that.
pub(crate) fn writer(path: &Path, options: &Options) -> Result<Connection> {
    refuse_old_sqlite(rusqlite::version_number())?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    // First of all: even a setting reads the file, which another process may be closing this moment.
    conn.busy_timeout(options.busy_timeout)?;
    settings(&conn)?;
    conn.pragma_update(None, "synchronous", options.synchronous.as_str())?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    conn.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
    if conn.is_readonly(rusqlite::MAIN_DB)? {
        return Err(StoreError::ReadOnly { detail: path.display().to_string() }.into());
    }
    Ok(conn)
}

/// From now on the connection does not wait inside SQLite, whose pauses grow long: [`patiently`] does.
pub(crate) fn hurry(conn: &Connection) -> Result<()> {
    Ok(conn.busy_timeout(Duration::ZERO)?)
}

/// A connection that reads, beside the writer.
pub(crate) fn reader(path: &Path, options: &Options) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(options.busy_timeout)?;
    settings(&conn)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

fn settings(conn: &Connection) -> Result<()> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.pragma_update(None, "cache_size", -CACHE_KIB)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "temp_store", "memory")?;
    Ok(())
}

fn refuse_old_sqlite(version: i32) -> Result<()> {
    if version < SQLITE_OLDEST {
        return Err(Fault::Store(StoreError::Unsupported {
            store: "sqlite",
            ability: "this SQLite is too old, and can corrupt a file in WAL mode",
            remedy: "link SQLite 3.51.3 or newer",
        }));
    }
    Ok(())
}

/// Does something as soon as other processes let it, and gives up with `StoreError::Busy` when they never do.
pub(crate) fn patiently<T>(limit: Duration, what: &'static str, mut act: impl FnMut() -> Result<T>) -> Result<T> {
    let deadline = Instant::now() + limit;
    let mut pause = PAUSE_FIRST;
    loop {
        match act() {
            Err(Fault::Sqlite(fault)) if is_busy(&fault) => {
                if Instant::now() >= deadline {
                    return Err(StoreError::Busy { what }.into());
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(PAUSE_LONGEST);
            }
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_that_corrupts_files_is_refused() {
        assert!(refuse_old_sqlite(3_051_002).is_err());
        assert!(refuse_old_sqlite(SQLITE_OLDEST).is_ok());
        assert!(refuse_old_sqlite(rusqlite::version_number()).is_ok());
    }
}
