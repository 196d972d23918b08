//! The line between a worker and its store, which a test can cut at a commit of its choice.
//!
//! A commit is a call by which a worker changes tasks: a claim that took something, a settle, a suspension, a record, a
//! signal taken, a fan-out given up. From the cut on nothing the worker says reaches the store, as if its process had died.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kinfolk_core::store::Answer;
use kinfolk_core::{Claim, Claimed, Settle, Settled, Store, StoreError, forward};
use tokio::sync::Notify;

/// At which commit a worker dies, and on which side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The n-th commit (1 is the first) is not made.
    Before(u64),
    /// The n-th commit is made, and the worker does not hear of it.
    After(u64),
}

/// The commits that a kit and its lines have seen.
#[derive(Debug, Default)]
pub(super) struct Commits {
    pub(super) made: AtomicU64,
    pub(super) crash: std::sync::Mutex<Option<Crash>>,
    pub(super) crashed: Notify,
}

/// A store as one worker sees it.
pub(super) struct CuttableStore {
    pub(super) store: Arc<dyn Store>,
    pub(super) commits: Arc<Commits>,
    pub(super) cut: AtomicBool,
}

impl CuttableStore {
    fn cut_now(&self) -> StoreError {
        self.cut.store(true, Ordering::SeqCst);
        *self.commits.crash.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        self.commits.crashed.notify_one();
        dead()
    }

    fn check(&self) -> Answer<()> {
        if self.cut.load(Ordering::SeqCst) { Err(dead()) } else { Ok(()) }
    }

    fn planned(&self) -> Option<Crash> {
        *self.commits.crash.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn behind(&self) -> &dyn Store {
        &*self.store
    }

    /// Hands a call on, unless the line is cut.
    async fn pass<T>(&self, verb: &'static str, call: impl Future<Output = Answer<T>>) -> Answer<T> {
        match verb {
            "settle" | "record" | "suspend" | "expire" | "take_signal" => self.commit(call).await,
            _ => {
                self.check()?;
                call.await
            }
        }
    }

    async fn commit<T>(&self, call: impl Future<Output = Answer<T>>) -> Answer<T> {
        self.check()?;
        let number = self.commits.made.fetch_add(1, Ordering::SeqCst) + 1;
        match self.planned() {
            Some(Crash::Before(at)) if at == number => Err(self.cut_now()),
            Some(Crash::After(at)) if at == number => {
                call.await?;
                Err(self.cut_now())
            }
            _ => call.await,
        }
    }
}

fn dead() -> StoreError {
    StoreError::Unavailable { detail: "the test has cut the line".to_owned() }
}

forward!(CuttableStore {
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        self.check()?;
        let claimed = self.store.claim(claim).await?;
        // A claim that took nothing changed nothing, and how often a worker looks is nobody's business.
        if claimed.tasks.is_empty() {
            return Ok(claimed);
        }
        self.commit(std::future::ready(Ok(claimed))).await
    }
    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        self.pass("settle", self.store.settle(settles)).await
    }
    async fn sweep(&self) -> Answer<u64> {
        self.pass("sweep", self.store.sweep()).await
    }
});
