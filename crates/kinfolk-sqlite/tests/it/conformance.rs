//! The embedded store keeps every promise of the conformance suite.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use kinfolk_conformance::{START, TestStore};
use kinfolk_core::{Store, Timestamp};
use kinfolk_sqlite::SqliteStore;
use tempfile::TempDir;

use crate::support::{HandClock, quick, scratch};

/// A store that is replaced by a fresh one when it is wiped.
struct FreshStore {
    clock: Arc<HandClock>,
    current: Mutex<(SqliteStore, TempDir)>,
}

impl FreshStore {
    fn new() -> Self {
        let clock = HandClock::at(START);
        let current = Mutex::new(fresh(&clock));
        Self { clock, current }
    }
}

fn fresh(clock: &Arc<HandClock>) -> (SqliteStore, TempDir) {
    let folder = scratch();
    (quick(&folder.path().join("kinfolk.db"), clock.clone()), folder)
}

#[async_trait]
impl TestStore for FreshStore {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.current.lock().unwrap().0.clone())
    }

    async fn another(&self) -> Arc<dyn Store> {
        let path = self.current.lock().unwrap().0.path().to_owned();
        Arc::new(quick(&path, self.clock.clone()))
    }

    async fn set_time(&self, now: Timestamp) {
        self.clock.set(now);
    }

    async fn wipe(&self) {
        self.clock.set(START);
        *self.current.lock().unwrap() = fresh(&self.clock);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn histories() {
    let fixtures = (0..2).map(|_| Arc::new(FreshStore::new()) as Arc<dyn TestStore>).collect();
    kinfolk_conformance::history::run("kinfolk-sqlite", fixtures).await;
}

async fn fixture() -> FreshStore {
    FreshStore::new()
}

kinfolk_conformance::contracts!(fixture);
