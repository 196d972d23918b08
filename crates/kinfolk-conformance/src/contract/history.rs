//! The history that a handler is resumed with.

use kinfolk_core::limits::INLINE_RESULTS_MAX;
use kinfolk_core::{History, Outcome, Retry, Rule, Settled, State, Suspend, TaskId, Verdict};

use crate::family::counts;
use crate::flow::{begun, fan_out, step, suspend_of, waiting_for};
use crate::world::{World, failed, failure, json, settle_of};

/// Most tasks have none, and neither has one that never was.
pub async fn most_tasks_have_none(w: &World) {
    let (root, kids) = w.parent_of(2).await;
    for id in [root, kids[0], TaskId(i64::MAX)] {
        assert_eq!(w.history(id).await, History::default());
    }
}

/// Everything that was recorded, the fan-outs and their results, by number and index.
pub async fn it_holds_checkpoints_fan_outs_and_results(w: &World) {
    let root = w.root().await;
    w.record(&root, &[step("a", "1")]).await;
    let begun_at = w.now();
    w.advance(3).await;
    let suspend = Suspend {
        checkpoints: vec![step("b", "2")],
        fan_outs: vec![fan_out("first", 2, Rule::CollectAll), fan_out("second", 1, Rule::FailFast)],
        ..suspend_of(&root)
    };
    w.suspend_and_wait(suspend).await;
    let history = w.history(root.id).await;
    let [first, second] = &history.fan_outs[..] else { panic!("{history:?}") };
    let recorded = [step("a", "1"), step("b", "2"), begun("first", first.id), begun("second", second.id)];
    assert_eq!(history.checkpoints, recorded);
    assert_eq!(history.recorded_at, [begun_at, w.now(), w.now(), w.now()], "each has the time of its call");
    assert!(first.id < second.id);
    assert_eq!((first.task, first.rule, first.tally), (root.id, Rule::CollectAll, counts(2, 0, 0, 0)));
    assert_eq!((first.verdict, first.decided_at, first.deadline), (None, None, None));
    assert_eq!((second.rule, second.tally, second.created_at), (Rule::FailFast, counts(1, 0, 0, 0), w.now()));
    assert_eq!(history.results, [], "nothing is settled");

    let kids = w.children_in(first.id).await;
    w.let_fail(kids[0]).await;
    w.work(kids[1], Outcome::Done(Some(json(r#"{"n":1.50}"#)))).await;
    let history = w.history(root.id).await;
    assert_eq!(history.fan_outs[0].verdict, Some(Verdict::Completed));
    assert_eq!((history.fan_outs[0].decided_at, history.fan_outs[0].tally), (Some(2), counts(2, 1, 1, 0)));
    let [one, two] = &history.results[..] else { panic!("{history:?}") };
    assert_eq!((one.fan_out, one.index, one.task), (first.id, 0, kids[0]));
    assert_eq!((one.state, one.ended, one.attempt), (State::Failed, Some(0), 1));
    assert_eq!((&one.result, &one.failure), (&None, &Some(failure())));
    assert_eq!((two.index, two.task, two.state, two.ended), (1, kids[1], State::Completed, Some(1)));
    let result = two.result.as_ref().map(kinfolk_core::Json::canonical).unwrap();
    assert_eq!(result.as_str(), r#"{"n":1.50}"#);
}

/// Children of a settled fan-out are there whether they have ended or not.
pub async fn open_children_of_a_settled_fan_out_are_there_too(w: &World) {
    let flow = w.flow(3, Rule::FailFast).await;
    w.let_fail(flow.kids[0]).await;
    let results = w.history(flow.id()).await.results;
    let seen: Vec<_> = results.iter().map(|result| (result.state, result.ended)).collect();
    assert_eq!(seen, [(State::Failed, Some(0)), (State::Pending, None), (State::Pending, None)]);
}

/// Results of a wide fan-out are read apart.
pub async fn results_of_a_wide_fan_out_are_not_in_it(w: &World) {
    for many in [INLINE_RESULTS_MAX, INLINE_RESULTS_MAX + 1] {
        let flow = w.flow(many, Rule::CollectAll).await;
        let worker = w.worker().await;
        let tasks = w.claim(worker, 100).await;
        let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
        assert_eq!(w.store.settle(&batch).await.unwrap().len(), many);
        let history = w.history(flow.id()).await;
        assert_eq!(history.fan_outs[0].verdict, Some(Verdict::Completed));
        assert_eq!(history.results.len(), if many > INLINE_RESULTS_MAX { 0 } else { many });
        w.work(flow.id(), Outcome::Done(None)).await;
    }
}

/// The fan-outs of one task are not in the history of another, and children that were spawned are in none.
pub async fn it_is_of_one_task_alone(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    let child = w.start(flow.kids[0]).await;
    let inner = w.await_in(child, fan_out("inner", 1, Rule::FailFast)).await;
    assert_eq!(w.history(flow.id()).await.fan_outs.len(), 1);
    let history = w.history(inner.id()).await;
    assert_eq!((history.fan_outs.len(), history.fan_outs[0].task), (1, inner.id()));
    let (parent, _) = w.parent_of(2).await;
    assert_eq!(w.history(parent).await, History::default());
}

/// Attempts that fail leave the history as it was.
pub async fn a_failed_attempt_leaves_it_as_it_was(w: &World) {
    let flow = w.flow(1, Rule::CollectAll).await;
    w.complete(flow.kids[0]).await;
    let before = w.history(flow.id()).await;
    let task = w.start(flow.id()).await;
    assert_eq!(w.settle(&task, failed(Retry::Policy)).await, Settled::Recorded(State::Pending));
    assert_eq!(w.history(flow.id()).await, before);
    w.advance(60).await;
    let task = w.start(flow.id()).await;
    assert_eq!((task.steps, task.attempt), (1, 2));
    w.suspend_and_wait(waiting_for(&task, fan_out("next", 1, Rule::FailFast))).await;
    assert_eq!(w.history(flow.id()).await.fan_outs.len(), 2);
}
