//! The durable operations of one attempt: its earlier records, the operations that it has asked for since, its waits,
//! and its records that are not written yet.
//!
//! A handler without durable operations never opens its book. The book decides when an attempt may be suspended: when at
//! least one durable wait is open and nothing is in flight, neither the body of a step nor a call to the store. It never
//! speaks to the store itself.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;
use kinfolk_core::{
    Await, Checkpoint, ChildResult, Failure, FanOut, FanOutId, History, Json, Key, NewFanOut, Retry, SignalName,
    StepKind, Suspend, Timestamp,
};

use super::key::Spot;
use crate::done::Verdict;
use crate::made::Buffer;
use crate::task_error::TaskError;
use crate::worker::attempt::Attempt;

/// The book of an attempt, opened by its first durable operation.
#[derive(Default)]
pub(crate) struct Durable {
    book: OnceLock<Box<Opened>>,
    /// Polls the handler again when a wait was opened or something in flight has landed, on whatever task that was.
    runner: AtomicWaker,
    /// Nothing is written: the history is only run through.
    pub(crate) dry: bool,
}

#[derive(Debug, Default)]
struct Opened {
    book: Mutex<Book>,
    /// Held while checkpoints are on their way, so that no step starts before the store has recorded what it saw.
    sending: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(crate) struct Book {
    recorded: HashMap<Key, Entry>,
    /// Digests of what was made, by spot and the number of the first one.
    made: HashMap<Spot, BTreeMap<u32, Vec<String>>>,
    fan_outs: HashMap<FanOutId, FanOut>,
    results: HashMap<FanOutId, Vec<ChildResult>>,
    asked: HashMap<Spot, u32>,
    open: HashSet<Spot>,
    /// How many records each fold has.
    folds: HashMap<Spot, u32>,
    unsent: Vec<Checkpoint>,
    in_flight: usize,
    waits: BTreeMap<u64, (Key, Wait)>,
    /// Changes whenever something is asked for: while it does, the handler is still on its way.
    version: u64,
    /// Where a dry run came to its end.
    stopped: Vec<(Key, StepKind)>,
    /// The first mistake in the handler's code.
    mistake: Option<Failure>,
    missed: bool,
    unseen: usize,
    /// The store's clock, as it was last read in this attempt.
    pub(crate) clock: Option<Timestamp>,
}

#[derive(Debug)]
struct Entry {
    kind: StepKind,
    digest: String,
    value: Json,
    seen: bool,
}

/// The waits of a handler.
#[derive(Clone, Debug)]
pub(crate) enum Wait {
    /// Children that are not made yet.
    New(Box<NewFanOut>),
    /// Children that were made before.
    For(Await),
    /// A moment.
    Until(Timestamp),
    /// A signal, or a moment at the latest.
    Signal(SignalName, Option<Timestamp>),
    /// Nothing: in a dry run this is where the handler would go on.
    Would(StepKind),
}

impl Wait {
    fn kind(&self) -> StepKind {
        match self {
            Self::New(_) | Self::For(_) => StepKind::FanOut,
            Self::Until(_) => StepKind::Sleep,
            Self::Signal(..) => StepKind::Signal,
            Self::Would(kind) => *kind,
        }
    }
}

/// The record under a key.
pub(crate) enum Found {
    /// This.
    Value(Json),
    /// Nothing: it is done now.
    Nothing,
    /// Something else.
    Other { kind: StepKind, same_kind: bool },
}

impl Durable {
    pub(crate) fn dry() -> Self {
        Self { dry: true, ..Self::default() }
    }

    /// Whether there is a book.
    pub(crate) fn is_open(&self) -> bool {
        self.book.get().is_some()
    }

    /// Opens the book, and first writes the tasks made so far into it. The caller holds the lock of these tasks.
    pub(crate) fn open_with(&self, write: impl FnOnce(&mut Book)) {
        self.book.get_or_init(|| {
            let mut opened = Box::<Opened>::default();
            write(opened.book.get_mut().unwrap_or_else(PoisonError::into_inner));
            opened
        });
    }

    /// The book, if it is open.
    pub(crate) fn try_book(&self) -> Option<MutexGuard<'_, Book>> {
        self.book.get().map(|opened| opened.book.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The book; opened if it was not.
    pub(crate) fn book(&self, made: &Buffer) -> MutexGuard<'_, Book> {
        if self.book.get().is_none() {
            made.open(self);
        }
        let opened = self.book.get_or_init(Box::default);
        opened.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no checkpoints are on their way, and lets none go before the guard is dropped.
    pub(crate) async fn sending(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.book.get_or_init(Box::default).sending.lock().await
    }

    pub(crate) fn wake(&self) {
        self.runner.wake();
    }

    /// Whether the handler, which has just been polled and is pending, can be suspended now. It is polled once more first:
    /// only if nothing new was asked for then, it has come as far as it can.
    pub(crate) fn poll_suspended(&self, seen: &mut Option<u64>, cx: &Context<'_>) -> Poll<()> {
        self.runner.register(cx.waker());
        let Some(book) = self.try_book() else { return Poll::Pending };
        if book.in_flight > 0 || book.waits.is_empty() {
            return Poll::Pending;
        }
        if *seen == Some(book.version) {
            return Poll::Ready(());
        }
        *seen = Some(book.version);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Book {
    /// Takes in what was recorded by earlier attempts.
    pub(crate) fn load(&mut self, history: History) {
        for Checkpoint { key, kind, digest, value } in history.checkpoints {
            if kind == StepKind::Make {
                let spot = Spot { branch: key.branch.as_str().into(), name: key.name.as_str().into() };
                let digests = value.to().unwrap_or_default();
                self.made.entry(spot).or_default().insert(key.occurrence, digests);
            }
            self.unseen += 1;
            self.recorded.insert(key, Entry { kind, digest, value, seen: false });
        }
        self.fan_outs.extend(history.fan_outs.into_iter().map(|fan_out| (fan_out.id, fan_out)));
        for result in history.results {
            self.results.entry(result.fan_out).or_default().push(result);
        }
    }

    /// The number of the next operation at this spot.
    pub(crate) fn number(&mut self, spot: &Spot) -> u32 {
        self.version += 1;
        let next = self.asked.entry(spot.clone()).or_default();
        *next += 1;
        *next - 1
    }

    /// Whether the next operation at this spot was recorded.
    pub(crate) fn knows_next(&self, spot: &Spot) -> bool {
        let next = self.asked.get(spot).copied().unwrap_or_default();
        self.recorded.contains_key(&spot.key(next))
    }

    /// Opens an operation at this spot; `None` when another one is open there.
    pub(crate) fn begin(&mut self, spot: &Spot) -> Option<u32> {
        self.open.insert(spot.clone()).then(|| self.number(spot))
    }

    pub(crate) fn leave(&mut self, spot: &Spot) {
        self.open.remove(spot);
    }

    /// The record under this key of an operation of this kind that asked for this.
    pub(crate) fn find(&mut self, key: &Key, kind: StepKind, digest: &str) -> Found {
        let Some(entry) = self.recorded.get_mut(key) else {
            self.missed = true;
            return Found::Nothing;
        };
        if !std::mem::replace(&mut entry.seen, true) {
            self.unseen -= 1;
        }
        match entry.kind == kind && entry.digest == digest {
            true => Found::Value(entry.value.clone()),
            false => Found::Other { kind: entry.kind, same_kind: entry.kind == kind },
        }
    }

    /// A record that belongs to another operation, which was asked for.
    pub(crate) fn see(&mut self, key: &Key) {
        if let Some(entry) = self.recorded.get_mut(key)
            && !std::mem::replace(&mut entry.seen, true)
        {
            self.unseen -= 1;
        }
    }

    /// The digest of what was made at this spot under this number, if it was made before.
    pub(crate) fn find_made(&mut self, spot: &Spot, number: u32) -> Option<String> {
        let found = self.made.get(spot).and_then(|groups| groups.range(..=number).next_back());
        let found = found.and_then(|(first, digests)| Some((*first, digests.get((number - first) as usize)?)));
        let Some((first, digest)) = found else {
            self.missed = true;
            return None;
        };
        let digest = digest.clone();
        if number == first {
            self.see(&spot.key(first));
        }
        Some(digest)
    }

    /// Whether everything asked for so far had been recorded, and there is more.
    pub(crate) fn is_replaying(&self) -> bool {
        !self.missed && self.unseen > 0
    }

    /// The records that the handler has not asked for.
    pub(crate) fn unseen(&self) -> Vec<Key> {
        let mut keys: Vec<_> =
            self.recorded.iter().filter(|(_, entry)| !entry.seen).map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys
    }

    pub(crate) fn fan_out(&self, id: FanOutId) -> Option<FanOut> {
        self.fan_outs.get(&id).cloned()
    }

    pub(crate) fn keep_fan_out(&mut self, fan_out: FanOut) {
        self.fan_outs.insert(fan_out.id, fan_out);
    }

    /// The results that came along with the history.
    pub(crate) fn take_results(&mut self, id: FanOutId) -> Option<Vec<ChildResult>> {
        self.results.remove(&id)
    }

    /// Keeps a checkpoint for the next write.
    pub(crate) fn keep(&mut self, checkpoint: Checkpoint) {
        self.version += 1;
        self.unsent.push(checkpoint);
    }

    /// Keeps how far a fold has come for the next write, in place of what was kept since the last one.
    pub(crate) fn keep_fold(&mut self, spot: &Spot, digest: &str, value: Json) {
        let newest = self.folds.entry(spot.clone()).or_default();
        let kept = newest.checked_sub(1).map(|number| spot.key(number));
        if let Some(older) = self.unsent.iter_mut().find(|older| Some(&older.key) == kept.as_ref()) {
            older.value = value;
            return;
        }
        let key = spot.key(*newest);
        *newest += 1;
        self.keep(Checkpoint { key, kind: StepKind::Fold, digest: digest.to_owned(), value });
    }

    /// The last that was recorded of the fold at this spot.
    pub(crate) fn last_fold(&mut self, spot: &Spot, digest: &str) -> Option<Json> {
        let (mut number, mut last) = (0, None);
        while self.recorded.contains_key(&spot.key(number))
            && let Found::Value(value) = self.find(&spot.key(number), StepKind::Fold, digest)
        {
            last = Some(value);
            number += 1;
        }
        self.folds.insert(spot.clone(), number);
        last
    }

    pub(crate) fn unsent(&self) -> usize {
        self.unsent.len()
    }

    pub(crate) fn take_unsent(&mut self) -> Vec<Checkpoint> {
        std::mem::take(&mut self.unsent)
    }

    pub(crate) fn flies(&mut self) {
        self.version += 1;
        self.in_flight += 1;
    }

    pub(crate) fn landed(&mut self) {
        self.version += 1;
        self.in_flight -= 1;
    }

    pub(crate) fn await_this(&mut self, key: Key, wait: Wait) -> u64 {
        self.version += 1;
        self.waits.insert(self.version, (key, wait));
        self.version
    }

    pub(crate) fn await_no_more(&mut self, wait: u64) {
        self.version += 1;
        self.waits.remove(&wait);
    }

    pub(crate) fn mistaken(&mut self, failure: Failure) {
        self.mistake.get_or_insert(failure);
    }

    /// Where a dry run came to its end.
    pub(crate) fn take_stopped(&mut self) -> Vec<(Key, StepKind)> {
        std::mem::take(&mut self.stopped)
    }
}

/// How an attempt goes on that has come as far as it can: suspended, with everything that goes out with it, or failed for a
/// mistake in its code.
pub(crate) fn suspended(attempt: &Attempt) -> Result<Verdict, TaskError> {
    let mistake = attempt.durable.try_book().and_then(|mut book| book.mistake.take());
    match mistake {
        Some(failure) => Err(TaskError::of(failure, Retry::Never)),
        None => Ok(Verdict::Suspend(Box::new(suspension(attempt)))),
    }
}

fn suspension(attempt: &Attempt) -> Suspend {
    let (made, made_at) = attempt.made.close_with_checkpoints();
    let mut suspend = Suspend::new(attempt.task.id, attempt.task.token);
    suspend.made = made;
    let Some(mut book) = attempt.durable.try_book() else { return suspend };
    suspend.checkpoints = book.take_unsent();
    suspend.checkpoints.extend(made_at);
    let soonest = |until: &mut Option<Timestamp>, moment: Option<Timestamp>| {
        *until = (*until).into_iter().chain(moment).min();
    };
    for (key, wait) in std::mem::take(&mut book.waits).into_values() {
        if attempt.durable.dry {
            book.stopped.push((key, wait.kind()));
        }
        match wait {
            Wait::New(fan_out) => suspend.fan_outs.push(*fan_out),
            Wait::For(await_this) => suspend.awaits.push(await_this),
            Wait::Until(moment) => soonest(&mut suspend.until, Some(moment)),
            Wait::Signal(name, moment) => {
                soonest(&mut suspend.until, moment);
                if !suspend.signals.contains(&name) {
                    suspend.signals.push(name);
                }
            }
            Wait::Would(_) => {}
        }
    }
    suspend
}

impl fmt::Debug for Durable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Durable").field("open", &self.is_open()).field("dry", &self.dry).finish_non_exhaustive()
    }
}
