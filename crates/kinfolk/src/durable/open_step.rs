//! A step whose record is written in the handler's own PostgreSQL transaction: its effect and its checkpoint are one.
//!
//! If the fate of the commit is unknown because the connection broke, the attempt fails and is tried again; the next one
//! finds the checkpoint, or it does not, and either way the effect is there exactly if the checkpoint is.

use std::marker::PhantomData;

use kinfolk_core::{Json, Record, Recorded, StepKind};
use kinfolk_postgres::{record_in, store_error};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::op::{Busy, Op};
use crate::ctx::Ctx;
use crate::postgres::PgTransaction;
use crate::task_error::TaskError;

/// A step that was recorded, or is to be done in a transaction of the handler's own.
#[derive(Debug)]
pub enum OpenStep<'a, T> {
    /// It was done before, and returned this.
    Recorded(T),
    /// It is to be done now.
    New(NewStep<'a, T>),
}

/// A step to be done now. While it is open, the attempt is not suspended; one that is dropped has recorded nothing.
#[must_use = "nothing is recorded until it is committed"]
pub struct NewStep<'a, T> {
    op: Op<'a>,
    _busy: Busy,
    of: PhantomData<fn() -> T>,
}

impl Ctx {
    /// Begins a step whose record is to be written in a PostgreSQL transaction of the handler's own, together with its
    /// effect: exactly once.
    ///
    /// ```no_run
    /// use kinfolk::{Ctx, OpenStep, TaskError};
    ///
    /// async fn travel(ctx: Ctx, person: String) -> Result<i32, TaskError> {
    ///     # let pool: deadpool_postgres::Pool = unimplemented!();
    ///     let seat: i32 = match ctx.open_step("book a seat").await? {
    ///         OpenStep::Recorded(seat) => seat,
    ///         OpenStep::New(step) => {
    ///             let mut client = pool.get().await?;
    ///             let transaction = client.transaction().await?;
    ///             let row = transaction.query_one("insert into seat (person) values ($1) returning id", &[&person]).await?;
    ///             step.commit(transaction, row.get(0)).await?
    ///         }
    ///     };
    ///     Ok(seat)
    /// }
    /// ```
    ///
    /// The transaction must be on the database that the task came from.
    pub async fn open_step<T>(&self, name: impl AsRef<str>) -> Result<OpenStep<'_, T>, TaskError>
    where
        T: Serialize + DeserializeOwned,
    {
        let (op, recorded) = self.begin(name.as_ref(), StepKind::Step, String::new())?;
        if let Some(value) = recorded {
            return op.read(&value).map(OpenStep::Recorded);
        }
        op.stop_if_dry().await?;
        let busy = Busy::new(&self.attempt);
        self.flush().await?;
        Ok(OpenStep::New(NewStep { op, _busy: busy, of: PhantomData }))
    }
}

impl<T: Serialize + DeserializeOwned> NewStep<'_, T> {
    /// Records what the step returned in this transaction, and commits it: both are there, or neither. If the task was
    /// given to someone else meanwhile, the transaction is rolled back.
    pub async fn commit(self, transaction: impl PgTransaction, value: T) -> Result<T, TaskError> {
        let value = Json::of(&value).map_err(|fault| TaskError::from(fault).do_not_retry())?;
        let task = &self.op.ctx.attempt.task;
        let checkpoints = vec![self.op.checkpoint(value.clone())];
        let record = Record { task: task.id, token: task.token, checkpoints };
        record.check().map_err(|fault| TaskError::from(fault).do_not_retry())?;
        let answers = record_in(transaction.inner(), std::slice::from_ref(&record)).await?;
        if answers.first() != Some(&Recorded::Written) {
            let _ = transaction.rollback().await;
            return Err(self.op.ctx.lost().await);
        }
        if let Err(fault) = transaction.commit().await {
            return Err(TaskError::new(format!("could not commit: {}", store_error(&fault))));
        }
        self.op.read(&value)
    }
}

impl<T> std::fmt::Debug for NewStep<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewStep").field("key", &self.op.key).finish_non_exhaustive()
    }
}
