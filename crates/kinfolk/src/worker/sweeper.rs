//! The sweeper: looks, now and then, for parents that wait though all their children have ended, and for tasks behind a key
//! that has room.
//!
//! There are none: the transaction that ends the last child settles its parent, and the one that makes room under a key says
//! so. Should a store break these promises, the sweeper sets things right, page by page, and says so loudly.

use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Event, StoreError};

use super::state::Shared;

/// Looks for what waits for nothing.
pub(crate) struct Sweeper {
    shared: Arc<Shared>,
    every: Duration,
}

impl Sweeper {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let every = shared.options.heartbeat * 6;
        Self { shared, every }
    }

    /// Sweeps.
    pub(crate) async fn run(self) {
        loop {
            tokio::time::sleep(self.every).await;
            loop {
                match self.run_once().await {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(fault) => {
                        self.shared.observer.trouble("sweep", &fault);
                        break;
                    }
                }
            }
        }
    }

    /// One page. Says how many parents were stuck.
    async fn run_once(&self) -> Result<u64, StoreError> {
        let tasks = self.shared.store().sweep().await?;
        if tasks > 0 {
            self.shared.observer.emit(&Event::Unstuck { tasks });
            self.shared.wake_all();
        }
        Ok(tasks)
    }
}
