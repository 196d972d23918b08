//! `kinfolk show`: everything about one task.

use kinfolk_core::task::Ending;
use kinfolk_core::{Attempt, History, Json, Run, State, StepKind, Store, StoreError, Tally, Task, TaskId, Timestamp};
use owo_colors::OwoColorize as _;

use super::cause::cause;
use crate::fault::Fault;
use crate::group::keys_words;
use crate::out::durable::{awaited_in, checkpoints_table, fan_outs_table, report_words};
use crate::out::pretty::pretty;
use crate::out::table::{self, Table, harmless};
use crate::out::time::relative;
use crate::out::view::TaskView;
use crate::out::words::{colored, named, ran, reason_words, suspect_words, tally_words};
use crate::session::Session;
use crate::span;

/// `kinfolk show ID`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Its number
    id: TaskId,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let task = store.task(args.id).await?.ok_or_else(|| StoreError::not_found("task", args.id))?;
    let attempts = store.attempts(args.id).await?;
    let runs = store.runs(&[args.id]).await?;
    let tally = store.tally(args.id).await?;
    let history = store.history(args.id).await?;
    if session.out.json() {
        return session.out.item(&TaskView::new(&task).tally(&tally).attempts(&attempts).runs(&runs).history(&history));
    }
    let now = store.now().await?;
    let out = session.out;
    out.line(format_args!("task {} {} {}", task.id.bold(), named(&task).bold(), colored(task.state)))?;
    let path = path(&task, waits_of(&tally, &history), &attempts);
    let mut facts = facts(&task, &tally, (path, attempts_line(&task, &runs)), now);
    if task.is_suspended() {
        facts.insert(1, ("waits", awaited_in(&task, &history, now)));
    } else if let Some(why) = why_not_running(&task, store.as_ref()).await? {
        facts.insert(1, ("waits", why));
    }
    facts.extend(cause(&task, store.as_ref()).await?.map(|cause| ("cause", harmless(&cause))));
    for (label, value) in facts {
        out.line(format_args!("  {:<9} {value}", label.dimmed()))?;
    }
    let mut tables = Vec::new();
    if !history.checkpoints.is_empty() {
        tables.push(checkpoints_table(&history.checkpoints));
    }
    if !history.fan_outs.is_empty() {
        tables.push(fan_outs_table(&history, now));
    }
    if is_worth_a_table(&runs) {
        tables.push(runs_table(&runs, now));
    }
    tables.iter().try_for_each(|table| out.line(format_args!("\n{table}")))?;
    if matches!(task.state, State::Pending | State::Waiting) {
        let explain = session.command_line(&format!("explain {}", task.id));
        out.hint(format_args!("why it is not running: {explain}"));
    }
    Ok(())
}

/// Where a value's second line begins: below its first.
const MARGIN: usize = 12;

fn facts(
    task: &Task,
    tally: &Tally,
    (path, attempts): (String, String),
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let moment = |moment: Timestamp| format!("{}  ({moment})", relative(now, moment));
    let mut facts = vec![
        ("path", path),
        ("queue", format!("{}, priority {}", task.queue, task.priority)),
        ("attempts", attempts),
        ("created", moment(task.created_at)),
    ];
    if let Some(parent) = task.parent {
        facts.push(("family", format!("child of task {parent}, root {}, depth {}", task.root, task.depth)));
    }
    if let (Some(maker), Some(root)) = (task.made_by, task.follows) {
        facts.push(("follows", format!("the family of task {root}; made by task {maker}")));
    }
    if tally.total > 0 {
        facts.push(("children", format!("{}: {}", tally.total, tally_words(tally))));
    }
    facts.extend(task.report.as_ref().map(|report| ("progress", report_words(report))));
    facts.extend(task.outcome.map(|outcome| ("own work", outcome.to_string())));
    if task.state == State::Pending || (task.due > task.created_at && !task.is_suspended()) {
        facts.push(("due", moment(task.due)));
    }
    facts.extend(task.started_at.map(|at| ("started", moment(at))));
    if let Some(at) = task.finished_at {
        facts.push(("finished", format!("{}{}", moment(at), took(task, at))));
    }
    facts.extend(task.cancel_requested_at.map(|at| ("cancel", format!("asked for {}", moment(at)))));
    facts.extend(task.worker.map(|worker| ("worker", worker.to_string())));
    facts.extend(task.unique_key.as_deref().map(|key| ("unique", harmless(key))));
    if !task.keys.is_empty() {
        facts.push(("keys", keys_words(&task.keys)));
    }
    facts.extend(task.trace.as_deref().map(|trace| ("trace", harmless(trace))));
    let json = |value: &Json| pretty(value, MARGIN);
    facts.push(("payload", json(&task.payload)));
    facts.extend(task.result.as_ref().map(|result| ("result", json(result))));
    if let Some(failure) = &task.failure {
        facts.push(("failure", format!("{}: {}", failure.kind.red(), harmless(&failure.message))));
        facts.extend(failure.detail.as_ref().map(|detail| ("detail", json(detail))));
    }
    facts
}

/// How long it ran; of one that was suspended, also how long it was on its way, waits and all.
fn took(task: &Task, finished: Timestamp) -> String {
    let Some(ran) = ran(task, finished) else { return String::new() };
    if task.ran_before.is_zero() {
        return format!(", took {}", span::show(ran));
    }
    format!(", took {}, {} with its waits", span::show(ran), span::show(finished.since(task.created_at)))
}

/// Why a task that is pending or waiting is not running: the first of the reasons, and how many more there are.
async fn why_not_running(task: &Task, store: &dyn Store) -> Result<Option<String>, Fault> {
    if !matches!(task.state, State::Pending | State::Waiting) {
        return Ok(None);
    }
    let explained = store.explain(task.id).await?;
    Ok(explained.reasons.split_first().map(|(first, more)| {
        let first = reason_words(first, explained.now);
        match more.len() {
            0 => first,
            1 => format!("{first}; and for 1 more reason"),
            many => format!("{first}; and for {many} more reasons"),
        }
    }))
}

/// The task's own words on its attempts. A suspension is a run, and no end of an attempt: there may be more runs than attempts.
fn attempts_line(task: &Task, runs: &[Run]) -> String {
    let suspended = runs.last().filter(|run| run.ending == Some(Ending::Suspended));
    let mut line = match suspended {
        Some(run) => format!("in attempt {} of {}, suspended", run.attempt, task.max_attempts),
        None => format!("{} of {}", task.attempt, task.max_attempts),
    };
    if runs.len() > usize::from(task.attempt.max(1)) {
        line.push_str(&format!(", {} runs", runs.len()));
    }
    if let Some(timeout) = task.timeout {
        line.push_str(&format!(", {} each at most", span::show(timeout)));
    }
    if task.suspect {
        line.push_str(&format!(", {}", suspect_words(task)));
    }
    line
}

/// How often a task has waited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Never,
    /// For the children that it left behind.
    Once,
    /// Whenever its handler did, any number of times.
    Often,
}

fn waits_of(tally: &Tally, history: &History) -> Waits {
    let wait = |kind| matches!(kind, StepKind::FanOut | StepKind::Sleep | StepKind::Wait);
    match history.checkpoints.iter().any(|checkpoint| wait(checkpoint.kind)) {
        true => Waits::Often,
        false if tally.total > 0 => Waits::Once,
        false => Waits::Never,
    }
}

/// The states it went through, as far as its attempts tell: `pending → running → pending (retried) → …`.
fn path(task: &Task, waits: Waits, attempts: &[Attempt]) -> String {
    const SHOWN_MAX: usize = 4;
    let mut steps = vec!["pending".to_owned()];
    if attempts.len() > SHOWN_MAX {
        steps.push(format!("… {} attempts …", attempts.len() - SHOWN_MAX));
    }
    for attempt in &attempts[attempts.len().saturating_sub(SHOWN_MAX)..] {
        steps.push("running".to_owned());
        match attempt.ending {
            Ending::Completed | Ending::Failed | Ending::Cancelled => steps.push(attempt.ending.as_str().to_owned()),
            again => steps.push(format!("pending ({})", again.as_str())),
        }
    }
    // Facts that the attempts can't tell: a first attempt that went well, the present one, a cancel while pending, a retry, and
    // that a parent waited.
    let ended = matches!(steps.last().map(String::as_str), Some("completed" | "failed" | "cancelled"));
    match waits {
        Waits::Never => {}
        Waits::Once if steps.last().is_some_and(|last| last == "completed") => {
            steps.pop();
            steps.push("waiting".to_owned());
        }
        Waits::Once => steps.extend(["running".to_owned(), "waiting".to_owned()]),
        Waits::Often => {
            let at = if ended { steps.len() - 2 } else { steps.len() };
            steps.truncate(at);
            steps.push("running ⇄ waiting".to_owned());
        }
    }
    let last = steps.last().map_or("", String::as_str);
    match task.state {
        State::Waiting if waits == Waits::Often => {}
        State::Completed if last.ends_with("waiting") => steps.push("completed".to_owned()),
        State::Completed if last != "completed" => steps.extend(["running".to_owned(), "completed".to_owned()]),
        State::Running => steps.push("running".to_owned()),
        state if !last.starts_with(state.as_str()) => steps.push(state.as_str().to_owned()),
        _ => {}
    }
    if let Some(step) = steps.last_mut() {
        *step = step.bold().to_string();
    }
    steps.join(" → ")
}

/// Whether the runs tell more than the task itself does.
fn is_worth_a_table(runs: &[Run]) -> bool {
    runs.len() > 1 || runs.iter().any(|run| !matches!(run.ending, None | Some(Ending::Completed)))
}

fn runs_table(runs: &[Run], now: Timestamp) -> Table {
    let head = ["run", "attempt", "started", "took", "ending", "worker", "failure, or what it waited for"];
    let mut table = Table::new(&head).numbers(&[0, 1]);
    for run in runs {
        let ended_at = run.ended_at.unwrap_or(now);
        table.row(vec![
            table::text(run.run),
            table::text(run.attempt),
            table::text(relative(now, run.started_at)),
            table::text(span::show(ended_at.since(run.started_at))),
            table::text(run.ending.map_or("running", Ending::as_str)),
            table::dim(run.worker.to_string().chars().take(8).collect::<String>()),
            table::dim(table::short(&run_words(run, now), 80)),
        ]);
    }
    table
}

/// The failure of a run, or the waits of its handler after it.
fn run_words(run: &Run, now: Timestamp) -> String {
    let failure = run.failure.as_ref().map(|failure| format!("{}: {}", failure.kind, failure.message));
    let waits = run.waited_for.iter().flat_map(|waits| {
        let fan_outs = waits.fan_outs.iter().map(|fan_out| format!("fan-out {fan_out}"));
        let until = waits.until.map(|until| format!("its time, {}", relative(now, until)));
        let signals = waits.signals.iter().map(|signal| format!("signal {signal}"));
        fan_outs.chain(until).chain(signals).collect::<Vec<_>>()
    });
    failure.into_iter().chain(waits).collect::<Vec<_>>().join(", ")
}
