//! Children in order: each waits for the whole family of the one before.

use kinfolk_core::ChildOrder::{InOrder, InOrderUntilFailure};
use kinfolk_core::{Due, Failure, Gate, Made, NewTask, Outcome, Retry, State, Unique};

use crate::family::{children, counts, in_order, siblings, these};
use crate::world::{World, failed, new_task, secs, unique_task};

const OPEN: Option<Gate> = Some(Gate::Open);
const AFTER: Option<Gate> = Some(Gate::After);

/// Only the first may start; each end lets the next one begin, and a claim as wide as it likes gets one.
pub async fn they_run_one_after_another(w: &World) {
    let root = w.waiting(in_order(3, InOrder)).await;
    assert_eq!(w.gates(root).await, [OPEN, AFTER, AFTER]);
    for (n, child) in w.kids(root).await.into_iter().enumerate() {
        assert_eq!(w.claimable().await, [child]);
        w.work(child, Outcome::Done(None)).await;
        assert_eq!(w.tally(root).await, counts(3, n as u64 + 1, 0, 0));
    }
    assert_eq!(w.state(root).await, State::Completed);
}

/// Each waits for the whole family of the one before, not just for its handler.
pub async fn each_waits_for_the_whole_family_of_the_one_before(w: &World) {
    let root = w.waiting(in_order(2, InOrder)).await;
    let first = w.start(w.kids(root).await[0]).await;
    w.leave_behind(&first, children(2)).await;
    let grandchildren = w.kids(first.id).await;
    assert_eq!(w.claimable().await, grandchildren);
    w.work(grandchildren[0], Outcome::Done(None)).await;
    assert_eq!(w.gates(root).await, [None, AFTER]);
    w.work(grandchildren[1], Outcome::Done(None)).await;
    assert_eq!(w.gates(root).await, [None, OPEN]);
}

/// A retry, a snooze, a release and a lost worker do not let the next one begin.
pub async fn only_an_end_lets_the_next_begin(w: &World) {
    let root = w.waiting(in_order(2, InOrder)).await;
    let first = w.kids(root).await[0];
    for outcome in [failed(Retry::After(secs(0))), Outcome::Snooze(secs(0)), Outcome::Release] {
        w.work(first, outcome).await;
        assert_eq!(w.gates(root).await, [OPEN, AFTER]);
    }
    w.start(first).await;
    w.lose_all().await;
    assert_eq!(w.gates(root).await, [OPEN, AFTER]);
}

/// By default a failure does not stop the others; the parent fails when all have ended.
pub async fn a_failure_does_not_stop_the_others(w: &World) {
    let root = w.waiting(in_order(2, InOrder)).await;
    let kids = w.kids(root).await;
    w.work(kids[0], failed(Retry::Never)).await;
    assert_eq!(w.state(root).await, State::Waiting);
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Failed, counts(2, 1, 1, 0)));
}

/// Until a failure: the rest is cancelled then, with the reason, and the parent fails at once.
pub async fn until_a_failure_the_rest_is_cancelled(w: &World) {
    let root = w.waiting(in_order(4, InOrderUntilFailure)).await;
    let kids = w.kids(root).await;
    w.work(kids[0], Outcome::Done(None)).await;
    w.advance(1).await;
    w.work(kids[1], failed(Retry::Never)).await;
    for skipped in &kids[2..] {
        let task = w.get(*skipped).await;
        assert_eq!((task.state, task.failure), (State::Cancelled, Some(Failure::skipped_child())));
        assert_eq!((task.finished_at, task.attempt, task.cancel_requested_at), (Some(w.now()), 0, None));
        assert_eq!(w.endings(*skipped).await, []);
    }
    let shown = w.get(root).await;
    assert_eq!((shown.state, shown.failure), (State::Failed, Some(Failure::children(&counts(4, 1, 1, 2)))));
    assert_eq!(w.claimable().await, []);
}

/// A child that fails because of its own children stops the rest too.
pub async fn a_failure_below_stops_the_rest(w: &World) {
    let root = w.waiting(in_order(2, InOrderUntilFailure)).await;
    let first = w.start(w.kids(root).await[0]).await;
    w.leave_behind(&first, children(1)).await;
    w.work(w.kids(first.id).await[0], failed(Retry::Never)).await;
    assert_eq!(w.states(root).await, [State::Failed, State::Cancelled]);
    assert_eq!(w.state(root).await, State::Failed);
}

/// A cancelled one is no failure: the next begins.
pub async fn a_cancelled_one_lets_the_next_begin(w: &World) {
    let root = w.waiting(in_order(3, InOrderUntilFailure)).await;
    let kids = w.kids(root).await;
    w.store.cancel(kids[0]).await.unwrap();
    assert_eq!(w.gates(root).await, [None, OPEN, AFTER]);
    w.store.cancel(kids[2]).await.unwrap();
    assert_eq!(w.gates(root).await, [None, OPEN, None], "one that has not begun lets nobody begin");
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!((w.state(root).await, w.tally(root).await), (State::Completed, counts(3, 1, 0, 2)));
}

/// Times hold in order too: one that is not due when its turn comes waits behind the time gate, and holds the rest.
pub async fn one_that_is_not_due_waits_when_its_turn_comes(w: &World) {
    let late = |secs_from_now| NewTask { due: Due::After(secs(secs_from_now)), ..new_task("report") };
    let made = Made { order: InOrder, ..these([late(10), late(5), late(60), new_task("report")]) };
    let root = w.waiting(made).await;
    let kids = w.kids(root).await;
    assert_eq!(w.gates(root).await, [Some(Gate::Time), AFTER, AFTER, AFTER]);
    w.advance(10).await;
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!(w.gates(root).await, [None, OPEN, AFTER, AFTER], "it was due meanwhile");
    w.work(kids[1], Outcome::Done(None)).await;
    assert_eq!(w.gates(root).await, [None, None, Some(Gate::Time), AFTER]);
    w.advance(49).await;
    assert_eq!(w.claimable().await, []);
    w.advance(1).await;
    assert_eq!(w.claimable().await, [kids[2]]);
}

/// A sibling goes to the end of the order.
pub async fn a_sibling_goes_to_the_end_of_the_order(w: &World) {
    let root = w.waiting(in_order(2, InOrder)).await;
    let first = w.start(w.kids(root).await[0]).await;
    w.leave_behind(&first, siblings(1)).await;
    assert_eq!(w.gates(root).await, [None, OPEN, AFTER]);
    let second = w.start(w.kids(root).await[1]).await;
    w.leave_behind(&second, siblings(1)).await;
    assert_eq!(w.gates(root).await, [None, None, OPEN, AFTER]);
    for n in 2..4 {
        let child = w.kids(root).await[n];
        w.work(child, Outcome::Done(None)).await;
    }
    assert_eq!(w.state(root).await, State::Completed);
}

/// The last one's sibling begins when that one's own family has ended.
pub async fn a_sibling_waits_for_its_makers_family(w: &World) {
    let root = w.waiting(in_order(1, InOrder)).await;
    let maker = w.start(w.kids(root).await[0]).await;
    w.leave_behind(&maker, Made { siblings: siblings(1).siblings, ..children(1) }).await;
    assert_eq!(w.gates(root).await, [None, AFTER]);
    w.work(w.kids(maker.id).await[0], Outcome::Done(None)).await;
    assert_eq!(w.gates(root).await, [None, OPEN]);
}

/// One that is retried by hand may start at once; until it has ended too, nobody else begins.
pub async fn a_retried_one_starts_at_once_and_holds_the_rest(w: &World) {
    let root = w.waiting(in_order(3, InOrder)).await;
    let kids = w.kids(root).await;
    w.work(kids[0], failed(Retry::Never)).await;
    let second = w.start(kids[1]).await;
    w.store.retry(kids[0]).await.unwrap();
    assert_eq!(w.gates(root).await, [OPEN, None, AFTER]);
    w.done(&second).await;
    assert_eq!(w.gates(root).await, [OPEN, None, AFTER]);
    w.work(kids[0], Outcome::Done(None)).await;
    assert_eq!(w.gates(root).await, [None, None, OPEN]);
    assert_eq!(w.tally(root).await, counts(3, 2, 0, 0));
}

/// A child that was not made, because its key is held, is not waited for: the first that was made may start.
pub async fn one_that_was_not_made_is_not_waited_for(w: &World) {
    let holder = w.create(NewTask { priority: Some(9), ..unique_task(Unique::key("k"), "{}") }).await;
    let root = w.start(w.create(NewTask { priority: Some(1), ..new_task("report") }).await).await;
    let made =
        Made { order: InOrder, ..these([unique_task(Unique::key("k"), "{}"), new_task("report"), new_task("report")]) };
    w.leave_behind(&root, made).await;
    assert_eq!(w.gates(root.id).await, [OPEN, AFTER]);
    assert_eq!(w.gate(holder).await, OPEN);
}
