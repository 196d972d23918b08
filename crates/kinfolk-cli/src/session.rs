//! The session of every command: the global options, where its answer goes, and the way to the store.

use std::sync::Arc;

use kinfolk_core::Store;

use crate::args::Global;
use crate::database::{self, Access, Target};
use crate::fault::Fault;
use crate::out::Out;

/// One run of `kinfolk`.
#[derive(Debug)]
pub(crate) struct Session {
    /// The global options.
    pub(crate) global: Global,
    /// Where the answer goes.
    pub(crate) out: Out,
}

impl Session {
    /// A run with these options.
    pub(crate) fn new(global: Global) -> Self {
        let out = Out::new(global.json);
        Self { global, out }
    }

    /// The database that was asked for, or the default one.
    pub(crate) fn target(&self) -> Result<Target, Fault> {
        let named = self.global.database.as_deref().filter(|url| !url.is_empty());
        Target::parse(named.unwrap_or(database::DEFAULT))
    }

    /// Opens a store that is there; a SQLite file that is not there is said to be missing, not made.
    pub(crate) async fn open(&self) -> Result<Arc<dyn Store>, Fault> {
        database::open(&self.target()?, &self.global, Access::Existing).await
    }

    /// Opens a store, and makes the SQLite file if it is not there.
    pub(crate) async fn open_or_create(&self) -> Result<Arc<dyn Store>, Fault> {
        database::open(&self.target()?, &self.global, Access::Create).await
    }

    /// A command line to type next, on the same database and the same way to it.
    pub(crate) fn command_line(&self, rest: &str) -> String {
        let by_variable = std::env::var("KINFOLK_DATABASE").ok();
        let named = self.global.database.as_ref().filter(|url| Some(*url) != by_variable.as_ref());
        let database = match named.map(|url| Target::parse(url)) {
            Some(Ok(target)) => format!(" --database {}", quoted(&target.address())),
            _ => String::new(),
        };
        let pooler = if self.global.pooler { " --pooler" } else { "" };
        format!("{}{database}{pooler} {rest}", program())
    }
}

/// The name of the user of this program, from the environment.
pub(crate) fn login_name() -> Option<String> {
    ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

/// How this program was called: by its name, or by a path when it is not installed.
fn program() -> String {
    let path = std::env::args().next().filter(|path| path.contains(std::path::is_separator));
    path.filter(|path| !path.starts_with('/')).map_or_else(|| "kinfolk".to_owned(), |path| quoted(&path))
}

/// The word as a shell wants it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/=@,+%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_only_when_a_shell_would_read_them_otherwise() {
        assert_eq!(quoted("kinfolk.db"), "kinfolk.db");
        assert_eq!(quoted("it's $5"), r"'it'\''s $5'");
        assert_eq!(quoted(""), "''");
    }
}
