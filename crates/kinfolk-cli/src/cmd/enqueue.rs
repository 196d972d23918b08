//! `kinfolk enqueue`: one task or many. Everything is read and checked before the first one is made.

use std::time::Duration;

use kinfolk_core::limits::{ENQUEUE_BATCH_MAX, TRACE_BYTES_MAX};
use kinfolk_core::{
    Advice, Command, CommandName, Due, Enqueued, InputError, Json, NewTask, Rejection, Store, StoreError, Timestamp,
};
use serde::Serialize;

use super::task_options::TaskOptions;
use crate::fault::Fault;
use crate::session::Session;
use crate::{payload, span};

/// `kinfolk enqueue COMMAND [PAYLOAD]`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The command to run; see `kinfolk commands`
    command: CommandName,

    /// Its payload as JSON; `-` reads stdin; left out it is {}
    #[arg(allow_negative_numbers = true)]
    payload: Option<String>,

    #[command(flatten)]
    task: TaskOptions,

    /// Run it this long from now, like 5m
    #[arg(long, visible_alias = "in", value_name = "SPAN", value_parser = span::parse_delay, allow_hyphen_values = true, conflicts_with = "at")]
    delay: Option<Duration>,

    /// Run it at this time, like 2026-01-31T12:00:00Z, or when this day begins in UTC, like 2026-01-31
    #[arg(long, alias = "scheduled-at", value_name = "TIME", value_parser = span::parse_moment)]
    at: Option<Timestamp>,

    /// Enqueue it this many times
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "file", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,

    /// A task for each line of this file, which is its payload; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "payload")]
    file: Option<String>,

    /// Register the command first, with default policy, if it is unknown
    #[arg(long)]
    register: bool,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let payloads = match &args.file {
        Some(path) => payload::lines(path)?,
        None => vec![payload::one(args.payload.as_deref())?; args.count as usize],
    };
    let tasks: Vec<NewTask> = payloads.into_iter().map(|payload| args.task_of(payload)).collect::<Result<_, _>>()?;
    tasks.first().map_or(Ok(()), NewTask::check)?;

    let store = session.open_or_create().await?;
    if args.register {
        register_if_unknown(&args, store.as_ref()).await?;
    }
    let mut tally = Tally::default();
    for (nth, batch) in tasks.chunks(ENQUEUE_BATCH_MAX).enumerate() {
        let answers = match store.enqueue(batch).await {
            Ok(answers) => answers,
            Err(fault) if nth == 0 => return Err(fault.into()),
            Err(fault) => {
                return cut_short(fault, &tally, (nth * ENQUEUE_BATCH_MAX, batch.len(), tasks.len()), session);
            }
        };
        for answer in answers {
            if session.out.json() {
                session.out.item(&Answer::from(&answer))?;
            }
            tally.add(&answer);
        }
    }
    if !session.out.json() && !tally.is_empty() {
        session.out.line(tally.sentence())?;
    }
    match tally.rejection {
        None => Ok(()),
        Some(why) => {
            let remedy = remedy(&why, &args.command, session);
            Err(Fault::no("rejected", format!("{} ({remedy})", refusal(tally.rejected, &why))))
        }
    }
}

/// Tells how far it came: what was enqueued before the fault stays. `parts`: done, in this call, in all.
fn cut_short(fault: StoreError, tally: &Tally, parts: (usize, usize, usize), session: &Session) -> Result<(), Fault> {
    if !session.out.json() && !tally.is_empty() {
        session.out.line(tally.sentence())?;
    }
    let (done, now, all) = parts;
    // A call without an answer may have been carried out.
    let unknown = match fault.advice() {
        Advice::Retry => format!(", and the fate of the next {now} is unknown"),
        _ => String::new(),
    };
    Err(Fault::from(fault).about(&format!("only the first {done} of {all} were enqueued{unknown}")))
}

impl Args {
    fn task_of(&self, payload: Json) -> Result<NewTask, InputError> {
        let due = match (self.delay, self.at) {
            (Some(delay), _) => Due::After(delay),
            (None, Some(moment)) => Due::At(moment),
            (None, None) => Due::Now,
        };
        Ok(NewTask { due, trace: trace(), ..self.task.task(self.command.clone(), payload)? })
    }
}

/// The trace context of the calling program, as tracing tools give it to the programs they start.
fn trace() -> Option<String> {
    std::env::var("TRACEPARENT").ok().filter(|trace| !trace.is_empty() && trace.len() <= TRACE_BYTES_MAX)
}

/// A known command keeps its policy.
async fn register_if_unknown(args: &Args, store: &dyn Store) -> Result<(), Fault> {
    if store.commands().await?.iter().any(|known| known.name == args.command) {
        return Ok(());
    }
    let mut command = Command::new(args.command.clone());
    if let Some(queue) = &args.task.queue {
        command.queue = queue.clone();
    }
    Ok(store.register(&[command]).await?)
}

fn refusal(count: u64, why: &Rejection) -> String {
    match count {
        1 => format!("rejected: {why}"),
        _ => format!("{count} tasks rejected: {why}"),
    }
}

fn remedy(why: &Rejection, command: &CommandName, session: &Session) -> String {
    match why {
        Rejection::UnknownCommand(command) => {
            format!("type `{}`, or add --register", session.command_line(&format!("register {command}")))
        }
        Rejection::UnknownQueue(queue) => format!("type `{}`", session.command_line(&format!("queue set {queue}"))),
        Rejection::UnknownGroup(group) => {
            format!("type `{}`", session.command_line(&format!("register {command} --group {group}=LIMIT")))
        }
        _ => "nothing was made of it".to_owned(),
    }
}

/// The output of `--json` for each of them.
#[derive(Serialize)]
struct Answer {
    outcome: &'static str,
    task: Option<i64>,
    why: Option<String>,
}

impl From<&Enqueued> for Answer {
    fn from(answer: &Enqueued) -> Self {
        let outcome = match answer {
            Enqueued::Created(_) => "created",
            Enqueued::Existing(_) => "existing",
            Enqueued::Merged(_) => "merged",
            Enqueued::Rejected(_) => "rejected",
        };
        Self { outcome, task: answer.id().ok().map(|id| id.0), why: answer.id().err().map(|why| why.to_string()) }
    }
}

/// The answers for all of them.
#[derive(Default)]
struct Tally {
    created: Vec<i64>,
    existing: Vec<i64>,
    merged: Vec<i64>,
    rejected: u64,
    rejection: Option<Rejection>,
}

impl Tally {
    fn add(&mut self, answer: &Enqueued) {
        match answer {
            Enqueued::Created(id) => self.created.push(id.0),
            Enqueued::Existing(id) => self.existing.push(id.0),
            Enqueued::Merged(id) => self.merged.push(id.0),
            Enqueued::Rejected(why) => {
                self.rejected += 1;
                self.rejection.get_or_insert_with(|| why.clone());
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.created.is_empty() && self.existing.is_empty() && self.merged.is_empty() && self.rejected > 0
    }

    fn sentence(&self) -> String {
        let parts = [
            part("created", &self.created),
            part("left as it is", &self.existing).map(|text| format!("{text} (the unique key is held)")),
            part("merged into", &self.merged),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "nothing to enqueue".to_owned() } else { parts.join(", ") }
    }
}

fn part(what: &str, ids: &[i64]) -> Option<String> {
    match (ids.len(), ids.iter().min(), ids.iter().max()) {
        (0, ..) => None,
        (1, Some(id), _) => Some(format!("{what} task {id}")),
        (count, Some(first), Some(last)) if first == last => Some(format!("{what} task {first} {count} times")),
        (count, Some(first), Some(last)) => Some(format!("{what} {count} tasks, {first} to {last}")),
        _ => None,
    }
}
