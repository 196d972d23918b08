//! One call of one SQL function: prepared, or unnamed behind a transaction pooler.
//!
//! Behind a pooler a session belongs to no client, and no setting of it lasts: a call there says itself which isolation level
//! it needs, in a transaction around its statement. All of it is sent at once.

use std::pin::pin;

use deadpool_postgres::Object;
use futures_util::TryStreamExt;
use kinfolk_core::StoreError;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, RowStream};

use crate::error::store_error;

/// A parameter and its type.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

const BEGIN: &str = "begin isolation level read committed";
const COMMIT: &str = "commit";

/// Runs one statement and reads its rows. Safe to drop: the statement then ends by itself.
pub(crate) async fn rows(
    client: &Object,
    prepared: bool,
    sql: &'static str,
    params: &[Param<'_>],
) -> Result<Vec<Row>, StoreError> {
    let rows = async {
        let rows = run(client, prepared, sql, params).await?;
        rows.try_collect().await.map_err(|fault| store_error(&fault))
    };
    if prepared { rows.await } else { alone(client, rows, |fault| store_error(&fault)).await }
}

/// As [`rows`], but each row is read as it comes, and then gone.
pub(crate) async fn each_row(
    client: &Object,
    prepared: bool,
    sql: &'static str,
    params: &[Param<'_>],
    mut read: impl FnMut(&Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let rows = async {
        let mut rows = pin!(run(client, prepared, sql, params).await?);
        while let Some(row) = rows.try_next().await.map_err(|fault| store_error(&fault))? {
            read(&row)?;
        }
        Ok(())
    };
    if prepared { rows.await } else { alone(client, rows, |fault| store_error(&fault)).await }
}

/// Puts a transaction around a call of one unnamed statement, which must be sent when the call is first polled. After an
/// error the commit is a rollback.
pub(crate) async fn alone<T, E>(
    client: &tokio_postgres::Client,
    call: impl Future<Output = Result<T, E>>,
    as_fault: impl Fn(tokio_postgres::Error) -> E,
) -> Result<T, E> {
    // Polled in this order, so sent in this order, and before anything is waited for.
    let (begun, answer, ended) =
        futures_util::future::join3(client.batch_execute(BEGIN), call, client.batch_execute(COMMIT)).await;
    begun.map_err(&as_fault)?;
    let answer = answer?;
    ended.map_err(&as_fault)?;
    Ok(answer)
}

async fn run(
    client: &Object,
    prepared: bool,
    sql: &'static str,
    params: &[Param<'_>],
) -> Result<RowStream, StoreError> {
    let values = params.iter().map(|(value, _)| *value);
    let types = params.iter().map(|(_, kind)| kind.clone());
    let rows = if prepared {
        let types: Vec<Type> = types.collect();
        let statement = client.prepare_typed_cached(sql, &types).await.map_err(|fault| store_error(&fault))?;
        client.query_raw(&statement, values).await
    } else {
        client.query_typed_raw(sql, values.zip(types)).await
    };
    rows.map_err(|fault| store_error(&fault))
}
