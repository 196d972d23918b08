//! Changing what a group allows while it is in use.

use kinfolk_core::{InputError, Rate, Setting, StoreError};

use crate::grouped::{of_mail, shared, slots};
use crate::world::{World, ids, secs};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

/// A raised limit lets more start at once.
pub async fn a_limit_goes_up(w: &World) {
    w.groups([("tenant", 1)]).await;
    let made = w.many_under("mail", &ACME, 5).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[..1]);
    w.set("tenant", slots(3)).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[1..3]);
}

/// A lowered limit interrupts nothing; nothing more starts until fewer run than it says.
pub async fn a_limit_goes_down(w: &World) {
    w.groups([("tenant", 3)]).await;
    let made = w.many_under("mail", &ACME, 6).await;
    let running = w.look(9).await.tasks;
    w.set("tenant", slots(1)).await;
    for task in &running[..2] {
        assert_eq!(w.state(task.id).await, kinfolk_core::State::Running);
        w.done(task).await;
        assert_eq!(w.claimable().await, []);
    }
    w.done(&running[2]).await;
    assert_eq!(w.claimable().await, made[3..4]);
}

/// An empty setting goes back to what is declared, for a key and for the group.
pub async fn an_empty_setting_goes_back(w: &World) {
    w.groups([("tenant", 1)]).await;
    let made = w.many_under("mail", &ACME, 5).await;
    w.set("tenant", slots(2)).await;
    w.set_key("tenant", "acme", slots(4)).await;
    assert_eq!(w.claimable().await, made[..4]);
    w.set_key("tenant", "acme", Setting::default()).await;
    assert_eq!(w.claimable().await, made[..2]);
    w.set("tenant", Setting::default()).await;
    assert_eq!(w.claimable().await, made[..1]);
    let group = w.store.groups().await.unwrap().remove(0);
    assert_eq!((group.set, group.keys.len()), (Setting::default(), 0));
}

/// Slots and rates are set apart: what is not set is as declared.
pub async fn slots_and_rates_are_set_apart(w: &World) {
    w.groups([("tenant", 2)]).await;
    let made = w.many_under("mail", &ACME, 4).await;
    w.set_key("tenant", "acme", Setting { limit: None, rate: Some(Rate::per_minute(1)) }).await;
    let taken = w.look(9).await;
    assert_eq!((ids(&taken.tasks), taken.next_due), (made[..1].to_vec(), Some(w.now().plus(secs(60)))));
    w.set("tenant", slots(3)).await;
    w.advance(60).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[1..2]);
    w.set_key("tenant", "acme", Setting::default()).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[2..3]);
}

/// What is set is shown with the group.
pub async fn what_is_set_is_shown(w: &World) {
    w.groups([("tenant", 2)]).await;
    let both = Setting { limit: Some(7), rate: Some(Rate::per_minute(9).burst(2)) };
    w.set("tenant", both).await;
    w.set_key("tenant", "b", slots(1)).await;
    w.set_key("tenant", "a", slots(0)).await;
    let group = w.store.groups().await.unwrap().remove(0);
    assert_eq!(group.set, both);
    assert_eq!(group.keys, [("a".to_owned(), slots(0)), ("b".to_owned(), slots(1))].into());
}

/// A group that nobody declares is not found.
pub async fn an_unknown_group_is_not_found(w: &World) {
    w.groups([("tenant", 2)]).await;
    for group in [of_mail("zone"), shared("tenant")] {
        let fault = w.store.set_group(&group, None, &slots(1)).await.unwrap_err();
        assert!(matches!(fault, StoreError::NotFound { what: "group", .. }), "{fault}");
    }
}

/// What no store would keep is refused: a bad key, a key of a total, a bad limit, a bad rate.
pub async fn bad_settings_are_refused(w: &World) {
    w.groups([("tenant", 2), ("total", 2)]).await;
    let before = w.store.groups().await.unwrap();
    let long = "x".repeat(201);
    for key in ["", "nul\0", &long] {
        let fault = w.store.set_group(&of_mail("tenant"), Some(key), &slots(1)).await.unwrap_err();
        assert!(matches!(fault, StoreError::Input(InputError::GroupKey { .. })), "{fault}");
    }
    let rate = Setting { limit: None, rate: Some(Rate::per_second(0)) };
    for (name, key, setting) in
        [("total", Some("x"), slots(1)), ("tenant", None, slots(1_000_001)), ("tenant", None, rate)]
    {
        let fault = w.store.set_group(&of_mail(name), key, &setting).await.unwrap_err();
        assert!(matches!(fault, StoreError::Input(InputError::Other(_))), "{fault}");
    }
    assert_eq!(w.store.groups().await.unwrap(), before);
}

/// A total may be set.
pub async fn a_total_may_be_set(w: &World) {
    w.groups([("total", 1)]).await;
    let made = w.enqueue_many("mail", 4).await;
    w.set("total", slots(3)).await;
    assert_eq!(w.claimable().await, made[..3]);
}

/// A key may be set before any task has it.
pub async fn a_key_may_be_set_beforehand(w: &World) {
    w.groups([("tenant", 1)]).await;
    w.set_key("tenant", "acme", slots(2)).await;
    assert_eq!(w.keys().await, []);
    let made = w.many_under("mail", &ACME, 3).await;
    assert_eq!(w.claimable().await, made[..2]);
}
