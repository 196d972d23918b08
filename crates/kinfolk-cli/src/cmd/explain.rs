//! `kinfolk explain`: why a task is not running, and what can be done about each of the reasons.
//!
//! The store finds the reasons and core has the words for them; what to type next is added here.

use kinfolk_core::{Explanation, GroupRef, Reason, State, Store, StoreError, Task, TaskId, Timestamp};
use owo_colors::OwoColorize as _;
use serde::Serialize;
use serde_json::Value;

use crate::fault::Fault;
use crate::group;
use crate::out::parts;
use crate::out::table::harmless;
use crate::out::time::relative;
use crate::out::words::{colored, gate_note, reason_words, suspect_words};
use crate::session::Session;

/// `kinfolk explain ID`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Its number
    id: TaskId,
}

/// The output of `--json`.
#[derive(Serialize)]
struct View<'a> {
    id: TaskId,
    command: &'a str,
    queue: &'a str,
    state: State,
    looked_at: Timestamp,
    worker: Option<kinfolk_core::WorkerId>,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    suspect: bool,
    strikes: u16,
    max_strikes: u16,
    reasons: Vec<Told>,
}

/// A reason in words, with what can be done about it.
#[derive(Serialize)]
struct Told {
    #[serde(flatten)]
    reason: Value,
    words: String,
    remedies: Vec<Remedy>,
}

/// Something to do about a reason.
#[derive(Serialize)]
struct Remedy {
    /// The command to type, if there is one.
    command: Option<String>,
    /// Its effect.
    does: String,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let explained = store.explain(args.id).await?;
    let task = store.task(args.id).await?.ok_or_else(|| StoreError::not_found("task", args.id))?;
    let told: Vec<Told> = explained
        .reasons
        .iter()
        .map(|reason| Told {
            reason: parts::reason(reason),
            words: reason_words(reason, explained.now),
            remedies: remedies(reason, task.id, session),
        })
        .collect();
    if session.out.json() {
        return session.out.item(&View {
            id: task.id,
            command: task.command.as_str(),
            queue: task.queue.as_str(),
            state: explained.state,
            looked_at: explained.now,
            worker: explained.worker,
            started_at: task.started_at,
            finished_at: task.finished_at,
            suspect: task.suspect,
            strikes: task.strikes,
            max_strikes: max_strikes(&task, store.as_ref()).await?,
            reasons: told,
        });
    }
    let note = if task.state == explained.state { gate_note(&task) } else { "" };
    let head = format!("task {} {} {}{note}", task.id.bold(), task.command.bold(), colored(explained.state));
    if !matches!(explained.state, State::Pending | State::Waiting) {
        let whereabouts = whereabouts(&task, &explained, store.as_ref()).await?;
        session.out.line(format_args!("{head}: {whereabouts}"))?;
        return tell_suspicion(&task, store.as_ref(), session).await;
    }
    session.out.line(format_args!("{head} on queue {}; it is not running because:", task.queue))?;
    told.iter().try_for_each(|told| tell(told, session))?;
    tell_suspicion(&task, store.as_ref(), session).await
}

/// How many strikes make a task poison.
async fn max_strikes(task: &Task, store: &dyn Store) -> Result<u16, Fault> {
    let commands = store.commands().await?;
    Ok(commands.iter().find(|command| command.name == task.command).map_or(0, |command| command.retry.max_strikes))
}

/// Of a suspect with strikes: what follows from them, and what can be done.
async fn tell_suspicion(task: &Task, store: &dyn Store, session: &Session) -> Result<(), Fault> {
    if !task.suspect || task.strikes == 0 || task.state.is_terminal() {
        return Ok(());
    }
    let most = max_strikes(task, store).await?;
    session.out.line(format_args!("{}; it waits longer after each one, and fails with {most}", suspect_words(task)))?;
    let acquit = session.command_line(&format!("acquit {}", task.id));
    let cancel = session.command_line(&format!("cancel {}", task.id));
    session.out.line(format_args!("    {}  {}", acquit.bold(), "lets it run at once, like any other task".dimmed()))?;
    session.out.line(format_args!("    {}  {}", cancel.bold(), "ends it".dimmed()))
}

fn tell(told: &Told, session: &Session) -> Result<(), Fault> {
    session.out.line(format_args!("- {}", told.words))?;
    for Remedy { command, does } in &told.remedies {
        match command {
            Some(command) => session.out.line(format_args!("    {}  {}", command.bold(), does.dimmed()))?,
            None => session.out.line(format_args!("    {}", does.dimmed()))?,
        }
    }
    Ok(())
}

/// Of a task that has no reasons: its worker and since when it runs, or when it ended.
async fn whereabouts(task: &Task, explained: &Explanation, store: &dyn Store) -> Result<String, Fault> {
    let moment = |moment: Timestamp| format!("{} ({moment})", relative(explained.now, moment));
    if explained.state == State::Running {
        let mut workers = store.workers().await?.into_iter();
        let known = explained.worker.and_then(|id| workers.find(|worker| worker.id == id));
        if let Some(gone) = known.as_ref().filter(|worker| worker.lease_until < explained.now) {
            let (name, ended) = (harmless(&gone.name), moment(gone.lease_until));
            return Ok(format!(
                "worker {name} ({}) had it, and its lease ended {ended}; any live worker takes it back",
                gone.id
            ));
        }
        let worker = match (known, explained.worker) {
            (Some(worker), _) => format!("worker {} ({})", harmless(&worker.name), worker.id),
            (None, Some(id)) => format!("worker {id}"),
            (None, None) => "a worker".to_owned(),
        };
        let since = task.started_at.map(|at| format!(" since {}", moment(at))).unwrap_or_default();
        let end = task.cancel_requested_at.map(|at| format!("; its end was asked for {}", moment(at)));
        return Ok(format!("{worker} runs it{since}{}", end.unwrap_or_default()));
    }
    let at = task.finished_at.map(|at| format!(" {}", moment(at))).unwrap_or_default();
    let failure = task.failure.as_ref().map(|failure| format!(": {}: {}", failure.kind, harmless(&failure.message)));
    Ok(format!("it ended{at}{}", failure.unwrap_or_default()))
}

/// The remedies for a reason, the likeliest first.
fn remedies(reason: &Reason, task: TaskId, session: &Session) -> Vec<Remedy> {
    let wait = |does: &str| Remedy { command: None, does: does.to_owned() };
    let run = |rest: String, does: &str| Remedy { command: Some(session.command_line(&rest)), does: does.to_owned() };
    let explain = |tasks: &[TaskId], does: &str| tasks.first().map(|first| run(format!("explain {first}"), does));
    match reason {
        Reason::Children { open, .. } => {
            let mut all = vec![run(format!("tree {task}"), "shows them")];
            all.extend(explain(open, "why the first of them has not ended"));
            all
        }
        Reason::Signal { names } => {
            let send = |name| run(format!("signal {task} {name} null"), "sends it; null may be any JSON value");
            names.iter().map(send).collect()
        }
        Reason::Asleep { .. } => vec![wait("it goes on by itself then")],
        Reason::NotDue { .. } => vec![
            wait("it starts by itself then"),
            run(format!("run-now {task}"), "lets it run now"),
            run(format!("cancel {task}"), "ends the task"),
        ],
        Reason::Families { roots } => explain(roots, "what the first of them waits for").into_iter().collect(),
        Reason::Sibling { task } => vec![run(format!("explain {task}"), "what that one waits for")],
        Reason::Paused { queue, .. } => vec![run(format!("resume {queue}"), "resumes the queue")],
        Reason::FamilyLimit { queue, limit, roots } => {
            let mut all: Vec<_> = explain(roots, "what the first family waits for").into_iter().collect();
            all.push(run(format!("queue set {queue} --family-limit {}", limit + 1), "allows one more family"));
            all
        }
        Reason::ChildLimit { queue, limit, holders } => {
            let mut all: Vec<_> = explain(holders, "since when the first of them runs").into_iter().collect();
            all.push(run(format!("queue set {queue} --child-limit {}", limit + 1), "allows one more child"));
            all
        }
        Reason::KeyFull { group, key, limit, held, holders } => {
            let mut all: Vec<_> = explain(holders, "what the first of them does").into_iter().collect();
            let room = u64::from(*limit).max(*held) + 1;
            all.push(run(format!("groups set {} --limit {room}", options(group, key)), "makes room for one more"));
            all
        }
        Reason::KeyKept { task, .. } => vec![run(format!("explain {task}"), "what that one waits for")],
        Reason::KeyRate { group, key, .. } => vec![
            wait("it starts by itself then"),
            run(
                format!("groups set {} --clear", options(group, key)),
                "lifts a slow-down; the key is back at its declaration",
            ),
            run(format!("groups set {} --rate COUNT/SPAN", options(group, key)), "changes the rate from now on"),
        ],
        Reason::Suspect => vec![run("workers".to_owned(), "lists the workers; start one more, or wait for one")],
        Reason::NoWorker { command, queue } => vec![run(
            "workers".to_owned(),
            &format!("lists the live workers; start one that handles {command} on queue {queue}"),
        )],
        Reason::InLine { .. } => {
            vec![run(
                "workers".to_owned(),
                "lists the workers: they take it when they have room; more of them take it sooner",
            )]
        }
        _ => Vec::new(),
    }
}

fn options(group: &GroupRef, key: &str) -> String {
    group::options(group, Some(key))
}
