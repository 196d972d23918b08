//! The calls of an operator.

use async_trait::async_trait;
use kinfolk_core::audit::Audit;
use kinfolk_core::filter::Filter;
use kinfolk_core::limits::{NAME_BYTES_MAX, PAYLOAD_BYTES_MAX, STATUS_COMMANDS_MAX};
use kinfolk_core::operate::{Action, BulkPage, Cancelled, Migrated, Migration};
use kinfolk_core::store::{Answer, Operate, Store};
use kinfolk_core::task::Task;
use kinfolk_core::{
    CommandName, GroupRef, InputError, Json, Policy, QueueName, Retried, Schedule, ScheduleName, Setting, SignalName,
    Signalled, StatusName, TaskId,
};

use super::SqliteStore;
use crate::migrate;
use crate::verb::{acquit, audit, bulk, cancel, group, queue, retry, retry_family, schedule, signal, status};
use crate::writer::Verb;

#[async_trait]
impl Operate for SqliteStore {
    async fn cancel(&self, id: TaskId) -> Answer<Cancelled> {
        self.write(Verb::Cancel, move |session| cancel::cancel(session, id)).await
    }

    async fn retry(&self, id: TaskId) -> Answer<Task> {
        self.write(Verb::Retry, move |session| retry::retry(session, id)).await
    }

    async fn acquit(&self, id: TaskId) -> Answer<Task> {
        self.write(Verb::Acquit, move |session| acquit::acquit(session, id)).await
    }

    async fn retry_family(&self, id: TaskId) -> Answer<Retried> {
        self.write(Verb::RetryFamily, move |session| retry_family::retry_family(session, id)).await
    }

    async fn run_now(&self, id: TaskId) -> Answer<Task> {
        self.write(Verb::Arrange, move |session| bulk::run_now(session, id)).await
    }

    async fn bulk(&self, action: Action, filter: &Filter) -> Answer<BulkPage> {
        filter.check()?;
        let filter = filter.clone();
        self.write(Verb::Arrange, move |session| bulk::bulk(session, action, &filter)).await
    }

    async fn signal(&self, id: TaskId, name: &SignalName, value: &Json) -> Answer<Signalled> {
        if value.bytes() > PAYLOAD_BYTES_MAX {
            let (what, bytes) = ("signal", value.bytes());
            return Err(InputError::TooLarge { what, bytes, max: PAYLOAD_BYTES_MAX }.into());
        }
        let (name, value) = (name.clone(), value.clone());
        self.write(Verb::Signal, move |session| signal::signal(session, id, &name, &value)).await
    }

    async fn set_queue(&self, queue: &QueueName, policy: &Policy) -> Answer<()> {
        policy.check()?;
        let (queue, policy) = (queue.clone(), policy.clone());
        self.write(Verb::Arrange, move |session| queue::set(session, &queue, &policy)).await
    }

    async fn set_group(&self, group: &GroupRef, key: Option<&str>, setting: &Setting) -> Answer<()> {
        group.check_setting(key, setting)?;
        let (group, key, setting) = (group.clone(), key.map(str::to_owned), *setting);
        self.write(Verb::SetGroup, move |session| group::set_group(session, &group, key.as_deref(), &setting)).await
    }

    async fn remove_group(&self, group: &GroupRef) -> Answer<()> {
        let group = group.clone();
        self.write(Verb::RemoveGroup, move |session| group::remove_group(session, &group)).await
    }

    async fn put_status(&self, name: &StatusName, commands: &[CommandName]) -> Answer<()> {
        if commands.len() > STATUS_COMMANDS_MAX {
            let what = "commands of a status";
            return Err(InputError::Batch { what, given: commands.len(), max: STATUS_COMMANDS_MAX }.into());
        }
        let (name, commands) = (name.clone(), commands.to_vec());
        self.write(Verb::Arrange, move |session| status::put(session, &name, &commands)).await
    }

    async fn remove_status(&self, name: &StatusName) -> Answer<()> {
        let name = name.clone();
        self.write(Verb::Arrange, move |session| status::remove(session, &name)).await
    }

    async fn pause(&self, queue: &QueueName, by: Option<&str>) -> Answer<()> {
        let (queue, by) = (queue.clone(), by.map(cut));
        self.write(Verb::Arrange, move |session| queue::pause(session, &queue, by.as_deref())).await
    }

    async fn resume(&self, queue: &QueueName) -> Answer<()> {
        let queue = queue.clone();
        self.write(Verb::Arrange, move |session| queue::resume(session, &queue)).await
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Answer<Schedule> {
        let schedule = schedule.clone();
        self.write(Verb::Arrange, move |session| schedule::put(session, &schedule)).await
    }

    async fn declare_schedules(&self, names: &[ScheduleName]) -> Answer<()> {
        let names = names.to_vec();
        self.write(Verb::Arrange, move |session| schedule::declare(session, &names)).await
    }

    async fn pause_schedule(&self, name: &ScheduleName, paused: bool) -> Answer<()> {
        let name = name.clone();
        self.write(Verb::Arrange, move |session| schedule::pause(session, &name, paused)).await
    }

    async fn remove_schedule(&self, name: &ScheduleName) -> Answer<()> {
        let name = name.clone();
        self.write(Verb::Arrange, move |session| schedule::remove(session, &name)).await
    }

    /// Opening the file has done it already.
    async fn audit(&self, entry: &Audit) -> Answer<()> {
        let entry = entry.cut();
        self.write(Verb::Arrange, move |session| audit::write(session, &entry)).await
    }

    async fn migrate(&self) -> Answer<Migrated> {
        self.read(|snapshot| {
            let version = migrate::version(snapshot.conn)?;
            Ok(Migrated { from: version, to: version })
        })
        .await
    }

    async fn pending_migrations(&self) -> Answer<Vec<Migration>> {
        self.read(|snapshot| Ok(migrate::pending(migrate::version(snapshot.conn)?))).await
    }
}

/// As much of a name as is kept.
fn cut(name: &str) -> String {
    let end = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    name[..end.unwrap_or(0)].to_owned()
}

impl Store for SqliteStore {
    fn kind(&self) -> &'static str {
        "sqlite"
    }
}
