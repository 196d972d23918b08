//! Wake-ups for the workers of this process: at once for what this store commits, soon for what others commit.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use kinfolk_core::{QueueName, Wake, WakeSource, WorkerId};
use tokio::sync::Notify;

use crate::store::SqliteStore;

/// All listeners.
#[derive(Default)]
pub(crate) struct Hub {
    listeners: Mutex<HashMap<u64, Arc<Listener>>>,
    next: AtomicU64,
}

struct Listener {
    worker: WorkerId,
    queues: BTreeSet<QueueName>,
    heard: Mutex<Heard>,
    notify: Notify,
}

/// The news that a listener has not been told yet; each thing once, however often it happened.
#[derive(Default)]
struct Heard {
    cancel: bool,
    queues: BTreeSet<QueueName>,
}

impl Hub {
    /// A new listener for a worker's wake-ups.
    pub(crate) fn listen(store: SqliteStore, worker: WorkerId, queues: &[QueueName]) -> Wakes {
        let hub = &store.shared().hub;
        let listener = Arc::new(Listener {
            worker,
            queues: queues.iter().cloned().collect(),
            heard: Mutex::default(),
            notify: Notify::new(),
        });
        let number = hub.next.fetch_add(1, Ordering::Relaxed);
        hub.lock().insert(number, listener.clone());
        Wakes { number, listener, store }
    }

    /// Whether anyone listens.
    pub(crate) fn is_heard(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Tells the listeners to these queues, and these workers.
    pub(crate) fn publish<'a>(&self, queues: impl Iterator<Item = &'a QueueName>, cancels: &BTreeSet<WorkerId>) {
        let queues: Vec<_> = queues.collect();
        for listener in self.lock().values() {
            listener.tell(|heard| {
                heard
                    .queues
                    .extend(queues.iter().filter(|queue| listener.queues.contains(**queue)).map(|&q| q.clone()));
                heard.cancel |= cancels.contains(&listener.worker);
            });
        }
    }

    /// Tells everyone that there may be a cancellation for them.
    pub(crate) fn publish_cancel(&self) {
        self.lock().values().for_each(|listener| listener.tell(|heard| heard.cancel = true));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<Listener>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener {
    fn tell(&self, note: impl FnOnce(&mut Heard)) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        note(&mut heard);
        if heard.cancel || !heard.queues.is_empty() {
            self.notify.notify_one();
        }
    }

    fn next(&self) -> Option<Wake> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut heard.cancel) {
            return Some(Wake::Cancel);
        }
        heard.queues.pop_first().map(Wake::Queue)
    }
}

/// The wake-ups of one worker. Stops listening when it is dropped.
pub(crate) struct Wakes {
    number: u64,
    listener: Arc<Listener>,
    /// A listener keeps the store open.
    store: SqliteStore,
}

#[async_trait]
impl WakeSource for Wakes {
    async fn next(&mut self) -> Wake {
        loop {
            if let Some(wake) = self.listener.next() {
                return wake;
            }
            self.listener.notify.notified().await;
        }
    }
}

impl Drop for Wakes {
    fn drop(&mut self) {
        self.store.shared().hub.lock().remove(&self.number);
    }
}
