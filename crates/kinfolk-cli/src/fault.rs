//! The error of a run, for a person (one line) and for a program (`--json`).

use std::io;

use kinfolk_core::text::harmless;
use kinfolk_core::{InputError, StoreError};
use owo_colors::OwoColorize as _;
use serde_json::json;

use crate::exit::Exit;
use crate::out::terminal;

/// The reason a run does not end with exit code 0.
#[derive(Debug)]
pub(crate) struct Fault {
    exit: Exit,
    code: &'static str,
    message: String,
}

impl Fault {
    /// A fault with all its parts.
    pub(crate) fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self { exit, code, message: message.into() }
    }

    /// The answer is no, for this reason.
    pub(crate) fn no(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Exit::No, code, message)
    }

    /// The input can't be used.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "input", message)
    }

    /// A file that was named can't be read.
    pub(crate) fn unreadable(what: &str, path: &str, fault: &io::Error) -> Self {
        let message = format!("can't read the {what} {path}: {fault}; check the path");
        match fault.kind() {
            io::ErrorKind::NotFound => Self::new(Exit::NotFound, "not_found", message),
            _ => Self::input(message),
        }
    }

    /// Everything has been said already; only the exit code is left.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "", "")
    }

    /// The same, with what it is about before it.
    pub(crate) fn about(self, what: &str) -> Self {
        Self { message: format!("{what}: {}", self.message), ..self }
    }

    /// The exit code this leads to.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Says it on stderr: one line, or one JSON document.
    pub(crate) fn report(&self, json: bool) {
        if self.message.is_empty() {
            return;
        }
        if json {
            terminal::complain_json(&json!({"error": {"code": self.code, "message": self.message}}).to_string());
        } else {
            terminal::complain(format_args!("{} {}", "kinfolk:".red().bold(), harmless(&one_line(&self.message))));
        }
    }
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

impl From<StoreError> for Fault {
    fn from(fault: StoreError) -> Self {
        let exit = match &fault {
            StoreError::Input(_) => Exit::Usage,
            StoreError::NotFound { .. } => Exit::NotFound,
            // A pooler that the address does not tell of: it is the way to the database that does not fit.
            StoreError::Unsupported { store: "a transaction pooler", .. } => Exit::Database,
            StoreError::WrongState { .. } | StoreError::Unsupported { .. } => Exit::No,
            StoreError::Busy { .. }
            | StoreError::SchemaMissing { .. }
            | StoreError::SchemaTooNew { .. }
            | StoreError::SchemaTooOld { .. }
            | StoreError::SchemaBroken { .. }
            | StoreError::NoLogin { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Full { .. }
            | StoreError::Forbidden { .. }
            | StoreError::NoAccess { .. }
            | StoreError::Unavailable { .. }
            | StoreError::Foreign { .. }
            | StoreError::Damaged { .. } => Exit::Database,
            _ => Exit::Internal,
        };
        Self::new(exit, fault.code(), fault.to_string())
    }
}

impl From<InputError> for Fault {
    fn from(fault: InputError) -> Self {
        Self::input(fault.to_string())
    }
}

impl From<io::Error> for Fault {
    /// Output without a reader (`kinfolk list | head -1`) is no error.
    fn from(fault: io::Error) -> Self {
        match fault.kind() {
            io::ErrorKind::BrokenPipe => Self::silent(Exit::Done),
            io::ErrorKind::NotFound => Self::new(Exit::NotFound, "not_found", fault.to_string()),
            _ => Self::new(Exit::Internal, "io", fault.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_that_nobody_told_us_of_is_a_database_that_cant_be_used() {
        let pooled = |store| StoreError::Unsupported { store, ability: "prepared statements", remedy: "say --pooler" };
        assert_eq!(Fault::from(pooled("a transaction pooler")).exit(), Exit::Database);
        assert_eq!(Fault::from(pooled("SQLite")).exit(), Exit::No);
    }
}
