//! Which database, and how it is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinfolk::Address;
use kinfolk_core::operate::{Migrated, Migration};
use kinfolk_core::{Operate as _, Store};
use kinfolk_postgres::{PgOptions, PgStore, without_password};
use kinfolk_sqlite::SqliteStore;

use crate::args::Global;
use crate::exit::Exit;
use crate::fault::Fault;

/// The database when none is named: a SQLite file in the current folder.
pub(crate) const DEFAULT: &str = "kinfolk.db";

/// A database, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL server, by its URL or its `key=value` line.
    Server(String),
}

/// The treatment of a SQLite file that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is an error.
    Existing,
    /// It is made.
    Create,
}

impl Target {
    /// Tells by the form of the text, as the library does.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        Ok(match Address::read(text)? {
            Address::Postgres(text) => Self::Server(text.to_owned()),
            Address::Sqlite(path) => Self::File(path.into()),
        })
    }

    /// The text, with the password left out.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Server(text) => without_password(text),
        }
    }

    /// The same as an address: the name of a file that reads like something else gets `sqlite:` before it.
    pub(crate) fn address(&self) -> String {
        let shown = self.shown();
        match self {
            Self::File(_) if Self::parse(&shown).ok().as_ref() != Some(self) => format!("sqlite:{shown}"),
            _ => shown,
        }
    }
}

/// Opens a store.
pub(crate) async fn open(target: &Target, global: &Global, access: Access) -> Result<Arc<dyn Store>, Fault> {
    match target {
        Target::File(path) => {
            if access == Access::Existing && !is_there(path) {
                return Err(missing(path));
            }
            Ok(Arc::new(open_file(path).await?))
        }
        Target::Server(url) => Ok(Arc::new(connect(url, global).await?)),
    }
}

/// Brings a schema up to date, and tells from where to where. A file is made if it is not there.
pub(crate) async fn migrate(target: &Target, global: &Global) -> Result<Migrated, Fault> {
    match target {
        // Opening a file migrates it, so its version has to be looked at before.
        Target::File(path) => {
            let from = kinfolk_sqlite::file_version(path)?;
            Ok(Migrated { from, ..open_file(path).await?.migrate().await? })
        }
        Target::Server(url) => Ok(connect(url, global).await?.migrate().await?),
    }
}

/// The migrations that [`migrate`] would run. Changes nothing, and makes nothing.
pub(crate) async fn pending_migrations(target: &Target, global: &Global) -> Result<Vec<Migration>, Fault> {
    match target {
        Target::File(path) => Ok(kinfolk_sqlite::pending_migrations(path)?),
        Target::Server(url) => Ok(connect(url, global).await?.pending_migrations().await?),
    }
}

/// Opening may wait for other processes, so it is done where waiting disturbs no other work.
async fn open_file(path: &Path) -> Result<SqliteStore, Fault> {
    let path = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || SqliteStore::open(path)).await;
    Ok(opened.map_err(|fault| Fault::new(Exit::Internal, "open", fault.to_string()))??)
}

async fn connect(url: &str, global: &Global) -> Result<PgStore, Fault> {
    PgStore::connect(url, options(global)).await.map_err(|fault| Fault::from(fault).about(&without_password(url)))
}

/// How to connect to a server.
pub(crate) fn options(global: &Global) -> PgOptions {
    PgOptions { notify: !global.no_notify && !global.pooler, prepared: !global.pooler, ..PgOptions::default() }
}

fn is_there(path: &Path) -> bool {
    path == Path::new(":memory:") || path.exists()
}

fn missing(path: &Path) -> Fault {
    let text = format!(
        "there is no database file {}; make one with `kinfolk migrate` (or `enqueue`, `work`, `demo`), or name another \
         with --database",
        path.display()
    );
    Fault::new(Exit::NotFound, "not_found", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_text_tells_the_kind() {
        for text in ["postgres://db/x", "postgresql://db/x", "host=db dbname=x", "dbname=x host=db", "dbname=x port=7"]
        {
            assert_eq!(Target::parse(text).unwrap(), Target::Server(text.to_owned()));
        }
        for (text, path) in [("sqlite:a.db", "a.db"), ("sqlite:///tmp/a.db", "/tmp/a.db"), ("a.db", "a.db")] {
            assert_eq!(Target::parse(text).unwrap(), Target::File(path.into()));
        }
        assert!(Target::parse("mysql://db/x").is_err());
    }

    #[test]
    fn an_address_is_read_back_as_it_was_written() {
        for text in ["sqlite:a=b.db", "sqlite:postgres:x", "tasks.db", "dbname=x host=db", "postgres://db/x"] {
            let target = Target::parse(text).unwrap();
            assert_eq!((target.address().as_str(), Target::parse(&target.address()).unwrap()), (text, target));
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        for (text, shown) in [
            ("postgres://me:secret@db:5432/x?sslmode=require", "postgres://me@db:5432/x?sslmode=require"),
            ("host=db password='my secret' dbname=x", "host=db dbname=x"),
        ] {
            assert_eq!(Target::parse(text).unwrap().shown(), shown);
        }
    }
}
