//! Looking at families: children page by page, their counts, and the progress of a whole family.

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{Outcome, Progress, Retry, StoreError, Tally, TaskId};

use crate::family::{children, counts, these};
use crate::world::{World, failed, new_task};

/// A task without children has none, and counts of zero; of an unknown one nothing is said.
pub async fn a_childless_task_counts_nothing(w: &World) {
    let id = w.enqueue("mail").await;
    assert_eq!(w.kids(id).await, []);
    assert_eq!(w.tally(id).await, Tally::default());
    assert_eq!(w.store.progress(id).await.unwrap(), Progress::default());
    let nobody = TaskId(i64::MAX);
    let gone = |code: Result<(), StoreError>| assert!(matches!(code, Err(StoreError::NotFound { what: "task", .. })));
    gone(w.store.children(nobody, 0, 5).await.map(|_| ()));
    gone(w.store.tally(nobody).await.map(|_| ()));
    gone(w.store.progress(nobody).await.map(|_| ()));
}

/// Children come in the order in which they were made, page by page.
pub async fn children_come_page_by_page_in_their_order(w: &World) {
    let (root, _) = w.parent_of(PAGE_MAX + 5).await;
    let page = async |from, limit| w.store.children(root, from, limit).await.unwrap();
    let (first, rest) = (page(0, usize::MAX).await, page(PAGE_MAX as u64, 100).await);
    assert_eq!((first.len(), rest.len()), (PAGE_MAX, 5));
    let all: Vec<_> = first.iter().chain(&rest).map(|task| task.id).collect();
    assert!(all.is_sorted());
    let middle: Vec<_> = page(7, 3).await.iter().map(|task| task.id).collect();
    assert_eq!(middle, all[7..10]);
    assert_eq!(page(PAGE_MAX as u64 + 5, 10).await, []);
    assert_eq!(first[7], w.get(all[7]).await, "a child is shown as the task it is");
}

/// Counts follow every end, by the state it was.
pub async fn counts_follow_every_end(w: &World) {
    let (root, kids) = w.parent_of(4).await;
    assert_eq!(w.tally(root).await, counts(4, 0, 0, 0));
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!(w.tally(root).await, counts(4, 1, 0, 0));
    w.work(kids[1], failed(Retry::Never)).await;
    assert_eq!(w.tally(root).await, counts(4, 1, 1, 0));
    w.store.cancel(kids[2]).await.unwrap();
    assert_eq!(w.tally(root).await, counts(4, 1, 1, 1));
    assert_eq!((w.tally(root).await.open(), w.tally(root).await.ended()), (1, 3));
}

/// The progress of a family is that of all descendants, by generation, whichever member is asked, in every process.
pub async fn progress_is_by_generation_whoever_is_asked(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    w.work(kids[0], failed(Retry::Never)).await;
    let child = w.start(kids[1]).await;
    w.leave_behind(&child, these([new_task("mail"), new_task("mail")])).await;
    let grandchildren = w.kids(child.id).await;
    w.work(grandchildren[0], Outcome::Done(None)).await;
    let expected = Progress { family: counts(5, 1, 1, 0), levels: vec![counts(3, 0, 1, 0), counts(2, 1, 0, 0)] };
    let other = w.another().await;
    for id in [root, kids[0], kids[2], grandchildren[1]] {
        assert_eq!(w.store.progress(id).await.unwrap(), expected);
        assert_eq!(other.progress(id).await.unwrap(), expected);
    }
    assert_eq!(other.tally(root).await.unwrap(), counts(3, 0, 1, 0));
}

/// Families do not mix in each other's counts.
pub async fn families_do_not_mix(w: &World) {
    let (one, two) = (w.waiting(children(2)).await, w.waiting(these([new_task("mail")])).await);
    w.work(w.kids(two).await[0], Outcome::Done(None)).await;
    assert_eq!(w.store.progress(one).await.unwrap().family, counts(2, 0, 0, 0));
    assert_eq!(w.store.progress(two).await.unwrap().family, counts(1, 1, 0, 0));
}
