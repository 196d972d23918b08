//! When a worker looks again: wake-ups from the store, and a poll behind them that backs off.
//!
//! A wake-up may be lost, so it only ever shortens a pause. A queue that gave nothing is looked at again after 25 ms, 100 ms,
//! 400 ms and so on up to the poll interval, and not before 400 ms while wake-ups arrive; or when the earliest task it knows of becomes
//! due; or when it is woken.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kinfolk_core::{Timestamp, Wake};
use tokio::time::Instant;

use super::state::{QueueShare, Shared};
use crate::backoff::Backoff;

const FIRST_POLL: Duration = Duration::from_millis(25);
const POLL_FACTOR: u32 = 4;
/// The shortest pause while wake-ups arrive: tasks of a tenth of a second would else cost two claims that find nothing.
const POLL_WHEN_TOLD: Duration = Duration::from_millis(400);
/// How long a reading of the store's clock is carried on by our own.
const CLOCK_FRESH: Duration = Duration::from_secs(1);

/// The pauses of one queue.
pub(crate) struct Idle<'a> {
    shared: &'a Shared,
    poll: Backoff,
    clock: Option<(Timestamp, Instant)>,
}

impl<'a> Idle<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        let poll = shared.options.poll;
        Self { shared, poll: Backoff::new(FIRST_POLL.min(poll), poll), clock: None }
    }

    /// There was something: poll quickly again.
    pub(crate) fn reset(&mut self) {
        self.poll.reset();
    }

    /// Waits until the queue should be looked at again.
    pub(crate) async fn wait(&mut self, share: &QueueShare, next_due: Option<Timestamp>) {
        let mut pause = self.poll.pause(POLL_FACTOR);
        if self.shared.is_told.load(Ordering::Relaxed) {
            pause = pause.max(POLL_WHEN_TOLD.min(self.shared.options.poll));
        }
        if let Some(due) = next_due
            && let Some(now) = self.now().await
        {
            // One millisecond more than told, so that the claim does not come a hair too early.
            pause = pause.min(due.since(now) + Duration::from_millis(1));
        }
        tokio::select! {
            () = share.wake.notified(), if self.shared.options.wakeups => {}
            () = tokio::time::sleep(pause) => {}
            () = self.shared.stops.drain.cancelled() => {}
        }
    }

    async fn now(&mut self) -> Option<Timestamp> {
        if let Some((reading, at)) = self.clock
            && at.elapsed() < CLOCK_FRESH
        {
            return Some(reading.plus(at.elapsed()));
        }
        let reading = self.shared.store().now().await.ok()?;
        self.clock = Some((reading, Instant::now()));
        Some(reading)
    }
}

/// Hands the store's wake-ups to those they are meant for.
pub(crate) struct Waker {
    shared: Arc<Shared>,
}

impl Waker {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Listens, anew whenever the worker is known under another id.
    pub(crate) async fn run(self) {
        let mut backoff = Backoff::for_trouble();
        // A store without wake-ups leaves it to the poll.
        while let Some(listened) = self.run_once().await {
            if listened {
                backoff.reset();
            }
            tokio::time::sleep(backoff.pause(2)).await;
        }
    }

    /// Listens under the present id until it is no longer ours; `false` when it could not. `None` when the store has no
    /// wake-ups to give.
    async fn run_once(&self) -> Option<bool> {
        let Some(worker) = self.shared.roster.worker() else { return Some(false) };
        let queues: Vec<_> = self.shared.shares.iter().map(|share| share.queue.clone()).collect();
        let mut source = match self.shared.store().wakes(worker, &queues).await {
            Ok(source) => source?,
            Err(fault) => {
                self.shared.observer.trouble("wakes", &fault);
                return Some(false);
            }
        };
        self.shared.is_told.store(self.shared.options.wakeups, Ordering::Relaxed);
        // A wake-up may have come before we listened.
        self.shared.wake_all();
        while self.shared.roster.worker() == Some(worker) {
            tokio::select! {
                wake = source.next() => self.pass_on(wake),
                () = self.shared.renamed.notified() => {}
            }
        }
        self.shared.is_told.store(false, Ordering::Relaxed);
        Some(true)
    }

    fn pass_on(&self, wake: Wake) {
        match wake {
            Wake::Queue(queue) => self.shared.wake_queue(&queue),
            Wake::Cancel => self.shared.heartbeat.notify_one(),
            Wake::All => {
                self.shared.wake_all();
                self.shared.heartbeat.notify_one();
                self.shared.recover.notify_one();
            }
        }
    }
}
