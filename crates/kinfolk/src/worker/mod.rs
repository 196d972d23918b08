//! The worker: claims tasks, runs their handlers, settles.
//!
//! One worker is a handful of services around shared state, each in its own file and of the same shape (`run` for good,
//! until the worker ends it; `run_once` for one step): the [`claimer`], a [`runner`] for each attempt, the [`settler`], the
//! [`recorder`], the [`heartbeat`], the [`wake`]-ups, the [`catalogue`] of commands, the [`queue_watch`], the [`minute_recorder`], and for maintenance the [`recoverer`], the
//! [`sweeper`], the [`scheduler`] and the [`pruner`].

pub(crate) mod attempt;
mod builder;
mod catalogue;
mod claimer;
mod handle;
mod heartbeat;
mod minute_recorder;
mod permits;
mod pruner;
mod queue_watch;
mod recorder;
mod recoverer;
pub(crate) mod runner;
mod scheduler;
pub(crate) mod settler;
pub(crate) mod state;
mod sweeper;
mod wake;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kinfolk_core::{Command, CommandName, Event, InputError, QueueName, Schedule, StoreError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use self::catalogue::Commands;
pub use self::handle::WorkerHandle;
use self::heartbeat::HeartbeatLoop;
use self::recorder::Records;
use self::settler::Inbox;
use self::state::{Looks, Options, QueueShare, Shared, Stops};
use crate::handler::Handlers;
use crate::kinfolk::Kinfolk;
use crate::observe::Observer;
use crate::schedule;

/// How many attempts run at once on a queue for which nothing else was said.
const CAPACITY: usize = 100;

/// Where a worker begins: [`Worker::builder`].
#[derive(Debug)]
pub struct Worker;

impl Worker {
    /// A worker on this store, to be configured and started.
    ///
    /// ```no_run
    /// use kinfolk::{Ctx, Kinfolk, Worker};
    ///
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let kinfolk = Kinfolk::open("sqlite:tasks.db").await?;
    /// let worker = Worker::builder(&kinfolk)
    ///     .queue("mail", 50)
    ///     .handler("send_email", |ctx: Ctx, to: String| async move {
    ///         println!("task {} writes to {to}", ctx.task());
    ///         Ok(())
    ///     })
    ///     .start()
    ///     .await?;
    /// worker.run_until_signal().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(kinfolk: impl Into<Kinfolk>) -> WorkerBuilder {
        WorkerBuilder {
            kinfolk: kinfolk.into(),
            queues: BTreeMap::new(),
            capacity: None,
            handlers: Handlers::default(),
            schedules: Vec::new(),
            observer: Observer::default(),
            options: Options {
                name: format!("{} process {}", host(), std::process::id()),
                version: String::new(),
                lease: Duration::from_secs(30),
                heartbeat: Duration::from_secs(5),
                poll: Duration::from_secs(1),
                grace: Duration::from_secs(10),
                stop_grace: Duration::from_secs(20),
                maintenance: true,
                wakeups: true,
            },
            mistake: None,
        }
    }
}

/// The name of this machine; in a container that is the container's.
#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The name of this machine.
#[cfg(not(unix))]
fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "host".to_owned())
}

/// A worker about to be started. The first mistake made on the way is the answer of [`WorkerBuilder::start`].
#[derive(Clone)]
#[must_use = "a worker does nothing until it is started"]
pub struct WorkerBuilder {
    kinfolk: Kinfolk,
    queues: BTreeMap<QueueName, usize>,
    capacity: Option<usize>,
    handlers: Handlers,
    schedules: Vec<Schedule>,
    observer: Observer,
    options: Options,
    mistake: Option<InputError>,
}

impl WorkerBuilder {
    /// Makes the commands known, and starts nothing.
    #[cfg(feature = "testing")]
    pub(crate) async fn register(&self) -> Result<(), StoreError> {
        match &self.mistake {
            Some(mistake) => Err(mistake.clone().into()),
            None => register_commands(&self.kinfolk, &self.handlers, &[]).await.map(drop),
        }
    }

    /// Hear no wake-ups: only polling finds work.
    #[cfg(feature = "testing")]
    pub(crate) fn deaf(mut self) -> Self {
        self.options.wakeups = false;
        self
    }

    /// Registers the commands and the worker, and starts to claim.
    pub async fn start(self) -> Result<WorkerHandle, StoreError> {
        let shared = Arc::new(self.prepared().await?);
        let spec = shared.fresh_spec();
        spec.check()?;
        let registered = Instant::now();
        shared.store().register_worker(&spec).await?;
        if let Err(fault) = shared.declare().await {
            let _ = shared.store().leave(spec.id).await;
            return Err(fault);
        }
        shared.roster.add(spec.id);
        shared.observer.emit(&Event::WorkerStarted { worker: spec.id });
        let heartbeat = HeartbeatLoop::new(Arc::clone(&shared), registered);
        Ok(WorkerHandle::start(shared, heartbeat))
    }

    async fn prepared(self) -> Result<Shared, StoreError> {
        if let Some(mistake) = self.mistake {
            return Err(mistake.into());
        }
        self.handlers.check_given()?;
        if self.options.heartbeat.is_zero() || self.options.heartbeat * 2 > self.options.lease {
            let (heartbeat, lease) = (self.options.heartbeat, self.options.lease);
            return Err(InputError::Other(format!(
                "a heartbeat every {heartbeat:?} can't keep a lease of {lease:?}; make it at most half of the lease"
            ))
            .into());
        }
        let sourced = match &self.handlers.source {
            Some(source) => source.commands().await?,
            None => Vec::new(),
        };
        let registered = register_commands(&self.kinfolk, &self.handlers, &sourced).await?;
        schedule::put_all(&self.kinfolk, &self.schedules).await?;
        let mut queues = self.queues;
        if queues.is_empty() {
            queues.extend(registered.into_iter().map(|command| (command.queue, CAPACITY)));
        }
        let declared = self.schedules.into_iter().map(|schedule| schedule.name).collect();
        let shared = shared(self.kinfolk, self.options, self.handlers, self.observer, queues, self.capacity, sourced);
        Ok(Shared { declared, ..shared })
    }

    /// A worker that the store has never heard of, for one queue.
    pub(crate) fn unregistered(self, queue: QueueName) -> Result<Shared, InputError> {
        match self.mistake {
            Some(mistake) => Err(mistake),
            None => {
                self.handlers.check_given()?;
                let queues = BTreeMap::from([(queue, 1)]);
                Ok(shared(self.kinfolk, self.options, self.handlers, self.observer, queues, None, Vec::new()))
            }
        }
    }

    pub(crate) fn kinfolk(&self) -> &Kinfolk {
        &self.kinfolk
    }

    fn mistaken(&mut self, fault: InputError) {
        self.mistake.get_or_insert(fault);
    }
}

/// A worker as its services see it.
fn shared(
    kinfolk: Kinfolk,
    options: Options,
    handlers: Handlers,
    observer: Observer,
    queues: BTreeMap<QueueName, usize>,
    capacity: Option<usize>,
    sourced: Vec<CommandName>,
) -> Shared {
    let sum = queues.values().sum::<usize>().min(Semaphore::MAX_PERMITS);
    Shared {
        kinfolk,
        options,
        commands: Commands::new(handlers.commands(), sourced),
        handlers,
        shares: queues.into_iter().map(|(queue, capacity)| QueueShare::new(queue, capacity)).collect(),
        total: capacity.filter(|total| *total < sum).map(Semaphore::new),
        roster: attempt::Roster::default(),
        inbox: Inbox::default(),
        records: Records::default(),
        observer,
        stops: Stops::default(),
        looks: Looks::default(),
        minute_records: tokio::sync::Mutex::default(),
        heartbeat: Notify::new(),
        renamed: Notify::new(),
        recover: Notify::new(),
        stirred: Notify::new(),
        declared: Vec::new(),
        has_statuses: AtomicBool::new(true),
        is_told: AtomicBool::new(false),
    }
}

/// Makes the worker's commands known and gives them back as they are registered. Commands given by name only keep what
/// others have registered.
async fn register_commands(
    kinfolk: &Kinfolk,
    handlers: &Handlers,
    sourced: &[CommandName],
) -> Result<Vec<Command>, StoreError> {
    handlers.check_groups(sourced)?;
    let mut ours: Vec<_> = handlers.declared.iter().cloned().map(|command| handlers.grouped(command)).collect();
    if !handlers.named.is_empty() || !sourced.is_empty() {
        let known = kinfolk.store().commands().await?;
        let names: HashSet<_> = known.iter().map(|command| &command.name).collect();
        let new = handlers.named.iter().filter(|name| !names.contains(name)).cloned().map(Command::new);
        ours.extend(new.map(|command| handlers.grouped(command)));
        let meant = |command: &Command| handlers.named.contains(&command.name) || sourced.contains(&command.name);
        let (changed, kept): (Vec<_>, Vec<_>) =
            known.into_iter().filter(meant).partition(|command| handlers.groups.contains_key(&command.name));
        ours.extend(changed.into_iter().map(|command| handlers.grouped(command)));
        kinfolk.register(&ours).await?;
        ours.extend(kept);
    } else if !ours.is_empty() {
        kinfolk.register(&ours).await?;
    }
    Ok(ours)
}

impl std::fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("queues", &self.queues)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
