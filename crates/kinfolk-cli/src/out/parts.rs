//! The parts that documents of `--json` share. One form for all of them: `id` or `name` is the thing itself, `task`, `queue`,
//! `group` and the like are references; times end in `_at`, spans in `_ms`; what there is none of is null; numbers are numbers.
//!
//! The engine's own types are written to databases too, so their form is not free: what differs is turned here.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk_core::held::Held;
use kinfolk_core::inspect::{Count, Finding, Health, Stats};
use kinfolk_core::task::Ending;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    Attempt, Checkpoint, CommandName, Failure, FailureKind, FanOut, FanOutId, GroupSpec, Groups, History, Json, Key,
    KeyView, QueueName, Rate, Reason, Rule, Run, Setting, SignalName, State, StepKind, Tally, TaskId, Timestamp,
    Verdict, WorkerId,
};
use serde::Serialize;
use serde_json::{Number, Value};

/// A failure.
#[derive(Serialize)]
pub(crate) struct FailurePart<'a> {
    kind: FailureKind,
    message: &'a str,
    detail: Option<&'a Json>,
}

impl<'a> From<&'a Failure> for FailurePart<'a> {
    fn from(failure: &'a Failure) -> Self {
        Self { kind: failure.kind, message: &failure.message, detail: failure.detail.as_ref() }
    }
}

/// An ended attempt.
#[derive(Serialize)]
pub(crate) struct AttemptPart<'a> {
    run: u32,
    attempt: u16,
    started_at: Timestamp,
    ended_at: Timestamp,
    worker: WorkerId,
    ending: Ending,
    failure: Option<FailurePart<'a>>,
}

impl<'a> From<&'a Attempt> for AttemptPart<'a> {
    fn from(attempt: &'a Attempt) -> Self {
        Self {
            run: attempt.run,
            attempt: attempt.attempt,
            started_at: attempt.started_at,
            ended_at: attempt.ended_at,
            worker: attempt.worker,
            ending: attempt.ending,
            failure: attempt.failure.as_ref().map(Into::into),
        }
    }
}

/// One run of a task.
#[derive(Serialize)]
pub(crate) struct RunPart<'a> {
    run: u32,
    attempt: u16,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
    worker: WorkerId,
    ending: Option<Ending>,
    failure: Option<FailurePart<'a>>,
    waited_for: Option<WaitedForPart<'a>>,
}

/// The waits of a suspended handler.
#[derive(Serialize)]
pub(crate) struct WaitedForPart<'a> {
    fan_outs: &'a [FanOutId],
    until_at: Option<Timestamp>,
    signals: &'a [SignalName],
}

impl<'a> From<&'a Run> for RunPart<'a> {
    fn from(run: &'a Run) -> Self {
        Self {
            run: run.run,
            attempt: run.attempt,
            started_at: run.started_at,
            ended_at: run.ended_at,
            worker: run.worker,
            ending: run.ending,
            failure: run.failure.as_ref().map(Into::into),
            waited_for: run.waited_for.as_ref().map(|waits| WaitedForPart {
                fan_outs: &waits.fan_outs,
                until_at: waits.until,
                signals: &waits.signals,
            }),
        }
    }
}

/// A fan-out that a handler awaits or awaited.
#[derive(Serialize)]
pub(crate) struct FanOutPart {
    id: FanOutId,
    task: TaskId,
    rule: &'static str,
    /// The share that must complete, with the rule of that name.
    threshold: Option<f64>,
    tally: Tally,
    verdict: Option<Verdict>,
    /// How many sub-tasks had ended when it was decided.
    decided_after: Option<u32>,
    settled_at: Option<Timestamp>,
    created_at: Timestamp,
    deadline_at: Option<Timestamp>,
}

impl From<&FanOut> for FanOutPart {
    fn from(fan_out: &FanOut) -> Self {
        Self {
            id: fan_out.id,
            task: fan_out.task,
            rule: fan_out.rule.as_str(),
            threshold: match fan_out.rule {
                Rule::Threshold(parts) => Some(f64::from(parts) / 1e6),
                _ => None,
            },
            tally: fan_out.tally,
            verdict: fan_out.verdict,
            decided_after: fan_out.decided_at,
            settled_at: fan_out.settled_at,
            created_at: fan_out.created_at,
            deadline_at: fan_out.deadline,
        }
    }
}

/// Which operation of a handler.
#[derive(Serialize)]
pub(crate) struct StepPart<'a> {
    /// The branch of the handler; null for the handler itself.
    branch: Option<&'a str>,
    name: &'a str,
    occurrence: u32,
}

impl<'a> From<&'a Key> for StepPart<'a> {
    fn from(key: &'a Key) -> Self {
        let branch = Some(key.branch.as_str()).filter(|branch| !branch.is_empty());
        Self { branch, name: &key.name, occurrence: key.occurrence }
    }
}

/// A checkpoint of a handler.
#[derive(Serialize)]
pub(crate) struct CheckpointPart<'a> {
    key: StepPart<'a>,
    kind: StepKind,
    digest: Option<&'a str>,
    value: &'a Json,
    recorded_at: Timestamp,
}

impl<'a> CheckpointPart<'a> {
    /// All that was recorded, in its order.
    pub(crate) fn all(history: &'a History) -> Vec<Self> {
        history
            .checkpoints
            .iter()
            .zip(&history.recorded_at)
            .map(|(checkpoint, at)| Self::new(checkpoint, *at))
            .collect()
    }

    fn new(checkpoint: &'a Checkpoint, recorded_at: Timestamp) -> Self {
        let Checkpoint { key, kind, digest, value } = checkpoint;
        let digest = Some(digest.as_str()).filter(|digest| !digest.is_empty());
        Self { key: key.into(), kind: *kind, digest, value, recorded_at }
    }
}

/// So many starts in a span.
#[derive(Serialize)]
pub(crate) struct RatePart {
    count: u32,
    per_ms: Number,
    burst: u32,
}

impl From<Rate> for RatePart {
    fn from(rate: Rate) -> Self {
        Self { count: rate.count, per_ms: millis(rate.per), burst: rate.burst }
    }
}

/// Milliseconds, whole ones where they are.
fn millis(span: Duration) -> Number {
    let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    let parts = Number::from_f64(micros as f64 / 1_000.0).filter(|_| micros % 1_000 != 0);
    parts.unwrap_or_else(|| (micros / 1_000).into())
}

/// The setting of a group or a key.
#[derive(Serialize)]
pub(crate) struct SettingPart {
    pub(crate) limit: Option<u32>,
    pub(crate) rate: Option<RatePart>,
}

impl From<Setting> for SettingPart {
    fn from(setting: Setting) -> Self {
        Self { limit: setting.limit, rate: setting.rate.map(Into::into) }
    }
}

/// The declaration of a group.
#[derive(Serialize)]
pub(crate) struct SpecPart {
    limit: Option<u32>,
    rate: Option<RatePart>,
    hold: bool,
    shared: bool,
}

impl From<&GroupSpec> for SpecPart {
    fn from(spec: &GroupSpec) -> Self {
        Self { limit: spec.limit, rate: spec.rate.map(Into::into), hold: spec.hold, shared: spec.shared }
    }
}

/// The groups of a command, by name.
pub(crate) fn groups(groups: &Groups) -> BTreeMap<&str, SpecPart> {
    groups.0.iter().map(|(name, spec)| (name.as_str(), spec.into())).collect()
}

/// A key that is in use.
#[derive(Serialize)]
pub(crate) struct KeyPart<'a> {
    group: &'a str,
    command: Option<&'a CommandName>,
    /// Null for a command's total, which has no keys.
    key: Option<&'a str>,
    limit: Option<u32>,
    held: u64,
    holders: &'a [TaskId],
    waiters: u64,
    until_at: Option<Timestamp>,
}

impl<'a> From<&'a KeyView> for KeyPart<'a> {
    fn from(key: &'a KeyView) -> Self {
        Self {
            group: key.group.name.as_str(),
            command: key.group.command.as_ref(),
            key: Some(key.key.as_str()).filter(|key| !key.is_empty()),
            limit: key.limit,
            held: key.held,
            holders: &key.holders,
            waiters: key.waiters,
            until_at: key.until,
        }
    }
}

/// Why a task is not running, without the words.
pub(crate) fn reason(reason: &Reason) -> Value {
    let mut value = serde_json::to_value(reason).unwrap_or_default();
    let Some(members) = value.as_object_mut() else { return value };
    for (name, told) in [("until", "until_at"), ("since", "since_at")] {
        if let Some(moment) = members.remove(name) {
            members.insert(told.to_owned(), moment);
        }
    }
    if members.get("key").is_some_and(|key| key == "") {
        members.insert("key".to_owned(), Value::Null);
    }
    if let Some(Value::Object(mut group)) = members.remove("group") {
        members.insert("group".to_owned(), group.remove("name").unwrap_or_default());
        members.insert("command".to_owned(), group.remove("command").unwrap_or_default());
    }
    value
}

/// A worker.
#[derive(Serialize)]
pub(crate) struct WorkerPart<'a> {
    id: WorkerId,
    name: &'a str,
    version: &'a str,
    queues: &'a [QueueName],
    commands: &'a [CommandName],
    running: u64,
    started_at: Timestamp,
    lease_ends_at: Timestamp,
}

impl<'a> From<&'a WorkerView> for WorkerPart<'a> {
    fn from(worker: &'a WorkerView) -> Self {
        Self {
            id: worker.id,
            name: &worker.name,
            version: &worker.version,
            queues: &worker.queues,
            commands: &worker.commands,
            running: worker.running,
            started_at: worker.started_at,
            lease_ends_at: worker.lease_until,
        }
    }
}

/// Counts at one moment.
#[derive(Serialize)]
pub(crate) struct StatsPart<'a> {
    looked_at: Timestamp,
    counts: &'a [Count],
    more: &'a [State],
    fan_outs: u64,
    families: u64,
    held: &'a [Held],
    oldest_open: Vec<OldestPart<'a>>,
    workers: u64,
}

/// Since when the first in line of a queue has stood there.
#[derive(Serialize)]
struct OldestPart<'a> {
    queue: &'a QueueName,
    since_at: Timestamp,
}

impl<'a> StatsPart<'a> {
    /// Counts, and what holds up what pends.
    pub(crate) fn new(stats: &'a Stats, held: &'a [Held]) -> Self {
        let oldest = stats.oldest_open.iter().map(|(queue, since_at)| OldestPart { queue, since_at: *since_at });
        let Stats { now: looked_at, ref counts, ref more, fan_outs, families, workers, .. } = *stats;
        Self { looked_at, counts, more, fan_outs, families, held, oldest_open: oldest.collect(), workers }
    }
}

/// Something that `doctor` looked at.
#[derive(Serialize)]
pub(crate) struct FindingPart<'a> {
    subject: &'a str,
    health: Health,
    found: &'a str,
    remedy: Option<&'a str>,
}

impl<'a> From<&'a Finding> for FindingPart<'a> {
    fn from(finding: &'a Finding) -> Self {
        let remedy = Some(finding.remedy.as_str()).filter(|remedy| !remedy.is_empty());
        Self { subject: &finding.subject, health: finding.health, found: &finding.found, remedy }
    }
}
