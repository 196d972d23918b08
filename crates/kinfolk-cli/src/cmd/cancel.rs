//! `kinfolk cancel`: ask for the end of tasks and of all their descendants, or of the whole families they belong to. One that has already ended is a no, and the others are still asked.

use kinfolk_core::operate::{Action, Cancelled};
use kinfolk_core::{Store, StoreError, TaskId};
use serde_json::json;

use super::bulk::{self, BulkOptions};
use super::each;
use crate::fault::Fault;
use crate::session::Session;

/// `kinfolk cancel ID…`, or with a filter
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Their numbers
    #[arg(value_name = "ID", conflicts_with_all = bulk::BY_FILTER)]
    ids: Vec<TaskId>,

    /// The whole family of each: its root, and all that came of it
    #[arg(long, conflicts_with_all = bulk::BY_FILTER)]
    family: bool,

    #[command(flatten)]
    bulk: BulkOptions,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    if args.ids.is_empty() {
        return bulk::run(Action::Cancel, &args.bulk, session).await;
    }
    let store = session.open().await?;
    let (store, out) = (store.as_ref(), session.out);
    each(&args.ids, session, |id| async move {
        let id = if args.family { root_of(store, id).await? } else { id };
        if store.cancel(id).await? == Cancelled::Now {
            return out.say(&json!({"task": id, "cancel": "now"}), format!("task {id} is cancelled"));
        }
        let words = "was asked to stop, with all that came of it; it ends when nothing of that runs any more";
        out.say(&json!({"task": id, "cancel": "requested"}), format!("task {id} {words}"))
    })
    .await
}

async fn root_of(store: &dyn Store, id: TaskId) -> Result<TaskId, Fault> {
    Ok(store.task(id).await?.ok_or_else(|| StoreError::not_found("task", id))?.root)
}
