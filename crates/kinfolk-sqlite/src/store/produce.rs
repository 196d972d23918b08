//! The calls of a producer.

use async_trait::async_trait;
use kinfolk_core::limits::ENQUEUE_BATCH_MAX;
use kinfolk_core::store::{Answer, Produce};
use kinfolk_core::{Command, Enqueued, InputError, Keys, NewTask};

use super::SqliteStore;
use crate::verb::{enqueue, register};
use crate::writer::Verb;

#[async_trait]
impl Produce for SqliteStore {
    async fn register(&self, commands: &[Command]) -> Answer<()> {
        commands.iter().try_for_each(Command::check)?;
        let commands = commands.to_vec();
        self.write(Verb::Arrange, move |session| register::register(session, &commands)).await
    }

    async fn enqueue(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        check_batch(tasks)?;
        let tasks = tasks.to_vec();
        self.write(Verb::Enqueue, move |session| enqueue::enqueue(session, &tasks, &Keys::new())).await
    }

    async fn enqueue_all(&self, tasks: &[NewTask]) -> Answer<Vec<Enqueued>> {
        check_batch(tasks)?;
        let tasks = tasks.to_vec();
        self.write(Verb::Enqueue, move |session| enqueue::enqueue_all(session, &tasks)).await
    }
}

/// Refuses a call that no store would carry out.
pub(crate) fn check_batch(tasks: &[NewTask]) -> Answer<()> {
    if tasks.len() > ENQUEUE_BATCH_MAX {
        return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
    }
    Ok(tasks.iter().try_for_each(NewTask::check)?)
}
