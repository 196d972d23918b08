//! Commands that are not known when a worker is built: they may come, change and go while it runs.

use async_trait::async_trait;
use kinfolk_core::{CommandName, Json, StoreError};

use crate::ctx::Ctx;
use crate::done::Done;
use crate::task_error::TaskError;

/// A source of more commands for a worker than it was built with, and their runner: such as functions that live in
/// the database. A command that the worker was built with goes before one of the same name here.
#[async_trait]
pub trait CommandSource: Send + Sync + 'static {
    /// The commands there are now. The worker asks before it starts, and then at every poll interval; while this fails
    /// it goes on with the commands it knows.
    async fn commands(&self) -> Result<Vec<CommandName>, StoreError>;

    /// Runs one attempt of one of them. As with any handler, the future may be dropped: it must not leave work going on.
    async fn run(&self, ctx: Ctx) -> Result<Done<Json>, TaskError>;
}
