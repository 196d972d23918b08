//! `kinfolk-bench`: the engine beside a bare-database loop on the same work, in the same run, on the same disk.
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

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tracing_subscriber::EnvFilter;

use figure::Output;
use scratch::Target;
use site::Sites;

/// Rounds below which the output says so.
const ROUNDS: usize = 7;
/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Measure the engine beside a bare-database loop on the same work.
#[derive(Parser, Clone, Debug)]
#[command(version, max_term_width = 100)]
struct BenchArgs {
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
    /// Where to measure, in databases of its own: the server of postgres://…, or the folder of a SQLite file.
    #[arg(long, value_name = "URL", env = "KINFOLK_DATABASE", hide_env_values = true, default_value = "kinfolk.db")]
    database: String,
    /// Print each figure as a line of JSON.
    #[arg(long)]
    json: bool,
    /// Print the statements of the bare loop and every round.
    #[arg(short, long)]
    verbose: bool,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
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
#[tokio::main]
async fn main() -> ExitCode {
    let args = BenchArgs::parse();
    // Logs would be measured along, also those of tasks that fail on purpose.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(&args).await {
        Ok(RunEnd::Measured) => ExitCode::SUCCESS,
        Ok(RunEnd::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(fault) => {
            eprintln!("kinfolk-bench: {fault:#}");
            ExitCode::FAILURE
        }
    }
}

/// How a run without a fault ended.
enum RunEnd {
    Measured,
    Interrupted,
}

async fn run(args: &BenchArgs) -> anyhow::Result<RunEnd> {
    let sites = Sites::new(Target::parse(&args.database)?);
    let mut output = Output::new(args.json, args.verbose);
    let measured = tokio::select! {
        measured = measure(args, &sites, &mut output) => measured.map(|()| RunEnd::Measured),
        _ = tokio::signal::ctrl_c() => Ok(RunEnd::Interrupted),
    };
    sites.remove().await?;
    let ended = measured?;
    if let RunEnd::Measured = ended {
        output.finish()?;
    }
    Ok(ended)
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
