//! Tasks as Rust types, apart from the handlers that run them.

use kinfolk_core::{Command, CommandBuilder, InputError, Keys, Unique};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A typed task: the struct is the payload. `#[derive(Task)]` writes this; by hand it is as short:
///
/// ```
/// use std::time::Duration;
/// use kinfolk::{Command, CommandBuilder, Ctx, Task, TaskError, Unique};
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
///     fn command() -> CommandBuilder {
///         Command::named(Self::COMMAND).queue("mail").attempts(4).timeout(Duration::from_secs(30))
///     }
///
///     fn unique(&self) -> Option<Unique> {
///         Some(Unique::key(self.customer.to_string()))
///     }
/// }
///
/// async fn send_invoice(task: SendInvoice, ctx: Ctx) -> Result<(), TaskError> {
///     println!("attempt {} for customer {}", ctx.attempt(), task.customer);
///     Ok(())
/// }
/// # let _worker = |kinfolk: kinfolk::Kinfolk| kinfolk.worker().handle(send_invoice);
/// ```
///
/// A program that only enqueues needs the type and not the handler, which may be elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a task",
    note = "a payload is a type with `#[derive(Serialize, Deserialize, Task)]` and `#[task(command = \"…\")]`"
)]
pub trait Task: Serialize + DeserializeOwned + Send + 'static {
    /// The name of the command.
    const COMMAND: &'static str;

    /// The result of the task.
    type Output: Serialize + DeserializeOwned + Send;

    /// The command with its defaults: queue, priority, retries, timeout, groups. It is registered with them by every
    /// worker that handles it. A command that declares no groups leaves those that are registered, if some are.
    fn command() -> CommandBuilder {
        Command::named(Self::COMMAND)
    }

    /// The unique key of this task, if it has one; held while the task waits to start, unless its scope says otherwise.
    fn unique(&self) -> Option<Unique> {
        None
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
}
