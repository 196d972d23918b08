//! Filters: each part of one by itself, together, in pages both ways, and counted.

use std::collections::BTreeMap;

use kinfolk_core::filter::{ByCommand, Filter, Matches, Order, PayloadIs};
use kinfolk_core::limits::{ERROR_BYTES_MAX, LOOK_MAX};
use kinfolk_core::{
    CommandName, Failure, FailureKind, FanOutId, InputError, NewTask, Outcome, Retry, Rule, State, StoreError, TaskId,
    Unique,
};

use crate::family::children;
use crate::grouped::keys_of;
use crate::world::{World, command, json, later, new_task, queue_name, unique_task};

/// What a filter finds, newest first; the same backwards, page by page, and in number.
async fn found(w: &World, filter: Filter) -> Vec<TaskId> {
    let filter = Filter { limit: 100, ..filter };
    let page = w.store.list(&filter).await.unwrap();
    assert_eq!(page.next, None, "{filter:?}");
    let newest: Vec<TaskId> = page.tasks.iter().map(|task| task.id).collect();
    let oldest = all_pages(w, Filter { order: Order::Oldest, limit: 2, ..filter.clone() }).await;
    assert_eq!(oldest.iter().rev().copied().collect::<Vec<_>>(), newest, "{filter:?}");
    assert_eq!(
        w.store.count(&filter).await.unwrap(),
        Matches { tasks: newest.len() as u64, more: false },
        "{filter:?}"
    );
    let by_command = w.store.count_by_command(&filter).await.unwrap();
    let mut counts: BTreeMap<CommandName, u64> = BTreeMap::new();
    for task in page.tasks {
        *counts.entry(task.command).or_default() += 1;
    }
    assert_eq!(by_command, ByCommand { counts: counts.into_iter().collect(), more: false }, "{filter:?}");
    newest
}

async fn all_pages(w: &World, mut filter: Filter) -> Vec<TaskId> {
    let mut found = Vec::new();
    loop {
        let page = w.store.list(&filter).await.unwrap();
        found.extend(page.tasks.iter().map(|task| task.id));
        match page.next {
            Some(next) => filter = filter.next_page(next),
            None => return found,
        }
    }
}

/// The members of a family are found by parent, by root and by fan-out, and each says where it belongs.
pub async fn a_family_is_found_by_parent_root_and_fan_out(w: &World) {
    let flow = w.flow(3, Rule::CollectAll).await;
    let root = flow.id();
    let inner = w.start(flow.kids[0]).await;
    w.leave_behind(&inner, children(2)).await;
    let grandchildren = w.kids(inner.id).await;
    let other = w.enqueue("mail").await;
    let newest = |ids: &[TaskId]| ids.iter().rev().copied().collect::<Vec<_>>();
    let all = Filter::default();
    assert_eq!(found(w, Filter { parent: Some(root), ..all.clone() }).await, newest(&flow.kids));
    assert_eq!(found(w, Filter { parent: Some(inner.id), ..all.clone() }).await, newest(&grandchildren));
    let family: Vec<TaskId> = [root].iter().chain(&flow.kids).chain(&grandchildren).copied().collect();
    assert_eq!(found(w, Filter { root: Some(root), ..all.clone() }).await, newest(&family));
    assert_eq!(found(w, Filter { root: Some(inner.id), ..all.clone() }).await, [], "it is no root");
    assert_eq!(found(w, Filter { root: Some(other), ..all.clone() }).await, [other]);
    assert_eq!(found(w, Filter { fan_out: Some(flow.fan_out), ..all.clone() }).await, newest(&flow.kids));
    let spawned = FanOutId(inner.id.0);
    assert_eq!(found(w, Filter { fan_out: Some(spawned), ..all.clone() }).await, newest(&grandchildren));
    let waiting = Filter { state: vec![State::Waiting], root: Some(root), parent: Some(root), ..all };
    assert_eq!(found(w, waiting).await, [inner.id]);
    for (index, kid) in (0..).zip(&flow.kids) {
        let kid = w.get(*kid).await;
        assert_eq!((kid.fan_out, kid.index), (Some(flow.fan_out), Some(index)));
    }
    let last = w.get(grandchildren[1]).await;
    assert_eq!((last.fan_out, last.index, last.root), (Some(spawned), Some(1), root));
    assert_eq!((w.get(root).await.fan_out, w.get(root).await.index), (None, None));
}

/// Parents are told from those without children, and roots from children.
pub async fn parents_and_roots_are_told_apart(w: &World) {
    let alone = w.enqueue("mail").await;
    w.store.cancel(alone).await.unwrap();
    let (first, kids) = w.parent_of(2).await;
    let inner = w.start(kids[0]).await;
    w.leave_behind(&inner, children(1)).await;
    let grandchild = w.kids(inner.id).await[0];
    let all = Filter::default();
    assert_eq!(found(w, Filter { has_children: Some(true), ..all.clone() }).await, [inner.id, first]);
    assert_eq!(found(w, Filter { has_children: Some(false), ..all.clone() }).await, [grandchild, kids[1], alone]);
    assert_eq!(found(w, Filter { roots: true, ..all.clone() }).await, [first, alone]);
    let both = Filter { roots: true, has_children: Some(true), ..all.clone() };
    assert_eq!(found(w, both).await, [first]);
    let none = Filter { roots: true, parent: Some(first), ..all };
    assert_eq!(found(w, none).await, []);
}

/// Tasks are found in every state in which they may be, whatever holds them.
pub async fn every_state_is_found_whatever_holds_a_task(w: &World) {
    let (open, scheduled) = (w.enqueue("export").await, w.create(later(600)).await);
    let (completed, failed) = (w.completed().await, w.failed().await);
    let cancelled = w.enqueue("report").await;
    w.store.cancel(cancelled).await.unwrap();
    let (root, kids) = w.parent_of(3).await;
    w.complete(kids[0]).await;
    let running = w.start(kids[1]).await;
    let state = |state| Filter { state: vec![state], ..Filter::default() };
    assert_eq!(found(w, state(State::Pending)).await, [kids[2], scheduled, open]);
    assert_eq!(found(w, state(State::Running)).await, [running.id]);
    assert_eq!(found(w, state(State::Waiting)).await, [root]);
    assert_eq!(found(w, state(State::Completed)).await, [kids[0], completed]);
    assert_eq!(found(w, state(State::Failed)).await, [failed]);
    assert_eq!(found(w, state(State::Cancelled)).await, [cancelled]);
    let mails = Filter { command: Some(command("mail")), ..state(State::Pending) };
    assert_eq!(found(w, mails).await, [scheduled]);
    let bulk = Filter { queue: Some(queue_name("bulk")), ..state(State::Pending) };
    assert_eq!(found(w, bulk).await, [open]);
    let ended = Filter { state: vec![State::Completed, State::Failed, State::Cancelled], ..Filter::default() };
    assert_eq!(found(w, ended).await, [kids[0], cancelled, failed, completed]);
}

/// Tasks are found by the key that they hold or held, and by their keys in groups, all of them.
pub async fn keys_are_found(w: &World) {
    w.groups([("tenant", 1), ("disk", 5)]).await;
    let acme = w.under(&[("tenant", "acme"), ("disk", "a")]).await;
    let second = w.under(&[("tenant", "acme")]).await;
    let other = w.under(&[("tenant", "other"), ("disk", "a")]).await;
    let held = w.create(unique_task(Unique::key("order-1"), "{}")).await;
    let with = |keys: &[(&str, &str)]| Filter { key: keys_of(keys), ..Filter::default() };
    let tenant = [("tenant", "acme")];
    assert_eq!(found(w, with(&tenant)).await, [second, acme]);
    assert_eq!(found(w, with(&[("tenant", "acme"), ("disk", "a")])).await, [acme]);
    assert_eq!(found(w, with(&[("disk", "a")])).await, [other, acme]);
    assert_eq!(found(w, with(&[("disk", "acme")])).await, []);
    // One of them runs, the other waits behind the key.
    let worker = w.worker().await;
    let started = w.claim_ids(worker, 10).await;
    assert!(started.contains(&acme) && !started.contains(&second));
    assert_eq!(found(w, Filter { state: vec![State::Pending], ..with(&tenant) }).await, [second]);
    assert_eq!(found(w, Filter { unique: Some("order-1".to_owned()), ..Filter::default() }).await, [held]);
    assert_eq!(w.get(held).await.unique_key, None, "it held it while it pended");
}

/// A span of time has its beginning in it, and not its end.
pub async fn a_span_has_its_beginning_and_not_its_end(w: &World) {
    let start = w.now();
    let first = w.completed().await;
    w.advance(10).await;
    let second = w.failed().await;
    w.advance(10).await;
    let third = w.enqueue("mail").await;
    let at = |secs| Some(start.plus(crate::world::secs(secs)));
    let all = Filter::default();
    assert_eq!(found(w, Filter { created_after: at(10), ..all.clone() }).await, [third, second]);
    assert_eq!(found(w, Filter { created_before: at(10), ..all.clone() }).await, [first]);
    assert_eq!(found(w, Filter { created_after: at(1), created_before: at(20), ..all.clone() }).await, [second]);
    assert_eq!(found(w, Filter { finished_after: at(0), ..all.clone() }).await, [second, first]);
    assert_eq!(found(w, Filter { finished_after: at(0), finished_before: at(10), ..all.clone() }).await, [first]);
    let failed = Filter { state: vec![State::Failed], finished_before: at(10), ..all.clone() };
    assert_eq!(found(w, failed).await, []);
    let failed = Filter { state: vec![State::Failed], finished_after: at(10), ..all };
    assert_eq!(found(w, failed).await, [second]);
}

/// Failures are found by their kind and by letters of their message, also while the task is tried again.
pub async fn failures_are_found_by_kind_and_text(w: &World) {
    let fail = async |kind, message: &str, retry| {
        let task = w.running().await;
        let failure = Failure::new(kind, message);
        w.settle(&task, Outcome::Failed { failure, retry }).await;
        task.id
    };
    let host = fail(FailureKind::Error, "no such host: \"mail.example\"", Retry::Never).await;
    let slow = fail(FailureKind::Timeout, "ran longer than 5 s", Retry::Never).await;
    let again = fail(FailureKind::Error, "no such Host", Retry::Policy).await;
    w.completed().await;
    let kind = |kind| Filter { failure_kind: Some(kind), ..Filter::default() };
    let text = |text: &str| Filter { failure_text: Some(text.to_owned()), ..Filter::default() };
    assert_eq!(found(w, kind(FailureKind::Timeout)).await, [slow]);
    assert_eq!(found(w, kind(FailureKind::Error)).await, [again, host]);
    assert_eq!(found(w, text("such host")).await, [host], "just so");
    assert_eq!(found(w, text("\"mail.")).await, [host]);
    assert_eq!(found(w, text("%")).await, [], "no wild cards");
    assert_eq!(found(w, text("no such")).await, [again, host]);
    assert_eq!(found(w, Filter { state: vec![State::Failed], ..text("no such") }).await, [host]);
}

/// A payload is found by a value somewhere in it, to the digit, wherever the payload is kept.
pub async fn a_payload_is_found_by_a_value_in_it(w: &World) {
    let with = |payload: &str| NewTask { payload: json(payload), ..new_task("mail") };
    let large = format!(r#"{{"customer":{{"id":17}},"text":"{}"}}"#, "x".repeat(5_000));
    let first = w.create(with(r#"{"customer":{"id":17,"tags":["new","a.b"]},"sum":1.50}"#)).await;
    let second = w.create(with(&large)).await;
    let third = w.create(with(r#"{"customer":{"id":"17"},"sum":9007199254740993}"#)).await;
    let unique = w.create(unique_task(Unique::key("one"), r#"{"customer":{"id":18},"sum":null}"#)).await;
    let is = |text: &str| Filter { payload: Some(text.parse().unwrap()), ..Filter::default() };
    assert_eq!(found(w, is("customer.id=17")).await, [second, first]);
    assert_eq!(found(w, is("customer.id=\"17\"")).await, [third]);
    assert_eq!(found(w, is("customer.id=18")).await, [unique]);
    assert_eq!(found(w, is("customer.tags.1=a.b")).await, [first]);
    assert_eq!(found(w, is("customer.tags.-2=new")).await, [first]);
    assert_eq!(found(w, is("sum=1.50")).await, [first]);
    assert_eq!(found(w, is("sum=9007199254740993")).await, [third]);
    assert_eq!(found(w, is("sum=9007199254740992")).await, []);
    assert_eq!(found(w, is("sum=null")).await, [unique]);
    assert_eq!(found(w, is("customer={\"id\":\"17\"}")).await, [third]);
    assert_eq!(found(w, is("customer.id.deeper=17")).await, []);
}

/// From the middle of a listing one can go on either way.
pub async fn pages_go_both_ways(w: &World) {
    let made = w.enqueue_many("mail", 9).await;
    let page = async |filter: Filter| {
        let page = w.store.list(&Filter { limit: 3, ..filter }).await.unwrap();
        (page.tasks.iter().map(|task| task.id).collect::<Vec<_>>(), page.next)
    };
    let newest = Filter { before: Some(made[6]), ..Filter::default() };
    assert_eq!(page(newest).await, (vec![made[5], made[4], made[3]], Some(made[3])));
    let back = Filter { after: Some(made[5]), order: Order::Oldest, ..Filter::default() };
    assert_eq!(page(back).await, (vec![made[6], made[7], made[8]], None));
    let between = Filter { after: Some(made[2]), before: Some(made[5]), ..Filter::default() };
    assert_eq!(page(between).await, (vec![made[4], made[3]], None));
    let all = all_pages(w, Filter { order: Order::Oldest, limit: 4, ..Filter::default() }).await;
    assert_eq!(all, made);
}

/// A match among more tasks than a page looks at is found, page by page; a count says so when it has not seen all.
pub async fn a_rare_match_is_found_page_by_page(w: &World) {
    let rare = w.create(NewTask { payload: json(r#"{"n":1}"#), ..new_task("mail") }).await;
    for _ in 0..2 {
        w.enqueue_many("mail", LOOK_MAX / 2 + 5).await;
    }
    let filter = Filter { payload: Some("n=1".parse().unwrap()), limit: 10, ..Filter::default() };
    assert_eq!(all_pages(w, filter.clone()).await, [rare]);
    assert_eq!(all_pages(w, Filter { order: Order::Oldest, ..filter.clone() }).await, [rare]);
    assert_eq!(w.store.count(&filter).await.unwrap().tasks, 1);
    let mails = Filter { command: Some(command("mail")), ..Filter::default() };
    assert_eq!(w.store.count(&mails).await.unwrap(), Matches { tasks: LOOK_MAX as u64, more: true });
}

/// What is no filter is refused, and says why.
pub async fn a_bad_filter_is_refused(w: &World) {
    let text = |text: String| Filter { failure_text: Some(text), ..Filter::default() };
    let at = |path: &[&str]| {
        let path = path.iter().map(|key| (*key).to_owned()).collect();
        Filter { payload: Some(PayloadIs { path, value: json("1") }), ..Filter::default() }
    };
    for bad in [
        text(String::new()),
        text("a\0b".to_owned()),
        text("a".repeat(ERROR_BYTES_MAX + 1)),
        Filter { unique: Some("a\0b".to_owned()), ..Filter::default() },
        Filter { key: keys_of(&[("tenant", "a\0b")]), ..Filter::default() },
        at(&[]),
        at(&["a", ""]),
        at(&["a\0"]),
    ] {
        let refused = |fault| {
            matches!(
                fault,
                StoreError::Input(InputError::Other(_) | InputError::UniqueKey { .. } | InputError::GroupKey { .. })
            )
        };
        assert!(w.store.list(&bad).await.is_err_and(refused), "{bad:?}");
        assert!(w.store.count(&bad).await.is_err_and(refused), "{bad:?}");
    }
}
