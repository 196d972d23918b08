//! What a producer may do.

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
        if tasks.len() > ENQUEUE_BATCH_MAX {
            return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: ENQUEUE_BATCH_MAX }.into());
        }
        tasks.iter().try_for_each(NewTask::check)?;
        let tasks = tasks.to_vec();
        self.write(Verb::Enqueue, move |session| enqueue::enqueue(session, &tasks, &Keys::new())).await
    }
}
