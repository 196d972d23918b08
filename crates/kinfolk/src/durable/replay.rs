//! The dry run: recorded history through the code as it is now, with nothing written.
//!
//! It says whether a task in flight would get through this version of its handler, and where it would go on. The handler
//! really runs, up to the first operation that has no record: it does everything outside of its steps again. Steps that
//! were not recorded are not run, and children, signals and timers are left alone.

use std::sync::Arc;

use kinfolk_core::{
    ClaimedTask, Failure, FailureKind, InputError, Key, Outcome, StepKind, StoreError, Task, TaskId, Token,
};
use uuid::Uuid;

use super::book::Durable;
use crate::done::Verdict;
use crate::worker::WorkerBuilder;
use crate::worker::attempt::Attempt;
use crate::worker::runner;

/// The findings of a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Which task.
    pub task: TaskId,
    /// How many checkpoints it has.
    pub steps: u32,
    /// Checkpoints that the handler did not ask for on the way: steps that are gone from the code, or come later.
    pub unused: Vec<Key>,
    /// How far the handler came.
    pub end: ReplayEnd,
}

/// How a dry run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayEnd {
    /// The code has changed under the history: the handler would fail with this.
    Diverged(Failure),
    /// The handler is answered from its records up to here; with several branches, this is the next operation of each.
    GoesOn(Vec<(Key, StepKind)>),
    /// The handler returned: the task would be completed, put off or given back.
    Returned,
    /// The handler returned an error.
    Failed(Failure),
}

impl Replay {
    /// Whether the handler gets through its history.
    pub fn is_sound(&self) -> bool {
        !matches!(self.end, ReplayEnd::Diverged(_))
    }
}

impl WorkerBuilder {
    /// Runs the recorded history of a task through the handlers of this worker, and writes nothing: whether the code as it
    /// is now would diverge from it, and where it would go on. Nothing is registered, and no worker is started.
    pub async fn replay(self, id: TaskId) -> Result<Replay, StoreError> {
        let task = self.kinfolk().task(id).await?;
        let steps = task.steps;
        let shared = Arc::new(self.unregistered(task.queue.clone())?);
        if shared.handlers.get(&task.command).is_none() {
            let words =
                format!("this program has no handler for {}; run it where the command is handled", task.command);
            return Err(InputError::Other(words).into());
        }
        let attempt = Attempt { durable: Durable::dry(), ..Attempt::new(claimed(task), 0) };
        let attempt = Arc::new(attempt);
        let verdict = runner::recorded(runner::drive(&shared, &attempt).await);
        let (unused, stopped) = match attempt.durable.try_book() {
            Some(mut book) => (book.unseen(), book.take_stopped()),
            None => (Vec::new(), Vec::new()),
        };
        let end = match verdict {
            Verdict::Settle(Outcome::Failed { failure, .. }) if failure.kind == FailureKind::Diverged => {
                ReplayEnd::Diverged(failure)
            }
            Verdict::Settle(Outcome::Failed { failure, .. }) => ReplayEnd::Failed(failure),
            Verdict::Suspend(_) => ReplayEnd::GoesOn(stopped),
            Verdict::Settle(_) | Verdict::Committed(_) | Verdict::Suspended | Verdict::Dropped => ReplayEnd::Returned,
        };
        Ok(Replay { task: id, steps, unused, end })
    }
}

/// The task as if it were claimed: under a token that nobody has, so that no write could hold.
fn claimed(task: Task) -> ClaimedTask {
    ClaimedTask {
        holds_slots: false,
        waited: None,
        keys: task.keys,
        id: task.id,
        token: Token(Uuid::nil()),
        command: task.command,
        payload: task.payload,
        attempt: task.attempt.max(1),
        max_attempts: task.max_attempts,
        timeout: None,
        trace: task.trace,
        parent: task.parent,
        root: task.root,
        depth: task.depth,
        steps: task.steps,
    }
}
