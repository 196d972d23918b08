//! The tasks of one cause. A filter finds those of its command and kind; what they say is compared here.

use std::time::Duration;

use kinfolk_core::cause::{self, normalised};
use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX};
use kinfolk_core::{CommandName, FailureKind, State, Task, Timestamp};

use crate::pages::part::words;
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

/// The address of a list that has them, and perhaps others of the same command.
pub(crate) fn path(cause: &cause::Cause, since: Timestamp) -> String {
    // The longest piece that all their messages have.
    let pieces = cause.text.trim_end_matches('…').split(['#', '…', '"', '\'', '`']).map(str::trim);
    let piece = pieces.max_by_key(|piece| piece.len()).unwrap_or_default();
    let text = if piece.is_empty() || !cause.message.contains(piece) {
        String::new()
    } else {
        format!("&failure_text={}", words::encoded(piece))
    };
    format!(
        "/tasks?state=failed&command={}&failure_kind={}{text}&finished_after={}",
        words::encoded(cause.command.as_str()),
        cause.kind,
        words::encoded(&words::iso(since))
    )
}
