//! Enqueue and complete tasks inside an sqlx transaction.
//!
//! A thin adapter: it calls the SQL functions of schema `kinfolk`, needs no feature of sqlx, and opens no connection of
//! its own. Everything is decided by those functions. With the feature `sqlite`, `enqueue_in_sqlite` does so on the file of a
//! SQLite store, where `kinfolk-sqlite` decides.
//!
//! ```no_run
//! # async fn example(pool: &mut sqlx_postgres::PgConnection) -> Result<(), Box<dyn std::error::Error>> {
//! use kinfolk_core::{CommandName, Json, NewTask};
//! use sqlx_core::connection::Connection;
//!
//! let mut tx = pool.begin().await?;
//! // … the caller's own writes …
//! let mail = NewTask::new(CommandName::new("mail")?, Json::parse(r#"{"to":"ada"}"#)?);
//! kinfolk_sqlx::enqueue_in(&mut tx, &[mail]).await?;
//! tx.commit().await?;
//! # Ok(())
//! # }
//! ```

mod error;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::time::Duration;

use kinfolk_core::limits::ENQUEUE_BATCH_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{
    CommandName, Due, Enqueued, GroupName, InputError, Json, Made, NewTask, Outcome, QueueName, Rejection, Settle,
    State, StoreError, TaskId, Token, UniqueScope,
};
use sqlx_core::query::query;
use sqlx_core::row::Row;
use sqlx_postgres::{PgArguments, PgConnection, PgRow, Postgres};

use crate::error::store_error;
#[cfg(feature = "sqlite")]
pub use crate::sqlite::enqueue_in_sqlite;

const ENQUEUE: &str = include_str!("../sql/enqueue.sql");
const COMPLETE: &str = include_str!("../sql/complete.sql");
const COMPLETE_MADE: &str = include_str!("../sql/complete_made.sql");

/// Enqueues tasks in the caller's transaction: they exist if, and only if, it commits. Works under every isolation
/// level. Workers are woken by the commit. A task whose command, queue or group is not there is an error,
/// [`StoreError::Rejected`], and the transaction can only be rolled back then: see [`try_enqueue_in`].
pub async fn enqueue_in(connection: &mut PgConnection, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    enqueue_or(connection, tasks, true).await
}

/// As [`enqueue_in`], but one that can't be made is answered [`Enqueued::Rejected`], and the others are made.
pub async fn try_enqueue_in(connection: &mut PgConnection, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    enqueue_or(connection, tasks, false).await
}

async fn enqueue_or(connection: &mut PgConnection, tasks: &[NewTask], strict: bool) -> Answer<Vec<Enqueued>> {
    if tasks.len() > ENQUEUE_BATCH_MAX {
        return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
    }
    for task in tasks {
        task.check()?;
    }
    let tasks: Vec<&NewTask> = tasks.iter().collect();
    let rows = bind_tasks(query::<Postgres>(ENQUEUE), &tasks)
        .bind(keys(&tasks))
        .bind(strict)
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.iter().map(enqueued).collect()
}

/// Records in the caller's transaction that an attempt is done, with its result and with what its handler has made, so that
/// its effects and its end are one: exactly once. Answers the state of the task then: completed, or waiting for its children.
///
/// It must be the last act before the commit, since it takes locks that others wait for, and the isolation level must be
/// `read committed`. Where this very attempt is not recorded as done (its token was replaced, it was settled before, its end was
/// asked for, or what it made is refused) the answer is [`StoreError::NotRecorded`], and the database lets the transaction only
/// be rolled back: it can't be committed by mistake.
pub async fn complete_in(
    connection: &mut PgConnection,
    task: TaskId,
    token: Token,
    result: Option<&Json>,
    made: &Made,
) -> Answer<State> {
    let settle = Settle::new(task, token, Outcome::Done(result.cloned()));
    Settle { made: Some(Box::new(made.clone())), ..settle }.check()?;
    let row = if made.is_empty() {
        query::<Postgres>(COMPLETE)
            .bind(task.0)
            .bind(token.to_string())
            .bind(result.map(ToString::to_string))
            .fetch_one(connection)
            .await
    } else {
        complete_made(connection, task, token, result, made).await
    };
    let state: String = row.map_err(store_error)?.try_get(0).map_err(store_error)?;
    Ok(state.parse()?)
}

async fn complete_made(
    connection: &mut PgConnection,
    task: TaskId,
    token: Token,
    result: Option<&Json>,
    made: &Made,
) -> Result<PgRow, sqlx_core::error::Error> {
    let tasks: Vec<&NewTask> = made.iter().collect();
    let kinds = [
        ("sibling", made.siblings.len()),
        ("child", made.children.len()),
        ("follow_up", made.follow_ups.len()),
        ("task", made.tasks.len()),
    ];
    let kinds = kinds.into_iter().flat_map(|(kind, many)| std::iter::repeat_n(kind.to_owned(), many));
    let before = std::iter::repeat_n(None, made.siblings.len() + made.children.len());
    let whens = made.follow_ups.iter().map(|follow_up| Some(follow_up.when.as_str().to_owned()));
    let query = query::<Postgres>(COMPLETE_MADE)
        .bind(task.0)
        .bind(token.to_string())
        .bind(result.map(ToString::to_string))
        .bind(made.order.as_str())
        .bind(kinds.collect::<Vec<_>>());
    bind_tasks(query, &tasks)
        .bind(before.chain(whens).collect::<Vec<_>>())
        .bind(keys(&tasks))
        .bind(tasks.iter().map(|task| task.inherit_keys).collect::<Vec<_>>())
        .fetch_one(connection)
        .await
}

type Query<'q> = sqlx_core::query::Query<'q, Postgres, PgArguments>;

/// Binds the properties of tasks, one array each, in the order of every function that takes tasks so.
fn bind_tasks<'q>(query: Query<'q>, tasks: &[&NewTask]) -> Query<'q> {
    let unique = |of: fn(&kinfolk_core::Unique) -> Option<String>| -> Vec<Option<String>> {
        tasks.iter().map(|t| t.unique.as_ref().and_then(of)).collect()
    };
    query
        .bind(tasks.iter().map(|t| t.command.to_string()).collect::<Vec<_>>())
        .bind(tasks.iter().map(|t| t.payload.to_string()).collect::<Vec<_>>())
        .bind(tasks.iter().map(|t| t.queue.as_ref().map(ToString::to_string)).collect::<Vec<_>>())
        .bind(tasks.iter().map(|t| t.priority).collect::<Vec<_>>())
        .bind(tasks.iter().map(|t| due_us(t)).collect::<Vec<_>>())
        .bind(tasks.iter().map(|t| delay_us(t)).collect::<Vec<_>>())
        .bind(unique(|unique| Some(unique.key.clone())))
        .bind(unique(|unique| Some(unique.scope.as_str().to_owned())))
        .bind(tasks.iter().map(|t| window_us(t)).collect::<Vec<_>>())
        .bind(unique(|unique| Some(unique.on_duplicate.as_str().to_owned())))
        .bind(tasks.iter().map(|t| t.max_attempts.map(i32::from)).collect::<Vec<_>>())
        .bind(tasks.iter().map(|t| t.timeout.map(micros)).collect::<Vec<_>>())
        .bind(tasks.iter().map(|t| t.trace.clone()).collect::<Vec<_>>())
}

/// The keys of tasks in the groups of their commands; empty where no task has any.
fn keys(tasks: &[&NewTask]) -> Vec<Option<String>> {
    if tasks.iter().all(|task| task.keys.is_empty()) {
        return Vec::new();
    }
    let written = |task: &&NewTask| Json::of(&task.keys).ok().map(|json| json.to_string());
    tasks.iter().map(|task| if task.keys.is_empty() { None } else { written(task) }).collect()
}

fn due_us(task: &NewTask) -> Option<i64> {
    match task.due {
        Due::At(moment) => Some(moment.as_micros()),
        Due::Now | Due::After(_) => None,
    }
}

fn delay_us(task: &NewTask) -> Option<i64> {
    match task.due {
        Due::After(delay) => Some(micros(delay)),
        Due::Now | Due::At(_) => None,
    }
}

fn window_us(task: &NewTask) -> Option<i64> {
    match task.unique.as_ref()?.scope {
        UniqueScope::Window(span) => Some(micros(span)),
        UniqueScope::Pending | UniqueScope::Active => None,
    }
}

fn enqueued(row: &PgRow) -> Answer<Enqueued> {
    let outcome: &str = row.try_get(0).map_err(store_error)?;
    let id: Option<i64> = row.try_get(1).map_err(store_error)?;
    let name: Option<&str> = row.try_get(2).map_err(store_error)?;
    match (outcome, id.map(TaskId), name) {
        ("created", Some(id), _) => Ok(Enqueued::Created(id)),
        ("existing", Some(id), _) => Ok(Enqueued::Existing(id)),
        ("merged", Some(id), _) => Ok(Enqueued::Merged(id)),
        (why, None, Some(name)) => Ok(Enqueued::Rejected(rejection(why, name)?)),
        _ => Err(strange(outcome)),
    }
}

/// Why a task can't be made, as the database says it.
fn rejection(why: &str, name: &str) -> Answer<Rejection> {
    match why {
        "unknown_command" => Ok(Rejection::UnknownCommand(CommandName::new(name)?)),
        "unknown_queue" => Ok(Rejection::UnknownQueue(QueueName::new(name)?)),
        "unknown_group" => Ok(Rejection::UnknownGroup(GroupName::new(name)?)),
        _ => Err(strange(why)),
    }
}

/// A span in microseconds. Spans beyond what fits were refused before.
fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

fn strange(word: &str) -> StoreError {
    StoreError::Fault { code: "row".to_owned(), detail: format!("unknown answer {word:?}") }
}
