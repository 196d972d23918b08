//! Whole timeouts: a fan-out that took longer than it may is given up, once, and its open children are cancelled.

use kinfolk_core::{FanOutId, Gate, NewFanOut, Outcome, Rule, Settled, State, StoreError, Suspend, TaskId, Verdict};

use crate::family::counts;
use crate::flow::{Flow, fan_out, listening, sleeping, suspend_of, waiting_again, waiting_for};
use crate::world::{World, new_task, secs};

fn within(span: u64, name: &str, many: usize, rule: Rule) -> NewFanOut {
    NewFanOut { timeout: Some(secs(span)), ..fan_out(name, many, rule) }
}

/// A flow whose deadline has passed and whose owner runs again.
async fn overdue(w: &World, many: usize, rule: Rule) -> Flow {
    let mut flow = w.flow_of(within(10, "items", many, rule)).await;
    w.advance(10).await;
    flow.task = w.start(flow.id()).await;
    flow
}

/// The deadline resumes the handler, as a timer does.
pub async fn the_deadline_resumes_the_handler(w: &World) {
    let flow = w.flow_of(within(10, "items", 2, Rule::FailFast)).await;
    let deadline = w.now().plus(secs(10));
    assert_eq!(w.fan_out(&flow).await.deadline, Some(deadline));
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.gate, shown.due), (State::Waiting, Some(Gate::Time), deadline));
    let claimable = w.claimable().await;
    assert_eq!(claimable, flow.kids);
    w.advance(10).await;
    let task = w.start(flow.id()).await;
    assert_eq!(w.fan_out(&flow).await.verdict, None, "nobody has given it up yet");
    assert_eq!(task.attempt, 1);
}

/// Giving up: the verdict is timed out, with those who had ended before; pending children are cancelled, running ones asked.
pub async fn an_overdue_fan_out_is_given_up(w: &World) {
    let mut flow = w.flow_of(within(10, "items", 4, Rule::CollectAll)).await;
    w.complete(flow.kids[0]).await;
    let busy = w.start(flow.kids[1]).await;
    w.advance(10).await;
    flow.task = w.start(flow.id()).await;
    let found = w.expire(&flow.task, flow.fan_out).await;
    assert_eq!((found.verdict, found.decided_at), (Some(Verdict::TimedOut), Some(1)));
    assert_eq!((found.tally, w.fan_out(&flow).await), (counts(4, 1, 0, 2), found));
    assert_eq!(w.states(flow.id()).await, [State::Completed, State::Running, State::Cancelled, State::Cancelled]);
    assert_eq!(w.get(busy.id).await.cancel_requested_at, Some(w.now()));
    assert_eq!(w.done(&busy).await, Settled::Recorded(State::Cancelled));
    let found = w.fan_out(&flow).await;
    assert_eq!((found.verdict, found.decided_at), (Some(Verdict::TimedOut), Some(1)));
    assert_eq!(w.ended(flow.fan_out).await, [0, 2, 3, 1]);
    assert_eq!(w.done(&flow.task).await, Settled::Recorded(State::Completed));
}

/// Before its deadline, and without one, a fan-out is left as it is.
pub async fn a_fan_out_that_is_not_overdue_is_left_as_it_is(w: &World) {
    let root = w.root().await;
    let both = vec![within(10, "first", 2, Rule::FailFast), fan_out("second", 1, Rule::FailFast)];
    w.suspend_and_wait(Suspend { fan_outs: both, ..listening(&root, "go") }).await;
    w.signal(root.id, "go", "1").await;
    let task = w.start(root.id).await;
    let before = w.history(root.id).await;
    w.advance_by(secs(10) - std::time::Duration::from_micros(1)).await;
    for fan_out in &before.fan_outs {
        assert_eq!(w.expire(&task, fan_out.id).await, *fan_out);
    }
    assert_eq!((w.history(root.id).await, w.tally(root.id).await), (before.clone(), counts(3, 0, 0, 0)));
    w.advance(1).await;
    assert_eq!(w.expire(&task, before.fan_outs[0].id).await.verdict, Some(Verdict::TimedOut));
    assert_eq!(w.expire(&task, before.fan_outs[1].id).await.verdict, None);
}

/// A fan-out that is settled stays as it is, whatever its deadline; giving up twice is giving up once.
pub async fn a_settled_fan_out_is_left_as_it_is(w: &World) {
    let mut flow = w.flow_of(within(10, "items", 2, Rule::FailFast)).await;
    w.let_fail(flow.kids[0]).await;
    w.advance(20).await;
    flow.task = w.start(flow.id()).await;
    let found = w.expire(&flow.task, flow.fan_out).await;
    assert_eq!((found.verdict, w.state(flow.kids[1]).await), (Some(Verdict::Failed), State::Pending));
    w.store.cancel(flow.kids[1]).await.unwrap();
    let flow = overdue(w, 2, Rule::CollectAll).await;
    let first = w.expire(&flow.task, flow.fan_out).await;
    w.advance(5).await;
    assert_eq!(w.expire(&flow.task, flow.fan_out).await, first);
}

/// A last child that ends before the handler looks decides it: the rule's verdict, not the deadline's.
pub async fn the_last_child_may_come_before_the_handler(w: &World) {
    let flow = overdue(w, 1, Rule::FailFast).await;
    w.complete(flow.kids[0]).await;
    assert_eq!(w.expire(&flow.task, flow.fan_out).await.verdict, Some(Verdict::Completed));
}

/// A token that no longer holds gives nothing up; nobody gives up the fan-out of another.
pub async fn nobody_gives_up_what_is_not_his(w: &World) {
    let flow = overdue(w, 2, Rule::FailFast).await;
    let other = w.flow(1, Rule::FailFast).await;
    for id in [other.fan_out, FanOutId(i64::MAX), FanOutId(flow.id().0)] {
        let answer = w.store.expire(flow.id(), flow.task.token, id).await;
        assert!(matches!(answer, Err(StoreError::NotFound { what: "fan-out", .. })), "{answer:?}");
    }
    for (task, token) in
        [(flow.id(), other.task.token), (other.id(), other.task.token), (TaskId(i64::MAX), flow.task.token)]
    {
        assert_eq!(w.store.expire(task, token, flow.fan_out).await.unwrap(), None);
    }
    w.settle(&flow.task, Outcome::Release).await;
    assert_eq!(w.store.expire(flow.id(), flow.task.token, flow.fan_out).await.unwrap(), None);
    assert_eq!(w.fan_out(&flow).await.verdict, None);
}

/// Of several deadlines and a time the earliest resumes; that of a settled fan-out does not count.
pub async fn the_earliest_of_all_times_resumes(w: &World) {
    let root = w.root().await;
    let all = vec![
        within(30, "slow", 1, Rule::FailFast),
        NewFanOut { children: vec![new_task("export")].into(), ..within(10, "quick", 1, Rule::FailFast) },
        within(20, "middle", 1, Rule::FailFast),
    ];
    let start = w.now();
    w.suspend_and_wait(Suspend { fan_outs: all, until: Some(start.plus(secs(40))), ..suspend_of(&root) }).await;
    let (kids, fan_outs) = (w.kids(root.id).await, w.history(root.id).await.fan_outs);
    assert_eq!(w.get(root.id).await.due, start.plus(secs(10)));
    w.complete(kids[1]).await;
    let task = w.start(root.id).await;
    let awaits: Vec<_> =
        fan_outs.iter().map(|fan_out| kinfolk_core::Await { fan_out: fan_out.id, wake_at: 2 }).collect();
    let again = Suspend { awaits: vec![awaits[0], awaits[2]], ..sleeping(&task, start.plus(secs(25))) };
    w.suspend_and_wait(again).await;
    assert_eq!(w.get(root.id).await.due, start.plus(secs(20)));
    w.advance(20).await;
    let task = w.start(root.id).await;
    assert_eq!(w.expire(&task, fan_outs[2].id).await.verdict, Some(Verdict::TimedOut));
    w.suspend_and_wait(waiting_again(&task, fan_outs[0].id, 1)).await;
    assert_eq!(w.get(root.id).await.due, start.plus(secs(30)));
    w.advance(10).await;
    let task = w.start(root.id).await;
    let overdue = waiting_again(&task, fan_outs[0].id, 1);
    assert_eq!(w.suspend(overdue).await, Settled::Recorded(State::Pending), "its deadline is there already");
}

/// Everything below a fan-out that is given up ends with it, suspended handlers too.
pub async fn everything_below_is_cancelled(w: &World) {
    let mut flow = w.flow_of(within(10, "items", 2, Rule::FailFast)).await;
    let child = w.start(flow.kids[0]).await;
    let inner = w.await_in(child, fan_out("inner", 2, Rule::FailFast)).await;
    let child = w.start(flow.kids[1]).await;
    w.suspend_and_wait(listening(&child, "go")).await;
    w.advance(10).await;
    flow.task = w.start(flow.id()).await;
    let found = w.expire(&flow.task, flow.fan_out).await;
    assert_eq!((found.decided_at, found.tally), (Some(0), counts(2, 0, 0, 2)));
    assert_eq!(w.states(inner.id()).await, [State::Cancelled; 2]);
    assert_eq!(w.ended(flow.fan_out).await, [0, 1]);
    assert_eq!(w.done(&flow.task).await, Settled::Recorded(State::Completed));
}

/// A timeout of nothing is over at once.
pub async fn a_timeout_of_nothing_is_over_at_once(w: &World) {
    let root = w.root().await;
    let answer = w.suspend(waiting_for(&root, within(0, "items", 1, Rule::FailFast))).await;
    assert_eq!(answer, Settled::Recorded(State::Pending));
    let task = w.start(root.id).await;
    let fan_out = w.latest(root.id).await;
    assert_eq!(w.expire(&task, fan_out).await.verdict, Some(Verdict::TimedOut));
}
