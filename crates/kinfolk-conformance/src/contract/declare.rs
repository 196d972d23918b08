//! Declaring groups with a command, and declaring them anew.

use kinfolk_core::{GroupSpec, GroupView, Groups, InputError, Rate, Rejection, Setting, StoreError};

use crate::grouped::{of_mail, shared, slots, task_of, with_groups};
use crate::world::{World, command, group_name, plain_command};

async fn groups_of(w: &World, name: &str) -> Option<Groups> {
    let commands = w.store.commands().await.unwrap();
    commands.into_iter().find(|known| known.name == command(name)).expect("it is registered").groups
}

/// What a command declares is shown with it, and each group by itself.
pub async fn a_declaration_is_shown(w: &World) {
    assert_eq!(groups_of(w, "mail").await, None);
    let spec = GroupSpec::limit(20).and_rate(Rate::per_second(7).burst(3)).hold();
    let groups = Groups::of([("tenant", spec.clone()), ("message", GroupSpec::limit(1))]).unwrap();
    w.store.register(&[with_groups("mail", groups.clone())]).await.unwrap();
    assert_eq!(groups_of(w, "mail").await, Some(groups));
    let view = |name: &str, declared: GroupSpec| GroupView {
        group: of_mail(name),
        commands: vec![command("mail")],
        declared,
        set: Setting::default(),
        keys: [].into(),
    };
    assert_eq!(w.store.groups().await.unwrap(), [view("message", GroupSpec::limit(1)), view("tenant", spec)]);
}

/// A registration that says nothing of groups leaves them as they are.
pub async fn saying_nothing_leaves_the_groups(w: &World) {
    w.groups([("tenant", 2)]).await;
    w.store.register(&[plain_command("mail")]).await.unwrap();
    assert_eq!(groups_of(w, "mail").await, Some(Groups::of([("tenant", 2)]).unwrap()));
}

/// A registration makes the groups exactly what it says: some change, some come, the rest goes.
pub async fn a_new_declaration_replaces_the_old_one(w: &World) {
    w.groups([("tenant", 1), ("message", 1)]).await;
    let both = [("tenant", "acme"), ("message", "m1")];
    let one = w.under(&both).await;
    let two = w.under(&both).await;
    assert_eq!(w.claimable().await, [one]);
    w.groups([("tenant", 2), ("zone", 9)]).await;
    assert_eq!(groups_of(w, "mail").await, Some(Groups::of([("tenant", 2), ("zone", 9)]).unwrap()));
    assert_eq!(w.claimable().await, [one, two]);
    let refused = w.put(task_of("mail", &both)).await.id();
    assert_eq!(refused, Err(Rejection::UnknownGroup(group_name("message"))));
}

/// An empty declaration removes all groups.
pub async fn an_empty_declaration_removes_all(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.under(&[("tenant", "acme")]).await;
    w.store.register(&[with_groups("mail", Groups::new())]).await.unwrap();
    assert_eq!(groups_of(w, "mail").await, None);
    assert_eq!(w.store.groups().await.unwrap(), []);
    assert_eq!(w.claimable().await.len(), 1);
}

/// A shared group is one for all that declare it, as the last of them declared it.
pub async fn a_shared_group_is_as_it_was_declared_last(w: &World) {
    w.declare("mail", [("tenant", GroupSpec::limit(1).shared())]).await;
    w.declare("report", [("tenant", GroupSpec::limit(3).shared())]).await;
    let groups = w.store.groups().await.unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].group, shared("tenant"));
    assert_eq!(groups[0].commands, [command("mail"), command("report")]);
    assert_eq!(groups[0].declared, GroupSpec::limit(3).shared());
    assert_eq!(groups_of(w, "mail").await, groups_of(w, "report").await);
}

/// A shared group stays as long as a command declares it.
pub async fn a_shared_group_goes_with_its_last_command(w: &World) {
    let tenant = || [("tenant", GroupSpec::limit(1).shared())];
    w.declare("mail", tenant()).await;
    w.declare("report", tenant()).await;
    w.declare("mail", [("zone", 1)]).await;
    let groups = w.store.groups().await.unwrap();
    assert_eq!(groups.iter().map(|view| view.group.clone()).collect::<Vec<_>>(), [shared("tenant"), of_mail("zone")]);
    assert_eq!(groups[0].commands, [command("report")]);
    w.declare("report", [("zone", 1)]).await;
    assert!(w.store.groups().await.unwrap().iter().all(|view| view.group != shared("tenant")));
}

/// A command that leaves a shared group is no longer held up by it, and what it runs no longer counts there.
pub async fn leaving_a_shared_group_gives_its_slots_back(w: &World) {
    let tenant = || [("tenant", GroupSpec::limit(1).shared())];
    w.declare("mail", tenant()).await;
    w.declare("report", tenant()).await;
    let acme = [("tenant", "acme")];
    let running = w.start(w.under(&acme).await).await;
    let (mail, report) = (w.under(&acme).await, w.create(task_of("report", &acme)).await);
    assert_eq!(w.claimable().await, []);
    w.store.register(&[with_groups("mail", Groups::new())]).await.unwrap();
    assert_eq!(w.claimable().await, [mail, report]);
    let task = w.start(report).await;
    w.done(&running).await;
    assert_eq!(w.holders_in(&shared("tenant"), "acme").await, [task.id]);
}

/// A group of a command and a shared one of the same name are two.
pub async fn a_shared_group_and_an_own_one_are_two(w: &World) {
    w.declare("mail", [("tenant", 1)]).await;
    w.declare("report", [("tenant", GroupSpec::limit(1).shared())]).await;
    let acme = [("tenant", "acme")];
    let mine = w.under(&acme).await;
    let theirs = w.create(task_of("report", &acme)).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 9).await, [mine, theirs]);
}

/// A group that becomes shared counts with the others from then on.
pub async fn an_own_group_may_become_shared(w: &World) {
    w.declare("mail", [("tenant", 1)]).await;
    w.declare("report", [("tenant", GroupSpec::limit(1).shared())]).await;
    w.declare("mail", [("tenant", GroupSpec::limit(1).shared())]).await;
    let acme = [("tenant", "acme")];
    let first = w.under(&acme).await;
    w.create(task_of("report", &acme)).await;
    assert_eq!(w.claimable().await, [first]);
    assert_eq!(w.store.groups().await.unwrap().len(), 1);
}

/// What runs when a group is declared counts in it: nothing starts until fewer run than it allows.
pub async fn what_runs_counts_in_a_group_that_is_added(w: &World) {
    let made = w.many_under("mail", &[], 4).await;
    let running = w.look(3).await.tasks;
    w.groups([("total", 2)]).await;
    assert_eq!(w.holders("total", "").await, made[..3]);
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.words(made[3]).await, ["key_full"]);
    w.done(&running[0]).await;
    assert_eq!(w.claimable().await, []);
    w.settle(&running[1], kinfolk_core::Outcome::Snooze(crate::world::secs(60))).await;
    assert_eq!(w.holders("total", "").await, [running[2].id]);
    w.start(made[3]).await;
    w.lose_all().await;
    assert_eq!(w.holders("total", "").await, []);
}

/// What runs when a group becomes shared, or another one's again, counts where it belongs then.
pub async fn what_runs_counts_in_a_group_that_becomes_shared(w: &World) {
    let acme = [("tenant", "acme")];
    let tenant = || GroupSpec::limit(1).shared();
    w.declare("mail", [("tenant", 1)]).await;
    w.declare("report", [("tenant", tenant())]).await;
    let mail = w.start(w.under(&acme).await).await;
    let report = w.start(w.create(task_of("report", &acme)).await).await;
    w.declare("mail", [("tenant", tenant())]).await;
    assert_eq!(w.holders_in(&shared("tenant"), "acme").await, [mail.id, report.id]);
    let next = w.under(&acme).await;
    w.done(&report).await;
    assert_eq!(w.claimable().await, []);
    w.declare("mail", [("tenant", 1)]).await;
    assert_eq!(
        (w.holders("tenant", "acme").await, w.holders_in(&shared("tenant"), "acme").await),
        (vec![mail.id], vec![])
    );
    assert_eq!(w.claimable().await, []);
    w.done(&mail).await;
    assert_eq!(w.claimable().await, [next]);
}

/// What has left a group and comes back while it runs counts there again.
pub async fn what_runs_counts_again_when_its_command_comes_back(w: &World) {
    let acme = [("tenant", "acme")];
    let tenant = || [("tenant", GroupSpec::limit(1).shared())];
    w.declare("mail", tenant()).await;
    w.declare("report", tenant()).await;
    let running = w.start(w.under(&acme).await).await;
    let next = w.create(task_of("report", &acme)).await;
    w.store.register(&[with_groups("mail", Groups::new())]).await.unwrap();
    w.declare("mail", tenant()).await;
    assert_eq!(w.holders_in(&shared("tenant"), "acme").await, [running.id]);
    assert_eq!(w.claimable().await, []);
    w.done(&running).await;
    assert_eq!(w.claimable().await, [next]);
}

/// What an operator has set stands when the command is registered again, and ends with the group.
pub async fn what_is_set_stands_until_the_group_goes(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.set("tenant", slots(2)).await;
    w.set_key("tenant", "acme", slots(3)).await;
    w.groups([("tenant", 5)]).await;
    let group = w.store.groups().await.unwrap().remove(0);
    assert_eq!((group.declared, group.set), (GroupSpec::limit(5), slots(2)));
    assert_eq!(group.keys, [("acme".to_owned(), slots(3))].into());
    w.groups([("zone", 1)]).await;
    w.groups([("tenant", 5)]).await;
    let group = w.store.groups().await.unwrap().remove(0);
    assert_eq!((group.set, group.keys.len()), (Setting::default(), 0));
}

/// A limit that is declared anew holds from the next claim on, up and down.
pub async fn a_new_limit_holds_at_once(w: &World) {
    w.groups([("tenant", 2)]).await;
    let made = w.many_under("mail", &[("tenant", "acme")], 5).await;
    let running = w.look(9).await.tasks;
    assert_eq!(running.len(), 2);
    w.groups([("tenant", 1)]).await;
    w.done(&running[0]).await;
    assert_eq!(w.claimable().await, []);
    w.groups([("tenant", 3)]).await;
    assert_eq!(w.claimable().await, made[2..4]);
}

/// Two commands of one name can't exist, two groups of one name on two commands can: they don't count together.
pub async fn groups_of_two_commands_do_not_mix(w: &World) {
    w.declare("mail", [("tenant", 1)]).await;
    w.declare("report", [("tenant", 1)]).await;
    let acme = [("tenant", "acme")];
    let made = [w.under(&acme).await, w.create(task_of("report", &acme)).await];
    assert_eq!(w.claimable().await, made);
}

/// What no store would keep is refused, and nothing changes.
pub async fn bad_groups_are_refused(w: &World) {
    w.groups([("tenant", 1)]).await;
    let before = w.everything().await;
    let many: Vec<_> = (0..17).map(|n| (format!("g{n}"), 1)).collect();
    for groups in [
        Groups::of([("tenant", GroupSpec::default())]).unwrap(),
        Groups::of([("tenant", 1_000_001)]).unwrap(),
        Groups::of([("total", GroupSpec::limit(1).shared())]).unwrap(),
        Groups::of([("tenant", Rate::per_second(0))]).unwrap(),
        Groups::of(many).unwrap(),
    ] {
        let fault = w.store.register(&[plain_command("mail"), with_groups("report", groups)]).await.unwrap_err();
        assert!(matches!(fault, StoreError::Input(InputError::Other(_) | InputError::Batch { .. })), "{fault}");
    }
    assert_eq!(w.everything().await, before);
}

/// Sixteen groups may be declared.
pub async fn a_command_may_have_sixteen_groups(w: &World) {
    let many: Vec<_> = (0..16).map(|n| (format!("g{n:02}"), 1)).collect();
    w.store.register(&[with_groups("mail", Groups::of(many).unwrap())]).await.unwrap();
    assert_eq!(w.store.groups().await.unwrap().len(), 16);
}

/// Registering the same groups from all sides at once does not lock up, and leaves one of each.
pub async fn parallel_declarations_agree(w: &World) {
    crate::crowd::crowd(w, |n, store| async move {
        for round in 0..5_u32 {
            let limit = 1 + (u32::try_from(n).unwrap() + round) % 3;
            let groups = Groups::of([("tenant", GroupSpec::limit(limit).shared()), ("zone", limit.into())]).unwrap();
            let both = ["mail", "report"].map(|name| with_groups(name, groups.clone()));
            store.register(&both).await.unwrap();
        }
    })
    .await;
    assert_eq!(w.store.groups().await.unwrap().len(), 3);
}
