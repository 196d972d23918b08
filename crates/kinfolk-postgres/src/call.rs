//! One call of one SQL function: prepared, or unnamed behind a transaction pooler.

use deadpool_postgres::Object;
use kinfolk_core::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

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
    if !prepared {
        return client.query_typed(sql, params).await.map_err(|fault| store_error(&fault));
    }
    let types: Vec<Type> = params.iter().map(|(_, kind)| kind.clone()).collect();
    let values: Vec<&(dyn ToSql + Sync)> = params.iter().map(|(value, _)| *value).collect();
    let statement = client.prepare_typed_cached(sql, &types).await.map_err(|fault| store_error(&fault))?;
    client.query(&statement, &values).await.map_err(|fault| store_error(&fault))
}
