//! Why a suspended handler does not go on.

use kinfolk_core::{Reason, Rule, Suspend};

use crate::family::counts;
use crate::flow::{fan_out, listening, signal_name, sleeping, waiting_for};
use crate::world::{World, secs};

/// It sleeps, or waits no longer than that.
pub async fn a_handler_that_sleeps(w: &World) {
    let task = w.root().await;
    let until = w.now().plus(secs(9));
    w.suspend_and_wait(sleeping(&task, until)).await;
    assert_eq!(w.why(task.id).await, [Reason::Asleep { until }]);
    w.advance(9).await;
    w.start(task.id).await;
}

/// It waits for a signal.
pub async fn a_handler_that_waits_for_a_signal(w: &World) {
    let task = w.root().await;
    w.suspend_and_wait(listening(&task, "go")).await;
    assert_eq!(w.why(task.id).await, [Reason::Signal { names: vec![signal_name("go")] }]);
    w.signal(task.id, "go", "1").await;
    assert_eq!(w.words(task.id).await, ["in_line"]);
    w.start(task.id).await;
}

/// It awaits children.
pub async fn a_handler_that_awaits_children(w: &World) {
    let flow = w.flow(2, Rule::CollectAll).await;
    w.complete(flow.kids[0]).await;
    let reason = Reason::Children { tally: counts(2, 1, 0, 0), open: flow.kids[1..].to_vec() };
    assert_eq!(w.why(flow.id()).await, [reason]);
    w.complete(flow.kids[1]).await;
    assert_eq!(w.words(flow.id()).await, ["in_line"]);
    w.start(flow.id()).await;
}

/// It waits for several things at once: all of them are named.
pub async fn a_handler_that_waits_for_several_things(w: &World) {
    let task = w.root().await;
    let until = w.now().plus(secs(9));
    let suspend = waiting_for(&task, fan_out("items", 1, Rule::FailFast));
    w.suspend_and_wait(Suspend { until: Some(until), signals: vec![signal_name("a"), signal_name("b")], ..suspend })
        .await;
    assert_eq!(w.words(task.id).await, ["children", "signal", "asleep"]);
}

/// A handler that is resumed and finds no room under its keys is held up like any other task.
pub async fn a_resumed_handler_under_a_full_key(w: &World) {
    w.groups([("tenant", 1)]).await;
    let task = w.start(w.under(&[("tenant", "acme")]).await).await;
    w.suspend_and_wait(listening(&task, "go")).await;
    let other = w.start(w.under(&[("tenant", "acme")]).await).await;
    w.signal(task.id, "go", "1").await;
    assert_eq!(w.words(task.id).await, ["key_full"]);
    w.done(&other).await;
    assert_eq!(w.words(task.id).await, ["in_line"]);
    w.start(task.id).await;
}
