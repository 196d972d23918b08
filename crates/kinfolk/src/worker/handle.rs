//! A running worker, and how it ends.
//!
//! A graceful stop claims nothing more, lets handlers end within the stop grace, gives back what has not ended, at no
//! cost, and leaves. A hard stop drops the handlers first. Either way what the worker held is settled or released before
//! its row is gone; if the store can't be reached, the lease runs out and others take over.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Event, StoreError, WorkerId};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::attempt::Call;
use super::claimer::Claimer;
use super::heart::Heart;
use super::pruner::Pruner;
use super::recoverer::Recoverer;
use super::scheduler::Scheduler;
use super::settler::Settler;
use super::state::Shared;
use super::wake::Waker;

/// How long handlers that were told to end now may take before they are left behind: they block their thread.
const DROPPING: Duration = Duration::from_secs(1);
/// How long the last calls to the store may take when the worker ends.
const LAST_CALLS: Duration = Duration::from_secs(10);

/// A running worker. Dropping the handle begins a graceful stop without waiting for it.
#[must_use = "dropping the handle stops the worker"]
pub struct WorkerHandle {
    shared: Arc<Shared>,
    ended: watch::Receiver<Option<Result<(), Arc<StoreError>>>>,
}

impl WorkerHandle {
    pub(crate) fn start(shared: Arc<Shared>, heart: Heart) -> Self {
        let services = Services::start(&shared, heart);
        let (told, ended) = watch::channel(None);
        let watched = Arc::clone(&shared);
        tokio::spawn(async move {
            watched.stops.drain.cancelled().await;
            let answer = shut_down(&watched, services).await;
            let _ = told.send(Some(answer.map_err(Arc::new)));
        });
        Self { shared, ended }
    }

    /// The id under which the store knows this worker at the moment; `None` between a lost lease and the next
    /// registration.
    pub fn id(&self) -> Option<WorkerId> {
        self.shared.roster.worker()
    }

    /// How many attempts run right now.
    pub fn running(&self) -> usize {
        self.shared.running()
    }

    /// Stops gracefully and waits until the worker has left. Called a second time while that is under way, it stops hard.
    pub async fn stop(&self) -> Result<(), StoreError> {
        if self.shared.stops.drain.is_cancelled() {
            self.shared.stops.kill.cancel();
        }
        self.shared.stops.drain.cancel();
        self.wait_ended().await
    }

    /// Stops hard: drops all handlers, gives their tasks back and waits until the worker has left.
    pub async fn kill(&self) -> Result<(), StoreError> {
        self.shared.stops.kill.cancel();
        self.shared.stops.drain.cancel();
        self.wait_ended().await
    }

    /// Waits until there is nothing to claim, to run or to record. Tasks that are due later are not waited for.
    pub async fn wait_idle(&self) {
        tokio::select! {
            () = self.shared.wait_idle() => {}
            _ = self.wait_ended() => {}
        }
    }

    /// Runs until the process is told to end: the first SIGINT or SIGTERM stops gracefully, the second hard.
    pub async fn run_until_signal(self) -> Result<(), StoreError> {
        let mut ended = self.ended.clone();
        tokio::select! {
            () = signal() => {}
            _ = ended.wait_for(Option::is_some) => {}
        }
        let stop = self.stop();
        tokio::pin!(stop);
        tokio::select! {
            answer = &mut stop => return answer,
            () = signal() => {}
        }
        self.kill().await
    }

    async fn wait_ended(&self) -> Result<(), StoreError> {
        let mut ended = self.ended.clone();
        let Ok(answer) = ended.wait_for(Option::is_some).await else { return Ok(()) };
        match answer.as_ref() {
            Some(Err(fault)) => Err(StoreError::Unavailable { detail: fault.to_string() }),
            _ => Ok(()),
        }
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.shared.stops.drain.cancel();
    }
}

/// The tasks that make up a worker.
struct Services {
    claimer: JoinHandle<()>,
    others: Vec<JoinHandle<()>>,
}

impl Services {
    fn start(shared: &Arc<Shared>, heart: Heart) -> Self {
        let until_end = |service: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>| {
            let end = shared.stops.end.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = service => {}
                    () = end.cancelled() => {}
                }
            })
        };
        let mut others = vec![
            until_end(Box::pin(Settler::new(Arc::clone(shared)).run())),
            until_end(Box::pin(heart.run())),
            until_end(Box::pin(Waker::new(Arc::clone(shared)).run())),
        ];
        if shared.options.maintenance {
            others.push(until_end(Box::pin(Recoverer::new(Arc::clone(shared)).run())));
            others.push(until_end(Box::pin(Scheduler::new(Arc::clone(shared)).run())));
            others.push(until_end(Box::pin(Pruner::new(Arc::clone(shared)).run())));
        }
        Self { claimer: tokio::spawn(Claimer::new(Arc::clone(shared)).run()), others }
    }
}

/// Ends a worker that has begun to drain.
async fn shut_down(shared: &Shared, mut services: Services) -> Result<(), StoreError> {
    if timeout(shared.options.lease, &mut services.claimer).await.is_err() {
        services.claimer.abort();
    }
    tokio::select! {
        () = shared.wait_no_handler() => {}
        () = tokio::time::sleep(shared.options.stop_grace) => {}
        () = shared.stops.kill.cancelled() => {}
    }
    shared.roster.call_all(Call::Stop);
    let _ = timeout(DROPPING, shared.wait_no_handler()).await;
    let _ = timeout(LAST_CALLS, shared.inbox.wait_empty()).await;
    shared.stops.end.cancel();
    shared.looks.done.notify_waiters();
    for service in services.others {
        let _ = service.await;
    }
    let Some(worker) = shared.roster.worker() else { return Ok(()) };
    let left = timeout(LAST_CALLS, leave(shared, worker)).await;
    shared.observer.emit(&Event::WorkerStopped { worker });
    left.unwrap_or_else(|_| {
        Err(StoreError::Unavailable { detail: "the worker could not say good-bye in time".to_owned() })
    })
}

async fn leave(shared: &Shared, worker: WorkerId) -> Result<(), StoreError> {
    let mut backoff = crate::backoff::Backoff::for_trouble();
    loop {
        match shared.store().leave(worker).await {
            Err(fault) if fault.advice() == kinfolk_core::Advice::Retry => shared.observer.trouble("leave", &fault),
            answer => return answer,
        }
        tokio::time::sleep(backoff.pause(2)).await;
    }
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

impl std::fmt::Debug for WorkerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerHandle").field("id", &self.id()).field("running", &self.running()).finish()
    }
}
