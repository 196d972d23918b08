//! Suspending: a handler that waits gives its worker back, and all it made and recorded is written at once.

use kinfolk_core::{
    Await, ChildOrder, Command, Due, FailureKind, FanOutId, Gate, InputError, Key, Made, NewFanOut, NewTask, Outcome,
    Retry, RetryPolicy, Rule, Settled, State, StoreError, Suspend, Token, Unique, UniqueScope, When,
};

use crate::family::{children, children_at_once, counts, deep, follow_up, in_order, siblings, these};
use crate::flow::{
    begun, fan_out, fan_out_of, having_made, key, listening, sleeping, step, suspend_of, under, waiting_again,
    waiting_for,
};
use crate::world::{World, failed, new_task, plain_command, queue_name, secs, unique_task};

/// A suspended task waits without a worker; nothing of it is the end of an attempt.
pub async fn a_suspended_task_waits_without_a_worker(w: &World) {
    let root = w.root().await;
    let (before, worker) = (w.get(root.id).await, w.get(root.id).await.worker.unwrap());
    w.advance(3).await;
    w.suspend_and_wait(waiting_for(&root, fan_out("items", 2, Rule::FailFast))).await;
    let shown = w.get(root.id).await;
    assert_eq!((shown.state, shown.outcome, shown.gate, shown.worker), (State::Waiting, None, None, None));
    assert_eq!((shown.attempt, shown.finished_at, shown.failure, shown.result), (0, None, None, None));
    assert_eq!((shown.position, shown.priority, shown.due), (before.position, before.priority, before.due));
    assert_eq!((shown.started_at, shown.steps, shown.signals), (before.started_at, 1, vec![]));
    assert_eq!(w.store.attempts(root.id).await.unwrap(), []);
    let workers = w.store.workers().await.unwrap();
    assert_eq!(workers.iter().find(|view| view.id == worker).unwrap().running, 0);
    assert!(w.store.is_active(&[root.command]).await.unwrap(), "a suspended task is active");
}

/// However often a handler is suspended, it costs no attempt, and leaves no trace among them.
pub async fn a_suspension_costs_no_attempt(w: &World) {
    let id = w.create(NewTask { max_attempts: Some(1), ..new_task("mail") }).await;
    for _ in 0..5 {
        let task = w.start(id).await;
        assert_eq!(task.attempt, 1);
        w.suspend_and_wait(sleeping(&task, w.now().plus(secs(10)))).await;
        assert_eq!(w.get(id).await.attempt, 0);
        w.advance(10).await;
    }
    assert_eq!(w.store.attempts(id).await.unwrap(), []);
    assert_eq!(w.work(id, failed(Retry::Policy)).await, Settled::Recorded(State::Failed));
    let attempts = w.store.attempts(id).await.unwrap();
    assert_eq!((attempts.len(), attempts[0].run, attempts[0].attempt), (1, 6, 1));
}

/// Checkpoints, then each fan-out with its number, then the children: all of it in one go, in that order.
pub async fn everything_is_written_at_once(w: &World) {
    let root = w.root().await;
    w.record(&root, &[step("a", "1")]).await;
    let suspend = Suspend {
        checkpoints: vec![step("a", "1"), step("b", "2")],
        fan_outs: vec![fan_out("first", 2, Rule::CollectAll), fan_out("second", 3, Rule::FailFast)],
        ..having_made(suspend_of(&root), children(2))
    };
    w.suspend_and_wait(suspend).await;
    let history = w.history(root.id).await;
    let numbers: Vec<_> = history.fan_outs.iter().map(|fan_out| fan_out.id).collect();
    let recorded = [step("a", "1"), step("b", "2"), begun("first", numbers[0]), begun("second", numbers[1])];
    assert_eq!((history.checkpoints, w.get(root.id).await.steps), (recorded.to_vec(), 4));
    let [first, second] = [w.children_in(numbers[0]).await, w.children_in(numbers[1]).await];
    let kids = w.kids(root.id).await;
    assert_eq!(kids.len(), 7);
    assert_eq!(kids[2..], [first, second].concat(), "spawned ones first, then by fan-out and index");
    assert!(kids.is_sorted());
    assert_eq!((w.tally(root.id).await, w.claimable().await), (counts(7, 0, 0, 0), kids));
}

/// An awaited child is a child like any other: parent, root, depth, priority, position, and what it was given.
pub async fn an_awaited_child_is_a_child_like_any_other(w: &World) {
    let id = w.create(NewTask { priority: Some(7), ..new_task("mail") }).await;
    w.advance(5).await;
    let root = w.start(id).await;
    let given = NewTask {
        queue: Some(queue_name("bulk")),
        priority: Some(-3),
        due: Due::After(secs(60)),
        max_attempts: Some(9),
        timeout: Some(secs(11)),
        ..new_task("export")
    };
    w.suspend_and_wait(waiting_for(&root, fan_out_of("items", vec![new_task("report"), given], Rule::FailFast))).await;
    let [plain, given] = &w.store.children(root.id, 0, 10).await.unwrap()[..] else { panic!("two children") };
    assert_eq!((plain.parent, plain.root, plain.depth), (Some(root.id), root.id, 1));
    assert_eq!((plain.priority, plain.position, plain.gate), (7, w.get(root.id).await.position, Some(Gate::Open)));
    assert_eq!((given.priority, given.position, given.gate), (-3, plain.position, Some(Gate::Time)));
    assert_eq!((given.queue.as_str(), given.max_attempts, given.timeout), ("bulk", 9, Some(secs(11))));
    assert_eq!((given.due, given.created_at), (w.now().plus(secs(60)), w.now()));
}

/// The attempts of a sub-task are its own, then those that its command declares, then its parent's; of any other child its own,
/// then those that its command declares, then the default. A registration that declares none takes a declaration away.
pub async fn a_sub_task_has_its_parents_attempts_in_the_end(w: &World) {
    let silent = Command { retry: RetryPolicy::default(), ..plain_command("report") };
    w.store.register(&[plain_command("report"), plain_command("export")]).await.unwrap();
    w.store.register(std::slice::from_ref(&silent)).await.unwrap();
    let known = w.store.commands().await.unwrap();
    assert_eq!(known.iter().find(|known| known.name == silent.name).unwrap().retry.max_attempts, None);
    let id = w.create(NewTask { max_attempts: Some(7), ..new_task("mail") }).await;
    let root = w.start(id).await;
    let own = NewTask { max_attempts: Some(2), ..new_task("report") };
    let asked = vec![new_task("report"), new_task("export"), own, new_task("report")];
    let suspend = waiting_for(&root, fan_out_of("items", asked, Rule::FailFast));
    let alike = fan_out_of("alike", vec![new_task("report"), new_task("report")], Rule::FailFast);
    let fan_outs = [suspend.fan_outs.clone(), vec![alike]].concat();
    w.suspend_and_wait(having_made(Suspend { fan_outs, ..suspend }, these([new_task("report"), new_task("export")])))
        .await;
    let children = w.store.children(root.id, 0, 10).await.unwrap();
    let attempts: Vec<_> = children.iter().map(|child| child.max_attempts).collect();
    assert_eq!(attempts, [10, 3, 7, 3, 2, 7, 7, 7], "two that are spawned, then the sub-tasks");
    w.complete(children[0].id).await;
    let nested = w.start(children[2].id).await;
    w.suspend_and_wait(waiting_for(&nested, fan_out_of("items", vec![new_task("report")], Rule::FailFast))).await;
    assert_eq!(w.store.children(nested.id, 0, 10).await.unwrap()[0].max_attempts, 7, "and so on down");
    assert_eq!(w.get(w.enqueue("report").await).await.max_attempts, 10);
}

/// A suspension sent again after a lost answer does nothing twice, whatever has become of the task.
pub async fn a_suspension_sent_again_does_nothing_twice(w: &World) {
    let root = w.root().await;
    let suspend = having_made(waiting_for(&root, fan_out("items", 1, Rule::FailFast)), children(1));
    w.suspend_and_wait(suspend.clone()).await;
    assert_eq!(w.suspend(suspend.clone()).await, Settled::Repeated(State::Waiting));
    let kids = w.kids(root.id).await;
    assert_eq!(kids.len(), 2);
    w.complete(kids[0]).await;
    w.complete(kids[1]).await;
    assert_eq!(w.suspend(suspend.clone()).await, Settled::Repeated(State::Pending));
    let again = w.start(root.id).await;
    assert_eq!(w.suspend(suspend).await, Settled::Stale);
    assert_eq!((w.tally(root.id).await, w.get(root.id).await.steps), (counts(2, 2, 0, 0), 1));
    w.done(&again).await;
}

/// A token that no longer holds suspends nothing, and does not disturb the rest of the call.
pub async fn a_stale_suspension_changes_nothing(w: &World) {
    let (one, two) = (w.root().await, w.root().await);
    let nobody = Token(uuid::Uuid::new_v4());
    let calls = [
        under(waiting_for(&one, fan_out("items", 2, Rule::FailFast)), nobody),
        waiting_for(&two, fan_out("items", 2, Rule::FailFast)),
        Suspend { task: kinfolk_core::TaskId(i64::MAX), ..sleeping(&one, w.now().plus(secs(1))) },
    ];
    let answers = w.store.suspend(&calls).await.unwrap();
    assert_eq!(answers, [Settled::Stale, Settled::Recorded(State::Waiting), Settled::Stale]);
    assert_eq!((w.state(one.id).await, w.tally(one.id).await), (State::Running, counts(0, 0, 0, 0)));
    assert_eq!(w.tally(two.id).await, counts(2, 0, 0, 0));
}

/// A task whose end was asked for is cancelled instead: nothing is made, nothing recorded.
pub async fn a_task_whose_end_was_asked_for_is_cancelled_instead(w: &World) {
    let root = w.root().await;
    w.store.cancel(root.id).await.unwrap();
    let suspend = Suspend {
        checkpoints: vec![step("a", "1")],
        ..having_made(waiting_for(&root, fan_out("items", 2, Rule::FailFast)), children(2))
    };
    assert_eq!(w.suspend(suspend).await, Settled::Recorded(State::Cancelled));
    let shown = w.get(root.id).await;
    assert_eq!(
        (shown.state, shown.steps, shown.failure),
        (State::Cancelled, 0, Some(kinfolk_core::Failure::cancelled()))
    );
    assert_eq!((w.all().await.len(), w.endings(root.id).await), (1, vec![kinfolk_core::task::Ending::Cancelled]));
}

/// What can't be made refuses all of it, and the attempt has failed with the reason.
pub async fn what_cannot_be_made_refuses_everything(w: &World) {
    let root = w.root().await;
    let suspend = Suspend {
        checkpoints: vec![step("a", "1")],
        fan_outs: vec![
            fan_out("good", 2, Rule::FailFast),
            fan_out_of("bad", vec![new_task("report"), new_task("nobody")], Rule::FailFast),
        ],
        ..having_made(suspend_of(&root), children(1))
    };
    assert_eq!(w.suspend(suspend).await, Settled::Recorded(State::Pending), "someone may register it yet");
    let shown = w.get(root.id).await;
    assert_eq!((shown.steps, shown.attempt, shown.gate), (0, 1, Some(Gate::Time)));
    let failure = shown.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert!(failure.message.contains("nobody"), "{failure:?}");
    assert_eq!((w.all().await.len(), w.history(root.id).await), (1, kinfolk_core::History::default()));
    assert_eq!(w.endings(root.id).await, [kinfolk_core::task::Ending::Retried]);
}

/// A family of suspended handlers grows as deep as its root's queue allows.
pub async fn a_fan_out_may_be_too_deep(w: &World) {
    w.limit("default", deep(1)).await;
    let flow = w.flow(1, Rule::FailFast).await;
    let child = w.start(flow.kids[0]).await;
    let answer = w.suspend(waiting_for(&child, fan_out("inner", 1, Rule::FailFast))).await;
    assert_eq!(answer, Settled::Recorded(State::Failed), "trying again does not help");
    assert_eq!(w.get(child.id).await.failure.unwrap().kind, FailureKind::Refused);
    assert_eq!(w.state(flow.id()).await, State::Pending, "its parent hears of it");
}

/// Queues without room for children take no awaited ones.
pub async fn a_queue_without_children_takes_none(w: &World) {
    w.limit("bulk", children_at_once(0)).await;
    let root = w.root().await;
    let suspend = waiting_for(&root, fan_out_of("items", vec![new_task("export")], Rule::FailFast));
    let state = match w.suspend(suspend).await {
        Settled::Recorded(state) => state,
        other => panic!("{other:?}"),
    };
    assert_eq!((state, w.all().await.len()), (w.state(root.id).await, 1));
    assert_eq!(w.get(root.id).await.failure.unwrap().kind, FailureKind::Refused);
}

/// A lived suspension clears suspicion: the worker did not die of it.
pub async fn a_suspension_clears_suspicion(w: &World) {
    let id = w.running().await.id;
    w.lose_all().await;
    assert!(w.get(id).await.suspect);
    let task = w.start(id).await;
    w.lose_all().await;
    assert_eq!((w.get(id).await.strikes, task.attempt), (1, 1));
    w.advance(1).await;
    let task = w.start(id).await;
    w.suspend_and_wait(sleeping(&task, w.now().plus(secs(1)))).await;
    let shown = w.get(id).await;
    assert_eq!((shown.suspect, shown.strikes), (false, 0));
}

/// How long a handler has run before it was suspended is added up, without the time that it waited for or stood in line.
pub async fn the_time_that_a_handler_ran_is_added_up(w: &World) {
    let task = w.running().await;
    assert_eq!(w.get(task.id).await.ran_before, secs(0));
    w.advance(3).await;
    w.suspend_and_wait(sleeping(&task, w.now().plus(secs(60)))).await;
    assert_eq!(w.get(task.id).await.ran_before, secs(3));
    w.advance(100).await;
    let task = w.start(task.id).await;
    w.advance(4).await;
    // The second time what it waits for is there already.
    assert_eq!(w.suspend(sleeping(&task, w.now())).await, Settled::Recorded(State::Pending));
    assert_eq!(w.get(task.id).await.ran_before, secs(7));
    w.advance(50).await;
    let task = w.start(task.id).await;
    let started = w.now();
    w.advance(2).await;
    w.fail(&task, Retry::Never).await;
    let shown = w.get(task.id).await;
    assert_eq!((shown.state, shown.started_at, shown.ran_before), (State::Failed, Some(started), secs(7)));
    assert_eq!(w.store.retry(task.id).await.unwrap().ran_before, secs(0));
}

/// What no store would keep is refused, for the whole call.
pub async fn what_no_store_would_keep_is_refused(w: &World) {
    let (root, other) = (w.root().await, w.root().await);
    let unique = unique_task(Unique::key("k"), "{}");
    let long = Key { name: "x".repeat(129), ..key("x") };
    let cases = [
        suspend_of(&root),
        Suspend { checkpoints: vec![step("", "1")], ..sleeping(&root, w.now()) },
        waiting_for(&root, fan_out("items", 0, Rule::FailFast)),
        waiting_for(&root, fan_out_of("items", vec![unique], Rule::FailFast)),
        waiting_for(&root, fan_out("items", 1, Rule::Threshold(1_000_001))),
        waiting_for(&root, NewFanOut { key: long, ..fan_out("items", 1, Rule::FailFast) }),
        Suspend { signals: vec![crate::flow::signal_name("go"); 101], ..suspend_of(&root) },
    ];
    for case in cases {
        let good = sleeping(&other, w.now().plus(secs(1)));
        let answer = w.store.suspend(&[good, case]).await;
        assert!(matches!(answer, Err(StoreError::Input(_))), "{answer:?}");
    }
    assert_eq!((w.state(root.id).await, w.state(other.id).await), (State::Running, State::Running));
    assert_eq!(w.all().await.len(), 2);
}

/// A checkpoint or a fan-out under a key that is recorded with another value is refused, and nothing of the call is kept.
pub async fn a_recorded_key_is_not_taken_again(w: &World) {
    let root = w.root().await;
    w.record(&root, &[step("items", "1")]).await;
    let cases = [
        Suspend { checkpoints: vec![step("items", "2")], ..sleeping(&root, w.now().plus(secs(1))) },
        having_made(waiting_for(&root, fan_out("items", 2, Rule::FailFast)), children(2)),
    ];
    for case in cases {
        match w.store.suspend(&[case]).await {
            Err(StoreError::Input(InputError::Other(why))) => {
                assert_eq!(why, format!("task {} has already recorded step items", root.id));
            }
            answer => panic!("{answer:?}"),
        }
    }
    assert_eq!((w.state(root.id).await, w.all().await.len()), (State::Running, 1));
    assert_eq!(w.history(root.id).await.checkpoints, [step("items", "1")]);
}

/// Nobody awaits the fan-out of another, one that never was, or children that were merely spawned.
pub async fn only_its_own_fan_outs_are_awaited(w: &World) {
    let flow = w.flow(2, Rule::FailFast).await;
    let root = w.root().await;
    w.suspend_and_wait(having_made(sleeping(&root, w.now().plus(secs(1))), children(1))).await;
    w.advance(1).await;
    let root = w.start(root.id).await;
    for foreign in [flow.fan_out, FanOutId(i64::MAX), FanOutId(root.id.0)] {
        let suspend = Suspend { checkpoints: vec![step("a", "1")], ..waiting_again(&root, foreign, 1) };
        match w.store.suspend(&[suspend]).await {
            Err(StoreError::Input(InputError::Other(why))) => {
                assert_eq!(why, format!("fan-out {foreign} is not awaited by task {}", root.id));
            }
            answer => panic!("{answer:?}"),
        }
    }
    assert_eq!((w.state(root.id).await, w.get(root.id).await.steps), (State::Running, 0));
}

/// What a handler made before it waits is made with the suspension, once: children, follow-ups and other tasks.
pub async fn what_was_made_is_made_with_it(w: &World) {
    let root = w.root().await;
    let made = Made {
        follow_ups: follow_up(new_task("export"), When::Settled).follow_ups,
        tasks: vec![new_task("mail")],
        ..children(2)
    };
    w.suspend_and_wait(having_made(sleeping(&root, w.now().plus(secs(60))), made)).await;
    assert_eq!((w.all().await.len(), w.tally(root.id).await), (5, counts(2, 0, 0, 0)));
    let follow_up = w.only("export").await;
    assert_eq!(w.gate(follow_up).await, Some(Gate::After));
    for child in w.kids(root.id).await {
        w.complete(child).await;
    }
    assert_eq!(w.state(root.id).await, State::Waiting, "nobody awaits spawned children");
    w.advance(60).await;
    assert_eq!(w.work(root.id, Outcome::Done(None)).await, Settled::Recorded(State::Completed));
    w.work(follow_up, Outcome::Done(None)).await;
}

/// Children spawned by later suspensions queue behind earlier ones, in order.
pub async fn later_children_queue_behind_earlier_ones(w: &World) {
    let root = w.root().await;
    let order = ChildOrder::InOrder;
    w.suspend_and_wait(having_made(sleeping(&root, w.now().plus(secs(1))), in_order(2, order))).await;
    w.advance(1).await;
    let root = w.start(root.id).await;
    w.suspend_and_wait(having_made(sleeping(&root, w.now().plus(secs(1))), in_order(2, order))).await;
    let held = Some(Gate::After);
    assert_eq!(w.gates(root.id).await, [Some(Gate::Open), held, held, held]);
    for child in w.kids(root.id).await {
        assert_eq!(w.claimable().await, [child]);
        w.complete(child).await;
    }
    w.advance(1).await;
    let root = w.start(root.id).await;
    let last = having_made(sleeping(&root, w.now().plus(secs(1))), in_order(2, order));
    w.suspend_and_wait(last).await;
    assert_eq!(w.gates(root.id).await[4..], [Some(Gate::Open), held], "nothing is before them");
}

/// The order given last is that of all that have not begun.
pub async fn the_order_given_last_holds(w: &World) {
    let root = w.root().await;
    w.suspend_and_wait(having_made(sleeping(&root, w.now().plus(secs(1))), in_order(3, ChildOrder::InOrder))).await;
    w.advance(1).await;
    let root = w.start(root.id).await;
    w.suspend_and_wait(having_made(sleeping(&root, w.now().plus(secs(1))), children(1))).await;
    assert_eq!(w.gates(root.id).await, [Some(Gate::Open); 4]);
    w.advance(1).await;
    let root = w.start(root.id).await;
    let until_failure = in_order(2, ChildOrder::InOrderUntilFailure);
    w.suspend_and_wait(having_made(sleeping(&root, w.now().plus(secs(1))), until_failure)).await;
    assert_eq!(w.gates(root.id).await[4..], [Some(Gate::After); 2]);
    w.let_fail(w.kids(root.id).await[0]).await;
    assert_eq!(w.states(root.id).await[4..], [State::Cancelled; 2]);
}

/// A child that is awaited has no siblings: its parent waits for results that it asked for.
pub async fn an_awaited_child_has_no_siblings(w: &World) {
    let flow = w.flow(2, Rule::CollectAll).await;
    let child = w.start(flow.kids[0]).await;
    assert_eq!(w.leave_behind(&child, siblings(1)).await, Settled::Recorded(State::Failed));
    assert_eq!(w.get(child.id).await.failure.unwrap().kind, FailureKind::Refused);
    let child = w.start(flow.kids[1]).await;
    let suspend = having_made(sleeping(&child, w.now().plus(secs(1))), siblings(1));
    assert_eq!(w.suspend(suspend).await, Settled::Recorded(State::Failed));
    assert_eq!(w.tally(flow.id()).await, counts(2, 0, 2, 0));
}

/// A suspended child leaves its room to others; a resumed one waits for room like any other.
pub async fn a_suspended_child_uses_no_room(w: &World) {
    w.limit("default", children_at_once(1)).await;
    let flow = w.flow(2, Rule::CollectAll).await;
    let first = w.start(flow.kids[0]).await;
    assert_eq!(w.claimable().await, []);
    w.suspend_and_wait(listening(&first, "go")).await;
    let second = w.start(flow.kids[1]).await;
    w.signal(first.id, "go", "1").await;
    assert_eq!(w.claimable().await, []);
    w.done(&second).await;
    assert_eq!(w.claimable().await, [first.id]);
}

/// On a queue of few families a suspended root keeps its family slot.
pub async fn a_suspended_root_keeps_its_family_slot(w: &World) {
    w.serial(1).await;
    let root = w.root().await;
    let next = w.enqueue("mail").await;
    let wait = Suspend { until: Some(w.now().plus(secs(60))), ..listening(&root, "go") };
    w.suspend_and_wait(wait).await;
    assert_eq!(w.claimable().await, []);
    w.signal(root.id, "go", "1").await;
    assert_eq!(w.claimable().await, [root.id]);
    let root = w.start(root.id).await;
    w.suspend_and_wait(waiting_for(&root, fan_out("items", 1, Rule::FailFast))).await;
    w.complete(w.kids(root.id).await[0]).await;
    assert_eq!(w.claimable().await, [root.id]);
    w.work(root.id, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [next]);
}

/// A key held while pending was given up at the claim; one held while active goes on through the suspension.
pub async fn unique_keys_go_on_as_they_were(w: &World) {
    for (scope, held) in [(UniqueScope::Pending, false), (UniqueScope::Active, true)] {
        let new = unique_task(Unique::key("k").scope(scope), "{}");
        let id = w.create(new.clone()).await;
        let task = w.start(id).await;
        w.suspend_and_wait(listening(&task, "go")).await;
        assert_eq!(w.get(id).await.unique_key.is_some(), held);
        let answer = w.put(new).await;
        assert_eq!(answer == kinfolk_core::Enqueued::Existing(id), held, "{answer:?}");
        if !held {
            w.store.cancel(answer.id().unwrap()).await.unwrap();
        }
        w.signal(id, "go", "1").await;
        assert_eq!(w.get(id).await.unique_key.is_some(), held);
        w.work(id, Outcome::Done(None)).await;
    }
}

/// Spawned children that failed while the handler went on fail it when it is done.
pub async fn spawned_children_that_failed_fail_it_in_the_end(w: &World) {
    let root = w.root().await;
    w.suspend_and_wait(having_made(listening(&root, "go"), these([new_task("report")]))).await;
    w.let_fail(w.kids(root.id).await[0]).await;
    w.signal(root.id, "go", "1").await;
    let answer = w.work(root.id, Outcome::Done(Some(crate::world::json("1")))).await;
    assert_eq!(answer, Settled::Recorded(State::Failed));
    let shown = w.get(root.id).await;
    assert_eq!((shown.outcome, shown.failure.unwrap().kind), (Some(State::Completed), FailureKind::Children));
}

/// One suspension may wait for everything at once, and only for what it names: other fan-outs are left alone.
pub async fn it_waits_for_what_it_names_alone(w: &World) {
    let root = w.root().await;
    let both = vec![fan_out("first", 1, Rule::FailFast), fan_out("second", 1, Rule::FailFast)];
    w.suspend_and_wait(Suspend { fan_outs: both, ..suspend_of(&root) }).await;
    let numbers: Vec<_> = w.history(root.id).await.fan_outs.iter().map(|fan_out| fan_out.id).collect();
    let kids = w.kids(root.id).await;
    w.signal(root.id, "go", "1").await;
    assert_eq!(w.state(root.id).await, State::Waiting, "it waits for no signal");
    w.complete(kids[0]).await;
    let root = w.start(root.id).await;
    w.suspend_and_wait(Suspend { awaits: vec![Await { fan_out: numbers[1], wake_at: 1 }], ..listening(&root, "stop") })
        .await;
    w.signal(root.id, "stop", "1").await;
    let root = w.start(root.id).await;
    w.suspend_and_wait(listening(&root, "third")).await;
    w.complete(kids[1]).await;
    assert_eq!(w.state(root.id).await, State::Waiting, "it no longer awaits the second");
}
