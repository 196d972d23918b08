//! One thing done to many tasks, which a filter names. It is counted first; then it is done page by page, each page in one
//! transaction, for as long as a request may take. What is left goes on where the last page ended.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use kinfolk_core::filter::{Filter, Matches};
use kinfolk_core::operate::{Action, BulkPage};

use super::{Act, Done};
use crate::access::Role;
use crate::problem::Problem;

/// How long one request goes on with further pages.
const WORKS_FOR: Duration = Duration::from_secs(5);
/// Tasks in one transaction.
const PAGE: usize = 100;

/// The role that an action takes.
fn role(action: Action) -> Role {
    match action {
        Action::Delete => Role::Admin,
        _ => Role::Operator,
    }
}

impl Act<'_> {
    /// To how many tasks it would be done.
    pub(crate) async fn count_bulk(&self, action: Action, filter: &Filter) -> Done<Matches> {
        self.store(role(action))?;
        match action.narrowed(&self.on_one_queue(filter)?) {
            Some(narrowed) => self.view().count(&narrowed).await,
            None => Ok(Matches::default()),
        }
    }

    /// Does it to what matches, the oldest first, and says how far it came. `expect`: to how many, as the count told; when there
    /// are more or fewer by now, nothing is done.
    pub(crate) async fn bulk(&self, action: Action, filter: &Filter, expect: Option<u64>) -> Done<BulkPage> {
        let store = self.store(role(action))?;
        let mut filter = self.on_one_queue(filter)?;
        if let Some(expect) = expect {
            let now = self.count_bulk(action, &filter).await?;
            if now.tasks != expect {
                return Err(changed(expect, now));
            }
        }
        filter.limit = PAGE;
        let (began, named) = (Instant::now(), words(&filter));
        let mut sum = BulkPage::default();
        let ended = loop {
            match store.bulk(action, &filter).await {
                Ok(page) => {
                    sum = BulkPage { done: sum.done + page.done, skipped: sum.skipped + page.skipped, next: page.next };
                    filter.after = page.next;
                }
                Err(fault) => break Err(fault),
            }
            if sum.next.is_none() || began.elapsed() >= WORKS_FOR {
                break Ok(sum);
            }
        };
        // What is done is noted, also when a later page could not be.
        if sum.done > 0 {
            self.note(action.as_str(), named, sum.done).await;
        }
        Ok(ended?)
    }

    /// The same filter, as far as the caller's queues go.
    fn on_one_queue(&self, filter: &Filter) -> Done<Filter> {
        let filter = self.view().allowed(filter)?;
        match &filter.queue {
            Some(queue) if !self.caller.may_see(queue) => Err(Problem::not_found("queue", queue)),
            None if self.caller.queues.is_some() => {
                Err(Problem::input("your token is for some queues; name one of them as `queue`"))
            }
            _ => Ok(filter),
        }
    }
}

fn changed(expect: u64, now: Matches) -> Problem {
    let more = if now.more { "more than " } else { "" };
    let detail = format!(
        "{expect} expected, and {more}{} found now; nothing was done: look again, and send the new number",
        now.tasks
    );
    Problem::new(StatusCode::CONFLICT, "changed", detail)
}

/// The filter for the audit log, without what says only where a page begins.
fn words(filter: &Filter) -> String {
    let named = Filter { after: None, before: None, limit: 0, ..filter.clone() };
    let text = serde_json::to_value(named).map(|mut value| {
        value.as_object_mut().map(|fields| fields.remove("limit"));
        value.to_string()
    });
    format!("tasks that match {}", text.unwrap_or_default())
}
