//! The settler: records how attempts ended, in batches that grow with the load.
//!
//! When nothing is in flight, what has come in goes out at once; while a call is in flight, more gathers, and a second
//! call starts only for a large batch. Suspensions go out beside the ends of the same batch. An attempt that made many tasks
//! goes out in a call of its own, beside the others: it takes longer, and they need not wait for it. A call that the store could not carry out is repeated as it was: settles are
//! fenced and recognised. One that the store refuses is split, so that each outcome is its own; an outcome that can't be
//! recorded at all becomes a failure that says so.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use kinfolk_core::limits::SETTLE_BATCH_MAX;
use kinfolk_core::{Advice, Made, Outcome, Settle, Settled, State, StoreError, Suspend};
use tokio::sync::Notify;

use super::attempt::Attempt;
use super::state::{QueueShare, Shared};
use crate::backoff::Backoff;
use crate::done::{Verdict, unrecordable};

/// Calls in flight at once.
const FLIGHTS_MAX: usize = 2;
/// From this size on a batch goes out beside another one.
const SECOND_FLIGHT: usize = 200;
/// An attempt that made more tasks than this is settled apart from the others.
const LIGHT_MAX: usize = 100;
/// Such calls in flight at once.
const HEAVY_FLIGHTS_MAX: usize = 2;
/// How often a failure that replaces an unrecordable outcome is tried.
const LAST_TRIES: u32 = 5;

/// An attempt that has ended.
#[derive(Debug)]
pub(crate) struct EndedAttempt {
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) verdict: Verdict,
    /// What its handler made; only if it is done.
    pub(crate) made: Option<Box<Made>>,
    pub(crate) took: Duration,
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

    fn len(&self) -> usize {
        self.waiting().light.len()
    }

    /// The oldest ones, as many as one call takes: what they made is counted along.
    fn take(&self) -> Vec<EndedAttempt> {
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
    fn take_heavy(&self) -> Option<EndedAttempt> {
        self.waiting().heavy.pop_front()
    }

    fn recorded(&self, count: usize) {
        self.backlog.fetch_sub(count, Ordering::SeqCst);
        self.recorded.notify_waiters();
    }

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

/// Records ended attempts.
pub(crate) struct Settler {
    shared: Arc<Shared>,
}

impl Settler {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Settles what comes in.
    pub(crate) async fn run(self) {
        let mut flights = FuturesUnordered::new();
        let mut heavy = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = self.shared.inbox.arrived.notified() => {}
                Some(()) = flights.next(), if !flights.is_empty() => {}
                Some(()) = heavy.next(), if !heavy.is_empty() => {}
            }
            // Handlers that are about to end get to do so first: one larger batch instead of two.
            tokio::task::yield_now().await;
            loop {
                let waiting = self.shared.inbox.len();
                let enough = if flights.is_empty() { 1 } else { SECOND_FLIGHT };
                if waiting < enough || flights.len() >= FLIGHTS_MAX {
                    break;
                }
                flights.push(self.run_once(self.shared.inbox.take()));
            }
            while heavy.len() < HEAVY_FLIGHTS_MAX
                && let Some(ended) = self.shared.inbox.take_heavy()
            {
                heavy.push(self.run_once(vec![ended]));
            }
        }
    }

    /// Records one batch and reports what became of it.
    async fn run_once(&self, batch: Vec<EndedAttempt>) {
        let count = batch.len();
        let mut settles = Vec::with_capacity(count);
        let mut attempts = Vec::with_capacity(count);
        let mut over: Vec<Arc<Attempt>> = Vec::new();
        let mut suspending = Suspending::default();
        for EndedAttempt { attempt, verdict, made, took } in batch {
            match verdict {
                Verdict::Settle(outcome) => {
                    let settle = Settle { made, ..Settle::new(attempt.task.id, attempt.task.token, outcome) };
                    settles.push(recordable(settle));
                    attempts.push(Settling { attempt, took });
                }
                Verdict::Suspend(suspend) => match suspend.check() {
                    Ok(()) => suspending.push(*suspend, Settling { attempt, took }),
                    Err(fault) => {
                        let outcome = unrecordable(&fault.to_string());
                        settles.push(Settle::new(attempt.task.id, attempt.task.token, outcome));
                        attempts.push(Settling { attempt, took });
                    }
                },
                Verdict::Committed(state) => {
                    let share = &self.shared.shares[attempt.share];
                    self.shared.observer.committed(&attempt, &share.queue, took, state);
                    share.sums.add(&attempt.task.command, |figures| figures.end(state, took));
                    if state == State::Waiting {
                        self.shared.wake_made();
                    }
                    self.freed(&attempt);
                    over.push(attempt);
                }
                Verdict::Suspended => {
                    let share = &self.shared.shares[attempt.share];
                    let answer = Settled::Recorded(State::Waiting);
                    self.shared.observer.suspended(&attempt, &share.queue, took, answer);
                    share.sums.add(&attempt.task.command, |figures| figures.suspended += 1);
                    self.shared.wake_made();
                    self.freed(&attempt);
                    over.push(attempt);
                }
                Verdict::Dropped => over.push(attempt),
            }
        }
        match (settles.is_empty(), suspending.suspends.is_empty()) {
            (true, true) => {}
            (false, true) => self.settle(&mut settles, &attempts).await,
            (true, false) => self.suspend(&suspending.suspends, &suspending.attempts).await,
            (false, false) => {
                let suspended = self.suspend(&suspending.suspends, &suspending.attempts);
                tokio::join!(self.settle(&mut settles, &attempts), suspended);
            }
        }
        let ended = attempts.iter().chain(&suspending.attempts).map(|settling| &*settling.attempt);
        let ended = ended.chain(over.iter().map(|attempt| &**attempt));
        self.shared.roster.forget(ended);
        self.shared.observer.ended_running(count);
        self.shared.inbox.recorded(count);
        self.shared.kinfolk.settlements.announce();
        self.shared.stirred.notify_one();
        self.shared.wake_limited();
    }

    fn settle<'a>(&'a self, settles: &'a mut [Settle], attempts: &'a [Settling]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut backoff = Backoff::for_trouble();
            let fault = loop {
                match self.shared.store().settle(settles).await {
                    Ok(answers) => return self.report(settles, attempts, &answers),
                    Err(fault) => {
                        self.shared.observer.trouble("settle", &fault);
                        if is_about_one_of_them(&fault) {
                            break fault;
                        }
                    }
                }
                tokio::time::sleep(backoff.pause(2)).await;
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

    fn suspend<'a>(&'a self, suspends: &'a [Suspend], attempts: &'a [Settling]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut backoff = Backoff::for_trouble();
            let fault = loop {
                match self.shared.store().suspend(suspends).await {
                    Ok(answers) => return self.report_suspended(suspends, attempts, &answers),
                    Err(fault) => {
                        self.shared.observer.trouble("suspend", &fault);
                        if is_about_one_of_them(&fault) {
                            break fault;
                        }
                    }
                }
                tokio::time::sleep(backoff.pause(2)).await;
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

    fn report_suspended(&self, suspends: &[Suspend], attempts: &[Settling], answers: &[Settled]) {
        for ((suspend, settling), answer) in suspends.iter().zip(attempts).zip(answers) {
            let share = &self.shared.shares[settling.attempt.share];
            self.shared.observer.suspended(&settling.attempt, &share.queue, settling.took, *answer);
            if *answer != Settled::Stale {
                share.sums.add(&settling.attempt.task.command, |figures| figures.suspended += 1);
            }
            share.took(settling.took);
            if suspend.iter().next().is_some() {
                self.shared.wake_made();
            } else if matches!(answer, Settled::Recorded(State::Pending) | Settled::Repeated(State::Pending)) {
                share.wake.notify_one();
            }
            self.freed(&settling.attempt);
        }
    }

    fn report(&self, settles: &[Settle], attempts: &[Settling], answers: &[Settled]) {
        for ((settle, settling), answer) in settles.iter().zip(attempts).zip(answers) {
            let share = &self.shared.shares[settling.attempt.share];
            self.shared.observer.settled(&settling.attempt, &share.queue, settling.took, &settle.outcome, *answer);
            sum_up(share, settling, &settle.outcome, *answer);
            share.took(settling.took);
            // What goes back to pending may be claimable at once; so may the next suspect when one has ended.
            if settle.made.is_some() {
                self.shared.wake_made();
            } else if share.suspects.load(Ordering::Relaxed) || matches!(answer, Settled::Recorded(State::Pending)) {
                share.wake.notify_one();
            }
            self.freed(&settling.attempt);
        }
    }

    /// An attempt that held slots is recorded: what waited for them on its queue may start now.
    fn freed(&self, attempt: &Attempt) {
        if attempt.task.holds_slots {
            self.shared.shares[attempt.share].wake.notify_one();
        }
    }
}

/// An attempt whose settle is under way.
struct Settling {
    attempt: Arc<Attempt>,
    took: Duration,
}

/// Counts an attempt that has ended for the figures by the minute. A snoozed or released one has not: it goes on later.
fn sum_up(share: &QueueShare, settling: &Settling, outcome: &Outcome, answer: Settled) {
    let (Settled::Recorded(state) | Settled::Repeated(state)) = answer else { return };
    if state == State::Pending && !matches!(outcome, Outcome::Failed { .. } | Outcome::Done(_)) {
        return;
    }
    share.sums.add(&settling.attempt.task.command, |figures| figures.end(state, settling.took));
}

/// Attempts that are to be suspended.
#[derive(Default)]
struct Suspending {
    suspends: Vec<Suspend>,
    attempts: Vec<Settling>,
}

impl Suspending {
    fn push(&mut self, suspend: Suspend, settling: Settling) {
        self.suspends.push(suspend);
        self.attempts.push(settling);
    }
}

/// The settle, or a failure in its place that says why no store would keep it.
fn recordable(settle: Settle) -> Settle {
    match settle.check() {
        Ok(()) => settle,
        Err(fault) => Settle { outcome: unrecordable(&fault.to_string()), made: None, ..settle },
    }
}

/// Whether the fault may lie with one settle of the batch, rather than with the store as a whole.
pub(super) fn is_about_one_of_them(fault: &StoreError) -> bool {
    fault.advice() == Advice::FixInput || matches!(fault, StoreError::Fault { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::limits::RESULT_BYTES_MAX;
    use kinfolk_core::{ClaimedTask, Json, Keys, NewTask, TaskId, Token};
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

    #[test]
    fn a_result_that_is_too_large_becomes_a_failure_that_says_so() {
        let large = Json::of(&"x".repeat(RESULT_BYTES_MAX)).unwrap();
        let settle = Settle::new(TaskId(1), Token(Uuid::nil()), Outcome::Done(Some(large)));
        match recordable(settle).outcome {
            Outcome::Failed { failure, .. } => assert!(failure.message.contains("the result is"), "{failure:?}"),
            other => panic!("{other:?}"),
        }
    }
}
