//! `kinfolk bench`: the engine beside a bare-database loop on the same work, in the same run, on the same disk.
//!
//! Each figure is the median of interleaved rounds (baseline, engine, engine, baseline, …), printed with its spread; a
//! difference below the spread is reported as not resolved. Everything runs in scratch databases of its own
//! ([`scratch`]), removed at the end, after an error and after an interrupt. `fsync` is never switched off.

mod bare_postgres;
mod bare_sqlite;
mod burden;
mod durable;
mod engine;
mod families;
mod figure;
mod flat;
mod flow;
mod grouped;
mod groups;
mod horizon;
mod load;
mod looker;
mod pages;
mod rounds;
mod scratch;
mod site;
mod speed;
mod stats;
mod supervisor;

use std::time::Duration;

use clap::{Args, ValueEnum};
use kinfolk::Error as StoreError;

use crate::exit::Exit;
use crate::fault::Fault;
use crate::session::Session;
use figure::Output;
use site::Sites;

/// Rounds below which the output says so.
const ROUNDS: usize = 7;

/// Measure the engine beside a bare-database loop on the same work.
#[derive(Args, Clone, Debug)]
pub(crate) struct BenchArgs {
    /// What to measure.
    #[arg(value_enum)]
    scenario: Scenario,
    /// Tasks in each round; most scenarios also run with ten times as many.
    #[arg(long, default_value_t = 20_000, value_parser = at_least_one)]
    n: usize,
    /// Interleaved rounds of each figure; the median is reported.
    #[arg(long, default_value_t = ROUNDS, value_parser = at_least_one)]
    rounds: usize,
    /// Tasks that the worker runs at once.
    #[arg(long, default_value_t = 1_000, value_parser = at_least_one)]
    capacity: usize,
    /// Tasks of each kind that lie in the store in `flat`: finished, scheduled for later, of a command that the worker
    /// does not handle; and a tenth of that on a paused queue. In `serial`: tasks that wait behind a family at work. In
    /// `pages`: all tasks, a tenth of them in one family.
    #[arg(long, default_value_t = 1_000_000, value_parser = at_least_one)]
    load: usize,
    /// Tasks that wait behind full keys in `groups`. A full run takes 1,000,000.
    #[arg(long, default_value_t = 100_000, value_parser = at_least_one)]
    blocked: usize,
    /// How long a snapshot is held open in `horizon`, in minutes. A full run takes 10.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Bulk enqueue, at N and at 10 N tasks.
    Enqueue,
    /// No-op tasks through one worker until every completion is durable, at N and at 10 N tasks.
    Drain,
    /// From enqueue to handler start on an idle worker.
    Latency,
    /// Drain speed, buffers and write-ahead log in a store full of tasks that are not to be run.
    Flat,
    /// One parent with N/2 no-op children to its completion, and with ten times as many.
    FanOut,
    /// N/2 top-level tasks strictly one after another, and what a claim costs with very many waiting behind a family.
    Serial,
    /// Durable handlers: a parent with 100 calls in a loop, one with N/2 awaited children, N/20 with 10 each.
    Flow,
    /// Tasks with keys in groups beside tasks without, tasks behind full keys, and what others notice of them.
    Groups,
    /// Every page and every reading route of the HTTP API in a store full of tasks beside a small one, and a drain while
    /// pages are open.
    Pages,
    /// N/2 emails of the module `comms` that fail once each, to their terminal fact. Takes PostgreSQL.
    Supervisor,
    /// A steady load under a snapshot that is held open.
    Horizon,
    /// All of them.
    All,
}

/// Runs a scenario and prints its figures.
pub(crate) async fn run(args: BenchArgs, session: &Session) -> Result<(), Fault> {
    let sites = Sites::new(&session.target()?);
    let mut output = Output::new(session.global.json, session.global.verbose > 0);
    let measured = tokio::select! {
        measured = measure(&args, &sites, &mut output) => measured.map_err(|fault| blame(&fault)),
        _ = tokio::signal::ctrl_c() => Err(Fault::silent(Exit::Interrupted)),
    };
    sites.remove().await.map_err(|fault| blame(&fault))?;
    measured?;
    Ok(output.finish()?)
}

async fn measure(args: &BenchArgs, sites: &Sites, output: &mut Output) -> anyhow::Result<()> {
    for warning in sites.warnings().await? {
        output.progress(&format!("warning: {warning}"));
    }
    if args.rounds < ROUNDS {
        output.progress(&format!(
            "warning: {} rounds instead of at least {ROUNDS}: take no figure from this",
            args.rounds
        ));
    }
    for (what, statement) in sites.statements() {
        output.detail(&format!("-- bare {}: {what}\n{statement}\n", sites.store()));
    }
    let wanted = |scenario| args.scenario == scenario || args.scenario == Scenario::All;
    if wanted(Scenario::Enqueue) {
        speed::enqueue(args, sites, output).await?;
    }
    if wanted(Scenario::Drain) {
        speed::drain(args, sites, output).await?;
    }
    if wanted(Scenario::Latency) {
        speed::latency(args, sites, output).await?;
    }
    if wanted(Scenario::FanOut) {
        families::fan_out(args, sites, output).await?;
    }
    if wanted(Scenario::Serial) {
        families::serial(args, sites, output).await?;
    }
    if wanted(Scenario::Flow) {
        flow::flow(args, sites, output).await?;
    }
    if wanted(Scenario::Groups) {
        groups::groups(args, sites, output).await?;
    }
    if wanted(Scenario::Flat) {
        flat::flat(args, sites, output).await?;
    }
    if wanted(Scenario::Pages) {
        pages::pages(args, sites, output).await?;
    }
    let has_functions = sites.store() == "postgres";
    if wanted(Scenario::Supervisor) && (has_functions || args.scenario == Scenario::Supervisor) {
        anyhow::ensure!(has_functions, "supervisors are functions in the database, which SQLite does not have");
        supervisor::supervisor(args, sites, output).await?;
    }
    if wanted(Scenario::Horizon) {
        horizon::horizon(args, sites, output).await?;
    }
    Ok(())
}

/// What went wrong, with the exit code of its cause.
fn blame(fault: &anyhow::Error) -> Fault {
    let words = format!("{fault:#}");
    if fault.is::<StoreError>() {
        Fault::new(Exit::Database, "store", words)
    } else if fault.chain().any(|cause| cause.is::<tokio_postgres::Error>() || cause.is::<rusqlite::Error>()) {
        Fault::new(Exit::Database, "database", words)
    } else {
        Fault::new(Exit::Internal, "bench", words)
    }
}

impl BenchArgs {
    /// N and 10 N.
    fn sizes(&self) -> [usize; 2] {
        [self.n, self.n * 10]
    }

    fn held(&self) -> Duration {
        Duration::from_secs_f64(self.minutes.max(0.0) * 60.0)
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(fault) => Err(fault.to_string()),
    }
}
