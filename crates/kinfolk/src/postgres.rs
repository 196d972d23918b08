//! Settling inside the handler's own PostgreSQL transaction: its effects and the task's end are one.
//!
//! The settle is the last act before the commit, because it takes locks that others wait for. Whatever goes wrong, the
//! worker settles the attempt as usual afterwards, under the same token, and the database decides which of the two
//! counts:
//!
//! - The commit went through, and its answer was lost: the worker's settle is recognised as a repetition of a settled
//!   attempt, changes nothing, and is reported as what the commit recorded.
//! - The commit did not go through: the worker's settle records a failed attempt, and the task is tried again.
//! - The commit is still on its way: the worker's settle waits for the row, and then it is one of the two above.
//!
//! So the worker may only ever record a *failure* when it does not know, and [`Ctx::commit`] gives it an error to record.

use std::future::Future;

use kinfolk_core::{FailureKind, Outcome, Settle, Settled, State};
use kinfolk_postgres::{settle_in, store_error, task_in};
use serde::Serialize;

use crate::ctx::Ctx;
use crate::done::{Done, result_of};
use crate::task_error::TaskError;

/// An open PostgreSQL transaction: one of `tokio_postgres` or of `deadpool_postgres`.
pub trait PgTransaction: Send + Sync + Sized {
    #[doc(hidden)]
    fn inner(&self) -> &tokio_postgres::Transaction<'_>;

    #[doc(hidden)]
    fn commit(self) -> impl Future<Output = Result<(), tokio_postgres::Error>> + Send;

    #[doc(hidden)]
    fn rollback(self) -> impl Future<Output = Result<(), tokio_postgres::Error>> + Send;
}

macro_rules! pg_transaction {
    ($type:ty) => {
        impl PgTransaction for $type {
            fn inner(&self) -> &tokio_postgres::Transaction<'_> {
                self
            }

            async fn commit(self) -> Result<(), tokio_postgres::Error> {
                <$type>::commit(self).await
            }

            async fn rollback(self) -> Result<(), tokio_postgres::Error> {
                <$type>::rollback(self).await
            }
        }
    };
}

pg_transaction!(tokio_postgres::Transaction<'_>);
pg_transaction!(deadpool_postgres::Transaction<'_>);

impl Ctx {
    /// Completes the task in the handler's own transaction, as its last act, and commits it: either the handler's writes,
    /// the task's end and all that the handler has made (children, follow-ups…) are there, or nothing is. Return what this
    /// returns.
    ///
    /// ```no_run
    /// use kinfolk::{Ctx, Done, Json, TaskError};
    ///
    /// async fn pay(ctx: Ctx, _payload: Json) -> Result<Done<i64>, TaskError> {
    ///     # let pool: deadpool_postgres::Pool = unimplemented!();
    ///     let mut client = pool.get().await?;
    ///     let transaction = client.transaction().await?;
    ///     let row = transaction.query_one("insert into payment (cents) values (100) returning id", &[]).await?;
    ///     ctx.commit(transaction, row.get(0)).await
    /// }
    /// ```
    ///
    /// The transaction must be on the database that the task came from, and of isolation level `read committed`. If the
    /// task was meanwhile cancelled or given to someone else, or what the handler has made is refused, the transaction is
    /// rolled back and the answer is an error.
    /// If the fate of the commit is unknown because the connection broke, the answer is an error too: the worker records
    /// it only if the commit did not go through.
    pub async fn commit<T: Serialize>(&self, transaction: impl PgTransaction, result: T) -> Result<Done<T>, TaskError> {
        let outcome = Outcome::Done(result_of(&result)?);
        let task = &self.attempt.task;
        let settle = Settle { made: self.attempt.made.close(), ..Settle::new(task.id, task.token, outcome) };
        let answers = settle_in(transaction.inner(), std::slice::from_ref(&settle)).await?;
        match answers.first() {
            Some(Settled::Recorded(state @ (State::Completed | State::Waiting))) => {
                committed(transaction, *state).await
            }
            Some(Settled::Recorded(State::Cancelled)) => {
                let _ = transaction.rollback().await;
                Err(TaskError::of_kind(FailureKind::Cancelled, "cancelled before the commit"))
            }
            Some(Settled::Recorded(state @ (State::Failed | State::Pending))) => {
                let recorded = task_in(transaction.inner(), task.id).await.ok().flatten();
                let why = recorded.and_then(|task| task.failure);
                // Done, and failed by children that it spawned before a suspension: that is how it ended.
                if why.as_ref().is_some_and(|why| why.kind == FailureKind::Children) {
                    return committed(transaction, *state).await;
                }
                let _ = transaction.rollback().await;
                let why = why.map(|failure| failure.message);
                let refused = TaskError::of_kind(FailureKind::Refused, why.unwrap_or("not recorded".to_owned()));
                Err(if *state == State::Failed { refused.do_not_retry() } else { refused })
            }
            answer => {
                let _ = transaction.rollback().await;
                Err(TaskError::new(format!("task {} is no longer with this attempt: {answer:?}", task.id)))
            }
        }
    }
}

async fn committed<T>(transaction: impl PgTransaction, state: State) -> Result<Done<T>, TaskError> {
    match transaction.commit().await {
        Ok(()) => Ok(Done::committed(state)),
        Err(fault) => Err(TaskError::new(format!("could not commit: {}", store_error(&fault)))),
    }
}
