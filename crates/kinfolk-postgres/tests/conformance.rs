//! Every contract of the conformance suite and random histories beside the model, on PostgreSQL.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use kinfolk_conformance::{START, TestStore};
use kinfolk_core::{Store, Timestamp};
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing::{self, TestDatabase};

struct Postgres {
    database: Arc<TestDatabase>,
    store: Arc<PgStore>,
}

/// Databases in which contracts were kept, emptied for the next: to make one takes longer than most contracts do. They go
/// with the cluster, as their template does.
static EMPTIED: Mutex<Vec<Arc<TestDatabase>>> = Mutex::new(Vec::new());

async fn postgres() -> Postgres {
    let emptied = EMPTIED.lock().unwrap().pop();
    let database = match emptied {
        Some(database) => database,
        None => Arc::new(TestDatabase::create().await),
    };
    let store = Arc::new(database.store().await);
    // Again in each: a contract may have migrated, which puts the real one back.
    testing::install_clock(&store).await.unwrap();
    testing::set_clock(&store, START).await.unwrap();
    Postgres { database, store }
}

#[async_trait]
impl TestStore for Postgres {
    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    async fn another(&self) -> Arc<dyn Store> {
        Arc::new(self.database.store().await)
    }

    async fn set_time(&self, now: Timestamp) {
        testing::set_clock(&self.store, now).await.unwrap();
    }

    async fn restart_server(&self) -> bool {
        testing::restart_server(&self.store).await.unwrap();
        true
    }

    async fn wipe(&self) {
        testing::wipe(&self.store).await.unwrap();
        testing::set_clock(&self.store, START).await.unwrap();
    }

    async fn return_to_pool(&self) {
        self.database.empty().await;
        EMPTIED.lock().unwrap().push(Arc::clone(&self.database));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn histories() {
    let lanes: Vec<Arc<dyn TestStore>> = vec![Arc::new(postgres().await), Arc::new(postgres().await)];
    kinfolk_conformance::history::run("kinfolk-postgres", lanes).await;
}

kinfolk_conformance::contracts!(postgres);
