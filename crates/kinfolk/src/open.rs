//! Which store a URL names.

use std::sync::Arc;

use kinfolk_core::{Store, StoreError};

/// Opens the store that a URL names.
///
/// | URL | store |
/// |---|---|
/// | `postgres://…`, `postgresql://…`, `host=… dbname=…`, `dbname=…` | PostgreSQL |
/// | `sqlite:PATH`, `sqlite://PATH`, a plain path | a SQLite file, made if it is missing |
///
/// SQLite files are migrated when they are opened. A PostgreSQL database is not: run [`crate::Kinfolk::migrate`] or
/// `kinfolk migrate`.
pub async fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    match Target::of(url) {
        Target::Postgres(url) => postgres(url).await,
        Target::Sqlite(path) => sqlite(path).await,
    }
}

/// Words that begin an address of PostgreSQL: no file is likely to be called `dbname=…`.
const WORDS: [&str; 11] = [
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "sslmode",
    "options",
    "application_name",
    "connect_timeout",
    "target_session_attrs",
];

/// Whether an address names a PostgreSQL server, and not a SQLite file: a URL, or `key=value` words as psql takes them.
pub fn names_postgres(address: &str) -> bool {
    let first = address.split_once('=').map(|(key, _)| key.trim());
    address.starts_with("postgres://")
        || address.starts_with("postgresql://")
        || first.is_some_and(|key| WORDS.contains(&key))
        || address.split_whitespace().any(|word| word.starts_with("host="))
}

#[derive(Debug, PartialEq, Eq)]
enum Target<'a> {
    Postgres(&'a str),
    Sqlite(&'a str),
}

impl<'a> Target<'a> {
    fn of(url: &'a str) -> Self {
        let postgres = names_postgres(url);
        match url {
            _ if postgres => Self::Postgres(url),
            _ => Self::Sqlite(url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")).unwrap_or(url)),
        }
    }
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(kinfolk_postgres::PgStore::connect(url, kinfolk_postgres::PgOptions::default()).await?))
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_url: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Unsupported {
        store: "this program",
        ability: "PostgreSQL",
        remedy: "build the crate kinfolk with its feature `postgres`",
    })
}

#[cfg(feature = "sqlite")]
async fn sqlite(path: &str) -> Result<Arc<dyn Store>, StoreError> {
    let path = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || kinfolk_sqlite::SqliteStore::open(path)).await;
    let store = opened.map_err(|fault| StoreError::Unavailable { detail: fault.to_string() })??;
    Ok(Arc::new(store))
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_path: &str) -> Result<Arc<dyn Store>, StoreError> {
    Err(StoreError::Unsupported {
        store: "this program",
        ability: "SQLite",
        remedy: "build the crate kinfolk with its feature `sqlite`",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_picks_the_store() {
        for url in ["postgres://me@db/app", "postgresql://db/app", "host=/run/pg dbname=app", "dbname=app host=db"] {
            assert_eq!(Target::of(url), Target::Postgres(url));
        }
        for url in ["dbname=app user=me port=5561", "user = me", "password='a host' dbname=app"] {
            assert_eq!(Target::of(url), Target::Postgres(url));
        }
        for (url, path) in [
            ("sqlite:tasks.db", "tasks.db"),
            ("sqlite:///var/tasks.db", "/var/tasks.db"),
            ("tasks.db", "tasks.db"),
            ("/var/lib/tasks.db", "/var/lib/tasks.db"),
            ("sqlite:dbname=x", "dbname=x"),
            ("a=b.db", "a=b.db"),
        ] {
            assert_eq!(Target::of(url), Target::Sqlite(path));
        }
    }
}
