//! The seam between the engine and a database: one trait for each sort of caller.
//!
//! A store speaks of tasks, never of rows. Each method is one transaction; whatever it answers, nothing is
//! half-written, and every call may be repeated as it was when its answer was lost. Time is the store's clock.
//! `kinfolk-conformance` spells out the promises of a store, contract by contract.

use std::time::Duration;

use async_trait::async_trait;

use crate::audit::{Audit, Audited};
use crate::cause::Causes;
use crate::claim::{Claim, Claimed};
use crate::command::Command;
use crate::durable::{
    ChildResult, FanOut, History, Key, ReadBy, Record, Recorded, Report, Signalled, Suspend, TakenSignal,
};
use crate::enqueue::{Enqueued, NewTask};
use crate::error::StoreError;
use crate::error_log::{ErrorFilter, LoggedError};
use crate::explain::Explanation;
use crate::family::{Progress, Retried, Status, Tally};
use crate::filter::{ByCommand, Filter, Matches, Page};
use crate::group::{GroupRef, GroupView, KeyFilter, KeyView, Setting};
use crate::held::Held;
use crate::ids::{FanOutId, TaskId, Token, WorkerId};
use crate::inspect::{Finding, Stats, Violation};
use crate::json::Json;
use crate::minute::{Minute, MinuteRecord};
use crate::name::{CommandName, GroupName, QueueName, ScheduleName, SignalName, StatusName};
use crate::operate::{Action, BulkPage, Cancelled, Migrated, Migration};
use crate::queue::{Policy, Queue};
use crate::schedule::{Fired, Plan, Schedule};
use crate::settle::{Settle, Settled};
use crate::task::{Attempt, Run, Task};
use crate::time::Timestamp;
use crate::worker::{Heartbeat, Recovered, WorkerSpec, WorkerView};

/// The answer of a store.
pub type Answer<T> = Result<T, StoreError>;

/// Everything the engine asks of a database: [`Produce`], [`Work`], [`Inspect`] and [`Operate`] together.
pub trait Store: Produce + Work + Inspect + Operate {
    /// `postgres` or `sqlite`.
    fn kind(&self) -> &'static str;
}

/// The calls of a producer: register commands, enqueue tasks.
#[async_trait]
pub trait Produce: Send + Sync {
    /// Register commands, or change their defaults. Missing queues are made with default policy.
    async fn register(&self, commands: &[Command]) -> Answer<()>;

    /// Enqueue tasks, all in one transaction, in this order. One answer each; a rejected task does not affect the rest.
    async fn enqueue(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>>;

    /// As [`Produce::enqueue`], all or nothing: if one task would be rejected, none is made, and the first rejection is the
    /// error, [`StoreError::Rejected`].
    async fn enqueue_all(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>>;
}

/// The calls of a worker: claim tasks, settle them, keep a lease, recover the tasks of lost workers.
#[async_trait]
pub trait Work: Send + Sync {
    /// Take open tasks, in the order of priority, position and number; opens what is due first. Never waits for another
    /// worker's claim. A worker that runs a suspect gets no other suspect.
    /// [`StoreError::LeaseLost`] when the worker is not, or no longer, registered.
    async fn claim(&self, claim: &Claim) -> Answer<Claimed>;

    /// Record the outcomes of attempts and all their consequences. One answer each; a stale settle does not affect the rest.
    /// Those that made something are recorded first, in their order. Of the others all ends count before anything is cancelled
    /// because an owner has failed.
    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>>;

    /// Register a worker with a lease.
    async fn register_worker(&self, worker: &WorkerSpec) -> Answer<()>;

    /// Renew the lease. [`StoreError::LeaseLost`] when it had ended and the worker was recovered.
    async fn heartbeat(&self, worker: WorkerId) -> Answer<Heartbeat>;

    /// Remove a worker. Its running tasks are released, at no cost.
    async fn leave(&self, worker: WorkerId) -> Answer<()>;

    /// Write checkpoints of running attempts. One answer each; a stale record does not affect the rest. A task with more
    /// than [`crate::limits::STEPS_MAX`] is refused.
    async fn record(&self, records: &[Record]) -> Answer<Vec<Recorded>>;

    /// Suspend handlers: write their records and the tasks they made, and let their tasks wait without a worker, at no cost. If
    /// an awaited thing is there already, the task is pending at once. One answer each; a stale one does not affect the rest.
    async fn suspend(&self, suspends: &[Suspend]) -> Answer<Vec<Settled>>;

    /// Give up a fan-out whose deadline has passed, and cancel its open children, unless it is settled already. Returns the
    /// fan-out as it is then; `None` when the token no longer holds. Before its deadline this changes nothing.
    async fn expire(&self, task: TaskId, token: Token, fan_out: FanOutId) -> Answer<Option<FanOut>>;

    /// Take the oldest signal of this name, and record it under this key.
    async fn take_signal(&self, task: TaskId, token: Token, key: &Key, name: &SignalName) -> Answer<TakenSignal>;

    /// Start no task under the key that this running task has in this group of its command, until then. If an earlier
    /// request named a later moment, that one counts. `false` when the token no longer holds.
    /// [`StoreError::NotFound`] when the task has no key in such a group.
    async fn slow_down(&self, task: TaskId, token: Token, group: &GroupName, until: Timestamp) -> Answer<bool>;

    /// Store the progress of a running attempt. `false` when the token no longer holds.
    async fn report(&self, task: TaskId, token: Token, report: &Report) -> Answer<bool>;

    /// Add what this worker did since its last record to the figures of this minute, by the store's clock. `number` is 1 for the
    /// first record of a worker and larger for each that follows: one that was taken already, or is older than that, changes
    /// nothing. [`StoreError::LeaseLost`] when the worker is not, or no longer, registered, and [`StoreError::NotFound`] when
    /// a queue or a command is not there: then nothing of it is noted.
    async fn record_minutes(&self, worker: WorkerId, number: u64, records: &[MinuteRecord]) -> Answer<()>;

    /// Recover the tasks of workers whose lease has ended, one page of them. Only a worker that has renewed its own lease
    /// without a gap for a full lease may judge others; for any other worker this does nothing.
    async fn recover(&self, worker: WorkerId) -> Answer<Recovered>;

    /// The schedules with a due tick.
    async fn due_schedules(&self) -> Answer<Vec<Schedule>>;

    /// Carry out a plan, unless another worker was first.
    async fn fire(&self, plan: &Plan) -> Answer<Fired>;

    /// Look for parents that wait although all their children have ended, one page of them, and settle them. Returns how
    /// many there were: none, unless this store has a bug.
    async fn sweep(&self) -> Answer<u64>;

    /// Refresh every status. Returns the changed ones.
    async fn refresh_statuses(&self) -> Answer<Vec<Status>>;

    /// Remove finished families that are past their retention, one page of them, unused rows of groups, page
    /// after page, and old entries of the audit log and minutes. Returns how many tasks were removed.
    async fn prune(&self) -> Answer<u64>;

    /// Listen for wake-ups of this worker. `None` when this store, as it was opened, gives none: then the
    /// worker polls.
    async fn wakes(&self, worker: WorkerId, queues: &[QueueName]) -> Answer<Option<Box<dyn WakeSource>>>;
}

/// A source of wake-ups. A wake-up may be lost or come for nothing: the worker polls as well.
#[async_trait]
pub trait WakeSource: Send {
    /// The next wake-up. Cancel-safe.
    async fn next(&mut self) -> Wake;
}

/// Why a worker should look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// There may be something to claim on this queue.
    Queue(QueueName),
    /// There may be a cancellation for this worker: heartbeat now.
    Cancel,
    /// Anything may have happened, such as a reconnection: look at everything.
    All,
}

/// The calls of a reader: tasks, families, counts, queues, groups, workers, logs. None of them changes anything.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// The store's clock.
    async fn now(&self) -> Answer<Timestamp>;

    /// One task, or `None`.
    async fn task(&self, id: TaskId) -> Answer<Option<Task>>;

    /// The ended attempts of a task, oldest first. Empty for a task completed at its first attempt.
    async fn attempts(&self, id: TaskId) -> Answer<Vec<Attempt>>;

    /// The course of tasks, at most [`crate::limits::PAGE_MAX`]: their runs, those that ended in a suspension and the one
    /// that goes on too, by task, oldest first. Of a task that ran more often, the latest
    /// [`crate::limits::RUNS_SHOWN_MAX`].
    async fn runs(&self, tasks: &[TaskId]) -> Answer<Vec<Run>>;

    /// A page of tasks. Its cost does not grow with the number of tasks: a filter that no index serves makes pages short.
    async fn list(&self, filter: &Filter) -> Answer<Page>;

    /// How many tasks match a filter, wherever its page begins: exact up to [`crate::limits::LOOK_MAX`], unless no index
    /// serves the filter; then this many at least.
    async fn count(&self, filter: &Filter) -> Answer<Matches>;

    /// How many of these tasks each command has, of as many as [`Inspect::count`] counts.
    async fn count_by_command(&self, filter: &Filter) -> Answer<ByCommand>;

    /// The failures of the span until now, by cause: of the newest [`crate::limits::LOOK_MAX`] failures.
    async fn failures(&self, span: Duration) -> Answer<Causes>;

    /// The records of workers for the minutes that began in the span until now, by minute, queue and command, the oldest first; a
    /// minute in which nothing was done is not there. They are kept for [`crate::limits::MINUTES_KEPT`].
    async fn minutes(&self, span: Duration) -> Answer<Vec<Minute>>;

    /// The children of a task in the order in which they were made, from this one on (0 is the first), at most this many
    /// and at most [`crate::limits::PAGE_MAX`].
    async fn children(&self, parent: TaskId, from: u64, limit: usize) -> Answer<Vec<Task>>;

    /// The children of a task, counted by state. All zero for a task without children.
    async fn tally(&self, parent: TaskId) -> Answer<Tally>;

    /// The family of a task, counted by generation and state.
    async fn progress(&self, task: TaskId) -> Answer<Progress>;

    /// Whether a task of one of these commands is at work or ready to be: running, waiting, or pending and not merely
    /// scheduled for later.
    async fn is_active(&self, commands: &[CommandName]) -> Answer<bool>;

    /// All statuses, by name, as they were last looked at.
    async fn statuses(&self) -> Answer<Vec<Status>>;

    /// The records of a task's handler, and the fan-outs that it awaited. Empty for most tasks.
    async fn history(&self, id: TaskId) -> Answer<History>;

    /// The children of a fan-out in this order, from this one on (0 is the first), at most this many and at most
    /// [`crate::limits::PAGE_MAX`].
    async fn results(&self, fan_out: FanOutId, by: ReadBy, from: u32, limit: usize) -> Answer<Vec<ChildResult>>;

    /// When the children ended that have these indexes in the order of ends (0 ended first), one by one; an index that none
    /// has yet is left out. At most [`crate::limits::PAGE_MAX`] indexes: how fast a fan-out ends is told at a cost that does not
    /// grow with it.
    async fn ended_at(&self, fan_out: FanOutId, indexes: &[u32]) -> Answer<Vec<Timestamp>>;

    /// Why a task is not running.
    async fn explain(&self, id: TaskId) -> Answer<Explanation>;

    /// The pending tasks of this queue, or of all, counted by the reason that holds them, one reason each, by queue. Empty for a
    /// missing queue.
    async fn held(&self, queue: Option<&QueueName>) -> Answer<Vec<Held>>;

    /// All groups: the shared ones by name, then those of commands by command and name.
    async fn groups(&self) -> Answer<Vec<GroupView>>;

    /// A page of the keys that are in use.
    async fn keys(&self, filter: &KeyFilter) -> Answer<Vec<KeyView>>;

    /// Counts.
    async fn stats(&self) -> Answer<Stats>;

    /// All queues, by name.
    async fn queues(&self) -> Answer<Vec<Queue>>;

    /// All commands, by name.
    async fn commands(&self) -> Answer<Vec<Command>>;

    /// All workers, oldest first.
    async fn workers(&self) -> Answer<Vec<WorkerView>>;

    /// All schedules, by name.
    async fn schedules(&self) -> Answer<Vec<Schedule>>;

    /// Run every invariant as a query and return the violations: none, in a sound store.
    async fn check(&self) -> Answer<Vec<Violation>>;

    /// A page of the audit log, newest first: entries with a smaller number than this, at most this many and at most
    /// [`crate::limits::PAGE_MAX`].
    async fn audit_log(&self, before: Option<i64>, limit: usize) -> Answer<Vec<Audited>>;

    /// A page of the error log, newest first, at a cost that does not grow with the log.
    async fn errors(&self, filter: &ErrorFilter) -> Answer<Vec<LoggedError>>;

    /// A number that differs from the one this process was told before if anything was committed since: a page that shows the store
    /// live looks again then. It may differ for nothing. Reads no table.
    async fn change_number(&self) -> Answer<u64>;

    /// Look for problems around the store: schema, clock, connections, dead tuples, dead workers, tasks no worker can run.
    async fn doctor(&self) -> Answer<Vec<Finding>>;
}

/// The calls of an operator: cancel, retry, pause, change limits, schedules and statuses.
#[async_trait]
pub trait Operate: Send + Sync {
    /// Ask for the end of a task and of all its descendants. Refused for a task that has ended, as a repetition is after the
    /// call has ended it.
    async fn cancel(&self, id: TaskId) -> Answer<Cancelled>;

    /// Let a failed or cancelled task run again, with fresh attempts, at its old position, and with it all below it that failed
    /// or was cancelled. The task as it is then: waiting, if its own work was done.
    /// Refused for a child whose parent has ended or awaits it: see [`Operate::retry_family`].
    async fn retry(&self, id: TaskId) -> Answer<Task>;

    /// Clear a suspect: it has no strikes any more, and waits no longer on their account. The task as it is then; one that is no
    /// suspect stays as it is. Refused for a task that has ended.
    async fn acquit(&self, id: TaskId) -> Answer<Task>;

    /// Let what failed or was cancelled in a task's family run again: its root must have ended so. Tasks whose own work did
    /// not come to its end become pending with fresh attempts, the others wait for their children again. Follow-ups that were
    /// skipped because the family did not complete wait for it again; the answer does not count them.
    async fn retry_family(&self, id: TaskId) -> Answer<Retried>;

    /// Let a pending task that is not due run now. The task as it is then; nothing changes for one that is due already.
    async fn run_now(&self, id: TaskId) -> Answer<Task>;

    /// Do one thing to a page of the tasks that match a filter, the oldest first, in one transaction. It goes on with
    /// [`BulkPage::next`] as [`Filter::after`]; [`Filter::order`] counts for nothing. How many there are to do it to:
    /// [`Inspect::count`] with [`Action::narrowed`].
    async fn bulk(&self, action: Action, filter: &Filter) -> Answer<BulkPage>;

    /// Send a task a signal: its handler gets it when it asks, or now if it waits for it. Refused when the task has ended, or
    /// has too many that it did not ask for.
    async fn signal(&self, id: TaskId, name: &SignalName, value: &Json) -> Answer<Signalled>;

    /// Make a queue, or change its policy.
    async fn set_queue(&self, queue: &QueueName, policy: &Policy) -> Answer<()>;

    /// Change what a group, or one key of it, allows, from now on; nothing that runs is interrupted. An empty setting goes
    /// back to what is declared.
    async fn set_group(&self, group: &GroupRef, key: Option<&str>, setting: &Setting) -> Answer<()>;

    /// Remove a group from all commands that declare it. Tasks with keys in it are no longer held up by it.
    async fn remove_group(&self, group: &GroupRef) -> Answer<()>;

    /// Make a status, or change what it watches.
    async fn put_status(&self, name: &StatusName, commands: &[CommandName]) -> Answer<()>;

    /// Remove a status.
    async fn remove_status(&self, name: &StatusName) -> Answer<()>;

    /// Pause a queue: claims take none of its tasks, running tasks go on. `by`: the name of the operator.
    async fn pause(&self, queue: &QueueName, by: Option<&str>) -> Answer<()>;

    /// Resume a queue.
    async fn resume(&self, queue: &QueueName) -> Answer<()>;

    /// Make or change a schedule; it is checked and armed for its next tick by the store's clock. One that names a
    /// command, a queue or a group that is not there is refused.
    async fn put_schedule(&self, schedule: &Schedule) -> Answer<Schedule>;

    /// Note that a worker that has just started declares these schedules; one that is not there is passed over. What no live
    /// worker of its command declares any more is told by [`Inspect::doctor`].
    async fn declare_schedules(&self, names: &[ScheduleName]) -> Answer<()>;

    /// Switch a schedule off or on again. Ticks that pass while it is off are not missed: it is armed anew.
    async fn pause_schedule(&self, name: &ScheduleName, paused: bool) -> Answer<()>;

    /// Remove a schedule. Its tasks stay.
    async fn remove_schedule(&self, name: &ScheduleName) -> Answer<()>;

    /// Write an entry to the audit log. A repeated call writes it twice.
    async fn audit(&self, entry: &Audit) -> Answer<()>;

    /// Bring the schema to the version this program needs. [`StoreError::Busy`] when someone else is at it.
    async fn migrate(&self) -> Answer<Migrated>;

    /// The migrations that [`Operate::migrate`] would run.
    async fn pending_migrations(&self) -> Answer<Vec<Migration>>;
}
