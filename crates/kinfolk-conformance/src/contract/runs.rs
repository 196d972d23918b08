//! The course of a task: every run, who ran it, how it ended and what the task waited for then.

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::task::Ending;
use kinfolk_core::{FanOutId, InputError, Outcome, Retry, Rule, Run, Settled, State, StoreError, TaskId, WaitedFor};

use crate::family::children;
use crate::flow::{fan_out, listening, sleeping, waiting_for};
use crate::world::{World, failed, secs};

async fn runs(w: &World, id: TaskId) -> Vec<Run> {
    w.store.runs(&[id]).await.unwrap()
}

/// A task that is completed by its first run has that one run, while it goes on and after it.
pub async fn a_task_done_at_once_has_one_run(w: &World) {
    let id = w.enqueue("mail").await;
    assert_eq!(runs(w, id).await, []);
    assert_eq!((w.get(id).await.first_started_at, w.get(id).await.fan_out, w.get(id).await.index), (None, None, None));
    w.advance(1).await;
    let task = w.start(id).await;
    let shown = w.get(id).await;
    assert_eq!((shown.first_started_at, shown.started_at), (Some(w.now()), Some(w.now())));
    let running = Run {
        task: id,
        run: 1,
        attempt: 1,
        started_at: w.now(),
        ended_at: None,
        worker: shown.worker.unwrap(),
        ending: None,
        failure: None,
        waited_for: None,
    };
    assert_eq!(runs(w, id).await, std::slice::from_ref(&running));
    w.advance(3).await;
    w.done(&task).await;
    let ended = Run { ended_at: Some(w.now()), ending: Some(Ending::Completed), ..running };
    assert_eq!((runs(w, id).await, w.store.attempts(id).await.unwrap()), (vec![ended], vec![]));
}

/// Every run is told, whatever it ended in, with its worker; a retry by hand forgets none, and keeps the first start.
pub async fn every_run_is_told(w: &World) {
    let id = w.enqueue("mail").await;
    let began = w.now();
    let mut workers = Vec::new();
    for outcome in [failed(Retry::After(secs(0))), Outcome::Snooze(secs(0)), failed(Retry::Never)] {
        let task = w.start(id).await;
        workers.push(w.get(id).await.worker.unwrap());
        w.advance(2).await;
        w.settle(&task, outcome).await;
    }
    w.store.retry(id).await.unwrap();
    assert_eq!((w.get(id).await.started_at, w.get(id).await.first_started_at), (None, Some(began)));
    let task = w.start(id).await;
    workers.push(w.get(id).await.worker.unwrap());
    w.done(&task).await;
    let told = runs(w, id).await;
    let endings: Vec<_> = told.iter().filter_map(|run| run.ending).collect();
    assert_eq!(endings, [Ending::Retried, Ending::Snoozed, Ending::Failed, Ending::Completed]);
    assert_eq!(told.iter().map(|run| run.worker).collect::<Vec<_>>(), workers);
    assert_eq!(told.iter().map(|run| run.run).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for (run, nth) in told[..3].iter().zip(0_u64..) {
        assert_eq!(run.started_at, began.plus(secs(2 * nth)));
        assert_eq!(run.ended_at, Some(run.started_at.plus(secs(2))));
    }
    assert!(told[2].failure.is_some() && told[3].failure.is_none());
    assert_eq!(w.get(id).await.first_started_at, Some(began));
}

/// A run that ends in a suspension says what its handler waits for: fan-outs, a moment, signals.
pub async fn a_suspension_says_what_it_waits_for(w: &World) {
    let root = w.root().await;
    w.advance(1).await;
    w.suspend_and_wait(waiting_for(&root, fan_out("items", 2, Rule::CollectAll))).await;
    let items = w.latest(root.id).await;
    for child in w.kids(root.id).await {
        w.complete(child).await;
    }
    let (task, until) = (w.start(root.id).await, w.now().plus(secs(5)));
    w.suspend_and_wait(sleeping(&task, until)).await;
    w.advance(5).await;
    let task = w.start(root.id).await;
    w.suspend_and_wait(listening(&task, "go")).await;
    w.signal(root.id, "go", "1").await;
    let task = w.start(root.id).await;
    assert_eq!(w.done(&task).await, Settled::Recorded(State::Completed));
    let told = runs(w, root.id).await;
    let endings: Vec<_> = told.iter().filter_map(|run| run.ending).collect();
    assert_eq!(endings, [Ending::Suspended, Ending::Suspended, Ending::Suspended, Ending::Completed]);
    let waits: Vec<_> = told.into_iter().map(|run| run.waited_for).collect();
    assert_eq!(waits[0], Some(WaitedFor { fan_outs: vec![items], ..WaitedFor::default() }));
    assert_eq!(waits[1], Some(WaitedFor { until: Some(until), ..WaitedFor::default() }));
    assert_eq!(waits[2].as_ref().unwrap().signals.iter().map(AsRef::as_ref).collect::<Vec<&str>>(), ["go"]);
    assert_eq!(waits[3], None);
    assert_eq!(w.endings(root.id).await, [Ending::Completed], "a suspension ends no attempt");
}

/// The own work of a parent ends when it begins to wait; its children know their fan-out and their place in it.
pub async fn a_parents_own_work_ends_before_its_children(w: &World) {
    let root = w.root().await;
    w.advance(2).await;
    let ended = w.now();
    w.leave_behind(&root, children(2)).await;
    w.advance(5).await;
    for (child, index) in w.kids(root.id).await.into_iter().zip(0..) {
        let shown = w.get(child).await;
        assert_eq!((shown.fan_out, shown.index), (Some(FanOutId(root.id.0)), Some(index)));
        assert_eq!((runs(w, root.id).await[0].ended_at, w.state(root.id).await), (Some(ended), State::Waiting));
        w.complete(child).await;
    }
    assert_eq!((w.state(root.id).await, runs(w, root.id).await.len()), (State::Completed, 1));
    assert_eq!(runs(w, root.id).await[0].ended_at, Some(ended));
}

/// An awaited fan-out says when it was settled, and its children which they are of it.
pub async fn a_fan_out_says_when_it_was_settled(w: &World) {
    let flow = w.flow(2, Rule::CollectAll).await;
    assert_eq!(w.get(flow.kids[1]).await.fan_out, Some(flow.fan_out));
    assert_eq!(w.get(flow.kids[1]).await.index, Some(1));
    w.complete(flow.kids[0]).await;
    assert_eq!(w.fan_out(&flow).await.settled_at, None);
    w.advance(7).await;
    w.complete(flow.kids[1]).await;
    let settled_at = w.now();
    w.advance(1).await;
    assert_eq!(w.fan_out(&flow).await.settled_at, Some(settled_at));
}

/// The runs of many tasks come in one answer, by task, each task once; of what does not exist there are none.
pub async fn the_runs_of_many_tasks_come_at_once(w: &World) {
    let (first, second, third) = (w.completed().await, w.failed().await, w.enqueue("mail").await);
    let told = w.store.runs(&[third, second, TaskId(987_654_321), first, second]).await.unwrap();
    assert_eq!(told.iter().map(|run| run.task).collect::<Vec<_>>(), [first, second]);
    assert_eq!(w.store.runs(&[]).await.unwrap(), []);
    let many = vec![first; PAGE_MAX + 1];
    let refused = w.store.runs(&many).await;
    assert!(matches!(refused, Err(StoreError::Input(InputError::Batch { .. }))), "{refused:?}");
}
