//! The calls of a reader.

use std::time::Duration;

use async_trait::async_trait;
use kinfolk_core::audit::Audited;
use kinfolk_core::cause::Causes;
use kinfolk_core::error_log::{ErrorFilter, LoggedError};
use kinfolk_core::filter::{ByCommand, Filter, Matches, Page};
use kinfolk_core::held::{self, Held};
use kinfolk_core::inspect::{Finding, Stats, Violation};
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX};
use kinfolk_core::minute::Minute;
use kinfolk_core::store::Answer;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{
    Attempt, ChildResult, Command, CommandName, Explanation, FanOutId, GroupView, History, InputError, Inspect,
    KeyFilter, KeyView, Progress, Queue, QueueName, ReadBy, Run, Schedule, Status, StoreError, Tally, Task, TaskId,
    Timestamp,
};
use tokio_postgres::types::Type;

use crate::call::Param;
use crate::durable::no_such_fan_out;
use crate::rows::{self, task_columns};
use crate::store::PgStore;
use crate::values::{JsonText, Moment};

const NOW: &str = "select kinfolk.clock()";
pub(crate) const TASK: &str = concat!("select ", task_columns!(), " from kinfolk.get_task($1)");
const ATTEMPTS: &str = "select * from kinfolk.get_attempts($1)";
const RUNS: &str = "select * from kinfolk.runs($1)";
const LIST: &str = concat!(
    "select ",
    task_columns!(),
    ", next from kinfolk.find_tasks($1) left join lateral kinfolk.get_tasks(ids) on true"
);
const COUNT: &str = "select tasks, more from kinfolk.count_matching($1)";
const FAILED: &str = "select id, command, finished_at, kind, message from kinfolk.failed_tasks($1, $2)";
const MINUTES: &str = "select minute, queue, command, started, waited_us, waited_max_us, completed, failed, retried, cancelled, \
    suspended, ran_us, ran_max_us from kinfolk.minutes($1)";
const PENDING: &str = "select queue, paused, fair, fact, command, served, group_name, group_command, key, until, tasks, cut \
    from kinfolk.pending_facts($1)";
const CHILDREN: &str = concat!("select ", task_columns!(), " from kinfolk.children($1, $2, $3)");
const TALLY: &str = "select total, completed, failed, cancelled from kinfolk.tally($1)";
const PROGRESS: &str = "select generation, total, completed, failed, cancelled from kinfolk.progress($1)";
const COUNT_BY_COMMAND: &str = "select command, tasks, more from kinfolk.count_by_command($1)";
const COUNTS: &str = "select queue, command, state, tasks from kinfolk.count_tasks()";
const STATS: &str = "select now, workers, queue, oldest_open, fan_outs, families, more from kinfolk.stats()";
const QUEUES: &str = "select * from kinfolk.queues()";
const COMMANDS: &str = "select * from kinfolk.commands()";
const WORKERS: &str = "select * from kinfolk.workers()";
const SCHEDULES: &str = "select * from kinfolk.schedules()";
const CHECK: &str = "select * from kinfolk.check_invariants()";
const IS_ACTIVE: &str = "select kinfolk.is_active($1)";
const STATUSES: &str = "select name, commands, active, changed_at from kinfolk.statuses()";
const HISTORY: &str = "select * from kinfolk.history($1)";
const RESULTS: &str = "select * from kinfolk.results($1, $2, $3, $4)";
const ENDED_AT: &str = "select ended_at from kinfolk.ended_at($1, $2)";
const AUDIT_LOG: &str = "select id, at, who, what, subject, tasks from kinfolk.audit_log($1, $2)";
const ERRORS: &str =
    "select id, at, task, command, queue, attempt, handler, failure from kinfolk.errors($1, $2, $3, $4, $5)";
const CHANGE_NUMBER: &str = "select kinfolk.change_number()";
const DOCTOR: &str = "select * from kinfolk.doctor($1)";

#[async_trait]
impl Inspect for PgStore {
    async fn explain(&self, id: TaskId) -> Answer<Explanation> {
        self.read_explanation(id).await
    }

    async fn groups(&self) -> Answer<Vec<GroupView>> {
        self.read_groups().await
    }

    async fn held(&self, queue: Option<&QueueName>) -> Answer<Vec<Held>> {
        let rows = self.look(PENDING, &[(&queue.map(QueueName::as_str), Type::TEXT)]).await?;
        let pending = rows.iter().map(rows::pending).collect::<Answer<Vec<_>>>()?;
        Ok(held::held(pending, self.now().await?))
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

    async fn runs(&self, tasks: &[TaskId]) -> Answer<Vec<Run>> {
        if tasks.len() > PAGE_MAX {
            return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: PAGE_MAX }.into());
        }
        let ids: Vec<i64> = tasks.iter().map(|task| task.0).collect();
        self.look(RUNS, &[(&ids, Type::INT8_ARRAY)]).await?.iter().map(rows::run).collect()
    }

    async fn list(&self, filter: &Filter) -> Answer<Page> {
        filter.check()?;
        let filter = JsonText::of(filter)?;
        let rows = self.look(LIST, &[(&filter, Type::JSONB)]).await?;
        let next = rows.first().and_then(|row| row.get::<_, Option<i64>>("next")).map(TaskId);
        // An empty page has one row, which says where to go on.
        let there = rows.iter().filter(|row| row.get::<_, Option<i64>>(0).is_some());
        Ok(Page { tasks: there.map(rows::task).collect::<Answer<_>>()?, next })
    }

    async fn count(&self, filter: &Filter) -> Answer<Matches> {
        filter.check()?;
        let filter = JsonText::of(filter)?;
        let rows = self.look(COUNT, &[(&filter, Type::JSONB)]).await?;
        rows.first().map_or_else(
            || Ok(Matches::default()),
            |row| Ok(Matches { tasks: rows::count(row, 0)?, more: rows::get(row, 1)? }),
        )
    }

    async fn count_by_command(&self, filter: &Filter) -> Answer<ByCommand> {
        filter.check()?;
        let filter = JsonText::of(filter)?;
        let mut found = ByCommand::default();
        for row in self.look(COUNT_BY_COMMAND, &[(&filter, Type::JSONB)]).await? {
            found.counts.push((CommandName::new(rows::get(&row, 0)?)?, rows::count(&row, 1)?));
            found.more = rows::get(&row, 2)?;
        }
        Ok(found)
    }

    async fn failures(&self, span: Duration) -> Answer<Causes> {
        let until = self.now().await?;
        let since = until.minus(span);
        let page = LOOK_MAX as i32 + 1;
        let rows = self.look(FAILED, &[(&Moment(since), Type::TIMESTAMPTZ), (&page, Type::INT4)]).await?;
        let failed = rows.iter().take(LOOK_MAX).map(rows::failed_task).collect::<Answer<Vec<_>>>()?;
        Ok(Causes::of(failed, since, until, rows.len() > LOOK_MAX))
    }

    async fn minutes(&self, span: Duration) -> Answer<Vec<Minute>> {
        let since = Moment(self.now().await?.minus(span));
        self.look(MINUTES, &[(&since, Type::TIMESTAMPTZ)]).await?.iter().map(rows::minute).collect()
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

    async fn ended_at(&self, fan_out: FanOutId, indexes: &[u32]) -> Answer<Vec<Timestamp>> {
        if indexes.len() > PAGE_MAX {
            return Err(InputError::Batch { what: "indexes", given: indexes.len(), max: PAGE_MAX }.into());
        }
        let indexes: Vec<i32> = indexes.iter().map(|index| i32::try_from(*index).unwrap_or(i32::MAX)).collect();
        let params: [Param<'_>; 2] = [(&fan_out.0, Type::INT8), (&indexes, Type::INT4_ARRAY)];
        let rows = self.look(ENDED_AT, &params).await.map_err(|fault| no_such_fan_out(fault, fan_out))?;
        Ok(rows.iter().map(|row| row.get::<_, Moment>(0).0).collect())
    }

    async fn stats(&self) -> Answer<Stats> {
        let counts = self.look(COUNTS, &[]).await?.iter().map(rows::tasks_counted).collect::<Answer<Vec<_>>>()?;
        let mut stats = Stats { counts, ..Stats::default() };
        for row in self.look(STATS, &[]).await? {
            stats.now = row.get::<_, Moment>(0).0;
            stats.workers = rows::count(&row, 1)?;
            (stats.fan_outs, stats.families) = (rows::count(&row, 4)?, rows::count(&row, 5)?);
            stats.more = row.get::<_, Vec<&str>>(6).into_iter().map(str::parse).collect::<Result<_, InputError>>()?;
            if let (Some(queue), Some(position)) = (row.get::<_, Option<&str>>(2), row.get::<_, Option<Moment>>(3)) {
                stats.oldest_open.push((QueueName::new(queue)?, position.0));
            }
        }
        stats.cut_counts();
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

    async fn audit_log(&self, before: Option<i64>, limit: usize) -> Answer<Vec<Audited>> {
        let limit = limit.min(PAGE_MAX) as i32;
        let rows = self.look(AUDIT_LOG, &[(&before, Type::INT8), (&limit, Type::INT4)]).await?;
        rows.iter().map(rows::audited).collect()
    }

    async fn errors(&self, filter: &ErrorFilter) -> Answer<Vec<LoggedError>> {
        let limit = filter.limit.min(PAGE_MAX) as i32;
        let task = filter.task.map(|task| task.0);
        let (command, queue) =
            (filter.command.as_ref().map(CommandName::as_str), filter.queue.as_ref().map(QueueName::as_str));
        let asked: [Param<'_>; 5] = [
            (&filter.before, Type::INT8),
            (&limit, Type::INT4),
            (&task, Type::INT8),
            (&command, Type::TEXT),
            (&queue, Type::TEXT),
        ];
        let rows = self.look(ERRORS, &asked).await?;
        rows.iter().map(rows::logged_error).collect()
    }

    async fn change_number(&self) -> Answer<u64> {
        let rows = self.look(CHANGE_NUMBER, &[]).await?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
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
