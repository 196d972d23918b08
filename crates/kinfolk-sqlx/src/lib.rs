//! Enqueue inside an sqlx transaction: the tasks exist if, and only if, it commits.
//!
//! ```no_run
//! use kinfolk_core::{CommandName, Json, NewTask};
//! use sqlx_core::connection::Connection;
//! use sqlx_postgres::PgConnection;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut connection = PgConnection::connect("postgres://localhost/shop").await?;
//! let mut transaction = connection.begin().await?;
//! // … your own writes …
//! let invoice = NewTask::new(CommandName::new("send_invoice")?, Json::parse(r#"{"order": 1001}"#)?);
//! let answers = kinfolk_sqlx::enqueue(&mut transaction, &[invoice]).await?;
//! transaction.commit().await?;
//! println!("task {:?}", answers[0].task());
//! # Ok(())
//! # }
//! ```
//!
//! A thin caller of `kinfolk.enqueue_many`. It never opens a connection, never commits and never rolls back; after an
//! error the transaction is aborted, as after any error in PostgreSQL.

mod error;
mod item;

use kinfolk_core::limits::ENQUEUE_BATCH_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{CommandName, Enqueued, InputError, NewTask, QueueName, Rejection, StoreError, TaskId};
use sqlx_core::row::Row;
use sqlx_postgres::{PgConnection, PgRow, Postgres};

use crate::error::store_error;
use crate::item::Item;

const ENQUEUE: &str = "select outcome, id, why from kinfolk.enqueue_many($1::jsonb)";

/// Enqueues tasks in the caller's transaction, in this order; one answer each. Works under every isolation level, and
/// wakes workers when the transaction commits.
pub async fn enqueue(connection: &mut PgConnection, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    if tasks.len() > ENQUEUE_BATCH_MAX {
        return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
    }
    for task in tasks {
        task.check()?;
    }
    let items: Vec<Item<'_>> = tasks.iter().map(Item::of).collect();
    let json = serde_json::to_string(&items).map_err(|fault| InputError::NotJson(fault.to_string()))?;
    let call = sqlx_core::query::query::<Postgres>(ENQUEUE).bind(json);
    let rows = call.fetch_all(connection).await.map_err(|fault| store_error(&fault))?;
    rows.iter().map(answer).collect()
}

fn answer(row: &PgRow) -> Answer<Enqueued> {
    let read = |fault: sqlx_core::Error| store_error(&fault);
    let outcome: String = row.try_get(0).map_err(read)?;
    let id: Option<i64> = row.try_get(1).map_err(read)?;
    let why: Option<String> = row.try_get(2).map_err(read)?;
    match (outcome.as_str(), id) {
        ("created", Some(id)) => Ok(Enqueued::Created(TaskId(id))),
        ("existing", Some(id)) => Ok(Enqueued::Existing(TaskId(id))),
        ("merged", Some(id)) => Ok(Enqueued::Merged(TaskId(id))),
        _ => rejection(why.as_deref().unwrap_or_default()).map(Enqueued::Rejected),
    }
}

fn rejection(why: &str) -> Answer<Rejection> {
    if let Some(name) = why.strip_prefix("unknown command ") {
        return Ok(Rejection::UnknownCommand(CommandName::new(name)?));
    }
    if let Some(name) = why.strip_prefix("unknown queue ") {
        return Ok(Rejection::UnknownQueue(QueueName::new(name)?));
    }
    Err(StoreError::Fault { code: "rejected".to_owned(), detail: why.to_owned() })
}
