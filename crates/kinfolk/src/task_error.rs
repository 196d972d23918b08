//! How an attempt ends badly.
//!
//! Any error becomes a [`TaskError`] by `?` and is then tried again as the command's policy says. What differs from that
//! is said on the value: [`TaskError::retry_after`], [`TaskError::do_not_retry`], [`TaskError::validation`].

use std::error::Error;
use std::fmt;
use std::time::Duration;

use kinfolk_core::{Failure, FailureKind, Json, Outcome, Retry};
use serde::Serialize;

use crate::durable::{CallError, FanOutError};
use crate::family::MakeError;

/// Why an attempt failed, and whether and when the task may be tried again.
///
/// It does not implement [`std::error::Error`] itself, so that every type that does can be turned into it.
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
pub struct TaskError {
    failure: Failure,
    retry: Retry,
    cause: Option<Box<Cause>>,
}

/// What went wrong with sub-tasks, for a handler that wants to go on.
enum Cause {
    FanOut(FanOutError),
    Call(CallError),
}

impl TaskError {
    /// An error in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { failure: Failure::new(FailureKind::Error, message), retry: Retry::Policy, cause: None }
    }

    /// The payload or the business rules forbid it: the task fails at once and is never retried.
    pub fn validation(message: impl Into<String>) -> Self {
        Self { failure: Failure::new(FailureKind::Validation, message), retry: Retry::Never, cause: None }
    }

    /// A failure as it will be kept, and whether and when the task may be tried again.
    pub fn of(failure: Failure, retry: Retry) -> Self {
        Self { failure, retry, cause: None }
    }

    /// Try again after this span instead of the policy's, if the policy still allows an attempt.
    #[must_use]
    pub fn retry_after(self, span: Duration) -> Self {
        Self { retry: Retry::After(span), ..self }
    }

    /// The task fails now, whatever attempts are left.
    #[must_use]
    pub fn do_not_retry(self) -> Self {
        Self { retry: Retry::Never, ..self }
    }

    /// Something more for a program, kept with the failure. A value that is not JSON is left out.
    #[must_use]
    pub fn detail(self, detail: &impl Serialize) -> Self {
        match Json::of(detail) {
            Ok(detail) => Self { failure: self.failure.detail(detail), ..self },
            Err(_) => self,
        }
    }

    /// The failure as it will be kept.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// What went wrong in the fan-out that this error comes from, if it comes from one.
    pub fn fan_out(&self) -> Option<&FanOutError> {
        match self.cause.as_deref() {
            Some(Cause::FanOut(fault)) => Some(fault),
            _ => None,
        }
    }

    /// What went wrong in the call that this error comes from, if it comes from one.
    pub fn call(&self) -> Option<&CallError> {
        match self.cause.as_deref() {
            Some(Cause::Call(fault)) => Some(fault),
            _ => None,
        }
    }

    pub(crate) fn of_kind(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { failure: Failure::new(kind, message), retry: Retry::Policy, cause: None }
    }

    /// What sub-tasks did not do, they would not do the next time either: they have had their attempts.
    fn of_cause(words: String, detail: &impl Serialize, cause: Cause) -> Self {
        let error = Self::new(words).do_not_retry().detail(detail);
        Self { cause: Some(Box::new(cause)), ..error }
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        match self.failure.kind {
            FailureKind::Cancelled => Outcome::Cancelled,
            _ => Outcome::Failed { failure: self.failure, retry: self.retry },
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
            Err(_) => Self::new(words),
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

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.failure.message)
    }
}

impl fmt::Debug for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, retry: {:?})", self.failure.message, self.failure.kind, self.retry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not send")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn an_error_is_told_with_its_causes() {
        let fault: TaskError = Outer("x".parse::<u8>().unwrap_err()).into();
        assert_eq!(fault.to_string(), "could not send: invalid digit found in string");
    }

    #[test]
    fn text_and_foreign_error_types_become_errors_too() {
        assert_eq!(TaskError::from("plain").to_string(), "plain");
        assert_eq!(TaskError::from(format!("{}", 1)).to_string(), "1");
    }
}
