//! Why a task is not running: each reason is there, is true, and when it is gone the task starts.

use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{
    ChildOrder, Claim, Explanation, Made, NewTask, Outcome, Policy, Rate, Reason, Retry, State, StoreError, TaskId,
    When,
};

use crate::family::{children, children_at_once, counts, follow_up, home, in_order};
use crate::grouped::{of_mail, task_of};
use crate::world::{World, claim_of, command, failed, group_name, later, new_task, plain_command, queue_name, secs};

const ACME: [(&str, &str); 2] = [("tenant", "acme"), ("zone", "north")];

/// The task is claimed by a live worker that handles it.
async fn starts(w: &World, id: TaskId) {
    assert_eq!(w.words(id).await, ["in_line"]);
    let task = w.get(id).await;
    let worker = w.worker().await;
    let claim = Claim { queue: task.queue, commands: vec![task.command], ..claim_of(worker, 100) };
    let taken = w.store.claim(&claim).await.unwrap().tasks;
    assert!(taken.iter().any(|task| task.id == id), "it does not start");
}

/// A running task and one that has ended have no reasons; who runs it is said.
pub async fn what_runs_or_has_ended_has_none(w: &World) {
    let task = w.running().await;
    let worker = w.get(task.id).await.worker;
    let running = Explanation { task: task.id, state: State::Running, now: w.now(), worker, reasons: vec![] };
    assert_eq!(w.store.explain(task.id).await.unwrap(), running);
    w.done(&task).await;
    let ended = Explanation { state: State::Completed, worker: None, ..running };
    assert_eq!(w.store.explain(task.id).await.unwrap(), ended);
}

/// A task that nobody knows is not found.
pub async fn an_unknown_task_is_not_found(w: &World) {
    let fault = w.store.explain(TaskId(4_711)).await.unwrap_err();
    assert!(matches!(fault, StoreError::NotFound { what: "task", .. }), "{fault}");
}

/// Nothing holds it: how many stand before it.
pub async fn one_in_line_hears_how_many_are_before_it(w: &World) {
    w.worker().await;
    let made = w.enqueue_many("mail", 3).await;
    w.create(later(60)).await;
    w.enqueue("report").await;
    let last = w.create(NewTask { priority: Some(5), ..new_task("mail") }).await;
    assert_eq!(w.why(made[0]).await, [Reason::InLine { before: 0 }]);
    assert_eq!(w.why(made[2]).await, [Reason::InLine { before: 2 }]);
    assert_eq!(w.why(last).await, [Reason::InLine { before: 4 }]);
}

/// The same on a queue whose values take turns, whatever value they have, and whether a claim has looked at them or not.
pub async fn one_among_values_that_take_turns_hears_how_many_are_before_it(w: &World) {
    w.groups([("tenant", 9)]).await;
    w.limit("default", Policy { fair: Some(group_name("tenant")), ..Policy::default() }).await;
    let (root, kids) = w.parent_of(2).await;
    for tenant in ["b", "a", "b"] {
        w.under(&[("tenant", tenant)]).await;
    }
    let urgent = w.create(NewTask { priority: Some(-1), ..task_of("mail", &[("tenant", "c")]) }).await;
    let mut made = vec![w.under(&[]).await];
    let taken = w.look(1).await.tasks;
    assert_eq!(taken[0].id, urgent);
    made.push(w.under(&[("tenant", "b")]).await);
    made.push(w.enqueue("report").await);
    assert_eq!((w.state(root).await, w.why(kids[1]).await), (State::Waiting, vec![Reason::InLine { before: 1 }]));
    for (nth, id) in made.into_iter().enumerate() {
        assert_eq!(w.why(id).await, [Reason::InLine { before: 5 + nth as u64 }]);
    }
    w.settle(&taken[0], Outcome::Release).await;
    assert_eq!(w.why(urgent).await, [Reason::InLine { before: 0 }]);
    assert_eq!(w.why(kids[0]).await, [Reason::InLine { before: 1 }]);
}

/// No more are counted than fit on a page.
pub async fn no_more_than_a_page_is_counted(w: &World) {
    w.groups([("tenant", 9)]).await;
    w.worker().await;
    let last = w.create(NewTask { priority: Some(1), ..new_task("mail") }).await;
    for tenant in ["a", "b", "c"] {
        w.many_under("mail", &[("tenant", tenant)], PAGE_MAX / 2).await;
    }
    assert_eq!(w.why(last).await, [Reason::InLine { before: PAGE_MAX as u64 }]);
    w.limit("default", Policy { fair: Some(group_name("tenant")), ..Policy::default() }).await;
    for _ in 0..2 {
        assert_eq!(w.why(last).await, [Reason::InLine { before: PAGE_MAX as u64 }]);
        w.look(1).await;
    }
}

/// It is scheduled for later, or waits to be tried again.
pub async fn one_that_is_not_due(w: &World) {
    w.worker().await;
    let id = w.create(later(60)).await;
    assert_eq!(w.why(id).await, [Reason::NotDue { until: w.now().plus(secs(60)) }]);
    w.advance(60).await;
    w.worker().await;
    starts(w, id).await;
    let task = w.start(w.enqueue("mail").await).await;
    w.fail(&task, Retry::After(secs(5))).await;
    assert_eq!(w.why(task.id).await, [Reason::NotDue { until: w.now().plus(secs(5)) }]);
    w.advance(5).await;
    starts(w, task.id).await;
}

/// Its queue is paused: since when and by whom.
pub async fn one_on_a_paused_queue(w: &World) {
    w.worker().await;
    let id = w.enqueue("mail").await;
    let since = w.now();
    w.store.pause(&home(), Some("åse")).await.unwrap();
    w.advance(1).await;
    w.store.pause(&home(), Some("bo")).await.unwrap();
    let paused = |by: Option<&str>, since| Reason::Paused { queue: home(), since, by: by.map(str::to_owned) };
    assert_eq!(w.why(id).await, [paused(Some("åse"), since)]);
    w.store.resume(&home()).await.unwrap();
    starts(w, id).await;
    let id = w.enqueue("mail").await;
    w.store.pause(&home(), None).await.unwrap();
    assert_eq!(w.why(id).await, [paused(None, w.now())]);
}

/// It is a follow-up of a family that has not settled.
pub async fn a_follow_up_of_an_open_family(w: &World) {
    let root = w.root().await;
    let made = follow_up(new_task("export"), When::Settled);
    w.leave_behind(&root, Made { children: vec![new_task("report")], ..made }).await;
    let id = w.only("export").await;
    assert_eq!(w.why(id).await, [Reason::Families { roots: vec![root.id] }]);
    let kid = w.kids(root.id).await[0];
    w.work(kid, Outcome::Done(None)).await;
    starts(w, id).await;
}

/// It runs in order, after the one before it.
pub async fn one_in_order(w: &World) {
    let root = w.waiting(in_order(3, ChildOrder::InOrder)).await;
    let kids = w.kids(root).await;
    assert_eq!(w.words(kids[0]).await, ["in_line"]);
    assert_eq!(w.why(kids[1]).await, [Reason::Sibling { task: kids[0] }]);
    assert_eq!(w.why(kids[2]).await, [Reason::Sibling { task: kids[1] }]);
    w.work(kids[0], Outcome::Done(None)).await;
    starts(w, kids[1]).await;
    assert_eq!(w.why(kids[2]).await, [Reason::Sibling { task: kids[1] }]);
}

/// Its queue has as many families at work as it may.
pub async fn a_root_on_a_full_serial_queue(w: &World) {
    w.serial(2).await;
    let at_work = [w.root().await, w.root().await];
    w.leave_behind(&at_work[0], children(1)).await;
    let id = w.enqueue("mail").await;
    let roots = vec![at_work[0].id, at_work[1].id];
    assert_eq!(w.why(id).await, [Reason::FamilyLimit { queue: home(), limit: 2, roots }]);
    assert_eq!(w.words(w.kids(at_work[0].id).await[0]).await, ["in_line"]);
    w.done(&at_work[1]).await;
    starts(w, id).await;
}

/// It belongs to a family that was set going again, and its queue has no room for that.
pub async fn a_member_of_a_family_without_room(w: &World) {
    w.serial(1).await;
    let (root, kid) = w.failed_family().await;
    let other = w.root().await;
    w.store.retry_family(root).await.unwrap();
    let reason = Reason::FamilyLimit { queue: home(), limit: 1, roots: vec![other.id] };
    assert_eq!(w.why(kid).await, [reason]);
    assert_eq!(w.words(root).await, ["children"]);
    w.done(&other).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 9).await, [kid]);
}

/// Its queue runs as many children as it may.
pub async fn a_child_on_a_queue_full_of_children(w: &World) {
    w.limit("default", children_at_once(1)).await;
    let (_, kids) = w.parent_of(2).await;
    let task = w.start(kids[0]).await;
    let reason = Reason::ChildLimit { queue: home(), limit: 1, holders: vec![kids[0]] };
    assert_eq!(w.why(kids[1]).await, [reason]);
    w.done(&task).await;
    starts(w, kids[1]).await;
}

/// All slots of its keys are taken: how many, and by whom. A claim need not have looked at it.
pub async fn one_under_full_keys(w: &World) {
    w.groups([("zone", 2), ("tenant", 1)]).await;
    let holder = w.start(w.under(&ACME).await).await;
    let other = w.start(w.under(&[("zone", "north")]).await).await;
    let id = w.under(&ACME).await;
    let full = |name: &str, key: &str, limit, holders: &[TaskId]| Reason::KeyFull {
        group: of_mail(name),
        key: key.to_owned(),
        limit,
        held: holders.len() as u64,
        holders: holders.to_vec(),
    };
    let tenant = full("tenant", "acme", 1, &[holder.id]);
    for _ in 0..2 {
        assert_eq!(w.why(id).await, [tenant.clone(), full("zone", "north", 2, &[holder.id, other.id])]);
        assert_eq!(w.claimable().await, []);
    }
    w.done(&other).await;
    assert_eq!(w.why(id).await, [tenant]);
    w.done(&holder).await;
    starts(w, id).await;
}

/// The command's total is full.
pub async fn one_of_a_command_at_its_total(w: &World) {
    w.groups([("total", 1)]).await;
    let holder = w.start(w.enqueue("mail").await).await;
    let id = w.enqueue("mail").await;
    let (group, holders) = (of_mail("total"), vec![holder.id]);
    assert_eq!(w.why(id).await, [Reason::KeyFull { group, key: String::new(), limit: 1, held: 1, holders }]);
    w.done(&holder).await;
    starts(w, id).await;
}

/// The rate of its key allows no start.
pub async fn one_under_an_empty_rate(w: &World) {
    w.groups([("tenant", Rate::per_minute(2).burst(2))]).await;
    w.many_under("mail", &ACME[..1], 2).await;
    w.look(9).await;
    let id = w.under(&ACME[..1]).await;
    let until = w.now().plus(secs(30));
    assert_eq!(w.why(id).await, [Reason::KeyRate { group: of_mail("tenant"), key: "acme".to_owned(), until }]);
    w.advance(30).await;
    starts(w, id).await;
}

/// A suspect, while every worker for it runs one.
pub async fn a_suspect_without_a_worker_of_its_own(w: &World) {
    let made = [w.start(w.enqueue("mail").await).await, w.start(w.enqueue("mail").await).await];
    w.lose_all().await;
    let worker = w.worker().await;
    let first = w.take(worker).await;
    assert_eq!(first.id, made[0].id);
    assert_eq!(w.why(made[1].id).await, [Reason::Suspect]);
    w.done(&first).await;
    starts(w, made[1].id).await;
}

/// No live worker handles its command on its queue.
pub async fn one_without_a_worker(w: &World) {
    let id = w.enqueue("mail").await;
    let reason = [Reason::NoWorker { queue: home(), command: command("mail") }];
    assert_eq!(w.why(id).await, reason);
    let worker = w.worker().await;
    assert_eq!(w.words(id).await, ["in_line"]);
    w.advance(31).await;
    assert_eq!(w.why(id).await, reason);
    w.store.heartbeat(worker).await.unwrap();
    starts(w, id).await;
    w.store.register(&[plain_command("nobody")]).await.unwrap();
    let id = w.enqueue("nobody").await;
    assert_eq!(w.why(id).await, [Reason::NoWorker { queue: home(), command: command("nobody") }]);
    let far = NewTask { queue: Some(queue_name("far")), ..new_task("mail") };
    w.limit("far", Policy::default()).await;
    let far = w.create(far).await;
    assert_eq!(w.why(far).await, [Reason::NoWorker { queue: queue_name("far"), command: command("mail") }]);
}

/// All reasons are given at once, in a fixed order; each that goes leaves the others, and the last one lets the task start.
pub async fn all_reasons_are_given(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.serial(1).await;
    let holder = w.start(w.under(&ACME[..1]).await).await;
    w.lose_all().await;
    let holder = w.start(holder.id).await;
    let id = w.create(NewTask { due: later(60).due, ..task_of("mail", &ACME[..1]) }).await;
    w.store.pause(&home(), None).await.unwrap();
    assert_eq!(w.words(id).await, ["not_due", "paused", "family_limit", "key_full"]);
    w.advance(60).await;
    assert_eq!(w.words(id).await, ["paused", "family_limit", "key_full", "no_worker"]);
    w.store.resume(&home()).await.unwrap();
    w.worker().await;
    assert_eq!(w.words(id).await, ["family_limit", "key_full"]);
    w.limit("default", Policy::default()).await;
    assert_eq!(w.words(id).await, ["key_full"]);
    w.done(&holder).await;
    starts(w, id).await;
}

/// A parent whose own work is over waits for its children.
pub async fn a_parent_that_waits(w: &World) {
    let (root, kids) = w.parent_of(3).await;
    w.work(kids[0], failed(Retry::Never)).await;
    let children = Reason::Children { tally: counts(3, 0, 1, 0), open: kids[1..].to_vec() };
    assert_eq!(w.why(root).await, [children]);
    assert_eq!(w.store.explain(root).await.unwrap().state, State::Waiting);
}

/// At most twenty of the open children are named.
pub async fn twenty_open_children_are_named(w: &World) {
    let (root, kids) = w.parent_of(25).await;
    let Reason::Children { tally, open } = w.why(root).await.remove(0) else { panic!("it waits for its children") };
    assert_eq!((tally, &open[..]), (counts(25, 0, 0, 0), &kids[..20]));
}
