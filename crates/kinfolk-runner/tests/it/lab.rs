//! A database of its own for each test, with a schema `app` for its handlers, and a worker that runs them.

use std::future::Future;
use std::time::Duration;

use kinfolk::{Json, Kinfolk, NewTask, TaskId, TaskView, WorkerBuilder, WorkerHandle};
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_runner::SqlCommands;

/// The longest any test waits for anything.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Lab {
    pub(crate) database: TestDatabase,
    pub(crate) kinfolk: Kinfolk,
}

impl Lab {
    /// A database in which this was run, in schema `app`.
    pub(crate) async fn new(sql: &str) -> Self {
        let database = TestDatabase::create().await;
        let kinfolk = Kinfolk::open(&database.url).await.unwrap();
        database.run("create schema app; create table app.note (at bigserial, what text)").await;
        database.run(sql).await;
        Self { database, kinfolk }
    }

    /// A worker that polls quickly and handles what is in the database.
    pub(crate) fn builder(&self) -> WorkerBuilder {
        let commands = SqlCommands::open(&self.database.url, 4).unwrap();
        self.kinfolk.worker().poll(Duration::from_millis(50)).queue("default", 4).commands_from(commands)
    }

    pub(crate) async fn worker(&self) -> WorkerHandle {
        self.builder().start().await.unwrap()
    }

    pub(crate) async fn enqueue(&self, command: &str, payload: &str) -> TaskId {
        let task = NewTask::new(command.parse().unwrap(), Json::parse(payload).unwrap());
        self.kinfolk.enqueue_many(&[task]).await.unwrap().remove(0).id().unwrap()
    }

    pub(crate) async fn task(&self, id: TaskId) -> TaskView {
        self.kinfolk.task(id).await.unwrap()
    }

    /// The task, once it is terminal.
    pub(crate) async fn ended(&self, id: TaskId) -> TaskView {
        within(self.kinfolk.wait(id)).await.unwrap()
    }

    pub(crate) async fn task_that(&self, id: TaskId, is_so: impl Fn(&TaskView) -> bool) -> TaskView {
        within(async {
            loop {
                let task = self.task(id).await;
                if is_so(&task) {
                    return task;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await
    }

    /// Waits until a query answers this.
    pub(crate) async fn until(&self, sql: &str, answer: &str) {
        within(async {
            while self.database.texts(sql).await != [answer] {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// What the handlers noted, in order.
    pub(crate) async fn notes(&self) -> Vec<String> {
        self.database.texts("select what from app.note order by at").await
    }

    /// Stops the worker; nothing is broken and nothing is left behind.
    pub(crate) async fn close(self, worker: WorkerHandle) {
        within(worker.stop()).await.unwrap();
        assert_eq!(self.kinfolk.store().check().await.unwrap(), []);
        assert_eq!(self.database.texts("select count(*)::text from kinfolk.intent").await, ["0"]);
    }
}

/// Gives up, loudly, when something does not happen.
#[track_caller]
pub(crate) fn within<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(answer) => answer,
            Err(_) => panic!("{caller}: did not happen within {PATIENCE:?}"),
        }
    }
}
