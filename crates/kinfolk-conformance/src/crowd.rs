//! Several at once, on handles that share nothing but the data, on real threads.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::{Store, WorkerId};
use tokio::task::JoinSet;

use crate::world::{LEASE, World, worker_spec};

/// How many go at it at once.
pub(crate) const CROWD: usize = 4;

/// Runs one of these for each of [`CROWD`] handles, all at once; what they gave, in any order. Panics go on.
pub(crate) async fn crowd<T, F>(w: &World, each: impl Fn(usize, Arc<dyn Store>) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut running = JoinSet::new();
    for n in 0..CROWD {
        running.spawn(each(n, w.another().await));
    }
    let all = async {
        let mut gave = Vec::new();
        while let Some(one) = running.join_next().await {
            gave.push(one.unwrap());
        }
        gave
    };
    tokio::time::timeout(Duration::from_secs(120), all).await.expect("the crowd is done within two minutes")
}

pub(crate) async fn register(store: &dyn Store) -> WorkerId {
    let spec = worker_spec(LEASE);
    store.register_worker(&spec).await.unwrap();
    spec.id
}
