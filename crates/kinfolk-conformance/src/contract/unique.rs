//! Unique keys: their holders, how long a task holds one, and the effect of a duplicate.

use kinfolk_core::inspect::Filter;
use kinfolk_core::{Enqueued, Json, NewTask, OnDuplicate, Outcome, Retry, State, Unique, UniqueScope};

use crate::world::{World, json, later, new_task, secs, unique_task};

fn key() -> Unique {
    Unique::key("order-1")
}

fn active() -> Unique {
    key().scope(UniqueScope::Active)
}

fn merge() -> Unique {
    key().on_duplicate(OnDuplicate::Merge)
}

fn window() -> Unique {
    key().scope(UniqueScope::Window(secs(60)))
}

/// A duplicate is answered with the task in place, which stays as it is.
pub async fn a_duplicate_is_answered_with_the_task_that_holds_the_key(w: &World) {
    let id = w.create(unique_task(key(), r#"{"n":1}"#)).await;
    assert_eq!(w.put(unique_task(key(), r#"{"n":2}"#)).await, Enqueued::Existing(id));
    let task = w.get(id).await;
    assert_eq!((task.payload, task.unique_key.as_deref()), (json(r#"{"n":1}"#), Some("order-1")));
    assert_eq!(w.all().await.len(), 1);
}

/// Two tasks of one batch under one key are one task.
pub async fn duplicates_within_one_batch_are_one_task(w: &World) {
    let batch =
        [unique_task(merge(), r#"{"a":1}"#), unique_task(merge(), r#"{"b":2}"#), unique_task(merge(), r#"{"a":3}"#)];
    let answers = w.store.enqueue(&batch).await.unwrap();
    let id = answers[0].id().unwrap();
    assert_eq!(answers, [Enqueued::Created(id), Enqueued::Merged(id), Enqueued::Merged(id)]);
    assert_eq!(w.get(id).await.payload, json(r#"{"a":3,"b":2}"#));
}

/// Another key, and the same key of another command, are no duplicates.
pub async fn keys_are_per_command(w: &World) {
    w.create(unique_task(key(), "{}")).await;
    w.create(unique_task(Unique::key("order-2"), "{}")).await;
    w.create(NewTask { unique: Some(key()), ..new_task("report") }).await;
    assert_eq!(w.all().await.len(), 3);
}

/// A key is one key on whatever queue its tasks wait.
pub async fn keys_span_queues(w: &World) {
    let id = w.create(unique_task(key(), "{}")).await;
    let elsewhere = NewTask { queue: Some(crate::world::queue_name("bulk")), ..unique_task(key(), "{}") };
    assert_eq!(w.put(elsewhere).await, Enqueued::Existing(id));
}

/// Replace puts the new payload in the old one's place and changes nothing else.
pub async fn replace_changes_the_payload_and_nothing_else(w: &World) {
    let id = w.create(unique_task(key(), r#"{"n":1}"#)).await;
    let before = w.get(id).await;
    w.advance(5).await;
    let unique = key().on_duplicate(OnDuplicate::Replace).scope(UniqueScope::Active);
    let newer = NewTask { priority: Some(9), max_attempts: Some(1), ..unique_task(unique, r#"{"m":2}"#) };
    assert_eq!(w.put(newer).await, Enqueued::Merged(id));
    assert_eq!(w.get(id).await, kinfolk_core::Task { payload: json(r#"{"m":2}"#), ..before });
}

/// Merge lays the new payload over the old one, key by key, at any depth; arrays and values are replaced.
pub async fn merge_goes_key_by_key_at_any_depth(w: &World) {
    let id = w.create(unique_task(merge(), r#"{"a":{"x":1,"y":[1]},"b":1,"c":null}"#)).await;
    assert_eq!(w.put(unique_task(merge(), r#"{"a":{"y":[2],"z":3},"b":{"q":1}}"#)).await, Enqueued::Merged(id));
    let merged = json(r#"{"a":{"x":1,"y":[2],"z":3},"b":{"q":1},"c":null}"#);
    assert_eq!(w.get(id).await.payload, merged);
    let worker = w.worker().await;
    assert_eq!(w.take(worker).await.payload, merged);
    assert_eq!(w.get(id).await.payload, merged);
}

/// Many merges are applied in the order in which they came, whatever rule each brings.
pub async fn merges_and_replaces_are_applied_in_order_of_arrival(w: &World) {
    let id = w.create(unique_task(merge(), r#"{"n":0}"#)).await;
    for n in 1..=20 {
        w.put(unique_task(merge(), &format!(r#"{{"n":{n},"k{n}":true}}"#))).await;
    }
    w.put(unique_task(key().on_duplicate(OnDuplicate::Replace), r#"{"r":1}"#)).await;
    w.put(unique_task(merge(), r#"{"s":2}"#)).await;
    assert_eq!(w.get(id).await.payload, json(r#"{"r":1,"s":2}"#));
    let worker = w.worker().await;
    assert_eq!(w.take(worker).await.payload, json(r#"{"r":1,"s":2}"#));
}

/// A merge into something that is no object replaces it.
pub async fn a_merge_of_what_is_no_object_replaces_it(w: &World) {
    for (old, new) in [("[1,2]", "[3]"), (r#"{"a":1}"#, "7"), ("null", r#"{"a":1}"#)] {
        let unique = Unique::key(old).on_duplicate(OnDuplicate::Merge);
        let id = w.create(unique_task(unique.clone(), old)).await;
        assert_eq!(w.put(unique_task(unique, new)).await, Enqueued::Merged(id));
        assert_eq!(w.get(id).await.payload, json(new));
    }
}

/// Scope pending: the first claim gives the key up, so the next task can wait behind the one that runs.
pub async fn the_first_claim_gives_up_a_pending_key(w: &World) {
    let first = w.create(unique_task(key(), "{}")).await;
    let worker = w.worker().await;
    w.take(worker).await;
    assert_eq!(w.get(first).await.unique_key, None);
    let second = w.create(unique_task(key(), "{}")).await;
    assert_eq!(w.put(unique_task(key(), "{}")).await, Enqueued::Existing(second));
}

/// A task that was retried, snoozed, released or recovered never gets its pending key back, so it never collides.
pub async fn a_pending_key_never_comes_back(w: &World) {
    let worker = w.worker().await;
    let ends = [crate::world::failed(Retry::After(secs(0))), Outcome::Snooze(secs(0)), Outcome::Release];
    for (n, outcome) in ends.into_iter().enumerate() {
        let unique = Unique::key(format!("k{n}"));
        let id = w.create(NewTask { priority: Some(-1), ..unique_task(unique.clone(), "{}") }).await;
        let task = w.take(worker).await;
        assert_eq!(task.id, id);
        w.settle(&task, outcome).await;
        assert_eq!(w.get(id).await.unique_key, None);
        w.create(unique_task(unique, "{}")).await;
        w.store.cancel(id).await.unwrap();
    }
    let id = w.create(NewTask { priority: Some(-1), ..unique_task(key(), "{}") }).await;
    assert_eq!(w.take(worker).await.id, id);
    w.lose_all().await;
    assert_eq!((w.state(id).await, w.get(id).await.unique_key), (State::Pending, None));
    w.create(unique_task(key(), "{}")).await;
}

/// Scope active: the key is held until the task is terminal.
pub async fn an_active_key_is_held_until_the_end(w: &World) {
    let id = w.create(unique_task(active(), "{}")).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    assert_eq!(w.put(unique_task(active(), "{}")).await, Enqueued::Existing(id));
    w.settle(&task, Outcome::Snooze(secs(5))).await;
    assert_eq!(w.put(unique_task(key(), "{}")).await, Enqueued::Existing(id));
    w.advance(5).await;
    let task = w.take(worker).await;
    w.done(&task).await;
    assert_eq!(w.get(id).await.unique_key, None);
    w.create(unique_task(active(), "{}")).await;
}

/// A failed or cancelled task gives up an active key as a completed one does.
pub async fn every_end_gives_up_an_active_key(w: &World) {
    let worker = w.worker().await;
    for end in [crate::world::failed(Retry::Never), Outcome::Cancelled, Outcome::Done(None)] {
        let id = w.create(unique_task(active(), "{}")).await;
        let task = w.take(worker).await;
        w.settle(&task, end).await;
        assert!(w.state(id).await.is_terminal());
    }
}

/// Scope window: the key is held for its span, whatever becomes of the task, and not a moment longer.
pub async fn a_window_is_held_for_its_span_whatever_happens(w: &World) {
    let id = w.create(unique_task(window(), "{}")).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    w.done(&task).await;
    w.advance(59).await;
    assert_eq!(w.put(unique_task(window(), "{}")).await, Enqueued::Existing(id));
    assert_eq!(w.get(id).await.unique_key.as_deref(), Some("order-1"));
    w.advance(1).await;
    assert_eq!(w.get(id).await.unique_key, None);
    w.create(unique_task(window(), "{}")).await;
}

/// The holder's scope decides whether it holds; the newcomer's rule decides what happens.
pub async fn the_holders_scope_and_the_newcomers_rule_decide(w: &World) {
    let id = w.create(unique_task(active(), r#"{"n":1}"#)).await;
    assert_eq!(w.put(unique_task(merge(), r#"{"m":2}"#)).await, Enqueued::Merged(id));
    assert_eq!(w.get(id).await.payload, json(r#"{"m":2,"n":1}"#));
    let worker = w.worker().await;
    w.take(worker).await;
    assert_eq!(w.put(unique_task(merge(), r#"{"p":3}"#)).await, Enqueued::Existing(id), "active holds while it runs");
}

/// A task that has started is never changed: replace and merge are answered `existing`.
pub async fn a_task_that_has_started_is_never_changed(w: &World) {
    let id = w.create(unique_task(active(), r#"{"n":1}"#)).await;
    let worker = w.worker().await;
    let task = w.take(worker).await;
    let merge = active().on_duplicate(OnDuplicate::Merge);
    assert_eq!(w.put(unique_task(merge.clone(), r#"{"m":2}"#)).await, Enqueued::Existing(id));
    w.settle(&task, Outcome::Release).await;
    assert_eq!(
        w.put(unique_task(merge, r#"{"m":2}"#)).await,
        Enqueued::Existing(id),
        "pending again, but it has started"
    );
    assert_eq!(w.get(id).await.payload, json(r#"{"n":1}"#));
}

/// A window's holder that has ended is not changed either.
pub async fn a_finished_holder_of_a_window_is_not_changed(w: &World) {
    let id = w.create(unique_task(window(), r#"{"n":1}"#)).await;
    w.store.cancel(id).await.unwrap();
    let replace = window().on_duplicate(OnDuplicate::Replace);
    assert_eq!(w.put(unique_task(replace, r#"{"m":2}"#)).await, Enqueued::Existing(id));
    assert_eq!(w.get(id).await.payload, json(r#"{"n":1}"#));
}

/// Cancelling a pending task gives up pending and active keys, and not a window.
pub async fn cancelling_a_pending_task_gives_up_its_key(w: &World) {
    for unique in [key(), active()] {
        let id = w.create(unique_task(unique, "{}")).await;
        w.store.cancel(id).await.unwrap();
        assert_eq!(w.get(id).await.unique_key, None);
    }
    let id = w.create(unique_task(window(), "{}")).await;
    w.store.cancel(id).await.unwrap();
    assert_eq!(w.put(unique_task(window(), "{}")).await, Enqueued::Existing(id));
}

/// A manual retry does not take a key back from its present holder.
pub async fn a_manual_retry_does_not_regain_the_key(w: &World) {
    for unique in [key(), active()] {
        let first = w.create(unique_task(unique.clone(), "{}")).await;
        w.store.cancel(first).await.unwrap();
        let second = w.create(unique_task(unique.clone(), "{}")).await;
        assert_eq!(w.store.retry(first).await.unwrap().unique_key, None);
        assert_eq!(w.put(unique_task(unique, "{}")).await, Enqueued::Existing(second));
        w.store.cancel(second).await.unwrap();
    }
}

/// A task that waits for its time holds its key, and a merge into it does not open it.
pub async fn a_task_for_later_holds_its_key(w: &World) {
    let unique = Some(merge());
    let id = w.create(NewTask { unique: unique.clone(), ..later(60) }).await;
    assert_eq!(w.put(unique_task(merge(), r#"{"n":1}"#)).await, Enqueued::Merged(id));
    let worker = w.worker().await;
    assert!(w.claim(worker, 1).await.is_empty());
    w.advance(60).await;
    assert_eq!(w.take(worker).await.payload, json(r#"{"n":1}"#));
}

/// A listing by key shows the present and the former holders.
pub async fn a_listing_by_key_shows_holders_past_and_present(w: &World) {
    let first = w.create(unique_task(key(), "{}")).await;
    w.store.cancel(first).await.unwrap();
    let second = w.create(unique_task(key(), "{}")).await;
    w.create(unique_task(Unique::key("other"), "{}")).await;
    let filter = Filter { unique: Some("order-1".to_owned()), limit: 10, ..Filter::default() };
    let found: Vec<_> = w.store.list(&filter).await.unwrap().tasks.into_iter().map(|task| task.id).collect();
    assert_eq!(found, [second, first]);
}

/// Of several holders, the oldest is the one that a duplicate meets.
pub async fn of_several_holders_the_oldest_counts(w: &World) {
    let first = w.create(unique_task(window(), "{}")).await;
    let other = w.create(unique_task(Unique::key("other").scope(UniqueScope::Active), "{}")).await;
    assert_eq!(w.put(unique_task(active(), "{}")).await, Enqueued::Existing(first));
    w.advance(60).await;
    let second = w.create(unique_task(active(), "{}")).await;
    assert_eq!(w.put(unique_task(window(), "{}")).await, Enqueued::Existing(second));
    assert!(first < other && other < second);
}

/// Keys are any text: a quote, a percent sign and letters of two bytes mean only themselves.
pub async fn any_text_is_a_key(w: &World) {
    let keys = ["%", "_", "'", "\"", "é", "É", "e", " ", "order-1 ", "\u{1}", "null", "🦀"];
    let mut made = Vec::new();
    for key in keys {
        made.push(w.create(unique_task(Unique::key(key), "{}")).await);
    }
    for (key, id) in keys.into_iter().zip(made) {
        assert_eq!(w.put(unique_task(Unique::key(key), "{}")).await, Enqueued::Existing(id), "{key:?}");
        assert_eq!(w.get(id).await.unique_key.as_deref(), Some(key));
    }
}

/// A merge that would make the payload too large is refused, and the payload stays as it was.
pub async fn a_merge_that_grows_too_large_is_refused_whole(w: &World) {
    let half = "x".repeat(kinfolk_core::limits::PAYLOAD_BYTES_MAX / 2);
    let id = w.create(unique_task(merge(), &format!(r#"{{"a":"{half}"}}"#))).await;
    let before = w.everything().await;
    let batch = [new_task("mail"), unique_task(merge(), &format!(r#"{{"b":"{half}"}}"#))];
    let fault = w.store.enqueue(&batch).await.unwrap_err();
    assert!(fault.to_string().contains("payload"), "{fault}");
    assert_eq!(fault.code(), "input");
    assert_eq!(w.everything().await, before);
    assert_ne!(w.get(id).await.payload, Json::object());
}
