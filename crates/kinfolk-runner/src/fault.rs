//! The outcome of a task for an error of its handler in the database. SQL has the same rules, for tasks that run there,
//! by `kinfolk.failure_of`.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk::core::Retry;
use kinfolk::{Done, Failure, FailureKind, GroupName, Json, State, TaskError, Timestamp};
use kinfolk_core::StoreError;
use kinfolk_core::limits::DELAY_MAX;
use kinfolk_postgres::store_error;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity};

/// Longest context kept, in bytes.
const CONTEXT_MAX: usize = 4000;

/// Why an attempt did not end well.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The database said no, or said nothing any more.
    Database(Error),
    /// There was no connection.
    Store(StoreError),
    /// It answered something that is not in the book.
    Strange(String),
}

/// The server, or the way to it, has ended an attempt, or kept it from its begin.
#[derive(Debug)]
pub(crate) struct CutOff {
    /// The handler may have run for a while.
    pub(crate) had_begun: bool,
    /// Its message.
    pub(crate) why: String,
}

impl Fault {
    /// Whether the transaction lost against another one, and may well win the next time.
    pub(crate) fn is_collision(&self) -> bool {
        matches!(self, Self::Database(fault) if matches!(fault.code().map(|code| code.code()), Some("40001" | "40P01")))
    }

    /// Whether nothing is known against the task: there was no connection, so that its handler never ran, or the connection ended
    /// under it. An error that the handler itself met with, on a connection of its own to some other server, ends a statement
    /// and not the connection.
    pub(crate) fn cut_off(&self) -> Option<CutOff> {
        match self {
            Self::Store(fault) => Some(CutOff { had_begun: false, why: fault.to_string() }),
            Self::Database(fault) => {
                let ended = match fault.as_db_error().map(DbError::parsed_severity) {
                    Some(severity) => matches!(severity, Some(Severity::Fatal | Severity::Panic)),
                    None => matches!(store_error(fault), StoreError::Unavailable { .. }),
                };
                ended.then(|| CutOff { had_begun: true, why: store_error(fault).to_string() })
            }
            Self::Strange(_) => None,
        }
    }

    /// The groups that the handler wanted to slow down, and until when: it ended in its own way, so nothing of it was written.
    pub(crate) fn slow_downs(&self) -> BTreeMap<GroupName, Timestamp> {
        let Self::Database(fault) = self else { return BTreeMap::new() };
        let own = |db: &&DbError| matches!(db.code().code(), "KF020" | "KF021" | "KF022" | "KF023");
        fault.as_db_error().filter(own).and_then(own_end).map(|end| end.slow_down).unwrap_or_default()
    }

    /// The outcome that the worker records.
    pub(crate) fn into_answer(self) -> Result<Done<Json>, TaskError> {
        match &self {
            Self::Database(fault) => match fault.as_db_error() {
                Some(db) => answer(db),
                None => Err(TaskError::new(store_error(fault).to_string())),
            },
            Self::Store(fault) => Err(TaskError::new(fault.to_string())),
            Self::Strange(words) => Err(TaskError::new(words.clone())),
        }
    }
}

/// What `kinfolk.end_handler` tells.
#[derive(Deserialize)]
struct OwnEnd {
    delay_us: u64,
    #[serde(default)]
    slow_down: BTreeMap<GroupName, Timestamp>,
}

/// An error of the engine's own, with a detail that the engine would not have written, is like any other: a handler may raise it too.
fn answer(db: &DbError) -> Result<Done<Json>, TaskError> {
    let plain = || Err(TaskError::of(failure(db, FailureKind::Error), Retry::Policy));
    match db.code().code() {
        "KF020" => own_end(db).map_or_else(plain, |end| Ok(Done::snooze(end.delay()))),
        "KF021" => own_end(db)
            .map_or_else(plain, |end| Err(TaskError::of(failure(db, FailureKind::Error), Retry::After(end.delay())))),
        "KF022" => Err(TaskError::of(failure(db, FailureKind::Validation), Retry::Never)),
        "KF009" => Err(TaskError::of(failure(db, FailureKind::Refused), Retry::Policy)),
        "KF011" => {
            let may_pass = db.detail().is_some_and(|why| why.starts_with("unknown"));
            let retry = if may_pass { Retry::Policy } else { Retry::Never };
            Err(TaskError::of(failure(db, FailureKind::Refused), retry))
        }
        "KF012" => Err(unrecorded(db)),
        "KF025" => of_fan_out(db).map_or_else(plain, Err),
        "57014" => Err(TaskError::of(failure(db, FailureKind::Timeout), Retry::Policy)),
        _ => plain(),
    }
}

/// A fan-out that did not end as its rule demands. `kinfolk.refuse_fan_out` has said which kind of failure that is.
fn of_fan_out(db: &DbError) -> Option<TaskError> {
    let mut told: Map<String, Value> = told(db)?;
    let kind = match told.remove("kind")?.as_str()? {
        "children" => FailureKind::Children,
        "error" => FailureKind::Error,
        _ => return None,
    };
    Some(TaskError::of(Failure::new(kind, db.message()), Retry::Never).detail(&told))
}

/// The settle decided something else than that the task is done, and was undone with everything else.
fn unrecorded(db: &DbError) -> TaskError {
    let Unrecorded { state, failure: refused } = told(db).unwrap_or_default();
    if state == Some(State::Cancelled) {
        return TaskError::of(Failure::cancelled(), Retry::Never);
    }
    let retry = if state == Some(State::Failed) { Retry::Never } else { Retry::Policy };
    TaskError::of(refused.unwrap_or_else(|| failure(db, FailureKind::Error)), retry)
}

/// What `kinfolk.require_done` tells: where the task is, and the failure that was not kept.
#[derive(Default, Deserialize)]
struct Unrecorded {
    state: Option<State>,
    failure: Option<Failure>,
}

impl OwnEnd {
    const fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us)
    }
}

fn own_end(db: &DbError) -> Option<OwnEnd> {
    told(db).filter(|end: &OwnEnd| end.delay() <= DELAY_MAX)
}

/// The detail of an error, where it is what the engine writes. In SQL it is `kinfolk.told_by`.
fn told<T: DeserializeOwned>(db: &DbError) -> Option<T> {
    serde_json::from_str(db.detail()?).ok()
}

/// All words of the database, for the search for the cause.
fn failure(db: &DbError, kind: FailureKind) -> Failure {
    let context = db.where_().map(|context| cut(context, CONTEXT_MAX));
    let told: Map<String, Value> = [
        ("sqlstate", Some(db.code().code())),
        ("detail", db.detail()),
        ("hint", db.hint()),
        ("context", context),
        ("schema", db.schema()),
        ("table", db.table()),
        ("column", db.column()),
        ("constraint", db.constraint()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), Value::from(value.filter(|value| !value.is_empty())?))))
    .collect();
    let failure = Failure::new(kind, db.message());
    match Json::of(&told) {
        Ok(told) => failure.detail(told),
        Err(_) => failure,
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
