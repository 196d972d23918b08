//! Durable handlers on the embedded store: what is special to it, and that wide fan-outs cost time in proportion.

use std::time::Duration;

use kinfolk_core::durable::{Checkpoint, Key, NewFanOut, ReadBy, Record, Recorded, Rule, StepKind, Suspend, Verdict};
use kinfolk_core::queue::Retention;
use kinfolk_core::{
    ClaimedTask, FanOutId, Inspect, Json, NewTask, Operate, Outcome, Policy, Settle, Settled, SignalName, State, Work,
    WorkerId,
};
use rusqlite::Connection;

use crate::support::{Lab, claim, enqueue, queue, register, settle, task, worker};

/// A worker, and a task of the command `flow` that it has claimed.
async fn flow(lab: &Lab) -> (WorkerId, ClaimedTask) {
    register(&lab.store, &["flow", "echo"]).await;
    let worker = worker(&lab.store).await;
    enqueue(&lab.store, &[task("flow")]).await;
    (worker, again(lab, worker).await)
}

/// The task, claimed once more.
async fn again(lab: &Lab, worker: WorkerId) -> ClaimedTask {
    claim(&lab.store, worker, &["flow"], 1).await.tasks.remove(0)
}

fn key(name: &str) -> Key {
    Key { branch: String::new(), name: name.to_owned(), occurrence: 0 }
}

fn fan_out(name: &str, children: Vec<NewTask>, rule: Rule) -> NewFanOut {
    let wake_at = u32::try_from(children.len()).unwrap();
    let key = key(name);
    NewFanOut {
        key,
        digest: String::new(),
        children: children.into(),
        rule,
        timeout: None,
        cancel_on_failure: false,
        wake_at,
    }
}

fn awaiting(task: &ClaimedTask, fan_outs: Vec<NewFanOut>) -> Suspend {
    Suspend { fan_outs, ..Suspend::new(task.id, task.token) }
}

/// The number of the only fan-out of a task.
async fn only(lab: &Lab, task: &ClaimedTask) -> FanOutId {
    lab.store.history(task.id).await.unwrap().fan_outs[0].id
}

async fn state(lab: &Lab, task: &ClaimedTask) -> State {
    lab.store.task(task.id).await.unwrap().unwrap().state
}

#[tokio::test]
async fn a_suspended_handler_is_resumed_with_its_history_when_its_fan_out_is_settled() {
    let lab = Lab::new();
    let (worker, first) = flow(&lab).await;
    let step = Checkpoint {
        key: key("one"),
        kind: StepKind::Step,
        digest: String::new(),
        value: Json::parse("1.50").unwrap(),
    };
    let record = Record { task: first.id, token: first.token, checkpoints: vec![step.clone()] };
    assert_eq!(lab.store.record(std::slice::from_ref(&record)).await.unwrap(), [Recorded::Written]);
    assert_eq!(lab.store.record(&[record]).await.unwrap(), [Recorded::Written]);
    let suspend = awaiting(&first, vec![fan_out("items", vec![task("echo"); 3], Rule::CollectAll)]);
    assert_eq!(lab.store.suspend(std::slice::from_ref(&suspend)).await.unwrap(), [Settled::Recorded(State::Waiting)]);
    assert_eq!(lab.store.suspend(&[suspend]).await.unwrap(), [Settled::Repeated(State::Waiting)]);
    assert_eq!(lab.store.check().await.unwrap(), []);
    let children = claim(&lab.store, worker, &["echo"], 3).await;
    settle(&lab.store, &children, Outcome::Done(Some(Json::parse("[1]").unwrap()))).await;
    let resumed = again(&lab, worker).await;
    assert_eq!((resumed.id, resumed.attempt, resumed.steps), (first.id, 1, 2));
    let history = lab.store.history(first.id).await.unwrap();
    assert_eq!(history.checkpoints[0], step);
    assert_eq!((history.fan_outs[0].verdict, history.fan_outs[0].decided_at), (Some(Verdict::Completed), Some(3)));
    assert_eq!(history.results.len(), 3);
    assert_eq!(lab.store.check().await.unwrap(), []);
    let done = Settle::new(resumed.id, resumed.token, Outcome::Done(None));
    assert_eq!(lab.store.settle(&[done]).await.unwrap(), [Settled::Recorded(State::Completed)]);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_fan_out_of_a_hundred_thousand_resumes_its_task_and_is_read_in_both_orders() {
    const WIDTH: usize = 100_000;
    let lab = Lab::new();
    let (worker, first) = flow(&lab).await;
    let suspend = awaiting(&first, vec![fan_out("wide", vec![task("echo"); WIDTH], Rule::FailFast)]);
    lab.store.suspend(&[suspend]).await.unwrap();
    let fan_out = only(&lab, &first).await;
    let mut done = 0;
    while done < WIDTH {
        let mut taken = claim(&lab.store, worker, &["echo"], 1000).await;
        taken.tasks.reverse();
        settle(&lab.store, &taken, Outcome::Done(None)).await;
        done += taken.tasks.len();
    }
    assert_eq!(again(&lab, worker).await.id, first.id);
    for (by, from) in [(ReadBy::Index, 0), (ReadBy::Ended, 0), (ReadBy::Index, 99_500), (ReadBy::Ended, 99_500)] {
        let page = lab.store.results(fan_out, by, from, 500).await.unwrap();
        assert_eq!(page.len(), 500);
        for (nth, result) in (from..).zip(page) {
            assert_eq!((result.index, result.ended), (nth, Some(nth)), "each call's children are in their own order");
        }
    }
    assert_eq!(lab.store.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn the_sweep_resumes_a_task_that_someone_left_suspended() {
    let lab = Lab::new();
    let (worker, first) = flow(&lab).await;
    let suspend = awaiting(&first, vec![fan_out("items", vec![task("echo"); 2], Rule::CollectAll)]);
    lab.store.suspend(&[suspend]).await.unwrap();
    assert_eq!(lab.store.sweep().await.unwrap(), 0);
    let spy = Connection::open(lab.path()).unwrap();
    spy.execute_batch("update fan_out set total = 4, wake_at = 4").unwrap();
    let children = claim(&lab.store, worker, &["echo"], 2).await;
    settle(&lab.store, &children, Outcome::Done(None)).await;
    assert_eq!(state(&lab, &first).await, State::Waiting);
    assert_eq!(lab.store.sweep().await.unwrap(), 1);
    assert_eq!(state(&lab, &first).await, State::Pending);
    assert_eq!(lab.store.check().await.unwrap(), []);
    spy.execute_batch(
        "update fan_out set wake_at = 2;
        update task set state = 'waiting', gate = null, bucket = 'waiting' where state = 'pending'",
    )
    .unwrap();
    assert_eq!(lab.store.sweep().await.unwrap(), 1);
    assert_eq!(state(&lab, &first).await, State::Pending);
    assert_eq!(lab.store.sweep().await.unwrap(), 0);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_fan_out_that_settles_in_calls_of_one_is_resumed_and_read_as_it_ended() {
    const WIDTH: usize = 500;
    let lab = Lab::new();
    let (worker, first) = flow(&lab).await;
    let children = vec![task("echo"); WIDTH];
    lab.store.suspend(&[awaiting(&first, vec![fan_out("items", children, Rule::CollectAll)])]).await.unwrap();
    let fan_out = only(&lab, &first).await;
    let mut taken = claim(&lab.store, worker, &["echo"], WIDTH).await;
    taken.tasks.reverse();
    for task in &taken.tasks {
        lab.store.settle(&[Settle::new(task.id, task.token, Outcome::Done(None))]).await.unwrap();
    }
    let page = lab.store.results(fan_out, ReadBy::Ended, 150, 100).await.unwrap();
    let expected: Vec<_> = taken.tasks[150..250].iter().map(|task| task.id).collect();
    assert_eq!(page.iter().map(|result| result.task).collect::<Vec<_>>(), expected);
    let pages: i64 = Connection::open(lab.path())
        .unwrap()
        .query_row("select count(*) from ended_page", (), |row| row.get(0))
        .unwrap();
    assert_eq!(pages, 3, "each place is kept in few rows");
    assert_eq!(state(&lab, &first).await, State::Pending);
    assert_eq!(lab.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn what_a_durable_family_has_left_behind_goes_with_it() {
    let lab = Lab::new();
    let (worker, first) = flow(&lab).await;
    let done = SignalName::new("done").unwrap();
    lab.store.signal(first.id, &done, &Json::object()).await.unwrap();
    lab.store.suspend(&[awaiting(&first, vec![fan_out("items", vec![task("echo")], Rule::FailFast)])]).await.unwrap();
    settle(&lab.store, &claim(&lab.store, worker, &["echo"], 1).await, Outcome::Done(None)).await;
    let resumed = again(&lab, worker).await;
    lab.store.settle(&[Settle::new(resumed.id, resumed.token, Outcome::Done(None))]).await.unwrap();
    let retention = Retention { completed: Some(Duration::ZERO), ..Retention::default() };
    lab.store.set_queue(&queue(), &Policy { retention, ..Policy::default() }).await.unwrap();
    assert_eq!(lab.store.prune().await.unwrap(), 2);
    let spy = Connection::open(lab.path()).unwrap();
    for table in ["task", "fan_out", "checkpoint", "ended_page", "signal"] {
        let left: i64 = spy.query_row(&format!("select count(*) from {table}"), (), |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

/// A handler with thousands of calls behind it costs no more to suspend and resume than one with none.
#[tokio::test]
async fn the_thousandth_call_of_a_handler_is_as_cheap_as_the_first() {
    const CALLS: u32 = 1000;
    let lab = Lab::new();
    let (worker, mut flow) = flow(&lab).await;
    let spy = Connection::open(lab.path()).unwrap();
    let pages = || -> i64 { spy.query_row("pragma page_count", (), |row| row.get(0)).unwrap() };
    let before = pages();
    for occurrence in 0..CALLS {
        let call = fan_out("call", vec![task("echo")], Rule::FailFast);
        let call = NewFanOut { key: Key { occurrence, ..key("call") }, ..call };
        lab.store.suspend(&[awaiting(&flow, vec![call])]).await.unwrap();
        settle(&lab.store, &claim(&lab.store, worker, &["echo"], 1).await, Outcome::Done(None)).await;
        flow = again(&lab, worker).await;
        assert_eq!((flow.steps, flow.attempt), (occurrence + 1, 1));
    }
    assert!(pages() - before < 400, "{} pages for {CALLS} calls", pages() - before);
    let done = Settle::new(flow.id, flow.token, Outcome::Done(None));
    assert_eq!(lab.store.settle(&[done]).await.unwrap(), [Settled::Recorded(State::Completed)]);
    assert_eq!(lab.store.tally(flow.id).await.unwrap().completed, u64::from(CALLS));
    let last = lab.store.children(flow.id, u64::from(CALLS) - 1, 10).await.unwrap();
    assert_eq!(last.len(), 1);
    assert_eq!(lab.store.check().await.unwrap(), []);
}
