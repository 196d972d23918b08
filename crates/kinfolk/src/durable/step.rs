//! A step: a side effect of the handler's own whose answer is recorded.

use std::future::Future;

use kinfolk_core::{Json, StepKind};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::op::Busy;
use crate::ctx::Ctx;
use crate::task_error::TaskError;

impl Ctx {
    /// Does something once, as far as the records see it: the store records the body's result, and a handler that is
    /// resumed or tried again gets it back without running the body.
    ///
    /// An error of the body is not recorded: it is returned as it is, and the next attempt runs the body again. So does an
    /// attempt whose worker died between the body's end and the record: make the effect itself safe to repeat, or on
    /// PostgreSQL put it into the transaction that records it, with `Ctx::open_step`. While a body runs, the attempt is not
    /// suspended.
    ///
    /// ```
    /// use kinfolk::{Ctx, TaskError};
    ///
    /// async fn pay(ctx: Ctx, cents: u64) -> Result<String, TaskError> {
    ///     let receipt: String = ctx.step("charge the card", async { Ok(format!("paid {cents}")) }).await?;
    ///     Ok(receipt)
    /// }
    /// ```
    pub async fn step<T, F>(&self, name: impl AsRef<str>, body: F) -> Result<T, TaskError>
    where
        T: Serialize + DeserializeOwned,
        F: Future<Output = Result<T, TaskError>>,
    {
        let (op, recorded) = self.begin(name.as_ref(), StepKind::Step, String::new())?;
        if let Some(value) = recorded {
            return op.read(&value);
        }
        op.stop_if_dry().await?;
        let _busy = Busy::new(&self.attempt);
        self.flush().await?;
        let value = Json::of(&body.await?).map_err(|fault| TaskError::from(fault).do_not_retry())?;
        op.record(value.clone()).await?;
        // As a resumed handler will see it.
        op.read(&value)
    }
}
