//! The model behind the `Store` traits.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use kinfolk_core::audit::{Audit, Audited};
use kinfolk_core::cause::Causes;
use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::filter::{ByCommand, Filter, Matches, Page};
use kinfolk_core::held::Held;
use kinfolk_core::inspect::{Finding, Health, Stats, Violation};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::minute::{Minute, MinuteRecord};
use kinfolk_core::operate::{Action, BulkPage, Cancelled, Migrated, Migration};
use kinfolk_core::schedule::{Fired, Plan, undeclared};
use kinfolk_core::store::Answer;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    Attempt, ChildResult, Claim, Claimed, Command, CommandName, Enqueued, Explanation, FanOut, FanOutId, GroupName,
    GroupRef, GroupView, Heartbeat, History, Inspect, Json, Key, KeyFilter, KeyView, NewTask, Operate, Policy, Produce,
    Progress, Queue, QueueName, ReadBy, Record, Recorded, Recovered, Report, Retried, Run, Schedule, ScheduleName,
    Setting, Settle, Settled, SignalName, Signalled, Status, StatusName, Store, Suspend, TakenSignal, Tally, Task,
    TaskId, Timestamp, Token, WakeSource, Work, WorkerId, WorkerSpec,
};

use super::{Bug, Engine};
use crate::harness::START;

/// The engine in memory, as a store. Its clock stands still until it is moved.
#[derive(Debug)]
pub struct Model(Mutex<Engine>);

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

impl Model {
    /// An empty store, at the moment where all tests begin.
    pub fn new() -> Self {
        Self(Mutex::new(Engine { now: START, ..Engine::default() }))
    }

    /// The same with a mistake in it.
    pub fn with_bug(bug: Bug) -> Self {
        Self(Mutex::new(Engine { now: START, bug: Some(bug), ..Engine::default() }))
    }

    /// Forgets everything and goes back to the start; a planted mistake stays.
    pub fn wipe(&self) {
        let mut engine = self.engine();
        *engine = Engine { now: START, bug: engine.bug, ..Engine::default() };
    }

    /// Moves the clock.
    pub fn set_time(&self, now: Timestamp) {
        self.engine().now = now;
    }

    /// The next tasks get these numbers, as another store has given them out.
    pub fn number_next(&self, ids: impl IntoIterator<Item = TaskId>) {
        self.engine().ids = ids.into_iter().collect();
    }

    /// The next fan-outs get these numbers, as another store has given them out.
    pub fn number_next_fan_outs(&self, ids: impl IntoIterator<Item = FanOutId>) {
        self.engine().fan_out_ids = ids.into_iter().collect();
    }

    /// When a worker must look again at the latest after this claim, if it took all that it could: something is due then, or
    /// a rate lets something start that nothing else holds up.
    pub(crate) fn must_look_by(&self, claim: &Claim) -> Option<Timestamp> {
        self.engine().must_look_by(claim)
    }

    /// Carries out a call, and takes back the slots of those who no longer hold them.
    fn act<T>(&self, call: impl FnOnce(&mut Engine) -> T) -> T {
        let mut engine = self.engine();
        let answer = call(&mut engine);
        engine.release();
        answer
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Model {
    fn kind(&self) -> &'static str {
        "model"
    }
}

#[async_trait]
impl Produce for Model {
    async fn register(&self, commands: &[Command]) -> Answer<()> {
        self.act(|engine| engine.register(commands))
    }

    async fn enqueue(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        self.engine().enqueue(tasks)
    }

    async fn enqueue_all(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        self.engine().enqueue_all(tasks)
    }
}

#[async_trait]
impl Work for Model {
    async fn claim(&self, claim: &Claim) -> Answer<Claimed> {
        self.act(|engine| engine.claim(claim))
    }

    async fn settle(&self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        self.act(|engine| engine.settle(settles))
    }

    async fn record(&self, records: &[Record]) -> Answer<Vec<Recorded>> {
        self.engine().record(records)
    }

    async fn suspend(&self, suspends: &[Suspend]) -> Answer<Vec<Settled>> {
        self.act(|engine| engine.suspend(suspends))
    }

    async fn expire(&self, task: TaskId, token: Token, fan_out: FanOutId) -> Answer<Option<FanOut>> {
        self.act(|engine| engine.expire(task, token, fan_out))
    }

    async fn take_signal(&self, task: TaskId, token: Token, key: &Key, name: &SignalName) -> Answer<TakenSignal> {
        self.engine().take_signal(task, token, key, name)
    }

    async fn slow_down(&self, task: TaskId, token: Token, group: &GroupName, until: Timestamp) -> Answer<bool> {
        self.act(|engine| engine.slow_down(task, token, group, until))
    }

    async fn report(&self, task: TaskId, token: Token, report: &Report) -> Answer<bool> {
        self.engine().report(task, token, report)
    }

    async fn register_worker(&self, worker: &WorkerSpec) -> Answer<()> {
        self.engine().register_worker(worker)
    }

    async fn heartbeat(&self, worker: WorkerId) -> Answer<Heartbeat> {
        self.engine().heartbeat(worker)
    }

    async fn leave(&self, worker: WorkerId) -> Answer<()> {
        self.act(|engine| engine.leave(worker));
        Ok(())
    }

    async fn record_minutes(&self, worker: WorkerId, number: u64, records: &[MinuteRecord]) -> Answer<()> {
        self.act(|engine| engine.whole(|engine| engine.record_minutes(worker, number, records)))
    }

    async fn recover(&self, worker: WorkerId) -> Answer<Recovered> {
        self.act(|engine| engine.recover(worker))
    }

    async fn due_schedules(&self) -> Answer<Vec<Schedule>> {
        Ok(self.engine().due_schedules())
    }

    async fn fire(&self, plan: &Plan) -> Answer<Fired> {
        self.engine().whole(|engine| engine.fire(plan))
    }

    async fn sweep(&self) -> Answer<u64> {
        Ok(self.act(Engine::sweep))
    }

    async fn refresh_statuses(&self) -> Answer<Vec<Status>> {
        Ok(self.engine().refresh_statuses())
    }

    async fn prune(&self) -> Answer<u64> {
        Ok(self.act(Engine::prune))
    }

    async fn wakes(&self, _worker: WorkerId, _queues: &[QueueName]) -> Answer<Option<Box<dyn WakeSource>>> {
        Ok(None)
    }
}

#[async_trait]
impl Inspect for Model {
    async fn explain(&self, id: TaskId) -> Answer<Explanation> {
        self.engine().explain(id)
    }

    async fn held(&self, queue: Option<&QueueName>) -> Answer<Vec<Held>> {
        Ok(self.engine().held_up(queue))
    }

    async fn groups(&self) -> Answer<Vec<GroupView>> {
        Ok(self.engine().groups_shown())
    }

    async fn keys(&self, filter: &KeyFilter) -> Answer<Vec<KeyView>> {
        Ok(self.engine().keys_shown(filter))
    }

    async fn history(&self, id: TaskId) -> Answer<History> {
        Ok(self.engine().history(id))
    }

    async fn results(&self, fan_out: FanOutId, by: ReadBy, from: u32, limit: usize) -> Answer<Vec<ChildResult>> {
        self.engine().results(fan_out, by, from, limit)
    }

    async fn ended_at(&self, fan_out: FanOutId, indexes: &[u32]) -> Answer<Vec<Timestamp>> {
        self.engine().ended_at(fan_out, indexes)
    }

    async fn now(&self) -> Answer<Timestamp> {
        Ok(self.engine().now)
    }

    async fn task(&self, id: TaskId) -> Answer<Option<Task>> {
        Ok(self.engine().task(id))
    }

    async fn attempts(&self, id: TaskId) -> Answer<Vec<Attempt>> {
        Ok(self.engine().attempts(id))
    }

    async fn runs(&self, tasks: &[TaskId]) -> Answer<Vec<Run>> {
        self.engine().runs(tasks)
    }

    async fn list(&self, filter: &Filter) -> Answer<Page> {
        filter.check()?;
        Ok(self.engine().list(filter))
    }

    async fn count(&self, filter: &Filter) -> Answer<Matches> {
        filter.check()?;
        Ok(self.engine().count_matching(filter))
    }

    async fn count_by_command(&self, filter: &Filter) -> Answer<ByCommand> {
        filter.check()?;
        Ok(self.engine().count_by_command(filter))
    }

    async fn failures(&self, span: Duration) -> Answer<Causes> {
        Ok(self.engine().failures(span))
    }

    async fn children(&self, parent: TaskId, from: u64, limit: usize) -> Answer<Vec<Task>> {
        self.engine().children(parent, from, limit)
    }

    async fn tally(&self, parent: TaskId) -> Answer<Tally> {
        self.engine().tally(parent)
    }

    async fn progress(&self, task: TaskId) -> Answer<Progress> {
        self.engine().progress(task)
    }

    async fn is_active(&self, commands: &[CommandName]) -> Answer<bool> {
        Ok(self.engine().is_active(commands))
    }

    async fn statuses(&self) -> Answer<Vec<Status>> {
        Ok(self.engine().statuses.values().cloned().collect())
    }

    async fn stats(&self) -> Answer<Stats> {
        Ok(self.engine().stats())
    }

    async fn queues(&self) -> Answer<Vec<Queue>> {
        Ok(self.engine().queues.values().cloned().collect())
    }

    async fn commands(&self) -> Answer<Vec<Command>> {
        Ok(self.engine().commands_shown())
    }

    async fn workers(&self) -> Answer<Vec<WorkerView>> {
        Ok(self.engine().workers_shown())
    }

    async fn schedules(&self) -> Answer<Vec<Schedule>> {
        Ok(self.engine().schedules.values().cloned().collect())
    }

    async fn check(&self) -> Answer<Vec<Violation>> {
        Ok(self.engine().check())
    }

    async fn minutes(&self, span: Duration) -> Answer<Vec<Minute>> {
        let engine = self.engine();
        let since = engine.now.minus(span);
        let shown = |((at, queue, command), figures): (&(_, QueueName, CommandName), &_)| Minute {
            at: *at,
            queue: queue.clone(),
            command: command.clone(),
            figures: *figures,
        };
        Ok(engine.minutes.iter().filter(|((at, ..), _)| *at > since).map(shown).collect())
    }

    async fn audit_log(&self, before: Option<i64>, limit: usize) -> Answer<Vec<Audited>> {
        let engine = self.engine();
        let older = engine.audited.iter().rev().filter(|audited| before.is_none_or(|before| audited.id < before));
        Ok(older.take(limit.min(PAGE_MAX)).cloned().collect())
    }

    async fn errors(&self, filter: &ErrorFilter) -> Answer<Vec<LoggedError>> {
        let engine = self.engine();
        let meant = engine.errors.iter().rev().filter(|entry| filter.matches(entry));
        Ok(meant.take(filter.limit.min(PAGE_MAX)).cloned().collect())
    }

    async fn change_number(&self) -> Answer<u64> {
        let mut engine = self.engine();
        engine.looks += 1;
        Ok(engine.looks)
    }

    /// Of all that a store looks at, what can be known without a database.
    async fn doctor(&self) -> Answer<Vec<Finding>> {
        let (now, workers, schedules) = (self.now().await?, self.workers().await?, self.schedules().await?);
        let alive: Vec<_> = workers.iter().filter(|worker| worker.lease_until >= now).collect();
        let names: Vec<_> = undeclared(&schedules, &alive).into_iter().map(ToString::to_string).collect();
        let found = match names.as_slice() {
            [] => "what code declared is still declared".to_owned(),
            names => format!("no longer declared by the workers of their commands: {}", names.join(", ")),
        };
        let health = if names.is_empty() { Health::Good } else { Health::Warning };
        let schedules =
            Finding { subject: "schedules".to_owned(), health, found, remedy: "kinfolk schedule remove".to_owned() };
        Ok(vec![self.engine().unhandled(), schedules])
    }
}

#[async_trait]
impl Operate for Model {
    async fn set_group(&self, group: &GroupRef, key: Option<&str>, setting: &Setting) -> Answer<()> {
        self.act(|engine| engine.set_group(group, key, setting))
    }

    async fn remove_group(&self, group: &GroupRef) -> Answer<()> {
        self.act(|engine| engine.remove_group(group))
    }

    async fn signal(&self, id: TaskId, name: &SignalName, value: &Json) -> Answer<Signalled> {
        self.engine().signal(id, name, value)
    }

    async fn cancel(&self, id: TaskId) -> Answer<Cancelled> {
        self.act(|engine| engine.cancel(id))
    }

    async fn retry(&self, id: TaskId) -> Answer<Task> {
        self.engine().retry(id)
    }

    async fn acquit(&self, id: TaskId) -> Answer<Task> {
        self.engine().acquit(id)
    }

    async fn retry_family(&self, id: TaskId) -> Answer<Retried> {
        self.engine().retry_family(id)
    }

    async fn run_now(&self, id: TaskId) -> Answer<Task> {
        self.engine().run_now(id)
    }

    async fn bulk(&self, action: Action, filter: &Filter) -> Answer<BulkPage> {
        filter.check()?;
        self.act(|engine| engine.bulk(action, filter))
    }

    async fn put_status(&self, name: &StatusName, commands: &[CommandName]) -> Answer<()> {
        self.engine().put_status(name, commands)
    }

    async fn remove_status(&self, name: &StatusName) -> Answer<()> {
        self.engine().remove_status(name)
    }

    async fn set_queue(&self, queue: &QueueName, policy: &Policy) -> Answer<()> {
        policy.check()?;
        self.engine().set_queue(queue, policy.clone());
        Ok(())
    }

    async fn pause(&self, queue: &QueueName, by: Option<&str>) -> Answer<()> {
        self.engine().pause(queue, by)
    }

    async fn resume(&self, queue: &QueueName) -> Answer<()> {
        self.engine().resume(queue)
    }

    async fn declare_schedules(&self, names: &[ScheduleName]) -> Answer<()> {
        self.engine().declare_schedules(names);
        Ok(())
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Answer<Schedule> {
        self.engine().put_schedule(schedule)
    }

    async fn pause_schedule(&self, name: &ScheduleName, paused: bool) -> Answer<()> {
        self.engine().pause_schedule(name, paused)
    }

    async fn remove_schedule(&self, name: &ScheduleName) -> Answer<()> {
        self.engine().remove_schedule(name)
    }

    async fn audit(&self, entry: &Audit) -> Answer<()> {
        let mut engine = self.engine();
        let (id, at) = (engine.audited.last().map_or(1, |last| last.id + 1), engine.now);
        engine.audited.push(Audited { id, at, audit: entry.cut() });
        Ok(())
    }

    async fn migrate(&self) -> Answer<Migrated> {
        Ok(Migrated { from: 1, to: 1 })
    }

    async fn pending_migrations(&self) -> Answer<Vec<Migration>> {
        Ok(Vec::new())
    }
}
