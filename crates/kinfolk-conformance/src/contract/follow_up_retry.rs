//! Follow-ups of a family that is retried: what was skipped only because the family did not complete comes back.

use kinfolk_core::filter::Filter;
use kinfolk_core::operate::Action;
use kinfolk_core::{
    Due, Enqueued, Failure, Made, NewTask, Outcome, Policy, Reason, Retention, Retried, Retry, State, Task, TaskId,
    When,
};

use super::follow_up::{AFTER, asks, flush};
use crate::family::{children, follow_up, on, these};
use crate::world::{World, failed, new_task, queue_name, secs};

/// The one follow-up that waits now.
async fn waiting(w: &World) -> Task {
    w.all().await.into_iter().find(|task| task.gate == AFTER).expect("a follow-up that waits")
}

/// A root that has failed with its only child; that child; and the follow-up that was skipped, as it was before.
async fn skipped(w: &World) -> (TaskId, TaskId, Task) {
    let (root, child) = asks(w, "{}", When::Completed).await;
    let flush = waiting(w).await;
    w.work(child, failed(Retry::Never)).await;
    is_skipped(w, flush.id, root).await;
    (root, child, flush)
}

/// The next claim skips the follow-up, and names this family.
async fn is_skipped(w: &World, flush: TaskId, spoiler: TaskId) {
    assert!(!w.claimable().await.contains(&flush));
    let task = w.get(flush).await;
    assert_eq!((task.state, task.failure), (State::Cancelled, Some(Failure::skipped_follow_up(spoiler))));
}

/// The follow-up waits for these families, and for no others.
async fn waits_for(w: &World, flush: TaskId, roots: &[TaskId]) {
    assert_eq!(w.gate(flush).await, AFTER);
    assert_eq!(w.why(flush).await, [Reason::Families { roots: roots.to_vec() }]);
}

/// Two families that have failed, each with its child, and the one follow-up that both have spoiled.
async fn spoiled_by_two(w: &World) -> ([(TaskId, TaskId); 2], TaskId) {
    let families = [asks(w, "{}", When::Completed).await, asks(w, "{}", When::Completed).await];
    let flush = w.only("export").await;
    for (_, child) in families {
        w.work(child, failed(Retry::Never)).await;
    }
    is_skipped(w, flush, families[0].0).await;
    (families, flush)
}

/// A follow-up that was skipped is as it was before, except for its key, when its family is retried, or the root of it; it
/// starts when the family completes. What the retry answers is about the family alone.
pub async fn a_skipped_follow_up_comes_back_with_its_family(w: &World) {
    for whole in [true, false] {
        let (root, child, before) = skipped(w).await;
        w.advance(5).await;
        if whole {
            assert_eq!(w.store.retry_family(child).await.unwrap(), Retried { pending: 1, waiting: 1 });
        } else {
            assert_eq!(w.store.retry(root).await.unwrap().state, State::Waiting);
        }
        let flush = before.id;
        let back = Task { unique_key: None, ..before };
        assert_eq!(w.get(flush).await, back);
        let follows = Filter { follows: Some(root), state: vec![State::Pending], limit: 10, ..Filter::default() };
        assert_eq!(w.store.list(&follows).await.unwrap().tasks, [back]);
        waits_for(w, flush, &[root]).await;
        assert_eq!(w.claimable().await, [child]);
        w.work(child, Outcome::Done(None)).await;
        assert_eq!(w.claimable().await, [flush]);
        w.work(flush, Outcome::Done(None)).await;
        assert_eq!(w.state(flush).await, State::Completed);
    }
}

/// A family that fails again, or is cancelled, skips it again, as often as that happens.
pub async fn it_is_skipped_again_when_its_family_fails_again(w: &World) {
    let (root, child, flush) = skipped(w).await;
    for cancel in [false, true, false] {
        w.store.retry_family(root).await.unwrap();
        waits_for(w, flush.id, &[root]).await;
        w.advance(1).await;
        if cancel {
            w.store.cancel(root).await.unwrap();
        } else {
            w.work(child, failed(Retry::Never)).await;
        }
        is_skipped(w, flush.id, root).await;
        assert_eq!(w.get(flush.id).await.finished_at, Some(w.now()));
    }
    w.store.retry_family(root).await.unwrap();
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [flush.id]);
}

/// A follow-up that was for later is for the same moment still.
pub async fn it_keeps_its_time(w: &World) {
    let task = NewTask { due: Due::After(secs(60)), ..on("default") };
    let made = Made { follow_ups: follow_up(task, When::Completed).follow_ups, ..children(1) };
    let root = w.waiting(made).await;
    let (child, before) = (w.kids(root).await[0], waiting(w).await);
    w.work(child, failed(Retry::Never)).await;
    is_skipped(w, before.id, root).await;
    w.advance(30).await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.get(before.id).await, before);
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, []);
    w.advance(30).await;
    assert_eq!(w.claimable().await, [before.id]);
}

/// The retry of one of two failed families brings it back, and it is judged when that one has ended: the other family, which
/// is as it was, skips it again and is named. When that one is retried, too, and completes, it starts.
pub async fn one_of_two_failed_families_brings_it_back(w: &World) {
    for first in [0, 1] {
        let (families, flush) = spoiled_by_two(w).await;
        let ((root, child), (other, its_child)) = (families[first], families[1 - first]);
        w.store.retry_family(root).await.unwrap();
        waits_for(w, flush, &[root]).await;
        w.work(child, Outcome::Done(None)).await;
        is_skipped(w, flush, other).await;
        w.store.retry(other).await.unwrap();
        waits_for(w, flush, &[other]).await;
        w.work(its_child, Outcome::Done(None)).await;
        assert_eq!(w.claimable().await, [flush]);
        w.work(flush, Outcome::Done(None)).await;
        w.store.bulk(Action::Delete, &Filter { limit: 100, ..Filter::default() }).await.unwrap();
    }
}

/// Both families that are retried are waited for, in whichever order they end.
pub async fn it_waits_for_every_family_that_is_retried(w: &World) {
    let (families, flush) = spoiled_by_two(w).await;
    for (root, _) in families {
        w.store.retry_family(root).await.unwrap();
    }
    waits_for(w, flush, &families.map(|(root, _)| root)).await;
    w.work(families[0].1, failed(Retry::Never)).await;
    waits_for(w, flush, &[families[1].0]).await;
    w.store.retry_family(families[0].0).await.unwrap();
    for (_, child) in families {
        assert!(!w.claimable().await.contains(&flush));
        w.work(child, Outcome::Done(None)).await;
    }
    assert_eq!(w.claimable().await, [flush]);
}

/// A family that fails and is retried while the follow-up waits for another one has spoiled nothing.
pub async fn a_family_that_is_retried_before_anyone_has_looked_is_waited_for(w: &World) {
    let families = [asks(w, "{}", When::Completed).await, asks(w, "{}", When::Completed).await];
    let [(root, child), (other, its_child)] = families;
    let flush = w.only("export").await;
    w.work(child, failed(Retry::Never)).await;
    assert_eq!(w.claimable().await, [its_child]);
    waits_for(w, flush, &[other]).await;
    let running = w.start(its_child).await;
    w.store.retry_family(root).await.unwrap();
    waits_for(w, flush, &[root, other]).await;
    w.done(&running).await;
    assert_eq!(w.claimable().await, [child]);
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [flush]);
}

/// A family that had only to settle has not spoiled it, so its retry does not bring it back.
pub async fn only_a_family_that_spoiled_it_brings_it_back(w: &World) {
    let (settled, one) = asks(w, "{}", When::Settled).await;
    let (spoiler, two) = asks(w, "{}", When::Completed).await;
    let flush = w.only("export").await;
    for child in [one, two] {
        w.work(child, failed(Retry::Never)).await;
    }
    is_skipped(w, flush, spoiler).await;
    w.store.retry_family(settled).await.unwrap();
    is_skipped(w, flush, spoiler).await;
    w.store.retry_family(spoiler).await.unwrap();
    waits_for(w, flush, &[spoiler]).await;
    w.work(one, failed(Retry::Never)).await;
    w.work(two, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [flush]);
}

/// A follow-up that an operator has cancelled stays so, even if it was skipped once before.
pub async fn one_that_was_cancelled_by_hand_stays_cancelled(w: &World) {
    for came_back in [false, true] {
        let (root, child) = asks(w, "{}", When::Completed).await;
        let flush = waiting(w).await.id;
        if came_back {
            w.work(child, failed(Retry::Never)).await;
            is_skipped(w, flush, root).await;
            w.store.retry_family(root).await.unwrap();
        }
        w.store.cancel(flush).await.unwrap();
        for outcome in [failed(Retry::Never), Outcome::Done(None)] {
            w.work(child, outcome).await;
            assert_eq!(w.claimable().await, []);
            let task = w.get(flush).await;
            assert_eq!((task.state, task.failure), (State::Cancelled, Some(Failure::cancelled())));
            if w.state(root).await == State::Failed {
                w.store.retry_family(root).await.unwrap();
            }
        }
    }
}

/// One that was retried by hand goes its own way, whatever becomes of the family.
pub async fn one_that_was_retried_by_hand_is_left_alone(w: &World) {
    let (root, child, flush) = skipped(w).await;
    w.store.retry(flush.id).await.unwrap();
    let before = w.get(flush.id).await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.get(flush.id).await, before);
    w.work(child, failed(Retry::Never)).await;
    w.work(flush.id, failed(Retry::Never)).await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.state(flush.id).await, State::Failed);
    w.store.retry(flush.id).await.unwrap();
    w.store.cancel(flush.id).await.unwrap();
    w.work(child, failed(Retry::Never)).await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.get(flush.id).await.failure, Some(Failure::cancelled()));
}

/// A follow-up that retention has removed stays away, and the family is retried without it.
pub async fn one_that_was_removed_stays_away(w: &World) {
    let task = NewTask { queue: Some(queue_name("bulk")), ..new_task("export") };
    let made = Made { follow_ups: follow_up(task, When::Completed).follow_ups, ..children(1) };
    let root = w.waiting(made).await;
    let (child, flush) = (w.kids(root).await[0], waiting(w).await.id);
    w.work(child, failed(Retry::Never)).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_on("bulk", worker, 5).await, []);
    let retention = Retention { cancelled: Some(secs(0)), ..Retention::default() };
    w.limit("bulk", Policy::keeping(retention)).await;
    assert_eq!(w.store.prune().await.unwrap(), 1);
    w.store.retry_family(root).await.unwrap();
    w.work(child, Outcome::Done(None)).await;
    assert_eq!((w.state(root).await, w.store.task(flush).await.unwrap()), (State::Completed, None));
    assert_eq!(w.claim_on("bulk", worker, 5).await, []);
}

/// A family that spoiled it and was removed can't complete any more: it skips the follow-up again.
pub async fn a_removed_family_spoils_it_again(w: &World) {
    let ([(gone, _), (root, child)], flush) = spoiled_by_two(w).await;
    let family = Filter { root: Some(gone), roots: true, limit: 10, ..Filter::default() };
    assert_eq!(w.store.bulk(Action::Delete, &family).await.unwrap().done, 2);
    w.store.retry_family(root).await.unwrap();
    waits_for(w, flush, &[root]).await;
    w.work(child, Outcome::Done(None)).await;
    is_skipped(w, flush, gone).await;
}

/// Like any task that is retried it does not get its key back: the task that was enqueued under the key meanwhile keeps it.
pub async fn it_does_not_regain_its_key(w: &World) {
    let (root, child, skipped) = skipped(w).await;
    w.advance(1).await;
    let Enqueued::Created(newer) = w.put(flush("{}")).await else { panic!("its key is free") };
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.put(flush("{}")).await, Enqueued::Merged(newer));
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [skipped.id, newer]);
}

/// A follow-up that ran and failed is the root of a family: retried, it brings back what was to follow it.
pub async fn what_followed_a_follow_up_comes_back_too(w: &World) {
    let (root, child) = asks(w, "{}", When::Completed).await;
    w.work(child, Outcome::Done(None)).await;
    let flush = w.start(w.only("export").await).await;
    let made = Made {
        follow_ups: follow_up(new_task("report"), When::Completed).follow_ups,
        ..these([NewTask { priority: Some(-1), ..new_task("mail") }])
    };
    w.leave_behind(&flush, made).await;
    let (grandchild, last) = (w.kids(flush.id).await[0], waiting(w).await.id);
    w.work(grandchild, failed(Retry::Never)).await;
    is_skipped(w, last, flush.id).await;
    assert_eq!(w.store.retry_family(flush.id).await.unwrap(), Retried { pending: 1, waiting: 1 });
    waits_for(w, last, &[flush.id]).await;
    w.work(grandchild, Outcome::Done(None)).await;
    assert_eq!((w.claimable().await, w.state(root).await), (vec![last], State::Completed));
}

/// A bulk retry that finds the family and its follow-up has the follow-up wait for the family.
pub async fn a_bulk_retry_of_both_has_it_wait(w: &World) {
    let (root, child, flush) = skipped(w).await;
    let state = vec![State::Failed, State::Cancelled];
    let page = w.store.bulk(Action::Retry, &Filter { state, limit: 10, ..Filter::default() }).await.unwrap();
    assert_eq!((page.done, page.skipped), (3, 0));
    waits_for(w, flush.id, &[root]).await;
    assert_eq!(w.claimable().await, [child]);
}
