//! `kinfolk cancel`: ask for the end of tasks. One that has already ended is a no, and the others are still asked.

use kinfolk_core::TaskId;
use kinfolk_core::operate::Cancelled;
use serde_json::json;

use super::each;
use crate::fault::Fault;
use crate::session::Session;

/// `kinfolk cancel ID…`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Their numbers
    #[arg(required = true, value_name = "ID")]
    ids: Vec<TaskId>,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let (store, out) = (store.as_ref(), session.out);
    each(&args.ids, session, |id| async move {
        match store.cancel(id).await? {
            Cancelled::Now => out.say(&json!({"task": id, "cancel": "now"}), format!("task {id} is cancelled")),
            Cancelled::Requested => out.say(
                &json!({"task": id, "cancel": "requested"}),
                format!("task {id} runs; its worker was asked to stop it"),
            ),
            Cancelled::TooLate(state) => {
                Err(Fault::no("too_late", format!("task {id} had already ended: it is {state}; nothing was changed")))
            }
        }
    })
    .await
}
