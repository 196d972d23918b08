//! SQLite by way of sqlx: the statements are carried, and decided upon by `kinfolk-sqlite`.

use kinfolk_core::store::Answer;
use kinfolk_core::{Enqueued, NewTask, StoreError};
use kinfolk_sqlite::{Statements, Value};
use sqlx_core::error::Error;
use sqlx_core::query::query;
use sqlx_core::row::Row;
use sqlx_core::type_info::TypeInfo;
use sqlx_core::value::ValueRef;
use sqlx_sqlite::{Sqlite, SqliteArguments, SqliteConnection, SqliteRow};

/// Enqueues tasks on the caller's connection to the file of a SQLite store: inside its transaction they exist if, and only if,
/// that commits. Workers of all processes notice the commit within milliseconds. A task whose command, queue or group is not
/// there is an error, [`StoreError::Rejected`]; then nothing was written, and the transaction can go on.
///
/// Begin the transaction with `begin_with("begin immediate")`: one that has read before it writes is refused by SQLite, as
/// [`StoreError::Busy`], if someone else has written meanwhile. A call that is given up before it is done may have made some of the
/// tasks: roll back then.
pub async fn enqueue_in_sqlite(connection: &mut SqliteConnection, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
    kinfolk_sqlite::enqueue_over(&mut Carried(connection), tasks).await
}

struct Carried<'c>(&'c mut SqliteConnection);

impl Statements for Carried<'_> {
    async fn execute(&mut self, sql: &'static str, values: Vec<Value>) -> Answer<()> {
        bound(sql, values).execute(&mut *self.0).await.map(drop).map_err(store_error)
    }

    async fn row(&mut self, sql: &'static str, values: Vec<Value>) -> Answer<Option<Vec<Value>>> {
        let row = bound(sql, values).fetch_optional(&mut *self.0).await.map_err(store_error)?;
        row.map(|row| (0..row.len()).map(|nth| value(&row, nth)).collect()).transpose().map_err(store_error)
    }
}

fn bound(sql: &'static str, values: Vec<Value>) -> sqlx_core::query::Query<'static, Sqlite, SqliteArguments> {
    values.into_iter().fold(query::<Sqlite>(sql), |query, value| match value {
        Value::Null => query.bind(None::<String>),
        Value::Integer(number) => query.bind(number),
        Value::Text(text) => query.bind(text),
    })
}

fn value(row: &SqliteRow, nth: usize) -> Result<Value, Error> {
    let raw = row.try_get_raw(nth)?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    match raw.type_info().name() {
        "INTEGER" => row.try_get_unchecked(nth).map(Value::Integer),
        _ => row.try_get_unchecked(nth).map(Value::Text),
    }
}

fn store_error(fault: Error) -> StoreError {
    let Error::Database(db) = &fault else { return crate::error::store_error(fault) };
    match db.code().and_then(|code| code.parse().ok()) {
        Some(code) => kinfolk_sqlite::store_error(code, db.message().to_owned()),
        None => StoreError::Fault { code: "sqlite".to_owned(), detail: fault.to_string() },
    }
}
