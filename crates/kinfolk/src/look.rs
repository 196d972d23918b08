//! The reading calls of the handle, and the rest of its changes: the handle has every call of the store.

use std::time::Duration;

use kinfolk_core::audit::Audited;
use kinfolk_core::cause::Causes;
use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::filter::{Filter, Matches, Page};
use kinfolk_core::held::Held;
use kinfolk_core::inspect::{Finding, Stats, Violation};
use kinfolk_core::minute::Minute;
use kinfolk_core::operate::{Action, BulkPage};
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{Attempt, Command, Queue, QueueName, Schedule, ScheduleName, StoreError, TaskId, Timestamp};

use crate::kinfolk::Kinfolk;

/// Looking.
impl Kinfolk {
    /// The store's clock.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        self.store().now().await
    }

    /// A page of tasks, newest first unless the filter says otherwise; it goes on at [`Page::next`].
    ///
    /// ```no_run
    /// # use kinfolk::{Filter, Kinfolk, State};
    /// # async fn example(kinfolk: Kinfolk) -> Result<(), kinfolk::Error> {
    /// let failed = Filter { state: vec![State::Failed], limit: 20, ..Filter::default() };
    /// for task in kinfolk.list(&failed).await?.tasks {
    ///     println!("{} {}", task.id, task.command);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.store().list(filter).await
    }

    /// How many tasks match a filter: exact up to a limit, then at least so many.
    pub async fn count(&self, filter: &Filter) -> Result<Matches, StoreError> {
        self.store().count(filter).await
    }

    /// Counts of tasks, by queue, command and state.
    pub async fn stats(&self) -> Result<Stats, StoreError> {
        self.store().stats().await
    }

    /// The failures of the span until now, by cause.
    pub async fn failures(&self, span: Duration) -> Result<Causes, StoreError> {
        self.store().failures(span).await
    }

    /// The work of workers in the minutes that began in the span until now.
    pub async fn minutes(&self, span: Duration) -> Result<Vec<Minute>, StoreError> {
        self.store().minutes(span).await
    }

    /// How many pending tasks of this queue, or of all, are held up by what.
    pub async fn held(&self, queue: Option<&QueueName>) -> Result<Vec<Held>, StoreError> {
        self.store().held(queue).await
    }

    /// The ended attempts of a task, oldest first. Empty for a task completed at its first attempt.
    pub async fn attempts(&self, id: TaskId) -> Result<Vec<Attempt>, StoreError> {
        self.store().attempts(id).await
    }

    /// All queues, by name.
    pub async fn queues(&self) -> Result<Vec<Queue>, StoreError> {
        self.store().queues().await
    }

    /// All commands, by name.
    pub async fn commands(&self) -> Result<Vec<Command>, StoreError> {
        self.store().commands().await
    }

    /// All workers, oldest first.
    pub async fn workers(&self) -> Result<Vec<WorkerView>, StoreError> {
        self.store().workers().await
    }

    /// All schedules, by name.
    pub async fn schedules(&self) -> Result<Vec<Schedule>, StoreError> {
        self.store().schedules().await
    }

    /// A page of the error log, newest first.
    pub async fn errors(&self, filter: &ErrorFilter) -> Result<Vec<LoggedError>, StoreError> {
        self.store().errors(filter).await
    }

    /// A page of the audit log, newest first: entries with a smaller number than this.
    pub async fn audit_log(&self, before: Option<i64>, limit: usize) -> Result<Vec<Audited>, StoreError> {
        self.store().audit_log(before, limit).await
    }

    /// Trouble around the store: schema, clock, dead workers, tasks no worker can run.
    pub async fn doctor(&self) -> Result<Vec<Finding>, StoreError> {
        self.store().doctor().await
    }

    /// Every invariant of the store that is broken: none, in a sound store.
    pub async fn check(&self) -> Result<Vec<Violation>, StoreError> {
        self.store().check().await
    }
}

/// Operating.
impl Kinfolk {
    /// Lets a pending task that is not due run now.
    pub async fn run_now(&self, id: TaskId) -> Result<kinfolk_core::Task, StoreError> {
        self.store().run_now(id).await
    }

    /// Does one thing to a page of the tasks that match a filter; it goes on with [`BulkPage::next`] as [`Filter::after`].
    pub async fn bulk(&self, action: Action, filter: &Filter) -> Result<BulkPage, StoreError> {
        self.store().bulk(action, filter).await
    }

    /// Makes or changes a schedule, and arms it for its next tick. Schedules that belong to the program are better declared
    /// with its worker: `WorkerBuilder::schedule`.
    pub async fn put_schedule(&self, schedule: &Schedule) -> Result<Schedule, StoreError> {
        self.store().put_schedule(schedule).await
    }

    /// Switches a schedule off, or on again.
    pub async fn pause_schedule(&self, name: impl AsRef<str>, paused: bool) -> Result<(), StoreError> {
        self.store().pause_schedule(&ScheduleName::new(name.as_ref())?, paused).await
    }

    /// Removes a schedule. Its tasks stay.
    pub async fn remove_schedule(&self, name: impl AsRef<str>) -> Result<(), StoreError> {
        self.store().remove_schedule(&ScheduleName::new(name.as_ref())?).await
    }
}
