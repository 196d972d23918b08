//! `kinfolk acquit`: clear suspects, so that they run at once like any other task.

use kinfolk_core::TaskId;

use super::each;
use crate::fault::Fault;
use crate::out::view::TaskView;
use crate::session::Session;

/// `kinfolk acquit ID…`
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
        let task = store.acquit(id).await?;
        out.say(&TaskView::new(&task), format!("task {id} acquitted; it is {}", task.state))
    })
    .await
}
