//! The dry run of a recorded history. Only a program that has the handlers can do it: it says how, by [`Config::replays`].
//!
//! [`Config::replays`]: crate::Config::replays

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use kinfolk_core::{Failure, Key, StepKind, StoreError, TaskId};

/// What a dry run has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Which task.
    pub task: TaskId,
    /// How many checkpoints it has.
    pub steps: u32,
    /// How far the handler came.
    pub end: ReplayedEnd,
    /// Checkpoints that the handler did not ask for on the way.
    pub unused: Vec<Key>,
}

/// How a dry run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayedEnd {
    /// The code has changed under the history: the handler would fail with this.
    Diverged(Failure),
    /// The handler is answered from its records up to these operations, one for each branch.
    GoesOn(Vec<(Key, StepKind)>),
    /// The handler returned.
    Returned,
    /// The handler returned an error.
    Failed(Failure),
}

type Replay = dyn Fn(TaskId) -> BoxFuture<'static, Result<Replayed, StoreError>> + Send + Sync;

/// Runs the history of a task through the handlers of this program.
#[derive(Clone)]
pub(crate) struct Replayer(Arc<Replay>);

impl Replayer {
    pub(crate) fn new<F>(replay: impl Fn(TaskId) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Replayed, StoreError>> + Send + 'static,
    {
        Self(Arc::new(move |id| Box::pin(replay(id))))
    }

    pub(crate) async fn replay(&self, id: TaskId) -> Result<Replayed, StoreError> {
        (self.0)(id).await
    }
}

impl fmt::Debug for Replayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replayer(…)")
    }
}
