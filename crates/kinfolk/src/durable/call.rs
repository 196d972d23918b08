//! A call: one sub-task, and its result.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kinfolk_core::{CommandName, Rule, Verdict};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::fan_out::{Begun, call_terms};
use super::results::{CallError, SubResult};
use super::sub::{Children, Sub};
use crate::ctx::Ctx;
use crate::draft::{Draft, made_options, task_options};
use crate::task::Task;
use crate::task_error::TaskError;

impl Ctx {
    /// Runs one sub-task and waits for its result, without a worker. Await it.
    ///
    /// ```
    /// use kinfolk::{Ctx, TaskError};
    ///
    /// async fn order(ctx: Ctx, order: u64) -> Result<u64, TaskError> {
    ///     let cents: u64 = ctx.call("price_order", &order).max_attempts(3).await?;
    ///     Ok(cents)
    /// }
    /// ```
    pub fn call<T: DeserializeOwned + Send>(
        &self,
        command: impl AsRef<str>,
        args: &(impl Serialize + ?Sized),
    ) -> Call<'_, T> {
        Call::new(self, Draft::of_command(command.as_ref(), args))
    }

    /// Runs one typed sub-task and waits for its result, without a worker. Await it.
    pub fn call_task<T: Task>(&self, task: &T) -> Call<'_, T::Output> {
        Call::new(self, Draft::of_sub_task(task))
    }
}

/// A call about to be made. Nothing happens until it is awaited.
#[must_use = "nothing is run until this is awaited"]
pub struct Call<'a, T> {
    ctx: &'a Ctx,
    draft: Draft,
    name: Option<String>,
    within: Option<Duration>,
    cancel_on_failure: bool,
    of: PhantomData<fn() -> T>,
}

impl<'a, T> Call<'a, T> {
    fn new(ctx: &'a Ctx, draft: Draft) -> Self {
        Self { ctx, draft, name: None, within: None, cancel_on_failure: false, of: PhantomData }
    }

    task_options!();
    made_options!();

    /// How long the whole call may take, all attempts and waits included, by the store's clock; then the sub-task is
    /// cancelled, and the parent gets an error.
    pub fn within(self, span: Duration) -> Self {
        Self { within: Some(span), ..self }
    }

    /// Cancel the sub-task when the parent fails for good meanwhile, in another branch.
    pub fn cancel_on_parent_failure(self) -> Self {
        Self { cancel_on_failure: true, ..self }
    }

    /// The name of this operation among those of the handler. Default: the command.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}

impl<'a, T: DeserializeOwned + Send + 'a> IntoFuture for Call<'a, T> {
    type Output = Result<T, TaskError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let command = self.draft.command().cloned();
            let terms = call_terms(self.name, self.within, self.cancel_on_failure);
            let one = std::iter::once(Sub { draft: self.draft });
            let (Some(children), Some(command)) = (Children::gather(self.ctx, &terms, one)?, command) else {
                return Err(TaskError::new("a call of nothing"));
            };
            let begun = Begun::begin(self.ctx, &terms, Rule::FailFast, children)?;
            let fan_out = begun.settled().await?;
            let Some(verdict) = fan_out.verdict else { return Err(begun.wait_for(1).await) };
            let mut page = begun.page(&fan_out, kinfolk_core::ReadBy::Index, 0, 1).await?;
            let child = page.pop();
            if verdict == Verdict::TimedOut {
                let task = child.as_ref().map(|child| child.task);
                let attempt = child.map_or(0, |child| child.attempt);
                return Err(CallError { command, task, verdict, failure: None, attempt }.into());
            }
            let Some(child) = child else { return Err(missing(&command)) };
            let attempt = child.attempt;
            SubResult::of(child)?.outcome.map_err(|failed| {
                let (task, failure) = (Some(failed.task), Some(failed.failure));
                CallError { command, task, verdict, failure, attempt }.into()
            })
        })
    }
}

fn missing(command: &CommandName) -> TaskError {
    TaskError::new(format!("the store has no result of the call of {command}"))
}

impl<T> fmt::Debug for Call<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("ctx", self.ctx).field("draft", &self.draft).finish_non_exhaustive()
    }
}
