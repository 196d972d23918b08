//! The keys that are in use, and the groups there are.

use kinfolk_core::{GroupRef, GroupSpec, KeyFilter, KeyView, Rate};

use crate::grouped::{of_mail, shared, slots, task_of};
use crate::world::{World, command, group_name, secs};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

async fn look(w: &World, filter: KeyFilter) -> Vec<(GroupRef, String)> {
    let keys = w.store.keys(&KeyFilter { limit: filter.limit.max(1), ..filter }).await.unwrap();
    keys.into_iter().map(|view| (view.group, view.key)).collect()
}

fn named(group: GroupRef, key: &str) -> (GroupRef, String) {
    (group, key.to_owned())
}

/// A key is shown with its slots, who holds them, how many wait, and until when nothing starts.
pub async fn a_key_is_shown_as_it_is(w: &World) {
    w.groups([("tenant", GroupSpec::limit(2).and_rate(Rate::per_minute(1).burst(2)))]).await;
    assert_eq!(w.keys().await, []);
    let made = w.many_under("mail", &ACME, 5).await;
    assert_eq!(w.keys().await, [], "what no claim has looked at does not wait yet");
    w.look(9).await;
    let key = KeyView {
        group: of_mail("tenant"),
        key: "acme".to_owned(),
        limit: Some(2),
        held: 2,
        holders: made[..2].to_vec(),
        waiters: 3,
        until: Some(w.now().plus(secs(60))),
    };
    assert_eq!(w.keys().await, std::slice::from_ref(&key));
    w.set_key("tenant", "acme", slots(7)).await;
    w.advance(60).await;
    assert_eq!(w.keys().await, [KeyView { limit: Some(7), until: None, ..key }]);
}

/// A key without a limit shows none, and who has started under it.
pub async fn a_key_with_a_rate_alone_has_no_limit(w: &World) {
    w.groups([("tenant", Rate::per_second(1_000).burst(9))]).await;
    let made = w.many_under("mail", &ACME, 2).await;
    w.look(9).await;
    let key = w.keys().await.remove(0);
    assert_eq!((key.limit, key.holders, key.waiters), (None, made, 0));
}

/// At most twenty holders are named, by number; all are counted.
pub async fn twenty_holders_are_named(w: &World) {
    w.groups([("tenant", 30)]).await;
    let made = w.many_under("mail", &ACME, 25).await;
    w.look(25).await;
    let key = w.keys().await.remove(0);
    assert_eq!((key.held, &key.holders[..]), (25, &made[..20]));
}

/// A total has the empty key.
pub async fn a_total_has_the_empty_key(w: &World) {
    w.groups([("total", 2)]).await;
    w.start(w.enqueue("mail").await).await;
    assert_eq!(look(w, KeyFilter { limit: 9, ..KeyFilter::default() }).await, [named(of_mail("total"), "")]);
}

/// They come by group, shared ones first, and key, and pages follow each other without a gap.
pub async fn they_come_by_group_and_key(w: &World) {
    w.declare("mail", [("zone", GroupSpec::limit(9)), ("tenant", GroupSpec::limit(9).shared())]).await;
    w.declare("export", [("zone", 9)]).await;
    for keys in [[("zone", "b"), ("tenant", "y")], [("zone", "B"), ("tenant", "x")], [("zone", "a"), ("tenant", "é")]]
    {
        w.under(&keys).await;
    }
    w.create(task_of("export", &[("zone", "a")])).await;
    let worker = w.worker().await;
    w.claim(worker, 9).await;
    w.claim_on("bulk", worker, 9).await;
    let export = GroupRef::of(command("export"), group_name("zone"));
    let all = [
        named(shared("tenant"), "x"),
        named(shared("tenant"), "y"),
        named(shared("tenant"), "é"),
        named(export, "a"),
        named(of_mail("zone"), "B"),
        named(of_mail("zone"), "a"),
        named(of_mail("zone"), "b"),
    ];
    assert_eq!(look(w, KeyFilter { limit: 1_000, ..KeyFilter::default() }).await, all);
    let mut after = None;
    for key in &all {
        let page = look(w, KeyFilter { after: after.clone(), limit: 1, ..KeyFilter::default() }).await;
        assert_eq!(page, std::slice::from_ref(key));
        after = Some(key.clone());
    }
    assert_eq!(look(w, KeyFilter { after, limit: 9, ..KeyFilter::default() }).await, []);
    let group = Some(of_mail("zone"));
    assert_eq!(look(w, KeyFilter { group, limit: 9, ..KeyFilter::default() }).await, all[4..]);
}

/// Only those that hold something up can be asked for. A key that has no slot left, or no start, and that nobody waits for, does not.
pub async fn those_that_hold_up_can_be_asked_for(w: &World) {
    w.groups([("a", GroupSpec::limit(2)), ("b", GroupSpec::rate(Rate::per_minute(1).burst(2)))]).await;
    for keys in
        [&[("a", "full")][..], &[("a", "full")], &[("a", "half")], &[("b", "used")], &[("b", "used")], &[("b", "half")]]
    {
        w.under(keys).await;
    }
    w.look(9).await;
    assert_eq!(w.keys().await.len(), 4);
    let blocking = async || look(w, KeyFilter { blocking: true, limit: 9, ..KeyFilter::default() }).await;
    assert_eq!(blocking().await, []);
    for keys in [&[("a", "full")][..], &[("b", "used")], &[("b", "half")]] {
        w.under(keys).await;
    }
    w.look(9).await;
    assert_eq!(blocking().await, [named(of_mail("a"), "full"), named(of_mail("b"), "used")]);
}

/// Groups come by name, shared ones first, then those of each command.
pub async fn groups_come_by_command_and_name(w: &World) {
    w.declare("report", [("b", GroupSpec::limit(1)), ("z", GroupSpec::limit(1).shared())]).await;
    w.declare("mail", [("y", GroupSpec::limit(1).shared()), ("c", GroupSpec::limit(1)), ("a", GroupSpec::limit(1))])
        .await;
    let groups = w.store.groups().await.unwrap();
    let groups: Vec<_> = groups.into_iter().map(|view| view.group).collect();
    let of_report = GroupRef::of(command("report"), group_name("b"));
    assert_eq!(groups, [shared("y"), shared("z"), of_mail("a"), of_mail("c"), of_report]);
}

/// A waiter that is cancelled, or starts, waits no longer.
pub async fn waiters_are_counted_while_they_wait(w: &World) {
    w.groups([("tenant", 1)]).await;
    let holder = w.start(w.under(&ACME).await).await;
    let waiting = w.many_under("mail", &ACME, 3).await;
    assert_eq!(w.claimable().await, []);
    let waiters = async || w.keys().await.first().map_or(0, |key| key.waiters);
    assert_eq!(waiters().await, 3);
    w.store.cancel(waiting[1]).await.unwrap();
    assert_eq!(waiters().await, 2);
    w.done(&holder).await;
    w.look(1).await;
    assert_eq!(waiters().await, 1);
}
