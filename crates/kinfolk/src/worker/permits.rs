//! How many attempts may run at once: counted from their claim until their handler has ended.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

const NOBODY: usize = usize::MAX;

/// The permits of one queue. One claimer takes them, many runners give them back.
#[derive(Debug)]
pub(crate) struct Permits {
    capacity: usize,
    used: AtomicUsize,
    /// How many free permits the claimer waits for; [`NOBODY`] when it does not.
    wanted: AtomicUsize,
    freed: Notify,
    emptied: Notify,
}

impl Permits {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            used: AtomicUsize::new(0),
            wanted: AtomicUsize::new(NOBODY),
            freed: Notify::new(),
            emptied: Notify::new(),
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    fn free(&self) -> usize {
        self.capacity.saturating_sub(self.used())
    }

    pub(crate) fn take(&self, permits: usize) {
        self.used.fetch_add(permits, Ordering::SeqCst);
    }

    pub(crate) fn give_back(&self, permits: usize) {
        if permits == 0 {
            return;
        }
        let used = self.used.fetch_sub(permits, Ordering::SeqCst) - permits;
        if self.capacity.saturating_sub(used) >= self.wanted.load(Ordering::SeqCst) {
            self.freed.notify_one();
        }
        if used == 0 {
            self.emptied.notify_waiters();
        }
    }

    /// Waits until this many permits are free and says how many are. Only the queue's claimer calls this.
    pub(crate) async fn wait_free(&self, wanted: usize) -> usize {
        loop {
            // Set before looking: a call that frees a permit looks at this after freeing it.
            self.wanted.store(wanted, Ordering::SeqCst);
            let free = self.free();
            if free >= wanted {
                self.wanted.store(NOBODY, Ordering::SeqCst);
                return free;
            }
            self.freed.notified().await;
        }
    }

    /// Waits until no permit is used.
    pub(crate) async fn wait_empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            if self.used() == 0 {
                return;
            }
            emptied.await;
        }
    }
}
