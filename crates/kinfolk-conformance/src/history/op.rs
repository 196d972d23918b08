//! The operations that random histories are made of, and how they are drawn.
//!
//! An operation is symbolic: it speaks of "the third task there is by then", not of a number. So any part of a history
//! is a history, and shrinking can leave operations out.

use std::time::Duration;

use proptest::prelude::*;

use kinfolk_core::limits::DEPTH_MAX;
use kinfolk_core::{
    ChildOrder, Failure, FailureKind, Groups, Json, Missed, OnDuplicate, Outcome, Overlap, Policy, Retention, Retry,
    UniqueScope, When,
};

use super::durable::{Deed, Pause, deed, pause};
use super::group::{Change, Given, change, fair_key, given, groups};

/// How many commands, queues, workers and schedules a history knows.
pub(super) const COMMANDS: usize = 3;
/// Queues.
pub(super) const QUEUES: usize = 2;
/// Workers.
pub(super) const WORKERS: usize = 3;
/// Schedules.
pub(super) const SCHEDULES: usize = 2;
/// Statuses.
pub(super) const STATUSES: usize = 2;

/// One step of a history.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each names a verb of the store and what it is given")]
pub enum Op {
    Register {
        command: usize,
        queue: usize,
        priority: i32,
        max_attempts: Option<u16>,
        base_ms: u32,
        max_strikes: u16,
        groups: Option<Groups>,
    },
    Enqueue(Vec<Ask>),
    /// All of them or none.
    EnqueueAll(Vec<Ask>),
    /// Time passes.
    Advance(Duration),
    RegisterWorker {
        worker: usize,
        commands: u8,
        lease_s: u64,
    },
    Heartbeat(usize),
    Leave(usize),
    /// `repeat`: this worker's call before, sent again as after a lost answer.
    Claim {
        worker: usize,
        queue: usize,
        commands: u8,
        limit: usize,
        repeat: bool,
    },
    /// Ends the n-th claims there have been, counted from the latest; stale and repeated ones come by themselves.
    Settle(Vec<(usize, End)>),
    /// Claims of all commands and ends or suspends what came at once, so that families grow up within a history.
    Round {
        worker: usize,
        queue: usize,
        ends: Vec<Close>,
    },
    /// What durable handlers do.
    Deed(Deed),
    /// What is done to groups.
    Change(Change),
    Recover(usize),
    /// A worker keeps its lease while all others lose theirs, and takes care of what they held.
    Outlive(usize),
    Cancel(usize),
    Retry(usize),
    Acquit(usize),
    RetryFamily(usize),
    Pause(usize),
    Resume(usize),
    SetQueue {
        queue: usize,
        policy: Policy,
    },
    PutStatus {
        status: usize,
        commands: u8,
    },
    RemoveStatus(usize),
    RefreshStatuses,
    Sweep,
    PutSchedule {
        schedule: usize,
        command: usize,
        cron: &'static str,
        missed: Missed,
        overlap: Overlap,
    },
    PauseSchedule {
        schedule: usize,
        paused: bool,
    },
    RemoveSchedule(usize),
    /// Plans and fires what is due; `twice` fires each plan again, as a second worker would.
    Fire {
        twice: bool,
    },
    Prune,
    /// Compares everything there is to see.
    Observe,
}

/// What becomes of an attempt.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each says it")]
pub enum Close {
    End(End),
    Suspend(Box<Pause>),
}

/// How an attempt ends, and what it leaves behind if it is done.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in Settle")]
pub struct End {
    pub outcome: Outcome,
    pub made: Option<Making>,
}

/// What an attempt leaves behind.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in Made")]
pub struct Making {
    pub siblings: Vec<Ask>,
    /// Leaves siblings even where there is no parent, to be refused.
    pub bold: bool,
    pub children: Vec<Ask>,
    pub order: ChildOrder,
    pub follow_ups: Vec<(Ask, When)>,
    pub tasks: Vec<Ask>,
}

/// A task to enqueue.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as in NewTask")]
pub struct Ask {
    pub command: usize,
    pub payload: Json,
    pub queue: Option<usize>,
    pub priority: Option<i32>,
    pub delay_s: Option<i64>,
    pub unique: Option<(u8, UniqueScope, OnDuplicate)>,
    pub max_attempts: Option<u16>,
    pub timeout_s: Option<u64>,
    pub given: Given,
}

/// A whole history.
pub(super) fn history() -> impl Strategy<Value = Vec<Op>> {
    // Every history begins with something to work on: a worker for all commands, and one of them, or all of them, known.
    let all: Vec<_> = (0..COMMANDS).map(registration).collect();
    let known = prop_oneof![1 => register().prop_map(|one| vec![one]), 3 => all];
    (known, prop::collection::vec(op(), 0..80)).prop_map(|(mut all, rest)| {
        all.push(Op::RegisterWorker { worker: 0, commands: 7, lease_s: 30 });
        all.extend(rest);
        all
    })
}

fn op() -> impl Strategy<Value = Op> {
    let worker = 0..WORKERS;
    let queue = 0..QUEUES;
    let task = 0..40usize;
    prop_oneof![
        2 => register(),
        7 => prop::collection::vec(ask(), 1..4).prop_map(Op::Enqueue),
        2 => prop::collection::vec(ask(), 1..4).prop_map(Op::EnqueueAll),
        6 => span().prop_map(Op::Advance),
        2 => (worker.clone(), 1..8u8, prop_oneof![Just(10u64), Just(30)])
            .prop_map(|(worker, commands, lease_s)| Op::RegisterWorker { worker, commands, lease_s }),
        3 => worker.clone().prop_map(Op::Heartbeat),
        1 => worker.clone().prop_map(Op::Leave),
        10 => (worker.clone(), queue.clone(), 0..8u8, 1..5usize, prop::bool::weighted(0.1)).prop_map(
            |(worker, queue, commands, limit, repeat)| Op::Claim { worker, queue, commands, limit, repeat }
        ),
        9 => prop::collection::vec((0..10usize, end()), 1..4).prop_map(Op::Settle),
        12 => (worker.clone(), queue.clone(), prop::collection::vec(close(), 1..5))
            .prop_map(|(worker, queue, ends)| Op::Round { worker, queue, ends }),
        9 => deed().prop_map(Op::Deed),
        4 => change().prop_map(Op::Change),
        2 => worker.clone().prop_map(Op::Recover),
        3 => worker.prop_map(Op::Outlive),
        3 => task.clone().prop_map(Op::Cancel),
        3 => task.clone().prop_map(Op::Retry),
        2 => task.clone().prop_map(Op::Acquit),
        3 => task.prop_map(Op::RetryFamily),
        1 => queue.clone().prop_map(Op::Pause),
        2 => queue.clone().prop_map(Op::Resume),
        4 => (queue, policy()).prop_map(|(queue, policy)| Op::SetQueue { queue, policy }),
        1 => (0..STATUSES, 0..8u8).prop_map(|(status, commands)| Op::PutStatus { status, commands }),
        1 => (0..STATUSES).prop_map(Op::RemoveStatus),
        2 => Just(Op::RefreshStatuses),
        1 => Just(Op::Sweep),
        2 => schedule(),
        1 => (0..SCHEDULES, any::<bool>()).prop_map(|(schedule, paused)| Op::PauseSchedule { schedule, paused }),
        1 => (0..SCHEDULES).prop_map(Op::RemoveSchedule),
        3 => any::<bool>().prop_map(|twice| Op::Fire { twice }),
        2 => Just(Op::Prune),
        1 => Just(Op::Observe),
    ]
}

fn register() -> impl Strategy<Value = Op> {
    (0..COMMANDS).prop_flat_map(registration)
}

fn registration(command: usize) -> impl Strategy<Value = Op> {
    let groups = prop::option::weighted(0.4, groups());
    let attempts = prop::option::weighted(0.7, 1..4u16);
    (0..QUEUES, -1..2i32, attempts, prop_oneof![Just(0u32), Just(1_000), Just(7_000)], 1..4u16, groups).prop_map(
        move |(queue, priority, max_attempts, base_ms, max_strikes, groups)| Op::Register {
            command,
            queue,
            priority,
            max_attempts,
            base_ms,
            max_strikes,
            groups,
        },
    )
}

fn close() -> impl Strategy<Value = Close> {
    prop_oneof![5 => end().prop_map(Close::End), 2 => pause().prop_map(|pause| Close::Suspend(Box::new(pause)))]
}

fn end() -> impl Strategy<Value = End> {
    (outcome(), prop::option::weighted(0.6, making())).prop_map(|(outcome, made)| {
        let made = made.filter(|_| matches!(outcome, Outcome::Done(_)));
        End { outcome, made }
    })
}

pub(super) fn making() -> impl Strategy<Value = Making> {
    let some = |most| prop::collection::vec(ask(), 0..=most);
    let order = prop_oneof![
        2 => Just(ChildOrder::Together),
        1 => Just(ChildOrder::InOrder),
        1 => Just(ChildOrder::InOrderUntilFailure),
    ];
    let when = prop_oneof![Just(When::Settled), Just(When::Completed)];
    let follow_ups = prop::collection::vec((ask(), when), 0..2);
    (prop::option::weighted(0.3, some(2)), prop::bool::weighted(0.1), some(3), order, follow_ups, some(1)).prop_map(
        |(siblings, bold, children, order, follow_ups, tasks)| Making {
            siblings: siblings.unwrap_or_default(),
            bold,
            children,
            order,
            follow_ups,
            tasks,
        },
    )
}

pub(super) fn ask() -> impl Strategy<Value = Ask> {
    let unique = (0..2u8, scope(), on_duplicate());
    (
        0..COMMANDS,
        payload(),
        prop::option::weighted(0.3, 0..QUEUES),
        prop::option::weighted(0.3, -2..3i32),
        prop::option::weighted(0.3, prop_oneof![Just(-5i64), Just(0), Just(3), Just(40), Just(4_000)]),
        prop::option::weighted(0.4, unique),
        prop::option::weighted(0.2, 1..4u16),
        prop::option::weighted(0.2, 1..60u64),
        given(),
    )
        .prop_map(|(command, payload, queue, priority, delay_s, unique, max_attempts, timeout_s, given)| Ask {
            command,
            payload,
            queue,
            priority,
            delay_s,
            unique,
            max_attempts,
            timeout_s,
            given,
        })
}

fn payload() -> impl Strategy<Value = Json> {
    prop::sample::select(vec![
        "{}",
        r#"{"a":1}"#,
        r#"{"a":{"x":[1,2],"y":"é"},"b":9007199254740993}"#,
        r#"{"a":{"y":null,"z":0.10},"c":1e2}"#,
        "null",
        r#"[1,"two",{"three":3}]"#,
    ])
    .prop_map(|text| Json::parse(text).expect("a sound payload"))
}

fn scope() -> impl Strategy<Value = UniqueScope> {
    prop_oneof![
        2 => Just(UniqueScope::Pending),
        2 => Just(UniqueScope::Active),
        1 => Just(UniqueScope::Window(Duration::from_secs(45))),
    ]
}

fn on_duplicate() -> impl Strategy<Value = OnDuplicate> {
    prop_oneof![Just(OnDuplicate::Keep), Just(OnDuplicate::Replace), Just(OnDuplicate::Merge)]
}

fn span() -> impl Strategy<Value = Duration> {
    prop::sample::select(vec![1u64, 1_000, 3_000, 11_000, 31_000, 46_000, 3_600_000, 8 * 24 * 3_600_000])
        .prop_map(Duration::from_millis)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let failed = |kind, retry| Outcome::Failed { failure: Failure::new(kind, "it broke"), retry };
    prop_oneof![
        9 => prop::option::of(payload()).prop_map(Outcome::Done),
        3 => Just(failed(FailureKind::Error, Retry::Policy)),
        1 => Just(failed(FailureKind::Timeout, Retry::After(Duration::from_secs(2)))),
        1 => Just(failed(FailureKind::Panic, Retry::Never)),
        1 => Just(failed(FailureKind::Validation, Retry::Policy)),
        1 => prop_oneof![Just(0u64), Just(5)].prop_map(|secs| Outcome::Snooze(Duration::from_secs(secs))),
        1 => prop_oneof![Just(0u64), Just(5)].prop_map(|secs| Outcome::YieldFamilySlot(Duration::from_secs(secs))),
        1 => Just(Outcome::Release),
        1 => Just(Outcome::Cancelled),
    ]
}

fn retention() -> impl Strategy<Value = Retention> {
    let kept = || prop_oneof![Just(None), Just(Some(Duration::ZERO)), Just(Some(Duration::from_secs(30)))];
    (kept(), kept(), kept()).prop_map(|(completed, failed, cancelled)| Retention { completed, failed, cancelled })
}

fn policy() -> impl Strategy<Value = Policy> {
    let family_limit = prop_oneof![2 => Just(None), 2 => Just(Some(1)), 1 => Just(Some(2))];
    let child_limit = prop_oneof![4 => Just(None), 1 => Just(Some(0)), 2 => Just(Some(1)), 1 => Just(Some(2))];
    let depth_limit = prop_oneof![4 => Just(DEPTH_MAX), 1 => Just(1u16), 1 => Just(2)];
    let fair = prop::option::weighted(0.2, fair_key());
    (fair, retention(), family_limit, child_limit, depth_limit).prop_map(
        |(fair, retention, family_limit, child_limit, depth_limit)| Policy {
            fair,
            retention,
            family_limit,
            child_limit,
            depth_limit,
        },
    )
}

fn schedule() -> impl Strategy<Value = Op> {
    (
        0..SCHEDULES,
        0..COMMANDS,
        prop::sample::select(vec!["*/5 * * * * *", "* * * * *", "0 3 * * *"]),
        prop_oneof![Just(Missed::Once), Just(Missed::All), Just(Missed::Skip)],
        prop_oneof![Just(Overlap::Allow), Just(Overlap::Skip)],
    )
        .prop_map(|(schedule, command, cron, missed, overlap)| Op::PutSchedule {
            schedule,
            command,
            cron,
            missed,
            overlap,
        })
}
