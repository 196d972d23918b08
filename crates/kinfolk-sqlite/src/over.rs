//! Enqueueing over a connection that another library has, on the file that a store has: sqlx, say.
//!
//! Every enqueue makes these statements and decisions; here another library carries the statements to SQLite. The commands,
//! queues and groups are read on a connection of our own beside it, once the other one holds the lock under which all
//! writes are made: no other writer changes them meanwhile.

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;

use kinfolk_core::store::Answer;
use kinfolk_core::{Enqueued, Json, Keys, NewTask, StoreError, TaskId};
use rusqlite::Connection;

use crate::catalogue::Catalogue;
use crate::connect::reader;
use crate::error::{Result, of_code, unreadable};
use crate::in_transaction::{NOBODY, not_before};
use crate::migrate::refuse_foreign;
use crate::options::Options;
use crate::store::check_batch;
use crate::verb::enqueue::{Holder, NewRow, Origin, Stand, inline, target};

const FILE: &str = "select file from pragma_database_list where name = 'main'";
const TOUCH: &str = include_str!("../sql/base/touch.sql");
const READ: &str = include_str!("../sql/base/read.sql");
const WRITE: &str = include_str!("../sql/base/write.sql");
const WAKE: &str = include_str!("../sql/base/wake.sql");
const HOLDER: &str = include_str!("../sql/produce/holder.sql");
const INSERT: &str = include_str!("../sql/produce/insert.sql");
const PUT_LARGE: &str = include_str!("../sql/produce/put_large.sql");
const REPLACE: &str = include_str!("../sql/produce/replace.sql");
const DROP_LARGE: &str = include_str!("../sql/upkeep/prune/payload.sql");

/// A value of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// None.
    Null,
    /// A number.
    Integer(i64),
    /// A text.
    Text(String),
}

/// A connection to SQLite that another library has.
pub trait Statements {
    /// Runs a statement with these values.
    fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> impl Future<Output = Answer<()>> + Send;

    /// The first row that a query answers with these values, column by column.
    fn row(&mut self, sql: &'static str, values: Vec<Value>)
    -> impl Future<Output = Answer<Option<Vec<Value>>>> + Send;
}

/// The error of a store for a result code of SQLite (the extended one), and what SQLite said with it.
pub fn store_error(extended_code: i32, detail: String) -> StoreError {
    of_code(extended_code, detail)
}

/// Enqueues tasks over a connection of another library, as [`crate::enqueue_in`] does on one of rusqlite. A future that is
/// dropped before it is done may have made some of them: roll back then.
pub async fn enqueue_over<S: Statements + Send>(connection: &mut S, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    check_batch(tasks)?;
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    connection.execute("savepoint kinfolk_enqueue", Vec::new()).await?;
    let done = enqueue_all(connection, tasks).await;
    if done.is_err() {
        connection.execute("rollback to kinfolk_enqueue", Vec::new()).await?;
    }
    connection.execute("release kinfolk_enqueue", Vec::new()).await?;
    done
}

async fn enqueue_all<S: Statements + Send>(connection: &mut S, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    let file = connection.row(FILE, Vec::new()).await?.unwrap_or_default();
    let file = Path::new(text(&file, 0).unwrap_or_default());
    refuse_foreign(&ours(file)?, file)?;
    // A write first, so that no other writer comes between the reads and the writes.
    connection.execute(TOUCH, Vec::new()).await?;
    let catalogue = Catalogue::load(&ours(file)?)?;
    for task in tasks {
        target(&catalogue, task)?;
    }
    let store = connection.row(READ, Vec::new()).await?.unwrap_or_default();
    let (now, mut last_task) = (not_before(integer(&store, 0)?), integer(&store, 1)?);
    // The numbers are taken before they are given out.
    let taken = last_task.saturating_add_unsigned(tasks.len() as u64);
    connection.execute(WRITE, vec![now.as_micros().into(), taken.into(), 0.into(), 0.into()]).await?;
    let (mut answers, mut queues) = (Vec::with_capacity(tasks.len()), BTreeSet::new());
    for task in tasks {
        let (command, queue) = target(&catalogue, task)?;
        if let Some(unique) = &task.unique {
            let asked = vec![unique.key.as_str().into(), command.id.into(), now.as_micros().into()];
            if let Some(row) = connection.row(HOLDER, asked).await? {
                let holder = held_by(&row)?;
                let payload = holder.joined_by(task, unique.on_duplicate)?;
                answers.push(join(connection, holder.id, payload).await?);
                continue;
            }
        }
        last_task += 1;
        let stand = Stand::of(task, command, now);
        let origin = Origin { keys: &Keys::new(), birth: None };
        let row = NewRow::of((&catalogue, now), task, (command, queue), &stand, origin)?;
        queues.insert(row.queue_id);
        connection.execute(INSERT, values(last_task, &row)).await?;
        if inline(&task.payload).is_none() {
            connection.execute(PUT_LARGE, vec![last_task.into(), task.payload.as_str().into()]).await?;
        }
        answers.push(Enqueued::Created(TaskId(last_task)));
    }
    for queue in queues {
        connection.execute(WAKE, vec![queue.into(), NOBODY.into()]).await?;
    }
    Ok(answers)
}

/// Gives the task that holds a key the payload that it gets from a newcomer, if it gets one.
async fn join<S: Statements + Send>(connection: &mut S, id: TaskId, payload: Option<Json>) -> Answer<Enqueued> {
    let Some(payload) = payload else { return Ok(Enqueued::Existing(id)) };
    connection.execute(REPLACE, vec![id.0.into(), inline(&payload).into()]).await?;
    match inline(&payload) {
        Some(_) => connection.execute(DROP_LARGE, vec![id.0.into()]).await?,
        None => connection.execute(PUT_LARGE, vec![id.0.into(), payload.as_str().into()]).await?,
    }
    Ok(Enqueued::Merged(id))
}

/// A connection of our own to the same file.
fn ours(file: &Path) -> Answer<Connection> {
    if file.as_os_str().is_empty() {
        return Err(StoreError::Unsupported {
            store: "sqlite",
            ability: "an enqueue over a connection that is on no file",
            remedy: "connect to the file of the store",
        });
    }
    Ok(reader(file, &Options::default())?)
}

/// A new task as `sql/produce/insert.sql` wants it.
fn values(id: i64, row: &NewRow<'_>) -> Vec<Value> {
    vec![
        id.into(),
        row.command_id.into(),
        row.queue_id.into(),
        row.gate.into(),
        i64::from(row.priority).into(),
        row.due.into(),
        row.position.into(),
        i64::from(row.max_attempts).into(),
        row.timeout.into(),
        row.created_at.into(),
        row.unique_key.into(),
        row.unique_scope.into(),
        row.key_until.into(),
        row.trace.into(),
        row.payload.into(),
        row.keys.as_ref().map(Json::as_str).into(),
        row.fair.as_deref().into(),
    ]
}

fn held_by(row: &[Value]) -> Result<Holder> {
    let (Some(state), Some(payload)) = (text(row, 1), text(row, 3)) else {
        return Err(unreadable("holder", &format!("{row:?}")));
    };
    Ok(Holder::new(integer(row, 0)?, state, integer(row, 2)?, payload.to_owned()))
}

fn text(row: &[Value], nth: usize) -> Option<&str> {
    match row.get(nth) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn integer(row: &[Value], nth: usize) -> Result<i64> {
    match row.get(nth) {
        Some(Value::Integer(number)) => Ok(*number),
        other => Err(unreadable("number", &format!("{other:?}"))),
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
