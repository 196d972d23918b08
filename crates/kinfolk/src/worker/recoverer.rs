//! The recoverer: takes care of the tasks of workers whose lease has ended.
//!
//! It asks the store page by page until there is nothing more to do; it keeps no list of its own, so one that dies in the
//! middle leaves nothing behind. The store decides whether this worker may judge others.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kinfolk_core::{Event, StoreError};

use super::state::Shared;

/// Recovers the tasks of lost workers.
pub(crate) struct Recoverer {
    shared: Arc<Shared>,
    every: Duration,
}

impl Recoverer {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let every = (shared.options.heartbeat / 5).max(Duration::from_millis(50));
        Self { shared, every }
    }

    /// Looks for lost workers.
    pub(crate) async fn run(self) {
        loop {
            let more = match self.run_once().await {
                Ok(more) => more,
                Err(StoreError::LeaseLost { .. }) => {
                    self.shared.heartbeat.notify_one();
                    false
                }
                Err(fault) => {
                    self.shared.observer.trouble("recover", &fault);
                    false
                }
            };
            if more {
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep(self.every) => {}
                () = self.shared.recover.notified() => {}
            }
        }
    }

    /// One page. Says whether there is more.
    async fn run_once(&self) -> Result<bool, StoreError> {
        let Some(worker) = self.shared.roster.worker() else { return Ok(false) };
        let did = self.shared.store().recover(worker).await?;
        if did.returned + did.poisoned + did.cancelled > 0 {
            self.shared.observer.emit(&Event::Recovered {
                worker,
                returned: did.returned,
                poisoned: did.poisoned,
                cancelled: did.cancelled,
            });
            for share in &self.shared.shares {
                share.suspects.store(true, Ordering::Relaxed);
            }
            self.shared.wake_all();
        }
        Ok(did.more)
    }
}
