//! The runner: one attempt from its first step to its end.
//!
//! It is one tokio task and does nothing but drive the handler, under a timeout if the task has one, and listen for
//! calls: a cancellation gives the handler the grace to end by itself, a stop or a lost lease drops it at once. A panic
//! is a failure like any other. A handler that is pending, waits for something durable and has nothing in flight is
//! dropped, and its task is suspended. One that has recorded something before gets its history first. Whatever happens,
//! the permit is given back and the settler is told.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use futures_util::{FutureExt, poll};
use kinfolk_core::crash::point;
use kinfolk_core::{FailureKind, Outcome};
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;

use super::attempt::{Attempt, Call};
use super::inbox::EndedAttempt;
use super::state::Shared;
use crate::ctx::Ctx;
use crate::done::Verdict;
use crate::durable::book::suspended;
use crate::layer;
use crate::task_error::TaskError;

/// Runs one attempt and hands its end to the settler.
pub(crate) async fn run(shared: Arc<Shared>, attempt: Arc<Attempt>) {
    let span = shared.observer.span(&attempt, &shared.shares[attempt.share].queue);
    let mut report = Report { shared, attempt, began: Instant::now(), verdict: None };
    report.shared.observer.started(&report.attempt, &report.shared.shares[report.attempt.share].queue);
    point("handler.before");
    let ended = drive(&report.shared, &report.attempt).instrument(span.clone()).await;
    report.shared.observer.close(&span, report.began.elapsed(), ended.as_ref().err());
    if let Err(fault) = &ended {
        report.shared.observer.failed(&Ctx::new(&report.attempt, &report.shared), fault);
    }
    point("handler.after");
    // Whatever the handler left behind should know that its attempt is over.
    report.attempt.calls.call(Call::Over);
    report.verdict = Some(recorded(ended));
}

/// How an attempt is recorded that ended so.
pub(crate) fn recorded(ended: Result<Verdict, TaskError>) -> Verdict {
    ended.unwrap_or_else(|fault| Verdict::Settle(fault.into_outcome()))
}

/// Drives the handler to its end, or drops it.
pub(crate) async fn drive(shared: &Arc<Shared>, attempt: &Arc<Attempt>) -> Result<Verdict, TaskError> {
    let Some(handler) = shared.handlers.get(&attempt.task.command) else {
        // The store gave us what we did not ask for; someone else may have a handler.
        return Ok(Verdict::Settle(Outcome::Release));
    };
    let ctx = Ctx::new(attempt, shared);
    let work = AssertUnwindSafe(async {
        if attempt.task.steps > 0 {
            Box::pin(load(&ctx)).await?;
        }
        layer::run(handler, ctx).await
    });
    let work = work.catch_unwind();
    tokio::pin!(work);
    let mut seen = None;
    // Ends with the handler, or when it has come as far as it can without what it waits for.
    let mut work = poll_fn(move |cx| match work.as_mut().poll(cx) {
        Poll::Ready(Ok(ended)) => Poll::Ready(ended.map(Verdict::from)),
        Poll::Ready(Err(panic)) => Poll::Ready(Err(panicked(&*panic))),
        Poll::Pending => attempt.durable.poll_suspended(&mut seen, cx).map(|()| suspended(attempt)),
    });
    // Most short handlers are through at once: then nothing else has to be set up, and they need not carry room for it.
    match poll!(&mut work) {
        Poll::Ready(ended) => ended,
        Poll::Pending => Box::pin(attend(shared, attempt, work)).await,
    }
}

/// Waits for the end of a handler at work, its deadline, or a call that ends it.
async fn attend(
    shared: &Shared,
    attempt: &Attempt,
    mut work: impl Future<Output = Result<Verdict, TaskError>> + Unpin,
) -> Result<Verdict, TaskError> {
    let mut deadline = attempt.task.timeout.map(|timeout| Instant::now() + timeout);
    let mut heard = Call::None;
    loop {
        tokio::select! {
            // Calls come first: a handler that hears of a hard stop must not get to end as if its work were done.
            biased;
            call = attempt.calls.called(heard) => match call {
                Call::None => {}
                Call::Cancel => {
                    heard = Call::Cancel;
                    deadline = Some(Instant::now() + shared.options.grace);
                }
                Call::Stop => return Ok(Verdict::Settle(Outcome::Release)),
                Call::Over => return Ok(Verdict::Dropped),
            },
            ended = &mut work => return ended,
            () = at(deadline) => return match heard {
                Call::None if attempt.unbegun.load(Ordering::Relaxed) => Ok(Verdict::Settle(Outcome::Release)),
                Call::None => Err(timed_out(attempt)),
                _ => Ok(Verdict::Settle(Outcome::Cancelled)),
            },
        }
    }
}

/// Reads what the task has recorded before its handler asks for it.
async fn load(ctx: &Ctx) -> Result<(), TaskError> {
    let history = ctx.ask("history", |store| store.history(ctx.task())).await?;
    ctx.with_book(|book| book.load(history));
    Ok(())
}

/// Waits until a deadline; forever when there is none.
async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn timed_out(attempt: &Attempt) -> TaskError {
    let timeout = attempt.task.timeout.unwrap_or_default();
    TaskError::of_kind(FailureKind::Timeout, format!("the attempt ran longer than {timeout:?}"))
}

/// The error of a handler that panicked with this.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> TaskError {
    let words = panic
        .downcast_ref::<&str>()
        .map(|words| (*words).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned());
    TaskError::of_kind(FailureKind::Panic, words)
}

/// Reports the end of an attempt when it is dropped, so that even a handler that panics while it is being dropped is
/// settled and gives its permit back.
struct Report {
    shared: Arc<Shared>,
    attempt: Arc<Attempt>,
    began: Instant,
    verdict: Option<Verdict>,
}

impl Drop for Report {
    fn drop(&mut self) {
        let dropped = || recorded(Err(panicked(&"the handler panicked while it was dropped")));
        let verdict = self.verdict.take().unwrap_or_else(dropped);
        // Only work that is done leaves something behind.
        let made = self.attempt.made.close().filter(|_| matches!(verdict, Verdict::Settle(Outcome::Done(_))));
        let ended = EndedAttempt { attempt: Arc::clone(&self.attempt), verdict, made, took: self.began.elapsed() };
        // In this order: an attempt is always seen as running or as not yet recorded, never as neither.
        self.shared.inbox.push(ended);
        self.shared.give_back(self.attempt.share, 1);
    }
}
