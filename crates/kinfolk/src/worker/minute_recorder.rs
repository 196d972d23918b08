//! The minute recorder: tells the store now and then what this worker did, for the figures by the minute.
//!
//! Starts and ends are summed up in memory, queue by queue; no attempt waits for a record. A record whose answer was lost is sent
//! again under its number. A worker that stops records the rest; a worker that dies does not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kinfolk_core::limits::MINUTE_RECORDS_MAX;
use kinfolk_core::minute::{Figures, MinuteRecord};
use kinfolk_core::{Advice, CommandName, StoreError, WorkerId};
use tokio::time::timeout;

use super::state::Shared;
use crate::backoff::Backoff;

/// Between two records: a small part of a minute, since what was done counts for the minute in which it is recorded.
const EVERY: Duration = Duration::from_secs(5);
/// How long the last records may take when the worker ends: they are not worth more.
const LAST_NOTES: Duration = Duration::from_secs(2);

/// The work on one queue that is not recorded yet, by command.
#[derive(Debug, Default)]
pub(crate) struct Sums(Mutex<HashMap<CommandName, Figures>>);

impl Sums {
    /// Adds something that was done of a command.
    pub(crate) fn add(&self, command: &CommandName, done: impl FnOnce(&mut Figures)) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sums.get_mut(command) {
            Some(figures) => done(figures),
            None => done(sums.entry(command.clone()).or_default()),
        }
    }

    fn take(&self) -> HashMap<CommandName, Figures> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The records to send: the recorder has them while it runs, then the code that ends the worker.
#[derive(Debug, Default)]
pub(crate) struct MinuteRecords {
    number: u64,
    /// The worker's id under which the first page of these was sent, while its answer is not known.
    unsure: Option<WorkerId>,
    records: Vec<MinuteRecord>,
}

/// Records what was done.
pub(crate) struct MinuteRecorder {
    shared: Arc<Shared>,
}

impl MinuteRecorder {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Records.
    pub(crate) async fn run(self) {
        loop {
            tokio::time::sleep(EVERY).await;
            run_once(&self.shared).await;
        }
    }
}

/// Records the rest, for a worker that ends; gives up when the store can't be reached.
pub(crate) async fn record_rest(shared: &Shared) {
    let mut backoff = Backoff::for_trouble();
    let noted = async {
        while !run_once(shared).await {
            tokio::time::sleep(backoff.pause(2)).await;
        }
    };
    let _ = timeout(LAST_NOTES, noted).await;
}

/// Records what there is, call by call. `false` when some of it is to be sent again.
async fn run_once(shared: &Shared) -> bool {
    let mut records = shared.minute_records.lock().await;
    while let Some(worker) = shared.roster.worker() {
        records.gather(shared, worker);
        if records.records.is_empty() {
            return true;
        }
        records.unsure = Some(worker);
        let answer = shared.store().record_minutes(worker, records.number, &records.records[..records.page()]).await;
        match answer {
            Ok(()) => records.forget_page(),
            // Nothing of it was taken: it goes out under the next id.
            Err(StoreError::LeaseLost { .. }) => {
                records.unsure = None;
                return true;
            }
            Err(fault) => {
                shared.observer.trouble("record_minutes", &fault);
                if fault.advice() == Advice::Retry {
                    return false;
                }
                records.forget_page();
            }
        }
    }
    true
}

impl MinuteRecords {
    /// Takes what was done since, unless a record is to be sent again as it was.
    fn gather(&mut self, shared: &Shared, worker: WorkerId) {
        match self.unsure {
            Some(under) if under == worker => return,
            // Whether it was taken under the id that was lost, nobody can tell: rather too little than twice.
            Some(_) => self.forget_page(),
            None => {}
        }
        self.number += 1;
        for share in &shared.shares {
            let done = share.sums.take().into_iter();
            self.records.extend(done.map(|(command, figures)| MinuteRecord {
                queue: share.queue.clone(),
                command,
                figures,
            }));
        }
    }

    /// How many go into one call.
    fn page(&self) -> usize {
        self.records.len().min(MINUTE_RECORDS_MAX)
    }

    fn forget_page(&mut self) {
        self.records.drain(..self.page());
        self.unsure = None;
    }
}
