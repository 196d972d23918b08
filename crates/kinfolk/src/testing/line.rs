//! The line between a worker and its store, which a test can cut at a commit of its choice.
//!
//! A commit is a call by which a worker changes tasks: a claim that took something, a settle, a suspension, a record, a
//! signal taken, a fan-out given up. From the cut on nothing the worker says reaches the store, as if its process had died.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use kinfolk_core::inspect::{Filter, Finding, Page, Stats, Violation};
use kinfolk_core::operate::{Cancelled, Migrated, Migration};
use kinfolk_core::schedule::{Fired, Plan};
use kinfolk_core::store::Answer;
use kinfolk_core::task::Attempt;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    ChildResult, Claim, Claimed, Command, CommandName, Enqueued, FanOut, FanOutId, Heartbeat, History, Inspect, Json,
    Key, NewTask, Operate, Policy, Produce, Progress, Queue, QueueName, ReadBy, Record, Recorded, Recovered, Report,
    Retried, Schedule, ScheduleName, Settle, Settled, SignalName, Signalled, Status, StatusName, Store, StoreError,
    Suspend, Taken, Tally, Task, TaskId, Timestamp, Token, WakeSource, Work, WorkerId, WorkerSpec,
};
use tokio::sync::Notify;

/// At which commit a worker dies, and on which side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The n-th commit (1 is the first) is not made.
    Before(u64),
    /// The n-th commit is made, and the worker does not hear of it.
    After(u64),
}

/// What a kit and its lines know of commits.
#[derive(Debug, Default)]
pub(super) struct Commits {
    pub(super) made: AtomicU64,
    pub(super) crash: std::sync::Mutex<Option<Crash>>,
    pub(super) crashed: Notify,
}

/// A store as one worker sees it.
pub(super) struct Line {
    pub(super) store: Arc<dyn Store>,
    pub(super) commits: Arc<Commits>,
    pub(super) cut: AtomicBool,
}

impl Line {
    fn cut_now(&self) -> StoreError {
        self.cut.store(true, Ordering::SeqCst);
        *self.commits.crash.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        self.commits.crashed.notify_one();
        dead()
    }

    fn check(&self) -> Answer<()> {
        if self.cut.load(Ordering::SeqCst) { Err(dead()) } else { Ok(()) }
    }

    fn planned(&self) -> Option<Crash> {
        *self.commits.crash.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn commit<T>(&self, call: impl Future<Output = Answer<T>>) -> Answer<T> {
        self.check()?;
        let number = self.commits.made.fetch_add(1, Ordering::SeqCst) + 1;
        match self.planned() {
            Some(Crash::Before(at)) if at == number => Err(self.cut_now()),
            Some(Crash::After(at)) if at == number => {
                call.await?;
                Err(self.cut_now())
            }
            _ => call.await,
        }
    }
}

fn dead() -> StoreError {
    StoreError::Unavailable { detail: "the test has cut the line".to_owned() }
}

impl Store for Line {
    fn kind(&self) -> &'static str {
        self.store.kind()
    }
}

/// Hands calls on as they are, while the line stands.
macro_rules! hand_on {
    ($role:ident { $($verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+ } $($rest:tt)*) => {
        #[async_trait]
        impl $role for Line {
            $(async fn $verb(&self $(, $name: $type)*) -> Answer<$answer> {
                self.check()?;
                self.store.$verb($($name),*).await
            })+
            $($rest)*
        }
    };
}

hand_on!(Work {
    register_worker(worker: &WorkerSpec) -> ();
    heartbeat(worker: WorkerId) -> Heartbeat;
    leave(worker: WorkerId) -> ();
    report(task: TaskId, token: Token, report: &Report) -> bool;
    recover(worker: WorkerId) -> Recovered;
    due_schedules() -> Vec<Schedule>;
    fire(plan: &Plan) -> Fired;
    sweep() -> u64;
    refresh_statuses() -> Vec<Status>;
    prune() -> u64;
    wakes(worker: WorkerId, queues: &[QueueName]) -> Option<Box<dyn WakeSource>>;
}
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        self.check()?;
        let claimed = self.store.claim(claim).await?;
        // A claim that took nothing changed nothing, and how often a worker looks is nobody's business.
        if claimed.tasks.is_empty() {
            return Ok(claimed);
        }
        self.commit(std::future::ready(Ok(claimed))).await
    }
    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        self.commit(self.store.settle(settles)).await
    }
    async fn record(&self, records: &[Record]) -> Answer<Vec<Recorded>> {
        self.commit(self.store.record(records)).await
    }
    async fn suspend(&self, suspends: &[Suspend]) -> Answer<Vec<Settled>> {
        self.commit(self.store.suspend(suspends)).await
    }
    async fn expire(&self, task: TaskId, token: Token, fan_out: FanOutId) -> Answer<Option<FanOut>> {
        self.commit(self.store.expire(task, token, fan_out)).await
    }
    async fn take_signal(&self, task: TaskId, token: Token, key: &Key, name: &SignalName) -> Answer<Taken> {
        self.commit(self.store.take_signal(task, token, key, name)).await
    }
);

hand_on!(Produce {
    register(commands: &[Command]) -> ();
    enqueue(tasks: &[NewTask]) -> Vec<Enqueued>;
});

hand_on!(Inspect {
    now() -> Timestamp;
    task(id: TaskId) -> Option<Task>;
    attempts(id: TaskId) -> Vec<Attempt>;
    history(id: TaskId) -> History;
    results(fan_out: FanOutId, by: ReadBy, from: u32, limit: usize) -> Vec<ChildResult>;
    list(filter: &Filter) -> Page;
    children(parent: TaskId, from: u64, limit: usize) -> Vec<Task>;
    tally(parent: TaskId) -> Tally;
    progress(task: TaskId) -> Progress;
    is_active(commands: &[CommandName]) -> bool;
    statuses() -> Vec<Status>;
    stats() -> Stats;
    queues() -> Vec<Queue>;
    commands() -> Vec<Command>;
    workers() -> Vec<WorkerView>;
    schedules() -> Vec<Schedule>;
    check() -> Vec<Violation>;
    doctor() -> Vec<Finding>;
});

hand_on!(Operate {
    signal(id: TaskId, name: &SignalName, value: &Json) -> Signalled;
    cancel(id: TaskId) -> Cancelled;
    retry(id: TaskId) -> Task;
    retry_family(id: TaskId) -> Retried;
    set_queue(queue: &QueueName, policy: &Policy) -> ();
    put_status(name: &StatusName, commands: &[CommandName]) -> ();
    remove_status(name: &StatusName) -> ();
    pause(queue: &QueueName) -> ();
    resume(queue: &QueueName) -> ();
    put_schedule(schedule: &Schedule) -> Schedule;
    pause_schedule(name: &ScheduleName, paused: bool) -> ();
    remove_schedule(name: &ScheduleName) -> ();
    migrate() -> Migrated;
    pending_migrations() -> Vec<Migration>;
});
