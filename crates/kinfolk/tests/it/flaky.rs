//! A real store whose answers can be tampered with on their way to the worker.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kinfolk::core::store::Answer;
use kinfolk::core::{Claim, Claimed, Settle, Settled, forward};
use kinfolk::{Error, Kinfolk, Store};

use crate::lab::within;

/// What happens to a call.
pub(crate) enum Fate {
    /// It is answered.
    Answered,
    /// It is carried out, and its answer is lost.
    AnswerLost,
    /// It is not carried out.
    Refused(Error),
}

pub(crate) fn unreachable() -> Error {
    Error::Unavailable { detail: "the test cut the line".to_owned() }
}

type Meddle = Box<dyn Fn(&'static str, &[Settle]) -> Fate + Send + Sync>;

/// The store inside, with a say in what becomes of the worker's calls.
pub(crate) struct Flaky {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) meddle: Meddle,
    /// Parents that the next sweep says it found stuck.
    pub(crate) stuck: AtomicU64,
}

impl Flaky {
    fn behind(&self) -> &dyn Store {
        &*self.inner
    }

    async fn pass<T>(&self, verb: &'static str, call: impl Future<Output = Answer<T>>) -> Answer<T> {
        self.pass_with(verb, &[], call).await
    }

    async fn pass_with<T>(
        &self,
        verb: &'static str,
        settles: &[Settle],
        call: impl Future<Output = Answer<T>>,
    ) -> Answer<T> {
        match (self.meddle)(verb, settles) {
            Fate::Answered => call.await,
            Fate::AnswerLost => call.await.and(Err(unreachable())),
            Fate::Refused(fault) => Err(fault),
        }
    }
}

/// For so long nobody polls, once looks are rare.
pub(crate) const NO_POLL: Duration = Duration::from_secs(10);

/// When the workers on a store last asked for tasks.
pub(crate) struct Looks(Arc<Mutex<Instant>>);

impl Looks {
    /// A handle on the store whose claims are noted.
    pub(crate) fn at(store: &Arc<dyn Store>) -> (Kinfolk, Self) {
        let newest = Arc::new(Mutex::new(Instant::now()));
        let looks = Self(Arc::clone(&newest));
        let meddle = Box::new(move |verb: &'static str, _: &[Settle]| {
            if verb == "claim" {
                *newest.lock().unwrap() = Instant::now();
            }
            Fate::Answered
        });
        (Kinfolk::new(Arc::new(Flaky { inner: store.clone(), meddle, stuck: AtomicU64::new(0) })), looks)
    }

    /// Waits until the next poll is at least [`NO_POLL`] away. The pauses of an idle worker are four times as long each, and off
    /// by up to a quarter: the one after that of 6.4 seconds lasts another 19 at least.
    pub(crate) async fn are_rare(&self) {
        within(async {
            while self.0.lock().unwrap().elapsed() < Duration::from_millis(8_200) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
}

forward!(Flaky {
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        self.pass("claim", self.inner.claim(claim)).await
    }
    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        self.pass_with("settle", settles, self.inner.settle(settles)).await
    }
    async fn sweep(&self) -> Answer<u64> {
        let found = self.pass("sweep", self.inner.sweep()).await?;
        Ok(found + self.stuck.swap(0, Ordering::SeqCst))
    }
});
