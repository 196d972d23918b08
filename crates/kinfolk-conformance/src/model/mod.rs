//! A small in-memory model of the engine: the specification as code, simple and slow.
//!
//! Every rule is written down in the plainest way there is: look at all tasks, take what the rule says. The decisions
//! after an attempt come from [`kinfolk_core::decide`]; nothing else is shared with the stores. [`Model`]
//! is a store like any other, so the contracts run on it and histories compare it with a real one.
//!
//! A [`Bug`] can be planted on purpose, to show that the suite would notice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use kinfolk_core::audit::Audited;
use kinfolk_core::error_log::LoggedError;
use kinfolk_core::minute::Figures;
use kinfolk_core::store::Answer;
use kinfolk_core::task::Ending;
use kinfolk_core::{
    Attempt, Checkpoint, ChildOrder, Command, CommandName, Failure, FanOutId, Gate, GroupName, GroupRef, Json, Queue,
    QueueName, Schedule, ScheduleName, SignalName, State, Status, StatusName, StoreError, Task, TaskId, Timestamp,
    Token, Unique, UniqueScope, WaitedFor, WorkerId, WorkerSpec,
};

mod bug;
mod bulk;
mod claim;
mod durable;
mod explain;
mod fair;
mod family;
mod fan_out;
mod group;
mod inspect;
mod make;
mod operate;
mod produce;
mod repair;
mod settle;
mod status;
mod store;
mod suspend;
mod view;
mod work;

pub use bug::Bug;
pub use store::Model;

/// The whole state of an engine.
#[derive(Clone, Debug, Default)]
struct Engine {
    now: Timestamp,
    bug: Option<Bug>,
    commands: BTreeMap<CommandName, Command>,
    queues: BTreeMap<QueueName, Queue>,
    tasks: BTreeMap<TaskId, Row>,
    /// The children of each parent; also found by looking at all tasks, but not within anyone's patience.
    kids: BTreeMap<TaskId, BTreeSet<TaskId>>,
    workers: BTreeMap<WorkerId, WorkerRow>,
    schedules: BTreeMap<ScheduleName, Schedule>,
    statuses: BTreeMap<StatusName, Status>,
    audited: Vec<Audited>,
    errors: Vec<LoggedError>,
    /// What workers did, by minute, queue and command.
    minutes: BTreeMap<(Timestamp, QueueName, CommandName), Figures>,
    /// How often someone has asked whether anything changed.
    looks: u64,
    /// The families that pending follow-ups wait for: by follow-up, then by root.
    follow_ups: BTreeMap<TaskId, BTreeMap<TaskId, Entry>>,
    /// The families that spoiled follow-ups which were skipped, in the same way.
    skipped: BTreeMap<TaskId, BTreeMap<TaskId, Entry>>,
    /// The fan-outs that handlers await or awaited.
    fan_outs: BTreeMap<FanOutId, fan_out::FanRow>,
    /// The children of awaited fan-outs that the call at hand has ended.
    just_ended: BTreeMap<FanOutId, BTreeSet<u32>>,
    /// The tasks that have failed in the call at hand, and with which what they own is to end.
    just_failed: Vec<TaskId>,
    groups: BTreeMap<GroupRef, group::GroupRow>,
    /// The groups of each command, by name.
    declared: BTreeMap<CommandName, BTreeMap<GroupName, GroupRef>>,
    /// Keys that a mistake has been planted for: nobody behind them is looked at any more.
    forgotten: BTreeSet<group::KeyOf>,
    /// On queues with a fair key, whose turn it was last.
    turns: BTreeMap<QueueName, String>,
    /// Commands that a status watches and of which tasks were started since the statuses were last looked at.
    started: BTreeSet<CommandName>,
    /// Numbers for the next tasks, when someone else has chosen them.
    ids: VecDeque<TaskId>,
    /// The same for fan-outs.
    fan_out_ids: VecDeque<FanOutId>,
    last_id: i64,
}

/// A task and what is not shown of it.
#[derive(Clone, Debug)]
struct Row {
    task: Task,
    unique: Option<Unique>,
    /// The key is no longer held, and never will be again.
    key_given_up: bool,
    /// Claims so far.
    runs: u32,
    token: Option<Token>,
    /// How its runs ended; not the only one, if that completed it.
    attempts: Vec<Attempt>,
    /// What it waited for after those runs that ended in a suspension.
    waited_for: BTreeMap<u32, WaitedFor>,
    /// When its own work was completed by its first run, and the worker that ran it last.
    done_at_once: Option<Timestamp>,
    ran_by: Option<WorkerId>,
    /// Which child of its fan-out it is; 0 is the first.
    nth: u32,
    /// The fan-out that it belongs to, if a handler awaited it.
    fan_out: Option<FanOutId>,
    /// How the children that it spawned run.
    order: ChildOrder,
    /// What its handler has recorded.
    checkpoints: Vec<Checkpoint>,
    /// When each of them was recorded.
    recorded_at: Vec<Timestamp>,
    /// Signals that nobody has taken yet, oldest first.
    kept: Vec<(SignalName, Json)>,
    /// It has been suspended at least once.
    was_suspended: bool,
    /// It is a root whose family holds a family slot of its queue.
    at_work: bool,
    /// The key that it waits behind since a claim found no room under it.
    behind: Option<group::KeyOf>,
    /// How often it was sent from one key to another.
    failed_tries: u16,
}

/// A family that a follow-up waits for.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Only its completion will do.
    needs_completed: bool,
    /// How it ended.
    ended: Option<State>,
}

#[derive(Clone, Debug)]
struct WorkerRow {
    spec: WorkerSpec,
    started_at: Timestamp,
    lease_until: Timestamp,
    steady_since: Timestamp,
    /// The number of its last record of what it did.
    minutes_recorded: u64,
}

impl Engine {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Runs a change that may fail half-way, and takes all of it back if it does.
    fn whole<T>(&mut self, change: impl FnOnce(&mut Self) -> Answer<T>) -> Answer<T> {
        let before = self.clone();
        let answer = change(self);
        if answer.is_err() {
            *self = before;
        }
        answer
    }

    fn worker(&self, id: WorkerId) -> Answer<&WorkerRow> {
        self.workers.get(&id).ok_or(StoreError::LeaseLost { worker: id })
    }

    fn row(&self, id: TaskId) -> Answer<&Row> {
        self.tasks.get(&id).ok_or_else(|| StoreError::not_found("task", id))
    }

    fn row_mut(&mut self, id: TaskId) -> &mut Row {
        self.tasks.get_mut(&id).expect("the caller has just seen this task")
    }

    /// The tasks that run on a worker, by number.
    fn running_on(&self, worker: WorkerId) -> Vec<TaskId> {
        self.tasks.values().filter(|row| row.task.worker == Some(worker)).map(|row| row.task.id).collect()
    }

    fn lost_workers(&self, judge: WorkerId) -> BTreeSet<WorkerId> {
        let lost = |(id, row): (&WorkerId, &WorkerRow)| (*id != judge && row.lease_until < self.now).then_some(*id);
        self.workers.iter().filter_map(lost).collect()
    }
}

impl Row {
    /// Whether the unique key is held at this moment.
    fn holds_key(&self, now: Timestamp, bug: Option<Bug>) -> bool {
        match self.unique.as_ref().map(|unique| unique.scope) {
            None => false,
            Some(UniqueScope::Window(span)) => {
                let early = bug == Some(Bug::WindowEndsEarly) && self.task.state.is_terminal();
                now < self.task.created_at.plus(span) && !early
            }
            Some(UniqueScope::Pending | UniqueScope::Active) => !self.key_given_up,
        }
    }

    /// Pending, with its gate open or shut until a moment.
    fn go_pending(&mut self, gate: Gate) {
        self.task.state = State::Pending;
        self.task.gate = Some(gate);
        self.task.worker = None;
        self.behind = None;
    }

    /// Waiting for its children; its own work has ended in this state. A cancelled one keeps nothing of what it said.
    fn go_waiting(&mut self, own: State, result: Option<Json>, failure: Option<Failure>) {
        self.task.state = State::Waiting;
        self.task.gate = None;
        self.task.worker = None;
        self.behind = None;
        self.task.signals.clear();
        self.task.failure = failure.filter(|_| own == State::Failed);
        self.task.result = result.filter(|_| own == State::Completed);
        self.task.outcome = Some(own);
    }

    /// Whether its handler is suspended.
    fn is_suspended(&self) -> bool {
        self.task.state == State::Waiting && self.task.outcome.is_none()
    }

    /// Completed, failed or cancelled, for good unless someone retries it.
    fn go_terminal(&mut self, state: State, failure: Option<Failure>, now: Timestamp) {
        self.task.state = state;
        self.task.gate = None;
        self.task.worker = None;
        self.behind = None;
        self.failed_tries = 0;
        self.task.signals.clear();
        self.task.failure = failure;
        self.task.finished_at = Some(now);
        self.key_given_up = true;
    }

    /// Writes down how the attempt that runs now ended. A completion at the first claim leaves no trace.
    fn record(&mut self, ending: Ending, failure: Option<Failure>, now: Timestamp) {
        if ending == Ending::Completed && self.runs == 1 {
            self.done_at_once = Some(now);
            return;
        }
        // A planted mistake can end an attempt of a task that does not run.
        let (Some(started_at), Some(worker)) = (self.task.started_at, self.task.worker) else { return };
        self.attempts.push(Attempt {
            run: self.runs,
            attempt: self.task.attempt,
            started_at,
            ended_at: now,
            worker,
            ending,
            failure,
        });
    }
}

/// The gate of a task that is due after a span.
fn gate_after(delay: Duration) -> Gate {
    if delay.is_zero() { Gate::Open } else { Gate::Time }
}
