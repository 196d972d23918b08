//! Bulk actions by filter, page by page, and telling a task to run now.

use kinfolk_core::filter::Filter;
use kinfolk_core::operate::{Action, BulkPage};
use kinfolk_core::{Gate, Retry, State, StoreError, TaskId};

use crate::family::children;
use crate::world::{LEASE, World, command, failed, later, secs};

/// Does it to all that match, in pages of this size. Done and skipped.
async fn bulk(w: &World, action: Action, filter: Filter, limit: usize) -> (u64, u64) {
    let mut filter = Filter { limit, ..filter };
    let (mut done, mut skipped) = (0, 0);
    loop {
        let page = w.store.bulk(action, &filter).await.unwrap();
        (done, skipped) = (done + page.done, skipped + page.skipped);
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return (done, skipped),
        }
    }
}

fn of(name: &str) -> Filter {
    Filter { command: Some(command(name)), ..Filter::default() }
}

/// What matches and has not ended is cancelled, families whole, over as many pages as it takes; a count says before how many.
pub async fn what_matches_is_cancelled_page_by_page(w: &World) {
    let (done, other) = (w.completed().await, w.enqueue("export").await);
    let mails = w.enqueue_many("mail", 5).await;
    let running = w.start(mails[0]).await;
    let (root, kids) = {
        let root = w.start(mails[1]).await;
        w.leave_behind(&root, children(2)).await;
        (root.id, w.kids(root.id).await)
    };
    let narrowed = Action::Cancel.narrowed(&of("mail")).unwrap();
    assert_eq!(w.store.count(&narrowed).await.unwrap().tasks, 5);
    // Its children go with the root.
    assert_eq!(bulk(w, Action::Cancel, of("mail"), 2).await, (5, 0));
    assert_eq!((w.state(done).await, w.state(other).await), (State::Completed, State::Pending));
    for id in mails[2..].iter().chain(&kids).chain([&root]) {
        assert_eq!(w.state(*id).await, State::Cancelled);
    }
    let asked = w.get(running.id).await;
    assert_eq!((asked.state, asked.cancel_requested_at.is_some()), (State::Running, true));
    assert_eq!(bulk(w, Action::Cancel, of("nobody"), 2).await, (0, 0));
}

/// What matches and has failed runs again. Of those in families that have ended, what failed there does.
pub async fn what_matches_is_retried_page_by_page(w: &World) {
    let mut alone = Vec::new();
    for _ in 0..3 {
        alone.push(w.failed().await);
    }
    let (root, kid) = w.failed_family().await;
    let cancelled = w.enqueue("mail").await;
    w.store.cancel(cancelled).await.unwrap();
    // The child runs again with its family.
    assert_eq!(bulk(w, Action::Retry, of("mail"), 2).await, (4, 0));
    for id in alone {
        let task = w.get(id).await;
        assert_eq!((task.state, task.attempt), (State::Pending, 0));
    }
    assert_eq!((w.state(root).await, w.state(kid).await), (State::Waiting, State::Pending));
    assert_eq!(w.state(cancelled).await, State::Cancelled, "only if it is asked for");
    let asked = Filter { state: vec![State::Cancelled], ..of("mail") };
    assert_eq!(bulk(w, Action::Retry, asked, 2).await, (1, 0));
    assert_eq!(w.state(cancelled).await, State::Pending);
}

/// What has ended is removed, families whole and with their roots, and nothing that is still open.
pub async fn what_has_ended_is_deleted_with_its_family(w: &World) {
    let open = w.create(later(600)).await;
    let ended = [w.completed().await, w.failed().await];
    let (root, kids) = w.parent_of(3).await;
    for kid in &kids {
        w.work(*kid, failed(Retry::Never)).await;
    }
    let (waiting, _) = w.parent_of(2).await;
    let narrowed = Action::Delete.narrowed(&Filter::default()).unwrap();
    assert_eq!(w.store.count(&narrowed).await.unwrap().tasks, 3, "roots");
    assert_eq!(bulk(w, Action::Delete, Filter { parent: Some(root), ..Filter::default() }, 10).await, (0, 0));
    assert_eq!(bulk(w, Action::Delete, Filter::default(), 2).await, (6, 0));
    for id in ended.iter().chain(&kids).chain([&root]) {
        assert_eq!(w.store.task(*id).await.unwrap(), None);
    }
    assert_eq!((w.state(open).await, w.state(waiting).await), (State::Pending, State::Waiting));
}

/// A task that is not due becomes due, keeps its payload and its position among those that wait, and is claimed.
pub async fn a_task_is_told_to_run_now(w: &World) {
    let (first, second) = (w.create(later(600)).await, w.create(later(900)).await);
    let task = w.store.run_now(second).await.unwrap();
    assert_eq!((task.state, task.due), (State::Pending, w.now()));
    assert_eq!(task, w.get(second).await);
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 10).await, [second]);
    assert_eq!(w.gate(first).await, Some(Gate::Time));
    // One that waits to be tried again too, at once.
    let again = w.running().await;
    w.fail(&again, Retry::After(secs(50))).await;
    w.store.run_now(again.id).await.unwrap();
    assert_eq!(w.claim_ids(worker, 10).await, [again.id]);
}

/// Telling a task that is in line to run now changes nothing; one that does not pend is refused.
pub async fn only_a_pending_task_is_told_to_run_now(w: &World) {
    let open = w.enqueue("mail").await;
    let before = w.get(open).await;
    assert_eq!(w.store.run_now(open).await.unwrap(), before);
    let ended = w.enqueue("export").await;
    w.store.cancel(ended).await.unwrap();
    let fault = w.store.run_now(ended).await.unwrap_err();
    assert!(matches!(fault, StoreError::WrongState { task, state: State::Cancelled, .. } if task == ended), "{fault}");
    assert!(matches!(w.store.run_now(TaskId(987_654_321)).await, Err(StoreError::NotFound { .. })));
}

/// All that match and are not due are told to run now.
pub async fn what_matches_is_told_to_run_now(w: &World) {
    for secs in [60, 120, 180] {
        w.create(later(secs)).await;
    }
    let open = w.enqueue("mail").await;
    assert_eq!(bulk(w, Action::RunNow, of("mail"), 2).await.0, 4);
    let worker = w.worker().await;
    let claimed = w.claim_ids(worker, 10).await;
    assert_eq!((claimed.len(), claimed.contains(&open)), (4, true));
}

/// A page that acts on nothing still says where to go on, and a bad filter is refused.
pub async fn a_bulk_action_that_matches_nothing_does_nothing(w: &World) {
    w.enqueue_many("mail", 3).await;
    let ended = Filter { state: vec![State::Completed], limit: 10, ..Filter::default() };
    assert_eq!(w.store.bulk(Action::Cancel, &ended).await.unwrap(), BulkPage::default());
    assert_eq!(w.store.bulk(Action::Retry, &of("mail")).await.unwrap(), BulkPage::default());
    let bad = Filter { failure_text: Some(String::new()), ..Filter::default() };
    assert!(matches!(w.store.bulk(Action::Cancel, &bad).await, Err(StoreError::Input(_))));
    w.advance_by(LEASE).await;
    assert_eq!(w.in_state(State::Pending).await.len(), 3);
}
