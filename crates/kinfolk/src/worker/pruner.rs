//! The pruner: removes finished families that are past their retention, page by page, and what is left of keys.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Event, StoreError};

use super::state::Shared;

const EVERY: Duration = Duration::from_secs(30);
/// Between two pages, so that pruning never crowds out claims.
const BREATH: Duration = Duration::from_millis(20);

/// Removes what is past its retention.
pub(crate) struct Pruner {
    shared: Arc<Shared>,
}

impl Pruner {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Prunes.
    pub(crate) async fn run(self) {
        loop {
            let pause = match self.run_once().await {
                Ok(0) => EVERY,
                Ok(_) => BREATH,
                Err(fault) => {
                    self.shared.observer.trouble("prune", &fault);
                    EVERY
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// One page. Says how many tasks went.
    async fn run_once(&self) -> Result<u64, StoreError> {
        let tasks = self.shared.store().prune().await?;
        if tasks > 0 {
            self.shared.observer.emit(&Event::Pruned { tasks });
        }
        Ok(tasks)
    }
}
