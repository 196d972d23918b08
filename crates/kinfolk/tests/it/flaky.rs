//! A real store whose answers can be tampered with on their way to the worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use kinfolk::core::inspect::{Filter, Finding, Page, Stats, Violation};
use kinfolk::core::operate::{Cancelled, Migrated, Migration};
use kinfolk::core::schedule::{Fired, Plan};
use kinfolk::core::store::Answer;
use kinfolk::core::task::Attempt;
use kinfolk::core::worker::WorkerView;
use kinfolk::core::{
    ChildResult, Claim, Claimed, FanOut, FanOutId, Heartbeat, History, Inspect, Json, Key, Operate, Produce, ReadBy,
    Record, Recorded, Recovered, Report, Settle, Settled, SignalName, Signalled, Suspend, Taken, Token, WakeSource,
    Work, WorkerSpec,
};
use kinfolk::{
    Command, CommandName, Enqueued, Error, NewTask, Policy, Progress, Queue, QueueName, Retried, Schedule,
    ScheduleName, Status, StatusName, Store, Tally, TaskId, TaskView, Timestamp, WorkerId,
};

/// What happens to a call.
pub(crate) enum Fate {
    /// It is answered.
    Answered,
    /// It is carried out, and its answer is lost.
    AnswerLost,
    /// It is not carried out.
    Refused(Error),
}

pub(crate) fn unreachable() -> Error {
    Error::Unavailable { detail: "the test cut the line".to_owned() }
}

type Meddle = Box<dyn Fn(&'static str, &[Settle]) -> Fate + Send + Sync>;

/// The store inside, with a say in what becomes of the worker's calls.
pub(crate) struct Flaky {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) meddle: Meddle,
    /// Parents that the next sweep says it found stuck.
    pub(crate) stuck: AtomicU64,
}

impl Flaky {
    async fn pass<T>(
        &self,
        verb: &'static str,
        settles: &[Settle],
        call: impl Future<Output = Answer<T>>,
    ) -> Answer<T> {
        match (self.meddle)(verb, settles) {
            Fate::Answered => call.await,
            Fate::AnswerLost => call.await.and(Err(unreachable())),
            Fate::Refused(fault) => Err(fault),
        }
    }
}

impl Store for Flaky {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }
}

#[async_trait]
impl Work for Flaky {
    async fn record(&self, records: &[Record]) -> Answer<Vec<Recorded>> {
        self.pass("record", &[], self.inner.record(records)).await
    }
    async fn suspend(&self, suspends: &[Suspend]) -> Answer<Vec<Settled>> {
        self.pass("suspend", &[], self.inner.suspend(suspends)).await
    }
    async fn expire(&self, task: TaskId, token: Token, fan_out: FanOutId) -> Answer<Option<FanOut>> {
        self.pass("expire", &[], self.inner.expire(task, token, fan_out)).await
    }
    async fn take_signal(&self, task: TaskId, token: Token, key: &Key, name: &SignalName) -> Answer<Taken> {
        self.pass("take_signal", &[], self.inner.take_signal(task, token, key, name)).await
    }
    async fn report(&self, task: TaskId, token: Token, report: &Report) -> Answer<bool> {
        self.pass("report", &[], self.inner.report(task, token, report)).await
    }
    async fn register_worker(&self, worker: &WorkerSpec) -> Answer<()> {
        self.pass("register_worker", &[], self.inner.register_worker(worker)).await
    }
    async fn heartbeat(&self, worker: WorkerId) -> Answer<Heartbeat> {
        self.pass("heartbeat", &[], self.inner.heartbeat(worker)).await
    }
    async fn leave(&self, worker: WorkerId) -> Answer<()> {
        self.pass("leave", &[], self.inner.leave(worker)).await
    }
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        self.pass("claim", &[], self.inner.claim(claim)).await
    }
    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        self.pass("settle", settles, self.inner.settle(settles)).await
    }
    async fn recover(&self, worker: WorkerId) -> Answer<Recovered> {
        self.inner.recover(worker).await
    }
    async fn due_schedules(&self) -> Answer<Vec<Schedule>> {
        self.inner.due_schedules().await
    }
    async fn fire(&self, plan: &Plan) -> Answer<Fired> {
        self.inner.fire(plan).await
    }
    async fn sweep(&self) -> Answer<u64> {
        let found = self.pass("sweep", &[], self.inner.sweep()).await?;
        Ok(found + self.stuck.swap(0, Ordering::SeqCst))
    }
    async fn refresh_statuses(&self) -> Answer<Vec<Status>> {
        self.pass("refresh_statuses", &[], self.inner.refresh_statuses()).await
    }
    async fn prune(&self) -> Answer<u64> {
        self.inner.prune().await
    }
    async fn wakes(&self, worker: WorkerId, queues: &[QueueName]) -> Answer<Option<Box<dyn WakeSource>>> {
        self.inner.wakes(worker, queues).await
    }
}

/// Hands calls on as they are.
macro_rules! hand_on {
    ($role:ident { $($verb:ident($($name:ident: $type:ty),*) -> $answer:ty;)+ }) => {
        #[async_trait]
        impl $role for Flaky {
            $(async fn $verb(&self $(, $name: $type)*) -> Answer<$answer> {
                self.inner.$verb($($name),*).await
            })+
        }
    };
}

hand_on!(Produce {
    register(commands: &[Command]) -> ();
    enqueue(tasks: &[NewTask]) -> Vec<Enqueued>;
});

hand_on!(Inspect {
    now() -> Timestamp;
    task(id: TaskId) -> Option<TaskView>;
    attempts(id: TaskId) -> Vec<Attempt>;
    history(id: TaskId) -> History;
    results(fan_out: FanOutId, by: ReadBy, from: u32, limit: usize) -> Vec<ChildResult>;
    list(filter: &Filter) -> Page;
    children(parent: TaskId, from: u64, limit: usize) -> Vec<TaskView>;
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
    retry(id: TaskId) -> TaskView;
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
