//! The errors, each with the next thing to do.

use std::fmt;

use crate::enqueue::Rejection;
use crate::ids::{TaskId, WorkerId};
use crate::limits;

/// A mistake in what the caller handed in. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant's text is its documentation")]
pub enum InputError {
    #[error("{kind} name {name:?} can't be used: {why}")]
    Name { kind: &'static str, name: String, why: &'static str },
    #[error("not a task number: {0:?}; task numbers are positive whole numbers, see `kinfolk list`")]
    NotATaskId(String),
    #[error("not a time: {text:?} ({why}); write it like 2026-01-31T12:00:00Z")]
    NotATime { text: String, why: String },
    #[error("unknown state {0:?}; there are pending, running, waiting, completed, failed and cancelled")]
    UnknownState(String),
    #[error("unknown gate {0:?}; there are open, time, limit and after")]
    UnknownGate(String),
    #[error("not JSON: {0}")]
    NotJson(String),
    #[error("the JSON holds \\u0000, which no store can keep; remove it")]
    JsonNul,
    #[error("the JSON is nested deeper than {} levels; flatten it", limits::JSON_DEPTH_MAX)]
    JsonTooDeep,
    #[error("the number {0} is too long to keep to the digit; send it as a string")]
    JsonNumber(String),
    #[error("the number {0} is too large for programs to read it as a number; send it as a string")]
    JsonNumberSize(String),
    #[error("the {what} is {bytes} bytes, more than {max}; keep the data elsewhere and send a reference")]
    TooLarge { what: &'static str, bytes: usize, max: usize },
    #[error("unique key {key:?} is {bytes} bytes; it must have 1 to {} and no \\0", limits::UNIQUE_KEY_BYTES_MAX)]
    UniqueKey { key: String, bytes: usize },
    #[error("group key {key:?} is {bytes} bytes; it must have 1 to {} and no \\0", limits::GROUP_KEY_BYTES_MAX)]
    GroupKey { key: String, bytes: usize },
    #[error("max_attempts is {0}; it must be 1 to {max}", max = limits::ATTEMPTS_MAX)]
    Attempts(u32),
    #[error("max_strikes is {0}; it must be 1 to {max}", max = limits::STRIKES_MAX)]
    Strikes(u32),
    #[error("jitter_pct is {0}; it must be 0 to 100")]
    Jitter(u8),
    #[error("a delay of {0} ms is out of range; it must be more than zero and at most ten years")]
    Delay(u64),
    #[error("a negative delay: {0}; give a span from now on, or a time with --at")]
    NegativeDelay(String),
    #[error("priority {0} is out of range; it must be within ±{max}", max = limits::PRIORITY_ABS_MAX)]
    Priority(i64),
    #[error("the timeout of {0} ms is out of range; it must be more than zero and at most a year")]
    Timeout(u64),
    #[error("{what}: {given} is more than {max} at once; send it in parts")]
    Batch { what: &'static str, given: usize, max: usize },
    #[error("the lease of {0} ms is out of range; it must be 1 second to 1 hour")]
    Lease(u64),
    #[error("cron line {line:?} can't be read: {why}")]
    Cron { line: String, why: String },
    #[error("cron line {0:?} never fires; check the day and the month")]
    CronNever(String),
    #[error("unknown time zone {0:?}; use an IANA name such as Europe/Oslo")]
    TimeZone(String),
    #[error("not a cursor of this listing: {0:?}; start again without one")]
    Cursor(String),
    #[error("{0}")]
    Other(String),
}

/// Why a store could not do what it was asked. Whatever it is, nothing was half-written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The caller's mistake.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A task can't be made: its command, its queue or a group is not there. Nothing was enqueued.
    #[error("rejected: {0}")]
    Rejected(#[from] Rejection),
    /// A settle in a transaction of the caller's own did not record that this very attempt is done.
    #[error("not recorded as done: {detail}; roll back: what was written beside it must not be kept")]
    NotRecorded {
        /// The present state of the task.
        detail: String,
    },
    /// There is no such thing.
    #[error("there is no {what} {name}")]
    NotFound {
        /// The kind of thing: task, queue, command, schedule.
        what: &'static str,
        /// Its name or number in the call.
        name: String,
    },
    /// The task is not in a state in which this can be done.
    #[error("task {task} is {state}: {remedy}")]
    WrongState {
        /// The task.
        task: TaskId,
        /// Where it is.
        state: crate::State,
        /// The call to make instead.
        remedy: &'static str,
    },
    /// This worker's lease ran out and its tasks went to others.
    #[error("worker {worker} has lost its lease; its tasks were given to others, it must register anew")]
    LeaseLost {
        /// The worker that is no longer one.
        worker: WorkerId,
    },
    /// There is a file, or a schema, but it is something else.
    #[error("{database} is not a Kinfolk database ({detail}); choose another database")]
    Foreign {
        /// Which file or schema.
        database: String,
        /// How that shows.
        detail: String,
    },
    /// The database can't read its own pages.
    #[error(
        "the database is damaged ({detail}); stop what writes to it, keep a copy, look after the disk, and restore a backup, \
         or save what can still be read with the database's own tools"
    )]
    Damaged {
        /// The database's own words.
        detail: String,
    },
    /// The database has no Kinfolk schema.
    #[error("{database} has no kinfolk schema; run `kinfolk migrate`")]
    SchemaMissing {
        /// Where.
        database: String,
    },
    /// The database was migrated by a newer version of Kinfolk.
    #[error(
        "the schema is version {found}, this program knows {known}; use a newer kinfolk, or make the database anew if a build \
         before the first release made it"
    )]
    SchemaTooNew {
        /// The version in the database.
        found: i32,
        /// The newest version this program knows.
        known: i32,
    },
    /// The database was not migrated since an older version of Kinfolk.
    #[error("the schema is version {found}, this program needs {needed}; run `kinfolk migrate`")]
    SchemaTooOld {
        /// The version in the database.
        found: i32,
        /// The version this program needs.
        needed: i32,
    },
    /// Parts of the schema are missing, or belong to someone else.
    #[error(
        "the schema kinfolk is half-made: {detail}; if it holds no tasks you need, `drop schema kinfolk cascade` and run \
         `kinfolk migrate`, else restore a backup"
    )]
    SchemaBroken {
        /// How that shows.
        detail: String,
    },
    /// Someone else does the same exclusive thing right now.
    #[error("{what} is being done by someone else right now; try again in a moment")]
    Busy {
        /// The exclusive action.
        what: &'static str,
    },
    /// The database takes no writes.
    #[error(
        "the database is read-only ({detail}); point --database at the primary, or make the file and its folder writable"
    )]
    ReadOnly {
        /// The database's own words.
        detail: String,
    },
    /// The disk is full.
    #[error("the database has no room left ({detail}); free some disk space")]
    Full {
        /// The database's own words.
        detail: String,
    },
    /// The role may not do this.
    #[error("not permitted: {detail}")]
    Forbidden {
        /// The database's own words, and what to do.
        detail: String,
    },
    /// The operating system keeps this process from the file.
    #[error(
        "the file can't be used ({detail}); see that its folder is there, and that this user may read and write both"
    )]
    NoAccess {
        /// The system's own words.
        detail: String,
    },
    /// The server does not let this role in.
    #[error(
        "the server does not let us in: {detail}; check user and password in the address, and that this role may log in"
    )]
    NoLogin {
        /// The database's own words.
        detail: String,
    },
    /// The database can't be reached, or the connection broke. It is not known whether the call was carried out:
    /// every call may be repeated as it was.
    #[error("the database can't be reached ({detail}); check the address and that it runs")]
    Unavailable {
        /// The system's own words.
        detail: String,
    },
    /// This kind of store can't do that.
    #[error("{store} can't do this: {ability}; {remedy}")]
    Unsupported {
        /// Which store.
        store: &'static str,
        /// The missing ability.
        ability: &'static str,
        /// The way around it.
        remedy: &'static str,
    },
    /// The database answered with an error that should not happen.
    #[error("the database reports {code}: {detail}")]
    Fault {
        /// SQLSTATE or SQLite's code.
        code: String,
        /// The database's own words.
        detail: String,
    },
}

/// The next step of the caller of a failed call. Code branches on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Make the same call again, a little later.
    Retry,
    /// Change what was handed in.
    FixInput,
    /// Drop the work in hand: it belongs to someone else now.
    DropWork,
    /// A person has to change something first.
    AskOperator,
}

/// The advice where the database has none: it names the role of each kind of call.
const ROLES: &str = "grant the role that this needs: kinfolk_producer to enqueue and register, kinfolk_worker to work, \
    kinfolk_viewer to look, kinfolk_operator to cancel, retry, pause and set";

impl StoreError {
    /// A call that the role may not make, with the database's own words and its hint.
    pub fn forbidden(detail: &str, hint: Option<&str>) -> Self {
        let remedy = hint.filter(|hint| !hint.is_empty()).unwrap_or(ROLES);
        Self::Forbidden { detail: format!("{detail}; {remedy}") }
    }

    /// The next thing to do.
    pub const fn advice(&self) -> Advice {
        match self {
            Self::Busy { .. } | Self::Unavailable { .. } => Advice::Retry,
            Self::Input(_)
            | Self::Rejected(_)
            | Self::NotFound { .. }
            | Self::WrongState { .. }
            | Self::Unsupported { .. } => Advice::FixInput,
            Self::LeaseLost { .. } | Self::NotRecorded { .. } => Advice::DropWork,
            Self::Foreign { .. }
            | Self::Damaged { .. }
            | Self::SchemaMissing { .. }
            | Self::SchemaTooNew { .. }
            | Self::SchemaTooOld { .. }
            | Self::SchemaBroken { .. }
            | Self::NoLogin { .. }
            | Self::ReadOnly { .. }
            | Self::Full { .. }
            | Self::Forbidden { .. }
            | Self::NoAccess { .. }
            | Self::Fault { .. } => Advice::AskOperator,
        }
    }

    /// A stable word for programs, as printed by `--json`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::Rejected(_) => "rejected",
            Self::NotRecorded { .. } => "not_recorded",
            Self::NotFound { .. } => "not_found",
            Self::WrongState { .. } => "wrong_state",
            Self::LeaseLost { .. } => "lease_lost",
            Self::Foreign { .. } => "foreign",
            Self::Damaged { .. } => "damaged",
            Self::SchemaMissing { .. } => "schema_missing",
            Self::SchemaTooNew { .. } => "schema_too_new",
            Self::SchemaTooOld { .. } => "schema_too_old",
            Self::SchemaBroken { .. } => "schema_broken",
            Self::NoLogin { .. } => "no_login",
            Self::Busy { .. } => "busy",
            Self::ReadOnly { .. } => "read_only",
            Self::Full { .. } => "full",
            Self::NoAccess { .. } => "no_access",
            Self::Forbidden { .. } => "forbidden",
            Self::Unavailable { .. } => "unavailable",
            Self::Unsupported { .. } => "unsupported",
            Self::Fault { .. } => "fault",
        }
    }

    /// There is no such thing.
    pub fn not_found(what: &'static str, name: impl fmt::Display) -> Self {
        Self::NotFound { what, name: name.to_string() }
    }
}
