//! The commands, one file each. This is the only place that knows all of them.

mod acquit;
mod audit;
mod bulk;
mod cancel;
mod cause;
mod check;
mod commands;
mod completions;
mod demo;
mod doctor;
mod enqueue;
mod errors;
mod explain;
mod failures;
mod families;
mod filter_options;
mod grants;
mod graph;
mod group_options;
mod groups;
mod list;
mod log_page;
mod migrate;
mod minutes;
mod module;
mod queue;
mod register;
pub(crate) mod replay;
mod retry;
mod schedule;
pub(crate) mod serve;
mod show;
mod signal;
mod stats;
mod status;
mod task_options;
mod token;
mod tree;
mod watch;
mod work;
mod workers;

use clap::Subcommand;
use kinfolk_core::TaskId;
use serde_json::json;

use crate::exit::{self, Exit};
use crate::fault::Fault;
use crate::session::Session;

/// The benchmarks are not a part of what users install.
const BENCH: &str = "the benchmarks are a program of their own; in the sources of kinfolk, type \
    `cargo run --release -p kinfolk-bench -- drain`";

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run the orders of a small web shop, live: needs nothing
    Demo(demo::Args),
    /// Create the schema, or bring it up to date
    Migrate(migrate::Args),
    /// Business processes in the database: list, install, new
    #[command(subcommand)]
    Module(module::Verb),
    /// Print the grants that a role needs, or check them
    Grants(grants::Args),
    /// Enqueue one task or many
    Enqueue(enqueue::Args),
    /// Make a command known, or change its defaults
    Register(register::Args),
    /// List tasks, newest first
    List(list::Args),
    /// Show everything about a task
    Show(show::Args),
    /// Show a task and all its descendants
    Tree(tree::Args),
    /// Draw a family as DOT or Mermaid
    Graph(graph::Args),
    /// Say why a task is not running, and what to type about it
    Explain(explain::Args),
    /// Cancel tasks and their descendants: pending ones at once, running ones through their worker
    Cancel(cancel::Args),
    /// Run failed or cancelled tasks again, with all their descendants, or whole families
    Retry(retry::Args),

    /// Clear suspects: tasks of lost workers run at once, like any other
    Acquit(acquit::Args),
    /// Run pending tasks now that are not due
    RunNow(bulk::Args),
    /// Delete ended tasks for good, families as a whole
    Delete(bulk::Args),
    /// Show failures by cause
    Failures(failures::Args),
    /// Show every failed attempt, newest first, also of tasks that completed later
    Errors(errors::Args),
    /// Show throughput, waiting and running times by queue and command
    Minutes(minutes::Args),
    /// Send a signal to the handler of a task
    Signal(signal::Args),
    /// Run a task's recorded history through the code of this program, and write nothing
    Replay(replay::Args),
    /// Pause a queue: workers claim no more of its tasks, running tasks go on
    Pause(queue::Pause),
    /// Resume a paused queue
    Resume(queue::Name),
    /// List queues, make one, change its limits and how long it keeps finished tasks, pause and resume it
    #[command(alias = "queues")]
    Queue(OrList<queue::Verb>),
    /// Show groups, and the keys that block tasks; change and remove groups
    #[command(alias = "group")]
    Groups(groups::Args),
    /// List workers and their leases
    Workers,
    /// List commands, their defaults and their workers
    Commands,
    /// Count tasks by queue, command and state
    Stats,
    /// Follow the progress of all queues, and of the families at work
    Watch(watch::Args),
    /// Show whether some commands are active: list, set, remove
    #[command(alias = "statuses")]
    Status(OrList<status::Verb>),
    /// Recurring tasks: list, put, remove, pause, resume, next
    #[command(alias = "schedules")]
    Schedule(OrList<schedule::Verb>),
    /// Run a worker for functions in the database and built-in commands
    Work(work::Args),
    /// Serve the HTTP API and the pages, and run a worker beside them
    Serve(serve::Args),
    /// Make tokens for the HTTP API
    #[command(subcommand)]
    Token(token::Verb),
    /// Show the actions of callers through a server, newest first
    Audit(audit::Args),
    /// Look for problems around the database
    Doctor,
    /// Run every invariant as a query and print violations
    Check,
    /// Say how to measure the engine, which is the work of another program
    #[command(hide = true)]
    Bench {
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Print the exit codes and their meaning
    #[command(after_help = exit::table())]
    ExitCodes,
}

/// A verb; without one, the list of what there is.
#[derive(clap::Args, Debug)]
pub(crate) struct OrList<V: Subcommand> {
    #[command(subcommand)]
    verb: Option<V>,
}

/// Runs a command.
pub(crate) async fn run(command: Command, session: &Session) -> Result<(), Fault> {
    match command {
        Command::Demo(args) => demo::run(args, session).await,
        Command::Migrate(args) => migrate::run(args, session).await,
        Command::Module(verb) => module::run(verb, session).await,
        Command::Grants(args) => grants::run(args, session).await,
        Command::Enqueue(args) => enqueue::run(args, session).await,
        Command::Register(args) => register::run(args, session).await,
        Command::List(args) => list::run(args, session).await,
        Command::Show(args) => show::run(args, session).await,
        Command::Tree(args) => tree::run(args, session).await,
        Command::Graph(args) => graph::run(args, session).await,
        Command::Explain(args) => explain::run(args, session).await,
        Command::Cancel(args) => cancel::run(args, session).await,
        Command::Retry(args) => retry::run(args, session).await,
        Command::Acquit(args) => acquit::run(args, session).await,
        Command::RunNow(args) => bulk::run_now(args, session).await,
        Command::Delete(args) => bulk::delete(args, session).await,
        Command::Failures(args) => failures::run(args, session).await,
        Command::Errors(args) => errors::run(args, session).await,
        Command::Minutes(args) => minutes::run(args, session).await,
        Command::Signal(args) => signal::run(args, session).await,
        Command::Replay(args) => replay::run(args, session).await,
        Command::Pause(pause) => queue::pause(pause, session).await,
        Command::Resume(name) => queue::resume(name, session).await,
        Command::Queue(OrList { verb }) => queue::run(verb.unwrap_or(queue::Verb::List), session).await,
        Command::Groups(args) => groups::run(args, session).await,
        Command::Workers => workers::run(session).await,
        Command::Commands => commands::run(session).await,
        Command::Stats => stats::run(session).await,
        Command::Watch(args) => watch::run(args, session).await,
        Command::Status(OrList { verb }) => status::run(verb.unwrap_or(status::Verb::List), session).await,
        Command::Schedule(OrList { verb }) => schedule::run(verb.unwrap_or(schedule::Verb::List), session).await,
        Command::Work(args) => work::run(args, session).await,
        Command::Serve(args) => serve::run(args, session).await,
        Command::Token(verb) => token::run(verb, session),
        Command::Audit(args) => audit::run(args, session).await,
        Command::Doctor => doctor::run(session).await,
        Command::Check => check::run(session).await,
        Command::Bench { .. } => Err(Fault::input(BENCH)),
        Command::Completions(args) => completions::run(&args, session),
        Command::ExitCodes => exit_codes(session),
    }
}

fn exit_codes(session: &Session) -> Result<(), Fault> {
    if !session.out.json() {
        return session.out.line(exit::table().trim_end());
    }
    Exit::ALL.iter().try_for_each(|exit| session.out.item(&json!({"code": exit.code(), "means": exit.means()})))
}

/// How much this command logs, when asked for more so many times.
pub(crate) fn log_level(command: &Command, verbose: u8) -> &'static str {
    match (command, verbose) {
        // A line in the middle of progress bars helps no reader.
        (Command::Demo(_) | Command::Watch(_), 0) => "off",
        (_, 0) => "warn",
        (_, 1) => "info",
        (_, 2) => "debug",
        _ => "trace",
    }
}

/// Does the same to each of several tasks. One that can't be done is reported and does not keep the others from being
/// done; the exit code is that of the first.
async fn each<F>(ids: &[TaskId], session: &Session, mut act: impl FnMut(TaskId) -> F) -> Result<(), Fault>
where
    F: Future<Output = Result<(), Fault>>,
{
    let mut first: Option<Exit> = None;
    for &id in ids {
        if let Err(fault) = act(id).await {
            fault.report(session.global.json);
            first.get_or_insert(fault.exit());
        }
    }
    first.map_or(Ok(()), |exit| Err(Fault::silent(exit)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use crate::args::Cli;
    use crate::exit::Exit;

    fn page() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        std::fs::read_to_string(path).expect("docs/cli.md is there")
    }

    #[test]
    fn the_definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_option_stands_in_the_documentation() {
        let page = page();
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(page.contains(&format!("### `kinfolk {name}")), "docs/cli.md says nothing of `{name}`");
            let words = command.get_subcommands().map(|verb| format!("kinfolk {name} {}", verb.get_name()));
            let options = command.get_subcommands().chain([command]).flat_map(|verb| verb.get_arguments());
            let options = options.filter(|option| !option.is_hide_set()).filter_map(clap::Arg::get_long);
            for word in words.chain(options.map(|option| format!("--{option}"))) {
                assert!(page.contains(&word), "docs/cli.md says nothing of `{word}` of `{name}`");
            }
        }
        for option in Cli::command().get_arguments().filter_map(clap::Arg::get_long) {
            assert!(page.contains(&format!("`--{option}")), "docs/cli.md says nothing of `--{option}`");
        }
    }

    #[test]
    fn every_exit_code_stands_in_the_documentation_in_the_same_words() {
        let page = page();
        for exit in Exit::ALL {
            assert!(
                page.contains(&format!("| {} | {} |", exit.code(), exit.means())),
                "docs/cli.md and {exit:?} differ"
            );
        }
    }
}
