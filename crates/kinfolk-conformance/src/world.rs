//! A store under test with short verbs, so that a contract is a few lines.
//!
//! A world knows the commands `mail` and `report` on the queue `default` and `export` on the queue `bulk`, each tried
//! three times with delays of 1, 2, 4… seconds without jitter. Verbs panic when the store does not do what they say; a
//! contract about refusals talks to [`World::store`] itself.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kinfolk_core::inspect::{Filter, Stats};
use kinfolk_core::task::Ending;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    Attempt, Claim, ClaimedTask, Command, CommandName, Due, Enqueued, Failure, FailureKind, GroupName, Json, NewTask,
    Outcome, Queue, QueueName, Recovered, Retry, RetryPolicy, Schedule, ScheduleName, Settle, Settled, State, Store,
    Task, TaskId, Timestamp, Token, Unique, WorkerId, WorkerSpec,
};
use uuid::Uuid;

use crate::harness::{START, TestStore};

/// The lease of a world's workers.
pub const LEASE: Duration = Duration::from_secs(30);

/// A store under test, at work.
pub struct World {
    fixture: Arc<dyn TestStore>,
    /// The store itself.
    pub store: Arc<dyn Store>,
    now: Mutex<Timestamp>,
}

/// All that can be seen of a store, to show that a refused call has changed nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Everything {
    tasks: Vec<(Task, Vec<Attempt>)>,
    queues: Vec<Queue>,
    commands: Vec<Command>,
    workers: Vec<WorkerView>,
    schedules: Vec<Schedule>,
    stats: Stats,
}

impl World {
    /// A fresh world in an empty store.
    pub async fn new(fixture: Arc<dyn TestStore>) -> Self {
        let store = fixture.store();
        fixture.set_time(START).await;
        let world = Self { fixture, store, now: Mutex::new(START) };
        let known = [("mail", "default"), ("report", "default"), ("export", "bulk")];
        let known = known.map(|(name, queue)| Command { queue: queue_name(queue), ..plain_command(name) });
        world.store.register(&known).await.unwrap();
        world
    }

    /// The fixture, for what only a test may do.
    pub fn fixture(&self) -> &dyn TestStore {
        &*self.fixture
    }

    /// A second handle on the same data, as another process would have.
    pub async fn another(&self) -> Arc<dyn Store> {
        self.fixture.another().await
    }

    // Time.

    /// What the store's clock says.
    pub fn now(&self) -> Timestamp {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the clock on by this many seconds.
    pub async fn advance(&self, secs: u64) {
        self.advance_by(Duration::from_secs(secs)).await;
    }

    /// Moves the clock on.
    pub async fn advance_by(&self, span: Duration) {
        let now = self.now().plus(span);
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = now;
        self.fixture.set_time(now).await;
    }

    /// Sets the clock back, as an administrator or a fail-over may. What the store makes of it is its own business, so
    /// the world's idea of the time holds only after the next [`World::advance`].
    pub async fn set_back(&self, span: Duration) {
        self.fixture.set_time(self.now().minus(span)).await;
    }

    // Producing.

    /// Enqueues and gives the answer.
    pub async fn put(&self, task: NewTask) -> Enqueued {
        self.store.enqueue(&[task]).await.unwrap().remove(0)
    }

    /// Enqueues a task that must be new.
    pub async fn create(&self, task: NewTask) -> TaskId {
        match self.put(task).await {
            Enqueued::Created(id) => id,
            other => panic!("not created: {other:?}"),
        }
    }

    /// Enqueues a plain task of a command.
    pub async fn enqueue(&self, command: &str) -> TaskId {
        self.create(new_task(command)).await
    }

    /// Enqueues this many plain tasks of a command in one call.
    pub async fn enqueue_many(&self, command: &str, many: usize) -> Vec<TaskId> {
        let answers = self.store.enqueue(&vec![new_task(command); many]).await.unwrap();
        answers.iter().map(|answer| answer.id().unwrap()).collect()
    }

    // Working.

    /// A new worker with a lease of [`LEASE`].
    pub async fn worker(&self) -> WorkerId {
        let spec = worker_spec(LEASE);
        self.store.register_worker(&spec).await.unwrap();
        spec.id
    }

    /// Claims up to `limit` tasks of all commands from the queue `default`.
    pub async fn claim(&self, worker: WorkerId, limit: usize) -> Vec<ClaimedTask> {
        self.store.claim(&claim_of(worker, limit)).await.unwrap().tasks
    }

    /// Claims up to `limit` tasks from the queue `default`, in ids only.
    pub async fn claim_ids(&self, worker: WorkerId, limit: usize) -> Vec<TaskId> {
        ids(&self.claim(worker, limit).await)
    }

    /// Claims the task that is next in line.
    pub async fn take(&self, worker: WorkerId) -> ClaimedTask {
        self.claim(worker, 1).await.pop().expect("there is a task to claim")
    }

    /// Enqueues a `mail` and claims it, on a worker of its own.
    pub async fn running(&self) -> ClaimedTask {
        let (id, worker) = (self.enqueue("mail").await, self.worker().await);
        let task = self.take(worker).await;
        assert_eq!(task.id, id);
        task
    }

    /// Settles.
    pub async fn settle(&self, task: &ClaimedTask, outcome: Outcome) -> Settled {
        self.store.settle(&[settle_of(task, outcome)]).await.unwrap().remove(0)
    }

    /// Completes a task.
    pub async fn done(&self, task: &ClaimedTask) -> Settled {
        self.settle(task, Outcome::Done(None)).await
    }

    /// Ends an attempt with an error.
    pub async fn fail(&self, task: &ClaimedTask, retry: Retry) -> Settled {
        self.settle(task, failed(retry)).await
    }

    /// A task that has completed, of the command `mail`.
    pub async fn completed(&self) -> TaskId {
        let task = self.running().await;
        assert_eq!(self.done(&task).await, Settled::Recorded(State::Completed));
        task.id
    }

    /// A task that has failed, of the command `mail`.
    pub async fn failed(&self) -> TaskId {
        let task = self.running().await;
        assert_eq!(self.fail(&task, Retry::Never).await, Settled::Recorded(State::Failed));
        task.id
    }

    /// Lets a lease pass in which only these workers renew theirs.
    pub async fn pass_a_lease(&self, alive: &[WorkerId]) {
        for secs in [20, 11] {
            self.advance(secs).await;
            for worker in alive {
                self.store.heartbeat(*worker).await.unwrap();
            }
        }
    }

    /// Lets the leases of all workers end and has their tasks recovered by a new worker, which leaves again.
    pub async fn lose_all(&self) -> Recovered {
        self.lose_all_but(&[]).await
    }

    /// The same, except that these workers stay alive.
    pub async fn lose_all_but(&self, alive: &[WorkerId]) -> Recovered {
        let judge = self.worker().await;
        let alive: Vec<_> = alive.iter().copied().chain([judge]).collect();
        self.pass_a_lease(&alive).await;
        let done = self.recover_all(judge).await;
        self.store.leave(judge).await.unwrap();
        done
    }

    /// Recovers page by page until there is no more.
    pub async fn recover_all(&self, judge: WorkerId) -> Recovered {
        let mut sum = Recovered::default();
        loop {
            let page = self.store.recover(judge).await.unwrap();
            sum.returned += page.returned;
            sum.poisoned += page.poisoned;
            sum.cancelled += page.cancelled;
            sum.workers += page.workers;
            if !page.more {
                return sum;
            }
        }
    }

    /// From now on so many strikes make a task of this command poison.
    pub async fn allow_strikes(&self, command: &str, max_strikes: u16) {
        let plain = plain_command(command);
        let retry = RetryPolicy { max_strikes, ..plain.retry };
        self.store.register(&[Command { retry, ..plain }]).await.unwrap();
    }

    // Looking.

    /// The task, which must exist.
    pub async fn get(&self, id: TaskId) -> Task {
        self.store.task(id).await.unwrap().expect("the task is there")
    }

    /// Asks for the end of a task, unless it has ended.
    pub async fn cancel_if_open(&self, id: TaskId) {
        if !self.state(id).await.is_terminal() {
            self.store.cancel(id).await.unwrap();
        }
    }

    /// The task's state.
    pub async fn state(&self, id: TaskId) -> State {
        self.get(id).await.state
    }

    /// How the attempts of a task ended, oldest first.
    pub async fn endings(&self, id: TaskId) -> Vec<Ending> {
        self.store.attempts(id).await.unwrap().into_iter().map(|attempt| attempt.ending).collect()
    }

    /// Every task there is, newest first.
    pub async fn all(&self) -> Vec<Task> {
        let mut filter = Filter { limit: 1_000, ..Filter::default() };
        let mut tasks = Vec::new();
        loop {
            let page = self.store.list(&filter).await.unwrap();
            tasks.extend(page.tasks);
            match page.next {
                Some(next) => filter.before = Some(next),
                None => return tasks,
            }
        }
    }

    /// The numbers of the tasks in a state.
    pub async fn in_state(&self, state: State) -> BTreeSet<TaskId> {
        self.all().await.into_iter().filter(|task| task.state == state).map(|task| task.id).collect()
    }

    /// All that can be seen.
    pub async fn everything(&self) -> Everything {
        let mut tasks = Vec::new();
        for task in self.all().await {
            let attempts = self.store.attempts(task.id).await.unwrap();
            tasks.push((task, attempts));
        }
        Everything {
            tasks,
            queues: self.store.queues().await.unwrap(),
            commands: self.store.commands().await.unwrap(),
            workers: self.store.workers().await.unwrap(),
            schedules: self.store.schedules().await.unwrap(),
            stats: self.store.stats().await.unwrap(),
        }
    }

    /// The store must find nothing wrong with itself, and no parent that was left waiting for nothing.
    pub async fn sound(&self) {
        assert_eq!(self.store.check().await.unwrap(), []);
        assert_eq!(self.store.sweep().await.unwrap(), 0, "parents that waited for nothing");
    }
}

/// A command name.
pub fn command(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

/// A queue name.
pub fn queue_name(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

/// A group name.
pub fn group_name(name: &str) -> GroupName {
    GroupName::new(name).unwrap()
}

/// A schedule name.
pub fn schedule_name(name: &str) -> ScheduleName {
    ScheduleName::new(name).unwrap()
}

/// A command on the queue `default`, tried three times, without jitter.
pub fn plain_command(name: &str) -> Command {
    let retry = RetryPolicy { max_attempts: Some(3), jitter_pct: 0, ..RetryPolicy::default() };
    Command { retry, ..Command::new(command(name)) }
}

/// A task with all else from its command.
pub fn new_task(name: &str) -> NewTask {
    NewTask::new(command(name), Json::object())
}

/// A `mail` that is due after this many seconds.
pub fn later(secs: u64) -> NewTask {
    NewTask { due: Due::After(Duration::from_secs(secs)), ..new_task("mail") }
}

/// A `mail` under a unique key, with a payload.
pub fn unique_task(unique: Unique, payload: &str) -> NewTask {
    NewTask { unique: Some(unique), payload: json(payload), ..new_task("mail") }
}

/// JSON.
pub fn json(text: &str) -> Json {
    Json::parse(text).unwrap()
}

/// A worker that handles the commands of every world.
pub fn worker_spec(lease: Duration) -> WorkerSpec {
    WorkerSpec {
        id: WorkerId(Uuid::now_v7()),
        name: "here:1".to_owned(),
        version: String::new(),
        queues: vec![queue_name("bulk"), queue_name("default")],
        commands: vec![command("export"), command("mail"), command("report")],
        lease,
    }
}

/// A claim with a fresh token.
pub fn claim_of(worker: WorkerId, limit: usize) -> Claim {
    Claim {
        worker,
        token: Token(Uuid::new_v4()),
        queue: queue_name("default"),
        commands: vec![command("mail"), command("report"), command("export")],
        limit,
        repeated: false,
    }
}

/// A settle of a claimed task.
pub fn settle_of(task: &ClaimedTask, outcome: Outcome) -> Settle {
    Settle::new(task.id, task.token, outcome)
}

/// An attempt that ended in an error.
pub fn failed(retry: Retry) -> Outcome {
    Outcome::Failed { failure: failure(), retry }
}

/// The error it ended in.
pub fn failure() -> Failure {
    Failure::new(FailureKind::Error, "no such host")
}

/// The numbers of claimed tasks.
pub fn ids(tasks: &[ClaimedTask]) -> Vec<TaskId> {
    tasks.iter().map(|task| task.id).collect()
}

/// So many seconds.
pub const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}
