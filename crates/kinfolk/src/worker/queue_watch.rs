//! The watch over the queues: knows what seldom changes about the store, and keeps its statuses true.
//!
//! Once a heartbeat it looks which queues have limits and whether there are statuses. While there are, it has the store
//! look at them again after claims and settles, a few times a second at most. While there are none, that is all it does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kinfolk_core::{Event, StoreError};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::state::Shared;

/// Between two looks at the statuses.
const BREATH: Duration = Duration::from_millis(250);

/// Looks at queues and statuses.
pub(crate) struct QueueWatch {
    shared: Arc<Shared>,
}

impl QueueWatch {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Looks out.
    pub(crate) async fn run(self) {
        let mut tick = interval_at(Instant::now(), self.shared.options.heartbeat);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = tick.tick() => {
                    if let Err(fault) = self.run_once().await {
                        self.shared.observer.trouble("look", &fault);
                    }
                }
                () = self.shared.stirred.notified(), if self.shared.has_statuses.load(Ordering::Relaxed) => {}
            }
            if self.shared.has_statuses.load(Ordering::Relaxed) {
                refresh(&self.shared).await;
                tokio::time::sleep(BREATH).await;
            }
        }
    }

    /// One look at what seldom changes.
    async fn run_once(&self) -> Result<(), StoreError> {
        let store = self.shared.store();
        for queue in store.queues().await? {
            if let Some(share) = self.shared.shares.iter().find(|share| share.queue == queue.name) {
                let limited = queue.policy.family_limit.is_some() || queue.policy.child_limit.is_some();
                share.limited.store(limited, Ordering::Relaxed);
            }
        }
        let any = !store.statuses().await?.is_empty();
        self.shared.has_statuses.store(any, Ordering::Relaxed);
        Ok(())
    }
}

/// Has the store look at all statuses, and reports those that turned.
pub(crate) async fn refresh(shared: &Shared) {
    match shared.store().refresh_statuses().await {
        Ok(turned) => {
            for status in turned {
                shared.observer.emit(&Event::StatusChanged { status: status.name, active: status.active });
            }
        }
        Err(fault) => shared.observer.trouble("refresh_statuses", &fault),
    }
}
