//! `kinfolk replay`: run the recorded history of a task through the handlers of this program, and write nothing. This program
//! has the demo's handlers and the built-in ones; another program does the same to its own by `WorkerBuilder::replay`.

use std::sync::Arc;

use kinfolk::{FailureKind, Kinfolk, Replay, ReplayEnd};
use kinfolk_core::{Key, StepKind, Store, StoreError, TaskId};
use kinfolk_web::{Replayed, ReplayedEnd};
use owo_colors::OwoColorize as _;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::out::parts::{FailurePart, StepPart};
use crate::out::table::harmless;
use crate::session::Session;
use crate::{builtin, demo};

/// `kinfolk replay ID`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The task's number
    id: TaskId,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let kinfolk = Kinfolk::new(session.open().await?);
    let task = kinfolk.store().task(args.id).await?.ok_or_else(|| StoreError::not_found("task", args.id))?;
    let command = task.command.as_str();
    if !demo::COMMANDS.contains(&command) && !builtin::names(false).contains(&command) {
        return Err(Fault::no(
            "no_handler",
            format!(
                "this program has no handler for {command}: it can replay the demo and the built-in commands; call \
                 `WorkerBuilder::replay` in the program that handles {command}"
            ),
        ));
    }
    let replay = dry_run(&kinfolk, task.id).await?;
    session.out.say(&document(command, &replay), words(command, &replay))?;
    match replay.end {
        ReplayEnd::Diverged(failure) => Err(Fault::no(FailureKind::Diverged.as_str(), failure.message)),
        _ => Ok(()),
    }
}

/// Runs the history of a task through the handlers of this program.
async fn dry_run(kinfolk: &Kinfolk, id: TaskId) -> Result<Replay, StoreError> {
    builtin::add(demo::handlers(kinfolk.worker()), false).replay(id).await
}

/// The same for a server: what it answers to `POST /tasks/{id}/replay`.
pub(crate) async fn for_server(store: Arc<dyn Store>, id: TaskId) -> Result<Replayed, StoreError> {
    let replay = dry_run(&Kinfolk::new(store), id).await?;
    let end = match replay.end {
        ReplayEnd::Diverged(failure) => ReplayedEnd::Diverged(failure),
        ReplayEnd::GoesOn(next) => ReplayedEnd::GoesOn(next),
        ReplayEnd::Returned => ReplayedEnd::Returned,
        ReplayEnd::Failed(failure) => ReplayedEnd::Failed(failure),
    };
    Ok(Replayed { task: replay.task, steps: replay.steps, end, unused: replay.unused })
}

fn document(command: &str, replay: &Replay) -> Value {
    let operations = |keys: &[(Key, StepKind)]| -> Vec<Value> {
        keys.iter().map(|(key, kind)| json!({"key": StepPart::from(key), "kind": kind})).collect()
    };
    let (end, next, failure) = match &replay.end {
        ReplayEnd::Diverged(failure) => ("diverged", Vec::new(), Some(failure)),
        ReplayEnd::GoesOn(keys) => ("goes_on", operations(keys), None),
        ReplayEnd::Returned => ("returned", Vec::new(), None),
        ReplayEnd::Failed(failure) => ("failed", Vec::new(), Some(failure)),
    };
    let unused: Vec<StepPart<'_>> = replay.unused.iter().map(Into::into).collect();
    json!({
        "task": replay.task, "command": command, "steps": replay.steps, "sound": replay.is_sound(), "end": end,
        "next": next, "failure": failure.map(FailurePart::from), "unused": unused,
    })
}

fn words(command: &str, replay: &Replay) -> String {
    let steps = if replay.steps == 1 { "1 step".to_owned() } else { format!("{} steps", replay.steps) };
    let mut words = format!("task {} {command}, {steps} recorded: ", replay.task.bold());
    words.push_str(&match &replay.end {
        ReplayEnd::Diverged(_) => "diverges".red().to_string(),
        ReplayEnd::GoesOn(keys) => {
            let next: Vec<String> = keys.iter().map(|(key, kind)| format!("{key} ({})", kind.as_str())).collect();
            format!("{}, goes on with {}", "sound".green(), harmless(&next.join(" and ")))
        }
        ReplayEnd::Returned => format!("{}, the handler returns", "sound".green()),
        ReplayEnd::Failed(failure) => {
            format!(
                "{}, the handler ends with an error ({}): {}",
                "sound".green(),
                failure.kind,
                harmless(&failure.message)
            )
        }
    });
    if !replay.unused.is_empty() && replay.is_sound() {
        let unused: Vec<String> = replay.unused.iter().map(Key::to_string).collect();
        words.push_str(&format!("\nrecorded, but not asked for: {}", harmless(&unused.join(", "))));
    }
    words
}
