//! From SQLSTATEs and broken connections to errors that say what to do next. The only place that knows the codes.

use deadpool_postgres::{HookError, PoolError};
use kinfolk_core::limits::{PAYLOAD_BYTES_MAX, SIGNALS_KEPT_MAX, STEPS_MAX};
use kinfolk_core::{InputError, Rejection, State, StoreError, WorkerId};
use tokio_postgres::error::{DbError, Severity};

use crate::rows;

/// The server refuses writes: a standby, or a database set read-only.
const READ_ONLY: &[&str] = &["25006"];
/// No room: disk full, out of memory, configuration limit.
const FULL: &[&str] = &["53100", "53200", "53400"];
/// Pages of a table or an index that make no sense.
const DAMAGED: &[&str] = &["XX001", "XX002"];
/// The role lacks a right.
const FORBIDDEN: &[&str] = &["42501", "0LP01"];
/// There is no such role, it may not log in, or its password is wrong.
const NO_LOGIN: &[&str] = &["28000", "28P01"];
/// The server goes down, comes up, or has cut the connection; or the transaction lost against another one, such as the
/// same call sent before (23505).
const UNAVAILABLE: &[&str] = &[
    "57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "53300", "57014", "40001", "40P01", "55P03", "3D000", "23505",
];
/// The schema, or something in it that this program needs, is not there.
const SCHEMA_MISSING: &[&str] = &["3F000", "42P01", "42883"];
/// A prepared statement is gone, or another client's: sessions are shared, so there is a transaction pooler in between.
const POOLED: &[&str] = &["26000", "42P05"];
/// Values that PostgreSQL itself refuses: a moment out of range, `\0` in a text, JSON beyond its means.
const BAD_VALUE: &[&str] = &["22008", "22021", "22P05", "22P02", "22023", "54000", "54001"];

/// The remedies for a task in the wrong state: the hints of KF003.
const REMEDIES: &[&str] = &[
    "only failed and cancelled tasks can be retried",
    "retry its family instead",
    "only a failed or cancelled family can be retried",
    "a task that has ended gets no signals",
    "a task that has ended is no suspect; retry it to run it again",
    "only a pending task can be told to run now",
    "its failed tasks have been removed by retention, enqueue it anew",
];

/// The things that are too many, and how many there may be: the messages of KF008.
const TOO_MANY: [(&str, usize); 2] =
    [("checkpoints of one task", STEPS_MAX), ("signals kept for one task", SIGNALS_KEPT_MAX)];

/// The things that are too large, as the messages of KF006 name them.
const TOO_LARGE: [&str; 4] = ["recorded value", "result", "signal", "payload"];

/// The error of the store for a failed call. Public for programs that call the SQL functions in transactions of their own.
pub fn store_error(fault: &tokio_postgres::Error) -> StoreError {
    match fault.as_db_error() {
        Some(db) => from_db(db),
        None if fault.is_closed() => StoreError::Unavailable { detail: "the connection was closed".to_owned() },
        None => from_client(fault),
    }
}

/// As [`store_error`], for a call made in the name of a worker.
pub(crate) fn worker_error(fault: StoreError, worker: WorkerId) -> StoreError {
    match fault {
        StoreError::LeaseLost { .. } => StoreError::LeaseLost { worker },
        other => other,
    }
}

pub(crate) fn pool_error(fault: PoolError) -> StoreError {
    match fault {
        PoolError::Backend(fault) | PoolError::PostCreateHook(HookError::Backend(fault)) => store_error(&fault),
        other => StoreError::Unavailable { detail: other.to_string() },
    }
}

fn from_client(fault: &tokio_postgres::Error) -> StoreError {
    let mut detail = fault.to_string();
    let mut source = std::error::Error::source(fault);
    let mut on_the_wire = detail.contains("connect");
    while let Some(cause) = source {
        on_the_wire |= cause.is::<std::io::Error>();
        detail = format!("{detail}: {cause}");
        source = cause.source();
    }
    if detail.contains("does not support TLS") {
        let remedy = "switch TLS on there, or ask for none with sslmode=disable in the address";
        return StoreError::Unavailable { detail: format!("{detail}; {remedy}") };
    }
    if on_the_wire || detail.contains("timed out") {
        StoreError::Unavailable { detail }
    } else {
        StoreError::Fault { code: "client".to_owned(), detail }
    }
}

fn from_db(db: &DbError) -> StoreError {
    let code = db.code().code();
    let detail = db.message().to_owned();
    let advised = || match db.hint().filter(|hint| !hint.is_empty()) {
        Some(hint) => format!("{detail}; {hint}"),
        None => detail.clone(),
    };
    match code {
        "KF001" | "KF010" | "KF011" => StoreError::Input(InputError::Other(advised())),
        "KF002" => StoreError::NotFound { what: "", name: detail },
        "KF003" => StoreError::WrongState {
            task: kinfolk_core::TaskId(0),
            state: db.detail().and_then(|state| state.parse().ok()).unwrap_or(State::Pending),
            remedy: REMEDIES.iter().copied().find(|remedy| db.hint() == Some(remedy)).unwrap_or(REMEDIES[0]),
        },
        "KF004" => StoreError::LeaseLost { worker: WorkerId(uuid::Uuid::nil()) },
        "KF005" => StoreError::Fault { code: code.to_owned(), detail: advised() },
        "KF006" => StoreError::Input(InputError::TooLarge {
            what: TOO_LARGE.into_iter().find(|what| detail.contains(what)).unwrap_or("payload"),
            bytes: db.detail().and_then(|bytes| bytes.parse().ok()).unwrap_or_default(),
            max: PAYLOAD_BYTES_MAX,
        }),
        "KF008" => {
            let (what, max) = TOO_MANY.into_iter().find(|(what, _)| *what == detail).unwrap_or(TOO_MANY[0]);
            let given = db.detail().and_then(|given| given.parse().ok()).unwrap_or_default();
            StoreError::Input(InputError::Batch { what, given, max })
        }
        "KF009" => rejected(db).map_or_else(|_| StoreError::Input(InputError::Other(advised())), StoreError::Rejected),
        "KF012" => StoreError::NotRecorded { detail },
        "KF007" => StoreError::Busy { what: "work on the tasks of this queue" },
        "53300" => StoreError::Unavailable {
            detail: format!("{detail}; raise that limit, lower pool sizes, or put a pooler in between"),
        },
        _ if READ_ONLY.contains(&code) => StoreError::ReadOnly { detail },
        _ if FULL.contains(&code) => StoreError::Full { detail },
        _ if DAMAGED.contains(&code) => StoreError::Damaged { detail },
        _ if FORBIDDEN.contains(&code) => StoreError::forbidden(&detail, db.hint()),
        _ if NO_LOGIN.contains(&code) => StoreError::NoLogin { detail: advised() },
        _ if UNAVAILABLE.contains(&code) || code.starts_with("08") => StoreError::Unavailable { detail },
        // The database takes no connections.
        "55000" if db.parsed_severity() == Some(Severity::Fatal) => StoreError::Unavailable { detail },
        _ if SCHEMA_MISSING.contains(&code) && detail.contains("kinfolk") => {
            StoreError::SchemaMissing { database: "the database".to_owned() }
        }
        _ if POOLED.contains(&code) => StoreError::Unsupported {
            store: "a transaction pooler",
            ability: "prepared statements",
            remedy: "say --pooler, or PgOptions { prepared: false, notify: false }",
        },
        _ if BAD_VALUE.contains(&code) => StoreError::Input(InputError::Other(advised())),
        _ => StoreError::Fault { code: code.to_owned(), detail },
    }
}

/// The words of the detail of KF009: the reason, and the missing name.
fn rejected(db: &DbError) -> Result<Rejection, StoreError> {
    let (why, name) = db.detail().and_then(|detail| detail.split_once(' ')).unwrap_or_default();
    rows::rejection(why, name)
}
