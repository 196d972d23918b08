//! The state that the services of one worker share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kinfolk_core::{QueueName, ScheduleName, Store, StoreError, WorkerId, WorkerSpec};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::attempt::Roster;
use super::catalogue::Commands;
use super::inbox::Inbox;
use super::minute_recorder::{MinuteRecords, Sums};
use super::permits::Permits;
use super::recorder::Records;
use crate::handler::Handlers;
use crate::kinfolk::Kinfolk;
use crate::observe::Observer;

/// How a worker behaves.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) lease: Duration,
    pub(crate) heartbeat: Duration,
    pub(crate) poll: Duration,
    pub(crate) grace: Duration,
    pub(crate) stop_grace: Duration,
    pub(crate) maintenance: bool,
    /// Whether wake-ups of idle queues are listened for; always, except in tests of the polling behind them.
    pub(crate) wakeups: bool,
}

/// One worker, as its services see it.
pub(crate) struct Shared {
    pub(crate) kinfolk: Kinfolk,
    pub(crate) options: Options,
    pub(crate) handlers: Handlers,
    pub(crate) commands: Commands,
    pub(crate) shares: Vec<QueueShare>,
    /// The permits of all queues together, where they are fewer than the sum.
    pub(crate) total: Option<Semaphore>,
    pub(crate) roster: Roster,
    pub(crate) inbox: Inbox,
    pub(crate) records: Records,
    pub(crate) observer: Observer,
    pub(crate) stops: Stops,
    pub(crate) looks: Looks,
    /// The work that is about to be recorded.
    pub(crate) minute_records: tokio::sync::Mutex<MinuteRecords>,
    /// Heartbeat now: a cancellation may have come, or the lease may be lost.
    pub(crate) heartbeat: Notify,
    /// The lease was lost, and the worker is or will be known under another id.
    pub(crate) renamed: Notify,
    /// Tasks were claimed or settled, so a status may have turned.
    pub(crate) stirred: Notify,
    /// The schedules that the program declares.
    pub(crate) declared: Vec<ScheduleName>,
    /// There are statuses to keep true, or may be: a worker that ends before its first look has turned some, too.
    pub(crate) has_statuses: AtomicBool,
    /// The store tells which queues have got something to claim.
    pub(crate) is_told: AtomicBool,
    /// Recover now: something unusual has happened to the store or to other workers.
    pub(crate) recover: Notify,
}

/// One queue this worker claims from, and how many of its tasks it runs at once.
#[derive(Debug)]
pub(crate) struct QueueShare {
    pub(crate) queue: QueueName,
    pub(crate) permits: Permits,
    /// There may be something to claim.
    pub(crate) wake: Notify,
    /// The newest look (see [`Looks`]) that found nothing to claim here.
    pub(crate) empty_at: AtomicU64,
    /// This worker has recovered tasks of others: suspects may be about, which are claimed one at a time.
    pub(crate) suspects: AtomicBool,
    /// The queue has limits, so that the end of a task may be what another one waits for.
    pub(crate) limited: AtomicBool,
    /// The work on this queue that is not recorded yet.
    pub(crate) sums: Sums,
    /// How long handlers have taken lately, in microseconds.
    pace: AtomicU64,
}

/// How far a worker's end has come.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    /// Nothing more is claimed.
    pub(crate) drain: CancellationToken,
    /// Handlers are dropped.
    pub(crate) kill: CancellationToken,
    /// The services end.
    pub(crate) end: CancellationToken,
}

/// Numbered looks at all queues, so that a caller that waits for idleness knows that a look was made after its call.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    pub(crate) newest: AtomicU64,
    pub(crate) claimed: AtomicU64,
    pub(crate) done: Notify,
}

impl QueueShare {
    pub(crate) fn new(queue: QueueName, capacity: usize) -> Self {
        Self {
            queue,
            permits: Permits::new(capacity),
            wake: Notify::new(),
            empty_at: AtomicU64::new(0),
            suspects: AtomicBool::new(false),
            limited: AtomicBool::new(false),
            sums: Sums::default(),
            pace: AtomicU64::new(0),
        }
    }

    /// How long handlers have taken lately.
    pub(crate) fn pace(&self) -> Duration {
        Duration::from_micros(self.pace.load(Ordering::Relaxed))
    }

    /// A handler took so long. Only the settler tells, so nothing is lost between reading and writing.
    pub(crate) fn took(&self, took: Duration) {
        let (now, lately) =
            (u64::try_from(took.as_micros()).unwrap_or(u64::MAX / 8), self.pace.load(Ordering::Relaxed));
        self.pace.store(lately - lately / 8 + now / 8, Ordering::Relaxed);
    }
}

impl Shared {
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        self.kinfolk.store()
    }

    /// A registration under a fresh id: nobody can take this worker for one that was lost.
    pub(crate) fn fresh_spec(&self) -> WorkerSpec {
        self.spec(WorkerId(Uuid::now_v7()))
    }

    /// A registration under this id.
    pub(crate) fn spec(&self, id: WorkerId) -> WorkerSpec {
        WorkerSpec {
            id,
            name: self.options.name.clone(),
            version: self.options.version.clone(),
            queues: self.shares.iter().map(|share| share.queue.clone()).collect(),
            commands: self.commands.now(),
            lease: self.options.lease,
        }
    }

    /// Says that this worker, which has just registered, declares its schedules.
    pub(crate) async fn declare(&self) -> Result<(), StoreError> {
        if self.declared.is_empty() {
            return Ok(());
        }
        self.store().declare_schedules(&self.declared).await
    }

    pub(crate) fn wake_all(&self) {
        for share in &self.shares {
            share.wake.notify_one();
        }
    }

    /// Tasks were made, on queues that only the store knows. It tells them, if it can: the other queues would be looked at in vain,
    /// and the told ones twice.
    pub(crate) fn wake_made(&self) {
        if !self.is_told.load(Ordering::Relaxed) {
            self.wake_all();
        }
    }

    /// Attempts have ended: on queues with limits there may be room for something else. The store tells which ones, if it can: a
    /// claim on each of them here, and another one after the store's word, would find nothing three times of four.
    pub(crate) fn wake_limited(&self) {
        if self.is_told.load(Ordering::Relaxed) {
            return;
        }
        for share in self.shares.iter().filter(|share| share.limited.load(Ordering::Relaxed)) {
            share.wake.notify_one();
        }
    }

    pub(crate) fn wake_queue(&self, queue: &QueueName) {
        if let Some(share) = self.shares.iter().find(|share| share.queue == *queue) {
            share.wake.notify_one();
        }
    }

    /// An attempt has ended in this share, or claimed tasks were fewer than reserved.
    pub(crate) fn give_back(&self, share: usize, permits: usize) {
        self.shares[share].permits.give_back(permits);
        if let Some(total) = &self.total {
            total.add_permits(permits);
        }
    }

    pub(crate) fn running(&self) -> usize {
        self.shares.iter().map(|share| share.permits.used()).sum()
    }

    /// Waits until no handler runs.
    pub(crate) async fn wait_no_handler(&self) {
        for share in &self.shares {
            share.permits.wait_empty().await;
        }
    }

    /// Waits until there is nothing to claim, to run or to settle.
    pub(crate) async fn wait_idle(&self) {
        loop {
            self.wait_no_handler().await;
            self.inbox.wait_empty().await;
            let claimed = self.looks.claimed.load(Ordering::SeqCst);
            let look = self.looks.newest.fetch_add(1, Ordering::SeqCst) + 1;
            self.wake_all();
            self.looked_everywhere(look).await;
            let quiet = self.running() == 0 && self.inbox.is_empty();
            if quiet && self.looks.claimed.load(Ordering::SeqCst) == claimed {
                return;
            }
        }
    }

    /// Waits until every queue was found empty at this look or a later one, or something was claimed.
    async fn looked_everywhere(&self, look: u64) {
        let claimed = self.looks.claimed.load(Ordering::SeqCst);
        loop {
            let done = self.looks.done.notified();
            tokio::pin!(done);
            done.as_mut().enable();
            let all = self.shares.iter().all(|share| share.empty_at.load(Ordering::SeqCst) >= look);
            if all || self.looks.claimed.load(Ordering::SeqCst) != claimed || self.stops.end.is_cancelled() {
                return;
            }
            done.await;
        }
    }
}
