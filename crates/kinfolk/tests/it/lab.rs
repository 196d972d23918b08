//! A store of its own for each test, a clock that can be moved, and events that can be waited for.

use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use kinfolk::core::Clock;
use kinfolk::pg::testing::TestDatabase;
use kinfolk::{
    Command, Ctx, Event, Json, Kinfolk, NewTask, RetryPolicy, State, Store, TaskError, TaskId, TaskView, Timestamp,
    WorkerBuilder,
};
use tempfile::TempDir;
use tokio::sync::Notify;

/// The longest any test waits for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// A span that no test waits for.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// The clock of PostgreSQL's engine, [`MINUTE`] ahead.
const A_MINUTE_AHEAD: &str = "create or replace function kinfolk.clock() returns timestamptz
language sql volatile
as $$ select pg_catalog.clock_timestamp() + interval '1 minute' $$";

/// A store, a handle on it, and what its workers reported.
pub(crate) struct Lab {
    pub(crate) kinfolk: Kinfolk,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<MovableClock>,
    pub(crate) events: Events,
    home: Home,
}

/// Where the store lives, for as long as the test runs.
enum Home {
    File(TempDir),
    Database(TestDatabase),
}

impl Lab {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(MovableClock::default());
        let store = kinfolk::sqlite::SqliteStore::open_with(dir.path().join("tasks.db"), clock.clone()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        Self { kinfolk: Kinfolk::new(store.clone()), store, clock, events: Events::default(), home: Home::File(dir) }
    }

    /// A lab on PostgreSQL. Its clock can be moved only by [`Lab::pass_a_minute`].
    pub(crate) async fn on_postgres(database: TestDatabase) -> Self {
        let store: Arc<dyn Store> = Arc::new(database.store().await);
        let (clock, events) = (Arc::default(), Events::default());
        Self { kinfolk: Kinfolk::new(store.clone()), store, clock, events, home: Home::Database(database) }
    }

    /// Moves the store's clock a minute ahead, once in a test; it goes on from there.
    pub(crate) async fn pass_a_minute(&self) {
        match &self.home {
            Home::File(_) => self.clock.forward(MINUTE),
            Home::Database(database) => database.run(A_MINUTE_AHEAD).await,
        }
    }

    pub(crate) fn url(&self) -> String {
        match &self.home {
            Home::File(dir) => format!("sqlite:{}", dir.path().join("tasks.db").display()),
            Home::Database(database) => database.url.clone(),
        }
    }

    /// A worker that reports to [`Lab::events`] and polls quickly.
    pub(crate) fn worker(&self) -> WorkerBuilder {
        let events = self.events.clone();
        self.kinfolk.worker().poll(Duration::from_millis(50)).on_event(move |event| events.push(event.clone()))
    }

    /// Enqueues a task without payload and gives its number.
    pub(crate) async fn enqueue(&self, command: &str) -> TaskId {
        self.kinfolk.enqueue(command, &Json::object()).await.unwrap().id().unwrap()
    }

    pub(crate) async fn enqueue_many(&self, command: &str, count: usize) -> Vec<TaskId> {
        let task = NewTask::new(command.parse().unwrap(), Json::object());
        let answers = self.kinfolk.enqueue_many(&vec![task; count]).await.unwrap();
        answers.iter().map(|answer| answer.id().unwrap()).collect()
    }

    pub(crate) async fn task(&self, id: TaskId) -> TaskView {
        self.kinfolk.task(id).await.unwrap()
    }

    /// The task, once it is terminal.
    pub(crate) async fn ended(&self, id: TaskId) -> TaskView {
        within(self.kinfolk.wait(id)).await.unwrap()
    }

    /// The task, once it is in this state.
    pub(crate) async fn in_state(&self, id: TaskId, state: State) -> TaskView {
        self.task_that(id, |task| task.state == state).await
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

    /// No invariant is broken, and no parent was or is stuck.
    pub(crate) async fn check(&self) {
        assert_eq!(self.store.check().await.unwrap(), []);
        assert_eq!(self.store.sweep().await.unwrap(), 0);
        assert_eq!(self.events.count(|event| event.name() == "unstuck"), 0);
    }
}

/// A command that is tried quickly, and not for long.
pub(crate) fn quick(name: &str, attempts: u16) -> Command {
    let retry =
        RetryPolicy { max_attempts: Some(attempts), base_ms: 1, cap_ms: 5, jitter_pct: 0, ..RetryPolicy::default() };
    Command { retry, ..Command::new(name.parse().unwrap()) }
}

/// A handler that does nothing.
pub(crate) async fn noop(_: Ctx, _: Json) -> Result<(), TaskError> {
    Ok(())
}

/// Makes a test of each function for each store: the lab it is given has a schema and nothing else.
macro_rules! on_both_stores {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(&crate::lab::Lab::new().await).await;
            })+
        }
        mod postgres {
            use kinfolk::pg::testing::TestDatabase;
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(&crate::lab::Lab::on_postgres(TestDatabase::create().await).await).await;
            })+
        }
    };
}
pub(crate) use on_both_stores;

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

/// The system's clock, moved by hand as far as a test likes.
#[derive(Debug, Default)]
pub(crate) struct MovableClock {
    ahead: AtomicI64,
}

impl MovableClock {
    pub(crate) fn forward(&self, span: Duration) {
        self.ahead.fetch_add(i64::try_from(span.as_micros()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap() + self.ahead.load(Ordering::SeqCst))
    }
}

/// What workers reported, in order.
#[derive(Clone, Default)]
pub(crate) struct Events {
    all: Arc<Mutex<Vec<Event>>>,
    more: Arc<Notify>,
}

impl Events {
    pub(crate) fn push(&self, event: Event) {
        self.all.lock().unwrap().push(event);
        self.more.notify_waiters();
    }

    pub(crate) fn all(&self) -> Vec<Event> {
        self.all.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, wanted: impl Fn(&Event) -> bool) -> usize {
        self.all.lock().unwrap().iter().filter(|event| wanted(event)).count()
    }

    /// Waits for an event of this name, past or future.
    #[track_caller]
    pub(crate) fn wait_for(&self, name: &'static str) -> impl Future<Output = Event> + '_ {
        self.wait_until(move |event| event.name() == name)
    }

    #[track_caller]
    pub(crate) fn wait_until<'a>(&'a self, wanted: impl Fn(&Event) -> bool + 'a) -> impl Future<Output = Event> + 'a {
        within(async move {
            loop {
                let more = self.more.notified();
                tokio::pin!(more);
                more.as_mut().enable();
                if let Some(event) = self.all.lock().unwrap().iter().find(|event| wanted(event)) {
                    return event.clone();
                }
                more.await;
            }
        })
    }
}
