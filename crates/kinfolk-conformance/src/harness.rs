//! What a store must offer to be tested.

use std::sync::Arc;

use async_trait::async_trait;
use kinfolk_core::{Store, Timestamp};

use crate::model::Model;

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

    /// Back to empty and to [`START`]. Cheap: histories do it thousands of times.
    async fn wipe(&self);
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
