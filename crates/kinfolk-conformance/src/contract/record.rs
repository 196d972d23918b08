//! Recording: what a handler has done is written down once, and stays.

use kinfolk_core::limits::{RECORD_BATCH_MAX, RESULT_BYTES_MAX, STEPS_MAX};
use kinfolk_core::{Checkpoint, InputError, Json, Key, Outcome, Record, Recorded, Retry, State, StepKind, StoreError};

use crate::flow::{key, record_of, step};
use crate::world::{World, claim_of, json, secs, settle_of};

/// Checkpoints are kept in the order of writing, and counted; the next claim says how many there are.
pub async fn checkpoints_are_kept_in_the_order_of_writing(w: &World) {
    let task = w.running().await;
    assert_eq!(task.steps, 0);
    let written = [step("zebra", "1"), step("ape", "2"), step("mule", "3")];
    assert_eq!(w.record(&task, &written[..2]).await, Recorded::Written);
    assert_eq!(w.record(&task, &written[2..]).await, Recorded::Written);
    assert_eq!(w.history(task.id).await.checkpoints, written);
    let shown = w.get(task.id).await;
    assert_eq!((shown.steps, shown.state, shown.attempt), (3, State::Running, 1));
    w.settle(&task, Outcome::Release).await;
    assert_eq!(w.start(task.id).await.steps, 3);
}

/// A record sent again after a lost answer is written once, and what is new in it is written.
pub async fn a_record_sent_again_is_written_once(w: &World) {
    let task = w.running().await;
    let (one, two) = (step("one", "1"), step("two", "2"));
    for _ in 0..2 {
        assert_eq!(w.record(&task, std::slice::from_ref(&one)).await, Recorded::Written);
    }
    assert_eq!(w.record(&task, &[one.clone(), two.clone()]).await, Recorded::Written);
    assert_eq!((w.history(task.id).await.checkpoints, w.get(task.id).await.steps), (vec![one, two], 2));
}

/// Another value, kind or digest under a recorded key is refused, and nothing of the whole call is written.
pub async fn nothing_else_is_written_under_a_recorded_key(w: &World) {
    let (task, other) = (w.running().await, w.running().await);
    let before = step("charge card", "1");
    w.record(&task, std::slice::from_ref(&before)).await;
    let others = [
        Checkpoint { value: json("2"), ..before.clone() },
        Checkpoint { kind: StepKind::Now, ..before.clone() },
        Checkpoint { digest: "other".to_owned(), ..before.clone() },
    ];
    for clash in others {
        let call = [record_of(&other, &[step("new", "1")]), record_of(&task, &[step("new", "1"), clash])];
        match w.store.record(&call).await {
            Err(StoreError::Input(InputError::Other(why))) => {
                assert_eq!(why, format!("task {} has already recorded step charge card", task.id));
            }
            answer => panic!("{answer:?}"),
        }
        assert_eq!(w.history(other.id).await.checkpoints, []);
        assert_eq!(w.history(task.id).await.checkpoints, std::slice::from_ref(&before));
    }
    assert_eq!((w.get(task.id).await.steps, w.get(other.id).await.steps), (1, 0));
}

/// A token that no longer holds writes nothing, and does not disturb the rest of the call.
pub async fn a_stale_record_writes_nothing(w: &World) {
    let (old, good) = (w.running().await, w.running().await);
    w.settle(&old, Outcome::Snooze(secs(0))).await;
    let new = w.start(old.id).await;
    let gone = Record { task: kinfolk_core::TaskId(i64::MAX), ..record_of(&old, &[step("a", "1")]) };
    let records = [record_of(&old, &[step("a", "1")]), record_of(&good, &[step("a", "1")]), gone];
    let answers = w.store.record(&records).await.unwrap();
    assert_eq!(answers, [Recorded::Stale, Recorded::Written, Recorded::Stale]);
    assert_eq!((w.history(old.id).await.checkpoints.len(), w.history(good.id).await.checkpoints.len()), (0, 1));
    w.done(&new).await;
    assert_eq!(w.record(&new, &[step("b", "1")]).await, Recorded::Stale, "it has ended");
    assert_eq!(w.get(new.id).await.steps, 0);
}

/// Branches, names and occurrences tell operations apart.
pub async fn a_key_is_branch_name_and_occurrence(w: &World) {
    let task = w.running().await;
    let mut written = Vec::new();
    for branch in ["", "mail", "mail/inner"] {
        for name in ["send", "Send", "send "] {
            for occurrence in [0, 1, u32::from(u16::MAX)] {
                let key = Key { branch: branch.to_owned(), name: name.to_owned(), occurrence };
                let value = Json::of(&written.len()).unwrap();
                written.push(Checkpoint { key, kind: StepKind::Random, digest: String::new(), value });
            }
        }
    }
    w.record(&task, &written).await;
    assert_eq!(w.history(task.id).await.checkpoints, written);
}

/// Every kind of step comes back as it was, and so do values, numbers to the digit.
pub async fn kinds_digests_and_values_come_back_as_they_were(w: &World) {
    let task = w.running().await;
    let values =
        ["null", "[]", r#"{"ü":"\"\\ \u2028"}"#, "123456789012345678901234567890.12345678901234567890", "1.10"];
    let mut written = Vec::new();
    for (n, kind) in StepKind::ALL.into_iter().enumerate() {
        let digest = format!("digest of {n} ü'\"");
        let value = json(values[n % values.len()]);
        written.push(Checkpoint { key: key(&format!("step {n} ü'\"")), kind, digest, value });
    }
    w.record(&task, &written).await;
    let kept = w.history(task.id).await.checkpoints;
    assert_eq!(kept, written);
    for (kept, written) in kept.iter().zip(&written) {
        assert_eq!(kept.value.canonical().as_str(), written.value.as_str());
    }
}

/// A request to cancel does not stop what has been done from being recorded.
pub async fn a_request_to_cancel_does_not_stop_a_record(w: &World) {
    let task = w.running().await;
    w.store.cancel(task.id).await.unwrap();
    assert_eq!(w.record(&task, &[step("a", "1")]).await, Recorded::Written);
    w.settle(&task, Outcome::Cancelled).await;
    assert_eq!(w.history(task.id).await.checkpoints, [step("a", "1")]);
}

/// What was recorded outlives errors, losses, releases, and the end of the task.
pub async fn what_was_recorded_outlives_every_end_of_an_attempt(w: &World) {
    let task = w.running().await;
    w.record(&task, &[step("a", "1")]).await;
    w.fail(&task, Retry::After(secs(0))).await;
    let task = w.start(task.id).await;
    assert_eq!(task.steps, 1);
    w.record(&task, &[step("b", "2")]).await;
    w.lose_all().await;
    let task = w.start(task.id).await;
    assert_eq!(task.steps, 2);
    w.fail(&task, Retry::Never).await;
    assert_eq!(w.history(task.id).await.checkpoints, [step("a", "1"), step("b", "2")]);
    w.store.retry(task.id).await.unwrap();
    let task = w.start(task.id).await;
    assert_eq!((task.steps, task.attempt), (2, 1));
    w.done(&task).await;
    assert_eq!(w.history(task.id).await.checkpoints.len(), 2);
}

/// A claim sent again after a lost answer says how many checkpoints there are too.
pub async fn a_repeated_claim_says_it_too(w: &World) {
    let task = w.running().await;
    w.record(&task, &[step("a", "1")]).await;
    w.settle(&task, Outcome::Release).await;
    let claim = claim_of(w.worker().await, 1);
    let first = w.store.claim(&claim).await.unwrap().tasks;
    let again = w.store.claim(&kinfolk_core::Claim { repeated: true, ..claim }).await.unwrap().tasks;
    assert_eq!((first[0].steps, first), (1, again));
}

/// A task has a most of checkpoints; what would be more is refused whole.
pub async fn a_task_has_a_most_of_checkpoints(w: &World) {
    let task = w.running().await;
    let many: Vec<_> = (0..STEPS_MAX).map(|n| step(&format!("step {n}"), "1")).collect();
    for part in many.chunks(RECORD_BATCH_MAX) {
        assert_eq!(w.record(&task, part).await, Recorded::Written);
    }
    let more = [many[0].clone(), step("one", "1"), step("two", "2")];
    match w.store.record(&[record_of(&task, &more)]).await {
        Err(StoreError::Input(InputError::Batch { what: "checkpoints of one task", given, max: STEPS_MAX })) => {
            assert_eq!(given, STEPS_MAX + 2);
        }
        answer => panic!("{answer:?}"),
    }
    assert_eq!(w.record(&task, &many[..3]).await, Recorded::Written, "those are there");
    assert_eq!(w.get(task.id).await.steps as usize, STEPS_MAX);
    assert_eq!(w.history(task.id).await.checkpoints.len(), STEPS_MAX);
}

/// What no store would keep is refused.
pub async fn what_no_store_would_keep_is_refused(w: &World) {
    let task = w.running().await;
    let long = json(&format!("{:?}", "x".repeat(RESULT_BYTES_MAX)));
    let cases = [
        vec![Checkpoint { value: long, ..step("a", "1") }],
        vec![step("", "1")],
        vec![step(&"x".repeat(129), "1")],
        vec![Checkpoint { digest: "x".repeat(129), ..step("a", "1") }],
        vec![step("a", "1"); RECORD_BATCH_MAX + 1],
    ];
    for case in cases {
        let answer = w.store.record(&[record_of(&task, &case)]).await;
        assert!(matches!(answer, Err(StoreError::Input(_))), "{answer:?}");
    }
    assert_eq!(w.history(task.id).await.checkpoints, []);
    assert_eq!(w.store.settle(&[settle_of(&task, Outcome::Done(None))]).await.unwrap().len(), 1);
}
