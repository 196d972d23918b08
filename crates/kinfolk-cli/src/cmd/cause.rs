//! The failure at the bottom of a failed family: `3 of 9 children failed` says nothing of it.

use kinfolk_core::{FailureKind, State, Store, Task};

use crate::fault::Fault;

/// Children that are looked at in each generation. One that failed first is likely to be among them.
const LOOK: usize = 100;

/// Of a task that failed because of its children: what went wrong with the first of those that failed by itself, and which one
/// it was, like `out of stock (task 7)`.
pub(crate) async fn cause(task: &Task, store: &dyn Store) -> Result<Option<String>, Fault> {
    let by_children = |task: &Task| task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Children);
    if !by_children(task) {
        return Ok(None);
    }
    let mut parent = task.id;
    // Each look goes one generation down, so it comes to an end.
    loop {
        let children = store.children(parent, 0, LOOK).await?;
        let Some(failed) = children.into_iter().find(|child| child.state == State::Failed) else { return Ok(None) };
        if by_children(&failed) {
            parent = failed.id;
            continue;
        }
        return Ok(failed.failure.map(|failure| format!("{} (task {})", failure.message, failed.id)));
    }
}
