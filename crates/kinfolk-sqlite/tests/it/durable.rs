//! Durable handlers on the embedded store: what is special to it, and that wide fan-outs cost time in proportion.

use kinfolk_core::durable::{Checkpoint, Key, NewFanOut, ReadBy, Record, Recorded, Rule, StepKind, Suspend, Verdict};
use kinfolk_core::{ClaimedTask, FanOutId, Inspect, Json, NewTask, Outcome, Settle, Settled, State, Work, WorkerId};

use crate::support::{Place, claim, enqueue, register, settle, task, worker};

/// A worker, and a task of the command `flow` that it has claimed.
async fn flow(place: &Place) -> (WorkerId, ClaimedTask) {
    register(&place.store, &["flow", "echo"]).await;
    let worker = worker(&place.store).await;
    enqueue(&place.store, &[task("flow")]).await;
    (worker, again(place, worker).await)
}

/// The task, claimed once more.
async fn again(place: &Place, worker: WorkerId) -> ClaimedTask {
    claim(&place.store, worker, &["flow"], 1).await.tasks.remove(0)
}

fn key(name: &str) -> Key {
    Key { branch: String::new(), name: name.to_owned(), occurrence: 0 }
}

fn fan_out(name: &str, children: Vec<NewTask>, rule: Rule) -> NewFanOut {
    let wake_at = u32::try_from(children.len()).unwrap();
    let key = key(name);
    NewFanOut { key, digest: String::new(), children, rule, timeout: None, cancel_on_failure: false, wake_at }
}

fn awaiting(task: &ClaimedTask, fan_outs: Vec<NewFanOut>) -> Suspend {
    Suspend { fan_outs, ..Suspend::new(task.id, task.token) }
}

/// The number of the only fan-out of a task.
async fn only(place: &Place, task: &ClaimedTask) -> FanOutId {
    place.store.history(task.id).await.unwrap().fan_outs[0].id
}

#[tokio::test]
async fn a_suspended_handler_is_resumed_with_its_history_when_its_fan_out_is_settled() {
    let place = Place::new();
    let (worker, first) = flow(&place).await;
    let step = Checkpoint {
        key: key("one"),
        kind: StepKind::Step,
        digest: String::new(),
        value: Json::parse("1.50").unwrap(),
    };
    let record = Record { task: first.id, token: first.token, checkpoints: vec![step.clone()] };
    assert_eq!(place.store.record(std::slice::from_ref(&record)).await.unwrap(), [Recorded::Written]);
    assert_eq!(place.store.record(&[record]).await.unwrap(), [Recorded::Written]);
    let suspend = awaiting(&first, vec![fan_out("items", vec![task("echo"); 3], Rule::CollectAll)]);
    assert_eq!(place.store.suspend(std::slice::from_ref(&suspend)).await.unwrap(), [Settled::Recorded(State::Waiting)]);
    assert_eq!(place.store.suspend(&[suspend]).await.unwrap(), [Settled::Repeated(State::Waiting)]);
    assert_eq!(place.store.check().await.unwrap(), []);
    let children = claim(&place.store, worker, &["echo"], 3).await;
    settle(&place.store, &children, Outcome::Done(Some(Json::parse("[1]").unwrap()))).await;
    let resumed = again(&place, worker).await;
    assert_eq!((resumed.id, resumed.attempt, resumed.steps), (first.id, 1, 2));
    let history = place.store.history(first.id).await.unwrap();
    assert_eq!(history.checkpoints[0], step);
    assert_eq!((history.fan_outs[0].verdict, history.fan_outs[0].decided_at), (Some(Verdict::Completed), Some(3)));
    assert_eq!(history.results.len(), 3);
    assert_eq!(place.store.check().await.unwrap(), []);
    let done = Settle::new(resumed.id, resumed.token, Outcome::Done(None));
    assert_eq!(place.store.settle(&[done]).await.unwrap(), [Settled::Recorded(State::Completed)]);
    assert_eq!(place.store.check().await.unwrap(), []);
}

#[tokio::test]
async fn a_fan_out_of_a_hundred_thousand_resumes_its_task_and_is_read_in_both_orders() {
    const WIDTH: usize = 100_000;
    let place = Place::new();
    let (worker, first) = flow(&place).await;
    let suspend = awaiting(&first, vec![fan_out("wide", vec![task("echo"); WIDTH], Rule::FailFast)]);
    place.store.suspend(&[suspend]).await.unwrap();
    let fan_out = only(&place, &first).await;
    let mut done = 0;
    while done < WIDTH {
        let mut taken = claim(&place.store, worker, &["echo"], 1000).await;
        taken.tasks.reverse();
        settle(&place.store, &taken, Outcome::Done(None)).await;
        done += taken.tasks.len();
    }
    assert_eq!(again(&place, worker).await.id, first.id);
    for (by, from) in [(ReadBy::Index, 0), (ReadBy::Ended, 0), (ReadBy::Index, 99_500), (ReadBy::Ended, 99_500)] {
        let page = place.store.results(fan_out, by, from, 500).await.unwrap();
        assert_eq!(page.len(), 500);
        for (nth, result) in (from..).zip(page) {
            assert_eq!((result.index, result.ended), (nth, Some(nth)), "each call's children are in their own order");
        }
    }
    assert_eq!(place.store.sweep().await.unwrap(), 0);
}
