//! Follow-ups: top-level tasks that start after every family that asked for them has settled.

use kinfolk_core::filter::Filter;
use kinfolk_core::{
    Command, Due, Enqueued, Failure, FollowUp, Gate, Made, NewTask, OnDuplicate, Outcome, Policy, Rejection, Retention,
    Retry, Settled, State, TaskId, Unique, UniqueScope, When,
};

use crate::family::{children, follow_up, siblings, these};
use crate::world::{World, command, failed, ids, json, new_task, plain_command, queue_name, secs, unique_task};

pub(super) const AFTER: Option<Gate> = Some(Gate::After);

/// A follow-up of the command `export` on the queue `default`, under the key `flush`.
pub(super) fn flush(payload: &str) -> NewTask {
    let unique = Unique::key("flush").on_duplicate(OnDuplicate::Merge);
    NewTask { command: command("export"), queue: Some(queue_name("default")), ..unique_task(unique, payload) }
}

/// Children, and a follow-up that waits for the family.
fn with_flush(many: usize, payload: &str, when: When) -> Made {
    Made { follow_ups: follow_up(flush(payload), when).follow_ups, ..children(many) }
}

/// A root that waits for one child and has asked for a flush; and that child.
pub(super) async fn asks(w: &World, payload: &str, when: When) -> (TaskId, TaskId) {
    let root = w.waiting(with_flush(1, payload, when)).await;
    (root, w.kids(root).await[0])
}

/// A follow-up is a top-level task with its maker's priority and its root's position, and waits for the whole family.
pub async fn a_follow_up_waits_for_the_whole_family(w: &World) {
    let root = w.start(w.create(NewTask { priority: Some(4), ..new_task("mail") }).await).await;
    let position = w.get(root.id).await.position;
    w.advance(9).await;
    w.leave_behind(&root, with_flush(1, "{}", When::Settled)).await;
    let flush = w.get(w.only("export").await).await;
    assert_eq!((flush.parent, flush.root, flush.depth), (None, flush.id, 0));
    assert_eq!((flush.state, flush.gate, flush.priority, flush.position), (State::Pending, AFTER, 4, position));
    let child = w.start(w.kids(root.id).await[0]).await;
    w.leave_behind(&child, children(1)).await;
    assert_eq!(w.claimable().await, w.kids(child.id).await);
    w.work(w.kids(child.id).await[0], Outcome::Done(None)).await;
    assert_eq!(w.state(root.id).await, State::Completed);
    assert_eq!(w.gate(flush.id).await, AFTER, "it is the next claim that opens it");
    assert_eq!(w.claimable().await, [flush.id]);
}

/// A root that completes at once has settled: the next claim takes its follow-ups, in the order they were made.
pub async fn follow_ups_of_a_flat_task_come_next_in_the_order_they_were_made(w: &World) {
    let root = w.root().await;
    w.advance(1).await;
    let younger = w.enqueue("mail").await;
    let after = |task| FollowUp { task, when: When::Completed };
    let made = Made { follow_ups: vec![after(new_task("report")), after(new_task("report"))], ..Made::default() };
    assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Completed));
    let line = w.claimable().await;
    assert_eq!(line.len(), 3);
    assert!(line[0] < line[1] && line[2] == younger, "{line:?}");
}

/// A newer family never runs before the follow-up of an older one: the follow-up stands at its maker's position.
pub async fn a_newer_family_never_runs_before_an_older_follow_up(w: &World) {
    w.serial(1).await;
    let older = w.root().await;
    w.advance(1).await;
    let newer = w.enqueue("mail").await;
    w.leave_behind(&older, with_flush(1, "{}", When::Settled)).await;
    w.work(w.kids(older.id).await[0], Outcome::Done(None)).await;
    let flush = w.only("export").await;
    assert_eq!(w.claimable().await, [flush], "one family at a time, and this one is first");
    w.work(flush, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [newer]);
}

/// A follow-up that a grandchild asks for waits for the root, and takes the grandchild's priority.
pub async fn any_member_may_ask(w: &World) {
    let root = w.root().await;
    w.leave_behind(&root, these([NewTask { priority: Some(2), ..new_task("report") }])).await;
    let child = w.start(w.kids(root.id).await[0]).await;
    let made = Made { siblings: siblings(1).siblings, ..follow_up(flush("{}"), When::Settled) };
    assert_eq!(w.leave_behind(&child, made).await, Settled::Recorded(State::Completed));
    let flush = w.only("export").await;
    assert_eq!((w.get(flush).await.priority, w.get(flush).await.position), (2, w.get(root.id).await.position));
    let sibling = w.kids(root.id).await[1];
    assert_eq!(w.claimable().await, [sibling]);
    w.work(sibling, failed(Retry::Never)).await;
    assert_eq!(w.claimable().await, [flush]);
}

/// What the follow-up says itself wins: priority, queue, time.
pub async fn what_the_follow_up_says_wins(w: &World) {
    w.store.register(&[Command { priority: 9, ..plain_command("report") }]).await.unwrap();
    let root = w.root().await;
    let due = Due::After(secs(60));
    let task = NewTask { priority: Some(-5), queue: Some(queue_name("bulk")), due, ..new_task("report") };
    w.leave_behind(&root, follow_up(task, When::Settled)).await;
    let made = w.get(w.only("report").await).await;
    assert_eq!((made.priority, made.queue.as_str(), made.gate), (-5, "bulk", AFTER));
    let worker = w.worker().await;
    assert_eq!(w.claim(worker, 5).await, [], "a claim elsewhere does not look");
    assert_eq!(w.gate(made.id).await, AFTER);
    assert_eq!(w.claim_on("bulk", worker, 5).await, []);
    assert_eq!(w.gate(made.id).await, Some(Gate::Time), "its family has settled, its time has not come");
    w.advance(60).await;
    assert_eq!(ids(&w.claim_on("bulk", worker, 5).await), [made.id]);
}

/// Families that ask under one key get one follow-up, which waits for all of them and has all their payloads.
pub async fn a_follow_up_waits_for_every_family_that_asked(w: &World) {
    let (_, one) = asks(w, r#"{"one":1}"#, When::Settled).await;
    let (_, two) = asks(w, r#"{"two":2}"#, When::Settled).await;
    let flush = w.only("export").await;
    w.work(one, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [two]);
    w.work(two, failed(Retry::Never)).await;
    assert_eq!(w.start(flush).await.payload, json(r#"{"one":1,"two":2}"#));
}

/// Two members of one family that ask under one key ask once.
pub async fn a_family_that_asks_twice_asks_once(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    for (n, child) in kids.iter().enumerate() {
        let child = w.start(*child).await;
        w.leave_behind(&child, follow_up(flush(&format!(r#"{{"n{n}":1}}"#)), When::Settled)).await;
    }
    assert_eq!(w.state(root).await, State::Completed);
    assert_eq!(w.start(w.only("export").await).await.payload, json(r#"{"n0":1,"n1":1}"#));
}

/// A plain task that pends under the key joins: it waits for the family from then on, and keeps its own time.
pub async fn a_plain_pending_task_joins(w: &World) {
    for (due, gate) in [(Due::Now, Some(Gate::Open)), (Due::After(secs(500)), Some(Gate::Time))] {
        let plain = w.create(NewTask { due, ..flush(r#"{"plain":1}"#) }).await;
        assert_eq!(w.gate(plain).await, gate);
        let (root, child) = asks(w, r#"{"asked":1}"#, When::Settled).await;
        assert_eq!(w.gate(plain).await, AFTER);
        assert_eq!(w.claimable().await, [child]);
        w.work(child, Outcome::Done(None)).await;
        assert_eq!(w.state(root).await, State::Completed);
        w.claimable().await;
        let task = w.get(plain).await;
        assert_eq!((task.gate, task.payload), (gate, json(r#"{"asked":1,"plain":1}"#)));
        w.store.cancel(plain).await.unwrap();
    }
}

/// A plain enqueue under the key goes into the follow-up as usual, and does not open it.
pub async fn a_plain_enqueue_goes_into_the_follow_up(w: &World) {
    let (_, child) = asks(w, r#"{"a":1}"#, When::Settled).await;
    let id = w.only("export").await;
    assert_eq!(w.put(flush(r#"{"b":2}"#)).await, Enqueued::Merged(id));
    assert_eq!(w.claimable().await, [child]);
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.start(id).await.payload, json(r#"{"a":1,"b":2}"#));
}

/// One that has started is left alone: a new one waits behind it, unless its key is held while it is active.
pub async fn one_that_has_started_is_left_alone(w: &World) {
    let (_, child) = asks(w, "{}", When::Settled).await;
    w.work(child, Outcome::Done(None)).await;
    let first = w.start(w.only("export").await).await;
    let (_, child) = asks(w, "{}", When::Settled).await;
    let made: Vec<_> = w.all().await.into_iter().filter(|task| task.command == command("export")).collect();
    assert_eq!((made.len(), made[0].gate), (2, AFTER));
    w.work(child, Outcome::Done(None)).await;
    w.done(&first).await;

    let active = Unique::key("active").scope(UniqueScope::Active);
    let held = w.create(NewTask { unique: Some(active.clone()), priority: Some(-1), ..new_task("report") }).await;
    let held = w.start(held).await;
    let count = w.all().await.len();
    let root = w.root().await;
    let again = NewTask { unique: Some(active), ..new_task("report") };
    assert_eq!(w.leave_behind(&root, follow_up(again, When::Settled)).await, Settled::Recorded(State::Completed));
    assert_eq!((w.all().await.len(), w.state(held.id).await), (count + 1, State::Running));
}

/// With `completed`, a family that ends in any other way cancels the follow-up, with the reason.
pub async fn a_follow_up_of_success_is_cancelled_after_anything_else(w: &World) {
    for cancel in [false, true] {
        let (root, child) = asks(w, "{}", When::Completed).await;
        let all = w.all().await;
        let id = all.iter().find(|task| task.gate == AFTER).unwrap().id;
        if cancel {
            w.store.cancel(root).await.unwrap();
        } else {
            w.work(child, failed(Retry::Never)).await;
        }
        assert_eq!(w.gate(id).await, AFTER, "a claim looks");
        w.advance(1).await;
        assert_eq!(w.claimable().await, []);
        let task = w.get(id).await;
        assert_eq!((task.state, task.failure), (State::Cancelled, Some(Failure::skipped_follow_up(root))));
        assert_eq!((task.finished_at, task.attempt, w.endings(id).await), (Some(w.now()), 0, vec![]));
        assert!(matches!(w.put(flush("{}")).await, Enqueued::Created(_)), "its key is free");
        let plain = w.all().await[0].id;
        w.store.cancel(plain).await.unwrap();
    }
    let (_, child) = asks(w, "{}", When::Completed).await;
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await.len(), 1);
}

/// Of several families each is judged by what it asked for, when all have settled; the first that spoilt it is named.
pub async fn each_family_is_judged_by_what_it_asked_for(w: &World) {
    let (_, settled) = asks(w, "{}", When::Settled).await;
    let (first, one) = asks(w, "{}", When::Completed).await;
    let (_, two) = asks(w, "{}", When::Completed).await;
    let (_, last) = asks(w, "{}", When::Completed).await;
    let flush = w.only("export").await;
    for child in [settled, one, two] {
        w.work(child, failed(Retry::Never)).await;
        assert!(!w.claimable().await.contains(&flush));
        assert_eq!(w.gate(flush).await, AFTER, "not all have settled");
    }
    w.work(last, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.get(flush).await.failure, Some(Failure::skipped_follow_up(first)));
}

/// A follow-up can be cancelled like any pending task, and then nothing waits any more.
pub async fn a_follow_up_can_be_cancelled(w: &World) {
    let (root, child) = asks(w, "{}", When::Settled).await;
    let flush = w.only("export").await;
    assert_eq!(w.store.cancel(flush).await.unwrap(), kinfolk_core::operate::Cancelled::Now);
    assert_eq!((w.state(flush).await, w.state(root).await), (State::Cancelled, State::Waiting));
    w.work(child, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, []);
    w.store.retry(flush).await.unwrap();
    assert_eq!(w.claimable().await, [flush], "retried by hand it waits for nobody");
}

/// A family that is repaired after it had settled does not shut its follow-ups again.
pub async fn a_repaired_family_shuts_nothing_again(w: &World) {
    let (root, child) = asks(w, "{}", When::Settled).await;
    w.work(child, failed(Retry::Never)).await;
    w.store.retry_family(root).await.unwrap();
    assert_eq!(w.claimable().await, [child, w.only("export").await]);
}

/// A family that failed, is repaired and asks again before anyone has looked is waited for again.
pub async fn a_repaired_family_that_asks_again_is_waited_for(w: &World) {
    let elsewhere = |payload| NewTask { queue: Some(queue_name("bulk")), ..flush(payload) };
    let asking = |payload, when| Made { follow_ups: follow_up(elsewhere(payload), when).follow_ups, ..children(1) };
    let root = w.waiting(asking(r#"{"a":1}"#, When::Completed)).await;
    let child = w.kids(root).await[0];
    w.work(child, failed(Retry::Never)).await;
    w.store.retry_family(root).await.unwrap();
    let task = w.start(child).await;
    w.leave_behind(&task, asking(r#"{"b":2}"#, When::Settled)).await;
    let (flush, worker) = (w.only("export").await, w.worker().await);
    assert_eq!(w.claim_on("bulk", worker, 5).await, []);
    assert_eq!(w.gate(flush).await, AFTER);
    w.work(w.kids(child).await[0], Outcome::Done(None)).await;
    let taken = w.claim_on("bulk", worker, 5).await;
    assert_eq!((ids(&taken), &taken[0].payload), (vec![flush], &json(r#"{"a":1,"b":2}"#)));
}

/// A child under the same key never waits for a family, its own least of all: the follow-up is a task of its own.
pub async fn a_child_under_the_same_key_is_never_made_to_wait(w: &World) {
    let unique = || Some(Unique::key("k"));
    let task = || NewTask { unique: unique(), ..new_task("report") };
    let made = Made { follow_ups: follow_up(task(), When::Settled).follow_ups, ..these([task()]) };
    let root = w.waiting(made).await;
    let child = w.kids(root).await[0];
    assert_eq!(w.claimable().await, [child]);
    w.work(child, Outcome::Done(None)).await;
    let line = w.claimable().await;
    assert_eq!((line.len(), w.state(root).await), (1, State::Completed));
    assert!(line[0] > child);
}

/// A family that is removed by retention has settled all the same: its follow-up still knows how.
pub async fn a_removed_family_is_not_forgotten(w: &World) {
    let at_once = Retention { completed: Some(secs(0)), failed: Some(secs(0)), cancelled: Some(secs(0)) };
    w.limit("default", Policy::keeping(at_once)).await;
    let root = w.root().await;
    let on_bulk =
        |name: &str, when| FollowUp { task: NewTask { queue: Some(queue_name("bulk")), ..new_task(name) }, when };
    let follow_ups = vec![on_bulk("export", When::Completed), on_bulk("report", When::Settled)];
    w.leave_behind(&root, Made { follow_ups, ..these([new_task("mail")]) }).await;
    w.work(w.kids(root.id).await[0], failed(Retry::Never)).await;
    assert_eq!(w.store.prune().await.unwrap(), 2);
    let (spoilt, settled) = (w.only("export").await, w.only("report").await);
    let worker = w.worker().await;
    assert_eq!(ids(&w.claim_on("bulk", worker, 5).await), [settled]);
    assert_eq!(w.get(spoilt).await.failure, Some(Failure::skipped_follow_up(root.id)));
}

/// A follow-up of an unknown command refuses the whole settle, like a child.
pub async fn an_unknown_follow_up_is_refused(w: &World) {
    let root = w.root().await;
    let made = Made { follow_ups: follow_up(new_task("nobody"), When::Settled).follow_ups, ..children(1) };
    assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Pending));
    let why = Rejection::UnknownCommand(command("nobody"));
    assert_eq!(w.get(root.id).await.failure, Some(Failure::refused(&why)));
    assert_eq!(w.all().await.len(), 1);
}

/// A queue that takes no children takes follow-ups.
pub async fn a_queue_without_children_takes_follow_ups(w: &World) {
    w.limit("default", crate::family::children_at_once(0)).await;
    let root = w.root().await;
    let made = follow_up(flush("{}"), When::Settled);
    assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Completed));
    assert_eq!(w.claimable().await, [w.only("export").await]);
}

/// A follow-up says which task and which family made it, also after it has run; one that joins others stays with the first.
pub async fn a_follow_up_remembers_who_made_it(w: &World) {
    let root = w.root().await;
    w.leave_behind(&root, children(1)).await;
    let child = w.start(w.kids(root.id).await[0]).await;
    w.leave_behind(&child, follow_up(flush("{}"), When::Settled)).await;
    let made = w.only("export").await;
    let (other, kid) = asks(w, "{}", When::Settled).await;
    w.work(kid, Outcome::Done(None)).await;
    let follows = |root| Filter { follows: Some(root), limit: 10, ..Filter::default() };
    for ran in [false, true] {
        if ran {
            w.work(made, Outcome::Done(None)).await;
        }
        let shown = w.get(made).await;
        assert_eq!((shown.made_by, shown.follows, shown.parent), (Some(child.id), Some(root.id), None));
        assert_eq!(w.store.list(&follows(root.id)).await.unwrap().tasks, [shown]);
        assert_eq!(w.store.count(&follows(root.id)).await.unwrap().tasks, 1);
        assert_eq!(w.store.list(&follows(other)).await.unwrap().tasks, []);
    }
    assert_eq!((w.get(root.id).await.made_by, w.get(child.id).await.follows), (None, None));
}
