//! What an operator may do.

use async_trait::async_trait;
use kinfolk_core::operate::{Cancelled, Migrated, Migration};
use kinfolk_core::store::{Answer, Operate, Store};
use kinfolk_core::task::Task;
use kinfolk_core::{Policy, QueueName, Schedule, ScheduleName, TaskId};

use super::SqliteStore;
use crate::migrate;
use crate::verb::{operate, schedule};
use crate::writer::Verb;

#[async_trait]
impl Operate for SqliteStore {
    async fn cancel(&self, id: TaskId) -> Answer<Cancelled> {
        self.write(Verb::Cancel, move |session| operate::cancel(session, id)).await
    }

    async fn retry(&self, id: TaskId) -> Answer<Task> {
        self.write(Verb::Retry, move |session| operate::retry(session, id)).await
    }

    async fn set_queue(&self, queue: &QueueName, policy: &Policy) -> Answer<()> {
        policy.check()?;
        let retention = policy.retention;
        let queue = queue.clone();
        self.write(Verb::Arrange, move |session| operate::set_queue(session, &queue, &retention)).await
    }

    async fn pause(&self, queue: &QueueName) -> Answer<()> {
        let queue = queue.clone();
        self.write(Verb::Arrange, move |session| operate::pause(session, &queue)).await
    }

    async fn resume(&self, queue: &QueueName) -> Answer<()> {
        let queue = queue.clone();
        self.write(Verb::Arrange, move |session| operate::resume(session, &queue)).await
    }

    async fn put_schedule(&self, schedule: &Schedule) -> Answer<Schedule> {
        let schedule = schedule.clone();
        self.write(Verb::Arrange, move |session| schedule::put(session, &schedule)).await
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

impl Store for SqliteStore {
    fn kind(&self) -> &'static str {
        "sqlite"
    }
}
