//! What workers did, minute by minute.

use std::time::Duration;

use kinfolk_core::limits::{MINUTE_RECORDS_MAX, MINUTES_KEPT};
use kinfolk_core::minute::{Figures, Minute, MinuteRecord};
use kinfolk_core::{Claim, InputError, Outcome, Retry, State, StoreError, WorkerId, WorkerSpec};
use uuid::Uuid;

use crate::world::{LEASE, World, claim_of, command, later, queue_name, worker_spec};

const HOUR: Duration = Duration::from_secs(3600);

fn record(queue: &str, name: &str, figures: Figures) -> MinuteRecord {
    MinuteRecord { queue: queue_name(queue), command: command(name), figures }
}

fn completed(many: u64) -> Figures {
    Figures { completed: many, ran: Duration::from_secs(many), ran_max: Duration::from_secs(1), ..Figures::default() }
}

async fn minutes(w: &World) -> Vec<Minute> {
    w.store.minutes(HOUR).await.unwrap()
}

/// Records of all workers add up, by minute, queue and command; the longest wait and run stay the longest.
pub async fn minute_records_add_up_by_minute_queue_and_command(w: &World) {
    let (one, other) = (w.worker().await, w.worker().await);
    let long = Figures {
        started: 2,
        waited: Duration::from_secs(9),
        waited_max: Duration::from_secs(8),
        failed: 1,
        retried: 2,
        cancelled: 3,
        suspended: 4,
        ran: Duration::from_micros(5_000_001),
        ran_max: Duration::from_secs(5),
        ..Figures::default()
    };
    let first = Minute::of(w.now());
    w.store
        .record_minutes(one, 1, &[record("default", "mail", completed(3)), record("bulk", "mail", long)])
        .await
        .unwrap();
    w.store.record_minutes(other, 1, &[record("default", "mail", long)]).await.unwrap();
    w.advance(60).await;
    w.store
        .record_minutes(one, 2, &[record("default", "mail", completed(1)), record("bulk", "export", long)])
        .await
        .unwrap();
    let minute = |at, queue, name, figures| Minute { at, queue: queue_name(queue), command: command(name), figures };
    let second = first.plus(Duration::from_secs(60));
    let all = [
        minute(first, "bulk", "mail", long),
        minute(first, "default", "mail", completed(3).plus(&long)),
        minute(second, "bulk", "export", long),
        minute(second, "default", "mail", completed(1)),
    ];
    assert_eq!(minutes(w).await, all);
    assert_eq!(
        w.store.minutes(Duration::from_secs(60)).await.unwrap(),
        all[2..],
        "those that began in the last minute"
    );
    assert_eq!(w.store.minutes(Duration::ZERO).await.unwrap(), []);
}

/// A record whose answer was lost is sent again, and counts once; so does one that comes late.
pub async fn a_minute_record_sent_again_counts_once(w: &World) {
    let worker = w.worker().await;
    let two = [record("default", "mail", completed(2))];
    for number in [1, 1, 5, 5, 4] {
        w.store.record_minutes(worker, number, &two).await.unwrap();
        w.store.register_worker(&WorkerSpec { id: worker, ..worker_spec(LEASE) }).await.unwrap();
    }
    assert_eq!(minutes(w).await[0].figures, completed(2).plus(&completed(2)));
}

/// Two records of one command on one queue in one call are both counted.
pub async fn minute_records_of_one_call_add_up(w: &World) {
    let worker = w.worker().await;
    let twice = [record("default", "mail", completed(2)), record("default", "mail", completed(1))];
    w.store.record_minutes(worker, 1, &twice).await.unwrap();
    assert_eq!(minutes(w).await[0].figures, completed(3));
}

/// Only a registered worker records, only what there is, and no more than a call may hold; a record that is refused leaves nothing
/// behind, and its number can be used again.
pub async fn a_refused_minute_record_leaves_nothing(w: &World) {
    let (worker, stranger) = (w.worker().await, WorkerId(Uuid::from_u128(1)));
    let good = record("default", "mail", completed(1));
    let answer = w.store.record_minutes(stranger, 1, std::slice::from_ref(&good)).await;
    assert!(matches!(answer, Err(StoreError::LeaseLost { worker }) if worker == stranger), "{answer:?}");
    for (bad, what) in [(("nowhere", "mail"), "queue"), (("default", "nothing"), "command")] {
        let records = [good.clone(), record(bad.0, bad.1, completed(1))];
        let answer = w.store.record_minutes(worker, 1, &records).await;
        assert!(matches!(&answer, Err(StoreError::NotFound { what: is, .. }) if *is == what), "{answer:?}");
    }
    let answer = w.store.record_minutes(worker, 1, &vec![good.clone(); MINUTE_RECORDS_MAX + 1]).await;
    assert!(matches!(answer, Err(StoreError::Input(InputError::Batch { .. }))), "{answer:?}");
    assert_eq!(minutes(w).await, []);
    w.store.record_minutes(worker, 1, &[good]).await.unwrap();
    assert_eq!(minutes(w).await[0].figures, completed(1));
    w.store.record_minutes(worker, 2, &[]).await.unwrap();
    w.store.leave(worker).await.unwrap();
    assert!(w.store.record_minutes(worker, 3, &[]).await.is_err(), "it has left");
    assert_eq!(minutes(w).await.len(), 1, "what it noted stays");
}

/// Minutes that are past their time go with a prune; the others stay.
pub async fn old_minutes_are_pruned(w: &World) {
    let worker = w.worker().await;
    for number in 1..=2 {
        w.store.record_minutes(worker, number, &[record("default", "mail", completed(number))]).await.unwrap();
        w.advance(120).await;
    }
    w.advance(MINUTES_KEPT.as_secs() - 180).await;
    w.store.prune().await.unwrap();
    let left = w.store.minutes(2 * MINUTES_KEPT).await.unwrap();
    assert_eq!(left.iter().map(|minute| minute.figures.completed).collect::<Vec<_>>(), [2]);
}

/// A claim says how long a task had waited since it was due, when it runs for the first time and only then.
pub async fn a_claim_says_how_long_a_task_waited(w: &World) {
    let (now, due) = (w.enqueue("mail").await, w.create(later(10)).await);
    w.advance(25).await;
    let worker = w.worker().await;
    let first = w.claim(worker, 2).await;
    let waited: Vec<_> = first.iter().map(|task| (task.id, task.waited.map(|waited| waited.as_secs()))).collect();
    assert_eq!(waited, [(now, Some(25)), (due, Some(15))]);
    let again = Claim { token: first[0].token, repeated: true, ..claim_of(worker, 2) };
    let again = w.store.claim(&again).await.unwrap().tasks;
    assert_eq!(again.iter().map(|task| task.waited).collect::<Vec<_>>(), [first[0].waited, first[1].waited]);
    w.settle(&first[0], Outcome::Release).await;
    w.fail(&first[1], Retry::Policy).await;
    assert_eq!(w.state(due).await, State::Pending);
    w.advance(60).await;
    assert!(w.claim(worker, 2).await.iter().all(|task| task.waited.is_none()));
}
