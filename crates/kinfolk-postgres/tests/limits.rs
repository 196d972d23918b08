//! Limits of queues and follow-ups where sessions meet: what a count says must hold at every commit.

mod common;

use std::time::Duration;

use common::*;
use kinfolk_core::filter::Filter;
use kinfolk_core::operate::Action;
use kinfolk_core::*;
use kinfolk_postgres::testing::TestDatabase;
use kinfolk_postgres::{PgStore, settle_in};

fn limits(family_limit: Option<u32>, child_limit: Option<u32>) -> Policy {
    Policy { family_limit, child_limit, ..Policy::default() }
}

async fn limited(family_limit: Option<u32>, child_limit: Option<u32>) -> (TestDatabase, PgStore) {
    let (database, store) = fresh().await;
    store.set_queue(&QueueName::default(), &limits(family_limit, child_limit)).await.unwrap();
    (database, store)
}

fn with_children(task: &ClaimedTask, many: usize) -> Settle {
    let made = Made { children: vec![common::task("work"); many], ..Made::default() };
    Settle { made: Some(Box::new(made)), ..done(task) }
}

fn with_follow_up(task: &ClaimedTask) -> Settle {
    following(task, When::Settled)
}

/// A follow-up that is everyone's who asks for the same end.
fn following(task: &ClaimedTask, when: When) -> Settle {
    let task_of_all = NewTask { unique: Some(Unique::key(format!("{when:?}"))), ..common::task("work") };
    let made = Made { follow_ups: vec![FollowUp { task: task_of_all, when }], ..Made::default() };
    Settle { made: Some(Box::new(made)), ..done(task) }
}

#[tokio::test(flavor = "multi_thread")]
async fn four_claimers_never_start_more_families_than_the_limit() {
    let (database, store) = limited(Some(2), None).await;
    store.enqueue(&vec![task("work"); 60]).await.unwrap();
    assert!(most_at_once(&database, 60, |task| task.parent.is_none()).await <= 2);
    sound(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn four_claimers_never_run_more_children_than_the_limit() {
    let (database, store) = limited(Some(1), Some(3)).await;
    enqueue(&store, task("work")).await;
    let first = worker(&store).await;
    let root = store.claim(&claim_of(first, &["work"], 1)).await.unwrap().tasks.remove(0);
    store.settle(&[with_children(&root, 60)]).await.unwrap();
    assert!(most_at_once(&database, 60, |task| task.parent.is_some()).await <= 3);
    assert_eq!(store.task(root.id).await.unwrap().unwrap().state, State::Completed);
    sound(&store).await;
}

#[tokio::test]
async fn a_claim_without_room_reads_nothing_of_those_who_wait() {
    let (database, store) = limited(Some(1), None).await;
    let worker = worker(&store).await;
    let mut pages = Vec::new();
    for many in [2, 10_000] {
        store.enqueue(&vec![task("work"); many]).await.unwrap();
        store.claim(&claim_of(worker, &["work"], 10)).await.unwrap();
        let claim = format!("select * from kinfolk.claim('{worker}', gen_random_uuid(), 'default', '{{work}}', 10)");
        pages.push(pages_of(&database, &claim).await);
    }
    assert!(pages[1] <= pages[0] + 4, "pages with 1 and with 10,000 roots waiting: {pages:?}");
}

#[tokio::test]
async fn a_limit_that_comes_while_tasks_run_counts_them() {
    let (_database, store) = fresh().await;
    let worker = worker(&store).await;
    store.enqueue(&vec![task("work"); 4]).await.unwrap();
    let running = store.claim(&claim_of(worker, &["work"], 2)).await.unwrap().tasks;
    store.set_queue(&QueueName::default(), &limits(Some(1), None)).await.unwrap();
    for task in &running {
        assert_eq!(store.claim(&claim_of(worker, &["work"], 9)).await.unwrap().tasks, []);
        store.settle(&[done(task)]).await.unwrap();
    }
    assert_eq!(store.claim(&claim_of(worker, &["work"], 9)).await.unwrap().tasks.len(), 1);
    sound(&store).await;
}

#[tokio::test]
async fn a_limit_is_not_set_past_a_task_in_other_hands() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    store.enqueue(&vec![task("work"); 2]).await.unwrap();
    store.claim(&claim_of(worker, &["work"], 1)).await.unwrap();
    let mut client = database.client().await;
    let other = client.transaction().await.unwrap();
    other.execute("select from kinfolk.task where state = 'running' for update", &[]).await.unwrap();
    let fault = store.set_queue(&QueueName::default(), &limits(Some(1), None)).await.unwrap_err();
    assert!(matches!(fault, StoreError::Busy { .. }), "{fault}");
    assert_eq!(store.queues().await.unwrap()[0].policy.family_limit, None);
    other.rollback().await.unwrap();
    store.set_queue(&QueueName::default(), &limits(Some(1), None)).await.unwrap();
    assert_eq!(store.claim(&claim_of(worker, &["work"], 9)).await.unwrap().tasks, []);
}

#[tokio::test]
async fn a_claim_in_a_transaction_that_stays_open_does_not_hold_others_up_for_good() {
    let (database, store) = limited(Some(1), None).await;
    let (first, second) = (worker(&store).await, worker(&store).await);
    store.enqueue(&vec![task("work"); 2]).await.unwrap();
    let mut client = database.client().await;
    let open = client.transaction().await.unwrap();
    let claim = format!("select id from kinfolk.claim('{first}', gen_random_uuid(), 'default', '{{work}}', 1)");
    assert_eq!(open.query(&claim, &[]).await.unwrap().len(), 2, "the task, and the row about the claim");
    assert_eq!(store.claim(&claim_of(second, &["work"], 1)).await.unwrap(), Claimed::default());
    open.rollback().await.unwrap();
    assert_eq!(store.claim(&claim_of(second, &["work"], 2)).await.unwrap().tasks.len(), 1);
}

#[tokio::test]
async fn families_that_end_at_once_share_one_follow_up_and_it_waits_for_both() {
    let (database, store) = fresh().await;
    let worker = worker(&store).await;
    store.enqueue(&vec![task("work"); 2]).await.unwrap();
    let roots = store.claim(&claim_of(worker, &["work"], 2)).await.unwrap().tasks;
    let (mut one, mut two) = (database.client().await, database.client().await);
    let first = one.transaction().await.unwrap();
    settle_in(&first, &[with_follow_up(&roots[0])]).await.unwrap();
    let second = two.transaction().await.unwrap();
    let settle = [with_follow_up(&roots[1])];
    let meets = async {
        // The second can only wait for the first, which ends meanwhile.
        let waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'";
        while database.texts(waits).await.is_empty() {}
        first.commit().await.unwrap();
    };
    let (settled, ()) = tokio::join!(settle_in(&second, &settle), meets);
    settled.unwrap();
    assert_eq!(
        store.claim(&claim_of(worker, &["work"], 9)).await.unwrap().tasks,
        [],
        "the second family has not ended"
    );
    second.commit().await.unwrap();
    let claimed = store.claim(&claim_of(worker, &["work"], 9)).await.unwrap().tasks;
    assert_eq!(claimed.len(), 1);
    store.settle(&[done(&claimed[0])]).await.unwrap();
    sound(&store).await;
}

/// Makes what is picked by chance: nothing, children, a follow-up of everyone's, or both.
fn by_chance(task: &ClaimedTask, chance: u128) -> Settle {
    let when = if (chance / 8).is_multiple_of(2) { When::Settled } else { When::Completed };
    match chance % 8 {
        0 if task.depth < 2 => with_children(task, 3),
        1 => following(task, when),
        2 if task.depth < 2 => {
            let (mut made, follow_up) = (with_children(task, 2), following(task, when));
            if let (Some(made), Some(follow_up)) = (&mut made.made, follow_up.made) {
                made.follow_ups = follow_up.follow_ups;
            }
            made
        }
        3 => Settle::new(task.id, task.token, Outcome::YieldFamilySlot(Duration::ZERO)),
        4 => {
            let failure = Failure::new(FailureKind::Error, "by chance");
            Settle::new(task.id, task.token, Outcome::Failed { failure, retry: Retry::Never })
        }
        _ => done(task),
    }
}

/// What an operator may do at any time; an answer that it is too late or not now is one as well.
async fn operate(store: &PgStore, chance: u128) {
    let id = TaskId(i64::try_from(chance % 300).unwrap());
    let answer = match chance / 300 % 5 {
        0 => store.cancel(id).await.map(drop),
        1 => store.retry_family(id).await.map(drop),
        2 => store.retry(id).await.map(drop),
        3 => {
            let filter = Filter { state: vec![State::Failed, State::Cancelled], limit: 20, ..Filter::default() };
            store.bulk(Action::Retry, &filter).await.map(drop)
        }
        _ => {
            let limit = |chance: u128| u32::try_from(chance % 4).ok().filter(|limit| *limit > 0);
            store.set_queue(&QueueName::default(), &limits(limit(chance / 1500), limit(chance / 6000))).await
        }
    };
    match answer {
        Ok(()) | Err(StoreError::NotFound { .. } | StoreError::WrongState { .. } | StoreError::Busy { .. }) => {}
        Err(fault) => panic!("{fault}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stuck_when_limits_change_and_families_are_cancelled_and_repaired_under_load() {
    let (database, store) = limited(Some(2), Some(2)).await;
    store.enqueue(&vec![task("work"); 100]).await.unwrap();
    let mut sessions = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let store = database.store().await;
        sessions.spawn(async move {
            let worker = worker(&store).await;
            for _ in 0..60 {
                let claimed = store.claim(&claim_of(worker, &["work"], 4)).await.unwrap().tasks;
                let settles: Vec<Settle> =
                    claimed.iter().map(|task| by_chance(task, uuid::Uuid::new_v4().as_u128() >> 80)).collect();
                store.settle(&settles).await.unwrap();
            }
            store.leave(worker).await.unwrap();
        });
    }
    let operator = database.store().await;
    sessions.spawn(async move {
        for _ in 0..120 {
            operate(&operator, uuid::Uuid::new_v4().as_u128() >> 80).await;
        }
    });
    while let Some(ended) = sessions.join_next().await {
        ended.unwrap();
    }

    // Whatever is left can be run to its end.
    sound(&store).await;
    let last = worker(&store).await;
    loop {
        let claimed = store.claim(&claim_of(last, &["work"], 100)).await.unwrap().tasks;
        if claimed.is_empty() {
            break;
        }
        store.settle(&claimed.iter().map(done).collect::<Vec<_>>()).await.unwrap();
    }
    sound(&store).await;
    assert_eq!(store.sweep().await.unwrap(), 0);
    let open =
        "select id || ' ' || state || ' ' || coalesce(gate::text, '') from kinfolk.task where finished_at is null";
    assert_eq!(database.texts(open).await, Vec::<String>::new());
}
