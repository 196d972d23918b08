//! How an attempt ends well, or at least not badly.

use std::marker::PhantomData;
use std::time::Duration;

use kinfolk_core::{Failure, FailureKind, Json, Outcome, Retry, State, Suspend};
use serde::Serialize;

use crate::task_error::TaskError;

/// The answer of a handler whose plain value does not say it all: [`Done::snooze`], [`Done::yield_family_slot`],
/// [`Done::release`].
///
/// ```
/// use std::time::Duration;
/// use kinfolk::{Ctx, Done, TaskError};
///
/// async fn poll_provider(_ctx: Ctx, _payload: kinfolk::Json) -> Result<Done<String>, TaskError> {
///     let status: Option<String> = None; // ask the provider
///     match status {
///         Some(status) => Ok(Done::value(status)),
///         None => Ok(Done::snooze(Duration::from_secs(10))),
///     }
/// }
/// ```
#[derive(Debug)]
pub struct Done<T>(How<T>);

#[derive(Debug)]
enum How<T> {
    Value(T),
    Snooze(Duration),
    YieldFamilySlot(Duration),
    Release,
    Committed(State, PhantomData<T>),
    Suspended,
}

/// The answers that a handler may return: any serialisable value is the task's result, a [`Done`] can say more.
pub trait IntoDone: Send {
    /// The type of the result.
    type Value: Serialize;

    /// The same as a [`Done`].
    fn into_done(self) -> Done<Self::Value>;
}

impl<T: Serialize + Send> IntoDone for T {
    type Value = T;

    fn into_done(self) -> Done<T> {
        Done::value(self)
    }
}

impl<T: Serialize + Send> IntoDone for Done<T> {
    type Value = T;

    fn into_done(self) -> Self {
        self
    }
}

impl<T> Done<T> {
    /// The task is completed with this result.
    pub const fn value(value: T) -> Self {
        Self(How::Value(value))
    }

    /// Not now: run the task again after this span. Costs no attempt.
    pub const fn snooze(span: Duration) -> Self {
        Self(How::Snooze(span))
    }

    /// As a snooze, and other families of the queue may go first meanwhile: on a queue with a `family_limit` the family
    /// gives up its family slot, and is admitted again in its turn.
    pub const fn yield_family_slot(span: Duration) -> Self {
        Self(How::YieldFamilySlot(span))
    }

    /// Give the task back as it was, for another worker, say when this one is about to stop. Costs no attempt.
    pub const fn release() -> Self {
        Self(How::Release)
    }

    /// The handler has settled its task by itself, under [`crate::Ctx::token`], and that is committed and left the task in
    /// this state: there is nothing left to record. `Ctx::commit` returns it; if nothing was settled, the task stays with
    /// the worker until it leaves.
    pub const fn committed(state: State) -> Self {
        Self(How::Committed(state, PhantomData))
    }

    /// The handler has suspended its task by itself, under [`crate::Ctx::token`], and that is committed: there is nothing left to
    /// record, and the task is claimed again when what it waits for is there.
    pub const fn suspended() -> Self {
        Self(How::Suspended)
    }
}

/// How a handler ended that did not fail, with its type erased. A layer gets it and hands it on.
#[derive(Debug)]
pub struct Ending(EndKind);

#[derive(Debug)]
enum EndKind {
    Settle(Outcome),
    Committed(State),
    Suspended,
}

impl Ending {
    /// The ending of a handler that returned this. An error if no store can keep the value.
    pub fn of<R: IntoDone>(returned: R) -> Result<Self, TaskError> {
        Ok(Self(match returned.into_done().0 {
            How::Value(value) => EndKind::Settle(Outcome::Done(result_of(&value)?)),
            How::Snooze(span) => EndKind::Settle(Outcome::Snooze(span)),
            How::YieldFamilySlot(span) => EndKind::Settle(Outcome::YieldFamilySlot(span)),
            How::Release => EndKind::Settle(Outcome::Release),
            How::Committed(state, _) => EndKind::Committed(state),
            How::Suspended => EndKind::Suspended,
        }))
    }

    /// The result, if there is one; that of a handler that has settled by itself is not known here.
    pub fn result(&self) -> Option<&Json> {
        match &self.0 {
            EndKind::Settle(Outcome::Done(result)) => result.as_ref(),
            _ => None,
        }
    }
}

/// How an attempt ended, as its runner hands it to the settler.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// To be recorded.
    Settle(Outcome),
    /// Not ended: it waits, and is to be suspended.
    Suspend(Box<Suspend>),
    /// Recorded already, in the handler's own transaction; the task is in this state.
    Committed(State),
    /// Suspended already, in the handler's own transaction.
    Suspended,
    /// Not ours to record: the lease was lost.
    Dropped,
}

impl From<Ending> for Verdict {
    fn from(ending: Ending) -> Self {
        match ending.0 {
            EndKind::Settle(outcome) => Self::Settle(outcome),
            EndKind::Committed(state) => Self::Committed(state),
            EndKind::Suspended => Self::Suspended,
        }
    }
}

/// A result as it is stored; `null` is none. One that no store can keep fails the attempt, for good: to run again would
/// give the same.
pub(crate) fn result_of<T: Serialize>(value: &T) -> Result<Option<Json>, TaskError> {
    let result = match serde_json::to_string(value) {
        Ok(text) if text == "null" => return Ok(None),
        Ok(text) => Json::parse(&text).map_err(|fault| fault.to_string()),
        Err(fault) => Err(fault.to_string()),
    };
    let unkept = |fault| TaskError::new(format!("the result can't be kept: {fault}")).do_not_retry();
    result.map(Some).map_err(unkept)
}

/// A failure for an outcome that a store would refuse.
pub(crate) fn unrecordable(message: &str) -> Outcome {
    Outcome::Failed { failure: Failure::new(FailureKind::Error, message), retry: Retry::Never }
}
