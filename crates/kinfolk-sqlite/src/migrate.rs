//! The schema's history, and bringing a file up to date. Opening a file does it; two processes may do it at once.

use std::path::Path;
use std::time::Duration;

use kinfolk_core::StoreError;
use kinfolk_core::operate::{Migrated, Migration};
use kinfolk_core::store::Answer;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::connect::patiently;
use crate::error::{Fault, Result, while_opening};
use crate::options::Options;

/// "KINF", at byte 68 of the file.
const APPLICATION_ID: i32 = 0x4B49_4E46;

/// One step of the schema's history.
struct Step {
    name: &'static str,
    sql: &'static str,
}

/// Every step; the first is version 1.
const STEPS: &[Step] = &[
    Step { name: "engine", sql: include_str!("../sql/migrations/0001_engine.sql") },
    Step { name: "families", sql: include_str!("../sql/migrations/0002_families.sql") },
    Step { name: "durable_handlers", sql: include_str!("../sql/migrations/0003_durable_handlers.sql") },
    Step { name: "groups", sql: include_str!("../sql/migrations/0004_groups.sql") },
];

/// The version this program needs.
pub(crate) fn known() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// Makes sure that the file is ours or empty, puts it in WAL mode and brings its schema up to date.
pub(crate) fn prepare(conn: &mut Connection, path: &Path, patience: Duration) -> Result<Migrated> {
    patiently(patience, "opening the file", || identify(conn, path))?;
    let mode: String = patiently(patience, "opening the file", || {
        Ok(conn.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?)
    })?;
    if mode != "wal" {
        return Err(StoreError::Unsupported {
            store: "sqlite",
            ability: "a write-ahead log on this file system",
            remedy: "put the file on a local disk",
        }
        .into());
    }
    upgrade(conn, path, patience, known())
}

/// Brings the schema to a version, in one transaction.
pub(crate) fn upgrade(conn: &mut Connection, path: &Path, patience: Duration, to: i32) -> Result<Migrated> {
    if patiently(patience, "a migration", || Ok(version(conn)?))? == to {
        return Ok(Migrated { from: to, to });
    }
    patiently(patience, "a migration", || {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Someone else may have been at it while we waited.
        let from = identify(&tx, path)?;
        for step in pending_until(from, to) {
            tx.execute_batch(&step.sql)?;
        }
        if from < to {
            tx.pragma_update(None, "application_id", APPLICATION_ID)?;
            tx.pragma_update(None, "user_version", to)?;
        }
        tx.commit()?;
        Ok(Migrated { from, to: to.max(from) })
    })
}

/// The steps that opening this file would run: all of them when it is not there. Looks only, and makes nothing.
pub fn pending_migrations(path: impl AsRef<Path>) -> Answer<Vec<Migration>> {
    let path = path.as_ref();
    if !path.exists() {
        return Ok(pending(0));
    }
    let found = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(Fault::from)
        .and_then(|conn| {
            conn.busy_timeout(Options::default().busy_timeout)?;
            identify(&conn, path)
        });
    found.map(pending).map_err(|fault| while_opening(path, fault))
}

/// The steps that a file of this version lacks.
pub(crate) fn pending(from: i32) -> Vec<Migration> {
    pending_until(from, known())
}

fn pending_until(from: i32, to: i32) -> Vec<Migration> {
    (1..=to)
        .zip(STEPS)
        .filter(|(version, _)| *version > from)
        .map(|(version, step)| Migration { version, name: step.name.to_owned(), sql: step.sql.to_owned() })
        .collect()
}

/// The schema's version in the file.
pub(crate) fn version(conn: &Connection) -> rusqlite::Result<i32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Refuses to go on with a file that a newer program has brought up to date meanwhile: what that one writes means more than
/// this one knows.
pub(crate) fn refuse_newer(conn: &Connection) -> Result<()> {
    let found = version(conn)?;
    if found > known() { Err(StoreError::SchemaTooNew { found, known: known() }.into()) } else { Ok(()) }
}

/// The version of a file that is ours (0 for an empty one); an error for any other.
fn identify(conn: &Connection, path: &Path) -> Result<i32> {
    let application: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found = version(conn)?;
    let objects: i64 = conn.query_row("select count(*) from sqlite_schema", (), |row| row.get(0))?;
    let foreign =
        |detail: String| Err(Fault::Store(StoreError::Foreign { database: path.display().to_string(), detail }));
    match application {
        APPLICATION_ID if found > known() => Err(StoreError::SchemaTooNew { found, known: known() }.into()),
        APPLICATION_ID => Ok(found),
        0 if objects == 0 && found == 0 => Ok(0),
        0 => foreign("it holds the tables of another program".to_owned()),
        other => foreign(format!("it belongs to the application {other:#010x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(5);

    fn shape(conn: &Connection) -> Vec<(String, String)> {
        let mut statement = conn.prepare("select name, coalesce(sql, '') from sqlite_schema order by name").unwrap();
        statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(rusqlite::Result::unwrap).collect()
    }

    #[test]
    fn the_schema_is_the_same_whether_built_at_once_or_step_by_step() {
        let path = Path::new("memory");
        let mut at_once = Connection::open_in_memory().unwrap();
        upgrade(&mut at_once, path, PATIENCE, known()).unwrap();
        let mut by_steps = Connection::open_in_memory().unwrap();
        for version in 1..=known() {
            let done = upgrade(&mut by_steps, path, PATIENCE, version).unwrap();
            assert_eq!(done, Migrated { from: version - 1, to: version });
        }
        assert_eq!(shape(&at_once), shape(&by_steps));
        assert!(pending(version(&at_once).unwrap()).is_empty());
        assert_eq!(pending(0).len(), STEPS.len());
    }

    #[test]
    fn what_is_pending_is_told_without_touching_the_file() {
        let path = std::env::temp_dir().join(format!("kinfolk-{}.db", uuid::Uuid::new_v4()));
        assert_eq!(pending_migrations(&path).unwrap().len(), STEPS.len());
        assert!(!path.exists());
        prepare(&mut Connection::open(&path).unwrap(), &path, PATIENCE).unwrap();
        assert!(pending_migrations(&path).unwrap().is_empty());
        std::fs::remove_file(&path).unwrap();
    }
}
