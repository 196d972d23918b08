//! How far a handler is: its branches, its replay, and its own report of its progress.

use kinfolk_core::Report;

use super::op::Busy;
use crate::ctx::Ctx;
use crate::task_error::TaskError;

impl Ctx {
    /// A context for one of several parallel branches of the handler: operations of the same name are told apart by it.
    ///
    /// ```
    /// use kinfolk::{Ctx, Json, TaskError};
    ///
    /// async fn close_the_day(ctx: Ctx, day: String) -> Result<(), TaskError> {
    ///     let (books, stock) = (ctx.branch("books"), ctx.branch("stock"));
    ///     let (books, stock) = tokio::join!(books.call::<Json>("count", "books"), stock.call::<Json>("count", "stock"));
    ///     (books?, stock?);
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn branch(&self, name: impl AsRef<str>) -> Self {
        let name = name.as_ref();
        let branch = match &self.branch {
            Some(outer) => format!("{outer}/{name}").into(),
            None => name.into(),
        };
        Self { branch: Some(branch), ..self.clone() }
    }

    /// Whether the handler is only being answered from its records so far: it has done all this before.
    pub fn is_replaying(&self) -> bool {
        self.attempt.durable.try_book().is_some_and(|book| book.is_replaying())
    }

    /// Says how far the task has come, for people: units done, units in all if known, and a note. Not a recorded operation;
    /// while the handler is being replayed it does nothing, so that the progress never goes back.
    pub async fn progress(
        &self,
        done: u64,
        total: impl Into<Option<u64>>,
        note: impl Into<String>,
    ) -> Result<(), TaskError> {
        if self.is_replaying() || self.is_dry() {
            return Ok(());
        }
        let report = Report { done, total: total.into(), note: Some(note.into()).filter(|note| !note.is_empty()) };
        let (task, token) = (self.task(), self.token());
        let _busy = Busy::new(&self.attempt);
        match self.worker.store().report(task, token, &report).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.lost().await),
            Err(fault) if fault.advice() == kinfolk_core::Advice::FixInput => {
                Err(TaskError::from(fault).do_not_retry())
            }
            Err(fault) => {
                // Nobody is harmed by a report that is missing.
                self.worker.observer.trouble("report", &fault);
                Ok(())
            }
        }
    }
}
