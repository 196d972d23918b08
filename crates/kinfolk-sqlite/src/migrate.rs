//! The schema, its history, and bringing a file up to date. Opening a file does it; two processes may do it at once.
//!
//! A new file is built from `sql/schema`; an older one is brought along by the steps it has not seen. It is one transaction:
//! all of it is done, or nothing.

use std::path::Path;
use std::time::Duration;

use kinfolk_core::StoreError;
use kinfolk_core::operate::{Migrated, Migration};
use kinfolk_core::store::Answer;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::connect::patiently;
use crate::error::{Fault, Result, refuse_no_file, while_opening};
use crate::options::Options;

/// "KINF", at byte 68 of the file.
const APPLICATION_ID: i32 = 0x4B49_4E46;

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(include_str!(concat!("../sql/schema/", $name, ".sql"))),+]
    };
}

/// How the tables are: a new file is built from these at once.
const SCHEMA: &[&str] = files![
    "store",
    "queue",
    "command",
    "worker",
    "task",
    "body",
    "attempt",
    "schedule",
    "fan_out",
    "checkpoint",
    "signal",
    "follow_up",
    "skipped_follow_up",
    "status",
    "audit",
    "error",
    "minute",
    "slot",
    "task_shown",
    "open_task",
    "error_shown",
    "migration",
];

/// One step of the schema's history.
#[derive(Clone, Copy)]
struct Step {
    name: &'static str,
    sql: &'static str,
}

/// Every step; the first is version 1. An older file is brought along by the steps it has not seen. Nothing was before the first, so
/// [`SCHEMA`] is its SQL.
const STEPS: &[Step] = &[Step { name: "the first tables", sql: "" }];

/// How a new file is built, and how an older one is brought along. Tests add a step of their own to the shipped one.
struct History {
    tables: Vec<&'static str>,
    steps: Vec<Step>,
}

impl History {
    fn shipped() -> Self {
        Self { tables: SCHEMA.to_vec(), steps: STEPS.to_vec() }
    }

    fn version(&self) -> i32 {
        i32::try_from(self.steps.len()).unwrap_or(i32::MAX)
    }

    /// The migrations that bring a file of this version up to date.
    fn pending(&self, from: i32) -> Vec<Migration> {
        let migration = |version, name: &str, sql| Migration { version, name: name.to_owned(), sql };
        if from == 0 {
            return vec![migration(self.version(), "a new schema", self.tables.join("\n"))];
        }
        self.after(from).map(|(version, step)| migration(version, step.name, step.sql.to_owned())).collect()
    }

    fn after(&self, from: i32) -> impl Iterator<Item = (i32, &Step)> {
        (1..).zip(&self.steps).filter(move |(version, _)| *version > from)
    }
}

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
    upgrade(conn, path, patience, &History::shipped())
}

/// Brings the schema up to date, in one transaction.
fn upgrade(conn: &mut Connection, path: &Path, patience: Duration, history: &History) -> Result<Migrated> {
    let to = history.version();
    if patiently(patience, "a migration", || Ok(version(conn)?))? == to {
        return Ok(Migrated { from: to, to });
    }
    patiently(patience, "a migration", || {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been at it while we waited.
        let from = identify(&tx, path)?;
        for step in history.pending(from) {
            tx.execute_batch(&step.sql)?;
        }
        if from < to {
            for (version, step) in history.after(from) {
                tx.execute("insert into migration (version, name) values (?1, ?2)", (version, step.name))?;
            }
            tx.pragma_update(None, "application_id", APPLICATION_ID)?;
            tx.pragma_update(None, "user_version", to)?;
        }
        tx.commit()?;
        Ok(Migrated { from, to })
    })
}

/// The migrations that opening this file would run. Looks only, and makes nothing.
pub fn pending_migrations(path: impl AsRef<Path>) -> Answer<Vec<Migration>> {
    file_version(path).map(pending)
}

/// The version of the schema in a file: 0 when it is empty or not there. Looks only, and makes nothing.
pub fn file_version(path: impl AsRef<Path>) -> Answer<i32> {
    let path = path.as_ref();
    if !path.exists() {
        return Ok(0);
    }
    refuse_no_file(path)?;
    let found = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(Fault::from)
        .and_then(|conn| {
            conn.busy_timeout(Options::default().busy_timeout)?;
            identify(&conn, path)
        });
    found.map_err(|fault| while_opening(path, fault))
}

/// The migrations that bring a file of this version up to date.
pub(crate) fn pending(from: i32) -> Vec<Migration> {
    History::shipped().pending(from)
}

/// The schema's version in the file.
pub(crate) fn version(conn: &Connection) -> rusqlite::Result<i32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Refuses a file in which no store has made its tables, or a newer one has.
pub(crate) fn refuse_foreign(conn: &Connection, path: &Path) -> Result<()> {
    match identify(conn, path)? {
        0 => Err(StoreError::SchemaMissing { database: path.display().to_string() }.into()),
        _ => Ok(()),
    }
}

/// Refuses the database of a caller's own connection, if no store has made its tables or a newer one has.
pub(crate) fn refuse_theirs(conn: &Connection) -> Result<()> {
    let application: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if application == APPLICATION_ID {
        return refuse_newer(conn);
    }
    let path = conn.path().filter(|path| !path.is_empty()).unwrap_or("a database in memory");
    refuse_foreign(conn, Path::new(path))
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
        APPLICATION_ID if found < 1 => foreign(format!("its schema has version {found}, which no kinfolk makes")),
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

    /// The history of a program of the next version, with a step that no user gets.
    fn next_version() -> History {
        let step = Step { name: "a step of the tests", sql: "alter table migration add column tested_by text" };
        let mut history = History::shipped();
        history.tables.push(step.sql);
        history.steps.push(step);
        history
    }

    fn migrate(conn: &mut Connection, history: &History) -> Migrated {
        upgrade(conn, Path::new("memory"), PATIENCE, history).unwrap()
    }

    #[test]
    fn the_schema_is_the_same_whether_built_at_once_or_step_by_step() {
        let (shipped, next) = (History::shipped(), next_version());
        let mut at_once = Connection::open_in_memory().unwrap();
        assert_eq!(migrate(&mut at_once, &next), Migrated { from: 0, to: 2 });
        let mut by_steps = Connection::open_in_memory().unwrap();
        assert_eq!(migrate(&mut by_steps, &shipped), Migrated { from: 0, to: 1 });
        assert_ne!(shape(&at_once), shape(&by_steps));
        by_steps.execute("insert into queue (id, name) values (1, 'kept')", ()).unwrap();
        assert_eq!(migrate(&mut by_steps, &next), Migrated { from: 1, to: 2 });
        assert_eq!(shape(&at_once), shape(&by_steps));
        let kept: String = by_steps.query_row("select name from queue", (), |row| row.get(0)).unwrap();
        assert_eq!(kept, "kept");
        for conn in [&at_once, &by_steps] {
            assert!(next.pending(version(conn).unwrap()).is_empty());
        }
    }

    #[test]
    fn what_was_done_is_noted_with_its_time() {
        let noted = |conn: &Connection| -> Vec<i32> {
            let sql =
                "select version from migration where name <> '' and migrated_at > 1700000000000000 order by version";
            let mut statement = conn.prepare(sql).unwrap();
            statement.query_map((), |row| row.get(0)).unwrap().map(rusqlite::Result::unwrap).collect()
        };
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn, &History::shipped());
        assert_eq!(noted(&conn), [1]);
        migrate(&mut conn, &next_version());
        assert_eq!(noted(&conn), [1, 2]);
    }

    #[test]
    fn a_step_that_fails_leaves_the_file_as_it_was() {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn, &History::shipped());
        let before = shape(&conn);
        let mut next = next_version();
        next.steps[1].sql = "create table half (x); create table task (x)";
        assert!(upgrade(&mut conn, Path::new("memory"), PATIENCE, &next).is_err());
        assert_eq!((shape(&conn), version(&conn).unwrap()), (before, 1));
    }

    #[test]
    fn what_is_pending_is_told_without_touching_the_file() {
        let path = std::env::temp_dir().join(format!("kinfolk-{}.db", uuid::Uuid::new_v4()));
        assert_eq!(pending_migrations(&path).unwrap().len(), 1);
        assert!(!path.exists());
        prepare(&mut Connection::open(&path).unwrap(), &path, PATIENCE).unwrap();
        assert!(pending_migrations(&path).unwrap().is_empty());
        std::fs::remove_file(&path).unwrap();
    }
}
