//! Families: counts of children, fan-outs and their results.

use kinfolk_core::{ChildResult, FanOut, Json, Progress, Rule, Tally, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::{FailureForm, StateForm};

/// How many children there are, and how many of them have ended in which way.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[schema(as = Tally)]
pub(crate) struct TallyForm {
    total: u64,
    open: u64,
    completed: u64,
    failed: u64,
    cancelled: u64,
}

impl From<Tally> for TallyForm {
    fn from(tally: Tally) -> Self {
        Self {
            total: tally.total,
            open: tally.open(),
            completed: tally.completed,
            failed: tally.failed,
            cancelled: tally.cancelled,
        }
    }
}

/// How a family is doing.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Progress)]
pub(crate) struct ProgressForm {
    /// All descendants of the root, together.
    family: TallyForm,
    /// The same by depth: first the root's children, then theirs.
    levels: Vec<TallyForm>,
}

impl From<Progress> for ProgressForm {
    fn from(progress: Progress) -> Self {
        Self { family: progress.family.into(), levels: progress.levels.into_iter().map(TallyForm::from).collect() }
    }
}

/// A fan-out that a handler awaits or awaited.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = FanOut)]
pub(crate) struct FanOutForm {
    id: i64,
    /// The task that awaits it.
    task: i64,
    /// fail_fast, collect_all or threshold.
    rule: &'static str,
    /// Of the rule threshold: the part of the children that must complete, 0 to 1.
    threshold: Option<f64>,
    /// How many children must complete.
    needed: u64,
    /// How its children are doing.
    tally: TallyForm,
    /// completed, failed or timed_out; null while it is open.
    verdict: Option<&'static str>,
    /// When it was settled.
    #[schema(value_type = Option<String>, format = DateTime)]
    settled_at: Option<Timestamp>,
    /// How many children had ended when it was settled.
    decided_after: Option<u32>,
    #[schema(value_type = Option<String>, format = DateTime)]
    deadline_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<FanOut> for FanOutForm {
    fn from(fan_out: FanOut) -> Self {
        let threshold = match fan_out.rule {
            Rule::Threshold(parts) => Some(f64::from(parts) / 1e6),
            _ => None,
        };
        Self {
            id: fan_out.id.0,
            task: fan_out.task.0,
            rule: fan_out.rule.as_str(),
            threshold,
            needed: fan_out.rule.needed(fan_out.tally.total),
            tally: fan_out.tally.into(),
            verdict: fan_out.verdict.map(kinfolk_core::Verdict::as_str),
            settled_at: fan_out.settled_at,
            decided_after: fan_out.decided_at,
            deadline_at: fan_out.deadline,
            created_at: fan_out.created_at,
        }
    }
}

/// The state and the result of one child of a fan-out.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ChildResult)]
pub(crate) struct ResultForm {
    /// Which child; 0 is the first.
    index: u32,
    task: i64,
    state: StateForm,
    /// The how-many-eth child this was to end; 0 is the first.
    ended: Option<u32>,
    #[schema(value_type = Value)]
    result: Option<Json>,
    failure: Option<FailureForm>,
    attempt: u16,
}

impl From<ChildResult> for ResultForm {
    fn from(child: ChildResult) -> Self {
        Self {
            index: child.index,
            task: child.task.0,
            state: child.state.into(),
            ended: child.ended,
            result: child.result,
            failure: child.failure.map(FailureForm::from),
            attempt: child.attempt,
        }
    }
}
