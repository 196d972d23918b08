//! The test kit: tasks of your own, run in a test, on a store in memory whose time moves only when the test moves it.
//!
//! ```
//! use kinfolk::testing::TestKit;
//! use kinfolk::{Ctx, Sub, TaskError};
//!
//! async fn total(ctx: Ctx, items: Vec<String>) -> Result<u64, TaskError> {
//!     let prices = ctx.fan_out::<u64>(items.iter().map(|item| Sub::new("price_of", item))).await?;
//!     Ok(prices.values().into_iter().sum())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut kit = TestKit::new(|worker| worker.handler("total", total)).await?;
//! kit.known("price_of").await?;
//! let id = kit.kinfolk().enqueue("total", &["lamp", "desk"]).await?.id()?;
//! kit.run_until_idle().await?;
//! kit.assert_tree(id, "
//!     total waiting
//!       price_of pending
//!       price_of pending
//! ").await;
//! for (child, price) in kit.kinfolk().children(id, 0, 2).await?.iter().zip([40, 2]) {
//!     kit.complete_sub_task(child.id, &price).await?;
//! }
//! kit.run_until_idle().await?;
//! assert_eq!(kit.result::<u64>(id).await?, 42);
//! # Ok(())
//! # }
//! ```
//!
//! A kit's worker is a whole worker: what passes here runs the same code as in production. It never waits for real time:
//! [`TestKit::advance`] moves the store's clock, [`TestKit::skip_ahead`] to where something can go on, and [`TestKit::run_until_idle`] returns when nothing is left to do at
//! that moment. A worker can be made to die at any of its commits ([`TestKit::crash_at`]), and to hear no wake-ups
//! ([`TestKit::suppress_wakeups`]).

mod by_hand;
mod clock;
mod cuttable_store;
mod left;
mod tree;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use kinfolk_core::inspect::Violation;
use kinfolk_core::{
    Clock, Command, CommandName, FanOut, FanOutId, InputError, State, StepKind, Store, StoreError, TaskId, Timestamp,
};
use serde::de::DeserializeOwned;

pub use self::clock::TestClock;
pub use self::cuttable_store::Crash;
use self::cuttable_store::{Commits, CuttableStore};
use crate::kinfolk::Kinfolk;
use crate::worker::{WorkerBuilder, WorkerHandle};

/// How often a worker without wake-ups looks.
const POLL: Duration = Duration::from_millis(10);
/// The longest that anything is waited for: a kit that takes longer is stuck.
const PATIENCE: Duration = Duration::from_secs(60);

type Configure = Box<dyn Fn(WorkerBuilder) -> WorkerBuilder + Send + Sync>;

/// Whose clock the store has.
enum Time {
    /// That of the kit.
    #[cfg(feature = "sqlite")]
    Ours,
    /// One in the database, which the kit sets.
    #[cfg(feature = "postgres")]
    Postgres(Arc<kinfolk_postgres::PgStore>),
    /// A clock that the test does not move.
    Theirs,
}

/// A store, a clock, and a worker that can be killed and comes back.
pub struct TestKit {
    kinfolk: Kinfolk,
    clock: Arc<TestClock>,
    time: Time,
    configure: Configure,
    commits: Arc<Commits>,
    worker: Option<WorkerHandle>,
    wakeups: bool,
    crashes: u64,
}

impl TestKit {
    /// A kit on a SQLite store of its own, gone with the kit. The function says what its worker handles; it is asked again for
    /// every worker that takes the place of a dead one.
    #[cfg(feature = "sqlite")]
    pub async fn new(
        configure: impl Fn(WorkerBuilder) -> WorkerBuilder + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        let clock = Arc::new(TestClock::default());
        let store = kinfolk_sqlite::SqliteStore::temporary(clock.clone(), kinfolk_sqlite::Options::default())?;
        Ok(Self { clock, time: Time::Ours, ..Self::on(Arc::new(store), configure).await? })
    }

    /// A kit on a PostgreSQL database that belongs to the test alone: it is migrated, and from then on its clock does not move until
    /// [`TestKit::advance`] or [`TestKit::skip_ahead`] moves it. Never on a database that other programs use: nothing that is due
    /// later would ever run there.
    #[cfg(feature = "postgres")]
    pub async fn on_postgres(
        url: &str,
        configure: impl Fn(WorkerBuilder) -> WorkerBuilder + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        let store = kinfolk_postgres::PgStore::connect(url, kinfolk_postgres::PgOptions::default()).await?;
        let store = Arc::new(store);
        kinfolk_core::Operate::migrate(&*store).await?;
        kinfolk_postgres::testing::install_clock(&store).await?;
        let kit = Self::on(store.clone(), configure).await?;
        kit.clock.advance_to(kit.kinfolk.now().await?);
        Ok(Self { time: Time::Postgres(store), ..kit })
    }

    /// A kit on a store of yours, whose clock it can't move.
    pub async fn on(
        store: Arc<dyn Store>,
        configure: impl Fn(WorkerBuilder) -> WorkerBuilder + Send + Sync + 'static,
    ) -> Result<Self, StoreError> {
        let kit = Self {
            kinfolk: Kinfolk::new(store),
            clock: Arc::default(),
            time: Time::Theirs,
            configure: Box::new(configure),
            commits: Arc::default(),
            worker: None,
            wakeups: true,
            crashes: 0,
        };
        kit.introduce().await?;
        Ok(kit)
    }

    /// Makes the commands known that the worker will handle, so that their tasks can be enqueued before it runs.
    async fn introduce(&self) -> Result<(), StoreError> {
        (self.configure)(self.kinfolk.worker()).register().await
    }

    /// The worker hears no wake-ups from now on, neither of the store nor its own: only its polling finds work.
    #[must_use]
    pub fn suppress_wakeups(mut self) -> Self {
        self.wakeups = false;
        self
    }

    /// The handle on the store: enqueue, signal, cancel and look through it.
    pub fn kinfolk(&self) -> &Kinfolk {
        &self.kinfolk
    }

    /// The clock of a store in memory. On PostgreSQL it is moved by [`TestKit::advance`].
    pub fn clock(&self) -> &TestClock {
        &self.clock
    }

    /// Moves the store's clock forward. Tasks that are due then run with the next [`TestKit::run_until_idle`].
    pub async fn advance(&self, span: Duration) -> Result<(), StoreError> {
        self.advance_to(self.kinfolk.now().await?.plus(span)).await
    }

    /// Moves the store's clock forward to this moment.
    pub async fn advance_to(&self, moment: Timestamp) -> Result<(), StoreError> {
        self.clock.advance_to(moment);
        match &self.time {
            #[cfg(feature = "sqlite")]
            Time::Ours => Ok(()),
            #[cfg(feature = "postgres")]
            Time::Postgres(store) => kinfolk_postgres::testing::set_clock(store, self.clock.now()).await,
            Time::Theirs => Err(StoreError::Unsupported {
                store: "the store of this kit",
                ability: "a clock that a test can move",
                remedy: "make the kit with TestKit::new or TestKit::on_postgres",
            }),
        }
    }

    /// Makes a command known that the kit's worker has no handler for: its tasks are ended by hand.
    pub async fn known(&self, command: &str) -> Result<(), StoreError> {
        self.kinfolk.register(&[Command::new(CommandName::new(command)?)]).await
    }

    /// Another version of the program: the worker stops, and the next one has these handlers.
    pub async fn deploy(
        &mut self,
        configure: impl Fn(WorkerBuilder) -> WorkerBuilder + Send + Sync + 'static,
    ) -> Result<(), StoreError> {
        self.stop().await?;
        self.configure = Box::new(configure);
        self.introduce().await
    }

    /// Stops the worker and waits until it has left; the next run starts another one. Before another kit works on the same
    /// store: a worker that is only dropped may still take a task and give it back.
    pub async fn stop(&mut self) -> Result<(), StoreError> {
        match self.worker.take() {
            Some(worker) => worker.kill().await,
            None => Ok(()),
        }
    }

    /// Lets the worker die at a commit to come, counted from 1 for the first one since the kit was made. Another worker
    /// takes its place, and what it held is given back.
    pub fn crash_at(&self, crash: Crash) {
        *self.commits.crash.lock().unwrap_or_else(PoisonError::into_inner) = Some(crash);
    }

    /// Commits so far.
    pub fn commits(&self) -> u64 {
        self.commits.made.load(Ordering::SeqCst)
    }

    /// How many workers have died so far.
    pub fn crashes(&self) -> u64 {
        self.crashes
    }

    /// Fires the schedules that are due, and runs until there is nothing left to claim, to run or to record at this moment of the
    /// clock. Starts the worker, and a new one in the place of each that dies. The first start also makes the declared schedules.
    pub async fn run_until_idle(&mut self) -> Result<(), StoreError> {
        match tokio::time::timeout(PATIENCE, self.run()).await {
            Ok(answer) => answer,
            Err(_) => {
                let left = self.some_left().await;
                Err(StoreError::Unavailable { detail: format!("the kit was not idle after {PATIENCE:?}; left:{left}") })
            }
        }
    }

    async fn run(&mut self) -> Result<(), StoreError> {
        loop {
            let worker = match self.worker.take() {
                Some(worker) => worker,
                None => self.start().await?,
            };
            let commits = Arc::clone(&self.commits);
            let work = async {
                worker.fire_due().await;
                worker.wait_idle().await;
            };
            let idle = tokio::select! {
                biased;
                () = commits.crashed.notified() => false,
                () = work => true,
            };
            if idle {
                self.worker = Some(worker);
                return Ok(());
            }
            self.crashes += 1;
            if let Some(dead) = worker.vanish().await {
                self.kinfolk.store().leave(dead).await?;
            }
        }
    }

    async fn start(&self) -> Result<WorkerHandle, StoreError> {
        let (store, commits) = (Arc::clone(self.kinfolk.store()), Arc::clone(&self.commits));
        let line = Kinfolk::new(Arc::new(CuttableStore { store, commits, cut: AtomicBool::new(false) }));
        let worker = (self.configure)(line.worker().poll(POLL));
        let worker = if self.wakeups { worker } else { worker.deaf() };
        worker.start().await
    }

    /// Waits, beside the running worker, until a fan-out is settled, and gives it back. It is named by its task and its
    /// operation: the command of its first sub-task, unless it has a name of its own.
    pub async fn wait_for_fan_out(&mut self, task: TaskId, name: &str) -> Result<FanOut, StoreError> {
        self.run_until_idle().await?;
        let history = self.kinfolk.history(task).await?;
        let mut named =
            history.checkpoints.iter().filter(|step| step.kind == StepKind::FanOut && step.key.name == name);
        let number: FanOutId = match named.next_back() {
            Some(step) => step.value.to()?,
            None => return Err(StoreError::not_found("fan-out", name)),
        };
        match history.fan_outs.into_iter().find(|fan_out| fan_out.id == number) {
            Some(fan_out) if fan_out.verdict.is_some() => Ok(fan_out),
            Some(fan_out) => {
                let (tally, left) = (fan_out.tally, self.some_left().await);
                let words =
                    format!("fan-out {name} is not settled, and nothing can be done now: {tally:?}; left:{left}");
                Err(InputError::Other(words).into())
            }
            None => Err(StoreError::not_found("fan-out", name)),
        }
    }

    /// The result of a completed task.
    pub async fn result<T: DeserializeOwned>(&self, id: TaskId) -> Result<T, StoreError> {
        let task = self.kinfolk.task(id).await?;
        match task.state {
            State::Completed => Ok(task.result.unwrap_or_else(kinfolk_core::Json::null).to()?),
            state => {
                let why = match task.failure.filter(|_| state.is_terminal()) {
                    Some(failure) => failure.message,
                    None => self.why(id).await,
                };
                Err(InputError::Other(format!("task {id} is {state}: {why}")).into())
            }
        }
    }

    /// The broken invariants of the store: none, unless Kinfolk has a bug.
    pub async fn check(&self) -> Result<Vec<Violation>, StoreError> {
        self.kinfolk.store().check().await
    }
}

impl fmt::Debug for TestKit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestKit")
            .field("commits", &self.commits())
            .field("crashes", &self.crashes)
            .finish_non_exhaustive()
    }
}
