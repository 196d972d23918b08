//! The commands that have a handler in the database, and how they are run.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use kinfolk::{CommandName, CommandSource, Ctx, Done, Json, TaskError};
use kinfolk_core::StoreError;
use kinfolk_postgres::{Connections, PgOptions};
use uuid::Uuid;

use crate::fault::Fault;
use crate::run;

const COMMANDS: &str = "select name, handler_kind = 'procedure', statement_timeout_us \
    from kinfolk.commands() where handler is not null";

/// How often a handler that lost against another transaction is run again before that costs an attempt.
const IN_PLACE: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Everything in one database that is registered as the handler of a command. Give it to
/// [`kinfolk::WorkerBuilder::commands_from`]: commands that are registered while the worker runs are handled too.
#[derive(Debug)]
pub struct SqlCommands {
    connections: Connections,
    known: RwLock<HashMap<CommandName, Handler>>,
}

/// What has to be known of a handler before it is called. The rest is read in the transaction that calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handler {
    pub(crate) is_procedure: bool,
    pub(crate) statement_timeout: Option<Duration>,
}

impl SqlCommands {
    /// The commands of this database, run on at most so many connections: as many as the worker runs tasks at once.
    pub fn open(url: &str, connections: usize) -> Result<Arc<Self>, StoreError> {
        let options = PgOptions { application_name: "kinfolk handler".to_owned(), ..PgOptions::default() };
        Self::open_with(url, &PgOptions { pool_size: connections, ..options })
    }

    /// The same with more to say about the connections.
    pub fn open_with(url: &str, options: &PgOptions) -> Result<Arc<Self>, StoreError> {
        // One more, to ask for commands while all others are busy.
        let options = PgOptions { pool_size: options.pool_size + 1, ..options.clone() };
        let connections = Connections::open(url, &options)?;
        Ok(Arc::new(Self { connections, known: RwLock::default() }))
    }

    fn handler(&self, command: &CommandName) -> Option<Handler> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(command).copied()
    }

    async fn run_once(&self, ctx: &Ctx, handler: Handler) -> Result<kinfolk::State, Fault> {
        let line = self.connections.line().await.map_err(Fault::Store)?;
        if handler.is_procedure {
            run::procedure(line, ctx, handler.statement_timeout).await
        } else {
            run::function(line, ctx, handler.statement_timeout).await
        }
    }
}

#[async_trait]
impl CommandSource for SqlCommands {
    async fn commands(&self) -> Result<Vec<CommandName>, StoreError> {
        let rows = self.connections.ask(COMMANDS).await?;
        let mut known = HashMap::with_capacity(rows.len());
        for row in rows {
            let timeout: Option<i64> = row.get(2);
            let statement_timeout = timeout.map(|micros| Duration::from_micros(micros.unsigned_abs()));
            known.insert(CommandName::new(row.get(0))?, Handler { is_procedure: row.get(1), statement_timeout });
        }
        let names = known.keys().cloned().collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(names)
    }

    async fn run(&self, ctx: Ctx) -> Result<Done<Json>, TaskError> {
        let mut pause = FIRST_PAUSE;
        for tries in 0.. {
            // It was taken away since the task was claimed: someone else may have a handler.
            let Some(handler) = self.handler(ctx.command()) else { return Ok(Done::release()) };
            match self.run_once(&ctx, handler).await {
                Ok(state) => return Ok(Done::committed(state)),
                Err(fault) if fault.is_collision() && tries < IN_PLACE => {
                    tokio::time::sleep(pause.mul_f64(jitter())).await;
                    pause *= 2;
                }
                Err(fault) => {
                    for (group, until) in fault.slow_downs() {
                        // A group that is gone needs no slowing down, and what else went wrong was reported.
                        let _ = ctx.slow_down(group, until).await;
                    }
                    return fault.into_answer();
                }
            }
        }
        unreachable!("the loop ends by a return")
    }
}

/// Between 0.5 and 1.5, so that those who ran into each other do not do so again.
fn jitter() -> f64 {
    0.5 + f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}
