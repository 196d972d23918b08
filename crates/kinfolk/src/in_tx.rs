//! Transactions of the caller's own in which tasks can be enqueued.
//!
//! Nothing is opened here, and nothing is committed: the tasks become real with the rest of the transaction.

use std::future::Future;

use kinfolk_core::{Enqueued, NewTask, StoreError};

/// A transaction in which tasks can be enqueued: of `tokio_postgres` or `deadpool_postgres`, of `rusqlite` on the file of a
/// SQLite store, and of `sqlx`, with the feature `sqlx` on PostgreSQL and with `sqlx-sqlite` on the file of a SQLite store.
#[diagnostic::on_unimplemented(
    message = "no task can be enqueued in `{Self}`",
    note = "there are: transactions of tokio-postgres, deadpool-postgres and rusqlite, and of sqlx with the features `sqlx` (PostgreSQL) and `sqlx-sqlite`"
)]
pub trait EnqueueIn {
    /// Enqueues tasks in this order, all or nothing. One answer each.
    fn enqueue_in(&mut self, tasks: &[NewTask]) -> impl Future<Output = Result<Vec<Enqueued>, StoreError>>;
}

#[cfg(feature = "postgres")]
impl EnqueueIn for tokio_postgres::Transaction<'_> {
    async fn enqueue_in(&mut self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        kinfolk_postgres::enqueue_in(self, tasks).await
    }
}

#[cfg(feature = "postgres")]
impl EnqueueIn for deadpool_postgres::Transaction<'_> {
    async fn enqueue_in(&mut self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        kinfolk_postgres::enqueue_in(&**self, tasks).await
    }
}

#[cfg(feature = "sqlite")]
impl EnqueueIn for rusqlite::Transaction<'_> {
    async fn enqueue_in(&mut self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        kinfolk_sqlite::enqueue_in(self, tasks)
    }
}

#[cfg(feature = "sqlx")]
impl EnqueueIn for sqlx_core::transaction::Transaction<'_, sqlx_postgres::Postgres> {
    async fn enqueue_in(&mut self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        kinfolk_sqlx::enqueue_in(self, tasks).await
    }
}

#[cfg(feature = "sqlx-sqlite")]
impl EnqueueIn for sqlx_core::transaction::Transaction<'_, sqlx_sqlite::Sqlite> {
    async fn enqueue_in(&mut self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        kinfolk_sqlx::enqueue_in_sqlite(self, tasks).await
    }
}
