//! The calls of a reader.

use std::time::Duration;

use async_trait::async_trait;
use kinfolk_core::audit::Audited;
use kinfolk_core::cause::Causes;
use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::filter::{ByCommand, Filter, Matches, Page};
use kinfolk_core::held::Held;
use kinfolk_core::inspect::{Finding, Stats, Violation};
use kinfolk_core::minute::Minute;
use kinfolk_core::store::{Answer, Inspect};
use kinfolk_core::task::{Attempt, Run, Task};
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    ChildResult, Command, CommandName, Explanation, FanOutId, GroupView, History, KeyFilter, KeyView, Progress, Queue,
    QueueName, ReadBy, Schedule, Status, Tally, TaskId, Timestamp,
};

use super::SqliteStore;
use crate::check;
use crate::check::doctor;
use crate::explain;
use crate::find::list;
use crate::inspect::activity;
use crate::inspect::activity::Activity;
use crate::inspect::durable;
use crate::inspect::failures;
use crate::inspect::family;
use crate::inspect::groups;
use crate::inspect::held;
use crate::inspect::stats;
use crate::inspect::tasks;
use crate::verb::{audit, errors, minute, schedule};

#[async_trait]
impl Inspect for SqliteStore {
    async fn now(&self) -> Answer<Timestamp> {
        self.read(|snapshot| Ok(snapshot.now)).await
    }

    async fn task(&self, id: TaskId) -> Answer<Option<Task>> {
        self.read(move |snapshot| tasks::task(snapshot.conn, &snapshot.catalogue, snapshot.now, id)).await
    }

    async fn attempts(&self, id: TaskId) -> Answer<Vec<Attempt>> {
        self.read(move |snapshot| tasks::attempts(snapshot, id)).await
    }

    async fn runs(&self, tasks: &[TaskId]) -> Answer<Vec<Run>> {
        let tasks = tasks.to_vec();
        self.read(move |snapshot| tasks::runs(snapshot, &tasks)).await
    }

    async fn list(&self, filter: &Filter) -> Answer<Page> {
        filter.check()?;
        let filter = filter.clone();
        self.read(move |snapshot| list::list(snapshot, &filter)).await
    }

    async fn count(&self, filter: &Filter) -> Answer<Matches> {
        filter.check()?;
        let filter = filter.clone();
        self.read(move |snapshot| list::count(snapshot, &filter)).await
    }

    async fn count_by_command(&self, filter: &Filter) -> Answer<ByCommand> {
        filter.check()?;
        let filter = filter.clone();
        self.read(move |snapshot| list::count_by_command(snapshot, &filter)).await
    }

    async fn failures(&self, span: Duration) -> Answer<Causes> {
        self.read(move |snapshot| failures::failures(snapshot, span)).await
    }

    async fn minutes(&self, span: Duration) -> Answer<Vec<Minute>> {
        self.read(move |snapshot| minute::minutes(snapshot, span)).await
    }

    async fn children(&self, parent: TaskId, from: u64, limit: usize) -> Answer<Vec<Task>> {
        self.read(move |snapshot| family::children(snapshot, parent, from, limit)).await
    }

    async fn tally(&self, parent: TaskId) -> Answer<Tally> {
        self.read(move |snapshot| family::tally(snapshot, parent)).await
    }

    async fn progress(&self, task: TaskId) -> Answer<Progress> {
        self.read(move |snapshot| family::progress(snapshot, task)).await
    }

    async fn is_active(&self, commands: &[CommandName]) -> Answer<bool> {
        let commands = commands.to_vec();
        self.read(move |snapshot| Activity::new(snapshot.conn, &snapshot.catalogue)?.among(&commands)).await
    }

    async fn statuses(&self) -> Answer<Vec<Status>> {
        self.read(|snapshot| activity::statuses(snapshot.conn)).await
    }

    async fn history(&self, id: TaskId) -> Answer<History> {
        self.read(move |snapshot| durable::history(snapshot, id)).await
    }

    async fn results(&self, fan_out: FanOutId, by: ReadBy, from: u32, limit: usize) -> Answer<Vec<ChildResult>> {
        self.read(move |snapshot| durable::results(snapshot, fan_out, by, from, limit)).await
    }

    async fn ended_at(&self, fan_out: FanOutId, indexes: &[u32]) -> Answer<Vec<Timestamp>> {
        let indexes = indexes.to_vec();
        self.read(move |snapshot| durable::ended_at(snapshot, fan_out, &indexes)).await
    }

    async fn explain(&self, id: TaskId) -> Answer<Explanation> {
        self.read(move |snapshot| explain::explain(snapshot, id)).await
    }

    async fn keys(&self, filter: &KeyFilter) -> Answer<Vec<KeyView>> {
        let filter = filter.clone();
        self.read(move |snapshot| groups::keys(snapshot, &filter)).await
    }

    async fn held(&self, queue: Option<&QueueName>) -> Answer<Vec<Held>> {
        let queue = queue.cloned();
        self.read(move |snapshot| held::held_up(snapshot, queue.as_ref())).await
    }

    async fn groups(&self) -> Answer<Vec<GroupView>> {
        self.read(groups::groups).await
    }

    async fn stats(&self) -> Answer<Stats> {
        self.read(stats::stats).await
    }

    async fn queues(&self) -> Answer<Vec<Queue>> {
        self.read(|snapshot| Ok(snapshot.catalogue.all_queues())).await
    }

    async fn commands(&self) -> Answer<Vec<Command>> {
        self.read(|snapshot| Ok(snapshot.catalogue.all_commands())).await
    }

    async fn workers(&self) -> Answer<Vec<WorkerView>> {
        self.read(stats::workers).await
    }

    async fn schedules(&self) -> Answer<Vec<Schedule>> {
        self.read(|snapshot| schedule::all(snapshot.conn)).await
    }

    async fn check(&self) -> Answer<Vec<Violation>> {
        self.read(check::check).await
    }

    async fn audit_log(&self, before: Option<i64>, limit: usize) -> Answer<Vec<Audited>> {
        self.read(move |snapshot| audit::page(snapshot, before, limit)).await
    }

    async fn errors(&self, filter: &ErrorFilter) -> Answer<Vec<LoggedError>> {
        let filter = filter.clone();
        self.read(move |snapshot| errors::page(snapshot, &filter)).await
    }

    async fn change_number(&self) -> Answer<u64> {
        self.change_number().await
    }

    async fn doctor(&self) -> Answer<Vec<Finding>> {
        self.read(doctor::doctor).await
    }
}
