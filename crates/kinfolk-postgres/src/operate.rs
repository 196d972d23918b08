//! The calls of an operator.

use async_trait::async_trait;
use kinfolk_core::audit::Audit;
use kinfolk_core::crash::point;
use kinfolk_core::filter::Filter;
use kinfolk_core::limits::{NAME_BYTES_MAX, PAYLOAD_BYTES_MAX, STATUS_COMMANDS_MAX};
use kinfolk_core::operate::{Action, BulkPage, Cancelled, Migrated, Migration};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    CommandName, Due, GroupName, GroupRef, InputError, Inspect, Json, Operate, Policy, QueueName, Retried, Schedule,
    ScheduleName, Setting, SignalName, Signalled, StatusName, StoreError, Task, TaskId, UniqueScope,
};
use tokio_postgres::types::Type;

use crate::call::Param;
use crate::inspect::no_such_task;
use crate::rows::{self, task_columns};
use crate::store::PgStore;
use crate::values::{JsonIn, JsonText, Moment, micros};

const CANCEL: &str = "select kinfolk.cancel($1)";
const SIGNAL: &str = "select kinfolk.signal($1, $2, $3)";
const RETRY: &str = concat!("select ", task_columns!(), " from kinfolk.retry($1)");
const ACQUIT: &str = concat!("select ", task_columns!(), " from kinfolk.acquit($1)");
const RETRY_FAMILY: &str = "select pending, waiting from kinfolk.retry_family($1)";
const RUN_NOW: &str = concat!("select ", task_columns!(), " from kinfolk.run_now($1)");
const BULK: &str = "select done, skipped, next from kinfolk.bulk($1, $2)";
const SET_QUEUE: &str = "select kinfolk.set_queue($1, $2, $3, $4, $5, $6, $7, $8)";
const PAUSE: &str = "select kinfolk.pause($1, $2)";
const RESUME: &str = "select kinfolk.resume($1)";
const SET_GROUP: &str = "select kinfolk.set_group($1, $2, $3, $4, $5, $6, $7)";
const REMOVE_GROUP: &str = "select kinfolk.remove_group($1, $2)";
const PUT_STATUS: &str = "select kinfolk.put_status($1, $2)";
const REMOVE_STATUS: &str = "select kinfolk.remove_status($1)";
const PUT_SCHEDULE: &str = "select * from kinfolk.put_schedule($1, $2, $3, $4, $5, $6, $7, \
    row($8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)::kinfolk.given_task)";
const DECLARE_SCHEDULES: &str = "select kinfolk.declare_schedules($1)";
const PAUSE_SCHEDULE: &str = "select kinfolk.pause_schedule($1, $2, $3)";
const AUDIT: &str = "select kinfolk.audit($1, $2, $3, $4)";
const REMOVE_SCHEDULE: &str = "select kinfolk.remove_schedule($1)";

#[async_trait]
impl Operate for PgStore {
    async fn set_group(&self, group: &GroupRef, key: Option<&str>, setting: &Setting) -> Answer<()> {
        group.check_setting(key, setting)?;
        let whole = |many: u32| i32::try_from(many).unwrap_or(i32::MAX);
        let rate = setting.rate.as_ref();
        let params: [Param<'_>; 7] = [
            (&group.command.as_ref().map(CommandName::as_str), Type::TEXT),
            (&group.name.as_str(), Type::TEXT),
            (&key, Type::TEXT),
            (&setting.limit.map(whole), Type::INT4),
            (&rate.map(|rate| whole(rate.count)), Type::INT4),
            (&rate.map(|rate| micros(rate.per)), Type::INT8),
            (&rate.map(|rate| whole(rate.burst)), Type::INT4),
        ];
        point("set_group.before");
        let row = self.row(SET_GROUP, &params).await?;
        point("set_group.after");
        found(row.get(0), "group", group)
    }

    async fn remove_group(&self, group: &GroupRef) -> Answer<()> {
        let command = group.command.as_ref().map(CommandName::as_str);
        point("remove_group.before");
        let row = self.row(REMOVE_GROUP, &[(&command, Type::TEXT), (&group.name.as_str(), Type::TEXT)]).await?;
        point("remove_group.after");
        found(row.get(0), "group", group)
    }

    async fn cancel(&self, id: TaskId) -> Answer<Cancelled> {
        point("cancel.before");
        let row = self.row(CANCEL, &[(&id.0, Type::INT8)]).await?;
        point("cancel.after");
        match row.get(0) {
            "now" => Ok(Cancelled::Now),
            "requested" => Ok(Cancelled::Requested),
            "not_found" => Err(StoreError::not_found("task", id)),
            state => Err(Cancelled::too_late(id, state.parse()?)),
        }
    }

    async fn retry(&self, id: TaskId) -> Answer<Task> {
        point("retry.before");
        let row = self.row(RETRY, &[(&id.0, Type::INT8)]).await.map_err(|fault| of_task(fault, id))?;
        point("retry.after");
        rows::task(&row)
    }

    async fn acquit(&self, id: TaskId) -> Answer<Task> {
        point("acquit.before");
        let row = self.row(ACQUIT, &[(&id.0, Type::INT8)]).await.map_err(|fault| of_task(fault, id))?;
        point("acquit.after");
        rows::task(&row)
    }

    async fn retry_family(&self, id: TaskId) -> Answer<Retried> {
        point("retry_family.before");
        let answer = self.row(RETRY_FAMILY, &[(&id.0, Type::INT8)]).await;
        let row = match answer {
            Err(StoreError::NotFound { what: "", .. }) => return Err(StoreError::not_found("task", id)),
            Err(StoreError::WrongState { state, remedy, .. }) => {
                let root = self.task(id).await?.map_or(id, |task| task.root);
                return Err(StoreError::WrongState { task: root, state, remedy });
            }
            answer => answer?,
        };
        point("retry_family.after");
        let count = |index| u64::try_from(row.get::<_, i64>(index)).unwrap_or_default();
        Ok(Retried { pending: count(0), waiting: count(1) })
    }

    async fn run_now(&self, id: TaskId) -> Answer<Task> {
        let row = self.row(RUN_NOW, &[(&id.0, Type::INT8)]).await.map_err(|fault| of_task(fault, id))?;
        rows::task(&row)
    }

    async fn bulk(&self, action: Action, filter: &Filter) -> Answer<BulkPage> {
        filter.check()?;
        let Some(filter) = action.narrowed(filter) else { return Ok(BulkPage::default()) };
        let filter = JsonText::of(&filter)?;
        let row = self.row(BULK, &[(&action.as_str(), Type::TEXT), (&filter, Type::JSONB)]).await?;
        let next = row.get::<_, Option<i64>>(2).map(TaskId);
        Ok(BulkPage { done: rows::count(&row, 0)?, skipped: rows::count(&row, 1)?, next })
    }

    async fn signal(&self, id: TaskId, name: &SignalName, value: &Json) -> Answer<Signalled> {
        if value.bytes() > PAYLOAD_BYTES_MAX {
            return Err(InputError::TooLarge { what: "signal", bytes: value.bytes(), max: PAYLOAD_BYTES_MAX }.into());
        }
        let value = JsonIn(value.as_str());
        let params: [Param<'_>; 3] = [(&id.0, Type::INT8), (&name.as_str(), Type::TEXT), (&value, Type::JSONB)];
        point("signal.before");
        let row = self.row(SIGNAL, &params).await.map_err(|fault| of_task(fault, id))?;
        point("signal.after");
        Ok(if row.get::<_, &str>(0) == "resumed" { Signalled::Resumed } else { Signalled::Kept })
    }

    async fn set_queue(&self, queue: &QueueName, policy: &Policy) -> Answer<()> {
        policy.check()?;
        let retention = policy.retention;
        let [completed, failed, cancelled] =
            [retention.completed, retention.failed, retention.cancelled].map(|keep| keep.map(micros));
        // A limit beyond what a column holds is none that anything could reach.
        let [families, children] = [policy.family_limit, policy.child_limit]
            .map(|limit| limit.map(|limit| i32::try_from(limit).unwrap_or(i32::MAX)));
        let depth = i32::from(policy.depth_limit);
        self.rows(
            SET_QUEUE,
            &[
                (&queue.as_str(), Type::TEXT),
                (&completed, Type::INT8),
                (&failed, Type::INT8),
                (&cancelled, Type::INT8),
                (&families, Type::INT4),
                (&children, Type::INT4),
                (&depth, Type::INT4),
                (&policy.fair.as_ref().map(GroupName::as_str), Type::TEXT),
            ],
        )
        .await?;
        Ok(())
    }

    async fn pause(&self, queue: &QueueName, by: Option<&str>) -> Answer<()> {
        let by = by.map(|by| by[..by.floor_char_boundary(NAME_BYTES_MAX)].replace('\0', "\u{fffd}"));
        self.rows(PAUSE, &[(&queue.as_str(), Type::TEXT), (&by, Type::TEXT)]).await.map_err(not_there)?;
        Ok(())
    }

    async fn resume(&self, queue: &QueueName) -> Answer<()> {
        self.rows(RESUME, &[(&queue.as_str(), Type::TEXT)]).await.map_err(not_there)?;
        Ok(())
    }

    async fn put_status(&self, name: &StatusName, commands: &[CommandName]) -> Answer<()> {
        if commands.len() > STATUS_COMMANDS_MAX {
            let (given, max) = (commands.len(), STATUS_COMMANDS_MAX);
            return Err(InputError::Batch { what: "commands of a status", given, max }.into());
        }
        let names: Vec<&str> = commands.iter().map(AsRef::as_ref).collect();
        self.rows(PUT_STATUS, &[(&name.as_str(), Type::TEXT), (&names, Type::TEXT_ARRAY)]).await?;
        Ok(())
    }

    async fn remove_status(&self, name: &StatusName) -> Answer<()> {
        let row = self.row(REMOVE_STATUS, &[(&name.as_str(), Type::TEXT)]).await?;
        found(row.get(0), "status", name)
    }

    async fn declare_schedules(&self, names: &[ScheduleName]) -> Answer<()> {
        let names: Vec<&str> = names.iter().map(ScheduleName::as_str).collect();
        self.rows(DECLARE_SCHEDULES, &[(&names, Type::TEXT_ARRAY)]).await?;
        Ok(())
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Answer<Schedule> {
        let armed = schedule.clone().armed(self.now().await?)?;
        let task = &armed.task;
        let (due, delay) = match task.due {
            Due::Now => (None, None),
            Due::After(delay) => (None, Some(micros(delay))),
            Due::At(moment) => (Some(Moment(moment)), None),
        };
        let keys = (!task.keys.is_empty()).then(|| JsonText::of(&task.keys)).transpose()?;
        let unique = task.unique.as_ref();
        let window = unique.and_then(|unique| match unique.scope {
            UniqueScope::Window(span) => Some(micros(span)),
            UniqueScope::Pending | UniqueScope::Active => None,
        });
        let rows = self
            .rows(
                PUT_SCHEDULE,
                &[
                    (&armed.name.as_str(), Type::TEXT),
                    (&armed.cron, Type::TEXT),
                    (&armed.zone, Type::TEXT),
                    (&armed.missed.as_str(), Type::TEXT),
                    (&armed.overlap.as_str(), Type::TEXT),
                    (&armed.paused, Type::BOOL),
                    (&armed.next_at.map(Moment), Type::TIMESTAMPTZ),
                    (&task.command.as_str(), Type::TEXT),
                    (&JsonIn(task.payload.as_str()), Type::JSONB),
                    (&task.queue.as_ref().map(QueueName::as_str), Type::TEXT),
                    (&task.priority, Type::INT4),
                    (&due, Type::TIMESTAMPTZ),
                    (&delay, Type::INT8),
                    (&unique.map(|unique| unique.key.as_str()), Type::TEXT),
                    (&unique.map(|unique| unique.scope.as_str()), Type::TEXT),
                    (&window, Type::INT8),
                    (&unique.map(|unique| unique.on_duplicate.as_str()), Type::TEXT),
                    (&task.max_attempts.map(i32::from), Type::INT4),
                    (&task.timeout.map(micros), Type::INT8),
                    (&task.trace, Type::TEXT),
                    (&keys, Type::JSONB),
                ],
            )
            .await
            .map_err(not_there)?;
        rows.first().map_or_else(|| Err(StoreError::not_found("command", &task.command)), rows::schedule)
    }

    async fn pause_schedule(&self, name: &ScheduleName, paused: bool) -> Answer<()> {
        let next_at = if paused {
            None
        } else {
            let schedule = self.schedules().await?.into_iter().find(|schedule| schedule.name == *name);
            let schedule = schedule.ok_or_else(|| StoreError::not_found("schedule", name))?;
            schedule.tick_after(self.now().await?)?.map(Moment)
        };
        let params =
            [(&name.as_str() as _, Type::TEXT), (&paused as _, Type::BOOL), (&next_at as _, Type::TIMESTAMPTZ)];
        let row = self.row(PAUSE_SCHEDULE, &params).await?;
        found(row.get(0), "schedule", name)
    }

    async fn remove_schedule(&self, name: &ScheduleName) -> Answer<()> {
        let row = self.row(REMOVE_SCHEDULE, &[(&name.as_str(), Type::TEXT)]).await?;
        found(row.get(0), "schedule", name)
    }

    async fn audit(&self, entry: &Audit) -> Answer<()> {
        let Audit { who, what, subject, tasks } = entry.cut();
        let tasks = i64::try_from(tasks).unwrap_or(i64::MAX);
        let params: [Param<'_>; 4] =
            [(&who, Type::TEXT), (&what, Type::TEXT), (&subject, Type::TEXT), (&tasks, Type::INT8)];
        self.row(AUDIT, &params).await?;
        Ok(())
    }

    async fn migrate(&self) -> Answer<Migrated> {
        self.run_migrations().await
    }

    async fn pending_migrations(&self) -> Answer<Vec<Migration>> {
        self.steps_to_run().await
    }
}

/// Puts the task's number into an error that lacks it.
pub(crate) fn of_task(fault: StoreError, id: TaskId) -> StoreError {
    match fault {
        StoreError::WrongState { state, remedy, .. } => StoreError::WrongState { task: id, state, remedy },
        other => no_such_task(other, id),
    }
}

fn found(there: bool, what: &'static str, name: impl std::fmt::Display) -> Answer<()> {
    if there { Ok(()) } else { Err(StoreError::not_found(what, name)) }
}

/// The missing thing, from the words of KF002.
pub(crate) fn not_there(fault: StoreError) -> StoreError {
    let StoreError::NotFound { what: "", name } = &fault else { return fault };
    let named = |what: &'static str| {
        let rest = name.strip_prefix("there is no ").and_then(|words| words.strip_prefix(what))?.strip_prefix(' ')?;
        Some(StoreError::not_found(what, rest))
    };
    named("queue").or_else(|| named("command")).or_else(|| named("group")).unwrap_or(fault)
}
