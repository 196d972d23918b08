//! Queues with a fair key: its values take turns.

use kinfolk_core::{Gate, NewTask, Policy, StoreError, TaskId};

use crate::family::{home, these};
use crate::grouped::task_of;
use crate::world::{World, group_name, ids, queue_name};

/// The queue `default` takes turns by tenant, and every tenant has room for all its tasks.
async fn fair(w: &World) {
    w.groups([("tenant", 1_000_000)]).await;
    w.limit("default", Policy { fair: Some(group_name("tenant")), ..Policy::default() }).await;
}

async fn of(w: &World, tenant: &str, many: usize) -> Vec<TaskId> {
    w.many_under("mail", &[("tenant", tenant)], many).await
}

/// Tenants of the tasks that come, one claim after another.
async fn tenants(w: &World, claims: &[usize]) -> String {
    let worker = w.worker().await;
    let mut came = String::new();
    for limit in claims {
        for task in w.claim(worker, *limit).await {
            came.push_str(w.get(task.id).await.keys.get(&group_name("tenant")).unwrap_or("-"));
        }
    }
    came
}

/// One with many tasks does not hold up the next with a few: the few are among the first that come.
pub async fn a_few_are_not_held_up_by_many(w: &World) {
    fair(w).await;
    of(w, "a", 1_000).await;
    let few = of(w, "b", 10).await;
    let worker = w.worker().await;
    let mut taken = Vec::new();
    for limit in [1, 1, 1, 7, 10] {
        taken.extend(ids(&w.claim(worker, limit).await));
    }
    assert_eq!(taken.len(), 20);
    assert_eq!(few.iter().filter(|id| taken.contains(id)).count(), 10);
}

/// Values come in the order of their bytes, one of each, then the next of each.
pub async fn values_take_turns(w: &World) {
    fair(w).await;
    of(w, "b", 3).await;
    of(w, "c", 1).await;
    of(w, "a", 4).await;
    assert_eq!(tenants(w, &[9]).await, "abcababa");
}

/// The next claim goes on with the value after the last one.
pub async fn turns_go_on_over_claims(w: &World) {
    fair(w).await;
    for tenant in ["a", "b", "c"] {
        of(w, tenant, 4).await;
    }
    assert_eq!(tenants(w, &[1, 1, 2, 1, 3, 1]).await, "abcabcabc");
}

/// Tasks without the key are a value of their own, and so are those of commands that know nothing of it.
pub async fn tasks_without_the_key_have_their_turn(w: &World) {
    fair(w).await;
    of(w, "a", 3).await;
    w.enqueue_many("mail", 2).await;
    w.enqueue("report").await;
    assert_eq!(tenants(w, &[9]).await, "-a-a-a");
}

/// Priority goes before turns, and age decides within a value.
pub async fn priority_goes_before_turns(w: &World) {
    fair(w).await;
    let old = of(w, "a", 2).await;
    w.advance(1).await;
    let other = of(w, "b", 1).await;
    let urgent = NewTask { priority: Some(-1), ..task_of("mail", &[("tenant", "b")]) };
    let urgent = w.create(urgent).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, 1).await, [urgent]);
    assert_eq!(w.claim_ids(worker, 9).await, [old[0], other[0], old[1]]);
}

/// A claim of many takes what as many claims of one would: a turn counts in all priorities.
pub async fn a_claim_of_many_is_many_claims_of_one(w: &World) {
    fair(w).await;
    for claims in [&[1, 1, 1, 1, 1][..], &[5]] {
        of(w, "a", 2).await;
        of(w, "b", 1).await;
        of(w, "c", 1).await;
        w.create(NewTask { priority: Some(-1), ..task_of("mail", &[("tenant", "b")]) }).await;
        assert_eq!(tenants(w, claims).await, "bcaba");
    }
}

/// A tenant whose slots are taken loses its turn to the others, and nothing else.
pub async fn a_full_tenant_passes_its_turn(w: &World) {
    fair(w).await;
    w.groups([("tenant", 2)]).await;
    for tenant in ["a", "b", "c"] {
        of(w, tenant, 5).await;
    }
    assert_eq!(tenants(w, &[4, 9]).await, "abcabc");
    assert!(w.claim_nothing().await);
}

/// A family that has no room passes its tenant's turn on to the tenant's children, which have some. Another tenant's
/// children come after them.
pub async fn a_family_without_room_costs_no_turn(w: &World) {
    fair(w).await;
    w.limit("default", Policy { family_limit: Some(1), fair: Some(group_name("tenant")), ..Policy::default() }).await;
    of(w, "a", 1).await;
    of(w, "b", 1).await;
    let worker = w.worker().await;
    let family = &w.claim(worker, 1).await[0];
    let child = |tenant| task_of("mail", &[("tenant", tenant)]);
    w.leave_behind(family, these([child("c"), child("b"), child("c"), child("b")])).await;
    assert_eq!(tenants(w, &[1, 9]).await, "bcbc");
}

/// Some tasks of a tenant, which a worker took and was lost with: they are suspects.
async fn suspects_of(w: &World, tenant: &str, many: usize) -> Vec<TaskId> {
    let made = of(w, tenant, many).await;
    let worker = w.worker().await;
    assert_eq!(w.claim_ids(worker, many).await, made);
    w.lose_all().await;
    made
}

/// A suspect comes when it is the turn of its value, and not before.
pub async fn a_suspect_comes_in_its_turn(w: &World) {
    fair(w).await;
    for claims in [&[1, 1, 1, 1][..], &[2, 2], &[4]] {
        let suspect = suspects_of(w, "b", 1).await;
        let others = [of(w, "a", 1).await, of(w, "c", 2).await].concat();
        let worker = w.worker().await;
        let mut came = Vec::new();
        for limit in claims {
            came.extend(w.claim(worker, *limit).await);
        }
        assert_eq!(ids(&came), [others[1], others[0], suspect[0], others[2]], "claims of {claims:?}");
        for task in &came {
            w.done(task).await;
        }
    }
}

/// A suspect that its worker may not take costs its value no turn: the next task of that value comes.
pub async fn a_suspect_that_must_wait_costs_no_turn(w: &World) {
    fair(w).await;
    let suspects = suspects_of(w, "b", 3).await;
    let [a, b, c] = [of(w, "a", 3).await, of(w, "b", 1).await, of(w, "c", 1).await];
    let ada = w.worker().await;
    let came = w.claim(ada, 9).await;
    assert_eq!(ids(&came), [c[0], a[0], suspects[0], a[1], b[0], a[2]]);
    assert!(w.claim(ada, 9).await.is_empty(), "it runs a suspect already");
    let bob = w.worker().await;
    assert_eq!(w.claim_ids(bob, 9).await, [suspects[1]]);
    w.done(&came[2]).await;
    assert_eq!(w.claim_ids(ada, 9).await, [suspects[2]]);
}

/// Those that wait for their turn are open, and the first of them is the oldest.
pub async fn who_waits_for_its_turn_is_open(w: &World) {
    fair(w).await;
    let made = of(w, "b", 2).await;
    w.advance(1).await;
    of(w, "a", 1).await;
    assert_eq!(tenants(w, &[1]).await, "a");
    assert_eq!(w.gate(made[0]).await, Some(Gate::Open));
    let oldest = vec![(home(), w.get(made[0]).await.position)];
    assert_eq!(w.store.stats().await.unwrap().oldest_open, oldest);
}

/// A queue becomes fair, or unfair, with all that is in it.
pub async fn a_queue_becomes_fair_with_all_that_is_in_it(w: &World) {
    w.groups([("tenant", 1_000_000)]).await;
    of(w, "a", 6).await;
    of(w, "b", 6).await;
    assert_eq!(tenants(w, &[2]).await, "aa");
    fair(w).await;
    assert_eq!(tenants(w, &[4]).await, "abab");
    w.limit("default", Policy::default()).await;
    assert_eq!(tenants(w, &[3]).await, "aab");
}

/// The fair key is part of the queue's policy, and each queue has its own.
pub async fn each_queue_is_fair_by_itself(w: &World) {
    fair(w).await;
    let queues = w.store.queues().await.unwrap();
    let fair: Vec<_> = queues.iter().map(|queue| queue.policy.fair.clone()).collect();
    assert_eq!(fair, [None, Some(group_name("tenant"))]);
    let far = |tenant: &str| NewTask {
        queue: Some(crate::world::queue_name("bulk")),
        ..task_of("mail", &[("tenant", tenant)])
    };
    let made = [w.create(far("b")).await, w.create(far("b")).await, w.create(far("a")).await];
    let worker = w.worker().await;
    assert_eq!(ids(&w.claim_on("bulk", worker, 9).await), made);
}

/// A command's total has no keys; a group that no command declares may be declared later.
pub async fn a_total_has_no_keys_to_take_turns(w: &World) {
    let by = |name| Policy { fair: Some(group_name(name)), ..Policy::default() };
    let fault = w.store.set_queue(&queue_name("default"), &by("total")).await.unwrap_err();
    assert!(matches!(fault, StoreError::Input(_)), "{fault}");
    w.store.set_queue(&queue_name("default"), &by("later")).await.unwrap();
}
