//! The settler: records how attempts ended, in batches that grow with the load.
//!
//! When nothing is in flight, an ended attempt goes out at once; while a call is in flight, more gathers, and a second
//! call starts only for a large batch. Suspensions go out beside the ends of the same batch. An attempt that made many tasks
//! goes out in a call of its own, beside the others: it takes longer, and they need not wait for it. [`calls`] says what becomes
//! of a call that fails.

mod batch;
mod calls;
mod reports;

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use self::batch::Batch;
pub(super) use self::calls::is_about_one_of_them;
use super::inbox::EndedAttempt;
use super::state::Shared;

/// Calls in flight at once.
const FLIGHTS_MAX: usize = 2;
/// From this size on a batch goes out beside another one.
const SECOND_FLIGHT: usize = 200;
/// Calls in flight at once for attempts that made many tasks.
const HEAVY_FLIGHTS_MAX: usize = 2;

/// Records ended attempts.
pub(crate) struct Settler {
    shared: Arc<Shared>,
}

impl Settler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Settles what comes in.
    pub(crate) async fn run(self) {
        let mut flights = FuturesUnordered::new();
        let mut heavy = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = self.shared.inbox.wait_arrived() => {}
                Some(()) = flights.next(), if !flights.is_empty() => {}
                Some(()) = heavy.next(), if !heavy.is_empty() => {}
            }
            // Handlers that are about to end get to do so first: one larger batch instead of two.
            tokio::task::yield_now().await;
            loop {
                let waiting = self.shared.inbox.len();
                let enough = if flights.is_empty() { 1 } else { SECOND_FLIGHT };
                if waiting < enough || flights.len() >= FLIGHTS_MAX {
                    break;
                }
                flights.push(self.run_once(self.shared.inbox.take()));
            }
            while heavy.len() < HEAVY_FLIGHTS_MAX
                && let Some(ended) = self.shared.inbox.take_heavy()
            {
                heavy.push(self.run_once(vec![ended]));
            }
        }
    }

    /// Records one batch and reports what became of it.
    async fn run_once(&self, ended: Vec<EndedAttempt>) {
        let count = ended.len();
        let mut batch = Batch::of(ended);
        self.report_over(&batch);
        let Batch { settles, settling, suspends, suspending, .. } = &mut batch;
        match (settles.is_empty(), suspends.is_empty()) {
            (true, true) => {}
            (false, true) => self.settle(settles, settling).await,
            (true, false) => self.suspend(suspends, suspending).await,
            (false, false) => {
                tokio::join!(self.settle(settles, settling), self.suspend(suspends, suspending));
            }
        }
        self.shared.roster.forget(batch.attempts());
        self.shared.observer.ended_running(count);
        self.shared.inbox.recorded(count);
        self.shared.kinfolk.settlements.announce();
        self.shared.stirred.notify_one();
        self.shared.wake_limited();
    }
}
