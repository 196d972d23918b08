//! Asking for one task, option by option.

use std::future::IntoFuture;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kinfolk_core::{Due, Enqueued, InputError, NewTask, QueueName, StoreError, Timestamp, Unique};

use crate::kinfolk::Kinfolk;

/// A task about to be enqueued. Nothing happens until it is awaited; what is not said comes from the command.
///
/// ```no_run
/// # use std::time::Duration;
/// # use kinfolk::{Kinfolk, Unique};
/// # async fn example(kinfolk: Kinfolk) -> Result<(), kinfolk::Error> {
/// let answer = kinfolk
///     .enqueue("send_email", &serde_json::json!({ "to": "cousin@example.org" }))
///     .priority(-10)
///     .delay(Duration::from_secs(60))
///     .unique(Unique::key("cousin"))
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is enqueued until this is awaited"]
pub struct Enqueue<'a> {
    kinfolk: &'a Kinfolk,
    /// The first mistake made on the way is the answer.
    task: Result<NewTask, InputError>,
}

impl<'a> Enqueue<'a> {
    pub(crate) fn new(kinfolk: &'a Kinfolk, task: Result<NewTask, InputError>) -> Self {
        Self { kinfolk, task }
    }

    fn with(mut self, change: impl FnOnce(&mut NewTask)) -> Self {
        if let Ok(task) = &mut self.task {
            change(task);
        }
        self
    }

    /// Wait on this queue.
    pub fn queue(self, queue: impl AsRef<str>) -> Self {
        match QueueName::new(queue.as_ref()) {
            Ok(queue) => self.with(|task| task.queue = Some(queue)),
            Err(fault) => Self { task: self.task.and(Err(fault)), ..self },
        }
    }

    /// Lower goes first.
    pub fn priority(self, priority: i32) -> Self {
        self.with(|task| task.priority = Some(priority))
    }

    /// Not before this span from now has passed, by the store's clock.
    pub fn delay(self, delay: Duration) -> Self {
        self.with(|task| task.due = Due::After(delay))
    }

    /// Not before this moment.
    pub fn at(self, moment: impl Into<Timestamp>) -> Self {
        self.with(|task| task.due = Due::At(moment.into()))
    }

    /// At most one task of this command under this key.
    pub fn unique(self, unique: Unique) -> Self {
        self.with(|task| task.unique = Some(unique))
    }

    /// Attempts in all.
    pub fn max_attempts(self, attempts: u16) -> Self {
        self.with(|task| task.max_attempts = Some(attempts))
    }

    /// How long one attempt may run.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|task| task.timeout = Some(timeout))
    }

    /// Take this W3C trace context (`traceparent`) along, for the spans of the attempts.
    pub fn trace(self, trace: impl Into<String>) -> Self {
        self.with(|task| task.trace = Some(trace.into()))
    }

    /// The task as it would be enqueued, for [`Kinfolk::enqueue_many`] or a transaction of your own.
    pub fn into_task(self) -> Result<NewTask, InputError> {
        self.task
    }
}

impl<'a> IntoFuture for Enqueue<'a> {
    type Output = Result<Enqueued, StoreError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.kinfolk.enqueue_one(self.task?).await })
    }
}
