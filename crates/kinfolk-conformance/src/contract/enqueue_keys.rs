//! Keys that come with an enqueue, those that can't be, and those that a task takes from its maker.

use kinfolk_core::{
    ClaimedTask, Enqueued, FailureKind, InputError, Keys, Made, NewTask, OnDuplicate, Outcome, Rejection, Retry, Rule,
    Schedule, Settled, State, StoreError, Unique, When,
};

use crate::family::{done_with, follow_up, these};
use crate::flow::{fan_out_of, suspend_of, waiting_for};
use crate::grouped::{heir, keys_of, task_of, with_groups};
use crate::world::{World, failed, group_name, new_task, schedule_name, secs};

const BOTH: [(&str, &str); 2] = [("tenant", "acme"), ("zone", "north")];

/// A running `mail` under two keys; `report` declares one of the two groups and another.
async fn maker(w: &World) -> ClaimedTask {
    w.declare("mail", [("tenant", 9), ("zone", 9)]).await;
    w.declare("report", [("tenant", 9), ("message", 9)]).await;
    w.start(w.under(&BOTH).await).await
}

/// Keys are kept to the byte, whatever their language, up to the longest.
pub async fn keys_come_back_as_they_were_given(w: &World) {
    w.groups([("tenant", 9), ("zone", 9), ("message", 9)]).await;
    let long = "x".repeat(200);
    for keys in [&[][..], &BOTH, &[("tenant", "åse & co. 'A' \"B\" \\ ☃"), ("zone", " ")], &[("message", &long)]] {
        let id = w.under(keys).await;
        assert_eq!(w.get(id).await.keys, keys_of(keys));
    }
}

/// A key for a group that the command does not declare is rejected; its neighbours are made.
pub async fn an_unknown_group_is_rejected(w: &World) {
    w.groups([("tenant", 9)]).await;
    let asked = [
        task_of("mail", &[("tenant", "acme")]),
        task_of("mail", &[("tenant", "acme"), ("zone", "z"), ("message", "m")]),
        task_of("report", &[("tenant", "acme")]),
        new_task("mail"),
    ];
    let answers = w.store.enqueue(&asked).await.unwrap();
    assert!(matches!(answers[0], Enqueued::Created(_)));
    assert_eq!(answers[1], Enqueued::Rejected(Rejection::UnknownGroup(group_name("message"))));
    assert_eq!(answers[2], Enqueued::Rejected(Rejection::UnknownGroup(group_name("tenant"))));
    assert!(matches!(answers[3], Enqueued::Created(_)));
}

/// A key that no store would keep is the caller's mistake, and nothing is made.
pub async fn a_bad_key_is_refused(w: &World) {
    w.groups([("tenant", 9), ("total", 9)]).await;
    let long = "x".repeat(201);
    for key in ["", "nul\0", &long] {
        let fault = w.store.enqueue(&[new_task("mail"), task_of("mail", &[("tenant", key)])]).await.unwrap_err();
        assert!(matches!(fault, StoreError::Input(InputError::GroupKey { .. })), "{fault}");
    }
    assert_eq!(w.all().await, []);
}

/// Nobody gives a key for a total, and nobody gives more keys than there may be groups.
pub async fn a_key_for_a_total_is_refused(w: &World) {
    w.groups([("total", 9)]).await;
    let fault = w.store.enqueue(&[task_of("mail", &[("total", "x")])]).await.unwrap_err();
    assert!(matches!(fault, StoreError::Input(InputError::Other(_))), "{fault}");
    let many = Keys::of((0..17).map(|n| (format!("g{n}"), "x"))).unwrap();
    let fault = w.store.enqueue(&[NewTask { keys: many, ..new_task("mail") }]).await.unwrap_err();
    assert!(matches!(fault, StoreError::Input(InputError::Batch { .. })), "{fault}");
    assert_eq!(w.all().await, []);
}

/// A duplicate leaves the keys of the task in place, whatever it does to the payload.
pub async fn a_duplicate_changes_no_keys(w: &World) {
    w.groups([("tenant", 9)]).await;
    for rule in [OnDuplicate::Keep, OnDuplicate::Replace, OnDuplicate::Merge] {
        let unique = Some(Unique::key(format!("{rule:?}")).on_duplicate(rule));
        let first = NewTask { unique: unique.clone(), ..task_of("mail", &[("tenant", "acme")]) };
        let second = NewTask { unique, ..task_of("mail", &[("tenant", "beta")]) };
        let id = w.create(first).await;
        assert_eq!(w.put(second).await.id(), Ok(id));
        assert_eq!(w.get(id).await.keys, keys_of(&[("tenant", "acme")]));
    }
}

/// The tasks of a schedule have its keys.
pub async fn a_schedule_carries_keys(w: &World) {
    w.groups([("tenant", 9)]).await;
    let task = task_of("mail", &[("tenant", "acme")]);
    let schedule = Schedule::new(schedule_name("tick"), "* * * * *", task);
    assert_eq!(w.store.put_schedule(&schedule).await.unwrap().task.keys, schedule.task.keys);
    w.advance(60).await;
    let due = w.store.due_schedules().await.unwrap().remove(0);
    let plan = due.plan(w.now()).unwrap().unwrap();
    let fired = w.store.fire(&plan).await.unwrap().tasks;
    assert_eq!(w.get(fired[0]).await.keys, keys_of(&[("tenant", "acme")]));
}

/// A child that asks for it takes those keys of its maker that its command has groups for.
pub async fn a_child_inherits_when_it_asks(w: &World) {
    let maker = maker(w).await;
    w.leave_behind(&maker, these([heir("report", &[]), new_task("report"), heir("mail", &[]), heir("export", &[])]))
        .await;
    let kids = w.kids(maker.id).await;
    let expected = [&[("tenant", "acme")][..], &[], &BOTH, &[]];
    for (id, keys) in kids.into_iter().zip(expected) {
        assert_eq!(w.get(id).await.keys, keys_of(keys));
    }
}

/// What is given wins over what would be inherited.
pub async fn given_keys_win_over_inherited_ones(w: &World) {
    let maker = maker(w).await;
    let kids = [heir("report", &[("tenant", "beta")]), heir("report", &[("message", "m1")])];
    w.leave_behind(&maker, these(kids)).await;
    let kids = w.kids(maker.id).await;
    assert_eq!(w.get(kids[0]).await.keys, keys_of(&[("tenant", "beta")]));
    assert_eq!(w.get(kids[1]).await.keys, keys_of(&[("tenant", "acme"), ("message", "m1")]));
}

/// A sibling takes the keys of the one that makes it, not those of the parent.
pub async fn a_sibling_inherits_from_its_maker(w: &World) {
    let maker = maker(w).await;
    w.leave_behind(&maker, these([task_of("report", &[("tenant", "beta"), ("message", "m1")])])).await;
    let child = w.kids(maker.id).await[0];
    let made = Made { siblings: vec![heir("report", &[]), heir("mail", &[])], ..Made::default() };
    let child = w.start(child).await;
    w.leave_behind(&child, made).await;
    let kids = w.kids(maker.id).await;
    assert_eq!(w.get(kids[1]).await.keys, keys_of(&[("tenant", "beta"), ("message", "m1")]));
    assert_eq!(w.get(kids[2]).await.keys, keys_of(&[("tenant", "beta")]));
}

/// Follow-ups and other tasks that a handler makes inherit, too.
pub async fn follow_ups_and_other_tasks_inherit(w: &World) {
    let maker = maker(w).await;
    let made = Made { tasks: vec![heir("report", &[])], ..follow_up(heir("mail", &[]), When::Settled) };
    w.leave_behind(&maker, made).await;
    let all = w.all().await;
    let made: Vec<_> = all.iter().filter(|task| task.id != maker.id).map(|task| task.keys.clone()).collect();
    assert_eq!(made, [keys_of(&[("tenant", "acme")]), keys_of(&BOTH)]);
}

/// Awaited children inherit, too.
pub async fn children_of_a_fan_out_inherit(w: &World) {
    let maker = maker(w).await;
    let children = vec![heir("report", &[]), heir("report", &[("tenant", "beta")]), new_task("report")];
    let flow = w.await_in(maker, fan_out_of("items", children, Rule::CollectAll)).await;
    let expected = [&[("tenant", "acme")][..], &[("tenant", "beta")], &[]];
    for (id, keys) in flow.kids.into_iter().zip(expected) {
        assert_eq!(w.get(id).await.keys, keys_of(keys));
    }
}

/// A task that nobody makes has nobody to inherit from.
pub async fn a_task_without_a_maker_inherits_nothing(w: &World) {
    w.groups([("tenant", 9)]).await;
    let id = w.create(heir("mail", &[])).await;
    assert!(w.get(id).await.keys.is_empty());
}

/// A handler that makes a task with a key for an unknown group is refused as a whole, and may pass at its next attempt.
pub async fn an_unknown_group_refuses_what_a_handler_made(w: &World) {
    let task = maker(w).await;
    let made = || these([new_task("report"), task_of("report", &[("zone", "north")])]);
    assert_eq!(w.leave_behind(&task, made()).await, Settled::Recorded(State::Pending));
    let failure = w.get(task.id).await.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Refused);
    assert!(failure.message.contains("zone"), "{failure:?}");
    assert_eq!(w.all().await.len(), 1);
    w.declare("report", [("zone", 9)]).await;
    w.advance(1).await;
    let again = w.start(task.id).await;
    assert_eq!(w.store.settle(&[done_with(&again, made())]).await.unwrap(), [Settled::Recorded(State::Waiting)]);
}

/// A suspension that awaits a child with a key for an unknown group is refused as a whole.
pub async fn an_unknown_group_refuses_a_suspension(w: &World) {
    let task = maker(w).await;
    let fan_out = fan_out_of("items", vec![task_of("report", &[("zone", "north")])], Rule::FailFast);
    assert_eq!(w.suspend(waiting_for(&task, fan_out)).await, Settled::Recorded(State::Pending));
    assert_eq!(w.get(task.id).await.failure.unwrap().kind, FailureKind::Refused);
    assert_eq!(w.all().await.len(), 1);
}

/// A task keeps its keys through everything that happens to it, also when its command no longer declares the group.
pub async fn a_task_keeps_its_keys(w: &World) {
    let task = maker(w).await;
    w.fail(&task, Retry::After(secs(0))).await;
    let task = w.start(task.id).await;
    w.suspend(kinfolk_core::Suspend { until: Some(w.now()), ..suspend_of(&task) }).await;
    w.work(task.id, Outcome::Release).await;
    w.store.register(&[with_groups("mail", kinfolk_core::Groups::new())]).await.unwrap();
    assert_eq!(w.get(task.id).await.keys, keys_of(&BOTH));
    w.work(task.id, failed(Retry::Never)).await;
    w.store.retry(task.id).await.unwrap();
    assert_eq!(w.get(task.id).await.keys, keys_of(&BOTH));
}
