//! The arguments of a handler beside its payload: the context, state of the program, and types of your own.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use kinfolk_core::InputError;

use crate::ctx::Ctx;
use crate::task_error::TaskError;

/// An argument of a handler. [`Ctx`] and [`State`] are arguments, and so is a type of yours that implements [`FromAttempt`]:
///
/// ```
/// use kinfolk::extract::{FromAttempt, Given, State};
/// use kinfolk::{Ctx, InputError, TaskError};
///
/// #[derive(Clone)]
/// struct Pool;
///
/// /// The tenant of the task, by its key in the group of that name.
/// struct Tenant(String);
///
/// impl FromAttempt for Tenant {
///     fn check(given: &Given) -> Result<(), InputError> {
///         State::<Pool>::check(given)
///     }
///
///     async fn from_attempt(ctx: &Ctx) -> Result<Self, TaskError> {
///         let _pool = State::<Pool>::from_attempt(ctx).await?;
///         ctx.key("tenant").map(|key| Tenant(key.to_owned())).ok_or_else(|| TaskError::validation("no tenant"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be an argument of a handler",
    label = "a worker does not know how to have this",
    note = "arguments are one payload (`T: Task`), `Ctx`, `State<S>`, and types that implement `FromAttempt`"
)]
pub trait FromAttempt: Sized + Send {
    /// Says what the worker lacks for this argument. It is asked once, when the worker is started.
    fn check(given: &Given) -> Result<(), InputError> {
        let _ = given;
        Ok(())
    }

    /// The argument for one attempt, before its handler begins. An error ends the attempt.
    fn from_attempt(ctx: &Ctx) -> impl Future<Output = Result<Self, TaskError>> + Send;
}

impl FromAttempt for Ctx {
    async fn from_attempt(ctx: &Ctx) -> Result<Self, TaskError> {
        Ok(ctx.clone())
    }
}

/// State of the program, as it was given to the worker: `WorkerBuilder::state`. Each handler gets a clone.
///
/// ```
/// use kinfolk::extract::State;
/// use kinfolk::{Kinfolk, Task, TaskError};
/// # use serde::{Deserialize, Serialize};
///
/// #[derive(Clone)]
/// struct Mailer;
///
/// #[derive(Serialize, Deserialize, Task)]
/// #[task(command = "send_letter")]
/// struct SendLetter;
///
/// async fn send_letter(_task: SendLetter, State(_mailer): State<Mailer>) -> Result<(), TaskError> {
///     Ok(())
/// }
/// # let _worker = |kinfolk: Kinfolk| kinfolk.worker().state(Mailer).handle(send_letter);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State<S>(pub S);

impl<S: Clone + Send + Sync + 'static> FromAttempt for State<S> {
    fn check(given: &Given) -> Result<(), InputError> {
        match given.get::<S>() {
            Some(_) => Ok(()),
            None => Err(InputError::Other(format!(
                "it asks for State<{name}>, which this worker was not given; add .state(…) with a {name}",
                name = type_name::<S>()
            ))),
        }
    }

    async fn from_attempt(ctx: &Ctx) -> Result<Self, TaskError> {
        match ctx.state::<S>() {
            Some(state) => Ok(Self(state.clone())),
            // Only where nobody has asked `check`.
            None => Err(TaskError::new(format!("the worker was given no {}", type_name::<S>()))),
        }
    }
}

impl<S> Deref for State<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S> DerefMut for State<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.0
    }
}

/// The values that a worker was given for its handlers, one of each type.
#[derive(Clone, Default)]
pub struct Given {
    by_type: HashMap<TypeId, (&'static str, Arc<dyn Any + Send + Sync>)>,
}

impl Given {
    /// The value of this type, if the worker was given one.
    pub fn get<S: 'static>(&self) -> Option<&S> {
        self.by_type.get(&TypeId::of::<S>()).and_then(|(_, state)| state.downcast_ref())
    }

    /// Takes a value in; an error if there was one of its type.
    pub(crate) fn put<S: Send + Sync + 'static>(&mut self, state: S) -> Result<(), InputError> {
        let name = type_name::<S>();
        match self.by_type.insert(TypeId::of::<S>(), (name, Arc::new(state))) {
            None => Ok(()),
            Some(_) => Err(InputError::Other(format!(
                "the worker was given two states of the type {name}; wrap one of them in a type of its own"
            ))),
        }
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_type.values().map(|(name, _)| name)).finish()
    }
}
