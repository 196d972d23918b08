//! The options before the command: which database, how to answer, how much to say.

use clap::{ArgAction, Parser, ValueEnum};

use crate::cmd::Command;

/// Durable tasks on PostgreSQL or an embedded SQLite file.
#[derive(Parser, Debug)]
#[command(name = "kinfolk", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 done, 1 the answer is no, 2 bad input, 3 not found, 4 database can't be used, \
                        5 internal fault; see `kinfolk help exit-codes`.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command understands.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Global {
    /// The database: postgres://…, or the path of a SQLite file
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "KINFOLK_DATABASE",
        hide_env_values = true,
        help_heading = "Global options"
    )]
    pub(crate) database: Option<String>,

    /// Answer in JSON: one document, or one a line for lists
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,

    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Global options")]
    pub(crate) color: Color,

    /// Log more: -v events, -vv and -vvv details
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,

    /// PostgreSQL: don't listen for wake-ups, poll
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) no_notify: bool,

    /// PostgreSQL: behind a transaction pooler, so no prepared statements
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) pooler: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes it so for the whole process.
    pub(crate) fn apply(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}
