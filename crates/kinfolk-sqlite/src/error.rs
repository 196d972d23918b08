//! SQLite's codes as the store's errors. The only place that knows them.

use std::io::ErrorKind;
use std::path::Path;

use kinfolk_core::{InputError, StoreError};
use rusqlite::ErrorCode;

/// The error of a verb: a store's error already, or SQLite's.
#[derive(Debug)]
pub(crate) enum Fault {
    Store(StoreError),
    Sqlite(rusqlite::Error),
}

/// The answer of a verb.
pub(crate) type Result<T> = std::result::Result<T, Fault>;

impl From<StoreError> for Fault {
    fn from(fault: StoreError) -> Self {
        Self::Store(fault)
    }
}

impl From<InputError> for Fault {
    fn from(fault: InputError) -> Self {
        Self::Store(StoreError::Input(fault))
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(fault: rusqlite::Error) -> Self {
        Self::Sqlite(fault)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Store(fault) => fault,
            Fault::Sqlite(fault) => translate(&fault),
        }
    }
}

/// Someone else writes, or is about to; waiting helps.
const BUSY: &[ErrorCode] = &[ErrorCode::DatabaseBusy, ErrorCode::DatabaseLocked];
/// The file can be read and not written.
const READ_ONLY: &[ErrorCode] = &[ErrorCode::ReadOnly];
/// There is no room.
const FULL: &[ErrorCode] = &[ErrorCode::DiskFull];
/// The operating system says no.
const FORBIDDEN: &[ErrorCode] = &[ErrorCode::PermissionDenied, ErrorCode::AuthorizationForStatementDenied];
/// The file can't be opened or read right now.
const UNAVAILABLE: &[ErrorCode] =
    &[ErrorCode::CannotOpen, ErrorCode::SystemIoFailure, ErrorCode::FileLockingProtocolFailed];
/// The file is something else.
const FOREIGN: &[ErrorCode] = &[ErrorCode::NotADatabase];
/// The file has pages that make no sense.
const DAMAGED: &[ErrorCode] = &[ErrorCode::DatabaseCorrupt];

/// Whether waiting for other processes helps.
pub(crate) fn is_busy(fault: &rusqlite::Error) -> bool {
    fault.sqlite_error_code().is_some_and(|code| BUSY.contains(&code))
}

/// The error of a store for this result code of SQLite, as another library tells it.
pub(crate) fn of_code(extended_code: i32, detail: String) -> StoreError {
    translate(&rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(extended_code), Some(detail)))
}

fn translate(fault: &rusqlite::Error) -> StoreError {
    let detail = fault.to_string();
    let rusqlite::Error::SqliteFailure(inner, _) = fault else {
        return StoreError::Fault { code: "sqlite".to_owned(), detail };
    };
    let code = inner.code;
    if BUSY.contains(&code) {
        StoreError::Busy { what: "a write to the file" }
    } else if READ_ONLY.contains(&code) {
        StoreError::ReadOnly { detail }
    } else if FULL.contains(&code) {
        StoreError::Full { detail }
    } else if FORBIDDEN.contains(&code) {
        StoreError::NoAccess { detail }
    } else if UNAVAILABLE.contains(&code) {
        StoreError::Unavailable { detail }
    } else if FOREIGN.contains(&code) {
        StoreError::Foreign { database: "the file".to_owned(), detail }
    } else if DAMAGED.contains(&code) {
        StoreError::Damaged { detail }
    } else {
        StoreError::Fault { code: format!("sqlite {}", inner.extended_code), detail }
    }
}

/// An error while a file is opened, with what is wrong with its path where that can be seen.
pub(crate) fn while_opening(path: &Path, fault: Fault) -> StoreError {
    match StoreError::from(fault) {
        StoreError::Foreign { detail, .. } => StoreError::Foreign { database: path.display().to_string(), detail },
        StoreError::Damaged { detail } => StoreError::Damaged { detail: format!("{}: {detail}", path.display()) },
        StoreError::Unavailable { detail } => unopenable(path, &detail),
        fault => fault,
    }
}

/// Refuses what is there and is no plain file. A pipe would be waited for without end, a device would get a journal beside
/// it.
pub(crate) fn refuse_no_file(path: &Path) -> std::result::Result<(), StoreError> {
    let Ok(about) = std::fs::metadata(path) else { return Ok(()) };
    let detail = match about.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "it is a folder",
        _ => "it is a pipe, a socket or a device, and no plain file",
    };
    Err(StoreError::Foreign { database: path.display().to_string(), detail: detail.to_owned() })
}

fn unopenable(path: &Path, detail: &str) -> StoreError {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder
        && !folder.is_dir()
    {
        return StoreError::not_found("folder", folder.display());
    }
    match std::fs::OpenOptions::new().read(true).open(path) {
        Ok(_) => StoreError::ReadOnly { detail: format!("{}: {detail}", path.display()) },
        // It is closed to this user, or it is missing and could not be made.
        Err(fault) => match fault.kind() {
            ErrorKind::PermissionDenied => StoreError::NoAccess { detail: format!("{}: {fault}", path.display()) },
            ErrorKind::NotFound => {
                StoreError::NoAccess { detail: format!("{} can't be made in its folder", path.display()) }
            }
            _ => StoreError::Unavailable { detail: format!("{}: {detail}", path.display()) },
        },
    }
}

/// A row that holds what this program would never have written.
pub(crate) fn unreadable(what: &'static str, value: &str) -> Fault {
    Fault::Store(StoreError::Fault { code: "unreadable".to_owned(), detail: format!("{what} {value:?} in the file") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    fn of(code: i32) -> StoreError {
        translate(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn every_code_an_operator_can_meet_has_its_own_error() {
        assert_eq!(of(ffi::SQLITE_BUSY).code(), "busy");
        assert_eq!(of(ffi::SQLITE_BUSY_SNAPSHOT).code(), "busy");
        assert_eq!(of(ffi::SQLITE_READONLY).code(), "read_only");
        assert_eq!(of(ffi::SQLITE_FULL).code(), "full");
        assert_eq!(of(ffi::SQLITE_PERM).code(), "no_access");
        assert_eq!(of(ffi::SQLITE_IOERR).code(), "unavailable");
        assert_eq!(of(ffi::SQLITE_NOTADB).code(), "foreign");
        assert_eq!(of(ffi::SQLITE_CORRUPT).code(), "damaged");
        assert_eq!(of(ffi::SQLITE_CORRUPT_INDEX).code(), "damaged");
    }
}
