//! What the tests share: a clock that is moved by hand, stores in folders of their own, and short names.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use kinfolk_core::{
    Claim, Claimed, Clock, Command, CommandName, Json, NewTask, Outcome, Produce, QueueName, Settle, Settled, TaskId,
    Timestamp, Token, Work, WorkerId, WorkerSpec,
};
use kinfolk_sqlite::{Options, SqliteStore, Synchronous};
use tempfile::TempDir;
use uuid::Uuid;

/// A clock that stands still until it is moved.
pub(crate) struct HandClock(AtomicI64);

impl HandClock {
    pub(crate) fn at(moment: Timestamp) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(moment.as_micros())))
    }

    pub(crate) fn set(&self, moment: Timestamp) {
        self.0.store(moment.as_micros(), Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.set(self.now().plus(span));
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// A store in a folder of its own, with a clock that stands still.
pub(crate) struct Lab {
    pub(crate) folder: TempDir,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) store: SqliteStore,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = scratch();
        let clock = HandClock::at(Timestamp::from_micros(4_102_444_800_000_000));
        let store = quick(&folder.path().join("kinfolk.db"), clock.clone());
        Self { folder, clock, store }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("kinfolk.db")
    }

    /// Another store on the same file, as another process would have.
    pub(crate) fn another(&self) -> SqliteStore {
        quick(&self.path(), self.clock.clone())
    }
}

/// A folder of its own, in memory where the system offers that: the disk is not what is tested.
pub(crate) fn scratch() -> TempDir {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Opens a store whose commits do not wait for the disk: what is tested is not the disk.
pub(crate) fn quick(path: &std::path::Path, clock: Arc<dyn Clock>) -> SqliteStore {
    SqliteStore::open_as(path, clock, Options { synchronous: Synchronous::Normal, ..Options::default() }).unwrap()
}

pub(crate) fn command(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

pub(crate) fn queue() -> QueueName {
    QueueName::default()
}

pub(crate) fn task(name: &str) -> NewTask {
    NewTask::new(command(name), Json::object())
}

pub(crate) async fn register(store: &SqliteStore, names: &[&str]) {
    let commands: Vec<_> = names.iter().map(|name| Command::new(command(name))).collect();
    store.register(&commands).await.unwrap();
}

pub(crate) async fn enqueue(store: &SqliteStore, tasks: &[NewTask]) -> Vec<TaskId> {
    let answers = store.enqueue(tasks).await.unwrap();
    answers.iter().map(|answer| answer.id().unwrap_or_else(|_| panic!("{answer:?}"))).collect()
}

pub(crate) async fn worker(store: &SqliteStore) -> WorkerId {
    let id = WorkerId(Uuid::new_v4());
    store.register_worker(&spec(id)).await.unwrap();
    id
}

pub(crate) fn spec(id: WorkerId) -> WorkerSpec {
    WorkerSpec {
        id,
        name: "test".to_owned(),
        version: String::new(),
        queues: vec![queue()],
        commands: Vec::new(),
        lease: Duration::from_secs(30),
    }
}

pub(crate) fn claim_of(worker: WorkerId, names: &[&str], limit: usize) -> Claim {
    Claim {
        worker,
        token: Token(Uuid::new_v4()),
        queue: queue(),
        commands: names.iter().map(|name| command(name)).collect(),
        limit,
        repeated: false,
    }
}

pub(crate) async fn claim(store: &SqliteStore, worker: WorkerId, names: &[&str], limit: usize) -> Claimed {
    store.claim(&claim_of(worker, names, limit)).await.unwrap()
}

pub(crate) fn ids(claimed: &Claimed) -> Vec<TaskId> {
    claimed.tasks.iter().map(|task| task.id).collect()
}

pub(crate) async fn settle(store: &SqliteStore, claimed: &Claimed, outcome: Outcome) -> Vec<Settled> {
    let settles: Vec<_> = claimed.tasks.iter().map(|task| Settle::new(task.id, task.token, outcome.clone())).collect();
    store.settle(&settles).await.unwrap()
}
