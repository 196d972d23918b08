//! How an attempt ends badly.
//!
//! Any error becomes a [`TaskError`] by `?` and is then tried again as the command's policy says. What differs from that
//! is said on the value ([`TaskError::retry_after`], [`TaskError::do_not_retry`], [`TaskError::validation`]), or once for all
//! errors of a program by its own type ([`HandlerError`]).

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use kinfolk_core::{Failure, FailureKind, Json, Outcome, Retry};
use serde::Serialize;

use crate::durable::{CallError, FanOutError};
use crate::family::MakeError;

type Any = Box<dyn Error + Send + Sync>;

/// Why an attempt failed, and whether and when the task may be tried again.
///
/// It does not implement [`std::error::Error`] itself, so that every type that does can be turned into it. It can be a part of
/// an error type of yours all the same (with thiserror, `Task(#[from] TaskError)`): the engine finds its words among the causes.
///
/// ```
/// use std::time::Duration;
/// use kinfolk::TaskError;
///
/// fn parse(text: &str) -> Result<u16, TaskError> {
///     Ok(text.parse::<u16>()?)                                  // tried again by policy
/// }
/// fn busy() -> TaskError {
///     TaskError::new("429 from the provider").retry_after(Duration::from_secs(30))
/// }
/// fn gone() -> TaskError {
///     TaskError::new("the account was closed").do_not_retry()
/// }
/// # assert!(parse("x").is_err());
/// # assert!(busy().to_string().contains("429") && gone().to_string().contains("closed"));
/// ```
pub struct TaskError(Box<Told>);

/// A whole error, as others hold it among their causes.
#[derive(Debug)]
struct Told {
    said: Said,
    cause: Option<Cause>,
}

/// The retry decision of an error, found among the causes of another one.
#[derive(Debug)]
struct Said {
    failure: Failure,
    retry: Retry,
    error: Option<Any>,
}

/// The failures of sub-tasks, for a handler that wants to go on.
#[derive(Debug)]
enum Cause {
    FanOut(FanOutError),
    Call(CallError),
}

impl Cause {
    /// The kind of failure of a handler that gives up.
    fn kind(&self) -> FailureKind {
        match self {
            Self::FanOut(fault) => fault.verdict.failure_kind(fault.failures.iter().map(|failed| failed.failure.kind)),
            Self::Call(fault) => fault.verdict.failure_kind(fault.failure.iter().map(|failure| failure.kind)),
        }
    }
}

/// The error type of a program: what each of its cases means for the task, said once and not at every call.
///
/// ```
/// use std::time::Duration;
/// use kinfolk::{HandlerError, Retry};
///
/// #[derive(Debug, thiserror::Error)]
/// enum AppError {
///     #[error("customer {0} has left")]
///     Gone(u64),
///     #[error("the provider wants a rest of {0:?}")]
///     Busy(Duration),
///     #[error(transparent)]
///     File(#[from] std::io::Error),
///     #[error(transparent)]
///     Task(#[from] kinfolk::TaskError),
/// }
///
/// impl HandlerError for AppError {
///     fn retry(&self) -> Retry {
///         match self {
///             Self::Gone(_) => Retry::Never,
///             Self::Busy(rest) => Retry::After(*rest),
///             _ => Retry::Policy,
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what its errors mean for a task",
    note = "return `kinfolk::TaskError`, into which `?` turns any error, or write `impl kinfolk::HandlerError for {Self} {{}}`"
)]
pub trait HandlerError: Into<Box<dyn Error + Send + Sync>> {
    /// Whether and when the task may be tried again. By policy, unless a [`TaskError`] among the causes says otherwise.
    fn retry(&self) -> Retry {
        Retry::Policy
    }
}

/// The errors that a handler may return: a [`TaskError`], or any type that is a [`HandlerError`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be the error of a handler",
    note = "return `kinfolk::TaskError`, into which `?` turns any error, or write `impl kinfolk::HandlerError for {Self} {{}}`"
)]
pub trait IntoTaskError {
    /// The same as a [`TaskError`].
    fn into_task_error(self) -> TaskError;
}

impl IntoTaskError for TaskError {
    fn into_task_error(self) -> TaskError {
        self
    }
}

impl<E: HandlerError> IntoTaskError for E {
    fn into_task_error(self) -> TaskError {
        let retry = self.retry();
        let error = TaskError::from(self);
        if retry == Retry::Policy { error } else { error.with_retry(retry) }
    }
}

impl HandlerError for Any {}
impl HandlerError for std::io::Error {}
impl HandlerError for serde_json::Error {}
impl HandlerError for kinfolk_core::StoreError {}

impl TaskError {
    /// An error in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of_kind(FailureKind::Error, message)
    }

    /// The payload or the business rules forbid it: the task fails at once and is never retried.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::of_kind(FailureKind::Validation, message).do_not_retry()
    }

    /// A failure as it will be kept, and whether and when the task may be tried again.
    pub fn of(failure: Failure, retry: Retry) -> Self {
        Self(Box::new(Told { said: Said { failure, retry, error: None }, cause: None }))
    }

    /// Try again after this span instead of the policy's, if the policy still allows an attempt.
    #[must_use]
    pub fn retry_after(self, span: Duration) -> Self {
        self.with_retry(Retry::After(span))
    }

    /// The task fails now, whatever attempts are left.
    #[must_use]
    pub fn do_not_retry(self) -> Self {
        self.with_retry(Retry::Never)
    }

    /// Try again as this says.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.said.retry = retry;
        self
    }

    /// Something more for a program, kept with the failure. A value that is not JSON is left out.
    #[must_use]
    pub fn detail(mut self, detail: &impl Serialize) -> Self {
        if let Ok(detail) = Json::of(detail) {
            self.0.said.failure.detail = Some(detail);
        }
        self
    }

    /// The failure as it will be kept.
    pub fn failure(&self) -> &Failure {
        &self.0.said.failure
    }

    /// Whether and when the task may be tried again.
    pub fn retry(&self) -> Retry {
        self.0.said.retry
    }

    /// The error that this one was made of, if it was made of one.
    pub fn error(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.0.said.error.as_deref()
    }

    /// The failures of the fan-out that this error comes from, if it comes from one.
    pub fn fan_out(&self) -> Option<&FanOutError> {
        match &self.0.cause {
            Some(Cause::FanOut(fault)) => Some(fault),
            _ => None,
        }
    }

    /// The failure of the call that this error comes from, if it comes from one.
    pub fn call(&self) -> Option<&CallError> {
        match &self.0.cause {
            Some(Cause::Call(fault)) => Some(fault),
            _ => None,
        }
    }

    pub(crate) fn of_kind(kind: FailureKind, message: impl Into<String>) -> Self {
        Self::of(Failure::new(kind, message), Retry::Policy)
    }

    /// An error by failed sub-tasks. It is not tried again, because the sub-tasks have had their attempts.
    fn of_cause(words: String, detail: &impl Serialize, cause: Cause) -> Self {
        let mut error = Self::of_kind(cause.kind(), words).do_not_retry().detail(detail);
        error.0.cause = Some(cause);
        error
    }

    /// An error with all that a [`TaskError`] among its causes says.
    fn of_error(words: String, error: Any) -> Self {
        let (kind, detail, retry) = match said_in(&*error) {
            Some(said) => (said.failure.kind, said.failure.detail.clone(), said.retry),
            None => (FailureKind::Error, None, Retry::Policy),
        };
        let failure = Failure { detail, ..Failure::new(kind, words) };
        Self(Box::new(Told { said: Said { failure, retry, error: Some(error) }, cause: None }))
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        let Said { failure, retry, .. } = self.0.said;
        match failure.kind {
            FailureKind::Cancelled => Outcome::Cancelled,
            _ => Outcome::Failed { failure, retry },
        }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for TaskError {
    fn from(error: E) -> Self {
        let error = error.into();
        let words = with_causes(&*error);
        let error = match error.downcast::<MakeError>() {
            Ok(fault) => {
                let kind = match *fault {
                    MakeError::Diverged(_) => FailureKind::Diverged,
                    _ => FailureKind::Refused,
                };
                return Self::of_kind(kind, words).do_not_retry();
            }
            Err(error) => error,
        };
        let error = match error.downcast::<FanOutError>() {
            Ok(fault) => return Self::of_cause(words, &fault.detail(), Cause::FanOut(*fault)),
            Err(error) => error,
        };
        match error.downcast::<CallError>() {
            Ok(fault) => Self::of_cause(words, &fault.clone(), Cause::Call(*fault)),
            Err(error) => Self::of_error(words, error),
        }
    }
}

/// The message of an error and of what caused it, each once.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !message.ends_with(&words) {
            message.push_str(": ");
            message.push_str(&words);
        }
        cause = error.source();
    }
    message
}

/// The words of the outermost [`TaskError`] among the causes of an error.
fn said_in<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Said> {
    std::iter::successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
}

/// So that an error type can have a [`TaskError`] among its sources.
impl Deref for TaskError {
    type Target = dyn Error + Send + Sync + 'static;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.said.fmt(f)
    }
}

/// Its cause is its own words, so that they are found below an error that hides its source.
impl Error for Told {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.said)
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure.message)
    }
}

/// Its words hold those of all causes.
impl Error for Said {}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Said { failure, retry, .. } = &self.0.said;
        write!(f, "{} ({}, retry: {retry:?})", failure.message, failure.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not send")]
    struct Outer(#[source] std::num::ParseIntError);

    #[derive(Debug, thiserror::Error)]
    enum App {
        #[error("gone")]
        Gone,
        #[error(transparent)]
        Task(#[from] TaskError),
        #[error("while working")]
        Work(#[source] Box<App>),
    }

    impl HandlerError for App {
        fn retry(&self) -> Retry {
            if matches!(self, Self::Gone) { Retry::Never } else { Retry::Policy }
        }
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let fault: TaskError = Outer("x".parse::<u8>().unwrap_err()).into();
        assert_eq!(fault.to_string(), "could not send: invalid digit found in string");
        assert!(fault.error().is_some_and(|error| error.is::<Outer>()), "and is kept itself");
    }

    #[test]
    fn text_and_foreign_error_types_become_errors_too() {
        assert_eq!(TaskError::from("plain").to_string(), "plain");
        assert_eq!(TaskError::from(format!("{}", 1)).to_string(), "1");
    }

    #[test]
    fn an_error_type_says_what_its_cases_mean() {
        let fault = App::Gone.into_task_error();
        assert_eq!((fault.to_string().as_str(), fault.retry()), ("gone", Retry::Never));
    }

    #[test]
    fn what_a_task_error_says_is_heard_through_other_errors() {
        let refused = || App::from(TaskError::validation("no such tenant").detail(&7));
        let (fault, deep) = (refused().into_task_error(), App::Work(Box::new(refused())).into_task_error());
        assert_eq!(fault.to_string(), "no such tenant");
        assert_eq!(deep.to_string(), "while working: no such tenant");
        for fault in [fault, deep] {
            assert_eq!((fault.retry(), fault.failure().kind), (Retry::Never, FailureKind::Validation));
            assert_eq!(fault.failure().detail, Some(Json::of(&7).unwrap()));
        }
    }
}
