//! A store, the application on it, and a client.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use kinfolk_core::{
    Claim, ClaimedTask, Command, CommandName, Json, Made, NewTask, Outcome, QueueName, Settle, Store, TaskId,
    Token as ClaimToken, WorkerId, WorkerSpec,
};
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_sqlite::SqliteStore;
use kinfolk_web::{Config, Role, Token};
use serde_json::Value;
use tower::ServiceExt as _;

/// A store of its own for one test.
pub(crate) struct Lab {
    pub(crate) store: Arc<dyn Store>,
    /// Dropped with the lab.
    pub(crate) database: Option<TestDatabase>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The code of a problem document; every answer that is none says so.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{self:?}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{self:?}");
        problem["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Lab {
    pub(crate) async fn sqlite() -> Self {
        Self::with(Arc::new(SqliteStore::open(":memory:").unwrap()), None).await
    }

    pub(crate) async fn postgres() -> Self {
        let database = TestDatabase::create().await;
        let store = database.store().await;
        Self::with(Arc::new(store), Some(database)).await
    }

    async fn with(store: Arc<dyn Store>, database: Option<TestDatabase>) -> Self {
        let command =
            |name: &str, queue: &str| Command { queue: queue_name(queue), ..Command::new(command_name(name)) };
        let groups = kinfolk_core::Groups::of([("tenant", 2)]).unwrap();
        let send = Command { groups: Some(groups), ..command("send", "mail") };
        store.register(&[command("greet", "default"), send]).await.unwrap();
        Self { store, database }
    }

    /// Both stores.
    pub(crate) async fn both() -> [Self; 2] {
        [Self::sqlite().await, Self::postgres().await]
    }

    /// The application, for everyone on this machine.
    pub(crate) fn open(&self) -> Router {
        kinfolk_web::router(Arc::clone(&self.store), Config::for_this_machine())
    }

    pub(crate) fn router(&self, config: Config) -> Router {
        kinfolk_web::router(Arc::clone(&self.store), config)
    }

    pub(crate) fn new_task(&self, command: &str) -> NewTask {
        NewTask::new(command_name(command), Json::parse(r#"{"n":0.10,"card":{"number":4111}}"#).unwrap())
    }

    pub(crate) async fn enqueue(&self, command: &str) -> TaskId {
        self.store.enqueue(&[self.new_task(command)]).await.unwrap()[0].id().unwrap()
    }

    /// A task that has failed.
    pub(crate) async fn failed(&self, command: &str, queue: &str) -> TaskId {
        let id = self.enqueue(command).await;
        self.settle(id, command, queue, failure("no such address")).await;
        id
    }

    /// A task that has completed, and made this.
    pub(crate) async fn made(&self, command: &str, queue: &str, made: Made) -> TaskId {
        let id = self.enqueue(command).await;
        self.settle_with(id, (command, queue), Outcome::Done(None), Some(Box::new(made))).await;
        id
    }

    pub(crate) async fn completed(&self, command: &str, queue: &str) -> TaskId {
        let id = self.enqueue(command).await;
        self.settle(id, command, queue, Outcome::Done(Some(Json::parse(r#"{"card":{"number":1}}"#).unwrap()))).await;
        id
    }

    /// Runs what is open of a command, and ends it so: the nth task that is claimed.
    pub(crate) async fn end_all(&self, command: &str, queue: &str, outcome: impl Fn(usize) -> Outcome) {
        let worker = self.worker(command, queue).await;
        let mut ended = 0;
        loop {
            let claim = claim_of(&worker);
            let claimed = self.store.claim(&claim).await.unwrap().tasks;
            if claimed.is_empty() {
                break;
            }
            let settles: Vec<Settle> =
                (ended..).zip(&claimed).map(|(nth, task)| Settle::new(task.id, claim.token, outcome(nth))).collect();
            ended += settles.len();
            self.store.settle(&settles).await.unwrap();
        }
        self.store.leave(worker.id).await.unwrap();
    }

    /// Runs what is open of a command, one page of it: each task makes this and completes.
    pub(crate) async fn make_all(&self, command: &str, queue: &str, made: &Made) {
        let worker = self.worker(command, queue).await;
        let claim = claim_of(&worker);
        let claimed = self.store.claim(&claim).await.unwrap().tasks;
        let settle = |task: &ClaimedTask| Settle {
            made: Some(Box::new(made.clone())),
            ..Settle::new(task.id, claim.token, Outcome::Done(None))
        };
        self.store.settle(&claimed.iter().map(settle).collect::<Vec<_>>()).await.unwrap();
        self.store.leave(worker.id).await.unwrap();
    }

    pub(crate) async fn worker(&self, command: &str, queue: &str) -> WorkerSpec {
        let worker = worker_of(command, queue);
        self.store.register_worker(&worker).await.unwrap();
        worker
    }

    async fn settle(&self, id: TaskId, command: &str, queue: &str, outcome: Outcome) {
        self.settle_with(id, (command, queue), outcome, None).await;
    }

    async fn settle_with(&self, id: TaskId, (command, queue): (&str, &str), outcome: Outcome, made: Option<Box<Made>>) {
        let worker = self.worker(command, queue).await;
        let claim = claim_of(&worker);
        let claimed = self.store.claim(&claim).await.unwrap();
        let task = claimed.tasks.iter().find(|task| task.id == id).expect("it is claimed");
        let settle = Settle { task: task.id, token: claim.token, outcome, made };
        self.store.settle(&[settle]).await.unwrap();
        self.store.leave(worker.id).await.unwrap();
    }
}

/// A worker for one command on one queue.
pub(crate) fn worker_of(command: &str, queue: &str) -> WorkerSpec {
    WorkerSpec {
        id: WorkerId(uuid::Uuid::new_v4()),
        name: format!("{queue}-1"),
        version: String::new(),
        queues: vec![queue_name(queue)],
        commands: vec![command_name(command)],
        lease: std::time::Duration::from_secs(60),
    }
}

/// A claim of what a worker of one queue can run.
pub(crate) fn claim_of(worker: &WorkerSpec) -> Claim {
    Claim {
        worker: worker.id,
        token: ClaimToken(uuid::Uuid::new_v4()),
        queue: worker.queues[0].clone(),
        commands: worker.commands.clone(),
        limit: 100,
        repeated: false,
    }
}

/// An attempt that failed for good.
pub(crate) fn failure(message: &str) -> Outcome {
    let failure = kinfolk_core::Failure::new(kinfolk_core::FailureKind::Validation, message);
    Outcome::Failed { failure, retry: kinfolk_core::Retry::Never }
}

pub(crate) fn command_name(name: &str) -> CommandName {
    CommandName::new(name).unwrap()
}

pub(crate) fn queue_name(name: &str) -> QueueName {
    QueueName::new(name).unwrap()
}

/// A configured token of each role, and their secrets, the least first.
pub(crate) fn tokens() -> (Config, Vec<(Role, String)>) {
    let secrets: Vec<_> = Role::ALL.into_iter().map(|role| (role, Token::secret())).collect();
    let config =
        Config::with_tokens(secrets.iter().map(|(role, (_, kept))| Token::new(role.as_str(), *role, kept).unwrap()));
    (config, secrets.into_iter().map(|(role, (secret, _))| (role, secret)).collect())
}

pub(crate) fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(header::HOST, "localhost:8080")
}

pub(crate) async fn send(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    Answer { status: parts.status.as_u16(), headers: parts.headers, text: String::from_utf8_lossy(&bytes).into_owned() }
}

pub(crate) async fn get(router: &Router, path: &str) -> Answer {
    send(router, request("GET", path).body(Body::empty()).unwrap()).await
}

pub(crate) async fn post(router: &Router, path: &str, body: &str) -> Answer {
    let request = request("POST", path).header(header::CONTENT_TYPE, "application/json");
    send(router, request.body(Body::from(body.to_owned())).unwrap()).await
}

pub(crate) fn is_good(answer: &Answer) -> bool {
    StatusCode::from_u16(answer.status).is_ok_and(|status| status.is_success())
}
