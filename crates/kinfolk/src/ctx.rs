//! The context of a handler: its attempt, and the operations that it may call.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kinfolk_core::{CommandName, Event, Json, Keys, QueueName, TaskId, Token};
use serde::de::DeserializeOwned;

use crate::kinfolk::Kinfolk;
use crate::worker::attempt::{Attempt, Call};
use crate::worker::state::Shared;

/// The context of one attempt. Cheap to clone; may be sent to tasks that the handler spawns.
#[derive(Clone)]
pub struct Ctx {
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) worker: Arc<Shared>,
    /// The branch of the handler that this context is for; none for the handler itself.
    pub(crate) branch: Option<Arc<str>>,
}

impl Ctx {
    pub(crate) fn new(attempt: &Arc<Attempt>, worker: &Arc<Shared>) -> Self {
        Self { attempt: Arc::clone(attempt), worker: Arc::clone(worker), branch: None }
    }

    /// The task's number.
    pub fn task(&self) -> TaskId {
        self.attempt.task.id
    }

    /// The token of this attempt's claim, which fences every write to the task. For a handler that settles its task by
    /// itself, in a transaction of its own: it then returns [`crate::Done::committed`].
    pub fn token(&self) -> Token {
        self.attempt.task.token
    }

    /// Which attempt this is; 1 is the first.
    pub fn attempt(&self) -> u16 {
        self.attempt.task.attempt
    }

    /// Attempts in all.
    pub fn max_attempts(&self) -> u16 {
        self.attempt.task.max_attempts
    }

    /// Whether the task fails for good if this attempt does.
    pub fn is_last_attempt(&self) -> bool {
        self.attempt() >= self.max_attempts()
    }

    /// The command that runs.
    pub fn command(&self) -> &CommandName {
        &self.attempt.task.command
    }

    /// The queue the task waited on.
    pub fn queue(&self) -> &QueueName {
        &self.worker.shares[self.attempt.share].queue
    }

    /// The payload as it is stored.
    pub fn payload(&self) -> &Json {
        &self.attempt.task.payload
    }

    /// The keys that the task was enqueued with.
    pub fn keys(&self) -> &Keys {
        &self.attempt.task.keys
    }

    /// The key that the task has in this group, if it has one.
    pub fn key(&self, group: impl AsRef<str>) -> Option<&str> {
        let group = group.as_ref();
        self.keys().0.iter().find(|(name, _)| name.as_str() == group).map(|(_, key)| key.as_str())
    }

    /// The enqueuer's trace context (`traceparent`), if it gave one.
    pub fn trace(&self) -> Option<&str> {
        self.attempt.task.trace.as_deref()
    }

    /// The state of this type that the worker was given, if it was given one. An argument
    /// [`State<S>`](crate::extract::State) is told at the start if there is none.
    pub fn state<S: 'static>(&self) -> Option<&S> {
        self.worker.handlers.given.get()
    }

    /// The handle of the store this task came from: enqueue more through it.
    pub fn kinfolk(&self) -> &Kinfolk {
        &self.worker.kinfolk
    }

    /// Waits until this attempt should end: someone cancelled the task, its time is up, the lease was lost, or the worker
    /// is being stopped hard. After a cancellation the handler has the worker's grace to clean up; then it is dropped.
    pub async fn cancelled(&self) {
        self.attempt.calls.called(Call::None).await;
    }

    /// Whether this attempt should end.
    pub fn is_cancelled(&self) -> bool {
        self.attempt.calls.now() > Call::None
    }

    /// Waits until the worker begins to stop. A long handler may then return [`crate::Done::release`] and go on
    /// elsewhere; one that does not has the worker's stop grace to end.
    pub async fn stopping(&self) {
        self.worker.stops.drain.cancelled().await;
    }

    /// Whether the worker has begun to stop.
    pub fn is_stopping(&self) -> bool {
        self.worker.stops.drain.is_cancelled()
    }

    /// Says whether the runner has still to reach a handler elsewhere. An attempt whose timeout passes meanwhile is released,
    /// at no cost.
    #[doc(hidden)]
    pub fn hold_timeout(&self, hold: bool) {
        self.attempt.unbegun.store(hold, Ordering::Relaxed);
    }

    /// Reports that a call to the store failed and is repeated, for a runner of handlers elsewhere.
    #[doc(hidden)]
    pub fn trouble(&self, during: &'static str, fault: &str) {
        self.worker.observer.emit(&Event::StoreTrouble { during, fault: fault.to_owned() });
    }

    pub(crate) fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.attempt.task.payload.as_str())
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ctx(task {}, {}, attempt {})", self.task(), self.command(), self.attempt())
    }
}
