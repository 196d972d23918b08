//! The common part of all durable operations: finding the record, asking the store, waiting, and writing.
//!
//! An operation that was recorded answers with its record and writes nothing. One whose record is of another kind, or was
//! asked for something else, is an error that is never retried: the code has changed under a task in flight. A wait never
//! returns: the attempt is suspended, and the handler runs from the top when what it waits for has come.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Advice, Checkpoint, Failure, FailureKind, Json, Key, Record, Recorded, Retry, StepKind, Store, StoreError, TaskId,
    Timestamp,
};

use super::book::{Book, Found, Wait};
use super::key::Spot;
use crate::backoff::Backoff;
use crate::ctx::Ctx;
use crate::task_error::TaskError;
use crate::worker::attempt::{Attempt, Call};

/// Checkpoints that may gather before they are written without waiting for a suspension.
const UNSENT_MAX: usize = 256;

/// A durable operation under way. While it lives, no other one may be open at its spot.
pub(crate) struct Op<'a> {
    pub(crate) ctx: &'a Ctx,
    pub(crate) spot: Spot,
    pub(crate) key: Key,
    kind: StepKind,
    digest: String,
}

impl Ctx {
    pub(crate) fn spot(&self, name: &str) -> Spot {
        Spot { branch: self.branch.clone().unwrap_or_else(|| "".into()), name: name.into() }
    }

    pub(crate) fn with_book<T>(&self, look: impl FnOnce(&mut Book) -> T) -> T {
        look(&mut self.attempt.durable.book(&self.attempt.made))
    }

    /// Begins an operation, and says what was recorded of it.
    pub(crate) fn begin(
        &self,
        name: &str,
        kind: StepKind,
        digest: String,
    ) -> Result<(Op<'_>, Option<Json>), TaskError> {
        let spot = self.spot(name);
        let Some(number) = self.with_book(|book| book.begin(&spot)) else {
            let here = self.branch.as_deref().unwrap_or("the handler");
            let words = format!(
                "two operations called {name:?} are open at once in {here}; give each parallel branch a context of its own \
                 with ctx.branch(name), or give one of them another name"
            );
            return Err(self.mistaken(Failure::new(FailureKind::Error, words)));
        };
        let key = spot.key(number);
        let op = Op { ctx: self, spot, key, kind, digest };
        let recorded = op.find()?;
        Ok((op, recorded))
    }

    /// The handler's code is at fault. It hears so, and if it goes on to wait for something all the same, or another
    /// branch of it waits, the attempt fails with this instead of being suspended.
    pub(crate) fn mistaken(&self, failure: Failure) -> TaskError {
        self.with_book(|book| book.mistaken(failure.clone()));
        TaskError::of(failure, Retry::Never)
    }

    /// Asks the store, again and again while it can't answer. An attempt that is over gets no answer.
    pub(crate) async fn ask<'a, T>(
        &'a self,
        during: &'static str,
        call: impl Fn(&'a Arc<dyn Store>) -> BoxFuture<'a, Answer<T>>,
    ) -> Result<T, TaskError> {
        let _busy = Busy::new(&self.attempt);
        let mut backoff = Backoff::for_trouble();
        loop {
            match call(self.worker.store()).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => {
                    self.worker.observer.trouble(during, &fault);
                    match (fault.advice(), &fault) {
                        (Advice::FixInput, _) => return Err(TaskError::from(fault).do_not_retry()),
                        (_, StoreError::Fault { .. }) => return Err(fault.into()),
                        (Advice::DropWork, _) => return Err(self.over().await),
                        (Advice::Retry | Advice::AskOperator, _) => {}
                    }
                }
            }
            tokio::time::sleep(backoff.pause(2)).await;
        }
    }

    /// The store's clock, read now.
    pub(crate) async fn clock(&self) -> Result<Timestamp, TaskError> {
        let now = self.ask("now", |store| store.now()).await?;
        self.with_book(|book| book.clock = Some(now));
        Ok(now)
    }

    /// Whether a moment has passed.
    pub(crate) async fn has_passed(&self, moment: Timestamp) -> Result<bool, TaskError> {
        if self.with_book(|book| book.clock).is_some_and(|now| now >= moment) {
            return Ok(true);
        }
        Ok(self.clock().await? >= moment)
    }

    /// Writes what has gathered, if anything has. Afterwards nothing asked for before is unwritten.
    pub(crate) async fn flush(&self) -> Result<(), TaskError> {
        let _busy = Busy::new(&self.attempt);
        let _alone = self.attempt.durable.sending().await;
        let unsent = self.with_book(Book::take_unsent);
        if unsent.is_empty() { Ok(()) } else { self.write(unsent).await }
    }

    /// Writes checkpoints, together with those of other attempts.
    async fn write(&self, checkpoints: Vec<Checkpoint>) -> Result<(), TaskError> {
        let task = &self.attempt.task;
        let record = Record { task: task.id, token: task.token, checkpoints };
        record.check().map_err(|fault| TaskError::from(fault).do_not_retry())?;
        // The attempt is busy with the record itself, not only while an operation waits for it: a handler may drop the operation.
        match self.worker.records.push(record, Busy::new(&self.attempt)).await {
            Ok(Recorded::Written) => Ok(()),
            Ok(Recorded::Stale) => Err(self.lost().await),
            Err(fault) if fault.advice() == Advice::FixInput => Err(TaskError::new(fault.to_string()).do_not_retry()),
            Err(fault) => Err(TaskError::new(fault.to_string())),
        }
    }

    /// The token no longer holds: the attempt ends here.
    pub(crate) async fn lost(&self) -> TaskError {
        self.worker.observer.stale(&self.attempt, self.queue());
        self.attempt.calls.call(Call::Over);
        self.over().await
    }

    /// Never returns inside the handler, which is dropped; an operation that it has left running elsewhere gets an error.
    pub(crate) async fn over(&self) -> TaskError {
        self.attempt.calls.called(Call::Stop).await;
        TaskError::new(format!("the attempt of task {} is over", self.task()))
    }

    /// Whether this is a dry run, in which nothing may be written.
    pub(crate) fn is_dry(&self) -> bool {
        self.attempt.durable.dry
    }
}

impl Op<'_> {
    fn find(&self) -> Result<Option<Json>, TaskError> {
        match self.ctx.with_book(|book| book.find(&self.key, self.kind, &self.digest)) {
            Found::Nothing => Ok(None),
            Found::Value(value) => Ok(Some(value)),
            Found::Other { kind, same_kind } => {
                let words = diverged(self.ctx.task(), &self.key, kind, (!same_kind).then_some(self.kind));
                Err(self.ctx.mistaken(Failure::new(FailureKind::Diverged, words)))
            }
        }
    }

    /// The record under the same number at another spot: for operations that have two records.
    pub(crate) fn find_beside(&self, name: &str, kind: StepKind) -> Result<(Key, Option<Json>), TaskError> {
        let key = Key { name: name.to_owned(), ..self.key.clone() };
        let beside = Op { ctx: self.ctx, spot: self.ctx.spot(""), key: key.clone(), kind, digest: self.digest.clone() };
        Ok((key, beside.find()?))
    }

    pub(crate) fn checkpoint(&self, value: Json) -> Checkpoint {
        Checkpoint { key: self.key.clone(), kind: self.kind, digest: self.digest.clone(), value }
    }

    pub(crate) fn digest(&self) -> String {
        self.digest.clone()
    }

    /// Keeps the answer until the next write.
    pub(crate) async fn keep(&self, value: Json) -> Result<(), TaskError> {
        let unsent = self.ctx.with_book(|book| {
            book.keep(self.checkpoint(value));
            book.unsent()
        });
        if unsent < UNSENT_MAX || self.ctx.is_dry() { Ok(()) } else { self.ctx.flush().await }
    }

    /// Writes the answer now.
    pub(crate) async fn record(&self, value: Json) -> Result<(), TaskError> {
        let _busy = Busy::new(&self.ctx.attempt);
        self.ctx.write(vec![self.checkpoint(value)]).await
    }

    /// Waits. Inside the handler this never returns.
    pub(crate) async fn wait(&self, wait: Wait) -> TaskError {
        let _waiting = Waiting::new(&self.ctx.attempt, self.key.clone(), wait);
        self.ctx.over().await
    }

    /// In a dry run: this is where the handler would go on.
    pub(crate) async fn stop_if_dry(&self) -> Result<(), TaskError> {
        if self.ctx.is_dry() { Err(self.wait(Wait::Would(self.kind)).await) } else { Ok(()) }
    }

    /// Reads a recorded value as a type.
    pub(crate) fn read<T: serde::de::DeserializeOwned>(&self, value: &Json) -> Result<T, TaskError> {
        value.to().map_err(|fault| {
            let words = format!(
                "task {}: what {} has recorded does not fit the type it is asked as: {fault}; read it as the type it had, \
                 or give the new step another name",
                self.ctx.task(),
                self.key,
            );
            TaskError::of_kind(FailureKind::Diverged, words).do_not_retry()
        })
    }
}

impl Drop for Op<'_> {
    fn drop(&mut self) {
        if let Some(mut book) = self.ctx.attempt.durable.try_book() {
            book.leave(&self.spot);
        }
    }
}

/// The message for code that has changed under a recorded history.
pub(crate) fn diverged(task: TaskId, key: &Key, recorded: StepKind, asked: Option<StepKind>) -> String {
    let what = match asked {
        Some(asked) => format!("was recorded as {}, and is asked for as {}", recorded.as_str(), asked.as_str()),
        None => format!("({}) was recorded for another command or other arguments", recorded.as_str()),
    };
    format!(
        "task {task}: the code has changed under its history: {key} {what}; give the new step another name, or finish such \
         tasks with the code that began them; then `kinfolk retry {task}`, with --family if it has children"
    )
}

/// Something is in flight: the attempt is not suspended.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Attempt>);

impl Busy {
    pub(crate) fn new(attempt: &Arc<Attempt>) -> Self {
        attempt.durable.book(&attempt.made).flies();
        Self(Arc::clone(attempt))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(mut book) = self.0.durable.try_book() {
            book.landed();
        }
        self.0.durable.wake();
    }
}

/// An open wait.
struct Waiting<'a>(&'a Attempt, u64);

impl<'a> Waiting<'a> {
    fn new(attempt: &'a Attempt, key: Key, wait: Wait) -> Self {
        let number = attempt.durable.book(&attempt.made).await_this(key, wait);
        attempt.durable.wake();
        Self(attempt, number)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(mut book) = self.0.durable.try_book() {
            book.await_no_more(self.1);
        }
    }
}
