//! Failures by cause, as far as the caller's queues go.

use std::cmp::Reverse;
use std::time::Duration;

use kinfolk_core::cause::{Causes, FailedTask};
use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX};
use kinfolk_core::{QueueName, State, Timestamp};

use super::{Seen, View};

impl View<'_> {
    /// What failed in the span until now, by cause.
    pub(crate) async fn failures(&self, span: Duration) -> Seen<Causes> {
        let Some(queues) = &self.caller.queues else { return Ok(self.store()?.failures(span).await?) };
        // A store sorts the failures of all queues together, so those of some are read one by one.
        let until = self.now().await?;
        let since = until.minus(span);
        let mut failed = Vec::new();
        let mut more = false;
        for queue in queues {
            more |= self.failed_on(queue, since, &mut failed).await?;
        }
        failed.sort_by_key(|task| Reverse((task.finished_at, task.id)));
        Ok(Causes::of(failed, since, until, more))
    }

    /// Adds what failed on a queue since then; whether there may be more.
    async fn failed_on(&self, queue: &QueueName, since: Timestamp, failed: &mut Vec<FailedTask>) -> Seen<bool> {
        let mut filter = Filter {
            state: vec![State::Failed],
            queue: Some(queue.clone()),
            finished_after: Some(since),
            order: Order::Newest,
            limit: PAGE_MAX,
            ..Filter::default()
        };
        for _ in 0..LOOK_MAX / PAGE_MAX {
            let page = self.list(&filter).await?;
            failed.extend(page.tasks.into_iter().filter_map(|task| {
                let failure = task.failure?;
                Some(FailedTask {
                    id: task.id,
                    command: task.command,
                    finished_at: task.finished_at?,
                    kind: failure.kind,
                    message: failure.message,
                })
            }));
            let Some(next) = page.next else { return Ok(false) };
            filter = filter.next_page(next);
        }
        Ok(true)
    }
}
