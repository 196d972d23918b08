//! The handler that plays a workflow, and notes all it does and sees.

use std::future::IntoFuture;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use kinfolk::{Ctx, Sub, SubResult, TaskError};
use kinfolk_core::durable::{Rule, Verdict};
use kinfolk_core::{FailureKind, Json};
use serde::Serialize;
use uuid::Uuid;

use super::notes::{self, Heard, HeardOf, Note, What};
use super::plan::{FLOW, Flow, Op, PAD};
use crate::journal;
use crate::victim::{LEAF, MENDED};

/// Bytes of what a [`PAD`] returns.
const PAD_BYTES: usize = 1_000;
const SOON: Duration = Duration::from_millis(1);

/// The commands' side of [`Op::Pads`].
pub(crate) async fn pad(_: Ctx, nth: u32) -> Result<String, TaskError> {
    Ok(format!("{nth:0PAD_BYTES$}"))
}

/// Plays a workflow.
pub(crate) async fn act(ctx: Ctx, flow: Flow, ledger: PathBuf, work: Duration) -> Result<Json, TaskError> {
    let broken = !ledger.with_file_name(MENDED).exists();
    let desk = Desk { notes: notes::beside(&ledger), work, holds: flow.holds, strict: flow.strict, broken };
    desk.note(&ctx, "", What::Begin)?;
    desk.play_all(&ctx, &flow.ops, String::new()).await?;
    if flow.ops.is_empty() {
        tokio::time::sleep(work).await;
    }
    if ctx.attempt() <= flow.errors {
        return Err(TaskError::new("an error, as planned").retry_after(SOON));
    }
    if flow.fails {
        desk.fail()?;
    }
    Ok(flow.returns)
}

/// Where a handler notes what it does.
struct Desk {
    notes: PathBuf,
    work: Duration,
    holds: bool,
    strict: bool,
    broken: bool,
}

type Playing<'a> = Pin<Box<dyn Future<Output = Result<(), TaskError>> + Send + 'a>>;

impl Desk {
    fn note(&self, ctx: &Ctx, op: &str, what: What) -> Result<(), TaskError> {
        let note = Note { task: ctx.task(), process: std::process::id(), op: op.to_owned(), what };
        Ok(journal::append(&self.notes, &note)?)
    }

    fn saw(&self, ctx: &Ctx, op: &str, value: &(impl Serialize + Sync)) -> Result<(), TaskError> {
        self.note(ctx, op, What::Saw(Json::of(value)?))
    }

    fn play_all<'a>(&'a self, ctx: &'a Ctx, ops: &'a [Op], path: String) -> Playing<'a> {
        Box::pin(async move {
            for (nth, op) in ops.iter().enumerate() {
                self.play(ctx, op, &format!("{path}{nth}")).await?;
            }
            Ok(())
        })
    }

    async fn play(&self, ctx: &Ctx, op: &Op, path: &str) -> Result<(), TaskError> {
        match op {
            Op::Step => {
                let value = ctx.step(path, self.body(ctx, path)).await?;
                self.saw(ctx, path, &value)
            }
            Op::Call(flow) => self.call(ctx, flow, path).await,
            Op::FanOut { rule, timeout_ms, cancels, flows } => {
                self.fan_out(ctx, (*rule, *timeout_ms, *cancels), flows, path).await
            }
            Op::Stream { page, folds, flows } => self.stream(ctx, (*page, *folds), flows, path).await,
            Op::Pads(count) => {
                let pads = ctx.fan_out_stream::<String>((0..*count).map(|nth| Sub::new(PAD, &nth).queue("pads")));
                let sum = pads.fold((0, 0), |(count, bytes), pad| {
                    (count + 1_u64, bytes + pad.outcome.map_or(0, |text| text.len()))
                });
                self.saw(ctx, path, &sum.await?)
            }
            Op::Leaves(count) => {
                let leaves = (0..*count).map(|nth| Sub::new(LEAF, &nth).queue("pads"));
                let count = ctx.fan_out::<Json>(leaves).await?.values().len();
                self.saw(ctx, path, &count)
            }
            Op::Sleep(ms) => self.sleep(ctx, Duration::from_millis(*ms), path).await,
            Op::Signal(name, timeout_ms) => {
                let signal: Option<Json> = ctx.wait_signal(name, timeout_ms.map(Duration::from_millis)).await?;
                self.saw(ctx, path, &signal.into_iter().collect::<Vec<_>>())
            }
            Op::Hold => {
                self.saw(ctx, path, &())?;
                std::thread::sleep(self.work);
                Ok(())
            }
            Op::Now => self.saw(ctx, path, &ctx.now().await?),
            Op::Random => self.saw(ctx, path, &ctx.random::<u64>().await?),
            Op::Make { children, follow_up } => {
                for child in children {
                    ctx.spawn(FLOW, child).await?;
                }
                if let Some(follow_up) = follow_up {
                    ctx.follow_up(FLOW, follow_up).await?;
                }
                self.saw(ctx, path, &children.len())
            }
            Op::Both(left, right) => {
                let (one, other) = (ctx.branch("l"), ctx.branch("r"));
                let both =
                    (self.play_all(&one, left, format!("{path}l")), self.play_all(&other, right, format!("{path}r")));
                tokio::try_join!(both.0, both.1).map(drop)
            }
            Op::Fail => self.fail(),
        }
    }

    /// Fails, unless it was mended.
    fn fail(&self) -> Result<(), TaskError> {
        if self.broken { Err(TaskError::new("broken, as planned").do_not_retry()) } else { Ok(()) }
    }

    /// Goes on after children that did not do as their rule demands, or fails with them.
    fn go_on(&self, verdict: Verdict) -> Result<(), TaskError> {
        if !self.strict || verdict == Verdict::Completed {
            return Ok(());
        }
        Err(TaskError::new("children failed, as planned").do_not_retry())
    }

    /// A step body: it notes what it will return before it does anything.
    async fn body(&self, ctx: &Ctx, path: &str) -> Result<Json, TaskError> {
        let value = Json::of(&Uuid::new_v4().to_string())?;
        self.note(ctx, path, What::Body(value.clone()))?;
        if self.holds {
            std::thread::sleep(self.work);
        } else {
            tokio::time::sleep(self.work).await;
        }
        Ok(value)
    }

    async fn sleep(&self, ctx: &Ctx, span: Duration, path: &str) -> Result<(), TaskError> {
        let from = ctx.now().await?;
        ctx.sleep(span).await?;
        let until = ctx.now().await?;
        if until < from.plus(span) {
            return Err(TaskError::new(format!("woke up early: {from:?} to {until:?}")).do_not_retry());
        }
        self.saw(ctx, path, &(from, until))
    }

    async fn call(&self, ctx: &Ctx, flow: &Flow, path: &str) -> Result<(), TaskError> {
        let heard = match ctx.call::<Json>(FLOW, flow).await {
            // A call does not say which task it was; the judge finds it by its name.
            Ok(value) => CallHeard { verdict: Verdict::Completed, outcome: Some(Ok(value)) },
            Err(fault) => match fault.call() {
                None => return Err(fault),
                Some(call) => {
                    let kind = call.failure.as_ref().map(|failure| Err(failure.kind));
                    CallHeard { verdict: call.verdict, outcome: kind }
                }
            },
        };
        self.saw(ctx, path, &heard)?;
        self.go_on(heard.verdict)
    }

    async fn fan_out(
        &self,
        ctx: &Ctx,
        (rule, timeout_ms, cancels): (Rule, Option<u64>, bool),
        flows: &[Flow],
        path: &str,
    ) -> Result<(), TaskError> {
        let mut asked = ctx.fan_out::<Json>(flows.iter().map(|flow| Sub::new(FLOW, flow)));
        asked = match rule {
            Rule::FailFast => asked.fail_fast(),
            Rule::CollectAll => asked.collect_all(),
            Rule::Threshold(parts) => asked.threshold(f64::from(parts) / 1e6),
        };
        if let Some(ms) = timeout_ms {
            asked = asked.timeout(Duration::from_millis(ms));
        }
        if cancels {
            asked = asked.cancel_on_parent_failure();
        }
        let heard = match asked.into_future().await {
            Ok(results) => Heard { verdict: Verdict::Completed, results: results.into_iter().map(heard_of).collect() },
            Err(fault) => bad(fault)?,
        };
        self.saw(ctx, path, &heard)?;
        self.go_on(heard.verdict)
    }

    async fn stream(&self, ctx: &Ctx, (page, folds): (u32, bool), flows: &[Flow], path: &str) -> Result<(), TaskError> {
        let mut stream = ctx.fan_out_stream::<Json>(flows.iter().map(|flow| Sub::new(FLOW, flow))).page(page);
        let mut results = Vec::new();
        if folds {
            results = stream
                .fold(results, |mut results, result| {
                    let heard = heard_of(result);
                    // A note that can't be written shows as a missing one.
                    let _ = self.part(ctx, path, results.len(), &heard);
                    results.push(heard);
                    results
                })
                .await?;
        } else {
            while let Some(result) = stream.next().await? {
                let heard = heard_of(result);
                self.part(ctx, path, results.len(), &heard)?;
                results.push(heard);
            }
        }
        self.saw(ctx, path, &Heard { verdict: Verdict::Completed, results })
    }

    fn part(&self, ctx: &Ctx, path: &str, nth: usize, heard: &HeardOf) -> Result<(), TaskError> {
        self.note(ctx, path, What::Part(u32::try_from(nth)?, Json::of(heard)?))
    }
}

/// How the handler heard of a call.
#[derive(Debug, Serialize, serde::Deserialize)]
pub(super) struct CallHeard {
    pub(super) verdict: Verdict,
    pub(super) outcome: Option<Result<Json, FailureKind>>,
}

fn heard_of(result: SubResult<Json>) -> HeardOf {
    let outcome = result.outcome.map_err(|failed| failed.failure.kind);
    HeardOf { index: result.index, task: result.task, outcome }
}

/// A fan-out that was settled badly; any other error goes on.
fn bad(fault: TaskError) -> Result<Heard, TaskError> {
    let Some(error) = fault.fan_out() else { return Err(fault) };
    let failure = |failed: &kinfolk::SubFailure| HeardOf {
        index: failed.index,
        task: failed.task,
        outcome: Err(failed.failure.kind),
    };
    Ok(Heard { verdict: error.verdict, results: error.failures.iter().map(failure).collect() })
}
