//! The workers of one process: one for the queues it begins with, and one more for each queue that comes up later.
//!
//! A worker has its queues for good. So where the queues are those of the commands that are registered, a command on a new
//! queue gets a worker of its own, beside the others.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use kinfolk::{Kinfolk, Store, WorkerBuilder, WorkerHandle};
use kinfolk_core::{Command, QueueName, SqlHandler};
use kinfolk_postgres::PgOptions;
use kinfolk_providers::Providers;
use kinfolk_runner::{SqlCommands, can_run};

use crate::builtin::{self, VERSION};
use crate::fault::Fault;

/// How often new queues are looked for.
const LOOK: Duration = Duration::from_secs(1);

/// The options that its workers share.
pub(crate) struct Crew {
    pub(crate) store: Arc<dyn Store>,
    /// The database server and how to connect, if handlers may live there.
    pub(crate) server: Option<(String, PgOptions)>,
    /// The queues to take from, and how many tasks of each at once; empty: the queues of the commands.
    pub(crate) queues: Vec<(QueueName, usize)>,
    /// Tasks at once.
    pub(crate) capacity: usize,
    /// How long they are believed alive after their last heartbeat; none: as the library has it.
    pub(crate) lease: Option<Duration>,
    pub(crate) allow_shell: bool,
    /// The providers, which carry messages out of the database.
    pub(crate) providers: Providers,
    pub(crate) workers: Mutex<Vec<Arc<WorkerHandle>>>,
}

impl Crew {
    /// Starts the first worker. Says which queues it takes from.
    pub(crate) async fn start(&self) -> Result<BTreeSet<QueueName>, Fault> {
        let worker =
            self.queues.iter().fold(self.worker()?, |worker, (queue, most)| worker.queue(queue.as_str(), *most));
        self.take_on(worker.start().await?);
        self.queues().await
    }

    /// The queues it takes from.
    pub(crate) async fn queues(&self) -> Result<BTreeSet<QueueName>, Fault> {
        if !self.queues.is_empty() {
            return Ok(self.queues.iter().map(|(queue, _)| queue.clone()).collect());
        }
        Ok(self.commands().await?.into_iter().map(|command| command.queue).collect())
    }

    /// The commands it can run.
    pub(crate) async fn commands(&self) -> Result<Vec<Command>, Fault> {
        let built_in = builtin::names(self.allow_shell);
        let ours = |command: &Command| {
            let in_database = |handler: &SqlHandler| can_run(&self.providers, &handler.function);
            built_in.contains(&command.name.as_str())
                || (self.server.is_some() && command.handler.as_ref().is_some_and(in_database))
        };
        Ok(self.store.commands().await?.into_iter().filter(ours).collect())
    }

    /// Takes from queues that come up while it works, for good. One that is told its queues never does.
    pub(crate) async fn grow(&self, mut known: BTreeSet<QueueName>) -> Result<(), Fault> {
        if !self.queues.is_empty() || self.server.is_none() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(LOOK).await;
            // A database that can't be asked now is asked again: the workers say what is wrong.
            let Ok(queues) = self.queues().await else { continue };
            for queue in queues {
                if known.contains(&queue) {
                    continue;
                }
                let worker = self.worker()?.queue(queue.as_str(), self.capacity).maintenance(false);
                match worker.start().await {
                    Ok(worker) => {
                        self.take_on(worker);
                        known.insert(queue);
                    }
                    // Not known yet: it is tried again at the next look.
                    Err(fault) => tracing::warn!(%queue, %fault, "could not begin to work on a new queue"),
                }
            }
        }
    }

    /// Waits until none of them has anything to do.
    pub(crate) async fn wait_idle(&self) {
        let workers = self.all();
        join_all(workers.iter().map(|worker| worker.wait_idle())).await;
    }

    /// Lets them finish what they run.
    pub(crate) async fn stop(&self) -> Result<(), Fault> {
        let workers = self.all();
        join_all(workers.iter().map(|worker| worker.stop())).await.into_iter().collect::<Result<(), _>>()?;
        Ok(())
    }

    /// Ends them at once.
    pub(crate) async fn kill(&self) -> Result<(), Fault> {
        let workers = self.all();
        join_all(workers.iter().map(|worker| worker.kill())).await.into_iter().collect::<Result<(), _>>()?;
        Ok(())
    }

    fn take_on(&self, worker: WorkerHandle) {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(worker));
    }

    fn all(&self) -> Vec<Arc<WorkerHandle>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn worker(&self) -> Result<WorkerBuilder, Fault> {
        let worker = Kinfolk::new(Arc::clone(&self.store)).worker().version(VERSION).capacity(self.capacity);
        let worker = match self.lease {
            Some(lease) => worker.lease(lease).heartbeat(lease / 6),
            None => worker,
        };
        let worker = builtin::add(worker, self.allow_shell);
        Ok(match &self.server {
            Some((url, options)) => worker.commands_from(SqlCommands::open_with(url, options, self.providers.clone())?),
            None => worker,
        })
    }
}
