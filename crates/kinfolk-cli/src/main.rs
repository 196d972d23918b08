//! The command line of Kinfolk: one binary, `kinfolk`, with one file a command in `cmd/`.
//!
//! It adds nothing to the engine: every command is a few calls to the `Store` of kinfolk-core or to the library
//! `kinfolk`, and words for people or JSON for programs around the answers. It never creates a database by looking at
//! it, never prints a password, and ends with one of the exit codes in `exit.rs`.

mod args;
mod builtin;
mod cmd;
mod database;
mod demo;
mod dump;
mod exit;
mod fault;
mod folder;
mod group;
mod out;
mod payload;
mod session;
mod span;

use std::process::ExitCode;

use args::Cli;
use clap::Parser as _;
use clap::error::ErrorKind;
use exit::Exit;
use fault::Fault;
use session::Session;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(fault) => return usage(&fault).into(),
    };
    cli.global.color.apply();
    logs(&cli.global, cmd::log_level(&cli.command, cli.global.verbose));
    let json = cli.global.json;
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(fault) => {
            Fault::new(Exit::Internal, "runtime", format!("can't start threads: {fault}")).report(json);
            return Exit::Internal.into();
        }
    };
    match runtime.block_on(cmd::run(cli.command, &Session::new(cli.global))) {
        Ok(()) => Exit::Done.into(),
        Err(fault) => {
            fault.report(json);
            fault.exit().into()
        }
    }
}

/// Help and version go to stdout and are no errors; the rest is bad usage.
fn usage(fault: &clap::Error) -> Exit {
    let json = std::env::args_os().any(|argument| argument == "--json");
    let text = without_addresses(fault.render().ansi().to_string(), fault.kind());
    match fault.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = out::terminal::print(text.trim_end());
            Exit::Done
        }
        // A bad value explains itself in one line; for all else clap's own several lines help more.
        kind if json || kind == ErrorKind::ValueValidation => {
            Fault::input(in_one_line(&anstream::adapter::strip_str(&text).to_string())).report(json);
            Exit::Usage
        }
        _ => {
            out::terminal::complain(text.trim_end());
            Exit::Usage
        }
    }
}

/// What Rust's own parsers say of a value, and what helps.
const PLAINER: [(&str, &str); 5] = [
    ("invalid digit found in string", "write a whole number"),
    ("cannot parse integer from empty string", "write a whole number"),
    ("number too large to fit in target type", "write a smaller number"),
    ("number too small to fit in target type", "write a larger number"),
    ("invalid socket address syntax", "write it like 127.0.0.1:8080"),
];

/// What is wrong and what was perhaps meant, without the usage.
fn in_one_line(text: &str) -> String {
    let text = PLAINER.iter().fold(text.to_owned(), |text, (said, plainer)| text.replace(said, plainer));
    let parts = text.trim_start_matches("error: ").split("\n\n");
    let parts = parts.filter(|part| !part.starts_with("Usage:") && !part.starts_with("For more information"));
    let lines = parts.flat_map(str::lines).map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// The text without arguments that may be the address of a database in the wrong place: there may be a password in one.
fn without_addresses(mut text: String, kind: ErrorKind) -> String {
    let signs: &[char] = if kind == ErrorKind::InvalidSubcommand { &['@', '=', ':'] } else { &['@'] };
    for argument in std::env::args().skip(1).filter(|argument| argument.len() > 5 && argument.contains(signs)) {
        text = text.replace(&argument, "…");
    }
    text
}

/// Logs go to stderr: warnings by default, more with each `-v`, or as `RUST_LOG` says.
fn logs(global: &args::Global, level: &str) {
    use tracing_subscriber::EnvFilter;
    let filter = match std::env::var("RUST_LOG") {
        Ok(rules) if !rules.is_empty() => EnvFilter::new(rules),
        _ => EnvFilter::new(format!("warn,kinfolk={level},kinfolk_postgres={level},kinfolk_sqlite={level}")),
    };
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let json = global.json;
    let writer = move || out::terminal::Log { json };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(color);
    if json {
        builder.json().init();
    } else {
        builder.init();
    }
}
