//! Tasks as Rust types: the payload is the struct, the handler is its `run`.

use std::future::Future;

use kinfolk_core::{Command, CommandName, Groups, InputError, Keys, Unique};
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

    /// The unique key of this task, if it has one; held while the task waits to start, unless its scope says otherwise.
    fn unique(&self) -> Option<Unique> {
        None
    }

    /// The groups of the command: how many of its tasks may run at once under each key of them, and how many may start in a
    /// span of time. A type that declares none leaves those that are registered, if some are.
    ///
    /// ```
    /// # use kinfolk::{Groups, InputError};
    /// # struct ProcessMessage;
    /// # impl ProcessMessage {
    /// fn groups() -> Result<Groups, InputError> {
    ///     Groups::of([("tenant", 20), ("message", 1)])
    /// }
    /// # }
    /// ```
    fn groups() -> Result<Groups, InputError> {
        Ok(Groups::new())
    }

    /// The keys of this task in the groups of its command. In a group for which it has none it is not held up.
    ///
    /// ```
    /// # use kinfolk::{InputError, Keys};
    /// # struct ProcessMessage { tenant: String, message: String }
    /// # impl ProcessMessage {
    /// fn keys(&self) -> Result<Keys, InputError> {
    ///     Keys::of([("tenant", &self.tenant), ("message", &self.message)])
    /// }
    /// # }
    /// ```
    fn keys(&self) -> Result<Keys, InputError> {
        Ok(Keys::new())
    }

    /// One attempt.
    fn run(self, ctx: Ctx) -> impl Future<Output = Result<Self::Output, TaskError>> + Send;
}

/// The command of a typed task with its groups, as it is registered.
pub(crate) fn command_of<T: Task>() -> Result<Command, InputError> {
    let (command, groups) = (T::command()?, T::groups()?);
    Ok(if groups.0.is_empty() { command } else { Command { groups: Some(groups), ..command } })
}
