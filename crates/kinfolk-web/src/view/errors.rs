//! The error log, as far as the caller's queues go.

use std::cmp::Reverse;

use kinfolk_core::error_log::{ErrorFilter, LoggedError};

use super::{Seen, View};

impl View<'_> {
    /// A page of the error log, newest first.
    pub(crate) async fn errors(&self, filter: &ErrorFilter) -> Seen<Vec<LoggedError>> {
        let store = self.store()?;
        let mut entries = match (&filter.queue, &self.caller.queues) {
            (Some(queue), _) if !self.caller.may_see(queue) => Vec::new(),
            (None, Some(queues)) => {
                // The newest of each hold the newest of all.
                let mut entries = Vec::new();
                for queue in queues {
                    entries.extend(store.errors(&ErrorFilter { queue: Some(queue.clone()), ..filter.clone() }).await?);
                }
                entries.sort_by_key(|entry| Reverse(entry.id));
                entries.truncate(filter.limit);
                entries
            }
            _ => store.errors(filter).await?,
        };
        for LoggedError { failure, .. } in &mut entries {
            *failure = self.redacted_failure(failure.clone());
        }
        Ok(entries)
    }
}
