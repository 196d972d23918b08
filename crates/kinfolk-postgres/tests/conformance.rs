//! Every contract of the conformance suite and random histories beside the model, on PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use kinfolk_conformance::{START, TestStore};
use kinfolk_core::{Store, Timestamp};
use kinfolk_postgres::PgStore;
use kinfolk_postgres::testing::{self, TestDatabase};

struct Postgres {
    database: TestDatabase,
    store: Arc<PgStore>,
}

async fn postgres() -> Postgres {
    let database = TestDatabase::create().await;
    let store = Arc::new(database.store().await);
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
}

#[tokio::test(flavor = "multi_thread")]
async fn histories() {
    let lanes: Vec<Arc<dyn TestStore>> = vec![Arc::new(postgres().await), Arc::new(postgres().await)];
    kinfolk_conformance::history::run("kinfolk-postgres", lanes).await;
}

kinfolk_conformance::contracts!(postgres);
