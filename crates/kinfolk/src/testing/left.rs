//! The tasks that are left in a kit, why they do not run, and when they could.

use std::fmt::Write;

use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{Explanation, Reason, State, StoreError, Task, TaskId, Timestamp};

use super::TestKit;

/// Tasks named in a failure message.
const SHOWN: usize = 20;

impl TestKit {
    /// Every task that has not ended, oldest first, and what holds it: a line each, as `7 send pending: not due until …`.
    pub async fn left(&self) -> Result<String, StoreError> {
        self.describe(&self.open_tasks().await?).await
    }

    async fn describe(&self, tasks: &[Task]) -> Result<String, StoreError> {
        let mut text = String::new();
        for task in tasks {
            let explained = self.kinfolk().explain(task.id).await?;
            let _ = writeln!(text, "{} {} {}: {}", task.id, task.command, task.state, reasons(&explained));
        }
        Ok(text)
    }

    /// Moves the clock to the next moment that an open task waits for: it is due, its handler sleeps no longer, or a rate lets
    /// it start. The moment; `None` when no task waits for time.
    pub async fn skip_ahead(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut next: Option<Timestamp> = None;
        for task in self.open_tasks().await? {
            let reasons = self.kinfolk().explain(task.id).await?.reasons;
            next = reasons.iter().filter_map(until).chain(next).min();
        }
        if let Some(moment) = next {
            self.advance_to(moment).await?;
        }
        Ok(next)
    }

    /// The reason that holds this task, for a failure message.
    pub(super) async fn why(&self, id: TaskId) -> String {
        match self.kinfolk().explain(id).await {
            Ok(explained) => reasons(&explained),
            Err(fault) => format!("nobody knows why: {fault}"),
        }
    }

    /// The first of all that is left, for a failure message.
    pub(super) async fn some_left(&self) -> String {
        let described = async {
            let tasks = self.open_tasks().await?;
            let (shown, more) = tasks.split_at(tasks.len().min(SHOWN));
            let text = self.describe(shown).await?;
            Ok::<_, StoreError>(if more.is_empty() { text } else { format!("{text}and {} more\n", more.len()) })
        };
        described.await.map_or_else(|fault| format!(" nobody knows: {fault}"), |text| format!("\n{text}"))
    }

    async fn open_tasks(&self) -> Result<Vec<Task>, StoreError> {
        let states = vec![State::Pending, State::Running, State::Waiting];
        let mut filter = Filter { state: states, limit: PAGE_MAX, ..Filter::default() };
        let mut tasks = Vec::new();
        loop {
            let page = self.kinfolk().store().list(&filter).await?;
            tasks.extend(page.tasks);
            match page.next {
                Some(next) => filter.before = Some(next),
                None => break,
            }
        }
        tasks.reverse();
        Ok(tasks)
    }
}

fn until(reason: &Reason) -> Option<Timestamp> {
    match reason {
        Reason::Asleep { until } | Reason::NotDue { until } | Reason::KeyRate { until, .. } => Some(*until),
        _ => None,
    }
}

fn reasons(explained: &Explanation) -> String {
    let reasons: Vec<_> = explained.reasons.iter().map(ToString::to_string).collect();
    if reasons.is_empty() { format!("it is {}", explained.state) } else { reasons.join("; ") }
}
