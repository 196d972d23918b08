//! Playing a history on a store and on the model at once, and comparing every answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use kinfolk_core::filter::{Filter, Order, Page};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    Claim, ClaimedTask, Command, CommandName, Due, Enqueued, FanOutId, FollowUp, Inspect, Json, Made, NewTask, Operate,
    Produce, QueueName, RetryPolicy, Schedule, ScheduleName, Settle, State, StatusName, Store, Task, TaskId, Timestamp,
    Token, Unique, Work, WorkerId, WorkerSpec,
};
use uuid::Uuid;

use super::group::Known;
use super::op::{Ask, Close, End, Making, Op, WORKERS};
use crate::harness::{START, TestStore};
use crate::model::Model;

/// The first place where a store and the model differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// After how many operations.
    pub step: usize,
    /// What was compared.
    pub what: String,
    /// What the model says.
    pub model: String,
    /// What the store says.
    pub store: String,
}

/// A store and the model side by side, and what a history needs to remember.
pub(super) struct Player<'a> {
    test: &'a dyn TestStore,
    pub(super) store: Arc<dyn Store>,
    pub(super) model: Model,
    pub(super) now: Timestamp,
    step: usize,
    tasks: Vec<TaskId>,
    pub(super) claims: Vec<ClaimedTask>,
    /// The fan-outs that were begun by each task, first to last.
    pub(super) fan_outs: BTreeMap<TaskId, Vec<FanOutId>>,
    pub(super) known: Known,
    tokens: u128,
    latest_claim: [Option<Claim>; WORKERS],
}

/// Plays a history from an empty store. `Ok` when nothing differed.
pub(super) async fn play(test: &dyn TestStore, model: Model, history: &[Op]) -> Result<(), Difference> {
    test.wipe().await;
    test.set_time(START).await;
    model.set_time(START);
    let mut player = Player {
        test,
        store: test.store(),
        model,
        now: START,
        step: 0,
        tasks: Vec::new(),
        claims: Vec::new(),
        fan_outs: BTreeMap::new(),
        known: Known::of(history),
        tokens: 0,
        latest_claim: Default::default(),
    };
    for (step, op) in history.iter().enumerate() {
        player.step = step;
        player.apply(op).await?;
    }
    player.observe().await
}

/// Calls the same method on the store and on the model, and compares the answers.
macro_rules! both {
    ($player:ident, $method:ident $(, $arg:expr)*) => {{
        let store = $player.store.$method($($arg),*).await;
        let model = $player.model.$method($($arg),*).await;
        $player.same(stringify!($method), &model, &store)?;
        store
    }};
}

/// The same, after what a store may do as it likes was levelled in both answers.
macro_rules! levelled {
    ($player:ident, $level:expr, $method:ident $(, $arg:expr)*) => {{
        let mut store = $player.store.$method($($arg),*).await;
        let mut model = $player.model.$method($($arg),*).await;
        let level = $level;
        let _ = store.as_mut().map(&level);
        let _ = model.as_mut().map(&level);
        $player.same(stringify!($method), &model, &store)?;
        store
    }};
}

/// The same, where the answer is not needed further.
macro_rules! same {
    ($($call:tt)*) => {{
        let _ = both!($($call)*);
        Ok(())
    }};
}

impl Player<'_> {
    pub(super) async fn apply(&mut self, op: &Op) -> Result<(), Difference> {
        match op {
            Op::Register { .. } => self.register(op).await,
            Op::Enqueue(asks) => self.enqueue(asks, false).await,
            Op::EnqueueAll(asks) => self.enqueue(asks, true).await,
            Op::Advance(span) => {
                self.advance(*span).await;
                Ok(())
            }
            Op::RegisterWorker { worker, commands, lease_s } => {
                let spec = worker_spec(*worker, *commands, Duration::from_secs(*lease_s));
                same!(self, register_worker, &spec)
            }
            Op::Heartbeat(worker) => same!(self, heartbeat, worker_id(*worker)),
            Op::Leave(worker) => same!(self, leave, worker_id(*worker)),
            Op::Claim { .. } => self.claim(op).await,
            Op::Settle(ends) => {
                let nth = |back: usize| self.claims.get(self.claims.len().checked_sub(back + 1)?);
                let ends: Vec<_> = ends.iter().filter_map(|(back, end)| Some((nth(*back)?.clone(), end))).collect();
                self.end(&ends).await
            }
            Op::Round { .. } => self.round(op).await,
            Op::Deed(deed) => self.deed(deed).await,
            Op::Change(change) => self.change(change).await,
            Op::Recover(worker) => same!(self, recover, worker_id(*worker)),
            Op::Outlive(worker) => {
                for _ in 0..4 {
                    self.advance(Duration::from_secs(9)).await;
                    let _ = both!(self, heartbeat, worker_id(*worker));
                }
                same!(self, recover, worker_id(*worker))
            }
            Op::Cancel(task) => same!(self, cancel, self.nth(*task)),
            Op::Retry(task) => same!(self, retry, self.nth(*task)),
            Op::Acquit(task) => {
                let _ = levelled!(self, |task: &mut Task| self.known.level_task(task), acquit, self.nth(*task));
                Ok(())
            }
            Op::RetryFamily(task) => same!(self, retry_family, self.nth(*task)),
            Op::Pause(queue) => same!(self, pause, &queue_name(*queue), Some("ops")),
            Op::Resume(queue) => same!(self, resume, &queue_name(*queue)),
            Op::SetQueue { queue, policy } => same!(self, set_queue, &queue_name(*queue), policy),
            Op::PutStatus { status, commands } => {
                same!(self, put_status, &status_name(*status), &command_names(*commands))
            }
            Op::RemoveStatus(status) => same!(self, remove_status, &status_name(*status)),
            Op::RefreshStatuses => same!(self, refresh_statuses),
            Op::Sweep => same!(self, sweep),
            Op::PutSchedule { .. } => self.put_schedule(op).await,
            Op::PauseSchedule { schedule, paused } => {
                same!(self, pause_schedule, &schedule_name(*schedule), *paused)
            }
            Op::RemoveSchedule(schedule) => same!(self, remove_schedule, &schedule_name(*schedule)),
            Op::Fire { twice } => self.fire(*twice).await,
            Op::Prune => same!(self, prune),
            Op::Observe => self.observe().await,
        }
    }

    async fn advance(&mut self, span: Duration) {
        self.now = self.now.plus(span);
        self.model.set_time(self.now);
        self.test.set_time(self.now).await;
    }

    async fn register(&mut self, op: &Op) -> Result<(), Difference> {
        let Op::Register { command, queue, priority, max_attempts, base_ms, max_strikes, groups } = op else {
            return Ok(());
        };
        let (max_attempts, base_ms, max_strikes) = (*max_attempts, *base_ms, *max_strikes);
        let command = Command {
            queue: queue_name(*queue),
            priority: self.known.priority(Some(*priority)).unwrap_or_default(),
            retry: RetryPolicy { max_attempts, base_ms, max_strikes, ..RetryPolicy::default() },
            groups: groups.clone(),
            ..Command::new(command_name(*command))
        };
        self.known.hear(command.groups.as_ref());
        let registered: Answer<()> = both!(self, register, std::slice::from_ref(&command));
        if registered.is_ok() {
            self.learn().await;
        }
        Ok(())
    }

    async fn enqueue(&mut self, asks: &[Ask], whole: bool) -> Result<(), Difference> {
        let tasks: Vec<_> = asks.iter().map(|ask| new_task(ask, self.now, &self.known)).collect();
        let store = match whole {
            true => self.store.enqueue_all(&tasks).await,
            false => self.store.enqueue(&tasks).await,
        };
        let created = store.iter().flatten().filter_map(created).collect::<Vec<_>>();
        self.model.number_next(created.iter().copied());
        self.tasks.extend(created);
        let model = match whole {
            true => self.model.enqueue_all(&tasks).await,
            false => self.model.enqueue(&tasks).await,
        };
        self.same(if whole { "enqueue_all" } else { "enqueue" }, &model, &store)
    }

    async fn claim(&mut self, op: &Op) -> Result<(), Difference> {
        let Op::Claim { worker, queue, commands, limit, repeat } = op else { return Ok(()) };
        let claim = match self.latest_claim[*worker].clone().filter(|_| *repeat) {
            Some(before) => Claim { repeated: true, ..before },
            None => self.new_claim(*worker, *queue, *commands, *limit),
        };
        self.take(*worker, claim).await.map(|_| ())
    }

    async fn round(&mut self, op: &Op) -> Result<(), Difference> {
        let Op::Round { worker, queue, ends } = op else { return Ok(()) };
        let claim = self.new_claim(*worker, *queue, u8::MAX, ends.len());
        let taken = self.take(*worker, claim).await?;
        let (mut ended, mut suspended) = (Vec::new(), Vec::new());
        for (task, close) in taken.into_iter().zip(ends) {
            match close {
                Close::End(end) => ended.push((task, end)),
                Close::Suspend(pause) => suspended.push((task, (**pause).clone())),
            }
        }
        if !ended.is_empty() {
            self.end(&ended).await?;
        }
        if suspended.is_empty() { Ok(()) } else { self.suspend(&suspended).await }
    }

    /// Settles, except that no call ends a task and one below it, or two siblings of which one has made tasks: which of them goes
    /// first is not laid down.
    async fn end(&mut self, ends: &[(ClaimedTask, &End)]) -> Result<(), Difference> {
        let parents: BTreeMap<_, _> = self.claims.iter().filter_map(|task| Some((task.id, task.parent?))).collect();
        let above = |id: TaskId| std::iter::successors(Some(id), |id| parents.get(id).copied()).skip(1);
        let mut settles: Vec<Settle> = Vec::new();
        for (task, end) in ends {
            let sibling = |other: &Settle| task.parent.is_some() && task.parent == parents.get(&other.task).copied();
            let related = |other: &Settle| {
                above(task.id).any(|id| id == other.task)
                    || above(other.task).any(|id| id == task.id)
                    || (sibling(other) && (end.made.is_some() || other.made.is_some()))
            };
            if !settles.iter().any(related) {
                settles.push(settle_of(task, end, self.now, &self.known));
            }
        }
        self.settle(&settles).await
    }

    fn new_claim(&mut self, worker: usize, queue: usize, commands: u8, limit: usize) -> Claim {
        self.tokens += 1;
        Claim {
            worker: worker_id(worker),
            token: Token(Uuid::from_u128(self.tokens)),
            queue: queue_name(queue),
            commands: command_names(commands),
            limit,
            repeated: false,
        }
    }

    async fn take(&mut self, worker: usize, claim: Claim) -> Result<Vec<ClaimedTask>, Difference> {
        self.latest_claim[worker] = Some(claim.clone());
        let tasks = self.claim_both(&claim).await?.tasks;
        self.claims.extend(tasks.iter().cloned());
        Ok(tasks)
    }

    /// The store settles first, so that the model can give what was made the same numbers.
    async fn settle(&mut self, settles: &[Settle]) -> Result<(), Difference> {
        let store = self.store.settle(settles).await;
        if settles.iter().any(|settle| settle.made.is_some()) {
            self.number_what_was_made().await;
        }
        let model = self.model.settle(settles).await;
        self.same("settle", &model, &store)
    }

    /// Tells the model the numbers of the tasks that the store has just made.
    pub(super) async fn number_what_was_made(&mut self) {
        let page = self.store.list(&Filter { limit: 1_000, ..Filter::default() }).await.unwrap_or_default();
        let known: BTreeSet<_> = self.tasks.iter().copied().collect();
        let mut made: Vec<_> = page.tasks.iter().map(|task| task.id).filter(|id| !known.contains(id)).collect();
        made.sort_unstable();
        self.model.number_next(made.iter().copied());
        self.tasks.extend(made);
    }

    async fn put_schedule(&self, op: &Op) -> Result<(), Difference> {
        let Op::PutSchedule { schedule, command, cron, missed, overlap } = op else { return Ok(()) };
        let task = NewTask::new(command_name(*command), Json::object());
        let schedule =
            Schedule { missed: *missed, overlap: *overlap, ..Schedule::new(schedule_name(*schedule), *cron, task) };
        same!(self, put_schedule, &schedule)
    }

    async fn fire(&mut self, twice: bool) -> Result<(), Difference> {
        let due = both!(self, due_schedules).unwrap_or_default();
        for schedule in due {
            let Ok(Some(plan)) = schedule.plan(self.now) else { continue };
            for _ in 0..=u8::from(twice) {
                let store = self.store.fire(&plan).await;
                let created = store.as_ref().map(|fired| fired.tasks.clone()).unwrap_or_default();
                self.model.number_next(created.iter().copied());
                self.tasks.extend(created);
                let model = self.model.fire(&plan).await;
                self.same("fire", &model, &store)?;
            }
        }
        Ok(())
    }

    /// Compares everything there is to see, and runs the store's own invariants.
    async fn observe(&self) -> Result<(), Difference> {
        let filter = Filter { limit: 1_000, ..Filter::default() };
        let level_page = |page: &mut Page| page.tasks.iter_mut().for_each(|task| self.known.level_task(task));
        let level_all = |tasks: &mut Vec<Task>| tasks.iter_mut().for_each(|task| self.known.level_task(task));
        let page = levelled!(self, level_page, list, &filter).unwrap_or_default();
        // What was never claimed has no attempts: one such task is enough to see that.
        let claimed: BTreeSet<_> = self.claims.iter().map(|task| task.id).collect();
        let (tried, fresh): (Vec<_>, Vec<_>) = page.tasks.iter().partition(|task| claimed.contains(&task.id));
        let shown: Vec<_> = tried.into_iter().chain(fresh.into_iter().take(1)).map(|task| task.id).collect();
        for task in &shown {
            let _ = both!(self, attempts, *task);
        }
        let _ = both!(self, runs, &shown);
        if let Some(task) = page.tasks.first() {
            let small = Filter { limit: 2, before: Some(task.id), state: vec![task.state], ..Filter::default() };
            let _ = levelled!(self, level_page, list, &small);
            let level = |task: &mut Option<Task>| task.iter_mut().for_each(|task| self.known.level_task(task));
            let _ = levelled!(self, level, task, task.id);
        }
        if let Some(task) = page.tasks.iter().find(|task| task.parent.is_some()).or(page.tasks.last()) {
            for filter in filters_around(task) {
                let _ = levelled!(self, level_page, list, &filter);
                let _ = both!(self, count, &filter);
            }
        }
        let parents: BTreeSet<_> = page.tasks.iter().filter_map(|task| task.parent).collect();
        for parent in parents.iter().chain(self.tasks.last()) {
            let _ = levelled!(self, level_all, children, *parent, 0, 1_000);
            let _ = levelled!(self, level_all, children, *parent, 1, 2);
            let _ = both!(self, tally, *parent);
            let _ = both!(self, progress, *parent);
        }
        for mask in 0..8 {
            let _ = both!(self, is_active, &command_names(mask));
        }
        self.observe_flows().await?;
        let _ = both!(self, statuses);
        self.observe_groups(&page.tasks).await?;
        let _ = levelled!(self, |stats| self.known.level_stats(stats), stats);
        let _ = both!(self, queues);
        let _ = both!(self, commands);
        let _ = both!(self, workers);
        let _ = both!(self, schedules);
        same!(self, check)
    }

    pub(super) fn nth(&self, index: usize) -> TaskId {
        // One past the end is a task that never was.
        let count = self.tasks.len() + 1;
        self.tasks.get(index % count).copied().unwrap_or(TaskId(i64::MAX))
    }

    pub(super) fn same<T: Debug + PartialEq>(
        &self,
        what: &str,
        model: &Answer<T>,
        store: &Answer<T>,
    ) -> Result<(), Difference> {
        let equal = match (model, store) {
            (Ok(model), Ok(store)) => model == store,
            (Err(model), Err(store)) => model.code() == store.code() && model.to_string() == store.to_string(),
            _ => false,
        };
        if equal {
            return Ok(());
        }
        Err(Difference {
            step: self.step,
            what: what.to_owned(),
            model: format!("{model:#?}"),
            store: format!("{store:#?}"),
        })
    }
}

fn created(answer: &Enqueued) -> Option<TaskId> {
    match answer {
        Enqueued::Created(id) => Some(*id),
        _ => None,
    }
}

fn settle_of(task: &ClaimedTask, end: &End, now: Timestamp, known: &Known) -> Settle {
    let made = end.made.as_ref().map(|made| made_of(task, made, now, known));
    Settle { made, ..Settle::new(task.id, task.token, end.outcome.clone()) }
}

pub(super) fn made_of(task: &ClaimedTask, made: &Making, now: Timestamp, known: &Known) -> Box<Made> {
    let tasks = |asks: &[Ask]| asks.iter().map(|ask| new_task(ask, now, known)).collect::<Vec<_>>();
    let siblings = if task.parent.is_some() || made.bold { tasks(&made.siblings) } else { Vec::new() };
    let follow_ups =
        made.follow_ups.iter().map(|(ask, when)| FollowUp { task: new_task(ask, now, known), when: *when });
    Box::new(Made {
        siblings,
        children: tasks(&made.children),
        order: made.order,
        follow_ups: follow_ups.collect(),
        tasks: tasks(&made.tasks),
    })
}

pub(super) fn new_task(ask: &Ask, now: Timestamp, known: &Known) -> NewTask {
    let due = match ask.delay_s {
        None => Due::Now,
        Some(secs) if secs < 0 => Due::At(now.minus(Duration::from_secs(secs.unsigned_abs()))),
        Some(secs) => Due::After(Duration::from_secs(secs.unsigned_abs())),
    };
    NewTask {
        queue: ask.queue.map(queue_name),
        priority: known.priority(ask.priority),
        due,
        unique: ask.unique.map(|(key, scope, on_duplicate)| {
            Unique::key(format!("key-{key}")).scope(scope).on_duplicate(on_duplicate)
        }),
        max_attempts: ask.max_attempts,
        timeout: ask.timeout_s.map(Duration::from_secs),
        keys: known.keys(&command_name(ask.command), &ask.given),
        inherit_keys: ask.given.inherit,
        ..NewTask::new(command_name(ask.command), ask.payload.clone())
    }
}

fn worker_spec(worker: usize, commands: u8, lease: Duration) -> WorkerSpec {
    WorkerSpec {
        id: worker_id(worker),
        name: format!("worker-{worker}"),
        version: String::new(),
        queues: vec![queue_name(0), queue_name(1)],
        commands: command_names(commands),
        lease,
    }
}

fn worker_id(worker: usize) -> WorkerId {
    WorkerId(Uuid::from_u128(0xabc0 + worker as u128))
}

fn queue_name(queue: usize) -> QueueName {
    QueueName::new(["default", "other"][queue]).expect("a sound name")
}

pub(super) fn command_name(command: usize) -> CommandName {
    CommandName::new(["alpha", "beta", "gamma"][command]).expect("a sound name")
}

fn command_names(mask: u8) -> Vec<CommandName> {
    (0..3).filter(|command| mask >> command & 1 == 1).map(command_name).collect()
}

fn status_name(status: usize) -> StatusName {
    StatusName::new(["busy", "derive"][status]).expect("a sound name")
}

fn schedule_name(schedule: usize) -> ScheduleName {
    ScheduleName::new(["hourly", "nightly"][schedule]).expect("a sound name")
}

/// Filters that match a task, each by another of its traits.
fn filters_around(task: &Task) -> Vec<Filter> {
    let all = Filter { limit: 3, ..Filter::default() };
    let oldest = Filter { order: Order::Oldest, ..all.clone() };
    vec![
        Filter { root: Some(task.root), ..oldest.clone() },
        Filter { parent: task.parent, has_children: Some(task.parent.is_some()), ..all.clone() },
        Filter { fan_out: task.fan_out, state: vec![task.state, State::Failed], ..all.clone() },
        Filter { command: Some(task.command.clone()), roots: task.parent.is_none(), after: Some(task.root), ..oldest },
        Filter { key: task.keys.clone(), queue: Some(task.queue.clone()), state: vec![task.state], ..all.clone() },
        Filter { failure_kind: task.failure.as_ref().map(|failure| failure.kind), has_children: Some(false), ..all },
    ]
}
