//! Asking for tasks, option by option, one or many, now or in a transaction of the caller's own.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kinfolk_core::{Enqueued, InputError, Json, NewTask, StoreError};
use serde::de::DeserializeOwned;

use crate::draft::{Draft, task_options};
use crate::in_tx::EnqueueIn;
use crate::kinfolk::Kinfolk;
use crate::wait::ResultError;

/// A task about to be enqueued. Nothing happens until it is awaited; an option that is left out comes from the command. A command, a
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
pub struct Enqueue<'a, T = Json> {
    kinfolk: &'a Kinfolk,
    draft: Draft,
    result: PhantomData<fn() -> T>,
}

/// Tasks about to be enqueued, all or nothing. Nothing happens until they are awaited.
#[derive(Debug)]
#[must_use = "nothing is enqueued until this is awaited"]
pub struct EnqueueMany<'a> {
    kinfolk: &'a Kinfolk,
    tasks: Result<Vec<NewTask>, InputError>,
}

impl<'a, T> Enqueue<'a, T> {
    pub(crate) fn new(kinfolk: &'a Kinfolk, draft: Draft) -> Self {
        Self { kinfolk, draft, result: PhantomData }
    }

    task_options!();

    /// Enqueues it, and answers [`Enqueued::Rejected`] where its command, its queue or a group of its keys is not there. Awaited
    /// by itself, that is an error.
    pub async fn try_enqueue(self) -> Result<Enqueued, StoreError> {
        let answers = self.kinfolk.try_enqueue_many(&[self.draft.into_task()?]).await?;
        first(answers)
    }

    /// Enqueues it in a transaction of yours: the task exists if, and only if, that commits. It must be on the database that the
    /// handle is on.
    ///
    /// ```no_run
    /// # #[cfg(feature = "postgres")]
    /// # async fn example(kinfolk: kinfolk::Kinfolk, mut client: tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut transaction = client.transaction().await?;
    /// transaction.execute("insert into customer (name) values ('cousin')", &[]).await?;
    /// kinfolk.enqueue("welcome", "cousin").in_tx(&mut transaction).await?;
    /// transaction.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn in_tx(self, transaction: &mut impl EnqueueIn) -> Result<Enqueued, StoreError> {
        first(transaction.enqueue_in(&[self.draft.into_task()?]).await?)
    }

    /// Enqueues it, and waits for its result for this long at most. Under a unique key that another task holds, that one's
    /// result is waited for. When the time is up the task goes on: [`ResultError::TimedOut`] has its number.
    pub async fn wait(self, timeout: Duration) -> Result<T, ResultError>
    where
        T: DeserializeOwned,
    {
        let kinfolk = self.kinfolk;
        let id = self.await?.id().map_err(StoreError::from)?;
        kinfolk.result_within(id, Some(timeout)).await
    }

    /// The task as it would be enqueued, for [`Kinfolk::enqueue_many`] or a transaction of your own.
    pub fn into_task(self) -> Result<NewTask, InputError> {
        self.draft.into_task()
    }
}

impl<'a> EnqueueMany<'a> {
    pub(crate) fn new(kinfolk: &'a Kinfolk, drafts: impl Iterator<Item = Draft>) -> Self {
        Self { kinfolk, tasks: drafts.map(Draft::into_task).collect() }
    }

    /// Enqueues them in a transaction of yours: they exist if, and only if, that commits.
    pub async fn in_tx(self, transaction: &mut impl EnqueueIn) -> Result<Vec<Enqueued>, StoreError> {
        transaction.enqueue_in(&self.tasks?).await
    }
}

impl<'a, T: 'a> IntoFuture for Enqueue<'a, T> {
    type Output = Result<Enqueued, StoreError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { first(self.kinfolk.enqueue_many(&[self.draft.into_task()?]).await?) })
    }
}

impl<'a> IntoFuture for EnqueueMany<'a> {
    type Output = Result<Vec<Enqueued>, StoreError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.kinfolk.enqueue_many(&self.tasks?).await })
    }
}

fn first(answers: Vec<Enqueued>) -> Result<Enqueued, StoreError> {
    answers.into_iter().next().ok_or_else(|| StoreError::Fault {
        code: "enqueue".to_owned(),
        detail: "the store gave no answer to an enqueue".to_owned(),
    })
}
