//! Groups, keys and slots: what only this store promises, or what is quicker found out here.

use std::time::Duration;

use kinfolk_core::Policy;
use kinfolk_core::operate::Cancelled;
use kinfolk_core::{
    Command, GroupName, GroupRef, GroupSpec, Groups, Inspect, KeyFilter, NewTask, Operate, Outcome, Produce, Rate,
    Reason, Setting, State, Work, WorkerId, WorkerSpec,
};
use kinfolk_sqlite::SqliteStore;
use uuid::Uuid;

use crate::support::{Lab, claim, command, enqueue, ids, queue, settle, spec, task, worker};

fn name(text: &str) -> GroupName {
    GroupName::new(text).unwrap()
}

async fn declare(store: &SqliteStore, of: &str, groups: &[(&str, GroupSpec)]) {
    let groups = groups.iter().fold(Groups::new(), |all, (text, spec)| all.and(name(text), spec.clone()));
    store.register(&[Command { groups: Some(groups), ..Command::new(command(of)) }]).await.unwrap();
}

fn with_keys(of: &str, keys: &[(&str, &str)]) -> NewTask {
    let mut new = task(of);
    for (group, key) in keys {
        new.keys = new.keys.and(name(group), *key);
    }
    new
}

async fn sound(store: &SqliteStore) {
    assert_eq!(store.check().await.unwrap(), []);
    assert_eq!(store.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn a_task_starts_when_all_its_keys_have_room_and_no_other_is_held_up() {
    let Lab { store, .. } = &Lab::new();
    declare(store, "send", &[("tenant", GroupSpec::limit(2)), ("message", GroupSpec::limit(1))]).await;
    let worker = worker(store).await;
    let made = enqueue(
        store,
        &[
            with_keys("send", &[("tenant", "acme"), ("message", "m1")]),
            with_keys("send", &[("tenant", "acme"), ("message", "m1")]),
            with_keys("send", &[("tenant", "acme"), ("message", "m2")]),
            with_keys("send", &[("tenant", "acme"), ("message", "m3")]),
            with_keys("send", &[("tenant", "beta"), ("message", "m1")]),
            with_keys("send", &[("tenant", "beta")]),
            task("send"),
        ],
    )
    .await;
    let first = claim(store, worker, &["send"], 10).await;
    assert_eq!(ids(&first), [made[0], made[2], made[5], made[6]]);
    assert!(first.tasks[0].holds_slots && !first.tasks[3].holds_slots);
    sound(store).await;
    assert_eq!(ids(&claim(store, worker, &["send"], 10).await), []);
    settle(store, &first, Outcome::Done(None)).await;
    sound(store).await;
    let second = claim(store, worker, &["send"], 10).await;
    assert_eq!(ids(&second), [made[1], made[3]]);
    settle(store, &second, Outcome::Done(None)).await;
    let third = claim(store, worker, &["send"], 10).await;
    assert_eq!(ids(&third), [made[4]]);
    settle(store, &third, Outcome::Done(None)).await;
    sound(store).await;
}

#[tokio::test]
async fn a_ready_waiter_that_is_cancelled_makes_the_next_one_ready() {
    let Lab { store, .. } = &Lab::new();
    declare(store, "send", &[("tenant", GroupSpec::limit(1))]).await;
    let worker = worker(store).await;
    let acme = || with_keys("send", &[("tenant", "acme")]);
    let made = enqueue(store, &[acme(), acme(), acme()]).await;
    let first = claim(store, worker, &["send"], 10).await;
    settle(store, &first, Outcome::Done(None)).await;
    assert_eq!(store.cancel(made[1]).await.unwrap(), Cancelled::Now);
    sound(store).await;
    assert_eq!(ids(&claim(store, worker, &["send"], 10).await), [made[2]]);
    sound(store).await;
}

#[tokio::test]
async fn a_limit_is_changed_at_run_time_and_a_group_removed() {
    let Lab { store, .. } = &Lab::new();
    declare(store, "send", &[("tenant", GroupSpec::limit(1))]).await;
    let worker = worker(store).await;
    let acme = || with_keys("send", &[("tenant", "acme")]);
    let made = enqueue(store, &[acme(), acme(), acme(), acme(), acme()]).await;
    assert_eq!(ids(&claim(store, worker, &["send"], 10).await), made[..1]);
    let tenant = GroupRef::of(command("send"), name("tenant"));
    let two = Setting { limit: Some(2), rate: None };
    store.set_group(&tenant, Some("acme"), &two).await.unwrap();
    assert_eq!(ids(&claim(store, worker, &["send"], 10).await), made[1..2]);
    store.set_group(&tenant, Some("acme"), &Setting::default()).await.unwrap();
    assert_eq!(ids(&claim(store, worker, &["send"], 10).await), []);
    store.set_group(&tenant, None, &Setting { limit: Some(3), rate: None }).await.unwrap();
    assert_eq!(ids(&claim(store, worker, &["send"], 10).await), made[2..3]);
    sound(store).await;
    store.remove_group(&tenant).await.unwrap();
    assert_eq!(ids(&claim(store, worker, &["send"], 10).await), made[3..]);
    sound(store).await;
    assert!(store.remove_group(&tenant).await.is_err());
    assert_eq!(store.commands().await.unwrap()[0].groups, None);
}

#[tokio::test]
async fn a_rate_lets_its_burst_start_and_then_one_by_one() {
    let Lab { store, clock, .. } = &Lab::new();
    let rate = Rate { count: 10, per: Duration::from_secs(1), burst: 2 };
    declare(store, "call", &[("host", GroupSpec { rate: Some(rate), ..GroupSpec::default() })]).await;
    let worker = worker(store).await;
    let made = enqueue(store, &vec![with_keys("call", &[("host", "a")]); 5]).await;
    let first = claim(store, worker, &["call"], 10).await;
    assert_eq!(ids(&first), made[..2]);
    assert_eq!(first.next_due, Some(store.now().await.unwrap().plus(Duration::from_millis(100))));
    sound(store).await;
    settle(store, &first, Outcome::Done(None)).await;
    assert_eq!(ids(&claim(store, worker, &["call"], 10).await), []);
    clock.advance(Duration::from_millis(100));
    let second = claim(store, worker, &["call"], 10).await;
    assert_eq!(ids(&second), made[2..3]);
    clock.advance(Duration::from_secs(1));
    assert_eq!(ids(&claim(store, worker, &["call"], 10).await), made[3..]);
    sound(store).await;
}

#[tokio::test]
async fn a_changed_rate_counts_from_now_on() {
    let Lab { store, clock, .. } = &Lab::new();
    let rate = |count, secs| Some(Rate { count, per: Duration::from_secs(secs), burst: 1 });
    declare(store, "call", &[("host", GroupSpec { rate: rate(1, 3600), ..GroupSpec::default() })]).await;
    let worker = worker(store).await;
    let made = enqueue(store, &vec![with_keys("call", &[("host", "a")]); 3]).await;
    assert_eq!(ids(&claim(store, worker, &["call"], 10).await), made[..1]);
    let host = GroupRef::of(command("call"), name("host"));
    store.set_group(&host, Some("a"), &Setting { limit: None, rate: rate(10, 1) }).await.unwrap();
    let next = claim(store, worker, &["call"], 10).await;
    assert_eq!(next.next_due, Some(store.now().await.unwrap().plus(Duration::from_millis(100))));
    clock.advance(Duration::from_millis(100));
    assert_eq!(ids(&claim(store, worker, &["call"], 10).await), made[1..2]);
    declare(store, "call", &[("host", GroupSpec { rate: rate(1, 60), ..GroupSpec::default() })]).await;
    sound(store).await;
}

#[tokio::test]
async fn keys_are_shown_while_they_are_in_use_and_a_held_up_task_is_explained() {
    let Lab { store, clock, .. } = &Lab::new();
    let rate = Rate { count: 1, per: Duration::from_secs(1), burst: 1 };
    let host = GroupSpec { rate: Some(rate), ..GroupSpec::default() };
    declare(store, "call", &[("host", host), ("total", GroupSpec::limit(1))]).await;
    let id = WorkerId(uuid::Uuid::new_v4());
    store.register_worker(&WorkerSpec { commands: vec![command("call")], ..spec(id) }).await.unwrap();
    let made = enqueue(store, &vec![with_keys("call", &[("host", "a")]); 2]).await;
    let first = claim(store, id, &["call"], 10).await;
    let words = |told: &kinfolk_core::Explanation| told.reasons.iter().map(Reason::word).collect::<Vec<_>>();
    assert_eq!(words(&store.explain(made[1]).await.unwrap()), ["key_full", "key_rate"]);
    assert_eq!(store.explain(made[0]).await.unwrap().reasons, []);
    let shown = store.keys(&KeyFilter { limit: 10, ..KeyFilter::default() }).await.unwrap();
    assert_eq!(shown.iter().map(|key| (key.key.as_str(), key.held)).collect::<Vec<_>>(), [("a", 1), ("", 1)]);
    assert_eq!(shown.iter().map(|key| key.waiters).sum::<u64>(), 1);
    settle(store, &first, Outcome::Done(None)).await;
    assert_eq!(words(&store.explain(made[1]).await.unwrap()), ["key_rate"]);
    clock.advance(Duration::from_secs(1));
    assert_eq!(words(&store.explain(made[1]).await.unwrap()), ["in_line"]);
    let second = claim(store, id, &["call"], 10).await;
    assert_eq!(ids(&second), made[1..]);
    settle(store, &second, Outcome::Done(None)).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(store.keys(&KeyFilter { limit: 10, ..KeyFilter::default() }).await.unwrap(), []);
    store.prune().await.unwrap();
    sound(store).await;
}

#[tokio::test]
async fn who_is_sent_from_key_to_key_gets_room_at_last() {
    let Lab { store, .. } = &Lab::new();
    declare(store, "move", &[("from", GroupSpec::limit(1)), ("to", GroupSpec::limit(1))]).await;
    // Room is kept only for whom a live worker handles.
    let spec = WorkerSpec { commands: vec![command("move")], ..spec(WorkerId(Uuid::new_v4())) };
    store.register_worker(&spec).await.unwrap();
    let worker = spec.id;
    let (from, to) = (|| with_keys("move", &[("from", "a")]), || with_keys("move", &[("to", "b")]));
    enqueue(store, &[from(), to()]).await;
    let mut busy = [claim(store, worker, &["move"], 1).await, claim(store, worker, &["move"], 1).await];
    let both = enqueue(store, &[with_keys("move", &[("from", "a"), ("to", "b")])]).await[0];
    // Others come in on either side as soon as there is room.
    for round in 0..100 {
        let side = round % 2;
        enqueue(store, &[if side == 0 { from() } else { to() }]).await;
        settle(store, &busy[side], Outcome::Done(None)).await;
        let got = claim(store, worker, &["move"], 1).await;
        assert_eq!(store.check().await.unwrap(), []);
        if got.tasks.first().is_some_and(|task| task.id == both) {
            assert!(round > 10, "after {round} rounds");
            return;
        }
        busy[side] = got;
    }
    panic!("task {both} never started: {:?}", store.task(both).await.unwrap().map(|task| task.state));
}

#[tokio::test]
async fn a_command_without_groups_knows_nothing_of_keys() {
    let Lab { store, .. } = &Lab::new();
    declare(store, "free", &[]).await;
    let worker = worker(store).await;
    let refused = store.enqueue(&[with_keys("free", &[("tenant", "acme")])]).await.unwrap();
    assert!(refused[0].id().is_err());
    let made = enqueue(store, &[task("free")]).await;
    let got = claim(store, worker, &["free"], 10).await;
    assert_eq!(ids(&got), made);
    assert!(!got.tasks[0].holds_slots);
    settle(store, &got, Outcome::Done(None)).await;
    assert_eq!(store.task(made[0]).await.unwrap().unwrap().state, State::Completed);
}

#[tokio::test]
async fn values_of_a_fair_key_take_turns_inside_a_priority() {
    let Lab { store, .. } = &Lab::new();
    declare(store, "send", &[("tenant", GroupSpec::limit(100))]).await;
    let worker = worker(store).await;
    let of = |tenant: &str| with_keys("send", &[("tenant", tenant)]);
    let made = enqueue(store, &[of("a"), of("a"), of("a"), of("b"), of("b"), of("c"), task("send")]).await;
    let fair = Policy { fair: Some(name("tenant")), ..Policy::default() };
    store.set_queue(&queue(), &fair).await.unwrap();
    sound(store).await;
    assert_eq!(ids(&claim(store, worker, &["send"], 2).await), [made[6], made[0]]);
    let urgent = enqueue(store, &[NewTask { priority: Some(-1), ..of("z") }, of("b")]).await;
    assert_eq!(ids(&claim(store, worker, &["send"], 2).await), [urgent[0], made[1]]);
    assert_eq!(ids(&claim(store, worker, &["send"], 3).await), [made[3], made[5], made[2]]);
    sound(store).await;
    store.set_queue(&queue(), &Policy::default()).await.unwrap();
    assert_eq!(ids(&claim(store, worker, &["send"], 3).await), [made[4], urgent[1]]);
    sound(store).await;
}

#[tokio::test]
async fn what_waits_behind_a_full_key_costs_a_claim_nothing() {
    let (empty, full) = (&Lab::new().store, &Lab::new().store);
    let of = |tenant: &str| with_keys("send", &[("tenant", tenant)]);
    let mut workers = Vec::new();
    for (store, waiters) in [(empty, 0), (full, 20_000)] {
        declare(store, "send", &[("tenant", GroupSpec::limit(1))]).await;
        let worker = worker(store).await;
        enqueue(store, &[of("busy")]).await;
        claim(store, worker, &["send"], 1).await;
        for _ in 0..waiters / 5_000 {
            enqueue(store, &vec![of("busy"); 5_000]).await;
        }
        assert_eq!(ids(&claim(store, worker, &["send"], 10).await), []);
        assert_eq!(store.keys(&KeyFilter { limit: 10, ..KeyFilter::default() }).await.unwrap()[0].waiters, waiters);
        workers.push(worker);
    }
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    // Reading what is blocked would cost a hundred times as much in every round. A busy machine does so in some rounds only.
    for round in 0.. {
        few = few.min(time_of_a_round(empty, workers[0], &of("free")).await);
        many = many.min(time_of_a_round(full, workers[1], &of("free")).await);
        if many < few * 10 {
            break;
        }
        assert!(round < 2_000, "{few:?} without, {many:?} with blocked tasks");
    }
    sound(full).await;
}

/// The time in which one task goes from enqueue to its end.
async fn time_of_a_round(store: &SqliteStore, worker: WorkerId, new: &NewTask) -> Duration {
    let begun = std::time::Instant::now();
    enqueue(store, std::slice::from_ref(new)).await;
    let got = claim(store, worker, &["send"], 10).await;
    assert_eq!(got.tasks.len(), 1);
    settle(store, &got, Outcome::Done(None)).await;
    begun.elapsed()
}

#[tokio::test]
async fn a_prune_leaves_nothing_of_rates_that_have_passed_however_many_keys_there_were() {
    let lab = &Lab::new();
    declare(&lab.store, "send", &[("tenant", GroupSpec::limit(1))]).await;
    let other = rusqlite::Connection::open(lab.folder.path().join("kinfolk.db")).unwrap();
    let spend = "with recursive n (n) as (select 1 union all select n + 1 from n where n < 3500) \
        insert into spent (group_id, key, spent_until, over_at) select slot_group.id, 'k' || n, 1, 1 from n, slot_group";
    other.execute_batch(spend).unwrap();
    lab.store.prune().await.unwrap();
    let left: i64 = other.query_row("select count(*) from spent", (), |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}
