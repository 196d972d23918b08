//! The handle through which a program uses a store.

use std::fmt;
use std::sync::Arc;

use kinfolk_core::operate::{Cancelled, Migrated};
use kinfolk_core::{
    Command, Enqueued, Explanation, GroupRef, GroupView, History, Json, KeyFilter, KeyView, NewTask, Policy, Progress,
    QueueName, Retried, Run, Setting, SignalName, Signalled, Store, StoreError, Tally, TaskId,
};
use serde::Serialize;

use crate::draft::Draft;
use crate::enqueue::{Enqueue, EnqueueMany};
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

    /// Makes the command of a typed task known, with its groups.
    pub async fn register_task<T: Task>(&self) -> Result<(), StoreError> {
        self.register(&[T::command().build()?]).await
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
        Enqueue::new(self, Draft::of_command(command.as_ref(), payload).traced(None))
    }

    /// A typed task. Await it to enqueue it, or wait for its result too:
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use kinfolk::{Kinfolk, Task};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Task)]
    /// # #[task(command = "greet", output = String)]
    /// # struct Greet;
    /// # async fn example(kinfolk: Kinfolk) -> Result<(), Box<dyn std::error::Error>> {
    /// let greeting = kinfolk.enqueue_task(&Greet).wait(Duration::from_secs(5)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn enqueue_task<T: Task>(&self, task: &T) -> Enqueue<'_, T::Output> {
        Enqueue::new(self, Draft::of_task(task).traced(None))
    }

    /// Typed tasks, in this order, all or nothing, 10,000 at most. Await it to enqueue them: one answer each.
    pub fn enqueue_tasks<T: Task>(&self, tasks: impl IntoIterator<Item = T>) -> EnqueueMany<'_> {
        EnqueueMany::new(self, tasks.into_iter().map(|task| Draft::of_task(&task).traced(None)))
    }

    /// Enqueues tasks in this order, all or nothing. One answer each. Where the command, the queue or a group of one of them is
    /// not there, that is an error, [`StoreError::Rejected`], and none is made.
    pub async fn enqueue_many(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        self.store.enqueue_all(tasks).await
    }

    /// As [`Kinfolk::enqueue_many`], but what can't be made is answered [`Enqueued::Rejected`], and the others are made.
    pub async fn try_enqueue_many(&self, tasks: &[NewTask]) -> Result<Vec<Enqueued>, StoreError> {
        self.store.enqueue(tasks).await
    }

    /// One task as it is now.
    pub async fn task(&self, id: TaskId) -> Result<kinfolk_core::Task, StoreError> {
        self.store.task(id).await?.ok_or_else(|| StoreError::not_found("task", id))
    }

    /// The course of a task: its runs, oldest first, also a run that ended in a suspension and the one that goes on. For
    /// many tasks at once see [`kinfolk_core::Inspect::runs`].
    pub async fn runs(&self, id: TaskId) -> Result<Vec<Run>, StoreError> {
        self.store.runs(&[id]).await
    }

    /// How the children of a task are doing.
    pub async fn tally(&self, parent: TaskId) -> Result<Tally, StoreError> {
        self.store.tally(parent).await
    }

    /// The children of a task in the order in which they were made, from this one on (0 is the first), at most this many.
    pub async fn children(
        &self,
        parent: TaskId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<kinfolk_core::Task>, StoreError> {
        self.store.children(parent, from, limit).await
    }

    /// How the whole family of a task is doing, generation by generation.
    pub async fn progress(&self, task: TaskId) -> Result<Progress, StoreError> {
        self.store.progress(task).await
    }

    /// Asks for the end of a task and of all its descendants. Pending ones are cancelled at once, running ones when their
    /// handlers give way; a parent ends with its last child. Refused for a task that has ended.
    pub async fn cancel(&self, id: TaskId) -> Result<Cancelled, StoreError> {
        self.store.cancel(id).await
    }

    /// Lets a failed or cancelled task run again, with fresh attempts, at its old position, and with it all below it that failed
    /// or was cancelled.
    pub async fn retry(&self, id: TaskId) -> Result<kinfolk_core::Task, StoreError> {
        self.store.retry(id).await
    }

    /// Clears a suspect: it has no strikes any more, and runs at once like any other task.
    pub async fn acquit(&self, id: TaskId) -> Result<kinfolk_core::Task, StoreError> {
        self.store.acquit(id).await
    }

    /// Lets what failed or was cancelled in a task's family run again: tasks that did so by themselves get fresh attempts,
    /// their parents wait again, and so do the follow-ups that were skipped. The root must have failed or been cancelled.
    pub async fn retry_family(&self, id: TaskId) -> Result<Retried, StoreError> {
        self.store.retry_family(id).await
    }

    /// Sends a task a signal: its handler gets it from `Ctx::wait_signal`, now if it waits for it, else when it asks.
    pub async fn signal<V>(&self, id: TaskId, name: impl AsRef<str>, value: &V) -> Result<Signalled, StoreError>
    where
        V: Serialize + ?Sized,
    {
        self.store.signal(id, &SignalName::new(name.as_ref())?, &Json::of(value)?).await
    }

    /// The records of a task's handler, and the fan-outs that it awaited.
    pub async fn history(&self, id: TaskId) -> Result<History, StoreError> {
        self.store.history(id).await
    }

    /// Why a task is not running: every reason there is, as it is now. One that runs or has ended has none.
    ///
    /// ```no_run
    /// # async fn example(kinfolk: kinfolk::Kinfolk, id: kinfolk::TaskId) -> Result<(), kinfolk::Error> {
    /// for reason in kinfolk.explain(id).await?.reasons {
    ///     println!("{reason}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn explain(&self, id: TaskId) -> Result<Explanation, StoreError> {
        self.store.explain(id).await
    }

    /// All groups, as they are declared and set.
    pub async fn groups(&self) -> Result<Vec<GroupView>, StoreError> {
        self.store.groups().await
    }

    /// A page of the keys that are in use: the holders of their slots, and how many tasks wait for one.
    pub async fn keys(&self, filter: &KeyFilter) -> Result<Vec<KeyView>, StoreError> {
        self.store.keys(filter).await
    }

    /// Changes what a group, or one key of it, allows, from now on and for all workers; nothing that runs is interrupted.
    /// The setting outlasts registrations until an operator sets it again; an empty setting goes back to what is declared.
    pub async fn set_group(&self, group: &GroupRef, key: Option<&str>, setting: &Setting) -> Result<(), StoreError> {
        self.store.set_group(group, key, setting).await
    }

    /// Removes a group from all commands that declare it. Tasks with keys in it are no longer held up by it.
    pub async fn remove_group(&self, group: &GroupRef) -> Result<(), StoreError> {
        self.store.remove_group(group).await
    }

    /// Makes a queue, or changes its policy: retention, how many families and children are at work at once, how deep
    /// families may grow.
    pub async fn set_queue(&self, queue: &QueueName, policy: &Policy) -> Result<(), StoreError> {
        self.store.set_queue(queue, policy).await
    }

    /// Pauses a queue: claims take none of its tasks, running tasks go on. `by`: the name of the operator.
    pub async fn pause(&self, queue: &QueueName, by: Option<&str>) -> Result<(), StoreError> {
        self.store.pause(queue, by).await
    }

    /// Resumes a queue.
    pub async fn resume(&self, queue: &QueueName) -> Result<(), StoreError> {
        self.store.resume(queue).await
    }
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
