//! The tasks of one cause. A filter finds those of its command and kind; what they say is compared here.

use std::time::Duration;

use kinfolk_core::cause::{self, normalised};
use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX};
use kinfolk_core::{CommandName, FailureKind, State, Task, Timestamp};

use crate::problem::Problem;
use crate::visit::Visit;

/// Which failures are meant.
pub(crate) struct Wanted<'a> {
    pub(crate) command: CommandName,
    pub(crate) kind: FailureKind,
    pub(crate) text: &'a str,
    pub(crate) since: Timestamp,
    /// What failed later is not meant: nobody has seen it.
    pub(crate) until: Timestamp,
}

impl<'a> Wanted<'a> {
    /// All of a cause between two moments.
    pub(crate) fn of(cause: &'a cause::Cause, since: Timestamp, until: Timestamp) -> Self {
        Self { command: cause.command.clone(), kind: cause.kind, text: &cause.text, since, until }
    }
}

/// The tasks that failed so, the newest first, so many at most.
pub(crate) async fn tasks(visit: &Visit, wanted: &Wanted<'_>, most: usize) -> Result<Vec<Task>, Problem> {
    let mut filter = Filter {
        state: vec![State::Failed],
        command: Some(wanted.command.clone()),
        failure_kind: Some(wanted.kind),
        finished_after: Some(wanted.since),
        // The last moment counts, and a filter leaves out the one that it names.
        finished_before: Some(wanted.until.plus(Duration::from_micros(1))),
        limit: PAGE_MAX,
        ..Filter::default()
    };
    let mut found = Vec::new();
    for _ in 0..LOOK_MAX / PAGE_MAX {
        let page = visit.view().list(&filter).await?;
        let says =
            |task: &Task| task.failure.as_ref().is_some_and(|failure| normalised(&failure.message) == wanted.text);
        found.extend(page.tasks.into_iter().filter(says));
        let Some(next) = page.next.filter(|_| found.len() < most) else { break };
        filter = filter.next_page(next);
    }
    found.truncate(most);
    Ok(found)
}
