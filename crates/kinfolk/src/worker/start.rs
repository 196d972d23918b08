//! The start of a worker: its commands and schedules are registered, then the worker itself, then its services run.
//!
//! A start that fails leaves no worker in the store.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use kinfolk_core::{Command, CommandName, Event, InputError, QueueName, StoreError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

use super::attempt::Roster;
use super::builder::WorkerBuilder;
use super::catalogue::Commands;
use super::handle::WorkerHandle;
use super::heartbeat::HeartbeatLoop;
use super::inbox::Inbox;
use super::recorder::Records;
use super::state::{Looks, Options, QueueShare, Shared, Stops};
use crate::handler::Handlers;
use crate::kinfolk::Kinfolk;
use crate::observe::Observer;
use crate::schedule;

/// How many attempts run at once on a queue for which nothing else was said.
const CAPACITY: usize = 100;

impl WorkerBuilder {
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

    /// Makes the commands known, and starts nothing.
    #[cfg(feature = "testing")]
    pub(crate) async fn register(&self) -> Result<(), StoreError> {
        match &self.mistake {
            Some(mistake) => Err(mistake.clone().into()),
            None => register_commands(&self.kinfolk, &self.handlers, &[]).await.map(drop),
        }
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
        roster: Roster::default(),
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
