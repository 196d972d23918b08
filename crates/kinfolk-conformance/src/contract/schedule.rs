//! Recurring schedules: armed, fired once a tick, by anyone.

use kinfolk_core::schedule::{Fired, Plan};
use kinfolk_core::{Due, Enqueued, Missed, NewTask, Overlap, Rejection, Schedule, State, StoreError, Unique};

use crate::grouped::task_of;
use crate::world::{World, group_name, new_task, queue_name, schedule_name, secs, unique_task};

fn hourly() -> Schedule {
    Schedule::new(schedule_name("hourly"), "0 * * * *", new_task("mail"))
}

/// What the schedule would do now, as any worker computes it.
async fn plan(w: &World) -> Plan {
    let due = w.store.due_schedules().await.unwrap().remove(0);
    due.plan(w.now()).unwrap().expect("it is due")
}

/// A schedule is kept as it was given and armed for its first tick by the store's clock.
pub async fn a_schedule_is_armed_by_the_stores_clock(w: &World) {
    w.advance(1_800).await;
    let given = Schedule { zone: "Europe/Oslo".to_owned(), missed: Missed::All, overlap: Overlap::Skip, ..hourly() };
    let kept = w.store.put_schedule(&given).await.unwrap();
    assert_eq!(kept, Schedule { next_at: Some(w.now().plus(secs(1_800))), ..given });
    assert_eq!(w.store.schedules().await.unwrap(), [kept]);
}

/// A schedule is due from the moment of its tick on.
pub async fn a_schedule_is_due_from_its_tick_on(w: &World) {
    w.store.put_schedule(&hourly()).await.unwrap();
    assert_eq!(w.store.due_schedules().await.unwrap(), []);
    w.advance(3_599).await;
    assert_eq!(w.store.due_schedules().await.unwrap(), []);
    w.advance(1).await;
    assert_eq!(w.store.due_schedules().await.unwrap().len(), 1);
}

/// Firing enqueues the schedule's task as given and arms the schedule for the next tick.
pub async fn firing_enqueues_and_arms_the_next_tick(w: &World) {
    let task = NewTask { priority: Some(3), due: Due::After(secs(5)), ..new_task("mail") };
    w.store.put_schedule(&Schedule { task, ..hourly() }).await.unwrap();
    w.advance(3_600).await;
    let fired = w.store.fire(&plan(w).await).await.unwrap();
    let [id] = fired.tasks[..] else { panic!("one task: {fired:?}") };
    let made = w.get(id).await;
    assert_eq!((made.priority, made.due), (3, w.now().plus(secs(5))));
    let schedule = w.store.schedules().await.unwrap().remove(0);
    assert_eq!((schedule.last_at, schedule.last_task), (Some(w.now()), Some(id)));
    assert_eq!(schedule.next_at, Some(w.now().plus(secs(3_600))));
    assert_eq!(w.store.due_schedules().await.unwrap(), []);
}

/// Of two workers with the same plan, the second is too late, and there is one task.
pub async fn a_tick_is_fired_once(w: &World) {
    w.store.put_schedule(&hourly()).await.unwrap();
    w.advance(3_600).await;
    let plan = plan(w).await;
    assert_eq!(w.store.fire(&plan).await.unwrap().tasks.len(), 1);
    let late = w.another().await.fire(&plan).await.unwrap();
    assert_eq!(late, Fired { too_late: true, ..Fired::default() });
    assert_eq!(w.all().await.len(), 1);
}

/// A plan for a schedule that was paused in the meantime is too late.
pub async fn a_paused_schedule_does_not_fire(w: &World) {
    w.store.put_schedule(&hourly()).await.unwrap();
    w.advance(3_600).await;
    let plan = plan(w).await;
    w.store.pause_schedule(&schedule_name("hourly"), true).await.unwrap();
    assert!(w.store.fire(&plan).await.unwrap().too_late);
    assert_eq!(w.store.due_schedules().await.unwrap(), []);
    assert!(w.all().await.is_empty());
}

/// Ticks that pass while a schedule is off are not missed: switched on, it is armed anew from now.
pub async fn a_resumed_schedule_is_armed_from_now(w: &World) {
    w.store.put_schedule(&hourly()).await.unwrap();
    w.store.pause_schedule(&schedule_name("hourly"), true).await.unwrap();
    w.advance(9_000).await;
    w.store.pause_schedule(&schedule_name("hourly"), false).await.unwrap();
    let schedule = w.store.schedules().await.unwrap().remove(0);
    assert_eq!((schedule.paused, schedule.next_at), (false, Some(w.now().plus(secs(1_800)))));
}

/// Ticks that nobody was there to fire follow the schedule's rule.
pub async fn missed_ticks_follow_the_rule(w: &World) {
    for (missed, made) in [(Missed::All, 3), (Missed::Once, 1), (Missed::Skip, 0)] {
        w.store.put_schedule(&Schedule { missed, ..hourly() }).await.unwrap();
        w.advance(3 * 3_600 + 600).await;
        let fired = w.store.fire(&plan(w).await).await.unwrap();
        assert_eq!(fired.tasks.len(), made, "{missed:?}");
        let next = w.store.schedules().await.unwrap().remove(0).next_at;
        assert_eq!(next, Some(w.now().plus(secs(3_000))));
        w.advance(3_000).await;
    }
}

/// A plan without ticks arms the next one and leaves the last one as it was.
pub async fn a_plan_without_ticks_only_arms_the_next(w: &World) {
    w.store.put_schedule(&Schedule { missed: Missed::Skip, ..hourly() }).await.unwrap();
    w.advance(3_600 + 61).await;
    assert_eq!(w.store.fire(&plan(w).await).await.unwrap(), Fired::default());
    let schedule = w.store.schedules().await.unwrap().remove(0);
    assert_eq!((schedule.last_at, schedule.last_task), (None, None));
}

/// Overlap `skip` leaves a tick out while the task before has not ended; `allow` does not.
pub async fn overlapping_ticks_follow_the_rule(w: &World) {
    w.store.put_schedule(&Schedule { overlap: Overlap::Skip, ..hourly() }).await.unwrap();
    w.advance(3_600).await;
    let id = w.store.fire(&plan(w).await).await.unwrap().tasks[0];
    w.advance(3_600).await;
    let fired = w.store.fire(&plan(w).await).await.unwrap();
    assert_eq!(fired, Fired { overlapped: 1, ..Fired::default() });
    let schedule = w.store.schedules().await.unwrap().remove(0);
    assert_eq!((schedule.last_at, schedule.last_task), (Some(w.now()), Some(id)), "the tick counts as fired");
    w.store.cancel(id).await.unwrap();
    w.advance(3_600).await;
    assert_eq!(w.store.fire(&plan(w).await).await.unwrap().tasks.len(), 1);
    w.store.put_schedule(&hourly()).await.unwrap();
    w.advance(3_600).await;
    assert_eq!(w.store.fire(&plan(w).await).await.unwrap().tasks.len(), 1);
}

/// Within one catching-up, `skip` leaves out what its own first task overlaps.
pub async fn catching_up_does_not_overlap_itself(w: &World) {
    let schedule = Schedule { overlap: Overlap::Skip, missed: Missed::All, ..hourly() };
    w.store.put_schedule(&schedule).await.unwrap();
    w.advance(4 * 3_600).await;
    let fired = w.store.fire(&plan(w).await).await.unwrap();
    assert_eq!((fired.tasks.len(), fired.overlapped), (1, 3));
}

/// A tick's task goes the usual way: under a unique key that is held, no new task is made.
pub async fn a_tick_respects_a_unique_key(w: &World) {
    let held = w.create(unique_task(Unique::key("nightly"), "{}")).await;
    let task = unique_task(Unique::key("nightly"), "{}");
    w.store.put_schedule(&Schedule { task: task.clone(), ..hourly() }).await.unwrap();
    w.advance(3_600).await;
    assert_eq!(w.store.fire(&plan(w).await).await.unwrap(), Fired::default());
    assert_eq!(w.store.schedules().await.unwrap()[0].last_task, Some(held));
    assert_eq!(w.put(task).await, Enqueued::Existing(held));
}

/// A handler that fails does not disarm its schedule.
pub async fn a_failing_task_does_not_disarm_its_schedule(w: &World) {
    w.store.put_schedule(&hourly()).await.unwrap();
    let worker = w.worker().await;
    for _ in 0..3 {
        w.advance(3_600).await;
        let id = w.store.fire(&plan(w).await).await.unwrap().tasks[0];
        let task = w.take(worker).await;
        w.fail(&task, kinfolk_core::Retry::Never).await;
        assert_eq!(w.state(id).await, State::Failed);
    }
}

/// Changing a schedule arms it anew and keeps what was known of its last tick.
pub async fn changing_a_schedule_keeps_its_last_tick(w: &World) {
    w.store.put_schedule(&hourly()).await.unwrap();
    w.advance(3_600).await;
    let fired = w.store.fire(&plan(w).await).await.unwrap();
    let changed = w.store.put_schedule(&Schedule { cron: "30 * * * *".to_owned(), ..hourly() }).await.unwrap();
    assert_eq!((changed.last_at, changed.last_task), (Some(w.now()), Some(fired.tasks[0])));
    assert_eq!(changed.next_at, Some(w.now().plus(secs(1_800))));
    assert_eq!(w.store.schedules().await.unwrap(), [changed]);
}

/// What code no longer declares is told by `doctor`, and by nothing else: it stays.
pub async fn a_schedule_that_code_no_longer_declares_is_told(w: &World) {
    let told = async || {
        let findings = w.store.doctor().await.unwrap();
        findings.into_iter().find(|finding| finding.subject == "schedules").map(|finding| finding.found)
    };
    let still = Some("what code declared is still declared".to_owned());
    let by_hand = Schedule { name: schedule_name("by-hand"), ..hourly() };
    w.store.put_schedule(&by_hand).await.unwrap();
    w.store.put_schedule(&hourly()).await.unwrap();
    let old = w.worker().await;
    w.advance(1).await;
    w.store.declare_schedules(&[hourly().name, schedule_name("unheard-of")]).await.unwrap();
    let declared = w.store.schedules().await.unwrap().into_iter().map(|schedule| schedule.declared_at);
    assert_eq!(declared.collect::<Vec<_>>(), [None, Some(w.now())]);
    w.advance(1).await;
    w.worker().await;
    assert_eq!(told().await, still, "the worker that declared it lives");
    w.store.leave(old).await.unwrap();
    assert_eq!(told().await, Some("no longer declared by the workers of their commands: hourly".to_owned()));
    w.store.put_schedule(&hourly()).await.unwrap();
    assert!(told().await != still, "a person who changes it does not declare it");
    w.store.declare_schedules(&[hourly().name]).await.unwrap();
    assert_eq!(told().await, still);
}

/// What only the store may say of a schedule can't be handed in.
pub async fn a_schedule_can_not_be_handed_a_past(w: &World) {
    let forged = Schedule {
        next_at: Some(w.now()),
        last_at: Some(w.now()),
        last_task: Some(kinfolk_core::TaskId(7)),
        declared_at: Some(w.now()),
        ..hourly()
    };
    let kept = w.store.put_schedule(&forged).await.unwrap();
    assert_eq!(kept, Schedule { next_at: Some(w.now().plus(secs(3_600))), ..hourly() });
}

/// Due schedules come in the order of their ticks, then by name.
pub async fn due_schedules_come_by_tick_then_name(w: &World) {
    for (name, cron) in [("c", "0 * * * *"), ("a", "0 * * * *"), ("b", "30 * * * *"), ("z", "0 0 * * *")] {
        w.store.put_schedule(&Schedule::new(schedule_name(name), cron, new_task("mail"))).await.unwrap();
    }
    w.advance(3_600).await;
    let names = |schedules: Vec<Schedule>| schedules.into_iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(w.store.due_schedules().await.unwrap()), ["b", "a", "c"]);
    assert_eq!(names(w.store.schedules().await.unwrap()), ["a", "b", "c", "z"]);
}

/// A removed schedule is gone; its tasks stay.
pub async fn a_removed_schedule_leaves_its_tasks(w: &World) {
    w.store.put_schedule(&hourly()).await.unwrap();
    w.advance(3_600).await;
    w.store.fire(&plan(w).await).await.unwrap();
    w.store.remove_schedule(&schedule_name("hourly")).await.unwrap();
    assert_eq!(w.store.schedules().await.unwrap(), []);
    assert_eq!(w.all().await.len(), 1);
}

/// What is done to a schedule that nobody knows is an error that names it.
pub async fn an_unknown_schedule_is_not_found(w: &World) {
    let name = schedule_name("never");
    let plan = Plan { name: name.clone(), armed_for: w.now(), ticks: vec![w.now()], next_at: None };
    let faults = [
        w.store.pause_schedule(&name, true).await.unwrap_err(),
        w.store.pause_schedule(&name, false).await.unwrap_err(),
        w.store.remove_schedule(&name).await.unwrap_err(),
        w.store.fire(&plan).await.unwrap_err(),
    ];
    for fault in faults {
        assert!(matches!(&fault, StoreError::NotFound { what: "schedule", name } if name == "never"), "{fault}");
    }
}

/// A schedule whose ticks could make no task is refused by what is not there, and changes nothing.
pub async fn a_schedule_for_an_unknown_queue_or_group_is_refused(w: &World) {
    w.groups([("tenant", 9)]).await;
    let put = w.store.put_schedule(&hourly()).await.unwrap();
    let nowhere = NewTask { queue: Some(queue_name("nowhere")), ..new_task("mail") };
    for (task, what, missing) in [
        (nowhere, "queue", "nowhere"),
        (task_of("mail", &[("tenant", "acme"), ("zone", "north")]), "group", "zone of command mail"),
        (task_of("report", &[("tenant", "acme")]), "group", "tenant of command report"),
    ] {
        let fault = w.store.put_schedule(&Schedule { task, ..hourly() }).await.unwrap_err();
        let StoreError::NotFound { what: found, name } = &fault else { panic!("{fault}") };
        assert_eq!((*found, name.as_str()), (what, missing));
    }
    assert_eq!(w.store.schedules().await.unwrap(), [put]);
}

/// A tick that can make no task, because what the schedule names has gone, is told, counts as fired and arms the next.
pub async fn a_tick_that_makes_no_task_is_told(w: &World) {
    w.groups([("tenant", 9)]).await;
    let task = task_of("mail", &[("tenant", "acme")]);
    w.store.put_schedule(&Schedule { task, missed: Missed::All, ..hourly() }).await.unwrap();
    w.declare("mail", [("zone", 9)]).await;
    w.advance(2 * 3_600).await;
    let fired = w.store.fire(&plan(w).await).await.unwrap();
    let rejected = vec![Rejection::UnknownGroup(group_name("tenant")); 2];
    assert_eq!(fired, Fired { rejected, ..Fired::default() });
    let schedule = w.store.schedules().await.unwrap().remove(0);
    assert_eq!((schedule.last_at, schedule.last_task), (Some(w.now()), None));
    assert_eq!(schedule.next_at, Some(w.now().plus(secs(3_600))));
    w.groups([("tenant", 9)]).await;
    w.advance(3_600).await;
    let fired = w.store.fire(&plan(w).await).await.unwrap();
    assert_eq!((fired.tasks.len(), fired.rejected), (1, vec![]));
}

/// A schedule that is put paused stays off until it is switched on.
pub async fn a_schedule_can_be_put_paused(w: &World) {
    w.store.put_schedule(&Schedule { paused: true, ..hourly() }).await.unwrap();
    w.advance(3_600).await;
    assert_eq!(w.store.due_schedules().await.unwrap(), []);
}
