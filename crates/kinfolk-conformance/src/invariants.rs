//! What must hold after any fault, once the dust has settled.

use std::collections::BTreeSet;

use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{Store, TaskId};

/// The store finds nothing wrong with itself, and the tasks that were enqueued are the tasks that have settled: none
/// lost, none too many, none still at work.
pub async fn assert_sound(store: &dyn Store, enqueued: &BTreeSet<TaskId>) {
    assert_eq!(store.check().await.unwrap(), [], "broken invariants");
    let mut settled = BTreeSet::new();
    let mut unsettled = Vec::new();
    let mut filter = Filter { limit: PAGE_MAX, ..Filter::default() };
    loop {
        let page = store.list(&filter).await.unwrap();
        for task in page.tasks {
            if task.state.is_terminal() {
                settled.insert(task.id);
            } else {
                unsettled.push((task.id, task.state));
            }
        }
        match page.next {
            Some(next) => filter.before = Some(next),
            None => break,
        }
    }
    assert_eq!(unsettled, [], "tasks that have not settled");
    let lost: Vec<_> = enqueued.difference(&settled).collect();
    let extra: Vec<_> = settled.difference(enqueued).collect();
    assert!(lost.is_empty() && extra.is_empty(), "lost: {lost:?}, nobody enqueued: {extra:?}");
    for worker in store.workers().await.unwrap() {
        assert_eq!(worker.running, 0, "worker {} still has tasks", worker.id);
    }
}
