//! `kinfolk register`: make a command known, or change its defaults. What is left out stays as it was.

use std::time::Duration;

use kinfolk_core::limits::ATTEMPTS_DEFAULT;
use kinfolk_core::{Command, CommandName, LabelPath, QueueName, SqlHandler};

use super::group_options::GroupOptions;
use crate::fault::Fault;
use crate::out::view::CommandView;
use crate::session::Session;
use crate::span;

/// `kinfolk register COMMAND`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Its name
    command: CommandName,

    /// Where its tasks wait; a missing queue is made
    #[arg(long, value_name = "NAME")]
    queue: Option<QueueName>,

    /// Priority of its tasks; lower goes first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    priority: Option<i32>,

    /// Attempts in all; 0 takes the declaration away: 10 then, and as a sub-task as many as its parent
    #[arg(long, value_name = "N")]
    max_attempts: Option<u16>,

    /// Delay after the first failure; it doubles with each further one
    #[arg(long, value_name = "SPAN", value_parser = span::parse, allow_hyphen_values = true)]
    backoff: Option<Duration>,

    /// No delay between attempts is longer
    #[arg(long, value_name = "SPAN", value_parser = span::parse, allow_hyphen_values = true)]
    backoff_cap: Option<Duration>,

    /// How far a delay may be off, in percent
    #[arg(long, value_name = "PERCENT")]
    jitter: Option<u8>,

    /// Losses of a worker, while a task was its only suspect, that make the task poison
    #[arg(long, value_name = "N")]
    max_strikes: Option<u16>,

    /// How long one attempt may run
    #[arg(long, value_name = "SPAN", value_parser = span::parse, allow_hyphen_values = true)]
    timeout: Option<Duration>,

    /// The path of the payload with the label of a task, which people see beside its command: customer.name; '' removes it
    #[arg(long, value_name = "PATH")]
    label: Option<LabelPath>,

    #[command(flatten)]
    groups: GroupOptions,

    #[command(flatten)]
    handler: Handler,
}

/// The function in the database that runs the tasks.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Handler in the database (PostgreSQL)")]
struct Handler {
    /// Function or procedure that runs its tasks, as schema.name; it takes the payload as jsonb
    #[arg(long = "handler", value_name = "FUNCTION")]
    function: Option<String>,

    /// Function called with the payload before it, in the same transaction
    #[arg(long = "before-handler", value_name = "FUNCTION")]
    before: Option<String>,

    /// Function called with the payload after it, in the same transaction
    #[arg(long = "after-handler", value_name = "FUNCTION")]
    after: Option<String>,

    /// How long one statement of the handler may run
    #[arg(long, value_name = "SPAN", value_parser = span::parse, allow_hyphen_values = true)]
    statement_timeout: Option<Duration>,

    /// Whether an answer of the handler that has a boolean `success` is an envelope, which says how it went; it is,
    /// unless this says otherwise
    #[arg(long, value_name = "TRUE|FALSE", action = clap::ArgAction::Set)]
    envelope: Option<bool>,

    /// Function that is told of each attempt that succeeded, in a transaction of its own after it
    #[arg(long, value_name = "FUNCTION")]
    on_success: Option<String>,

    /// Function that is told of each attempt that failed, in a transaction of its own after it
    #[arg(long, value_name = "FUNCTION")]
    on_error: Option<String>,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    args.changed(Command::new(args.command.clone()))?;
    let store = session.open_or_create().await?;
    let known = store.commands().await?.into_iter().find(|known| known.name == args.command);
    let word = if known.is_some() { "changed" } else { "registered" };
    let declared = known.as_ref().and_then(|known| known.groups.clone());
    let mut command = args.changed(known.unwrap_or_else(|| Command::new(args.command.clone())))?;
    store.register(std::slice::from_ref(&command)).await?;
    command.groups = command.groups.or(declared);
    session.out.say(
        &CommandView::new(&command, 0),
        format!("{word} command {} on queue {}: {}", command.name, command.queue, attempts_words(&command)),
    )
}

fn attempts_words(command: &Command) -> String {
    match command.retry.max_attempts {
        Some(1) => "one attempt".to_owned(),
        Some(declared) => format!("{declared} attempts"),
        None => format!("{ATTEMPTS_DEFAULT} attempts, or its parent's as a sub-task"),
    }
}

impl Args {
    fn changed(&self, mut command: Command) -> Result<Command, Fault> {
        if let Some(queue) = &self.queue {
            command.queue = queue.clone();
        }
        command.priority = self.priority.unwrap_or(command.priority);
        command.timeout = self.timeout.or(command.timeout);
        let retry = &mut command.retry;
        retry.max_attempts = self.max_attempts.or(retry.max_attempts).filter(|attempts| *attempts > 0);
        retry.max_strikes = self.max_strikes.unwrap_or(retry.max_strikes);
        retry.jitter_pct = self.jitter.unwrap_or(retry.jitter_pct);
        if let Some(backoff) = self.backoff {
            retry.base_ms = whole_millis(backoff)?;
        }
        if let Some(cap) = self.backoff_cap {
            retry.cap_ms = whole_millis(cap)?;
        }
        command.label = self.label.clone().or(command.label);
        // Those that stay as they are need not be declared again.
        command.groups = self.groups.changed(command.groups.as_ref())?;
        command.handler = self.handler.changed(command.handler)?;
        command.check()?;
        Ok(command)
    }
}

impl Handler {
    fn changed(&self, known: Option<SqlHandler>) -> Result<Option<SqlHandler>, Fault> {
        let Some(function) = self.function.clone().or_else(|| known.as_ref().map(|known| known.function.clone()))
        else {
            let hooks = [&self.before, &self.after, &self.on_success, &self.on_error];
            let is_given =
                hooks.iter().any(|hook| hook.is_some()) || self.statement_timeout.is_some() || self.envelope.is_some();
            return match is_given {
                true => Err(Fault::input("there is no handler for this to go with; name it with --handler")),
                false => Ok(None),
            };
        };
        let known = known.unwrap_or_else(|| SqlHandler::new(function.clone()));
        Ok(Some(SqlHandler {
            function,
            before: self.before.clone().or(known.before),
            after: self.after.clone().or(known.after),
            statement_timeout: self.statement_timeout.or(known.statement_timeout),
            envelope: self.envelope.unwrap_or(known.envelope),
            on_success: self.on_success.clone().or(known.on_success),
            on_error: self.on_error.clone().or(known.on_error),
        }))
    }
}

fn whole_millis(span: Duration) -> Result<u32, Fault> {
    u32::try_from(span.as_millis())
        .map_err(|_| Fault::input(format!("a backoff of {} is too long; 49 days is the most", span::show(span))))
}
