//! What a store must offer to be tested, and how one contract is run.

use std::sync::Arc;

use async_trait::async_trait;
use kinfolk_core::{Store, Timestamp};

use crate::model::Model;
use crate::world::World;

/// The moment at which all tests begin: 2100-01-01T00:00:00Z. It lies after the start of any real server, so that no lease
/// that ends in a test seems to have ended by a restart.
pub const START: Timestamp = Timestamp::from_micros(4_102_444_800_000_000);

/// A store under test: empty, migrated, with a clock that stands still at [`START`] until it is moved.
#[async_trait]
pub trait TestStore: Send + Sync {
    /// The store.
    fn store(&self) -> Arc<dyn Store>;

    /// A second handle on the same data that shares nothing else with the first, as another process would have.
    async fn another(&self) -> Arc<dyn Store>;

    /// Moves the store's clock, for all handles. Time may be set back: what the store makes of that is its business.
    async fn set_time(&self, now: Timestamp);

    /// Makes the store believe that its server has started just now. `false`: this store has no server.
    async fn restart_server(&self) -> bool {
        false
    }

    /// Back to empty and to [`START`]. Cheap: histories do it thousands of times.
    async fn wipe(&self);

    /// A contract was kept here, and nobody is at work any more: what is dear to make may be kept for another one.
    async fn return_to_pool(&self) {}
}

/// Runs one contract on an empty store, and checks the store's invariants.
pub async fn run(fixture: impl TestStore + 'static, contract: impl AsyncFnOnce(&World)) {
    let fixture: Arc<dyn TestStore> = Arc::new(fixture);
    let world = World::new(Arc::clone(&fixture)).await;
    contract(&world).await;
    world.sound().await;
    fixture.return_to_pool().await;
}

#[async_trait]
impl TestStore for Arc<Model> {
    fn store(&self) -> Arc<dyn Store> {
        self.clone()
    }

    async fn another(&self) -> Arc<dyn Store> {
        self.clone()
    }

    async fn set_time(&self, now: Timestamp) {
        Model::set_time(self, now);
    }

    async fn wipe(&self) {
        Model::wipe(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_tests_begin_in_2100() {
        assert_eq!(START.to_string(), "2100-01-01T00:00:00Z");
    }
}
