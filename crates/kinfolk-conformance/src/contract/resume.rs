//! Resuming: what a handler waits for has come, and its task is pending again at its old position.

use kinfolk_core::limits::SWEEP_PAGE;
use kinfolk_core::{Await, Gate, Outcome, Retry, Rule, Settled, State, Suspend, Verdict};

use crate::family::counts;
use crate::flow::{fan_out, listening, sleeping, step, suspend_of, waiting_again, waiting_for};
use crate::world::{World, failed, ids, secs, settle_of};

/// The last child's end resumes the handler: pending, open, at its position, with its history.
pub async fn the_last_child_resumes_the_handler(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    let before = w.get(flow.id()).await;
    w.complete(flow.kids[0]).await;
    assert_eq!(w.get(flow.id()).await, before);
    w.advance(5).await;
    w.complete(flow.kids[1]).await;
    let shown = w.get(flow.id()).await;
    assert_eq!((shown.state, shown.gate, shown.due), (State::Pending, Some(Gate::Open), before.due));
    assert_eq!((shown.position, shown.attempt, shown.steps), (before.position, 0, 1));
    let task = w.start(flow.id()).await;
    assert_eq!((task.attempt, task.steps), (1, 1));
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
}

/// A resumed task goes before those that came after it.
pub async fn a_resumed_task_goes_before_those_that_came_after(w: &World) {
    let flow = w.flow(1, Rule::FailFast).await;
    w.advance(1).await;
    let later = w.enqueue("mail").await;
    w.advance(1).await;
    w.complete(flow.kids[0]).await;
    assert_eq!(w.claimable().await, [flow.id(), later]);
}

/// What is there already resumes at once: a verdict, enough ends, a time that has passed, a signal that was kept.
pub async fn what_is_there_already_resumes_at_once(w: &World) {
    let flow = w.flow(3, Rule::FailFast).await;
    w.complete(flow.kids[0]).await;
    let pending = Settled::Recorded(State::Pending);
    w.signal(flow.id(), "stop", "1").await;
    w.complete(flow.kids[1]).await;
    assert_eq!(w.state(flow.id()).await, State::Waiting);
    w.let_fail(flow.kids[2]).await;
    let due = w.get(flow.id()).await.due;
    w.advance(7).await;
    let cases: [fn(&World, &kinfolk_core::ClaimedTask, kinfolk_core::FanOutId) -> Suspend; 5] = [
        |_, task, fan_out| waiting_again(task, fan_out, 9),
        |_, task, fan_out| waiting_again(task, fan_out, 3),
        |w, task, _| sleeping(task, w.now()),
        |w, task, _| sleeping(task, w.now().minus(secs(5))),
        |_, task, _| Suspend { signals: listening(task, "stop").signals, ..listening(task, "go") },
    ];
    for case in cases {
        let task = w.start(flow.id()).await;
        let suspend = Suspend { checkpoints: vec![step("once", "1")], ..case(w, &task, flow.fan_out) };
        assert_eq!(w.suspend(suspend).await, pending);
        let shown = w.get(flow.id()).await;
        assert_eq!((shown.gate, shown.worker, shown.attempt, shown.due), (Some(Gate::Open), None, 0, due));
        assert_eq!((shown.signals, shown.steps), (vec![], 2));
    }
}

/// A timer resumes at its moment, by a claim, which says before when that is.
pub async fn a_timer_resumes_at_its_moment(w: &World) {
    let task = w.root().await;
    let (until, position) = (w.now().plus(secs(10)), w.get(task.id).await.position);
    w.suspend_and_wait(sleeping(&task, until)).await;
    let shown = w.get(task.id).await;
    assert_eq!(
        (shown.state, shown.gate, shown.due, shown.position),
        (State::Waiting, Some(Gate::Time), until, position)
    );
    let worker = w.worker().await;
    w.advance_by(secs(10) - std::time::Duration::from_micros(1)).await;
    let claimed = w.store.claim(&crate::world::claim_of(worker, 1)).await.unwrap();
    assert_eq!((claimed.tasks.len(), claimed.next_due), (0, Some(until)));
    w.advance_by(std::time::Duration::from_micros(1)).await;
    assert_eq!(w.state(task.id).await, State::Waiting, "until a claim looks");
    let again = w.take(worker).await;
    assert_eq!((again.id, again.attempt), (task.id, 1));
    assert_eq!((w.get(task.id).await.due, w.get(task.id).await.position), (until, position));
    w.done(&again).await;
}

/// A claim that has no hands free opens what is due all the same.
pub async fn a_claim_opens_more_than_it_takes(w: &World) {
    let tasks = [w.root().await, w.root().await];
    for task in &tasks {
        w.suspend_and_wait(sleeping(task, w.now().plus(secs(1)))).await;
    }
    w.advance(1).await;
    let worker = w.worker().await;
    assert_eq!(w.take(worker).await.id, tasks[0].id);
    let shown = w.get(tasks[1].id).await;
    assert_eq!((shown.state, shown.gate), (State::Pending, Some(Gate::Open)));
}

/// What comes before the time resumes at once, and the timer is gone.
pub async fn what_comes_first_resumes(w: &World) {
    let root = w.root().await;
    let until = Some(w.now().plus(secs(60)));
    let suspend = Suspend { until, ..waiting_for(&root, fan_out("items", 1, Rule::FailFast)) };
    w.suspend_and_wait(Suspend { signals: listening(&root, "go").signals, ..suspend }).await;
    assert_eq!(w.get(root.id).await.signals, listening(&root, "go").signals);
    w.advance(3).await;
    w.complete(w.kids(root.id).await[0]).await;
    let shown = w.get(root.id).await;
    assert_eq!((shown.state, shown.gate, shown.due), (State::Pending, Some(Gate::Open), w.now()));
    assert_eq!(shown.signals, []);
    let root = w.start(root.id).await;
    w.suspend_and_wait(Suspend { until, ..listening(&root, "go") }).await;
    w.advance(57).await;
    let root = w.start(root.id).await;
    w.suspend_and_wait(listening(&root, "go")).await;
    w.advance(1_000).await;
    assert_eq!(w.claimable().await, [], "the timer belonged to the suspension before");
}

/// Of two fan-outs the first that is settled resumes; the other goes on and is awaited again.
pub async fn whichever_fan_out_is_settled_first_resumes(w: &World) {
    let root = w.root().await;
    let both = vec![fan_out("first", 2, Rule::FailFast), fan_out("second", 1, Rule::FailFast)];
    w.suspend_and_wait(Suspend { fan_outs: both, ..suspend_of(&root) }).await;
    let fan_outs = w.history(root.id).await.fan_outs;
    let kids = w.kids(root.id).await;
    w.complete(kids[0]).await;
    assert_eq!(w.state(root.id).await, State::Waiting);
    let middle = w.start(kids[1]).await;
    w.complete(kids[2]).await;
    assert_eq!(w.state(root.id).await, State::Pending);
    assert_eq!(w.done(&middle).await, Settled::Recorded(State::Completed));
    let again = w.start(root.id).await;
    let verdicts: Vec<_> = w.history(root.id).await.fan_outs.iter().map(|fan_out| fan_out.verdict).collect();
    assert_eq!(verdicts, [Some(Verdict::Completed); 2]);
    let awaits = fan_outs.iter().map(|fan_out| Await { fan_out: fan_out.id, wake_at: 1 }).collect();
    assert_eq!(w.suspend(Suspend { awaits, ..suspend_of(&again) }).await, Settled::Recorded(State::Pending));
}

/// For a stream: the handler is resumed when so many have ended, whether the fan-out is settled or not.
pub async fn enough_ends_resume_a_stream(w: &World) {
    let new = kinfolk_core::NewFanOut { wake_at: 2, ..fan_out("items", 5, Rule::CollectAll) };
    let flow = w.flow_of(new).await;
    w.complete(flow.kids[0]).await;
    assert_eq!(w.state(flow.id()).await, State::Waiting);
    w.let_fail(flow.kids[1]).await;
    assert_eq!((w.state(flow.id()).await, w.fan_out(&flow).await.verdict), (State::Pending, None));
    let task = w.start(flow.id()).await;
    w.complete(flow.kids[2]).await;
    assert_eq!(w.suspend(waiting_again(&task, flow.fan_out, 3)).await, Settled::Recorded(State::Pending));
    let task = w.start(flow.id()).await;
    w.suspend_and_wait(waiting_again(&task, flow.fan_out, 5)).await;
    w.complete(flow.kids[3]).await;
    assert_eq!(w.state(flow.id()).await, State::Waiting);
    w.complete(flow.kids[4]).await;
    assert_eq!((w.state(flow.id()).await, w.fan_out(&flow).await.verdict), (State::Pending, Some(Verdict::Completed)));
}

/// A verdict resumes a stream too, before enough have ended.
pub async fn a_verdict_resumes_a_stream_before_its_time(w: &World) {
    let flow = w.flow(4, Rule::Threshold(750_000)).await;
    w.let_fail(flow.kids[0]).await;
    assert_eq!(w.state(flow.id()).await, State::Waiting);
    w.let_fail(flow.kids[1]).await;
    assert_eq!((w.state(flow.id()).await, w.fan_out(&flow).await.verdict), (State::Pending, Some(Verdict::Failed)));
}

/// Nothing disturbs a handler that is pending or running: what ends meanwhile is there when it waits again.
pub async fn ends_do_not_disturb_a_handler_that_does_not_wait(w: &World) {
    let flow = w.flow(3, Rule::CollectAll).await;
    w.signal(flow.id(), "x", "1").await;
    let task = {
        w.complete(flow.kids[0]).await;
        assert_eq!(w.state(flow.id()).await, State::Waiting);
        let kids = [w.start(flow.kids[1]).await, w.start(flow.kids[2]).await];
        let both: Vec<_> = kids.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
        w.store.settle(&both[..1]).await.unwrap();
        w.store.settle(&both[1..]).await.unwrap();
        w.start(flow.id()).await
    };
    let before = w.get(flow.id()).await;
    w.signal(flow.id(), "x", "2").await;
    assert_eq!(w.get(flow.id()).await, before);
    w.suspend_and_wait(waiting_for(
        &task,
        kinfolk_core::NewFanOut { wake_at: 1, ..fan_out("more", 2, Rule::CollectAll) },
    ))
    .await;
    let more = w.kids(flow.id()).await[3..].to_vec();
    w.complete(more[0]).await;
    let resumed = w.get(flow.id()).await;
    w.complete(more[1]).await;
    assert_eq!(w.get(flow.id()).await, resumed, "it is resumed once");
    assert_eq!(w.tally(flow.id()).await, counts(5, 5, 0, 0));
}

/// Errors after a resumption cost attempts as ever, and the history stays.
pub async fn errors_after_a_resumption_cost_attempts(w: &World) {
    let flow = w.flow(1, Rule::FailFast).await;
    w.complete(flow.kids[0]).await;
    for attempt in 1..=3 {
        let task = w.start(flow.id()).await;
        assert_eq!((task.attempt, task.steps), (attempt, 1));
        w.settle(&task, failed(Retry::After(secs(0)))).await;
    }
    assert_eq!(w.state(flow.id()).await, State::Failed);
}

/// However many timers are due, they are opened page by page, and none is forgotten.
pub async fn all_timers_that_are_due_resume_page_by_page(w: &World) {
    let many = SWEEP_PAGE + 20;
    let all = w.enqueue_many("mail", many).await;
    let worker = w.worker().await;
    for _ in 0..2 {
        let tasks = w.claim(worker, 1_000).await;
        let batch: Vec<_> = tasks.iter().map(|task| sleeping(task, w.now().plus(secs(5)))).collect();
        w.store.suspend(&batch).await.unwrap();
    }
    w.advance(5).await;
    let mut taken = Vec::new();
    for _ in 0..3 {
        taken.extend(ids(&w.claim(worker, 1_000).await));
    }
    assert_eq!(taken, all);
}

/// A paused queue resumes nobody until it goes on.
pub async fn a_paused_queue_resumes_nobody(w: &World) {
    let task = w.root().await;
    w.suspend_and_wait(sleeping(&task, w.now().plus(secs(5)))).await;
    w.store.pause(&crate::family::home(), None).await.unwrap();
    w.advance(5).await;
    assert_eq!((w.claimable().await, w.state(task.id).await), (vec![], State::Waiting));
    w.store.resume(&crate::family::home()).await.unwrap();
    assert_eq!(w.claimable().await, [task.id]);
}
