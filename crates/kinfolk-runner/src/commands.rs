//! The commands that have a handler in the database, and how they are run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use kinfolk::{CommandName, CommandSource, Ctx, Done, Json, TaskError, TaskId};
use kinfolk_core::StoreError;
use kinfolk_postgres::{Connections, PgOptions};
use kinfolk_providers::{Provider, Providers};
use uuid::Uuid;

use crate::fault::{CutOff, Fault};
use crate::run::{self, Phase, Reached};
use crate::send;

const COMMANDS: &str = "select name, handler_kind, handler, statement_timeout_us \
    from kinfolk.commands() where handler is not null";

/// How often a handler that lost against another transaction is run again before that costs an attempt.
const WITHIN_ATTEMPT: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// How long a slot waits at most when the server is away, before its task is given back.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a task is put off at most that was cut off again and again: it may be what takes the server down.
const PUT_OFF_MAX: Duration = Duration::from_secs(300);
/// How many tasks that were cut off are remembered: another worker may have ended them since.
const CUTS_KEPT_MAX: usize = 1_000;

/// Everything in one database that is registered as the handler of a command. Give it to
/// [`kinfolk::WorkerBuilder::commands_from`]: commands that are registered while the worker runs are handled too.
#[derive(Debug)]
pub struct SqlCommands {
    connections: Connections,
    known: RwLock<HashMap<CommandName, Handler>>,
    troubles: Mutex<Troubles>,
    providers: Providers,
}

/// How an attempt ended.
pub(crate) type HandlerResult = Result<Done<Json>, TaskError>;

/// The recent troubles of attempts with the server.
#[derive(Debug, Default)]
struct Troubles {
    /// Attempts in a row that it cut off, or had no connection for.
    in_a_row: u32,
    /// How often in a row it cut off each of these tasks while it ran.
    cuts: HashMap<TaskId, u32>,
}

/// The facts about a handler that are needed before its call. The rest is read in the transaction that calls it.
#[derive(Clone, Debug)]
struct Handler {
    kind: Kind,
    statement_timeout: Option<Duration>,
}

#[derive(Clone, Debug)]
enum Kind {
    Function,
    Procedure,
    Send(Arc<dyn Provider>),
}

impl Troubles {
    /// Counts one more. Answers how many there were in a row, and how often this task was cut off while it ran.
    fn count(&mut self, task: TaskId, had_begun: bool) -> (u32, u32) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.cuts.len() >= CUTS_KEPT_MAX {
            self.cuts.clear();
        }
        let cuts = self.cuts.entry(task).or_default();
        *cuts += u32::from(had_begun);
        (self.in_a_row, *cuts)
    }
}

impl SqlCommands {
    /// The commands of this database, run on at most so many connections: as many as the worker runs tasks at once.
    pub fn open(url: &str, connections: usize) -> Result<Arc<Self>, StoreError> {
        let options = PgOptions { application_name: "kinfolk handler".to_owned(), ..PgOptions::default() };
        Self::open_with(url, &PgOptions { pool_size: connections, ..options }, Providers::default())
    }

    /// The same with more to say about the connections, and with providers for the built-in commands `email`, `sms` and `http`. Those
    /// that have none here are left to others.
    pub fn open_with(url: &str, options: &PgOptions, providers: Providers) -> Result<Arc<Self>, StoreError> {
        // One more, to ask for commands while all others are busy.
        let options = PgOptions { pool_size: options.pool_size + 1, ..options.clone() };
        let connections = Connections::open(url, &options)?;
        Ok(Arc::new(Self { connections, known: RwLock::default(), troubles: Mutex::default(), providers }))
    }

    fn handler(&self, command: &CommandName) -> Option<Handler> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(command).cloned()
    }

    fn troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs a command, by what is registered as its handler; `None` if that is not here.
    fn kind(&self, kind: &str, handler: &str) -> Option<Kind> {
        let provider = match (kind, handler) {
            ("function", _) | ("built_in", "db_function") => return Some(Kind::Function),
            ("procedure", _) => return Some(Kind::Procedure),
            ("built_in", "email") => &self.providers.email,
            ("built_in", "sms") => &self.providers.sms,
            ("built_in", "http") => &self.providers.http,
            _ => return None,
        };
        provider.clone().map(Kind::Send)
    }

    /// Runs one phase of an attempt: again at once where it lost against another transaction. Where that ends the attempt, how.
    pub(crate) async fn work(&self, ctx: &Ctx, phase: Phase<'_>) -> Result<Reached, HandlerResult> {
        let mut pause = FIRST_PAUSE;
        for tries in 0.. {
            // It was taken away since the task was claimed: someone else may have a handler.
            let Some(handler) = self.handler(ctx.command()) else { return Err(Ok(Done::release())) };
            match self.run_once(ctx, phase, handler.statement_timeout).await {
                Ok(reached) => {
                    self.is_well(ctx);
                    return Ok(reached);
                }
                Err(fault) if fault.is_collision() && tries < WITHIN_ATTEMPT => {
                    tokio::time::sleep(pause.mul_f64(jitter())).await;
                    pause *= 2;
                }
                Err(fault) => return Err(self.failed(ctx, fault).await),
            }
        }
        unreachable!("the loop ends by a return")
    }

    async fn failed(&self, ctx: &Ctx, fault: Fault) -> HandlerResult {
        if let Some(cut_off) = fault.cut_off() {
            return Ok(self.give_back(ctx, &cut_off).await);
        }
        self.is_well(ctx);
        for (group, until) in fault.slow_downs() {
            // A group that is gone needs no slowing down, and what else went wrong was reported.
            let _ = ctx.slow_down(group, until).await;
        }
        fault.into_answer()
    }

    async fn run_once(&self, ctx: &Ctx, phase: Phase<'_>, timeout: Option<Duration>) -> Result<Reached, Fault> {
        // The time that a task may take is for its handler, not for finding a connection.
        ctx.hold_timeout(true);
        let line = self.connections.line().await.map_err(Fault::Store)?;
        ctx.hold_timeout(false);
        run::attempt(line, ctx, phase, timeout).await
    }

    /// Gives a task back at no cost that never ran, or was cut off, after a pause in which its slot takes no other. If what it did
    /// was committed after all and only the answer was lost, the store knows by the token, and leaves the task as it is. A task
    /// that is cut off again and again is put off for longer and longer: it may be what takes the server down.
    async fn give_back(&self, ctx: &Ctx, cut_off: &CutOff) -> Done<Json> {
        ctx.trouble("handler", &cut_off.why);
        ctx.hold_timeout(true);
        let (in_a_row, cuts) = self.troubles().count(ctx.task(), cut_off.had_begun);
        tokio::select! {
            () = tokio::time::sleep(doubled(FIRST_PAUSE, in_a_row, LONGEST_PAUSE).mul_f64(jitter())) => {}
            () = ctx.cancelled() => {}
            () = ctx.stopping() => {}
        }
        match cuts {
            0 | 1 => Done::release(),
            cuts => Done::snooze(doubled(Duration::from_secs(1), cuts - 1, PUT_OFF_MAX)),
        }
    }

    /// The server carried out what it was asked, well or badly.
    fn is_well(&self, ctx: &Ctx) {
        let mut troubles = self.troubles();
        troubles.in_a_row = 0;
        troubles.cuts.remove(&ctx.task());
    }
}

#[async_trait]
impl CommandSource for SqlCommands {
    async fn commands(&self) -> Result<Vec<CommandName>, StoreError> {
        let rows = self.connections.ask(COMMANDS, &[]).await?;
        let mut known = HashMap::with_capacity(rows.len());
        for row in rows {
            let Some(kind) = self.kind(row.get(1), row.get(2)) else { continue };
            let timeout: Option<i64> = row.get(3);
            let statement_timeout = timeout.map(|micros| Duration::from_micros(micros.unsigned_abs()));
            known.insert(CommandName::new(row.get(0))?, Handler { kind, statement_timeout });
        }
        let names = known.keys().cloned().collect();
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(names)
    }

    async fn run(&self, ctx: Ctx) -> Result<Done<Json>, TaskError> {
        let phase = match self.handler(ctx.command()).map(|handler| handler.kind) {
            None => return Ok(Done::release()),
            Some(Kind::Send(provider)) => return send::attempt(self, &ctx, provider.as_ref()).await,
            Some(Kind::Function) => Phase::Function,
            Some(Kind::Procedure) => Phase::Procedure,
        };
        match self.work(&ctx, phase).await {
            Ok(Reached::Settled(state)) => Ok(Done::committed(state)),
            Ok(Reached::Suspended) => Ok(Done::suspended()),
            Ok(Reached::Draft(_)) => Ok(Done::release()),
            Err(ended) => ended,
        }
    }
}

/// Whether a worker with these providers can run what is registered as the handler of a command.
pub fn can_run(providers: &Providers, handler: &str) -> bool {
    match handler {
        "email" => providers.email.is_some(),
        "sms" => providers.sms.is_some(),
        "http" => providers.http.is_some(),
        _ => true,
    }
}

/// A span that doubles with each further time, up to a most.
fn doubled(first: Duration, times: u32, most: Duration) -> Duration {
    (first * 2_u32.pow(times.clamp(1, 16) - 1)).min(most)
}

/// Between 0.5 and 1.5, so that two calls that ran into each other do not do so again.
fn jitter() -> f64 {
    0.5 + f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX)
}
