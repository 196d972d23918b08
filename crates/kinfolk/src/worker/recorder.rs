//! The recorder: writes checkpoints of running attempts, several attempts in one call.
//!
//! While a call is in flight, more gathers, and goes out with the next one. A call that the store could not carry out is
//! repeated as it was: checkpoints are fenced, and the same one written twice is recognised. One that the store refuses is
//! split, so that each attempt hears of its own mistake.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use kinfolk_core::limits::RECORD_BATCH_MAX;
use kinfolk_core::{Record, Recorded, StoreError};
use tokio::sync::{Notify, oneshot};

use super::settler::is_about_one_of_them;
use super::state::Shared;
use crate::backoff::Backoff;
use crate::durable::op::Busy;

/// Calls in flight at once.
const FLIGHTS_MAX: usize = 2;
/// From this size on a batch goes out beside another one.
const SECOND_FLIGHT: usize = 100;

type Answered = Result<Recorded, Arc<StoreError>>;

/// Where attempts leave their checkpoints.
#[derive(Debug, Default)]
pub(crate) struct Records {
    waiting: Mutex<Vec<Waiting>>,
    arrived: Notify,
}

#[derive(Debug)]
struct Waiting {
    record: Record,
    answer: oneshot::Sender<Answered>,
    /// Keeps the attempt from being suspended before this is written.
    busy: Busy,
}

impl Records {
    /// Writes this, and answers how it went. The write goes on even if the caller stops waiting for the answer.
    pub(crate) async fn push(&self, record: Record, busy: Busy) -> Answered {
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(Waiting { record, answer, busy });
        self.arrived.notify_one();
        match answered.await {
            Ok(answered) => answered,
            // The worker has ended; so will the attempt, at once.
            Err(_) => std::future::pending().await,
        }
    }

    fn len(&self) -> usize {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The oldest ones, as many as go into one call.
    fn take(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows = 0;
        let fits = waiting.iter().take_while(|next| {
            rows += next.record.checkpoints.len();
            rows <= RECORD_BATCH_MAX
        });
        // A single one always fits.
        let fits = fits.count().max(1).min(waiting.len());
        let later = waiting.split_off(fits);
        std::mem::replace(&mut waiting, later)
    }
}

/// Writes what comes in.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
}

impl Recorder {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Writes what comes in.
    pub(crate) async fn run(self) {
        let mut flights = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = self.shared.records.arrived.notified() => {}
                Some(()) = flights.next(), if !flights.is_empty() => {}
            }
            loop {
                let enough = if flights.is_empty() { 1 } else { SECOND_FLIGHT };
                if self.shared.records.len() < enough || flights.len() >= FLIGHTS_MAX {
                    break;
                }
                flights.push(self.run_once(self.shared.records.take()));
            }
        }
    }

    async fn run_once(&self, batch: Vec<Waiting>) {
        let (records, answers): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|Waiting { record, answer, busy }| (record, (answer, busy))).unzip();
        let answered = self.record(&records).await;
        for ((answer, busy), answered) in answers.into_iter().zip(answered) {
            let _ = answer.send(answered);
            drop(busy);
        }
    }

    fn record<'a>(&'a self, records: &'a [Record]) -> BoxFuture<'a, Vec<Answered>> {
        Box::pin(async move {
            let mut backoff = Backoff::for_trouble();
            let fault = loop {
                match self.shared.store().record(records).await {
                    Ok(answers) => return answers.into_iter().map(Ok).collect(),
                    Err(fault) => {
                        self.shared.observer.trouble("record", &fault);
                        if is_about_one_of_them(&fault) {
                            break fault;
                        }
                    }
                }
                tokio::time::sleep(backoff.pause(2)).await;
            };
            if let [_] = records {
                return vec![Err(Arc::new(fault))];
            }
            let (front, back) = records.split_at(records.len() / 2);
            let mut answers = self.record(front).await;
            answers.extend(self.record(back).await);
            answers
        })
    }
}
