//! Removing a group while it is in use.

use kinfolk_core::{GroupSpec, Rejection, State, StoreError};

use crate::grouped::{of_mail, shared, task_of};
use crate::world::{World, command, group_name};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

/// What it held up starts, and what runs goes on.
pub async fn what_it_held_up_starts(w: &World) {
    w.groups([("tenant", 1), ("zone", 1)]).await;
    let running = w.start(w.under(&ACME).await).await;
    let waiting = w.many_under("mail", &ACME, 3).await;
    assert_eq!(w.claimable().await, []);
    w.store.remove_group(&of_mail("tenant")).await.unwrap();
    assert_eq!(w.claimable().await, waiting);
    assert_eq!(w.state(running.id).await, State::Running);
    w.done(&running).await;
    assert_eq!(w.keys().await, []);
    let groups = w.store.groups().await.unwrap();
    assert_eq!(groups.iter().map(|view| view.group.clone()).collect::<Vec<_>>(), [of_mail("zone")]);
}

/// A task that another key holds up as well is held up by that alone.
pub async fn other_keys_still_hold_up(w: &World) {
    w.groups([("tenant", 1), ("zone", 1)]).await;
    let both = [("tenant", "acme"), ("zone", "north")];
    w.start(w.under(&both).await).await;
    let waits = w.under(&both).await;
    assert_eq!(w.words(waits).await, ["key_full", "key_full"]);
    w.store.remove_group(&of_mail("tenant")).await.unwrap();
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.words(waits).await, ["key_full"]);
}

/// It is gone from all commands that declared it, and keys for it are rejected from then on.
pub async fn a_shared_group_goes_from_all_commands(w: &World) {
    for name in ["mail", "report"] {
        w.declare(name, [("tenant", GroupSpec::limit(1).shared())]).await;
    }
    w.store.remove_group(&shared("tenant")).await.unwrap();
    let commands = w.store.commands().await.unwrap();
    assert!(commands.iter().all(|known| known.groups.is_none()));
    assert_eq!(w.put(task_of("report", &ACME)).await.id(), Err(Rejection::UnknownGroup(group_name("tenant"))));
}

/// Declared anew, it counts those that run, and knows nothing else of what it was.
pub async fn declared_anew_it_counts_what_runs(w: &World) {
    w.groups([("tenant", 1)]).await;
    let old = w.start(w.under(&ACME).await).await;
    w.set_key("tenant", "acme", crate::grouped::slots(0)).await;
    w.store.remove_group(&of_mail("tenant")).await.unwrap();
    w.groups([("tenant", 1)]).await;
    let made = w.many_under("mail", &ACME, 2).await;
    assert_eq!(w.claimable().await, []);
    assert_eq!(w.holders("tenant", "acme").await, [old.id]);
    w.done(&old).await;
    assert_eq!(w.claimable().await, made[..1]);
}

/// A group that nobody declares is not found, also a second time.
pub async fn an_unknown_group_is_not_found(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.store.remove_group(&of_mail("tenant")).await.unwrap();
    for group in [of_mail("tenant"), shared("tenant"), kinfolk_core::GroupRef::of(command("nobody"), group_name("x"))] {
        let fault = w.store.remove_group(&group).await.unwrap_err();
        assert!(matches!(fault, StoreError::NotFound { what: "group", .. }), "{fault}");
    }
}
