//! The calls of the settler, and what becomes of one that fails.
//!
//! A call that the store could not carry out is repeated as it was: settles are fenced and recognised. One that the store
//! refuses is split, so that each outcome is its own; an outcome that can't be recorded at all becomes a failure that says so.

use futures_util::future::BoxFuture;
use kinfolk_core::store::Answer;
use kinfolk_core::{Advice, Outcome, Settle, StoreError, Suspend};

use super::Settler;
use super::batch::Settling;
use crate::backoff::Backoff;
use crate::done::unrecordable;

/// How often a failure that replaces an unrecordable outcome is tried.
const LAST_TRIES: u32 = 5;

impl Settler {
    /// Settles attempts, as often as it takes. A batch that the store refuses is split.
    pub(super) fn settle<'a>(&'a self, settles: &'a mut [Settle], attempts: &'a [Settling]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let fault = match self.insist("settle", || self.shared.store().settle(settles)).await {
                Ok(answers) => return self.report(settles, attempts, &answers),
                Err(fault) => fault,
            };
            match settles {
                [one] => self.settle_instead(one, attempts, &fault).await,
                many => {
                    let half = many.len() / 2;
                    let (front, back) = many.split_at_mut(half);
                    self.settle(front, &attempts[..half]).await;
                    self.settle(back, &attempts[half..]).await;
                }
            }
        })
    }

    /// Repeats a call until the store carries it out, or refuses the batch.
    async fn insist<'c, T>(
        &self,
        call: &'static str,
        again: impl Fn() -> BoxFuture<'c, Answer<T>> + Send,
    ) -> Answer<T> {
        let mut backoff = Backoff::for_trouble();
        loop {
            match again().await {
                Ok(answers) => return Ok(answers),
                Err(fault) => {
                    self.shared.observer.trouble(call, &fault);
                    if is_about_one_of_them(&fault) {
                        return Err(fault);
                    }
                }
            }
            tokio::time::sleep(backoff.pause(2)).await;
        }
    }

    /// Records a failure in place of an outcome that the store refuses. If it refuses that too, the task stays with this
    /// worker until it leaves, and is then given back.
    async fn settle_instead(&self, settle: &mut Settle, attempts: &[Settling], fault: &StoreError) {
        settle.outcome = unrecordable(&format!("the outcome can't be recorded: {fault}"));
        settle.made = None;
        let mut backoff = Backoff::for_trouble();
        for _ in 0..LAST_TRIES {
            match self.shared.store().settle(std::slice::from_ref(settle)).await {
                Ok(answers) => return self.report(std::slice::from_ref(settle), attempts, &answers),
                Err(fault) => self.shared.observer.trouble("settle", &fault),
            }
            tokio::time::sleep(backoff.pause(2)).await;
        }
    }

    /// Suspends attempts, as often as it takes. A batch that the store refuses is split.
    pub(super) fn suspend<'a>(&'a self, suspends: &'a [Suspend], attempts: &'a [Settling]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let fault = match self.insist("suspend", || self.shared.store().suspend(suspends)).await {
                Ok(answers) => return self.report_suspended(suspends, attempts, &answers),
                Err(fault) => fault,
            };
            if let [one] = suspends {
                let mut failed = Settle::new(one.task, one.token, Outcome::Release);
                return self.settle_instead(&mut failed, attempts, &fault).await;
            }
            let half = suspends.len() / 2;
            self.suspend(&suspends[..half], &attempts[..half]).await;
            self.suspend(&suspends[half..], &attempts[half..]).await;
        })
    }
}

/// Whether the fault may lie with one settle of the batch, rather than with the store as a whole.
pub(in crate::worker) fn is_about_one_of_them(fault: &StoreError) -> bool {
    fault.advice() == Advice::FixInput || matches!(fault, StoreError::Fault { .. })
}
