//! Asking for one task, option by option.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use kinfolk_core::{Enqueued, InputError, NewTask, StoreError};

use crate::draft::{Draft, task_options};
use crate::kinfolk::Kinfolk;

/// A task about to be enqueued. Nothing happens until it is awaited; what is not said comes from the command. A command, a
/// queue or a group that is not there is an error, [`StoreError::Rejected`]: see [`Enqueue::try_enqueue`].
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
    draft: Draft,
}

impl<'a> Enqueue<'a> {
    pub(crate) fn new(kinfolk: &'a Kinfolk, draft: Draft) -> Self {
        Self { kinfolk, draft }
    }

    task_options!();

    /// Enqueues it, and answers [`Enqueued::Rejected`] where its command, its queue or a group of its keys is not there. Awaited
    /// by itself, that is an error.
    pub async fn try_enqueue(self) -> Result<Enqueued, StoreError> {
        let answers = self.kinfolk.try_enqueue_many(&[self.draft.into_task()?]).await?;
        first(answers)
    }

    /// The task as it would be enqueued, for [`Kinfolk::enqueue_many`] or a transaction of your own.
    pub fn into_task(self) -> Result<NewTask, InputError> {
        self.draft.into_task()
    }
}

impl<'a> IntoFuture for Enqueue<'a> {
    type Output = Result<Enqueued, StoreError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { first(self.kinfolk.enqueue_many(&[self.draft.into_task()?]).await?) })
    }
}

fn first(answers: Vec<Enqueued>) -> Result<Enqueued, StoreError> {
    answers.into_iter().next().ok_or_else(|| StoreError::Fault {
        code: "enqueue".to_owned(),
        detail: "the store gave no answer to an enqueue".to_owned(),
    })
}
