//! The process that the fault tests start, stop and kill: a real worker, or a producer, with a few commands of its own.
//!
//! It is told what to do by one argument of JSON, an [`Orders`], and tells what it does by lines on its standard output:
//! `ready`, `made 1 2 3` (tasks that an enqueue has answered for), `event stale 17`, `end`.

mod fill;
mod handlers;
mod plan;
mod script;
mod script_families;
mod with_keys;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use kinfolk::{Event, Kinfolk, Worker, WorkerBuilder};
use kinfolk_core::{CommandName, Enqueued, Json, NewTask, SignalName, Store, TaskId};
use kinfolk_postgres::{PgOptions, PgStore};
use kinfolk_runner::{ProviderConfig, SqlCommands};
use serde::{Deserialize, Serialize};

use crate::flows::{GO, signal_value};

pub use handlers::{EFFECT, HOLD, KILL, NOTE};
pub use plan::{FAMILY, FollowUp, LEAF, MENDED, Plan};
pub use with_keys::{Passed, Room, SPARE, WITH_KEYS, WithKeys, command_with_keys, enter_rooms, passed_file};

/// What a victim does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// Its store.
    pub url: String,
    /// The file it notes its tasks in.
    pub ledger: PathBuf,
    /// Attempts at once.
    pub capacity: usize,
    /// Its lease.
    pub lease_ms: u64,
    /// How long each handler takes.
    pub work_ms: u64,
    /// What it is there for.
    pub mode: Mode,
    /// For PostgreSQL behind a transaction pooler: no prepared statements, no notifications.
    pub pooled: bool,
    /// For PostgreSQL: how long a call may stay without an answer.
    pub answer_ms: u64,
    /// For PostgreSQL: how long it may take to make a connection.
    pub connect_ms: u64,
    /// The only queue it takes from, if not all of its commands'.
    pub queue: Option<String>,
    /// For PostgreSQL: run the functions in the database too.
    pub functions: bool,
    /// With those: what carries messages out, as the part `providers` of a configuration file.
    pub providers: serde_json::Value,
    /// Also handle the commands whose tasks have keys.
    pub with_keys: bool,
}

/// What a victim is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Work until told to end.
    Work,
    /// Walk through every verb of the store once, then end.
    Script,
    /// Enqueue until the disk is full, look at what is left, make room, go on, end.
    Fill,
    /// Set the limit of [`SPARE`], and remove that group, then end.
    Regroup,
    /// Send this task the first of its signals called [`GO`], then end.
    Signal(TaskId),
}

impl Orders {
    /// A worker with a short lease.
    pub fn work(url: &str, ledger: PathBuf) -> Self {
        let url = url.to_owned();
        Self {
            url,
            ledger,
            capacity: 20,
            lease_ms: 1_000,
            work_ms: 2,
            mode: Mode::Work,
            pooled: false,
            answer_ms: 30_000,
            connect_ms: 10_000,
            queue: None,
            functions: false,
            providers: serde_json::json!({}),
            with_keys: false,
        }
    }

    /// A walk through every verb.
    pub fn script(url: &str, ledger: PathBuf) -> Self {
        Self { mode: Mode::Script, ..Self::work(url, ledger) }
    }

    /// The command line that carries these orders out.
    pub fn command(&self, program: &str) -> Result<std::process::Command> {
        let mut command = std::process::Command::new(program);
        command.arg(serde_json::to_string(self)?).env_remove("KINFOLK_CRASH_AT");
        Ok(command)
    }
}

/// Carries orders out.
pub async fn run(orders: Orders) -> Result<()> {
    let store = open(&orders).await?;
    match orders.mode {
        Mode::Work => work(&orders, store).await?,
        Mode::Script => script::run(&orders, store).await?,
        Mode::Fill => fill::run(&orders, &*store).await?,
        Mode::Regroup => with_keys::regroup(&*store).await?,
        Mode::Signal(task) => drop(store.signal(task, &SignalName::new(GO)?, &signal_value(0)?).await?),
    }
    println!("end");
    Ok(())
}

async fn work(orders: &Orders, store: Arc<dyn Store>) -> Result<()> {
    let mut builder = worker(orders, store);
    if orders.with_keys {
        builder = with_keys::add(builder, orders)?;
    }
    if orders.functions {
        let providers: ProviderConfig = serde_json::from_value(orders.providers.clone())?;
        let options = PgOptions {
            application_name: "kinfolk handler".to_owned(),
            pool_size: orders.capacity,
            ..PgOptions::default()
        };
        builder = builder.commands_from(SqlCommands::open_with(&orders.url, &options, providers.open()?)?);
    }
    let worker = builder.start().await?;
    println!("ready");
    worker.run_until_signal().await?;
    Ok(())
}

/// Opens the store as the orders say.
async fn open(orders: &Orders) -> Result<Arc<dyn Store>> {
    if orders.url.starts_with("sqlite:") {
        return kinfolk::open(&orders.url).await.context("can't open the file");
    }
    let options = PgOptions {
        prepared: !orders.pooled,
        notify: !orders.pooled,
        answer_timeout: Duration::from_millis(orders.answer_ms),
        connect_timeout: Duration::from_millis(orders.connect_ms),
        ..PgOptions::default()
    };
    Ok(Arc::new(PgStore::connect(&orders.url, options).await.context("can't connect")?))
}

fn worker(orders: &Orders, store: Arc<dyn Store>) -> WorkerBuilder {
    let lease = Duration::from_millis(orders.lease_ms);
    let mut builder = Worker::builder(Kinfolk::new(store))
        .capacity(orders.capacity)
        .lease(lease)
        .heartbeat(lease / 4)
        .poll(Duration::from_millis(100))
        .on_event(tell);
    if let Some(queue) = &orders.queue {
        builder = builder.queue(queue, orders.capacity);
    }
    handlers::add(builder, orders)
}

/// Prints what the tests want to know.
fn tell(event: &Event) {
    match event {
        Event::Stale { task, .. } => println!("event stale {task}"),
        Event::LeaseLost { worker } => println!("event lease_lost {worker}"),
        Event::Recovered { returned, poisoned, .. } => println!("event recovered {returned} {poisoned}"),
        Event::Started { task, .. } => println!("event started {task}"),
        Event::Unstuck { tasks } => println!("event unstuck {tasks}"),
        Event::StoreTrouble { during, fault } => println!("event trouble {during} {fault}"),
        _ => {}
    }
}

fn tell_made(ids: &[TaskId]) {
    let words: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
    println!("made {}", words.join(" "));
}

/// Tasks for a command.
pub fn tasks(command: &str, count: usize) -> Result<Vec<NewTask>> {
    let task = NewTask::new(CommandName::new(command)?, Json::object());
    Ok(vec![task; count])
}

/// As many tasks of each of the two commands that note themselves.
pub fn both(each: usize) -> Result<Vec<NewTask>> {
    Ok([tasks(NOTE, each)?, tasks(EFFECT, each)?].concat())
}

/// The numbers of tasks that were made; an error if one was not.
pub fn made(answers: &[Enqueued]) -> Result<Vec<TaskId>> {
    answers.iter().map(|answer| answer.id().with_context(|| format!("not enqueued: {answer:?}"))).collect()
}
