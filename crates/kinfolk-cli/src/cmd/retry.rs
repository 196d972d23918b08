//! `kinfolk retry`: let failed or cancelled tasks run again, with fresh attempts, at their old place in line; or what failed
//! in their families, so that the parents wait again.

use kinfolk_core::{Retried, TaskId};
use serde_json::json;

use super::each;
use crate::fault::Fault;
use crate::out::view::TaskView;
use crate::session::Session;

/// `kinfolk retry ID…`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Their numbers
    #[arg(required = true, value_name = "ID")]
    ids: Vec<TaskId>,

    /// Of the whole family of each: only the tasks that failed by themselves run again, their parents wait again
    #[arg(long)]
    family: bool,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let (store, out) = (store.as_ref(), session.out);
    each(&args.ids, session, |id| async move {
        if args.family {
            let Retried { pending, waiting } = store.retry_family(id).await?;
            return out.say(
                &json!({"task": id, "pending": pending, "waiting": waiting}),
                format!("family of task {id}: {pending} pending again, {waiting} waiting again"),
            );
        }
        let task = store.retry(id).await?;
        out.say(&TaskView::new(&task), format!("task {id} is pending again, with {} attempts", task.max_attempts))
    })
    .await
}
