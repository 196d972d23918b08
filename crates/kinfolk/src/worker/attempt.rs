//! One attempt while it is in the worker's hands, and the roster of all of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kinfolk_core::{ClaimedTask, TaskId, Token, WorkerId};
use tokio::sync::Notify;

use crate::durable::book::Durable;
use crate::made::Buffer;

/// An attempt from its claim until it is settled.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) task: ClaimedTask,
    /// The share of a queue that it came from, by its index in [`super::state::Shared::shares`].
    pub(crate) share: usize,
    pub(crate) calls: Calls,
    /// The tasks that its handler has made so far.
    pub(crate) made: Buffer,
    /// Its durable operations, if it has any.
    pub(crate) durable: Durable,
    /// Its handler is elsewhere, and has not been reached yet.
    pub(crate) unbegun: AtomicBool,
}

impl Attempt {
    /// An attempt that has not begun.
    pub(crate) fn new(task: ClaimedTask, share: usize) -> Self {
        let (calls, made, durable) = (Calls::default(), Buffer::default(), Durable::default());
        Self { task, share, calls, made, durable, unbegun: AtomicBool::new(false) }
    }
}

/// The call upon an attempt. A later one overrides an earlier one, never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Call {
    /// Go on.
    None,
    /// End within the grace: someone asked for the task's end.
    Cancel,
    /// End now, and give the task back: the worker stops.
    Stop,
    /// End now: the attempt is over, or belongs to someone else.
    Over,
}

/// Where an attempt hears its calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    level: AtomicU8,
    changed: Notify,
}

impl Calls {
    pub(crate) fn call(&self, call: Call) {
        if self.level.fetch_max(call as u8, Ordering::AcqRel) < call as u8 {
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn now(&self) -> Call {
        match self.level.load(Ordering::Acquire) {
            0 => Call::None,
            1 => Call::Cancel,
            2 => Call::Stop,
            _ => Call::Over,
        }
    }

    /// Waits for a call beyond the one that was heard last.
    pub(crate) async fn called(&self, heard: Call) -> Call {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let now = self.now();
            if now > heard {
                return now;
            }
            changed.await;
        }
    }
}

/// The identity of this worker in the store, and its attempts.
#[derive(Debug, Default)]
pub(crate) struct Roster(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    worker: Option<WorkerId>,
    attempts: HashMap<TaskId, Arc<Attempt>>,
}

impl Roster {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The present worker id; `None` between the loss of a lease and the next registration.
    pub(crate) fn worker(&self) -> Option<WorkerId> {
        self.entries().worker
    }

    /// From now on this worker is known under this id.
    pub(crate) fn add(&self, worker: WorkerId) {
        self.entries().worker = Some(worker);
    }

    /// Takes on what was claimed under this id; `false` when it is no longer ours.
    pub(crate) fn admit(&self, worker: WorkerId, attempts: &[Arc<Attempt>]) -> bool {
        let mut entries = self.entries();
        if entries.worker != Some(worker) {
            return false;
        }
        entries.attempts.extend(attempts.iter().map(|attempt| (attempt.task.id, Arc::clone(attempt))));
        true
    }

    /// These attempts are settled. A task that was claimed again meanwhile, under another token, stays.
    pub(crate) fn forget<'a>(&self, settled: impl Iterator<Item = &'a Attempt>) {
        let mut entries = self.entries();
        for attempt in settled {
            if let Entry::Occupied(held) = entries.attempts.entry(attempt.task.id)
                && held.get().task.token == attempt.task.token
            {
                held.remove();
            }
        }
    }

    /// Someone asked for this task's end.
    pub(crate) fn cancel(&self, task: TaskId, token: Token) {
        let held = self.entries().attempts.get(&task).filter(|held| held.task.token == token).cloned();
        if let Some(attempt) = held {
            attempt.calls.call(Call::Cancel);
        }
    }

    /// Calls all attempts.
    pub(crate) fn call_all(&self, call: Call) {
        let held: Vec<_> = self.entries().attempts.values().cloned().collect();
        for attempt in held {
            attempt.calls.call(call);
        }
    }

    /// The lease of this id is lost: nothing it held is ours. `false` when that was known already.
    pub(crate) fn lose(&self, worker: WorkerId) -> bool {
        let held = {
            let mut entries = self.entries();
            if entries.worker != Some(worker) {
                return false;
            }
            entries.worker = None;
            std::mem::take(&mut entries.attempts)
        };
        for attempt in held.into_values() {
            attempt.calls.call(Call::Over);
        }
        true
    }
}
