//! Signals: sent to a task by anyone, kept until its handler asks, in the order in which they came.

use kinfolk_core::limits::{PAYLOAD_BYTES_MAX, SIGNALS_KEPT_MAX};
use kinfolk_core::{
    Checkpoint, Gate, InputError, Outcome, Rule, Settled, Signalled, State, StepKind, StoreError, Suspend, TakenSignal,
    TaskId,
};

use crate::flow::{fan_out, key, listening, signal_name, step, waiting_for};
use crate::world::{World, json, secs};

fn taken(value: &str) -> TakenSignal {
    TakenSignal::Signal(json(value))
}

/// A signal resumes the handler that waits for it, which takes it then.
pub async fn a_signal_resumes_the_handler_that_waits_for_it(w: &World) {
    let task = w.root().await;
    w.suspend_and_wait(Suspend { signals: vec![signal_name("go"), signal_name("stop")], ..listening(&task, "go") })
        .await;
    assert_eq!(w.get(task.id).await.signals, [signal_name("go"), signal_name("stop")]);
    assert_eq!(w.signal(task.id, "other", "0").await, Signalled::Kept);
    assert_eq!(w.state(task.id).await, State::Waiting);
    assert_eq!(w.signal(task.id, "stop", r#"{"why":1.10}"#).await, Signalled::Resumed);
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.gate, shown.signals), (State::Pending, Some(Gate::Open), vec![]));
    assert_eq!(w.signal(task.id, "stop", "2").await, Signalled::Kept, "it is resumed once");
    let task = w.start(task.id).await;
    assert_eq!(w.take_signal(&task, "a", "go").await, TakenSignal::Nothing);
    match w.take_signal(&task, "b", "stop").await {
        TakenSignal::Signal(value) => assert_eq!(value.canonical().as_str(), r#"{"why":1.10}"#),
        other => panic!("{other:?}"),
    }
    assert_eq!(w.take_signal(&task, "c", "stop").await, taken("2"));
    assert_eq!(w.take_signal(&task, "d", "stop").await, TakenSignal::Nothing);
    assert_eq!(w.take_signal(&task, "e", "other").await, taken("0"));
}

/// Signals are kept for a task in any state but an ended one, and taken in the order in which they came, by name.
pub async fn signals_are_kept_in_order_until_asked_for(w: &World) {
    let id = w.enqueue("mail").await;
    assert_eq!(w.signal(id, "n", "1").await, Signalled::Kept);
    let task = w.start(id).await;
    assert_eq!(w.signal(id, "m", "7").await, Signalled::Kept);
    assert_eq!(w.signal(id, "n", "2").await, Signalled::Kept);
    w.suspend_and_wait(waiting_for(&task, fan_out("items", 1, Rule::FailFast))).await;
    assert_eq!(w.signal(id, "n", "3").await, Signalled::Kept);
    assert_eq!(w.state(id).await, State::Waiting);
    w.complete(w.kids(id).await[0]).await;
    let task = w.start(id).await;
    for value in ["1", "2", "3"] {
        assert_eq!(w.take_signal(&task, value, "n").await, taken(value));
    }
    assert_eq!(w.take_signal(&task, "m", "m").await, taken("7"));
}

/// A signal that came before is there already: the handler goes on at once.
pub async fn a_signal_that_came_before_is_there_already(w: &World) {
    let task = w.root().await;
    w.signal(task.id, "go", "1").await;
    assert_eq!(w.suspend(listening(&task, "go")).await, Settled::Recorded(State::Pending));
    let task = w.start(task.id).await;
    assert_eq!(w.take_signal(&task, "a", "go").await, taken("1"));
    w.suspend_and_wait(listening(&task, "go")).await;
    assert_eq!(w.signal(task.id, "go", "2").await, Signalled::Resumed);
}

/// A taken signal is recorded under the handler's key; asking again gives it again, and takes no other.
pub async fn a_taken_signal_is_recorded(w: &World) {
    let task = w.root().await;
    for value in ["1", "2"] {
        w.signal(task.id, "go", value).await;
    }
    for _ in 0..2 {
        assert_eq!(w.take_signal(&task, "first", "go").await, taken("1"));
    }
    let recorded = Checkpoint { key: key("first"), kind: StepKind::Signal, digest: String::new(), value: json("[1]") };
    assert_eq!(w.history(task.id).await.checkpoints, [recorded]);
    assert_eq!(w.get(task.id).await.steps, 1);
    w.settle(&task, Outcome::Release).await;
    let task = w.start(task.id).await;
    assert_eq!(w.take_signal(&task, "first", "go").await, taken("1"));
    assert_eq!(w.take_signal(&task, "second", "go").await, taken("2"));
}

/// A wait that was given up stays given up: a signal that comes later is for someone else.
pub async fn a_wait_that_was_given_up_stays_given_up(w: &World) {
    let task = w.root().await;
    w.suspend_and_wait(Suspend { until: Some(w.now().plus(secs(5))), ..listening(&task, "go") }).await;
    w.advance(5).await;
    let task = w.start(task.id).await;
    assert_eq!(w.get(task.id).await.signals, []);
    assert_eq!(w.take_signal(&task, "wait", "go").await, TakenSignal::Nothing);
    assert_eq!(w.history(task.id).await.checkpoints, [], "nothing taken, nothing recorded");
    let given_up = Checkpoint { kind: StepKind::Signal, ..step("wait", "[]") };
    w.record(&task, &[given_up]).await;
    w.signal(task.id, "go", "1").await;
    assert_eq!(w.take_signal(&task, "wait", "go").await, TakenSignal::Nothing);
    assert_eq!(w.take_signal(&task, "next", "go").await, taken("1"));
}

/// A key that was recorded as something else is not a signal's.
pub async fn a_key_of_another_kind_is_refused(w: &World) {
    let task = w.root().await;
    w.record(&task, &[step("a", "1")]).await;
    w.signal(task.id, "go", "1").await;
    match w.store.take_signal(task.id, task.token, &key("a"), &signal_name("go")).await {
        Err(StoreError::Input(InputError::Other(why))) => {
            assert_eq!(why, format!("task {} has already recorded step a", task.id));
        }
        answer => panic!("{answer:?}"),
    }
    assert_eq!(w.take_signal(&task, "b", "go").await, taken("1"), "it is still there");
}

/// A token that no longer holds takes nothing.
pub async fn a_stale_token_takes_nothing(w: &World) {
    let old = w.root().await;
    w.signal(old.id, "go", "1").await;
    w.settle(&old, Outcome::Release).await;
    assert_eq!(w.take_signal(&old, "a", "go").await, TakenSignal::Stale);
    let new = w.start(old.id).await;
    assert_eq!(w.take_signal(&old, "a", "go").await, TakenSignal::Stale);
    assert_eq!(w.take_signal(&new, "a", "go").await, taken("1"));
    let nobody = w.store.take_signal(TaskId(i64::MAX), new.token, &key("a"), &signal_name("go")).await;
    assert_eq!(nobody.unwrap(), TakenSignal::Stale);
}

/// Nobody signals what is not there or has ended.
pub async fn nothing_that_has_ended_is_signalled(w: &World) {
    let nobody = w.store.signal(TaskId(i64::MAX), &signal_name("go"), &json("1")).await;
    assert!(matches!(nobody, Err(StoreError::NotFound { what: "task", .. })), "{nobody:?}");
    for id in [w.completed().await, w.failed().await] {
        let state = w.state(id).await;
        match w.store.signal(id, &signal_name("go"), &json("1")).await {
            Err(StoreError::WrongState { task, state: found, remedy }) => {
                assert_eq!((task, found, remedy), (id, state, "a task that has ended gets no signals"));
            }
            answer => panic!("{answer:?}"),
        }
    }
}

/// A task that waits for its children after its own work keeps them, to no harm.
pub async fn a_task_whose_work_is_done_keeps_them(w: &World) {
    let (root, kids) = w.parent_of(1).await;
    assert_eq!(w.signal(root, "go", "1").await, Signalled::Kept);
    assert_eq!(w.state(root).await, State::Waiting);
    w.complete(kids[0]).await;
    assert_eq!(w.state(root).await, State::Completed);
}

/// Only so many are kept for one task, and none is larger than a payload.
pub async fn only_so_many_are_kept(w: &World) {
    let task = w.root().await;
    let (go, one) = (signal_name("go"), json("1"));
    for _ in 0..SIGNALS_KEPT_MAX {
        w.store.signal(task.id, &go, &one).await.unwrap();
    }
    match w.store.signal(task.id, &go, &one).await {
        Err(StoreError::Input(InputError::Batch {
            what: "signals kept for one task",
            given,
            max: SIGNALS_KEPT_MAX,
        })) => {
            assert_eq!(given, SIGNALS_KEPT_MAX + 1);
        }
        answer => panic!("{answer:?}"),
    }
    assert_eq!(w.take_signal(&task, "a", "go").await, taken("1"));
    w.store.signal(task.id, &go, &one).await.unwrap();
    let long = json(&format!("{:?}", "x".repeat(PAYLOAD_BYTES_MAX)));
    let answer = w.store.signal(task.id, &go, &long).await;
    assert!(matches!(answer, Err(StoreError::Input(InputError::TooLarge { what: "signal", .. }))), "{answer:?}");
}
