//! The claimer: takes tasks for all queues and starts their runners.
//!
//! Each queue has one claim call in flight, as wide as its free permits. After an answer that filled them all it waits until
//! half of them are free again, or a small part of a handler's usual time has passed, so that it claims in large batches
//! and keeps no permit empty for long. A wide queue that is busy has a second call in flight: one connection alone can't
//! bring as much as two can settle. A call whose answer was lost is repeated under the same token: what it took the
//! first time comes back. Nothing is claimed without a permit for it, or for a command without a handler.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use kinfolk_core::limits::{CLAIM_BATCH_MAX, SETTLE_BATCH_MAX};
use kinfolk_core::{Claim, Claimed, ClaimedTask, Outcome, StoreError, Token, WorkerId};
use tokio::time::timeout;
use uuid::Uuid;

use super::attempt::Attempt;
use super::inbox::EndedAttempt;
use super::runner;
use super::state::{QueueShare, Shared};
use super::wake::Idle;
use crate::backoff::Backoff;
use crate::done::Verdict;

/// How long a queue that just got all it asked for waits for more permits before it asks for fewer: a small part of what
/// its handlers take, within these bounds.
const GATHER_MIN: Duration = Duration::from_millis(2);
const GATHER_MAX: Duration = Duration::from_millis(50);
const GATHER_PART: u32 = 20;

/// Calls in flight at once, for a queue that just got all it asked for.
const FLIGHTS_MAX: usize = 2;
/// With this many free permits a call goes out beside another one.
const SECOND_FLIGHT: usize = 200;

/// Takes tasks and starts runners.
pub(crate) struct Claimer {
    shared: Arc<Shared>,
    /// While so many ended attempts are not recorded yet, nothing more is claimed: the store can't keep up.
    backlog_max: usize,
}

impl Claimer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let capacity: usize = shared.shares.iter().map(|share| share.permits.capacity()).sum();
        Self { backlog_max: capacity.saturating_mul(2).clamp(64, 2 * SETTLE_BATCH_MAX), shared }
    }

    /// Claims for all queues until the worker drains. A claim in flight by then is still answered, and given back.
    pub(crate) async fn run(self) {
        join_all((0..self.shared.shares.len()).map(|share| self.run_share(share))).await;
    }

    async fn run_share(&self, share: usize) {
        let mut idle = Idle::new(&self.shared);
        let mut flights = FuturesUnordered::new();
        let mut busy = false;
        loop {
            let room = if busy { FLIGHTS_MAX } else { 1 };
            let reserve = self.reserve(&self.shared.shares[share], busy, !flights.is_empty());
            tokio::select! {
                permits = reserve, if flights.len() < room => {
                    flights.push(async move { (permits, self.run_once(share, permits).await) });
                }
                Some((permits, claimed)) = flights.next(), if !flights.is_empty() => {
                    busy = claimed.as_ref().is_some_and(|claimed| claimed.tasks == permits);
                    if claimed.as_ref().is_some_and(|claimed| claimed.tasks > 0) {
                        idle.reset();
                    }
                    if !busy && flights.is_empty() {
                        idle.wait(&self.shared.shares[share], claimed.and_then(|claimed| claimed.next_due)).await;
                    }
                }
                () = self.shared.stops.drain.cancelled() => break,
            }
        }
        while flights.next().await.is_some() {}
    }

    /// Waits for permits and takes as many as one claim can use; for one beside another only where there are many.
    async fn reserve(&self, share: &QueueShare, gather: bool, beside: bool) -> usize {
        let shared = &self.shared;
        shared.inbox.wait_below(self.backlog_max).await;
        let half = share.permits.capacity().min(CLAIM_BATCH_MAX).div_ceil(2);
        if beside {
            share.permits.wait_free(half.max(SECOND_FLIGHT)).await;
        } else if gather {
            let patience = (share.pace() / GATHER_PART).clamp(GATHER_MIN, GATHER_MAX);
            let _ = timeout(patience, share.permits.wait_free(half)).await;
        }
        let mut free = share.permits.wait_free(1).await.min(CLAIM_BATCH_MAX);
        if let Some(total) = &shared.total {
            // First in line for one permit, so that no queue can starve another; then all other free permits.
            let Ok(first) = total.acquire().await else { return 0 };
            first.forget();
            let mut taken = 1;
            while taken < free {
                let more = (free - taken).min(total.available_permits());
                match u32::try_from(more).ok().filter(|more| *more > 0).map(|more| total.try_acquire_many(more)) {
                    Some(Ok(permits)) => {
                        permits.forget();
                        taken += more;
                    }
                    Some(Err(_)) => {}
                    None => break,
                }
            }
            free = taken;
        }
        share.permits.take(free);
        free
    }

    /// One claim into these permits; gives back those it did not fill. `None` when nothing could be asked.
    async fn run_once(&self, share: usize, permits: usize) -> Option<ClaimSummary> {
        let mut reserved = Reserved { shared: &self.shared, share, permits };
        let look = self.shared.looks.newest.load(Ordering::SeqCst);
        let (worker, claimed) = self.claim(&self.shared.shares[share], permits).await?;
        let tasks = claimed.tasks.len();
        if tasks == 0 {
            self.shared.shares[share].empty_at.fetch_max(look, Ordering::SeqCst);
            self.shared.shares[share].suspects.store(false, Ordering::Relaxed);
        } else {
            self.shared.looks.claimed.fetch_add(1, Ordering::SeqCst);
            self.shared.stirred.notify_one();
        }
        reserved.permits -= tasks;
        drop(reserved);
        self.start(share, worker, claimed.tasks);
        self.shared.looks.done.notify_waiters();
        Some(ClaimSummary { tasks, next_due: claimed.next_due })
    }

    async fn claim(&self, share: &QueueShare, limit: usize) -> Option<(WorkerId, Claimed)> {
        let worker = self.shared.roster.worker()?;
        let mut claim = Claim {
            worker,
            token: Token(Uuid::new_v4()),
            queue: share.queue.clone(),
            commands: self.shared.commands.now(),
            limit,
            repeated: false,
        };
        let mut backoff = Backoff::for_trouble();
        loop {
            match self.shared.store().claim(&claim).await {
                Ok(claimed) => return Some((worker, claimed)),
                Err(StoreError::LeaseLost { .. }) => {
                    self.shared.heartbeat.notify_one();
                    return None;
                }
                Err(fault) => self.shared.observer.trouble("claim", &fault),
            }
            claim.repeated = true;
            tokio::select! {
                () = tokio::time::sleep(backoff.pause(2)) => {}
                // Tasks that this call may have taken are released when the worker leaves.
                () = self.shared.stops.drain.cancelled() => return None,
            }
            if self.shared.roster.worker() != Some(worker) {
                return None;
            }
        }
    }

    /// Starts what was claimed; gives it back instead when the worker drains or has lost the lease it claimed under.
    fn start(&self, share: usize, worker: WorkerId, tasks: Vec<ClaimedTask>) {
        if tasks.is_empty() {
            return;
        }
        let attempts: Vec<Arc<Attempt>> = tasks.into_iter().map(|task| Arc::new(Attempt::new(task, share))).collect();
        self.shared.observer.running(attempts.len());
        let admitted = self.shared.roster.admit(worker, &attempts);
        if !admitted || self.shared.stops.drain.is_cancelled() {
            let count = attempts.len();
            self.shared.inbox.push_all(attempts.into_iter().map(|attempt| EndedAttempt {
                attempt,
                verdict: Verdict::Settle(Outcome::Release),
                made: None,
                took: Duration::ZERO,
            }));
            self.shared.give_back(share, count);
            return;
        }
        for attempt in attempts {
            if let Some(waited) = attempt.task.waited {
                self.shared.shares[share].sums.add(&attempt.task.command, |figures| figures.start(waited));
            }
            tokio::spawn(runner::run(Arc::clone(&self.shared), attempt));
        }
    }
}

/// Permits that a claim was asked for and has not filled: given back with it, however it ends.
struct Reserved<'a> {
    shared: &'a Shared,
    share: usize,
    permits: usize,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.shared.give_back(self.share, self.permits);
    }
}

/// The result of a claim.
struct ClaimSummary {
    tasks: usize,
    next_due: Option<kinfolk_core::Timestamp>,
}
