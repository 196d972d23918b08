//! Fan-out and fan-in: sub-tasks side by side, and their results in order.
//!
//! The handler is suspended with the children in one transaction and resumed when the rule of the fan-out is met. Its
//! answer has the children that had ended by then, in the order that the store keeps: the same however often it asks.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use kinfolk_core::limits::{DEPTH_MAX, PAGE_MAX};
use kinfolk_core::{
    Await, ChildResult, FanOut as Kept, FanOutId, NewFanOut, ReadBy, Rule, State, StepKind, StoreError, Verdict,
};
use serde::de::DeserializeOwned;

use super::book::Wait;
use super::op::Op;
use super::results::{FanOutError, Results, SubFailure, SubResult, failure_of};
use super::sub::{Children, Sub, Terms};
use crate::ctx::Ctx;
use crate::family::MakeError;
use crate::task::Task;
use crate::task_error::TaskError;

/// Pages of results that are asked for at once.
const PAGES_AHEAD: usize = 2;

impl Ctx {
    /// Runs sub-tasks side by side and waits for their results, without a worker. Await it; fails fast unless told
    /// otherwise.
    ///
    /// ```
    /// use kinfolk::{Ctx, Sub, TaskError};
    ///
    /// async fn total(ctx: Ctx, items: Vec<u64>) -> Result<u64, TaskError> {
    ///     let prices = ctx.fan_out::<u64>(items.iter().map(|item| Sub::new("price_of", item))).await?;
    ///     Ok(prices.values().into_iter().sum())
    /// }
    /// ```
    pub fn fan_out<'a, T>(&'a self, subs: impl IntoIterator<Item = Sub, IntoIter: Send + 'a>) -> FanOut<'a, T>
    where
        T: DeserializeOwned + Send + 'a,
    {
        FanOut::new(self, Box::new(subs.into_iter()))
    }

    /// Runs typed sub-tasks side by side and waits for their results, without a worker. Await it.
    pub fn fan_out_tasks<'a, T: Task>(
        &'a self,
        tasks: impl IntoIterator<Item = T, IntoIter: Send + 'a>,
    ) -> FanOut<'a, T::Output> {
        FanOut::new(self, Box::new(tasks.into_iter().map(|task| Sub::of(&task))))
    }
}

/// A fan-out about to begin. Nothing happens until it is awaited.
#[must_use = "nothing is run until this is awaited"]
pub struct FanOut<'a, T> {
    pub(crate) ctx: &'a Ctx,
    pub(crate) subs: Subs<'a>,
    pub(crate) terms: Terms,
    of: PhantomData<fn() -> T>,
}

pub(crate) type Subs<'a> = Box<dyn Iterator<Item = Sub> + Send + 'a>;

/// The options of a fan-out, for a builder with the field `terms`.
macro_rules! fan_out_options {
    () => {
        /// Settled badly, at once, with the first sub-task that does not complete; well when all have.
        pub fn fail_fast(mut self) -> Self {
            self.terms.rule = Some(kinfolk_core::Rule::FailFast);
            self
        }

        /// Settled well when all have ended, in whatever way.
        pub fn collect_all(mut self) -> Self {
            self.terms.rule = Some(kinfolk_core::Rule::CollectAll);
            self
        }

        /// Settled well when all have ended and at least this share of them (0 to 1, kept in parts per million) has
        /// completed; badly as soon as that can't be reached any more.
        pub fn threshold(mut self, share: f64) -> Self {
            self.terms.threshold(share);
            self
        }

        /// The queue of sub-tasks that name none.
        pub fn queue(mut self, queue: impl AsRef<str>) -> Self {
            self.terms.on_queue(queue.as_ref());
            self
        }

        /// The priority of sub-tasks that name none. Default: the parent's.
        pub fn priority(mut self, priority: i32) -> Self {
            self.terms.priority = Some(priority);
            self
        }

        /// Attempts in all of sub-tasks that name none. Default: what their command declares, else the parent's.
        pub fn max_attempts(mut self, attempts: u16) -> Self {
            self.terms.max_attempts = Some(attempts);
            self
        }

        /// How long one attempt of a sub-task may run, for sub-tasks that do not say.
        pub fn sub_task_timeout(mut self, timeout: std::time::Duration) -> Self {
            self.terms.sub_task_timeout = Some(timeout);
            self
        }

        /// The key of this group for sub-tasks that give none in it.
        pub fn key(self, group: impl AsRef<str>, key: impl Into<String>) -> Self {
            self.keys([(group, key)])
        }

        /// The keys of these groups for sub-tasks that give none in them.
        pub fn keys<N: AsRef<str>, K: Into<String>>(mut self, keys: impl IntoIterator<Item = (N, K)>) -> Self {
            self.terms.with_keys(kinfolk_core::Keys::of(keys));
            self
        }

        /// Sub-tasks also run under the parent's keys, in the groups that their commands have; keys that they give
        /// themselves, or that the fan-out gives, go before.
        pub fn inherit_keys(mut self) -> Self {
            self.terms.inherit_keys = true;
            self
        }

        /// How long the whole fan-out may take, by the store's clock; then its open sub-tasks are cancelled, and the parent
        /// gets an error.
        pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
            self.terms.timeout = Some(timeout);
            self
        }

        /// Cancel the open sub-tasks when the parent fails for good.
        pub fn cancel_on_parent_failure(mut self) -> Self {
            self.terms.cancel_on_failure = true;
            self
        }

        /// The name of this operation among those of the handler. Default: the command of the first sub-task.
        pub fn named(mut self, name: impl Into<String>) -> Self {
            self.terms.name = Some(name.into());
            self
        }
    };
}
pub(crate) use fan_out_options;

impl<'a, T> FanOut<'a, T> {
    fn new(ctx: &'a Ctx, subs: Subs<'a>) -> Self {
        Self { ctx, subs, terms: Terms::default(), of: PhantomData }
    }

    fan_out_options!();
}

impl<'a, T: DeserializeOwned + Send + 'a> IntoFuture for FanOut<'a, T> {
    type Output = Result<Results<T>, TaskError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Some(children) = Children::gather(self.ctx, &self.terms, self.subs)? else {
                return Ok(Results::new(Vec::new()));
            };
            let rule = self.terms.rule.unwrap_or_default();
            let begun = Begun::begin(self.ctx, &self.terms, rule, children)?;
            let fan_out = begun.settled().await?;
            let Some(verdict) = fan_out.verdict else { return Err(begun.wait_for(begun.total).await) };
            if verdict != Verdict::Completed {
                return Err(begun.failed(&fan_out, verdict).await?.into());
            }
            begun.results(&fan_out).await.map(Results::new)
        })
    }
}

/// A fan-out operation: begun now, or begun by an earlier attempt.
pub(crate) struct Begun<'a> {
    pub(crate) op: Op<'a>,
    pub(crate) total: u32,
    id: Option<FanOutId>,
    new: Mutex<Option<Box<NewFanOut>>>,
}

impl<'a> Begun<'a> {
    pub(crate) fn begin(ctx: &'a Ctx, terms: &Terms, rule: Rule, children: Children) -> Result<Self, TaskError> {
        if ctx.depth() >= DEPTH_MAX {
            return Err(MakeError::TooDeep(ctx.task()).into());
        }
        let total = children.total;
        let (op, recorded) = ctx.begin(&children.name, StepKind::FanOut, children.digest)?;
        let id = recorded.map(|number| op.read(&number)).transpose()?;
        let new = id.is_none().then(|| {
            Box::new(NewFanOut {
                key: op.key.clone(),
                digest: op.digest(),
                children: Arc::new(children.tasks),
                rule,
                timeout: terms.timeout,
                cancel_on_failure: terms.cancel_on_failure,
                wake_at: total,
            })
        });
        Ok(Self { op, total, id, new: Mutex::new(new) })
    }

    /// The fan-out as it is. One whose time is up is given up here; one that does not exist yet is begun here, and the
    /// handler goes no further.
    pub(crate) async fn settled(&self) -> Result<Kept, TaskError> {
        self.settled_or(self.total).await
    }

    /// The same, for a fan-out that is first looked at when so many children have ended.
    pub(crate) async fn settled_or(&self, wake_at: u32) -> Result<Kept, TaskError> {
        let Some(id) = self.id else { return Err(self.wait_for(wake_at).await) };
        let ctx = self.op.ctx;
        let fan_out = ctx.with_book(|book| book.fan_out(id)).ok_or_else(|| StoreError::not_found("fan-out", id))?;
        let Some(deadline) = fan_out.deadline.filter(|_| fan_out.verdict.is_none() && !ctx.is_dry()) else {
            return Ok(fan_out);
        };
        if !ctx.has_passed(deadline).await? {
            return Ok(fan_out);
        }
        let (task, token) = (ctx.task(), ctx.token());
        match ctx.ask("expire", |store| store.expire(task, token, id)).await? {
            Some(fan_out) => {
                ctx.with_book(|book| book.keep_fan_out(fan_out.clone()));
                Ok(fan_out)
            }
            None => Err(ctx.lost().await),
        }
    }

    /// Waits until so many children have ended, or it is settled.
    pub(crate) async fn wait_for(&self, wake_at: u32) -> TaskError {
        let new = self.new.lock().unwrap_or_else(PoisonError::into_inner).take();
        let wait = match (new, self.id) {
            (Some(new), _) => Wait::New(Box::new(NewFanOut { wake_at, ..*new })),
            (None, Some(fan_out)) => Wait::For(Await { fan_out, wake_at }),
            (None, None) => return TaskError::new("this fan-out was given up before it began; ask for it once"),
        };
        self.op.wait(wait).await
    }

    /// All results that count, in the order of the sub-tasks.
    async fn results<T: DeserializeOwned>(&self, fan_out: &Kept) -> Result<Vec<SubResult<T>>, TaskError> {
        let mut results = Vec::with_capacity(self.total as usize);
        let pages = (0..self.total).step_by(PAGE_MAX).map(|from| self.page(fan_out, ReadBy::Index, from, PAGE_MAX));
        let mut pages = stream::iter(pages).buffered(PAGES_AHEAD);
        while let Some(page) = pages.next().await {
            for child in page?.into_iter().filter(|child| counts(fan_out, child)) {
                results.push(SubResult::of(child)?);
            }
        }
        Ok(results)
    }

    /// The failures, child by child in their order.
    pub(crate) async fn failed(&self, fan_out: &Kept, verdict: Verdict) -> Result<FanOutError, TaskError> {
        let mut failures: Vec<SubFailure> = Vec::new();
        let (mut from, until, mut completed) = (0, fan_out.decided_at.unwrap_or_default(), 0);
        while from < until {
            let page = self.page(fan_out, ReadBy::Ended, from, PAGE_MAX).await?;
            if page.is_empty() {
                break;
            }
            from += u32::try_from(page.len()).unwrap_or(u32::MAX);
            let counted = page.into_iter().filter(|child| counts(fan_out, child));
            let (well, bad): (Vec<_>, Vec<_>) = counted.partition(|child| child.state == State::Completed);
            completed += well.len() as u64;
            failures.extend(bad.into_iter().map(failure_of));
        }
        failures.sort_by_key(|failure| failure.index);
        Ok(FanOutError::new(fan_out, verdict, completed, failures))
    }

    /// A page of children in this order; the children of a small fan-out came along with the history.
    pub(crate) async fn page(
        &self,
        fan_out: &Kept,
        by: ReadBy,
        from: u32,
        limit: usize,
    ) -> Result<Vec<ChildResult>, TaskError> {
        let ctx = self.op.ctx;
        if let Some(mut page) = ctx.with_book(|book| book.take_results(fan_out.id)).filter(|_| from == 0) {
            if by == ReadBy::Ended {
                page.retain(|child| child.ended.is_some());
                page.sort_by_key(|child| child.ended);
            }
            return Ok(page);
        }
        let id = fan_out.id;
        ctx.ask("results", |store| store.results(id, by, from, limit)).await
    }
}

/// Whether the handler hears of this child: it had ended when the fan-out was decided.
fn counts(fan_out: &Kept, child: &ChildResult) -> bool {
    child.ended.is_some_and(|ended| fan_out.decided_at.is_none_or(|decided| ended < decided))
}

impl<T> fmt::Debug for FanOut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanOut").field("ctx", self.ctx).field("terms", &self.terms).finish_non_exhaustive()
    }
}

/// The terms of a call: a fan-out of one.
pub(crate) fn call_terms(name: Option<String>, within: Option<Duration>, cancel_on_failure: bool) -> Terms {
    Terms { name, timeout: within, cancel_on_failure, ..Terms::default() }
}
