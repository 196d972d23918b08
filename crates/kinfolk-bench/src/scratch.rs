//! Places of our own to measure in: a new database on the server of `--database`, or new files beside its SQLite file.
//!
//! What is there already is never touched. [`Scratch::remove`] takes everything away again; it is called at the end,
//! after an error and after an interrupt alike. A process killed with -9 leaves a database named `kinfolk_bench_…` or
//! files of that name behind.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use kinfolk::Address;

use super::bare_postgres;

/// The database that the user named, by its kind.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL server.
    Server(String),
}

impl Target {
    /// Tells by the form of the text, as the library does.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(match Address::read(text)? {
            Address::Postgres(text) => Self::Server(text.to_owned()),
            Address::Sqlite(path) => Self::File(path.into()),
        })
    }
}

/// Where one side, or both, are measured.
#[derive(Clone, Debug)]
pub(super) enum Scratch {
    /// A database of its own.
    Postgres { server: String, name: String, url: String },
    /// A file of its own.
    Sqlite { path: PathBuf },
}

impl Scratch {
    /// A new and empty place on the same server, or on the same disk.
    pub(super) async fn make(target: &Target) -> anyhow::Result<Self> {
        let name = format!("kinfolk_bench_{}", uuid::Uuid::new_v4().simple());
        match target {
            Target::Server(server) => {
                let (client, _) = bare_postgres::connect(server).await?;
                client
                    .batch_execute(&format!("create database {name}"))
                    .await
                    .context("the bench needs a database of its own: connect as a role that may create databases")?;
                let url = with_database(server, &name)?;
                Ok(Self::Postgres { server: server.clone(), name, url })
            }
            Target::File(file) => {
                let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                Ok(Self::Sqlite { path: folder.join(format!("{name}.db")) })
            }
        }
    }

    /// The kind of store.
    pub(super) fn store(&self) -> &'static str {
        match self {
            Self::Postgres { .. } => "postgres",
            Self::Sqlite { .. } => "sqlite",
        }
    }

    /// The URL to open the store with.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Postgres { url, .. } => url.clone(),
            Self::Sqlite { path } => format!("sqlite:{}", path.display()),
        }
    }

    /// Brings the place to rest, so that what was done before does not run into what is timed next.
    pub(super) async fn rest(&self) -> anyhow::Result<()> {
        match self {
            Self::Postgres { url, .. } => {
                let (client, _) = bare_postgres::connect(url).await?;
                client.batch_execute("vacuum analyze").await?;
            }
            Self::Sqlite { path } => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || {
                    let file = rusqlite::Connection::open(path)?;
                    file.query_row("pragma wal_checkpoint(passive)", [], |_| Ok(()))
                })
                .await??;
            }
        }
        Ok(())
    }

    /// Average width of rows as they lie in a table, in bytes: the newest ones, or all of them in SQLite.
    pub(super) async fn row_width(&self, in_postgres: &str, in_sqlite: &'static str) -> anyhow::Result<f64> {
        match self {
            Self::Postgres { url, .. } => {
                let (client, _) = bare_postgres::connect(url).await?;
                let newest = format!("select * from {in_postgres} order by id desc limit 1000");
                let sql = format!("select coalesce(avg(pg_column_size(t)), 0)::float8 from ({newest}) t");
                Ok(client.query_one(&sql, &[]).await?.try_get(0)?)
            }
            Self::Sqlite { path } => {
                let path = path.clone();
                let sql = "select coalesce(sum(payload) * 1.0 / sum(ncell), 0) from dbstat
                           where name = ?1 and pagetype = 'leaf'";
                let width = move || rusqlite::Connection::open(path)?.query_row(sql, [in_sqlite], |row| row.get(0));
                Ok(tokio::task::spawn_blocking(width).await??)
            }
        }
    }

    /// The place of the bare loop: the same database, or a file of its own, since SQLite has one writer a file.
    pub(super) fn bare(&self) -> Self {
        match self {
            Self::Postgres { .. } => self.clone(),
            Self::Sqlite { path } => {
                let mut name = path.as_os_str().to_owned();
                name.push("-bare");
                Self::Sqlite { path: name.into() }
            }
        }
    }

    /// Bytes of write-ahead log that the server has written so far. Other databases of the server count as well.
    pub(super) async fn wal_bytes(&self) -> anyhow::Result<Option<i64>> {
        let Self::Postgres { url, .. } = self else { return Ok(None) };
        let (client, _) = bare_postgres::connect(url).await?;
        let sql = "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
        Ok(Some(client.query_one(sql, &[]).await?.try_get(0)?))
    }

    /// Removes the database, even under the feet of who is still connected, or the file with all that belongs to it.
    pub(super) async fn remove(&self) -> anyhow::Result<()> {
        match self {
            Self::Postgres { server, name, .. } => {
                let (client, _) = bare_postgres::connect(server).await?;
                client.batch_execute(&format!("drop database if exists {name} with (force)")).await?;
            }
            Self::Sqlite { path } => {
                let folder = path.parent().unwrap_or(Path::new("."));
                let name = path.file_name().context("a scratch file has a name")?.to_string_lossy().into_owned();
                for entry in std::fs::read_dir(folder)? {
                    let entry = entry?;
                    // The write-ahead log, locks and the bare loop's file all begin with the name of the file.
                    if entry.file_name().to_string_lossy().starts_with(&name) {
                        let removed = if entry.path().is_dir() {
                            std::fs::remove_dir_all(entry.path())
                        } else {
                            std::fs::remove_file(entry.path())
                        };
                        // SQLite removes its log itself when the last connection closes, maybe just now.
                        removed.or_else(|fault| match fault.kind() {
                            ErrorKind::NotFound => Ok(()),
                            _ => Err(fault),
                        })?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The same server, another database.
fn with_database(url: &str, name: &str) -> anyhow::Result<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        // Of a key given twice, the last one counts.
        return Ok(format!("{url} dbname={name}"));
    };
    let (address, options) = rest.split_once('?').map_or((rest, None), |(address, options)| (address, Some(options)));
    let servers = address.split_once('/').map_or(address, |(servers, _)| servers);
    anyhow::ensure!(!servers.is_empty(), "the address names no server");
    Ok(match options {
        Some(options) => format!("{scheme}://{servers}/{name}?{options}"),
        None => format!("{scheme}://{servers}/{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scratch_database_is_on_the_same_server() {
        let with = |url| with_database(url, "new").unwrap();
        assert_eq!(with("postgres://me:pw@host:5/old?sslmode=require"), "postgres://me:pw@host:5/new?sslmode=require");
        assert_eq!(with("postgresql://me@a:1,b:2"), "postgresql://me@a:1,b:2/new");
        assert_eq!(with("host=a dbname=old"), "host=a dbname=old dbname=new");
    }

    #[tokio::test]
    async fn a_scratch_file_lies_beside_the_database_and_goes_with_all_that_belongs_to_it() {
        let folder = std::env::temp_dir().join(format!("kinfolk-scratch-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let database = folder.join("mine.db");
        std::fs::write(&database, "keep").unwrap();
        let scratch = Scratch::make(&Target::File(database)).await.unwrap();
        let Scratch::Sqlite { path } = &scratch else { panic!("{scratch:?}") };
        assert_eq!(path.parent(), Some(folder.as_path()));
        std::fs::write(path, "").unwrap();
        std::fs::write(format!("{}-wal", path.display()), "").unwrap();
        scratch.remove().await.unwrap();
        let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["mine.db"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
