//! `kinfolk completions`: a completion script for a shell.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::fault::Fault;

/// `kinfolk completions SHELL`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<(), Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kinfolk", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
