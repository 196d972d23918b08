//! Claims of tasks with keys: a slot of every key or of none.

use kinfolk_core::{Claim, GroupSpec, Groups, Keys, NewTask, Outcome, Retry, Setting};

use crate::family::{children_at_once, these};
use crate::grouped::{heir, keys_of, of_mail, shared, slots, task_of, with_groups};
use crate::world::{World, claim_of, command, ids, new_task, queue_name, secs};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

/// Twenty per tenant and one per message, both at once: a message of one tenant holds up the same message of another, and
/// nothing else does.
pub async fn a_tenant_and_a_message_are_two_limits(w: &World) {
    w.groups([("tenant", 20), ("message", 1)]).await;
    let first = w.under(&[("tenant", "acme"), ("message", "msg-1")]).await;
    let second = w.under(&[("tenant", "acme"), ("message", "msg-2")]).await;
    let third = w.under(&[("tenant", "beta"), ("message", "msg-1")]).await;
    let taken = w.look(9).await.tasks;
    assert_eq!(ids(&taken), [first, second]);
    assert_eq!(w.holders("tenant", "acme").await, [first, second]);
    assert_eq!(w.holders("tenant", "beta").await, []);
    assert_eq!(w.holders("message", "msg-1").await, [first]);
    w.done(&taken[1]).await;
    assert_eq!(w.claimable().await, []);
    w.done(&taken[0]).await;
    assert_eq!(w.claimable().await, [third]);
}

/// The limit of a tenant holds over all its messages, and each tenant has its own.
pub async fn every_tenant_has_its_own_slots(w: &World) {
    w.groups([("tenant", 20), ("message", 1)]).await;
    let mut made = Vec::new();
    for n in 0..25 {
        made.push(w.under(&[("tenant", "acme"), ("message", &format!("a{n}"))]).await);
    }
    for n in 0..3 {
        made.push(w.under(&[("tenant", "beta"), ("message", &format!("b{n}"))]).await);
    }
    let taken = w.look(100).await.tasks;
    assert_eq!(ids(&taken), [&made[..20], &made[25..]].concat());
    w.done(&taken[7]).await;
    w.done(&taken[21]).await;
    assert_eq!(w.claimable().await, [made[20]]);
}

/// One message is worked on by one task at a time, in the order in which its tasks came.
pub async fn one_message_is_handled_once_at_a_time(w: &World) {
    w.groups([("tenant", 20), ("message", 1)]).await;
    let keys = [("tenant", "acme"), ("message", "msg-1")];
    for id in w.many_under("mail", &keys, 4).await {
        let taken = w.look(9).await.tasks;
        assert_eq!(ids(&taken), [id]);
        w.done(&taken[0]).await;
    }
}

/// A task that finds no room under one key takes no slot of another.
pub async fn a_task_takes_all_its_slots_or_none(w: &World) {
    w.groups([("a", 1), ("m", 1), ("z", 1)]).await;
    let first = w.start(w.under(&[("m", "1")]).await).await;
    let blocked = w.under(&[("a", "1"), ("m", "1"), ("z", "1")]).await;
    assert_eq!(w.claimable().await, []);
    assert_eq!((w.holders("a", "1").await, w.holders("z", "1").await), (vec![], vec![]));
    let others = [w.under(&[("a", "1")]).await, w.under(&[("z", "1")]).await];
    let taken = w.look(9).await.tasks;
    assert_eq!(ids(&taken), others);
    w.done(&first).await;
    assert_eq!(w.claimable().await, []);
    for task in &taken {
        w.done(task).await;
    }
    assert_eq!(w.claimable().await, [blocked]);
}

/// Keys in crossing orders never block each other for good.
pub async fn crossing_keys_drain(w: &World) {
    w.groups([("a", 1), ("b", 1)]).await;
    for n in 0..12 {
        let (x, y) = (["1", "2", "3"][n % 3], ["1", "2", "3"][n / 3 % 3]);
        w.under(&[("a", x), ("b", y)]).await;
    }
    for left in (1..=12).rev() {
        let taken = w.look(1).await.tasks;
        assert_eq!(taken.len(), 1, "{left} left");
        w.done(&taken[0]).await;
    }
}

/// Where a task gives no key, that group does not concern it.
pub async fn a_missing_key_skips_its_group(w: &World) {
    w.groups([("tenant", 1), ("message", 1)]).await;
    w.start(w.under(&[("tenant", "acme"), ("message", "m1")]).await).await;
    let made = [
        w.under(&[("tenant", "beta")]).await,
        w.under(&[("message", "m2")]).await,
        w.under(&[]).await,
        w.under(&[]).await,
    ];
    w.under(&ACME).await;
    assert_eq!(w.claimable().await, made);
}

/// A total counts every task of its command, with keys and without.
pub async fn a_total_counts_every_task(w: &World) {
    w.groups([("total", 3), ("tenant", 1)]).await;
    let made = [w.under(&ACME).await, w.under(&ACME).await, w.under(&[]).await, w.under(&[]).await, w.under(&[]).await];
    let other = w.enqueue("report").await;
    let taken = w.look(9).await.tasks;
    assert_eq!(ids(&taken), [made[0], made[2], made[3], other]);
    assert_eq!(w.holders("total", "").await, [made[0], made[2], made[3]]);
    w.done(&taken[3]).await;
    assert_eq!(w.claimable().await, []);
    w.done(&taken[0]).await;
    assert_eq!(w.claimable().await, [made[1]]);
}

/// One key may have other slots than the rest.
pub async fn one_key_may_have_slots_of_its_own(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.set_key("tenant", "acme", slots(3)).await;
    let acme = w.many_under("mail", &ACME, 5).await;
    let beta = w.many_under("mail", &[("tenant", "beta")], 2).await;
    assert_eq!(w.claimable().await, [&acme[..3], &beta[..1]].concat());
    w.set("tenant", slots(2)).await;
    assert_eq!(w.claimable().await, [&acme[..3], &beta[..2]].concat());
    w.set_key("tenant", "acme", Setting::default()).await;
    assert_eq!(w.claimable().await, [&acme[..2], &beta[..2]].concat());
}

/// A limit of nothing starts nothing, under that key alone.
pub async fn a_limit_of_nothing_starts_nothing(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.set_key("tenant", "acme", slots(0)).await;
    w.under(&ACME).await;
    let beta = w.under(&[("tenant", "beta")]).await;
    assert_eq!(w.claimable().await, [beta]);
}

/// A task may have a key in each of sixteen groups.
pub async fn sixteen_keys_are_taken_together(w: &World) {
    let names: Vec<_> = (0..16).map(|n| format!("g{n:02}")).collect();
    let groups = Groups::of(names.iter().map(|name| (name, 1))).unwrap();
    w.store.register(&[with_groups("mail", groups)]).await.unwrap();
    let keys: Vec<_> = names.iter().map(|name| (name.as_str(), "k")).collect();
    let (first, second) = (w.under(&keys).await, w.under(&keys).await);
    let last = w.under(&keys[15..]).await;
    let task = w.start(first).await;
    assert_eq!(w.claimable().await, []);
    for name in &names {
        assert_eq!(w.holders(name, "k").await, [first]);
    }
    w.done(&task).await;
    assert_eq!(w.look(9).await.tasks[0].id, second);
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.words(last).await, ["key_full"]);
}

/// All commands of a shared group count in it together.
pub async fn a_shared_group_counts_over_commands(w: &World) {
    for name in ["mail", "report"] {
        w.declare(name, [("tenant", GroupSpec::limit(2).shared())]).await;
    }
    let mails = w.many_under("mail", &ACME, 3).await;
    let reports = w.many_under("report", &ACME, 3).await;
    let taken = w.look(9).await.tasks;
    assert_eq!(ids(&taken), mails[..2]);
    w.done(&taken[0]).await;
    w.done(&taken[1]).await;
    assert_eq!(w.claimable().await, [mails[2], reports[0]]);
}

/// A shared group is exact over queues, too.
pub async fn a_shared_group_counts_over_queues(w: &World) {
    for name in ["mail", "export"] {
        w.declare(name, [("tenant", GroupSpec::limit(2).shared())]).await;
    }
    w.many_under("mail", &ACME, 3).await;
    w.many_under("export", &ACME, 3).await;
    let worker = w.worker().await;
    let here = w.claim(worker, 1).await;
    let there = w.claim_on("bulk", worker, 9).await;
    assert_eq!((here.len(), there.len()), (1, 1));
    assert!(w.claim(worker, 9).await.is_empty());
    w.done(&there[0]).await;
    assert_eq!(w.claim(worker, 9).await.len(), 1);
    assert!(w.claim_on("bulk", worker, 9).await.is_empty());
    assert_eq!(w.holders_in(&shared("tenant"), "acme").await.len(), 2);
}

/// A task of one command on several queues counts in one group.
pub async fn a_command_on_two_queues_has_one_group(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.under(&ACME).await;
    let far = w.create(NewTask { queue: Some(queue_name("bulk")), ..task_of("mail", &ACME) }).await;
    let worker = w.worker().await;
    let near = w.take(worker).await;
    assert!(w.claim_on("bulk", worker, 9).await.is_empty());
    w.done(&near).await;
    assert_eq!(ids(&w.claim_on("bulk", worker, 9).await), [far]);
}

/// Tasks without keys pass those that are held up, and so do other commands.
pub async fn tasks_without_keys_pass_blocked_ones(w: &World) {
    w.groups([("tenant", 1)]).await;
    let blocked = w.many_under("mail", &ACME, 40).await;
    let mails = w.enqueue_many("mail", 3).await;
    let reports = w.enqueue_many("report", 3).await;
    let taken = w.look(4).await.tasks;
    assert_eq!(ids(&taken), [&blocked[..1], &mails[..]].concat());
    assert_eq!(w.claimable().await, reports);
}

/// A claim says of each task whether it holds slots.
pub async fn a_claim_says_who_holds_slots(w: &World) {
    w.groups([("tenant", 9)]).await;
    w.under(&ACME).await;
    w.under(&[]).await;
    w.enqueue("report").await;
    let taken = w.look(9).await.tasks;
    assert_eq!(taken.iter().map(|task| task.holds_slots).collect::<Vec<_>>(), [true, false, false]);
}

/// A claim brings the keys of each task, given or inherited, and none for a task without.
pub async fn a_claim_brings_the_keys_of_each_task(w: &World) {
    w.groups([("tenant", 9), ("message", 9)]).await;
    w.declare("report", [("tenant", 9)]).await;
    let both = [("message", "\"msg\" 1"), ("tenant", "acme")];
    let root = w.start(w.under(&both).await).await;
    assert_eq!(root.keys, keys_of(&both));
    w.leave_behind(&root, these([heir("report", &[]), new_task("report")])).await;
    w.under(&ACME).await;
    w.under(&[]).await;
    let claim = claim_of(w.worker().await, 9);
    let taken = w.store.claim(&claim).await.unwrap().tasks;
    let keys: Vec<_> = taken.iter().map(|task| task.keys.clone()).collect();
    assert_eq!(keys, [keys_of(&ACME), Keys::new(), keys_of(&ACME), Keys::new()]);
    assert_eq!(w.store.claim(&Claim { repeated: true, ..claim }).await.unwrap().tasks, taken);
}

/// A task is brought with its keys also when it is tried again, and when their group is gone.
pub async fn keys_stay_with_their_task(w: &World) {
    w.groups([("tenant", 1)]).await;
    let first = w.start(w.under(&ACME).await).await;
    let blocked = w.under(&ACME).await;
    assert_eq!(w.claimable().await, []);
    w.fail(&first, Retry::After(secs(5))).await;
    assert_eq!(w.start(blocked).await.keys, keys_of(&ACME));
    w.store.remove_group(&of_mail("tenant")).await.unwrap();
    w.advance(5).await;
    assert_eq!(w.start(first.id).await.keys, keys_of(&ACME));
}

/// Within one claim room goes to those who stand first, by priority, position and number.
pub async fn room_goes_to_those_who_stand_first(w: &World) {
    w.groups([("tenant", 2)]).await;
    let old = w.many_under("mail", &ACME, 2).await;
    w.advance(1).await;
    let urgent = w.create(NewTask { priority: Some(-1), ..task_of("mail", &ACME) }).await;
    assert_eq!(w.claimable().await, [urgent, old[0]]);
}

/// A claim that is sent again after a lost answer takes no slots twice.
pub async fn a_repeated_claim_takes_no_second_slot(w: &World) {
    w.groups([("tenant", 2)]).await;
    let made = w.many_under("mail", &ACME, 3).await;
    let claim = claim_of(w.worker().await, 1);
    let first = w.store.claim(&claim).await.unwrap().tasks;
    let again = w.store.claim(&Claim { repeated: true, ..claim }).await.unwrap().tasks;
    assert_eq!(first, again);
    assert!(again[0].holds_slots);
    assert_eq!(w.holders("tenant", "acme").await, [made[0]]);
    assert_eq!(w.claimable().await, [made[1]]);
}

/// A suspect needs its slots like any other task.
pub async fn a_suspect_needs_room_too(w: &World) {
    w.groups([("tenant", 1)]).await;
    let lost = w.under(&ACME).await;
    w.start(lost).await;
    w.lose_all().await;
    assert!(w.get(lost).await.suspect);
    let urgent = w.create(NewTask { priority: Some(-1), ..task_of("mail", &ACME) }).await;
    let running = w.start(urgent).await;
    assert_eq!(w.claimable().await, []);
    w.done(&running).await;
    assert_eq!(w.claimable().await, [lost]);
}

/// On a serial queue a root that is held up by a key takes no family slot: the next one gets it.
pub async fn a_held_up_root_takes_no_family_slot(w: &World) {
    w.serial(2).await;
    w.groups([("tenant", 1)]).await;
    let running = w.start(w.under(&ACME).await).await;
    let blocked = w.under(&ACME).await;
    let next = w.under(&[]).await;
    let taken = w.look(9).await.tasks;
    assert_eq!(ids(&taken), [next]);
    w.done(&running).await;
    assert_eq!(w.claimable().await, [blocked]);
}

/// A child needs room among its queue's children and under its keys.
pub async fn a_child_needs_both_kinds_of_room(w: &World) {
    w.limit("default", children_at_once(2)).await;
    w.declare("report", [("tenant", 1)]).await;
    let root = w.root().await;
    w.leave_behind(
        &root,
        these([task_of("report", &ACME), task_of("report", &ACME), new_task("report"), new_task("report")]),
    )
    .await;
    let kids = w.kids(root.id).await;
    let taken = w.look(9).await.tasks;
    assert_eq!(ids(&taken), [kids[0], kids[2]]);
    w.done(&taken[1]).await;
    assert_eq!(w.claimable().await, [kids[3]]);
    w.done(&taken[0]).await;
    assert_eq!(w.claimable().await, [kids[1], kids[3]]);
}

/// What is not due is not held up, and needs room when it is due.
pub async fn a_task_for_later_needs_room_when_it_is_due(w: &World) {
    w.groups([("tenant", 1)]).await;
    let running = w.start(w.under(&ACME).await).await;
    let again = w.start(w.under(&[("tenant", "beta")]).await).await;
    w.fail(&again, Retry::After(secs(5))).await;
    let other = w.start(w.under(&[("tenant", "beta")]).await).await;
    w.advance(5).await;
    assert_eq!(w.claimable().await, []);
    w.settle(&other, Outcome::Done(None)).await;
    assert_eq!(w.claimable().await, [again.id]);
    w.done(&running).await;
}

/// A worker that does not handle a command with groups is not disturbed by them.
pub async fn other_commands_are_not_disturbed(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.many_under("mail", &ACME, 5).await;
    w.look(9).await;
    let reports = w.enqueue_many("report", 5).await;
    let worker = w.worker().await;
    let only = Claim { commands: vec![command("report")], ..claim_of(worker, 9) };
    assert_eq!(ids(&w.store.claim(&only).await.unwrap().tasks), reports);
}

/// A limit that is set on a key counts those that run already.
pub async fn a_limit_set_later_counts_those_that_run(w: &World) {
    w.groups([("tenant", kinfolk_core::Rate::per_second(1_000).burst(100))]).await;
    let made = w.many_under("mail", &ACME, 4).await;
    let running = w.look(2).await.tasks;
    assert_eq!(w.holders("tenant", "acme").await, made[..2]);
    w.store.set_group(&of_mail("tenant"), Some("acme"), &slots(2)).await.unwrap();
    assert_eq!(w.claimable().await, []);
    w.done(&running[0]).await;
    assert_eq!(w.claimable().await, [made[2]]);
}
