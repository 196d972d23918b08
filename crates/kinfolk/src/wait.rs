//! Waiting for a task's end.
//!
//! A task may end in any process, so the store is asked, with growing pauses. A worker that shares the handle says when
//! it has settled something, so that waiting in the same process takes no longer than the task.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kinfolk_core::{Failure, InputError, State, StoreError, TaskId};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use crate::backoff::Backoff;
use crate::kinfolk::Kinfolk;
use crate::task::Task;

const FIRST_LOOK: Duration = Duration::from_millis(5);
const SLOWEST_LOOK: Duration = Duration::from_millis(500);

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The task has failed.
    #[error("task {task} has failed ({kind}): {message}", kind = failure.kind, message = failure.message)]
    Failed {
        /// Which task.
        task: TaskId,
        /// Why.
        failure: Failure,
    },
    /// The task was cancelled.
    #[error("task {task} was cancelled")]
    Cancelled {
        /// Which task.
        task: TaskId,
    },
    /// The time is up, and the task has not ended. It goes on.
    #[error("task {task} has not ended after {after:?}; it goes on")]
    TimedOut {
        /// Which task.
        task: TaskId,
        /// How long was waited.
        after: Duration,
    },
    /// The result is not of the type it was asked as.
    #[error("the result of task {task} does not fit: {fault}")]
    Decode {
        /// Which task.
        task: TaskId,
        /// The part that does not fit.
        fault: InputError,
    },
    /// The store could not be asked, or has no such task.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Kinfolk {
    /// Waits until a task is terminal and gives it back. Put it under a timeout of your own if you can't wait for good.
    pub async fn wait(&self, id: TaskId) -> Result<kinfolk_core::Task, StoreError> {
        let mut look = Backoff::new(FIRST_LOOK, SLOWEST_LOOK);
        let _here = self.settlements.waiter();
        loop {
            let settled = self.settlements.changed.notified();
            tokio::pin!(settled);
            settled.as_mut().enable();
            let task = self.task(id).await?;
            if task.state.is_terminal() {
                return Ok(task);
            }
            let _ = tokio::time::timeout(look.pause(2), settled).await;
        }
    }

    /// Waits until a typed task is terminal and gives its result. Put it under a timeout of your own if you can't wait for good,
    /// or enqueue with [`crate::Enqueue::wait`].
    pub async fn result<T: Task>(&self, id: TaskId) -> Result<T::Output, ResultError> {
        self.result_within(id, None).await
    }

    pub(crate) async fn result_within<T: DeserializeOwned>(
        &self,
        id: TaskId,
        timeout: Option<Duration>,
    ) -> Result<T, ResultError> {
        let task = match timeout {
            None => self.wait(id).await?,
            Some(after) => match tokio::time::timeout(after, self.wait(id)).await {
                Ok(ended) => ended?,
                Err(_) => return Err(ResultError::TimedOut { task: id, after }),
            },
        };
        match (task.state, task.result, task.failure) {
            (State::Completed, result, _) => result
                .unwrap_or_else(kinfolk_core::Json::null)
                .to()
                .map_err(|fault| ResultError::Decode { task: id, fault }),
            (State::Failed, _, Some(failure)) => Err(ResultError::Failed { task: id, failure }),
            _ => Err(ResultError::Cancelled { task: id }),
        }
    }
}

/// Told by the workers of this handle whenever they have settled something.
#[derive(Debug, Default)]
pub(crate) struct Settlements {
    waiting: AtomicUsize,
    pub(crate) changed: Notify,
}

impl Settlements {
    /// Some attempts were settled.
    pub(crate) fn announce(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn waiter(&self) -> impl Drop + '_ {
        struct Waiter<'a>(&'a AtomicUsize);
        impl Drop for Waiter<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiter(&self.waiting)
    }
}
