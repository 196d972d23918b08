//! One call of one SQL function: prepared, or unnamed behind a transaction pooler.

use std::pin::pin;

use deadpool_postgres::Object;
use futures_util::TryStreamExt;
use kinfolk_core::StoreError;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Row, RowStream};

use crate::error::store_error;

/// A parameter and its type.
pub(crate) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// Runs one statement and reads its rows. Safe to drop: the statement then ends by itself.
pub(crate) async fn rows(
    client: &Object,
    prepared: bool,
    sql: &'static str,
    params: &[Param<'_>],
) -> Result<Vec<Row>, StoreError> {
    let rows = run(client, prepared, sql, params).await?;
    rows.try_collect().await.map_err(|fault| store_error(&fault))
}

/// As [`rows`], but each row is read as it comes, and then gone.
pub(crate) async fn each_row(
    client: &Object,
    prepared: bool,
    sql: &'static str,
    params: &[Param<'_>],
    mut read: impl FnMut(&Row) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut rows = pin!(run(client, prepared, sql, params).await?);
    while let Some(row) = rows.try_next().await.map_err(|fault| store_error(&fault))? {
        read(&row)?;
    }
    Ok(())
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
