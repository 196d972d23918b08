//! The inbox of the settler: ended attempts that wait to be recorded.
//!
//! Runners leave ended attempts here and go on; the settler takes them in batches. An attempt that made many tasks waits apart
//! from the others, because it goes out in a call of its own. The inbox counts an attempt until it is recorded, so that a
//! claimer can wait for a settler that falls behind.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kinfolk_core::Made;
use kinfolk_core::limits::SETTLE_BATCH_MAX;
use tokio::sync::Notify;

use super::attempt::Attempt;
use crate::done::Verdict;

/// An attempt that made more tasks than this is settled apart from the others.
const LIGHT_MAX: usize = 100;

/// Where runners leave ended attempts.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    /// Left here and not yet recorded.
    backlog: AtomicUsize,
    arrived: Notify,
    recorded: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    light: Vec<EndedAttempt>,
    heavy: VecDeque<EndedAttempt>,
}

/// An attempt that has ended.
#[derive(Debug)]
pub(crate) struct EndedAttempt {
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) verdict: Verdict,
    /// The tasks that its handler made; only if it is done.
    pub(crate) made: Option<Box<Made>>,
    pub(crate) took: Duration,
}

impl Inbox {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, ended: EndedAttempt) {
        self.push_all(std::iter::once(ended));
    }

    pub(crate) fn push_all(&self, ended: impl ExactSizeIterator<Item = EndedAttempt>) {
        self.backlog.fetch_add(ended.len(), Ordering::SeqCst);
        let first = {
            let mut waiting = self.waiting();
            let (light, heavy) = (waiting.light.len(), waiting.heavy.len());
            for ended in ended {
                if ended.made() > LIGHT_MAX {
                    waiting.heavy.push_back(ended);
                } else {
                    waiting.light.push(ended);
                }
            }
            light == 0 || waiting.heavy.len() > heavy
        };
        if first {
            self.arrived.notify_one();
        }
    }

    /// Waits until an attempt was left here.
    pub(super) async fn wait_arrived(&self) {
        self.arrived.notified().await;
    }

    /// How many wait to go out with others.
    pub(super) fn len(&self) -> usize {
        self.waiting().light.len()
    }

    /// The oldest ones, as many as one call takes: the tasks that they made count too.
    pub(super) fn take(&self) -> Vec<EndedAttempt> {
        let light = &mut self.waiting().light;
        let mut rows = 0;
        let fits = light.iter().take_while(|ended| {
            rows += 1 + ended.made();
            rows <= SETTLE_BATCH_MAX
        });
        let fits = fits.count();
        if fits == light.len() {
            let room = Vec::with_capacity(fits);
            return std::mem::replace(light, room);
        }
        let later = light.split_off(fits);
        std::mem::replace(light, later)
    }

    /// The oldest one that goes out in a call of its own.
    pub(super) fn take_heavy(&self) -> Option<EndedAttempt> {
        self.waiting().heavy.pop_front()
    }

    /// So many of those that were taken are recorded.
    pub(super) fn recorded(&self, count: usize) {
        self.backlog.fetch_sub(count, Ordering::SeqCst);
        self.recorded.notify_waiters();
    }

    /// Whether every ended attempt is recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.backlog.load(Ordering::SeqCst) == 0
    }

    pub(crate) async fn wait_empty(&self) {
        self.wait_below(1).await;
    }

    /// Waits until fewer than this many ended attempts are not yet recorded.
    pub(crate) async fn wait_below(&self, limit: usize) {
        loop {
            if self.backlog.load(Ordering::SeqCst) < limit {
                return;
            }
            let recorded = self.recorded.notified();
            tokio::pin!(recorded);
            recorded.as_mut().enable();
            if self.backlog.load(Ordering::SeqCst) < limit {
                return;
            }
            recorded.await;
        }
    }
}

impl EndedAttempt {
    /// Rows beside its own.
    fn made(&self) -> usize {
        match &self.verdict {
            Verdict::Suspend(suspend) => suspend.iter().count() + suspend.checkpoints.len(),
            _ => self.made.as_ref().map_or(0, |made| made.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::{ClaimedTask, Json, Keys, NewTask, Outcome, TaskId, Token};
    use uuid::Uuid;

    fn ended(id: i32, children: usize) -> EndedAttempt {
        let id = i64::from(id);
        let task = ClaimedTask {
            holds_slots: false,
            waited: None,
            keys: Keys::new(),
            steps: 0,
            id: TaskId(id),
            token: Token(Uuid::nil()),
            command: "work".parse().unwrap(),
            payload: Json::null(),
            attempt: 1,
            max_attempts: 1,
            timeout: None,
            trace: None,
            parent: None,
            root: TaskId(id),
            depth: 0,
        };
        let child = NewTask::new("work".parse().unwrap(), Json::null());
        let made = Made { children: vec![child; children], ..Made::default() };
        EndedAttempt {
            attempt: Arc::new(Attempt::new(task, 0)),
            verdict: Verdict::Settle(Outcome::Done(None)),
            made: (children > 0).then(|| Box::new(made)),
            took: Duration::ZERO,
        }
    }

    #[test]
    fn attempts_that_made_many_tasks_go_out_apart_from_the_others() {
        let inbox = Inbox::default();
        inbox.push_all((0..5_i32).map(|id| ended(id, if id % 2 == 0 { 0 } else { LIGHT_MAX + 1 })));
        assert_eq!(inbox.take().iter().map(|ended| ended.attempt.task.id.0).collect::<Vec<_>>(), [0, 2, 4]);
        let heavy: Vec<_> = std::iter::from_fn(|| inbox.take_heavy()).map(|ended| ended.attempt.task.id.0).collect();
        assert_eq!(heavy, [1, 3]);
        assert!(inbox.take().is_empty());
    }

    #[test]
    fn what_was_made_counts_towards_the_size_of_a_batch() {
        let inbox = Inbox::default();
        inbox.push_all((0..25_i32).map(|id| ended(id, LIGHT_MAX)));
        let batches: Vec<_> =
            std::iter::from_fn(|| Some(inbox.take().len()).filter(|taken| *taken > 0)).take(25).collect();
        assert_eq!(batches, [9, 9, 7], "nine attempts and their nine hundred tasks fit into a thousand rows");
    }
}
