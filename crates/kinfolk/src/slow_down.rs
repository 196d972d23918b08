//! A handler that was told to come back later holds up the others that would be told the same.
//!
//! Written at once, whatever becomes of the attempt, and fenced: an attempt that is over slows nothing down.

use std::time::Duration;

use kinfolk_core::{Due, Event, GroupName, Timestamp};

use crate::ctx::Ctx;
use crate::task_error::TaskError;

impl Ctx {
    /// Starts nothing more under the key that this task has in this group, until then. A later moment of an earlier
    /// request counts. Running tasks go on. On all workers, for all commands that share the group.
    ///
    /// Not a recorded operation; while a durable handler is being replayed it does nothing. An error if the task has no key
    /// in such a group.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kinfolk::{Ctx, TaskError};
    /// # enum Answer { Sent, TooMany { seconds: u64 } }
    /// # async fn post(_: &str) -> Answer { Answer::Sent }
    ///
    /// async fn send(ctx: Ctx, letter: String) -> Result<(), TaskError> {
    ///     match post(&letter).await {
    ///         Answer::Sent => Ok(()),
    ///         Answer::TooMany { seconds } => {
    ///             let pause = Duration::from_secs(seconds);
    ///             ctx.slow_down_for("provider", pause).await?;
    ///             Err(TaskError::new("the provider asks to slow down").retry_after(pause))
    ///         }
    ///     }
    /// }
    /// ```
    pub async fn slow_down(&self, group: impl AsRef<str>, until: impl Into<Timestamp>) -> Result<(), TaskError> {
        self.slow(group.as_ref(), Due::At(until.into())).await
    }

    /// The same for a span from now, by the store's clock.
    pub async fn slow_down_for(&self, group: impl AsRef<str>, span: Duration) -> Result<(), TaskError> {
        self.slow(group.as_ref(), Due::After(span)).await
    }

    async fn slow(&self, group: &str, until: Due) -> Result<(), TaskError> {
        let group = GroupName::new(group).map_err(|fault| TaskError::from(fault).do_not_retry())?;
        if self.is_replaying() || self.is_dry() {
            return Ok(());
        }
        let until = match until {
            Due::At(moment) => moment,
            span => span.at(self.ask("now", |store| store.now()).await?),
        };
        let (task, token) = (self.task(), self.token());
        if !self.ask("slow_down", |store| store.slow_down(task, token, &group, until)).await? {
            return Err(self.lost().await);
        }
        let command = self.command().clone();
        self.worker.observer.emit(&Event::SlowedDown { task, command, group, until });
        Ok(())
    }
}
