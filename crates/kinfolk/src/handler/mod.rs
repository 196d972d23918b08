//! Handlers: async functions that a worker runs, and the table in which it finds them.
//!
//! A function is a handler whatever order its arguments have. Which of them is the payload is told by its type, so each
//! number of arguments has one implementation for each place that the payload may have; only one of them fits a function.

mod table;

use std::future::Future;

use kinfolk_core::{FailureKind, InputError};
use serde::de::DeserializeOwned;

use crate::ctx::Ctx;
use crate::done::{Ending, IntoDone};
use crate::extract::{FromAttempt, Given};
use crate::task::Task;
use crate::task_error::{IntoTaskError, TaskError};

pub use self::table::IntoCommand;
pub(crate) use self::table::{Handlers, Run, of_function};

/// An async function that runs the tasks of one type: `WorkerBuilder::handle` takes it.
///
/// It has one payload (a [`Task`]) among at most eight arguments; the others are [`Ctx`], [`crate::extract::State`] and whatever
/// is [`FromAttempt`], in any order. It returns `Result<R, E>`: `R` is the task's [`Task::Output`], or a [`crate::Done`] of it, and
/// `E` is [`TaskError`] or a type of yours that is a [`crate::HandlerError`].
///
/// ```
/// use kinfolk::extract::State;
/// use kinfolk::{Ctx, HandlerError, Kinfolk, Retry, Task};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Task)]
/// #[task(command = "send_invoice", output = String)]
/// struct SendInvoice {
///     customer: u64,
/// }
///
/// #[derive(Clone)]
/// struct App;
///
/// #[derive(Debug, thiserror::Error)]
/// enum AppError {
///     #[error("customer {0} has left")]
///     Gone(u64),
///     #[error("the printer is on fire")]
///     Printer(#[from] std::io::Error),
/// }
///
/// impl HandlerError for AppError {
///     fn retry(&self) -> Retry {
///         match self {
///             Self::Gone(_) => Retry::Never,
///             Self::Printer(_) => Retry::Policy,
///         }
///     }
/// }
///
/// async fn send_invoice(task: SendInvoice, ctx: Ctx, State(_app): State<App>) -> Result<String, AppError> {
///     std::fs::write("/dev/null", format!("attempt {}", ctx.attempt()))?;
///     if task.customer == 0 { Err(AppError::Gone(0)) } else { Ok("sent".to_owned()) }
/// }
/// # let _worker = |kinfolk: Kinfolk| kinfolk.worker().state(App).handle(send_invoice);
/// ```
///
/// The compiler refuses any other function: one with two payloads, one with none, or one whose result is not the task's output.
///
/// ```compile_fail,E0277
/// # use serde::{Deserialize, Serialize};
/// # use kinfolk::{Kinfolk, Task, TaskError};
/// # #[derive(Serialize, Deserialize, Task)]
/// # #[task(command = "send_invoice")]
/// # struct SendInvoice;
/// async fn send_two(_one: SendInvoice, _two: SendInvoice) -> Result<(), TaskError> {
///     Ok(())
/// }
/// # let _worker = |kinfolk: Kinfolk| kinfolk.worker().handle(send_two);
/// ```
///
/// ```compile_fail,E0277
/// # use serde::{Deserialize, Serialize};
/// # use kinfolk::{Kinfolk, Task, TaskError};
/// # #[derive(Serialize, Deserialize, Task)]
/// # #[task(command = "send_invoice")]
/// # struct SendInvoice;
/// async fn send_text(_task: SendInvoice) -> Result<String, TaskError> {
///     Ok("the output is ()".to_owned())
/// }
/// # let _worker = |kinfolk: Kinfolk| kinfolk.worker().handle(send_text);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "a worker can't run this",
    note = "a handler is an async function with one payload (`T: Task`) among at most eight arguments; the others are `Ctx`, \
            `kinfolk::extract::State<S>` or types that implement `kinfolk::extract::FromAttempt`",
    note = "it returns `Result<R, E>`: `R` is the payload's `Task::Output`, or `Done` of it; `E` is `kinfolk::TaskError`, or a \
            type of yours with `impl kinfolk::HandlerError for …`",
    note = "its arguments are values, a `State<S>` needs `S: Clone + Send + Sync`, and no value that must stay on its thread (an `Rc`, the \
            guard of a lock, a transaction of rusqlite) is alive at an `.await`"
)]
pub trait Handler<M>: Clone + Send + Sync + 'static {
    /// The payload.
    type Task: Task;

    /// An error if the worker lacks something for the arguments.
    #[doc(hidden)]
    fn check(given: &Given) -> Result<(), InputError>;

    /// One attempt.
    #[doc(hidden)]
    fn run(&self, ctx: Ctx) -> impl Future<Output = Result<Ending, TaskError>> + Send;
}

/// The payload is the argument at this place.
#[doc(hidden)]
#[derive(Debug)]
pub struct At<const INDEX: usize>;

macro_rules! handler {
    ($index:literal: $($before:ident)* ; $($after:ident)*) => {
        impl<F, W, R, E, $($before,)* P, $($after,)*> Handler<(At<$index>, $($before,)* P, $($after,)*)> for F
        where
            F: Fn($($before,)* P, $($after,)*) -> W + Clone + Send + Sync + 'static,
            W: Future<Output = Result<R, E>> + Send,
            R: IntoDone<Value = P::Output>,
            E: IntoTaskError,
            P: Task,
            $($before: FromAttempt,)*
            $($after: FromAttempt,)*
        {
            type Task = P;

            fn check(given: &Given) -> Result<(), InputError> {
                let _ = given;
                $($before::check(given)?;)*
                $($after::check(given)?;)*
                Ok(())
            }

            async fn run(&self, ctx: Ctx) -> Result<Ending, TaskError> {
                let payload: P = payload_of(&ctx)?;
                let work = self(
                    $($before::from_attempt(&ctx).await?,)*
                    payload,
                    $($after::from_attempt(&ctx).await?,)*
                );
                Ending::of(work.await.map_err(IntoTaskError::into_task_error)?)
            }
        }
    };
}

/// For each place that the payload may have among these arguments.
macro_rules! handlers {
    ($($index:literal: $($before:ident)* ; $($after:ident)*,)+) => {
        $(handler!($index: $($before)* ; $($after)*);)+
    };
}

handlers! {
    0: ; ,
    0: ; A, 1: A ; ,
    0: ; A B, 1: A ; B, 2: A B ; ,
    0: ; A B C, 1: A ; B C, 2: A B ; C, 3: A B C ; ,
    0: ; A B C D, 1: A ; B C D, 2: A B ; C D, 3: A B C ; D, 4: A B C D ; ,
    0: ; A B C D G, 1: A ; B C D G, 2: A B ; C D G, 3: A B C ; D G, 4: A B C D ; G, 5: A B C D G ; ,
    0: ; A B C D G H, 1: A ; B C D G H, 2: A B ; C D G H, 3: A B C ; D G H, 4: A B C D ; G H, 5: A B C D G ; H,
    6: A B C D G H ; ,
    0: ; A B C D G H I, 1: A ; B C D G H I, 2: A B ; C D G H I, 3: A B C ; D G H I, 4: A B C D ; G H I,
    5: A B C D G ; H I, 6: A B C D G H ; I, 7: A B C D G H I ; ,
}

/// A payload that the handler's type can't hold will not fit at the next attempt either.
pub(crate) fn payload_of<P: DeserializeOwned>(ctx: &Ctx) -> Result<P, TaskError> {
    ctx.decode().map_err(|fault| {
        let words = format!("the payload does not fit the handler: {fault}");
        TaskError::of_kind(FailureKind::Validation, words).do_not_retry()
    })
}
