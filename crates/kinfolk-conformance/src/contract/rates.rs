//! Rates: so many starts under a key in a span of time, to the microsecond.

use std::collections::BTreeSet;
use std::time::Duration;

use kinfolk_core::admit::{next_start, spend, starts};
use kinfolk_core::{GroupSpec, Outcome, Rate, Reason, Retry, Setting};

use crate::flow::sleeping;
use crate::grouped::{of_mail, task_of};
use crate::world::{World, failed, ids, later, secs};

const ACME: [(&str, &str); 1] = [("tenant", "acme")];

const fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// At first as many start as the burst allows, then one after each interval, not a microsecond before.
pub async fn a_burst_and_then_one_by_one(w: &World) {
    w.groups([("tenant", Rate::per_second(10).burst(3))]).await;
    let made = w.many_under("mail", &ACME, 6).await;
    let taken = w.look(9).await;
    assert_eq!(ids(&taken.tasks), made[..3]);
    assert_eq!(taken.next_due, Some(w.now().plus(millis(100))));
    w.advance_by(Duration::from_micros(99_999)).await;
    assert_eq!(ids(&w.look(9).await.tasks), []);
    w.advance_by(Duration::from_micros(1)).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[3..4]);
    w.advance_by(millis(250)).await;
    let taken = w.look(9).await;
    assert_eq!(ids(&taken.tasks), made[4..6]);
    assert_eq!(taken.next_due, None);
}

/// However long nothing started, no more than the burst start at once.
pub async fn a_pause_saves_up_no_more_than_the_burst(w: &World) {
    w.groups([("tenant", Rate::per_minute(1).burst(2))]).await;
    let made = w.many_under("mail", &ACME, 5).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[..2]);
    w.advance(86_400).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[2..4]);
    w.advance(60).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[4..]);
}

/// Each key has its own; a task without one is not concerned.
pub async fn each_key_has_its_own(w: &World) {
    w.groups([("tenant", Rate::per_minute(1))]).await;
    let acme = w.many_under("mail", &ACME, 2).await;
    let beta = w.many_under("mail", &[("tenant", "beta")], 2).await;
    let plain = w.enqueue_many("mail", 2).await;
    assert_eq!(ids(&w.look(9).await.tasks), [&acme[..1], &beta[..1], &plain].concat());
}

/// A total may have a rate.
pub async fn a_total_may_have_a_rate(w: &World) {
    w.groups([("total", Rate::per_second(1).burst(2))]).await;
    let made = w.enqueue_many("mail", 4).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[..2]);
    w.advance(1).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[2..3]);
}

/// An interval that is no whole number of microseconds is rounded up, so that the rate is never passed.
pub async fn intervals_are_rounded_up(w: &World) {
    w.groups([("tenant", Rate::per_second(3))]).await;
    let made = w.many_under("mail", &ACME, 2).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[..1]);
    w.advance_by(Duration::from_micros(333_333)).await;
    assert_eq!(ids(&w.look(9).await.tasks), []);
    w.advance_by(Duration::from_micros(1)).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[1..]);
}

/// Every claim is a start: a retry, a resumption and one after a release as well, and nothing gives one back.
pub async fn every_claim_is_a_start(w: &World) {
    w.groups([("tenant", Rate::per_minute(1).burst(5))]).await;
    let id = w.under(&ACME).await;
    w.work(id, failed(Retry::After(secs(0)))).await;
    w.work(id, Outcome::Release).await;
    w.work(id, Outcome::Snooze(secs(0))).await;
    let task = w.start(id).await;
    w.suspend(sleeping(&task, w.now())).await;
    w.work(id, Outcome::Release).await;
    assert_eq!(ids(&w.look(9).await.tasks), []);
    let until = w.now().plus(secs(60));
    let reason = Reason::KeyRate { group: of_mail("tenant"), key: "acme".to_owned(), until };
    assert_eq!(w.why(id).await, [reason]);
}

/// A limit and a rate hold together.
pub async fn a_limit_and_a_rate_hold_together(w: &World) {
    w.groups([("tenant", GroupSpec::limit(2).and_rate(Rate::per_second(1).burst(3)))]).await;
    let made = w.many_under("mail", &ACME, 6).await;
    let taken = w.look(9).await;
    assert_eq!((ids(&taken.tasks), taken.next_due), (made[..2].to_vec(), None));
    w.done(&taken.tasks[0]).await;
    w.done(&taken.tasks[1]).await;
    let taken = w.look(9).await;
    assert_eq!((ids(&taken.tasks), taken.next_due), (made[2..3].to_vec(), Some(w.now().plus(secs(1)))));
    w.advance(9).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[3..4]);
}

/// A task that finds no start under one key uses up none under another.
pub async fn a_start_is_taken_from_every_key_or_none(w: &World) {
    w.groups([("a", GroupSpec::rate(Rate::per_minute(1))), ("b", GroupSpec::limit(1))]).await;
    let holder = w.start(w.under(&[("b", "1")]).await).await;
    let both = w.under(&[("a", "1"), ("b", "1")]).await;
    assert_eq!(ids(&w.look(9).await.tasks), []);
    let single = w.under(&[("a", "1")]).await;
    assert_eq!(ids(&w.look(9).await.tasks), [single]);
    w.done(&holder).await;
    assert_eq!(ids(&w.look(9).await.tasks), []);
    w.advance(60).await;
    assert_eq!(ids(&w.look(9).await.tasks), [both]);
}

/// A changed rate applies to what was spent under the old one.
pub async fn a_changed_rate_applies_to_what_was_spent(w: &World) {
    let rate = Rate::per_minute(1).burst(2);
    w.groups([("tenant", rate)]).await;
    let made = w.many_under("mail", &ACME, 6).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[..2]);
    let spent = spend(rate, None, w.now(), 2);
    let faster = Rate::per_minute(2).burst(5);
    assert_eq!(starts(faster, Some(spent), w.now()), 1);
    w.set("tenant", Setting { limit: None, rate: Some(faster) }).await;
    let taken = w.look(9).await;
    assert_eq!(ids(&taken.tasks), made[2..3]);
    let spent = spend(faster, Some(spent), w.now(), 1);
    assert_eq!(taken.next_due, Some(next_start(faster, spent)));
    w.set("tenant", Setting::default()).await;
    let spent = spent.min(spend(rate, None, w.now(), 2));
    assert_eq!(w.look(9).await.next_due, Some(next_start(rate, spent)));
}

/// A key that was used up for long under a slow rate starts at the pace of a faster one from now on, set or declared.
pub async fn a_faster_rate_counts_from_now_on(w: &World) {
    let slow = Rate::new(1, secs(3_600));
    w.groups([("tenant", slow)]).await;
    let made = w.many_under("mail", &ACME, 4).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[..1]);
    w.set_key("tenant", "acme", Setting { limit: None, rate: Some(Rate::per_second(10)) }).await;
    assert_eq!(w.look(9).await.next_due, Some(w.now().plus(millis(100))));
    w.advance_by(millis(100)).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[1..2]);
    w.set_key("tenant", "acme", Setting::default()).await;
    w.advance(3_600).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[2..3]);
    w.groups([("tenant", Rate::per_second(2))]).await;
    w.advance_by(millis(500)).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[3..]);
}

/// A claim names the earliest moment: of what is due and of what a rate lets start.
pub async fn a_claim_names_the_earliest_moment(w: &World) {
    w.groups([("tenant", Rate::per_minute(1))]).await;
    w.many_under("mail", &ACME, 2).await;
    w.create(later(90)).await;
    assert_eq!(w.look(9).await.next_due, Some(w.now().plus(secs(60))));
    w.create(later(30)).await;
    assert_eq!(w.look(9).await.next_due, Some(w.now().plus(secs(30))));
}

/// A task that waits for its rate starts by priority and age, as ever.
pub async fn those_that_wait_start_in_order(w: &World) {
    w.groups([("tenant", Rate::per_second(1))]).await;
    let made = w.many_under("mail", &ACME, 3).await;
    assert_eq!(ids(&w.look(9).await.tasks), made[..1]);
    let urgent = kinfolk_core::NewTask { priority: Some(-1), ..task_of("mail", &ACME) };
    let urgent = w.create(urgent).await;
    for id in [urgent, made[1], made[2]] {
        w.advance(1).await;
        assert_eq!(ids(&w.look(9).await.tasks), [id]);
    }
}

/// Whatever the rhythm of the claims, what starts is what the core's arithmetic allows.
pub async fn every_rhythm_follows_the_cores_arithmetic(w: &World) {
    for (n, rate) in
        [Rate::per_second(7).burst(4), Rate::per_minute(100).burst(2), Rate::per_second(1_000)].into_iter().enumerate()
    {
        w.groups([("tenant", rate)]).await;
        let key = format!("k{n}");
        let made: BTreeSet<_> = w.many_under("mail", &[("tenant", &key)], 40).await.into_iter().collect();
        let mut spent = None;
        for round in 0..12_u64 {
            let most = usize::try_from(round % 5 + 1).unwrap();
            let expected = starts(rate, spent, w.now()).min(most as u64);
            let taken = w.look(most).await.tasks;
            assert_eq!(taken.len() as u64, expected, "{rate:?}, round {round}");
            if expected > 0 {
                spent = Some(spend(rate, spent, w.now(), expected));
            }
            w.advance_by(Duration::from_micros(142_857 * (round * round % 11) + round)).await;
        }
        for id in made {
            w.store.cancel(id).await.unwrap();
        }
    }
}

/// A rate that has filled up again leaves nothing behind.
pub async fn a_passed_rate_leaves_nothing_behind(w: &World) {
    w.groups([("tenant", Rate::per_second(1).burst(3))]).await;
    let task = w.start(w.under(&ACME).await).await;
    w.done(&task).await;
    assert_eq!(w.keys().await, []);
    w.advance(2).await;
    w.store.prune().await.unwrap();
    assert_eq!(w.keys().await, []);
    assert_eq!(w.claimable().await, []);
}
