//! A database of its own for each test, with a schema `app` for its handlers, and a worker that runs them. The waiting is that of the
//! library's own tests, which have no crate in common with these.

use std::future::Future;
use std::time::Duration;

use kinfolk::{Json, Kinfolk, NewTask, TaskId, TaskView, WorkerBuilder, WorkerHandle};
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_runner::SqlCommands;

/// The longest any test waits for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// A schema for handlers, and the log-in of all workers: a member of `kinfolk_worker` alone, which may do in that schema what its handlers
/// do, and owns nothing. It belongs to the whole cluster, and other tests make it too.
const WORKER: &str = "
    do $$ begin
        create role kinfolk_lab_worker login in role kinfolk_worker;
    exception when duplicate_object or unique_violation then null; end $$;
    create schema app;
    grant usage on schema app to kinfolk_lab_worker;
    alter default privileges in schema app grant all on tables to kinfolk_lab_worker;
    alter default privileges in schema app grant all on sequences to kinfolk_lab_worker";

pub(crate) struct Lab {
    pub(crate) database: TestDatabase,
    /// For those who enqueue and look.
    pub(crate) kinfolk: Kinfolk,
    /// For workers, which have no other rights.
    worker_kinfolk: Kinfolk,
}

impl Lab {
    /// A database in which this was run, in schema `app`.
    pub(crate) async fn new(sql: &str) -> Self {
        let database = TestDatabase::create().await;
        let kinfolk = Kinfolk::open(&database.url).await.unwrap();
        database.run(WORKER).await;
        database.run("create table app.note (at bigserial, what text)").await;
        database.run(sql).await;
        let worker_kinfolk =
            Kinfolk::open(&database.url.replace("postgres://postgres@", "postgres://kinfolk_lab_worker@"))
                .await
                .unwrap();
        Self { database, kinfolk, worker_kinfolk }
    }

    /// Where a worker logs in.
    pub(crate) fn worker_url(&self) -> String {
        self.database.url.replace("postgres://postgres@", "postgres://kinfolk_lab_worker@")
    }

    /// A worker that polls quickly and handles what is in the database.
    pub(crate) fn builder(&self) -> WorkerBuilder {
        let commands = SqlCommands::open(&self.worker_url(), 4).unwrap();
        self.worker_kinfolk.worker().poll(Duration::from_millis(50)).queue("default", 4).commands_from(commands)
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
    #[track_caller]
    pub(crate) fn until<'a>(&'a self, sql: &'a str, answer: &'a str) -> impl Future<Output = ()> + 'a {
        self.until_within(sql, answer, PATIENCE)
    }

    /// The same, for what takes longer.
    #[track_caller]
    pub(crate) fn until_within<'a>(
        &'a self,
        sql: &'a str,
        answer: &'a str,
        patience: Duration,
    ) -> impl Future<Output = ()> + 'a {
        within_span(patience, async move {
            while self.database.texts(sql).await != [answer] {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
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
    within_span(PATIENCE, work)
}

#[track_caller]
fn within_span<F: Future>(patience: Duration, work: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(patience, work).await {
            Ok(answer) => answer,
            Err(_) => panic!("{caller}: did not happen within {patience:?}"),
        }
    }
}
