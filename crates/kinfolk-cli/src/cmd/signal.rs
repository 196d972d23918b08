//! `kinfolk signal`: send a task a word from outside. Its handler gets it when it asks, or now if it waits for it.

use kinfolk_core::{Json, SignalName, Signalled, TaskId};
use serde_json::json;

use crate::fault::Fault;
use crate::payload;
use crate::session::Session;

/// `kinfolk signal ID NAME [JSON]`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The task's number
    id: TaskId,

    /// The name that the handler waits for
    name: SignalName,

    /// The value of the signal: JSON, `-` for stdin; null by default
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    value: Option<String>,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let Args { id, name, value } = args;
    let value = match value {
        None => Json::null(),
        Some(text) => payload::one(Some(&text))?,
    };
    let (answer, words) = match session.open().await?.signal(id, &name, &value).await? {
        Signalled::Resumed => ("resumed", format!("task {id} was waiting for {name}, and resumes")),
        Signalled::Kept => ("kept", format!("{name} is kept until the handler of task {id} asks for it")),
    };
    session.out.say(&json!({"task": id, "signal": name, "answer": answer}), words)
}
