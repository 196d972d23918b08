//! `kinfolk completions`: a completion script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::args::Cli;
use crate::fault::Fault;
use crate::session::Session;

/// `kinfolk completions SHELL`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs it.
pub(crate) fn run(args: &Args, session: &Session) -> Result<(), Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kinfolk", &mut script);
    let script = String::from_utf8_lossy(&script);
    session.out.say(&json!({"shell": args.shell.to_string(), "script": script}), script.trim_end())
}
