//! Which store a URL names.

use std::sync::Arc;

use kinfolk_core::{InputError, Store, StoreError};

/// Opens the store that a URL names.
///
/// | URL | store |
/// |---|---|
/// | `postgres://…`, `postgresql://…`, `host=… dbname=…`, `dbname=…` | PostgreSQL |
/// | `sqlite:PATH`, `sqlite://PATH`, a plain path | a SQLite file, made if it is missing |
///
/// A text that looks like an address and is none is an error ([`Address::read`]).
///
/// SQLite files are migrated when they are opened. A PostgreSQL database is not: run [`crate::Kinfolk::migrate`] or
/// `kinfolk migrate`.
pub async fn open(url: &str) -> Result<Arc<dyn Store>, StoreError> {
    match Address::read(url)? {
        Address::Postgres(url) => postgres(url).await,
        Address::Sqlite(path) => sqlite(path).await,
    }
}

/// A database, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address<'a> {
    /// A PostgreSQL server, by its URL or by `key=value` words as psql takes them.
    Postgres(&'a str),
    /// The path of a SQLite file.
    Sqlite(&'a str),
}

/// The words of an address of PostgreSQL.
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

/// How to write what was meant.
const HOW: &str = "write postgres://USER:PASSWORD@HOST/DBNAME or host=HOST dbname=DBNAME user=USER; a SQLite file of such a name \
    is sqlite:PATH";

impl<'a> Address<'a> {
    /// Tells by the form of the text.
    ///
    /// A text that has the marks of an address before the first slash (`:`, `=` or `@`), and is none, is refused: it would become a
    /// file of that name, password included, and no worker would run the tasks enqueued there. The address of a file with such a name
    /// is `sqlite:PATH` or `./PATH`.
    pub fn read(text: &'a str) -> Result<Self, InputError> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text));
        }
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() {
                Err(InputError::Other(format!("{text} names no file; write sqlite:PATH")))
            } else {
                Ok(Self::Sqlite(path))
            };
        }
        if has_known_word(text) {
            return Ok(Self::Postgres(text));
        }
        if text.is_empty() {
            return Err(InputError::Other(format!("no database is named; {HOW}")));
        }
        if text == ":memory:" || !looks_like_address(text) {
            return Ok(Self::Sqlite(text));
        }
        Err(InputError::Other(match text.split_once("://") {
            Some((scheme, _)) if scheme.bytes().all(|c| c.is_ascii_alphanumeric()) => {
                format!("{scheme}:// is no database of kinfolk; {HOW}")
            }
            // Nothing of it is shown: there may be a password in it.
            _ => format!("the database that was named looks like the address of a server, and is none; {HOW}"),
        }))
    }
}

/// `dbname=x host = y`: no file is likely to be called so.
fn has_known_word(text: &str) -> bool {
    let known = |key: &str| WORDS.contains(&key.trim());
    text.split_once('=').is_some_and(|(key, _)| known(key))
        || text.split_whitespace().any(|word| word.split_once('=').is_some_and(|(key, _)| known(key)))
}

fn looks_like_address(text: &str) -> bool {
    // `//host/x`, and `postgres//host/x`, where a colon was forgotten.
    if text.starts_with("//") || text.starts_with("postgres/") || text.starts_with("postgresql/") {
        return true;
    }
    match text.find(['/', '\\', ':', '=', '@']) {
        None => false,
        // A drive of Windows.
        Some(1) if text.as_bytes()[1] == b':' => false,
        Some(first) => !matches!(text.as_bytes()[first], b'/' | b'\\'),
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
            assert_eq!(Address::read(url), Ok(Address::Postgres(url)));
        }
        for url in ["dbname=app user=me port=5561", "user = me", "password='a host' dbname=app", "pasword=x dbname=y"] {
            assert_eq!(Address::read(url), Ok(Address::Postgres(url)));
        }
        for (url, path) in [
            ("sqlite:tasks.db", "tasks.db"),
            ("sqlite:///var/tasks.db", "/var/tasks.db"),
            ("tasks.db", "tasks.db"),
            ("my tasks.db", "my tasks.db"),
            ("/var/lib/tasks.db", "/var/lib/tasks.db"),
            ("/data/me@work/a=b.db", "/data/me@work/a=b.db"),
            ("./a=b.db", "./a=b.db"),
            ("runs/day=7/tasks.db", "runs/day=7/tasks.db"),
            ("c:tasks.db", "c:tasks.db"),
            ("sqlite:dbname=x", "dbname=x"),
            (":memory:", ":memory:"),
        ] {
            assert_eq!(Address::read(url), Ok(Address::Sqlite(path)));
        }
    }

    #[test]
    fn an_address_that_names_nothing_is_refused() {
        for url in ["", "sqlite:", "sqlite://"] {
            assert!(Address::read(url).unwrap_err().to_string().contains("sqlite:PATH"), "{url:?}");
        }
    }

    #[test]
    fn what_looks_like_an_address_and_is_none_is_refused() {
        for url in ["postgres:bob:secret@host", "bob:secret@host/x", "pasword=secret", "mysql://db", "//db/x", "a=b.db"]
        {
            let said = Address::read(url).unwrap_err().to_string();
            assert!(said.contains("postgres://") && said.contains("sqlite:PATH") && !said.contains("secret"), "{said}");
        }
    }
}
