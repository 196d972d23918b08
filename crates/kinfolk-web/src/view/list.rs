//! Listings, as far as the caller's queues go: a full page, with nothing of what is hidden between its tasks.

use std::cmp::Reverse;

use kinfolk_core::filter::{Filter, Order, Page};
use kinfolk_core::{QueueName, TaskId};

use super::{Seen, View};

impl View<'_> {
    /// A page of tasks.
    pub(crate) async fn list(&self, filter: &Filter) -> Seen<Page> {
        let (store, filter) = (self.store()?, self.allowed(filter)?);
        let mut page = match (&filter.queue, &self.caller.queues) {
            (Some(queue), _) if !self.caller.may_see(queue) => Page::default(),
            (None, Some(queues)) => self.list_of(queues, &filter).await?,
            _ => store.list(&filter).await?,
        };
        page.tasks = page.tasks.into_iter().filter_map(|task| self.shown(task)).collect();
        Ok(page)
    }

    /// A page of the tasks of some queues, put together of a page of each. A page of all queues would be short wherever it has
    /// tasks of others, and would go on at one of those.
    async fn list_of(&self, queues: &[QueueName], filter: &Filter) -> Seen<Page> {
        let (store, newest) = (self.store()?, filter.order == Order::Newest);
        let (mut tasks, mut next) = (Vec::new(), None::<TaskId>);
        for queue in queues {
            let page = store.list(&Filter { queue: Some(queue.clone()), ..filter.clone() }).await?;
            tasks.extend(page.tasks);
            // What lies behind the nearest end of a page is not known of all queues.
            next = match (next, page.next) {
                (Some(one), Some(other)) => Some(if newest { one.max(other) } else { one.min(other) }),
                (one, other) => one.or(other),
            };
        }
        match filter.order {
            Order::Newest => tasks.sort_by_key(|task| Reverse(task.id)),
            Order::Oldest => tasks.sort_by_key(|task| task.id),
        }
        tasks.retain(|task| next.is_none_or(|next| if newest { task.id >= next } else { task.id <= next }));
        if tasks.len() > filter.page() {
            tasks.truncate(filter.page());
            next = tasks.last().map(|task| task.id);
        }
        Ok(Page { tasks, next })
    }
}
