//! Spawning: what a handler leaves behind is written with the settle that completes it, all of it or nothing.

use kinfolk_core::limits::{DEPTH_MAX, MADE_MAX, PAYLOAD_BYTES_MAX};
use kinfolk_core::task::Ending;
use kinfolk_core::{
    Command, Due, Enqueued, Failure, FailureKind, FollowUp, Gate, Made, NewTask, OnDuplicate, Outcome, Rejection,
    Retry, RetryPolicy, Rule, Settle, Settled, State, StoreError, Token, Unique, UniqueScope, When,
};
use uuid::Uuid;

use crate::family::{children, children_at_once, deep, done_with, families_at_once, home, on, these};
use crate::flow::fan_out_of;
use crate::world::{World, command, failed, json, new_task, plain_command, queue_name, secs, settle_of, unique_task};

/// A handler that left children behind waits for them: its result is kept, its worker is free, and it has not ended.
pub async fn a_parent_waits_with_its_own_outcome_recorded(w: &World) {
    let root = w.root().await;
    w.advance(2).await;
    assert_eq!(w.leave_behind(&root, children(2)).await, Settled::Recorded(State::Waiting));
    let shown = w.get(root.id).await;
    assert_eq!((shown.state, shown.outcome, shown.gate), (State::Waiting, Some(State::Completed), None));
    assert_eq!((shown.result, shown.failure), (Some(json("1")), None));
    assert_eq!((shown.worker, shown.finished_at, shown.attempt), (None, None, 1));
    assert_eq!(shown.started_at, Some(w.now().minus(secs(2))));
    assert_eq!(w.store.workers().await.unwrap()[0].running, 0);
}

/// A child knows its parent, its root and its depth, and so does the worker that claims it.
pub async fn a_child_knows_its_parent_its_root_and_its_depth(w: &World) {
    let (line, running) = w.chain(2).await;
    for (depth, id) in line.iter().enumerate() {
        let task = w.get(*id).await;
        assert_eq!((task.root, usize::from(task.depth)), (line[0], depth));
        assert_eq!(task.parent, depth.checked_sub(1).map(|above| line[above]));
    }
    assert_eq!((running.parent, running.root, running.depth), (Some(line[1]), line[0], 2));
    let root = w.start(w.enqueue("mail").await).await;
    assert_eq!((root.parent, root.root, root.depth), (None, root.id, 0));
}

/// A child takes its parent's priority, not its command's, and its root's position, however late it is made.
pub async fn a_child_takes_its_parents_priority_and_its_roots_position(w: &World) {
    w.store.register(&[Command { priority: 7, ..plain_command("report") }]).await.unwrap();
    let root = w.create(NewTask { priority: Some(-3), ..new_task("mail") }).await;
    let position = w.get(root).await.position;
    let root = w.start(root).await;
    w.advance(100).await;
    w.leave_behind(&root, children(1)).await;
    let child = w.kids(root.id).await[0];
    let child = w.start(child).await;
    w.advance(100).await;
    w.leave_behind(&child, children(1)).await;
    for id in [child.id, w.kids(child.id).await[0]] {
        let task = w.get(id).await;
        assert_eq!((task.priority, task.position), (-3, position));
    }
}

/// What a spawn says itself wins over parent and command; the position stays the root's.
pub async fn what_the_spawn_says_wins(w: &World) {
    let root = w.root().await;
    let position = w.get(root.id).await.position;
    w.advance(5).await;
    let child = NewTask {
        queue: Some(queue_name("bulk")),
        priority: Some(4),
        max_attempts: Some(9),
        timeout: Some(secs(77)),
        due: Due::After(secs(60)),
        payload: json(r#"{"n":1.50}"#),
        trace: Some("00-ab-cd-01".to_owned()),
        ..new_task("report")
    };
    w.leave_behind(&root, these([child.clone()])).await;
    let made = w.get(w.kids(root.id).await[0]).await;
    assert_eq!((made.queue.as_str(), made.priority, made.max_attempts), ("bulk", 4, 9));
    assert_eq!((made.timeout, made.payload, made.trace), (child.timeout, child.payload, child.trace));
    assert_eq!((made.due, made.gate, made.position), (w.now().plus(secs(60)), Some(Gate::Time), position));
    assert_eq!((made.created_at, made.state, made.attempt), (w.now(), State::Pending, 0));
}

/// What a spawn leaves open comes from the child's command: queue, attempts, timeout.
pub async fn what_the_spawn_leaves_open_comes_from_the_command(w: &World) {
    let retry = RetryPolicy { max_attempts: Some(5), ..RetryPolicy::default() };
    let export = Command { queue: queue_name("bulk"), retry, timeout: Some(secs(8)), ..plain_command("export") };
    w.store.register(&[export]).await.unwrap();
    let root = w.waiting(these([new_task("export")])).await;
    let child = w.get(w.kids(root).await[0]).await;
    assert_eq!((child.queue.as_str(), child.max_attempts, child.timeout), ("bulk", 5, Some(secs(8))));
}

/// A child for later is claimed when its time has come, before younger roots.
pub async fn a_child_for_later_waits_for_its_time_and_keeps_its_position(w: &World) {
    let root = w.waiting(these([NewTask { due: Due::After(secs(30)), ..new_task("report") }])).await;
    w.advance(1).await;
    let younger = w.enqueue("mail").await;
    let child = w.kids(root).await[0];
    w.advance(28).await;
    assert_eq!(w.claimable().await, [younger]);
    w.advance(1).await;
    assert_eq!(w.claimable().await, [child, younger]);
}

/// Only an attempt that is done leaves anything behind: with any other outcome the call is refused.
pub async fn only_a_done_attempt_leaves_tasks_behind(w: &World) {
    let root = w.root().await;
    let before = w.everything().await;
    let others = [
        failed(Retry::Policy),
        Outcome::Snooze(secs(1)),
        Outcome::YieldFamilySlot(secs(1)),
        Outcome::Release,
        Outcome::Cancelled,
    ];
    for outcome in others {
        let settle = Settle { outcome, ..done_with(&root, children(1)) };
        assert!(matches!(w.store.settle(&[settle]).await, Err(StoreError::Input(_))));
    }
    assert_eq!(w.everything().await, before);
}

/// A settle under a wrong token, or of a task that was recovered, makes nothing.
pub async fn a_stale_settle_makes_nothing(w: &World) {
    let root = w.root().await;
    let wrong = Settle { token: Token(Uuid::new_v4()), ..done_with(&root, children(3)) };
    assert_eq!(w.store.settle(&[wrong]).await.unwrap(), [Settled::Stale]);
    w.lose_all().await;
    assert_eq!(w.leave_behind(&root, children(3)).await, Settled::Stale);
    assert_eq!(w.all().await.len(), 1);
}

/// A settle sent again after a lost answer makes nothing twice, whatever has become of the family.
pub async fn a_settle_sent_again_makes_nothing_twice(w: &World) {
    let root = w.root().await;
    let both = [done_with(&root, children(2)), done_with(&root, children(2))];
    let answers = w.store.settle(&both).await.unwrap();
    assert_eq!(answers, [Settled::Recorded(State::Waiting), Settled::Repeated(State::Waiting)]);
    assert_eq!(w.leave_behind(&root, children(2)).await, Settled::Repeated(State::Waiting));
    for child in w.kids(root.id).await {
        w.work(child, Outcome::Done(None)).await;
    }
    assert_eq!(w.leave_behind(&root, children(2)).await, Settled::Repeated(State::Completed));
    assert_eq!(w.all().await.len(), 3);
}

/// A task whose end was asked for makes nothing: its completion comes too late.
pub async fn a_cancelled_task_makes_nothing(w: &World) {
    let root = w.root().await;
    w.store.cancel(root.id).await.unwrap();
    let made = Made { follow_ups: vec![FollowUp { task: new_task("export"), when: When::Settled }], ..children(2) };
    assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Cancelled));
    assert_eq!(w.all().await.len(), 1);
}

/// Siblings, children, follow-ups and other tasks get rising numbers in that order.
pub async fn things_are_made_in_a_fixed_order(w: &World) {
    let (_, kids) = w.parent_of(1).await;
    let maker = w.start(kids[0]).await;
    let tagged = |n: u8| NewTask { payload: json(&n.to_string()), ..new_task("export") };
    let made = Made {
        siblings: vec![tagged(1), tagged(2)],
        children: vec![tagged(3)],
        follow_ups: vec![FollowUp { task: tagged(4), when: When::Settled }],
        tasks: vec![tagged(5), tagged(6)],
        ..Made::default()
    };
    w.leave_behind(&maker, made).await;
    let all = w.all().await;
    let made: Vec<_> = all.iter().rev().filter(|task| task.command == command("export")).collect();
    let order: Vec<_> = made.iter().map(|task| task.payload.as_str()).collect();
    assert_eq!(order, ["1", "2", "3", "4", "5", "6"]);
}

/// In one batch, what the first one makes has lower numbers than what the second one makes.
pub async fn a_batch_makes_in_its_own_order(w: &World) {
    let (one, two) = (w.root().await, w.root().await);
    let answers = w.store.settle(&[done_with(&two, children(2)), done_with(&one, children(2))]).await.unwrap();
    assert_eq!(answers, [Settled::Recorded(State::Waiting); 2]);
    let (first, second) = (w.kids(two.id).await, w.kids(one.id).await);
    assert!(first[0] < first[1] && first[1] < second[0] && second[0] < second[1], "{first:?} {second:?}");
}

/// One unknown command or queue among the children, and nothing is made: the attempt counts as failed, and is tried again
/// as the policy says, since someone may register what was missing.
pub async fn an_unknown_command_or_queue_refuses_everything(w: &World) {
    let unknown = Rejection::UnknownCommand(command("nobody"));
    let nowhere = Rejection::UnknownQueue(queue_name("nowhere"));
    for (bad, why) in [(new_task("nobody"), unknown), (on("nowhere"), nowhere)] {
        let root = w.root().await;
        let count = w.all().await.len();
        let made = these([new_task("report"), bad]);
        assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Pending));
        let shown = w.get(root.id).await;
        assert_eq!((shown.gate, shown.due), (Some(Gate::Time), w.now().plus(secs(1))));
        assert_eq!((shown.failure, shown.result), (Some(Failure::refused(&why)), None));
        assert_eq!(w.endings(root.id).await, [Ending::Retried]);
        assert_eq!(w.all().await.len(), count);
    }
}

/// Once the missing command is registered, the next attempt makes its child.
pub async fn a_refused_task_can_pass_at_its_next_attempt(w: &World) {
    let root = w.root().await;
    w.leave_behind(&root, these([new_task("nobody")])).await;
    w.store.register(&[plain_command("nobody")]).await.unwrap();
    w.advance(1).await;
    let root = w.start(root.id).await;
    assert_eq!(w.leave_behind(&root, these([new_task("nobody")])).await, Settled::Recorded(State::Waiting));
    assert_eq!(w.get(root.id).await.failure, None);
    assert_eq!(w.endings(root.id).await, [Ending::Retried, Ending::Completed]);
}

/// A refusal that comes at the last attempt fails the task.
pub async fn a_refusal_at_the_last_attempt_is_final(w: &World) {
    let root = w.create(NewTask { max_attempts: Some(1), ..new_task("mail") }).await;
    let root = w.start(root).await;
    assert_eq!(w.leave_behind(&root, these([new_task("nobody")])).await, Settled::Recorded(State::Failed));
    assert_eq!(w.get(root.id).await.failure.map(|failure| failure.kind), Some(FailureKind::Refused));
}

/// A queue that takes no children refuses them for good, and says which queue it is.
pub async fn a_queue_without_children_refuses_them(w: &World) {
    w.limit("bulk", children_at_once(0)).await;
    let root = w.root().await;
    let made = these([new_task("report"), new_task("export")]);
    assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Failed));
    let shown = w.get(root.id).await;
    assert_eq!(shown.failure, Some(Failure::refused(&Rejection::NoChildren(queue_name("bulk")))));
    assert_eq!((shown.finished_at, w.endings(root.id).await), (Some(w.now()), vec![Ending::Failed]));
    assert_eq!(w.all().await.len(), 1);
    w.enqueue("export").await;
}

/// A family grows as deep as the queue of its root allows, whatever the queues of its members say.
pub async fn a_family_grows_as_deep_as_its_roots_queue_allows(w: &World) {
    w.limit("default", deep(1)).await;
    w.limit("bulk", deep(0)).await;
    let root = w.waiting(these([on("bulk")])).await;
    let child = w.start(w.kids(root).await[0]).await;
    assert_eq!(w.leave_behind(&child, children(1)).await, Settled::Recorded(State::Failed));
    assert_eq!(w.get(child.id).await.failure, Some(Failure::refused(&Rejection::TooDeep(home()))));
    assert_eq!(w.state(root).await, State::Failed);
}

/// A family may be as deep as the limit says and no deeper, and its end goes all the way up.
pub async fn a_family_may_be_as_deep_as_the_limit(w: &World) {
    let (line, leaf) = w.chain(usize::from(DEPTH_MAX)).await;
    assert_eq!(leaf.depth, DEPTH_MAX);
    assert_eq!(w.leave_behind(&leaf, children(1)).await, Settled::Recorded(State::Failed));
    assert_eq!(w.get(leaf.id).await.failure.map(|failure| failure.kind), Some(FailureKind::Refused));
    for id in line {
        assert_eq!(w.state(id).await, State::Failed);
    }
}

/// Of several things that can't be made the first is named, in the order of making, and any part can be refused.
pub async fn the_first_refusal_is_named(w: &World) {
    w.limit("bulk", children_at_once(0)).await;
    let unknown = |name: &str| Rejection::UnknownCommand(command(name));
    let after = |task| vec![FollowUp { task, when: When::Settled }];
    let whole = Made {
        siblings: vec![new_task("s")],
        children: vec![new_task("export"), new_task("c")],
        follow_ups: after(new_task("f")),
        tasks: vec![new_task("t")],
        ..Made::default()
    };
    let root = w.root().await;
    let cases = [
        (whole.clone(), Rejection::NoParent(root.id)),
        (Made { siblings: Vec::new(), ..whole.clone() }, Rejection::NoChildren(queue_name("bulk"))),
        (Made { children: vec![new_task("c")], siblings: Vec::new(), ..whole.clone() }, unknown("c")),
        (Made { follow_ups: after(new_task("f")), tasks: whole.tasks.clone(), ..children(1) }, unknown("f")),
        (Made { tasks: whole.tasks.clone(), ..children(1) }, unknown("t")),
    ];
    for (made, why) in cases {
        let task = w.start(w.create(NewTask { priority: Some(-1), ..new_task("mail") }).await).await;
        let why = if let Rejection::NoParent(_) = why { Rejection::NoParent(task.id) } else { why };
        w.leave_behind(&task, made).await;
        assert_eq!(w.get(task.id).await.failure, Some(Failure::refused(&why)));
        assert_eq!(w.get(task.id).await.outcome, None);
    }
}

/// A child under a key that is held is not made and not counted: the parent waits for the others alone.
pub async fn a_child_under_a_held_key_is_not_made_and_not_counted(w: &World) {
    let under = |rule, payload| unique_task(Unique::key("k").on_duplicate(rule), payload);
    let holder = w.create(NewTask { due: Due::After(secs(99)), ..under(OnDuplicate::Keep, r#"{"a":1}"#) }).await;
    let root = w.start(w.enqueue("report").await).await;
    assert_eq!(
        w.leave_behind(&root, these([under(OnDuplicate::Keep, "{}")])).await,
        Settled::Recorded(State::Completed)
    );
    let root = w.start(w.enqueue("report").await).await;
    let made = these([under(OnDuplicate::Merge, r#"{"b":2}"#), new_task("report")]);
    assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Waiting));
    assert_eq!(w.tally(root.id).await.total, 1);
    let held = w.get(holder).await;
    assert_eq!((held.payload, held.parent, held.gate), (json(r#"{"a":1,"b":2}"#), None, Some(Gate::Time)));
}

/// Children under one key of one spawn are one child, and it holds its key like any task.
pub async fn children_under_one_key_are_one_child(w: &World) {
    let under = |payload| unique_task(Unique::key("k").on_duplicate(OnDuplicate::Merge), payload);
    let root = w.waiting(these([under(r#"{"a":1}"#), under(r#"{"b":2}"#)])).await;
    let kids = w.kids(root).await;
    assert_eq!(kids.len(), 1);
    assert_eq!(w.put(unique_task(Unique::key("k"), "{}")).await, Enqueued::Existing(kids[0]));
    assert_eq!(w.put(under(r#"{"c":3}"#)).await, Enqueued::Merged(kids[0]));
    assert_eq!(w.start(kids[0]).await.payload, json(r#"{"a":1,"b":2,"c":3}"#));
}

/// A parent holds an active key while it waits, and gives it up when it ends.
pub async fn a_waiting_parent_holds_its_active_key(w: &World) {
    let under = || unique_task(Unique::key("k").scope(UniqueScope::Active), "{}");
    let root = w.start(w.create(under()).await).await;
    w.leave_behind(&root, children(1)).await;
    assert_eq!(w.put(under()).await, Enqueued::Existing(root.id));
    w.work(w.kids(root.id).await[0], Outcome::Done(None)).await;
    assert!(matches!(w.put(under()).await, Enqueued::Created(_)));
}

/// Other tasks that a handler makes are made with its settle, and have nothing to do with its family.
pub async fn other_tasks_stand_on_their_own(w: &World) {
    w.store.register(&[Command { priority: 6, ..plain_command("report") }]).await.unwrap();
    let root = w.root().await;
    w.advance(3).await;
    let made = Made { tasks: vec![new_task("report")], ..Made::default() };
    assert_eq!(w.leave_behind(&root, made).await, Settled::Recorded(State::Completed));
    let task = w.get(w.only("report").await).await;
    assert_eq!((task.parent, task.root, task.depth), (None, task.id, 0));
    assert_eq!((task.priority, task.position, task.gate), (6, w.now(), Some(Gate::Open)));
}

/// Leaving nothing behind is completing.
pub async fn leaving_nothing_behind_is_completing(w: &World) {
    let root = w.root().await;
    assert_eq!(w.leave_behind(&root, Made::default()).await, Settled::Recorded(State::Completed));
    let shown = w.get(root.id).await;
    assert_eq!((shown.outcome, shown.result, shown.finished_at), (None, Some(json("1")), Some(w.now())));
}

/// A first attempt that leaves children leaves no attempt row, a later one does.
pub async fn a_waiting_parent_records_only_a_later_attempt(w: &World) {
    let (root, _) = w.parent_of(1).await;
    assert_eq!(w.endings(root).await, []);
    let again = w.start(w.enqueue("export").await).await;
    w.settle(&again, Outcome::Snooze(secs(0))).await;
    let again = w.start(again.id).await;
    w.leave_behind(&again, children(1)).await;
    assert_eq!(w.endings(again.id).await, [Ending::Snoozed, Ending::Completed]);
}

/// Input that no store would keep refuses the whole call, with everything else in it.
pub async fn bad_input_among_the_children_refuses_the_whole_call(w: &World) {
    let (one, two) = (w.root().await, w.root().await);
    let large = unique_task(Unique::key("k").on_duplicate(OnDuplicate::Merge), "{}");
    let half = |name: &str| json(&format!(r#"{{"{name}":"{}"}}"#, "x".repeat(PAYLOAD_BYTES_MAX / 2)));
    w.create(NewTask { payload: half("a"), due: Due::After(secs(9)), ..large.clone() }).await;
    let before = w.everything().await;
    let bad = [
        these([NewTask { priority: Some(i32::MAX), ..new_task("report") }]),
        children(MADE_MAX + 1),
        these([NewTask { payload: half("b"), ..large }]),
    ];
    for made in bad {
        let batch = [settle_of(&one, Outcome::Done(None)), done_with(&two, made)];
        assert!(matches!(w.store.settle(&batch).await, Err(StoreError::Input(_))));
    }
    assert_eq!(w.everything().await, before);
}

/// A thousand children of one settle are all there at once, and the parent ends with the last of them.
pub async fn a_thousand_children_are_made_at_once(w: &World) {
    let (root, kids) = w.parent_of(1_000).await;
    assert!(kids.is_sorted());
    let worker = w.worker().await;
    let tasks = w.claim(worker, 1_000).await;
    assert_eq!(tasks.len(), 1_000);
    let batch: Vec<_> = tasks.iter().map(|task| settle_of(task, Outcome::Done(None))).collect();
    w.store.settle(&batch[1..]).await.unwrap();
    assert_eq!(w.state(root).await, State::Waiting);
    w.store.settle(&batch[..1]).await.unwrap();
    assert_eq!(w.state(root).await, State::Completed);
}

/// A child of a command that this worker does not handle waits for one that does; its parent waits with it.
pub async fn a_child_that_nobody_handles_waits(w: &World) {
    w.store.register(&[plain_command("rare")]).await.unwrap();
    let root = w.waiting(these([new_task("rare")])).await;
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.state(root).await, State::Waiting);
    let claim = kinfolk_core::Claim { commands: vec![command("rare")], ..crate::world::claim_of(w.worker().await, 1) };
    let task = w.store.claim(&claim).await.unwrap().tasks.remove(0);
    w.done(&task).await;
    assert_eq!(w.state(root).await, State::Completed);
}

/// Limits of families and depth that make no sense are refused, and the others are shown.
pub async fn a_queue_shows_its_limits_and_refuses_bad_ones(w: &World) {
    for bad in [families_at_once(0), deep(DEPTH_MAX + 1)] {
        assert!(matches!(w.store.set_queue(&home(), &bad).await, Err(StoreError::Input(_))));
    }
    let policy = kinfolk_core::Policy { child_limit: Some(0), depth_limit: 1, ..families_at_once(3) };
    w.limit("default", policy.clone()).await;
    let queues = w.store.queues().await.unwrap();
    assert_eq!([&queues[0].policy, &queues[1].policy], [&kinfolk_core::Policy::default(), &policy]);
}

/// A payload of null stays null, whatever a task is made as; only what is left out is the empty object.
pub async fn a_payload_of_null_stays_null(w: &World) {
    let null = || NewTask { payload: json("null"), ..new_task("report") };
    let (_, child) = w.chain(1).await;
    let made = Made {
        siblings: vec![null()],
        children: vec![null()],
        follow_ups: vec![FollowUp { task: null(), when: When::Settled }],
        tasks: vec![null()],
        ..Made::default()
    };
    w.leave_behind(&child, made).await;
    let flow = w.flow_of(fan_out_of("items", vec![null()], Rule::FailFast)).await;
    assert_eq!(w.get(flow.kids[0]).await.payload, json("null"));
    let all = w.all().await;
    let nulls: Vec<_> = all.iter().filter(|task| task.payload == json("null")).collect();
    assert_eq!(nulls.len(), 5, "{all:?}");
    let worker = w.worker().await;
    let claimed = w.claim(worker, 1_000).await;
    assert_eq!(
        claimed.iter().filter(|task| task.payload == json("null")).count(),
        4,
        "the follow-up waits: {claimed:?}"
    );
}
