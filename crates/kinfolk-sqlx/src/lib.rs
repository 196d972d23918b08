//! Enqueue and settle inside an sqlx transaction: the same two functions as `kinfolk-postgres` has for tokio-postgres.
//!
//! A thin adapter: it calls the SQL functions of schema `kinfolk`, needs no feature of sqlx, and opens no connection of
//! its own. Everything is decided by those functions.
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
mod words;

use kinfolk_core::limits::{ENQUEUE_BATCH_MAX, SETTLE_BATCH_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    CommandName, Due, Enqueued, GroupName, InputError, Json, Made, NewTask, Outcome, QueueName, Rejection, Retry,
    Settle, Settled, State, StoreError, TaskId, UniqueScope,
};
use sqlx_core::query::query;
use sqlx_core::row::Row;
use sqlx_postgres::{PgArguments, PgConnection, PgRow, Postgres};

use crate::error::store_error;
use crate::words::{micros, outcome};

const ENQUEUE: &str = include_str!("../sql/enqueue.sql");
const SETTLE: &str = include_str!("../sql/settle.sql");
const SETTLE_MADE: &str = include_str!("../sql/settle_made.sql");
const LOCK_SETTLED: &str = include_str!("../sql/lock_settled.sql");

/// Enqueues tasks in the caller's transaction: they exist if, and only if, it commits. Works under every isolation
/// level. Workers are woken by the commit.
pub async fn enqueue_in(connection: &mut PgConnection, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    if tasks.len() > ENQUEUE_BATCH_MAX {
        return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
    }
    for task in tasks {
        task.check()?;
    }
    let tasks: Vec<&NewTask> = tasks.iter().collect();
    let rows = bind_tasks(query::<Postgres>(ENQUEUE), &tasks)
        .bind(keys(&tasks))
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    rows.iter().map(enqueued).collect()
}

/// Settles tasks in the caller's transaction, so that their effects and their end are one: exactly once. It must be the
/// last act before the commit, done by one call (it takes locks that others wait for, in an order that a second call would
/// break), the isolation level must be `read committed`, and
/// a caller that is answered [`Settled::Stale`] must roll back.
pub async fn settle_in(connection: &mut PgConnection, settles: &[Settle]) -> Answer<Vec<Settled>> {
    if settles.len() > SETTLE_BATCH_MAX {
        return Err(InputError::Batch { what: "settles", given: settles.len(), max: SETTLE_BATCH_MAX }.into());
    }
    for settle in settles {
        settle.check()?;
    }
    // Settles that made nothing go together, one that made tasks by itself; all in the order given.
    let calls: Vec<&[Settle]> = settles.chunk_by(|a, b| made(a).is_none() && made(b).is_none()).collect();
    if calls.len() > 1 {
        lock_settled(connection, settles).await?;
    }
    let mut answers = Vec::with_capacity(settles.len());
    for call in calls {
        match made(&call[0]) {
            Some(made) => answers.push(settle_made(connection, &call[0], made).await?),
            None => answers.extend(settle_plain(connection, call).await?),
        }
    }
    Ok(answers)
}

fn made(settle: &Settle) -> Option<&Made> {
    settle.made.as_deref().filter(|made| !made.is_empty())
}

/// Locks what several calls in one transaction need: each takes its locks in order, but not the second after the first.
async fn lock_settled(connection: &mut PgConnection, settles: &[Settle]) -> Answer<()> {
    let follow_ups = settles.iter().filter_map(made).flat_map(|made| &made.follow_ups);
    let (commands, keys): (Vec<String>, Vec<Option<String>>) = follow_ups
        .map(|one| (one.task.command.to_string(), one.task.unique.as_ref().map(|unique| unique.key.clone())))
        .unzip();
    query::<Postgres>(LOCK_SETTLED)
        .bind(settles.iter().map(|settle| settle.task.0).collect::<Vec<_>>())
        .bind(commands)
        .bind(keys)
        .execute(connection)
        .await
        .map_err(store_error)?;
    Ok(())
}

async fn settle_plain(connection: &mut PgConnection, settles: &[Settle]) -> Answer<Vec<Settled>> {
    // Locks are taken in the order given.
    let mut order: Vec<usize> = (0..settles.len()).collect();
    order.sort_by_key(|place| settles[*place].task);
    let sorted = || order.iter().map(|place| &settles[*place]);
    let rows = query::<Postgres>(SETTLE)
        .bind(sorted().map(|s| s.task.0).collect::<Vec<_>>())
        .bind(sorted().map(|s| s.token.to_string()).collect::<Vec<_>>())
        .bind(sorted().map(|s| outcome(&s.outcome).to_owned()).collect::<Vec<_>>())
        .bind(sorted().map(result).collect::<Vec<_>>())
        .bind(sorted().map(failure).collect::<Vec<_>>())
        .bind(sorted().map(retry_us).collect::<Vec<_>>())
        .fetch_all(connection)
        .await
        .map_err(store_error)?;
    // What has no answer was plainly completed.
    let mut answers = vec![Settled::Recorded(State::Completed); settles.len()];
    for row in &rows {
        let nth: i32 = row.try_get(0).map_err(store_error)?;
        let place = usize::try_from(nth).ok().and_then(|nth| order.get(nth.wrapping_sub(1)));
        let place = place.ok_or_else(|| strange(&nth.to_string()))?;
        answers[*place] = settled(row)?;
    }
    Ok(answers)
}

async fn settle_made(connection: &mut PgConnection, settle: &Settle, made: &Made) -> Answer<Settled> {
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
    let query = query::<Postgres>(SETTLE_MADE)
        .bind(settle.task.0)
        .bind(settle.token.to_string())
        .bind(result(settle))
        .bind(made.order.as_str())
        .bind(kinds.collect::<Vec<_>>());
    let row = bind_tasks(query, &tasks)
        .bind(before.chain(whens).collect::<Vec<_>>())
        .bind(keys(&tasks))
        .bind(tasks.iter().map(|task| task.inherit_keys).collect::<Vec<_>>());
    settled(&row.fetch_one(connection).await.map_err(store_error)?)
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

fn result(settle: &Settle) -> Option<String> {
    match &settle.outcome {
        Outcome::Done(Some(result)) => Some(result.to_string()),
        _ => None,
    }
}

fn failure(settle: &Settle) -> Option<String> {
    match &settle.outcome {
        Outcome::Failed { failure, .. } => Json::of(failure).ok().map(|json| json.to_string()),
        _ => None,
    }
}

fn retry_us(settle: &Settle) -> Option<i64> {
    match &settle.outcome {
        Outcome::Snooze(span) | Outcome::YieldPlace(span) | Outcome::Failed { retry: Retry::After(span), .. } => {
            Some(micros(*span))
        }
        _ => None,
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
        ("unknown_command", _, Some(name)) => {
            Ok(Enqueued::Rejected(Rejection::UnknownCommand(CommandName::new(name)?)))
        }
        ("unknown_queue", _, Some(name)) => Ok(Enqueued::Rejected(Rejection::UnknownQueue(QueueName::new(name)?))),
        ("unknown_group", _, Some(name)) => Ok(Enqueued::Rejected(Rejection::UnknownGroup(GroupName::new(name)?))),
        _ => Err(strange(outcome)),
    }
}

fn settled(row: &PgRow) -> Answer<Settled> {
    let answer: &str = row.try_get(1).map_err(store_error)?;
    let state: Option<&str> = row.try_get(2).map_err(store_error)?;
    match (answer, state) {
        ("recorded", Some(state)) => Ok(Settled::Recorded(state.parse()?)),
        ("repeated", Some(state)) => Ok(Settled::Repeated(state.parse()?)),
        ("stale", _) => Ok(Settled::Stale),
        _ => Err(strange(answer)),
    }
}

fn strange(word: &str) -> StoreError {
    StoreError::Fault { code: "row".to_owned(), detail: format!("unknown answer {word:?}") }
}
