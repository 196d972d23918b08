//! Tasks as Rust types: the payload is the struct, the handler is its `run`.

use std::future::Future;

use kinfolk_core::{Command, CommandName, InputError, Unique};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ctx::Ctx;
use crate::done::IntoDone;
use crate::task_error::TaskError;

/// A typed task.
///
/// ```
/// use kinfolk::{Command, CommandName, Ctx, InputError, QueueName, Task, TaskError, Unique};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct SendInvoice {
///     customer: u64,
/// }
///
/// impl Task for SendInvoice {
///     const COMMAND: &'static str = "send_invoice";
///     type Output = ();
///
///     fn command() -> Result<Command, InputError> {
///         Ok(Command { queue: QueueName::new("mail")?, ..Command::new(CommandName::new(Self::COMMAND)?) })
///     }
///
///     fn unique(&self) -> Option<Unique> {
///         Some(Unique::key(self.customer.to_string()))
///     }
///
///     async fn run(self, ctx: Ctx) -> Result<(), TaskError> {
///         println!("attempt {} for customer {}", ctx.attempt(), self.customer);
///         Ok(())
///     }
/// }
/// ```
pub trait Task: Serialize + DeserializeOwned + Send + 'static {
    /// The name of the command.
    const COMMAND: &'static str;

    /// What the task ends with: any serialisable value, or [`crate::Done`] of one if the handler may snooze or settle in
    /// a transaction of its own.
    type Output: IntoDone<Value: DeserializeOwned>;

    /// The command with its defaults: queue, priority, retries, timeout. It is registered as it stands here by every
    /// worker that handles it.
    fn command() -> Result<Command, InputError> {
        Ok(Command::new(CommandName::new(Self::COMMAND)?))
    }

    /// The unique key of this task, if it has one.
    fn unique(&self) -> Option<Unique> {
        None
    }

    /// One attempt.
    fn run(self, ctx: Ctx) -> impl Future<Output = Result<Self::Output, TaskError>> + Send;
}
