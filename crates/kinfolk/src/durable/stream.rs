//! Results as they come: in the order in which the sub-tasks ended, a page at a time.
//!
//! A stream is resumed whenever a page is ready, and reads the results page by page: the memory of its handler does not
//! grow with their number. [`FanOutStream::next`] hands them out one by one, and reads them from the start again in every
//! attempt. [`FanOutStream::fold`] writes down its accumulator and how far it has come, and goes on from there.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{ChildResult, FanOut as Kept, Json, ReadBy, Rule, Verdict};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fan_out::{Begun, Subs, fan_out_options};
use super::results::SubResult;
use super::sub::{Children, Sub, Terms};
use crate::ctx::Ctx;
use crate::task::Task;
use crate::task_error::TaskError;

/// Pages that a fold takes in before it writes down how far it has come, without waiting for a suspension.
const PAGES_UNWRITTEN: u32 = 16;
/// Parts in which a fan-out is handed out, if it is not larger than so many pages.
const PARTS: u32 = 10;

impl Ctx {
    /// Runs sub-tasks side by side and hands out their results as they come, without a worker in between. Collects all
    /// unless told otherwise.
    ///
    /// ```
    /// use kinfolk::{Ctx, Sub, TaskError};
    ///
    /// async fn count(ctx: Ctx, pages: u32) -> Result<u64, TaskError> {
    ///     let words = ctx.fan_out_stream::<u64>((0..pages).map(|page| Sub::new("count_words", &page)));
    ///     words.fold(0, |sum, page| sum + page.outcome.unwrap_or(0)).await
    /// }
    /// ```
    pub fn fan_out_stream<'a, T>(
        &'a self,
        subs: impl IntoIterator<Item = Sub, IntoIter: Send + 'a>,
    ) -> FanOutStream<'a, T>
    where
        T: DeserializeOwned + Send + 'a,
    {
        FanOutStream::new(self, Box::new(subs.into_iter()))
    }

    /// Runs typed sub-tasks side by side and hands out their results as they come.
    pub fn fan_out_stream_tasks<'a, T: Task>(
        &'a self,
        tasks: impl IntoIterator<Item = T, IntoIter: Send + 'a>,
    ) -> FanOutStream<'a, T::Output> {
        FanOutStream::new(self, Box::new(tasks.into_iter().map(|task| Sub::of(&task))))
    }
}

/// A fan-out whose results are handed out in the order in which they came.
#[must_use = "nothing is run until the first result is asked for"]
pub struct FanOutStream<'a, T> {
    ctx: &'a Ctx,
    subs: Option<Subs<'a>>,
    terms: Terms,
    begun: Option<Begun<'a>>,
    fan_out: Option<Kept>,
    read: VecDeque<ChildResult>,
    /// Results handed out.
    taken: u64,
    /// Results read.
    from: u32,
    of: PhantomData<fn() -> T>,
}

/// How far a fold has come.
#[derive(Serialize, Deserialize)]
struct Folded<A> {
    acc: A,
    cursor: u32,
}

impl<'a, T> FanOutStream<'a, T> {
    fn new(ctx: &'a Ctx, subs: Subs<'a>) -> Self {
        Self {
            ctx,
            subs: Some(subs),
            terms: Terms::default(),
            begun: None,
            fan_out: None,
            read: VecDeque::new(),
            taken: 0,
            from: 0,
            of: PhantomData,
        }
    }

    fan_out_options!();

    /// Resume the handler whenever so many further results have come. Default: a tenth of all, 1,000 at most.
    pub fn page(mut self, results: u32) -> Self {
        self.terms.page = Some(results.max(1));
        self
    }

    /// Begins the fan-out, or finds it. `None` when there is nothing to run.
    async fn begin(&mut self) -> Result<Option<()>, TaskError> {
        if let Some(subs) = self.subs.take() {
            let Some(children) = Children::gather(self.ctx, &self.terms, subs)? else { return Ok(None) };
            let rule = self.terms.rule.unwrap_or(Rule::CollectAll);
            self.begun = Some(Begun::begin(self.ctx, &self.terms, rule, children)?);
        }
        let Some(begun) = &self.begun else { return Ok(None) };
        if self.fan_out.is_none() {
            self.fan_out = Some(begun.settled_or(self.wake_at(begun)).await?);
        }
        Ok(Some(()))
    }

    fn page_size(&self, begun: &Begun<'_>) -> u32 {
        let most = PAGE_MAX as u32;
        self.terms.page.unwrap_or_else(|| begun.total.div_ceil(PARTS)).clamp(1, most)
    }

    fn wake_at(&self, begun: &Begun<'_>) -> u32 {
        begun.total.min(self.from.saturating_add(self.page_size(begun)))
    }

    /// Reads the next page; `false` at the end. Waits when nothing further has ended.
    async fn read_on(&mut self) -> Result<bool, TaskError> {
        if self.begin().await?.is_none() {
            return Ok(false);
        }
        let (Some(begun), Some(fan_out)) = (&self.begun, &self.fan_out) else { return Ok(false) };
        let heard = heard(fan_out);
        if self.from < heard {
            let most = PAGE_MAX.min((heard - self.from) as usize);
            let mut page = begun.page(fan_out, ReadBy::Ended, self.from, most).await?;
            page.retain(|child| child.ended.is_some_and(|ended| ended < heard));
            self.from += u32::try_from(page.len()).unwrap_or(u32::MAX);
            self.read.extend(page);
            if !self.read.is_empty() {
                return Ok(true);
            }
        }
        match fan_out.verdict {
            None => Err(begun.wait_for(self.wake_at(begun)).await),
            Some(Verdict::Completed) => Ok(false),
            Some(verdict) => Err(begun.failed(fan_out, verdict).await?.into()),
        }
    }
}

impl<T: DeserializeOwned> FanOutStream<'_, T> {
    /// The next result; `None` at the end. An error at the end if the fan-out did not end as its rule demands.
    pub async fn next(&mut self) -> Result<Option<SubResult<T>>, TaskError> {
        loop {
            if let Some(child) = self.read.pop_front() {
                self.taken += 1;
                return SubResult::of(child).map(Some);
            }
            if !self.read_on().await? {
                return Ok(None);
            }
        }
    }

    /// Takes all results in, one after another, in the order in which they came. The accumulator is written down page by
    /// page, so that a resumed handler goes on where it was; it may have 256 KiB as JSON.
    pub async fn fold<A, F>(mut self, init: A, mut fold: F) -> Result<A, TaskError>
    where
        A: Serialize + DeserializeOwned,
        F: FnMut(A, SubResult<T>) -> A,
    {
        self.begin().await?;
        let Some(begun) = &self.begun else { return Ok(init) };
        let (spot, digest) = (self.ctx.spot(&format!("{} fold", numbered(begun))), begun.op.digest());
        let mut folded = match self.ctx.with_book(|book| book.last_fold(&spot, &digest)) {
            Some(recorded) => begun.op.read(&recorded)?,
            None => Folded { acc: init, cursor: 0 },
        };
        self.from = folded.cursor;
        let mut pages = 0;
        while self.read_on().await? {
            let Folded { mut acc, mut cursor } = folded;
            while let Some(child) = self.read.pop_front() {
                acc = fold(acc, SubResult::of(child)?);
                cursor += 1;
            }
            folded = Folded { acc, cursor };
            let value = Json::of(&folded).map_err(|fault| TaskError::from(fault).do_not_retry())?;
            self.ctx.with_book(|book| book.keep_fold(&spot, &digest, value));
            pages += 1;
            if pages % PAGES_UNWRITTEN == 0 && !self.ctx.is_dry() {
                self.ctx.flush().await?;
            }
        }
        Ok(folded.acc)
    }
}

/// How many results the handler may hear of: the children that had ended when the fan-out was decided. Of one that was not
/// decided yet, the children that had ended when it was looked at; more of them may come after the decision.
fn heard(fan_out: &Kept) -> u32 {
    fan_out.decided_at.unwrap_or_else(|| u32::try_from(fan_out.tally.ended()).unwrap_or(u32::MAX))
}

/// The name of an operation with its number, if it is not the first of its name.
fn numbered(begun: &Begun<'_>) -> String {
    let key = &begun.op.key;
    if key.occurrence == 0 { key.name.clone() } else { format!("{}#{}", key.name, key.occurrence + 1) }
}

impl<T> fmt::Debug for FanOutStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanOutStream").field("ctx", self.ctx).field("taken", &self.taken).finish_non_exhaustive()
    }
}
