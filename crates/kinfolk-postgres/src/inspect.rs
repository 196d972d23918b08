//! What anyone may look at.

use async_trait::async_trait;
use kinfolk_core::inspect::{Filter, Finding, Page, Stats, Violation};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    Attempt, ChildResult, Command, CommandName, Explanation, FanOutId, GroupView, History, Inspect, KeyFilter, KeyView,
    Progress, Queue, QueueName, ReadBy, Schedule, State, Status, StoreError, Tally, Task, TaskId, Timestamp,
};
use tokio_postgres::types::Type;

use crate::call::Param;
use crate::durable::no_such_fan_out;
use crate::rows::{self, task_columns};
use crate::store::PgStore;
use crate::values::Moment;

const NOW: &str = "select kinfolk.clock()";
pub(crate) const TASK: &str = concat!("select ", task_columns!(), " from kinfolk.get_task($1)");
const ATTEMPTS: &str = "select * from kinfolk.get_attempts($1)";
const LIST: &str = concat!("select ", task_columns!(), " from kinfolk.list_tasks($1, $2, $3, $4, $5, $6)");
const CHILDREN: &str = concat!("select ", task_columns!(), " from kinfolk.children($1, $2, $3)");
const TALLY: &str = "select total, completed, failed, cancelled from kinfolk.tally($1)";
const PROGRESS: &str = "select generation, total, completed, failed, cancelled from kinfolk.progress($1)";
const COUNTS: &str = "select queue, command, state, tasks from kinfolk.count_tasks()";
const STATS: &str = "select now, workers, queue, oldest_open from kinfolk.stats()";
const QUEUES: &str = "select * from kinfolk.queues()";
const COMMANDS: &str = "select * from kinfolk.commands()";
const WORKERS: &str = "select * from kinfolk.workers()";
const SCHEDULES: &str = "select * from kinfolk.schedules()";
const CHECK: &str = "select * from kinfolk.check_invariants()";
const IS_ACTIVE: &str = "select kinfolk.is_active($1)";
const STATUSES: &str = "select name, commands, active, changed_at from kinfolk.statuses()";
const HISTORY: &str = "select * from kinfolk.history($1)";
const RESULTS: &str = "select * from kinfolk.results($1, $2, $3, $4)";
const DOCTOR: &str = "select * from kinfolk.doctor($1)";

#[async_trait]
impl Inspect for PgStore {
    async fn explain(&self, id: TaskId) -> Answer<Explanation> {
        self.read_explanation(id).await
    }

    async fn groups(&self) -> Answer<Vec<GroupView>> {
        self.read_groups().await
    }

    async fn keys(&self, filter: &KeyFilter) -> Answer<Vec<KeyView>> {
        self.read_keys(filter).await
    }

    async fn now(&self) -> Answer<Timestamp> {
        let rows = self.look(NOW, &[]).await?;
        Ok(rows.first().map(|row| row.get::<_, Moment>(0).0).unwrap_or_default())
    }

    async fn task(&self, id: TaskId) -> Answer<Option<Task>> {
        self.look(TASK, &[(&id.0, Type::INT8)]).await?.first().map(rows::task).transpose()
    }

    async fn attempts(&self, id: TaskId) -> Answer<Vec<Attempt>> {
        self.look(ATTEMPTS, &[(&id.0, Type::INT8)]).await?.iter().map(rows::attempt).collect()
    }

    async fn list(&self, filter: &Filter) -> Answer<Page> {
        let limit = filter.limit.clamp(1, PAGE_MAX);
        let states: Option<Vec<&str>> =
            (!filter.states.is_empty()).then(|| filter.states.iter().map(|state| State::as_str(*state)).collect());
        let command = filter.command.as_ref().map(|name| name.as_str());
        let queue = filter.queue.as_ref().map(QueueName::as_str);
        let before = filter.before.map(|id| id.0);
        // One more than asked for says whether there is another page.
        let many = limit as i32 + 1;
        let rows = self
            .look(
                LIST,
                &[
                    (&states, Type::TEXT_ARRAY),
                    (&command, Type::TEXT),
                    (&queue, Type::TEXT),
                    (&filter.unique_key, Type::TEXT),
                    (&before, Type::INT8),
                    (&many, Type::INT4),
                ],
            )
            .await?;
        let tasks = rows.iter().take(limit).map(rows::task).collect::<Answer<Vec<Task>>>()?;
        let next = if rows.len() > limit { tasks.last().map(|task| task.id) } else { None };
        Ok(Page { tasks, next })
    }

    async fn children(&self, parent: TaskId, from: u64, limit: usize) -> Answer<Vec<Task>> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let limit = limit.min(PAGE_MAX) as i32;
        let rows = self.look(CHILDREN, &[(&parent.0, Type::INT8), (&from, Type::INT8), (&limit, Type::INT4)]).await;
        rows.map_err(|fault| no_such_task(fault, parent))?.iter().map(rows::task).collect()
    }

    async fn tally(&self, parent: TaskId) -> Answer<Tally> {
        let rows = self.look(TALLY, &[(&parent.0, Type::INT8)]).await.map_err(|fault| no_such_task(fault, parent))?;
        rows.first().map_or_else(|| Ok(Tally::default()), |row| rows::tally(row, 0))
    }

    async fn progress(&self, task: TaskId) -> Answer<Progress> {
        let rows = self.look(PROGRESS, &[(&task.0, Type::INT8)]).await.map_err(|fault| no_such_task(fault, task))?;
        let levels = rows.iter().map(|row| rows::tally(row, 1)).collect::<Answer<Vec<_>>>()?;
        Ok(Progress { family: levels.iter().copied().fold(Tally::default(), Tally::plus), levels })
    }

    async fn is_active(&self, commands: &[CommandName]) -> Answer<bool> {
        let names: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
        let rows = self.look(IS_ACTIVE, &[(&names, Type::TEXT_ARRAY)]).await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    async fn statuses(&self) -> Answer<Vec<Status>> {
        self.look(STATUSES, &[]).await?.iter().map(rows::status).collect()
    }

    async fn history(&self, id: TaskId) -> Answer<History> {
        rows::history(&self.look(HISTORY, &[(&id.0, Type::INT8)]).await?)
    }

    async fn results(&self, fan_out: FanOutId, by: ReadBy, from: u32, limit: usize) -> Answer<Vec<ChildResult>> {
        let by_ended = by == ReadBy::Ended;
        let from = i32::try_from(from).unwrap_or(i32::MAX);
        let limit = limit.min(PAGE_MAX) as i32;
        let params: [Param<'_>; 4] =
            [(&fan_out.0, Type::INT8), (&by_ended, Type::BOOL), (&from, Type::INT4), (&limit, Type::INT4)];
        let rows = self.look(RESULTS, &params).await.map_err(|fault| no_such_fan_out(fault, fan_out))?;
        rows.iter().map(|row| rows::child_result(fan_out, row, 0)).collect()
    }

    async fn stats(&self) -> Answer<Stats> {
        let counts = self.look(COUNTS, &[]).await?.iter().map(rows::tasks_counted).collect::<Answer<Vec<_>>>()?;
        let mut stats = Stats { counts, ..Stats::default() };
        for row in self.look(STATS, &[]).await? {
            stats.now = row.get::<_, Moment>(0).0;
            stats.workers = u64::try_from(row.get::<_, i64>(1)).unwrap_or_default();
            if let (Some(queue), Some(place)) = (row.get::<_, Option<&str>>(2), row.get::<_, Option<Moment>>(3)) {
                stats.oldest_open.push((QueueName::new(queue)?, place.0));
            }
        }
        Ok(stats)
    }

    async fn queues(&self) -> Answer<Vec<Queue>> {
        self.look(QUEUES, &[]).await?.iter().map(rows::queue).collect()
    }

    async fn commands(&self) -> Answer<Vec<Command>> {
        self.look(COMMANDS, &[]).await?.iter().map(rows::command).collect()
    }

    async fn workers(&self) -> Answer<Vec<WorkerView>> {
        self.look(WORKERS, &[]).await?.iter().map(rows::worker).collect()
    }

    async fn schedules(&self) -> Answer<Vec<Schedule>> {
        self.look(SCHEDULES, &[]).await?.iter().map(rows::schedule).collect()
    }

    async fn check(&self) -> Answer<Vec<Violation>> {
        self.look(CHECK, &[]).await?.iter().map(rows::violation).collect()
    }

    async fn doctor(&self) -> Answer<Vec<Finding>> {
        let caller = Moment(jiff::Timestamp::now().into());
        self.look(DOCTOR, &[(&caller, Type::TIMESTAMPTZ)]).await?.iter().map(rows::finding).collect()
    }
}

pub(crate) fn no_such_task(fault: StoreError, id: TaskId) -> StoreError {
    match fault {
        StoreError::NotFound { what: "", .. } => StoreError::not_found("task", id),
        other => other,
    }
}
