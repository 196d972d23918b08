//! The worker: claims tasks, runs their handlers, settles.
//!
//! One worker is a handful of services around shared state, each in its own file and of the same shape (`run` for good,
//! until the worker ends it; `run_once` for one step): the [`claimer`], a [`runner`] for each attempt, the [`settler`], the
//! [`recorder`], the [`heart`], the [`wake`]-ups, the [`catalogue`] of commands, the [`lookout`], the [`noter`], and for maintenance the [`recoverer`], the
//! [`sweeper`], the [`scheduler`] and the [`pruner`].

pub(crate) mod attempt;
mod catalogue;
mod claimer;
mod handle;
mod heart;
mod lookout;
mod noter;
mod pruner;
mod recorder;
mod recoverer;
pub(crate) mod runner;
mod scheduler;
pub(crate) mod settler;
mod slots;
pub(crate) mod state;
mod sweeper;
mod wake;

use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kinfolk_core::{Command, CommandName, Event, GroupSpec, Groups, InputError, QueueName, StoreError};
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use self::catalogue::Commands;
pub use self::handle::WorkerHandle;
use self::heart::Heart;
use self::recorder::Records;
use self::settler::Inbox;
use self::state::{Lane, Looks, Options, Shared, Stops};
use crate::ctx::Ctx;
use crate::done::IntoDone;
use crate::handler::{Handlers, IntoCommand, of_function, of_task};
use crate::kinfolk::Kinfolk;
use crate::observe::Observer;
use crate::source::CommandSource;
use crate::task::{Task, command_of};
use crate::task_error::TaskError;

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
            observer: Observer::default(),
            options: Options {
                name: format!("{} process {}", host(), std::process::id()),
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
    observer: Observer,
    options: Options,
    mistake: Option<InputError>,
}

impl WorkerBuilder {
    /// Claim from this queue, and run at most so many of its tasks at once. Without any call of this, the worker claims
    /// from the queues of its commands, a hundred tasks each.
    pub fn queue(mut self, name: impl AsRef<str>, capacity: usize) -> Self {
        match QueueName::new(name.as_ref()) {
            Ok(name) if capacity > 0 => {
                self.queues.insert(name, capacity);
            }
            Ok(name) => self.mistaken(InputError::Other(format!("queue {name} has no capacity; give it 1 or more"))),
            Err(fault) => self.mistaken(fault),
        }
        self
    }

    /// Run at most so many tasks at once over all queues. Default: the sum of the queues.
    pub fn capacity(mut self, total: usize) -> Self {
        if total == 0 {
            self.mistaken(InputError::Other("the worker has no capacity; give it 1 or more".to_owned()));
        }
        self.capacity = Some(total);
        self
    }

    /// Handle a command with a function of context and payload. The command is a name, or a [`Command`] with defaults
    /// of its own.
    pub fn handler<P, R, F, W>(mut self, command: impl IntoCommand, function: F) -> Self
    where
        P: DeserializeOwned,
        R: IntoDone,
        F: Fn(Ctx, P) -> W + Send + Sync + 'static,
        W: Future<Output = Result<R, TaskError>> + Send + 'static,
    {
        if let Err(fault) = self.handlers.add(command, of_function(function)) {
            self.mistaken(fault);
        }
        self
    }

    /// Handle a typed task.
    pub fn task<T: Task>(mut self) -> Self {
        let added = command_of::<T>().and_then(|command| self.handlers.add(command, of_task::<T>()));
        if let Err(fault) = added {
            self.mistaken(fault);
        }
        self
    }

    /// Declare the groups of a command that this worker handles, each a name and a limit, a rate or a whole [`GroupSpec`]:
    /// these and no others. A group of the name `total` is the command's own total.
    ///
    /// ```no_run
    /// # use kinfolk::{Ctx, Kinfolk, TaskError};
    /// # async fn process(_: Ctx, message: String) -> Result<(), TaskError> { Ok(()) }
    /// # async fn example(kinfolk: Kinfolk) -> Result<(), kinfolk::Error> {
    /// let worker = kinfolk.worker().handler("process-message", process);
    /// let worker = worker.groups("process-message", [("tenant", 20), ("message", 1)]).start().await?;
    /// kinfolk.enqueue("process-message", "hello").key("tenant", "acme").key("message", "msg-1").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn groups<N: AsRef<str>, S: Into<GroupSpec>>(
        mut self,
        command: impl AsRef<str>,
        groups: impl IntoIterator<Item = (N, S)>,
    ) -> Self {
        let declared = CommandName::new(command.as_ref()).and_then(|name| Ok((name, Groups::of(groups)?)));
        match declared {
            Ok((name, groups)) => drop(self.handlers.groups.insert(name, groups)),
            Err(fault) => self.mistaken(fault),
        }
        self
    }

    /// Also handle the commands of this source, which may change while the worker runs.
    pub fn commands_from(mut self, source: Arc<dyn CommandSource>) -> Self {
        self.handlers.set_source(source);
        self
    }

    /// The name shown to people. Default: the host and the process id.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// How long the worker is believed alive after a heartbeat. Default 30 s, at least 1 s.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.options.lease = lease;
        self
    }

    /// How often it renews its lease. Default 5 s; well below the lease.
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.options.heartbeat = every;
        self
    }

    /// How often an idle queue is looked at when no wake-up comes. Default 1 s.
    pub fn poll(mut self, every: Duration) -> Self {
        self.options.poll = every;
        self
    }

    /// How long a cancelled handler may go on before it is dropped. Default 10 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.options.grace = grace;
        self
    }

    /// How long a stopping worker lets its handlers go on before it gives their tasks back. Default 20 s.
    pub fn stop_grace(mut self, grace: Duration) -> Self {
        self.options.stop_grace = grace;
        self
    }

    /// Whether this worker also recovers lost tasks, looks for what waits for nothing, fires schedules and prunes. Default yes; every fleet needs one that
    /// does.
    pub fn maintenance(mut self, maintenance: bool) -> Self {
        self.options.maintenance = maintenance;
        self
    }

    /// Be told of everything that happens. Called from many threads; be short.
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observer.listen(listener);
        self
    }

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
        shared.roster.enter(spec.id);
        shared.observer.emit(&Event::WorkerStarted { worker: spec.id });
        let heart = Heart::new(Arc::clone(&shared), registered);
        Ok(WorkerHandle::start(shared, heart))
    }

    async fn prepared(self) -> Result<Shared, StoreError> {
        if let Some(mistake) = self.mistake {
            return Err(mistake.into());
        }
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
        let mut queues = self.queues;
        if queues.is_empty() {
            queues.extend(registered.into_iter().map(|command| (command.queue, CAPACITY)));
        }
        Ok(shared(self.kinfolk, self.options, self.handlers, self.observer, queues, self.capacity, sourced))
    }

    /// A worker that the store has never heard of, for one queue.
    pub(crate) fn unregistered(self, queue: QueueName) -> Result<Shared, InputError> {
        match self.mistake {
            Some(mistake) => Err(mistake),
            None => {
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
        lanes: queues.into_iter().map(|(queue, capacity)| Lane::new(queue, capacity)).collect(),
        total: capacity.filter(|total| *total < sum).map(Semaphore::new),
        roster: attempt::Roster::default(),
        inbox: Inbox::default(),
        records: Records::default(),
        observer,
        stops: Stops::default(),
        looks: Looks::default(),
        notes: tokio::sync::Mutex::default(),
        heart: Notify::new(),
        renamed: Notify::new(),
        recover: Notify::new(),
        stirred: Notify::new(),
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
