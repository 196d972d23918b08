//! `kinfolk retry`: let failed or cancelled tasks run again, with fresh attempts, at their old position in line, and what is
//! below them; or their whole families.

use kinfolk_core::operate::Action;
use kinfolk_core::{Retried, State, StoreError, TaskId};
use serde_json::json;

use super::bulk::{self, BulkOptions};
use super::each;
use crate::fault::Fault;
use crate::out::view::TaskView;
use crate::session::Session;

/// `kinfolk retry ID…`, or with a filter
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Their numbers
    #[arg(value_name = "ID", conflicts_with_all = bulk::BY_FILTER)]
    ids: Vec<TaskId>,

    /// Repair the whole family of each: failed and cancelled tasks run again, their parents and skipped follow-ups wait again
    #[arg(long, conflicts_with_all = bulk::BY_FILTER)]
    family: bool,

    /// The tasks that failed by this cause, as `kinfolk failures` names it
    #[arg(long, value_name = "CAUSE", conflicts_with_all = ["ids", "family"])]
    cause: Option<String>,

    #[command(flatten)]
    bulk: BulkOptions,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    if args.ids.is_empty() {
        return match args.cause {
            Some(cause) => bulk::retry_cause(&cause, &args.bulk, session).await,
            None => bulk::run(Action::Retry, &args.bulk, session).await,
        };
    }
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
        let task = store.retry(id).await.map_err(|fault| refused(fault, id, session))?;
        let text = match task.state {
            State::Waiting => format!("task {id} waits for its children again"),
            _ => format!("task {id} is pending again, with {} attempts", task.max_attempts),
        };
        out.say(&TaskView::new(&task), text)
    })
    .await
}

/// A task that can only be retried with its family is told how.
fn refused(fault: StoreError, id: TaskId, session: &Session) -> Fault {
    match fault {
        StoreError::WrongState { state, remedy, .. } if remedy.contains("family") => Fault::no(
            "wrong_state",
            format!("task {id} is {state}: {remedy}: `{}`", session.command_line(&format!("retry --family {id}"))),
        ),
        fault => fault.into(),
    }
}
