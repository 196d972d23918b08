//! The handle through which a program uses a store.

use std::fmt;
use std::sync::Arc;

use kinfolk_core::operate::{Cancelled, Migrated};
use kinfolk_core::{Command, CommandName, Enqueued, InputError, Json, NewTask, QueueName, Store, StoreError, TaskId};
use serde::Serialize;

use crate::enqueue::Enqueue;
use crate::task::Task;
use crate::wait::Settlements;
use crate::worker::{Worker, WorkerBuilder};

/// A store with everything a program does with it. Cheap to clone; clones share the store.
#[derive(Clone)]
pub struct Kinfolk {
    store: Arc<dyn Store>,
    pub(crate) settlements: Arc<Settlements>,
}

impl Kinfolk {
    /// Opens the store that a URL names: see [`crate::open`].
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        crate::open(url).await.map(Self::new)
    }

    /// A handle on a store that is open already.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, settlements: Arc::default() }
    }

    /// The store itself.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Brings the schema to the version this program needs. An embedded store does that by itself when it is opened.
    pub async fn migrate(&self) -> Result<Migrated, StoreError> {
        self.store.migrate().await
    }

    /// Makes commands known, or changes their defaults. A worker registers the commands it handles by itself; a program
    /// that only enqueues registers them here.
    pub async fn register(&self, commands: &[Command]) -> Result<(), StoreError> {
        self.store.register(commands).await
    }

    /// A worker on this store, to be configured and started.
    pub fn worker(&self) -> WorkerBuilder {
        Worker::builder(self.clone())
    }

    /// A task for a command by its name. Await it to enqueue it.
    pub fn enqueue<P>(&self, command: impl AsRef<str>, payload: &P) -> Enqueue<'_>
    where
        P: Serialize + ?Sized,
    {
        Enqueue::new(self, new_task(command.as_ref(), payload))
    }

    /// A typed task. Await it to enqueue it.
    pub fn enqueue_task<T: Task>(&self, task: &T) -> Enqueue<'_> {
        let new = new_task(T::COMMAND, task);
        Enqueue::new(self, new.map(|new| NewTask { unique: task.unique(), ..new }))
    }

    /// Enqueues tasks, all in one transaction, in this order. One answer each.
    pub async fn enqueue_many(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        self.store.enqueue(tasks).await
    }

    pub(crate) async fn enqueue_one(&self, task: NewTask) -> Result<Enqueued, StoreError> {
        let answers = self.store.enqueue(&[task]).await?;
        answers.into_iter().next().ok_or_else(|| StoreError::Fault {
            code: "enqueue".to_owned(),
            detail: "the store gave no answer to an enqueue".to_owned(),
        })
    }

    /// One task as it is now.
    pub async fn task(&self, id: TaskId) -> Result<kinfolk_core::Task, StoreError> {
        self.store.task(id).await?.ok_or_else(|| StoreError::not_found("task", id))
    }

    /// Asks for a task's end. A pending one is cancelled at once, a running one when its handler gives way.
    pub async fn cancel(&self, id: TaskId) -> Result<Cancelled, StoreError> {
        self.store.cancel(id).await
    }

    /// Lets a failed or cancelled task run again, with fresh attempts, at its old place.
    pub async fn retry(&self, id: TaskId) -> Result<kinfolk_core::Task, StoreError> {
        self.store.retry(id).await
    }

    /// Takes nothing more from a queue. What runs goes on.
    pub async fn pause(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.store.pause(queue).await
    }

    /// Takes from a queue again.
    pub async fn resume(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.store.resume(queue).await
    }
}

fn new_task<P: Serialize + ?Sized>(command: &str, payload: &P) -> Result<NewTask, InputError> {
    Ok(NewTask::new(CommandName::new(command)?, Json::of(payload)?))
}

impl From<Arc<dyn Store>> for Kinfolk {
    fn from(store: Arc<dyn Store>) -> Self {
        Self::new(store)
    }
}

impl From<&Self> for Kinfolk {
    fn from(kinfolk: &Self) -> Self {
        kinfolk.clone()
    }
}

impl fmt::Debug for Kinfolk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kinfolk").field("store", &self.store.kind()).finish_non_exhaustive()
    }
}
