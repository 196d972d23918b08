//! A running worker, and how it ends.
//!
//! A graceful stop claims nothing more, lets handlers end within the stop grace, gives back what has not ended, at no
//! cost, and leaves. A hard stop drops the handlers first. Either way what the worker held is settled or released before
//! its row is gone; if the store can't be reached, the lease runs out and others take over.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use kinfolk_core::{Event, StoreError, WorkerId};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::error;

use super::attempt::Call;
use super::catalogue::Catalogue;
use super::claimer::Claimer;
use super::heartbeat::HeartbeatLoop;
use super::minute_recorder::{self, MinuteRecorder};
use super::pruner::Pruner;
use super::queue_watch::{self, QueueWatch};
use super::recorder::Recorder;
use super::recoverer::Recoverer;
use super::scheduler::Scheduler;
use super::settler::Settler;
use super::state::Shared;
use super::sweeper::Sweeper;
use super::wake::Waker;
use crate::stop_requests::StopRequests;

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
    pub(crate) fn start(shared: Arc<Shared>, heartbeat: HeartbeatLoop) -> Self {
        let services = Services::start(&shared, heartbeat);
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

    /// Runs until the process is told to end: the first SIGINT or SIGTERM stops gracefully, the second hard. Signals within a
    /// second count as one.
    pub async fn run_until_signal(self) -> Result<(), StoreError> {
        let mut stops = StopRequests::listen();
        tokio::select! {
            () = stops.next() => {}
            answer = self.wait_ended() => return answer,
        }
        tokio::select! {
            answer = self.stop() => return answer,
            () = stops.next() => {}
        }
        self.kill().await
    }

    /// Fires the schedules that are due now, if this worker fires any: it looks for them by itself only now and then.
    #[cfg(feature = "testing")]
    pub(crate) async fn fire_due(&self) {
        if self.shared.options.maintenance {
            Scheduler::new(Arc::clone(&self.shared)).look().await;
        }
    }

    /// Ends as if the process had died: handlers are dropped, and the store hears nothing more. The id it had.
    #[cfg(feature = "testing")]
    pub(crate) async fn vanish(self) -> Option<WorkerId> {
        let worker = self.shared.roster.worker();
        self.shared.stops.end.cancel();
        if let Some(worker) = worker {
            self.shared.roster.lose(worker);
        }
        let _ = timeout(DROPPING, self.shared.wait_no_handler()).await;
        worker
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
    fn start(shared: &Arc<Shared>, heartbeat: HeartbeatLoop) -> Self {
        let mut others = vec![
            until_end(shared, Settler::new(Arc::clone(shared)).run()),
            until_end(shared, Recorder::new(Arc::clone(shared)).run()),
            until_end(shared, heartbeat.run()),
            until_end(shared, Waker::new(Arc::clone(shared)).run()),
            until_end(shared, QueueWatch::new(Arc::clone(shared)).run()),
            until_end(shared, MinuteRecorder::new(Arc::clone(shared)).run()),
        ];
        if shared.handlers.source.is_some() {
            others.push(until_end(shared, Catalogue::new(Arc::clone(shared)).run()));
        }
        if shared.options.maintenance {
            others.push(until_end(shared, Recoverer::new(Arc::clone(shared)).run()));
            others.push(until_end(shared, Sweeper::new(Arc::clone(shared)).run()));
            others.push(until_end(shared, Scheduler::new(Arc::clone(shared)).run()));
            others.push(until_end(shared, Pruner::new(Arc::clone(shared)).run()));
        }
        Self { claimer: until_end(shared, Claimer::new(Arc::clone(shared)).run()), others }
    }
}

/// Runs a service until the worker ends. One that panics takes the worker down, in order: half a worker is worse than
/// none.
fn until_end(shared: &Arc<Shared>, service: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        tokio::select! {
            ended = AssertUnwindSafe(service).catch_unwind() => if ended.is_err() {
                error!(target: "kinfolk", "a service of the worker panicked: the worker stops");
                shared.stops.kill.cancel();
                shared.stops.drain.cancel();
            },
            () = shared.stops.end.cancelled() => {}
        }
    })
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
    if shared.has_statuses.load(Ordering::Relaxed) {
        // The last settles: no other worker may look for a long time.
        let _ = timeout(LAST_CALLS, queue_watch::refresh(shared)).await;
    }
    minute_recorder::record_rest(shared).await;
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

impl std::fmt::Debug for WorkerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerHandle").field("id", &self.id()).field("running", &self.running()).finish()
    }
}
