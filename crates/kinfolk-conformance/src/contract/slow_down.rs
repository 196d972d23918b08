//! A handler that asks to start nothing more under its key for a while.

use kinfolk_core::limits::DELAY_MAX;
use kinfolk_core::{ClaimedTask, InputError, Outcome, Reason, Setting, State, StoreError, Timestamp};

use crate::grouped::{of_mail, slots};
use crate::world::{World, group_name, ids, secs};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

async fn slow(w: &World, task: &ClaimedTask, group: &str, until: Timestamp) -> bool {
    w.store.slow_down(task.id, task.token, &group_name(group), until).await.unwrap()
}

/// A running task under a key with room for more, and two that are next.
async fn running(w: &World) -> (ClaimedTask, Vec<kinfolk_core::TaskId>) {
    w.groups([("tenant", 9), ("zone", 9)]).await;
    let task = w.start(w.under(&ACME).await).await;
    (task, w.many_under("mail", &ACME, 2).await)
}

/// Nothing starts under that key until then, other keys are not concerned, and what runs goes on.
pub async fn it_pauses_that_key_alone(w: &World) {
    let (task, next) = running(w).await;
    let beta = w.under(&[("tenant", "beta")]).await;
    let until = w.now().plus(secs(30));
    assert!(slow(w, &task, "tenant", until).await);
    assert_eq!(w.state(task.id).await, State::Running);
    let taken = w.look(9).await;
    assert_eq!((ids(&taken.tasks), taken.next_due), (vec![beta], Some(until)));
    let reason = Reason::KeyRate { group: of_mail("tenant"), key: "acme".to_owned(), until };
    assert_eq!(w.why(next[0]).await, [reason]);
    w.advance(29).await;
    assert_eq!(w.claimable().await, []);
    w.advance(1).await;
    assert_eq!(w.claimable().await, next);
}

/// The end of the handler that asked changes nothing.
pub async fn it_outlives_the_handler_that_asked(w: &World) {
    let (task, next) = running(w).await;
    slow(w, &task, "tenant", w.now().plus(secs(30))).await;
    w.done(&task).await;
    assert_eq!(w.claimable().await, []);
    let key = w.keys().await.remove(0);
    assert_eq!((key.held, key.until), (0, Some(w.now().plus(secs(30)))));
    w.advance(30).await;
    assert_eq!(w.claimable().await, next);
}

/// An operator who sets something for that key, or goes back to what is declared there, lifts it; other keys are not concerned.
pub async fn setting_the_key_lifts_it(w: &World) {
    for setting in [slots(9), Setting::default()] {
        let (task, next) = running(w).await;
        slow(w, &task, "tenant", w.now().plus(secs(30))).await;
        assert_eq!(w.look(9).await.tasks, []);
        w.set_key("tenant", "beta", slots(9)).await;
        assert_eq!(w.look(9).await.tasks, []);
        w.set_key("tenant", "acme", setting).await;
        let taken = w.look(9).await;
        assert_eq!((ids(&taken.tasks), taken.next_due), (next, None));
        for task in taken.tasks.iter().chain([&task]) {
            w.done(task).await;
        }
    }
}

/// So does one who sets something for the whole group.
pub async fn setting_the_group_lifts_it(w: &World) {
    let (task, next) = running(w).await;
    slow(w, &task, "tenant", w.now().plus(secs(30))).await;
    assert_eq!(w.look(9).await.tasks, []);
    w.set("zone", slots(8)).await;
    assert_eq!(w.look(9).await.tasks, []);
    w.set("tenant", Setting::default()).await;
    assert_eq!(w.claimable().await, next);
}

/// The later of two moments stands.
pub async fn the_later_moment_stands(w: &World) {
    let (task, next) = running(w).await;
    let until = w.now().plus(secs(30));
    for asked in [w.now().plus(secs(20)), until, w.now().plus(secs(10))] {
        assert!(slow(w, &task, "tenant", asked).await);
    }
    w.advance(29).await;
    assert_eq!(w.look(9).await.next_due, Some(until));
    w.advance(1).await;
    assert_eq!(w.claimable().await, next);
}

/// A moment that has passed changes nothing.
pub async fn a_passed_moment_changes_nothing(w: &World) {
    let (task, next) = running(w).await;
    for until in [w.now(), w.now().minus(secs(60))] {
        assert!(slow(w, &task, "tenant", until).await);
    }
    assert_eq!(w.claimable().await, next);
}

/// Only the attempt that runs may ask.
pub async fn only_the_running_attempt_may_ask(w: &World) {
    let (task, next) = running(w).await;
    w.settle(&task, Outcome::Release).await;
    let until = w.now().plus(secs(30));
    assert!(!slow(w, &task, "tenant", until).await);
    let again = w.start(task.id).await;
    assert!(!slow(w, &task, "tenant", until).await);
    assert!(!slow(w, &task, "nowhere", until).await);
    assert_eq!(w.claimable().await, next);
    assert!(slow(w, &again, "tenant", until).await);
    assert_eq!(w.claimable().await, []);
}

/// A group that the command does not declare, or that the task has no key in, is not found.
pub async fn a_group_without_a_key_is_not_found(w: &World) {
    let (task, _) = running(w).await;
    for group in ["zone", "nowhere", "total"] {
        let until = w.now().plus(secs(1));
        let fault = w.store.slow_down(task.id, task.token, &group_name(group), until).await.unwrap_err();
        assert!(matches!(fault, StoreError::NotFound { what: "group", .. }), "{fault}");
    }
}

/// A command's total may be slowed down: then none of its tasks start.
pub async fn a_total_may_be_slowed_down(w: &World) {
    w.groups([("total", 9)]).await;
    let task = w.start(w.enqueue("mail").await).await;
    let next = w.enqueue("mail").await;
    let other = w.enqueue("report").await;
    assert!(slow(w, &task, "total", w.now().plus(secs(5))).await);
    assert_eq!(w.claimable().await, [other]);
    w.advance(5).await;
    assert_eq!(w.claimable().await, [next, other]);
}

/// A moment too far ahead is the caller's mistake.
pub async fn a_moment_too_far_ahead_is_refused(w: &World) {
    let (task, next) = running(w).await;
    let until = w.now().plus(DELAY_MAX + secs(1));
    let fault = w.store.slow_down(task.id, task.token, &group_name("tenant"), until).await.unwrap_err();
    assert!(matches!(fault, StoreError::Input(InputError::Delay(_))), "{fault}");
    assert_eq!(w.claimable().await, next);
}
