//! Room that is kept for a task which was sent from one full key to another for long.

use kinfolk_core::limits::FAILED_TRIES_MAX;
use kinfolk_core::{Claim, ClaimedTask, NewTask, Rate, Reason, Setting, TaskId, WorkerSpec};

use crate::grouped::{of_mail, slots, task_of};
use crate::world::{LEASE, World, claim_of, group_name, ids, queue_name, worker_spec};

const ROUNDS: usize = 3 * FAILED_TRIES_MAX as usize;

/// Two hot keys, and a task that needs both.
struct Hot {
    both: TaskId,
    holders: [ClaimedTask; 2],
}

const HOT: [[(&str, &str); 1]; 2] = [[("a", "hot")], [("b", "hot")]];

impl Hot {
    /// Each key is held by one task, and has another one waiting.
    async fn new(w: &World) -> Self {
        w.groups([("a", 1), ("b", 1)]).await;
        let holders = [w.start(w.under(&HOT[0]).await).await, w.start(w.under(&HOT[1]).await).await];
        let both = w.under(&[("a", "hot"), ("b", "hot")]).await;
        let hot = Self { both, holders };
        w.under(&HOT[0]).await;
        w.under(&HOT[1]).await;
        hot
    }

    /// Ends the holder of one key, with another one coming in, and claims; what was taken.
    async fn turn(&mut self, w: &World, side: usize) -> Vec<TaskId> {
        w.under(&HOT[side]).await;
        w.done(&self.holders[side]).await;
        let taken = w.look(9).await.tasks;
        if let [task] = &taken[..] {
            self.holders[side] = task.clone();
        }
        ids(&taken)
    }

    /// Turns until room is kept: the first key is free and nobody gets it.
    async fn until_room_is_kept(w: &World) -> Self {
        let mut hot = Self::new(w).await;
        for _ in 0..ROUNDS {
            if hot.turn(w, 0).await.is_empty() {
                return hot;
            }
            assert_ne!(hot.turn(w, 1).await, [], "the second key is never free alone");
        }
        panic!("no room was kept after {ROUNDS} rounds");
    }
}

/// A task with two hot keys starts within a bounded number of ends, though neither key is ever free together with the
/// other by chance.
pub async fn a_task_with_two_hot_keys_starts_in_the_end(w: &World) {
    let mut hot = Hot::new(w).await;
    for round in 0..ROUNDS {
        if hot.turn(w, round % 2).await.contains(&hot.both) {
            return;
        }
    }
    panic!("it did not start within {ROUNDS} ends");
}

/// The room of a key that is kept is given to nobody else, and said to be kept.
pub async fn kept_room_is_given_to_nobody_else(w: &World) {
    let hot = Hot::until_room_is_kept(w).await;
    let waits = w.under(&HOT[0]).await;
    assert_eq!(w.claimable().await, []);
    let kept = Reason::KeyKept { group: of_mail("a"), key: "hot".to_owned(), task: hot.both };
    assert_eq!(w.why(waits).await, [kept]);
    assert_eq!(w.words(hot.both).await, ["key_full"]);
    w.done(&hot.holders[1]).await;
    let taken = w.look(1).await.tasks;
    assert_eq!(ids(&taken), [hot.both]);
    w.done(&taken[0]).await;
    assert_eq!(w.look(9).await.tasks.len(), 2);
}

/// Other keys of the same groups are not concerned.
pub async fn other_keys_are_not_kept(w: &World) {
    Hot::until_room_is_kept(w).await;
    let cold = [w.under(&[("a", "cold")]).await, w.under(&[("b", "cold")]).await];
    assert_eq!(w.claimable().await, cold);
}

/// When the task that room is kept for is cancelled, those who wait for that room start.
pub async fn a_cancelled_task_keeps_no_room(w: &World) {
    let hot = Hot::until_room_is_kept(w).await;
    w.store.cancel(hot.both).await.unwrap();
    let taken = w.claimable().await;
    assert_eq!(taken.len(), 1);
    assert_eq!(w.get(taken[0]).await.keys, crate::grouped::keys_of(&HOT[0]));
}

/// When a group that room is kept in is removed, the task starts if its other keys have room, and nothing is kept any more.
pub async fn a_removed_group_keeps_no_room(w: &World) {
    let hot = Hot::until_room_is_kept(w).await;
    w.store.remove_group(&of_mail("b")).await.unwrap();
    let taken = w.look(1).await.tasks;
    assert_eq!(ids(&taken), [hot.both]);
    w.done(&taken[0]).await;
    assert!(!w.claim_nothing().await);
}

/// A task that waits behind one key and stays there keeps no room: those of higher priority go first, however often.
pub async fn waiting_behind_one_key_keeps_no_room(w: &World) {
    w.groups([("a", 1)]).await;
    let mut holder = w.start(w.under(&HOT[0]).await).await;
    let low = kinfolk_core::NewTask { priority: Some(9), ..crate::grouped::task_of("mail", &HOT[0]) };
    let low = w.create(low).await;
    for _ in 0..ROUNDS {
        let next = w.under(&HOT[0]).await;
        w.done(&holder).await;
        let taken = w.look(9).await.tasks;
        assert_eq!(ids(&taken), [next]);
        holder = taken[0].clone();
    }
    w.done(&holder).await;
    assert_eq!(w.claimable().await, [low]);
}

/// Two hot keys whose room is kept for a task on a queue of its own, `bulk`; all others are on `default`.
struct Apart(Hot);

impl Apart {
    async fn until_room_is_kept(w: &World) -> Self {
        w.groups([("a", 1), ("b", 1)]).await;
        let holders = [w.start(w.under(&HOT[0]).await).await, w.start(w.under(&HOT[1]).await).await];
        let both = NewTask { queue: Some(queue_name("bulk")), ..task_of("mail", &[("a", "hot"), ("b", "hot")]) };
        let mut apart = Self(Hot { both: w.create(both).await, holders });
        assert_eq!(apart.look(w).await, []);
        for _ in 0..ROUNDS {
            if apart.turn(w, 0).await.is_empty() {
                return apart;
            }
            assert_ne!(apart.turn(w, 1).await, [], "the second key is never free alone");
        }
        panic!("no room was kept after {ROUNDS} rounds");
    }

    /// As that of [`Hot`]; the one with two keys is looked at first.
    async fn turn(&mut self, w: &World, side: usize) -> Vec<TaskId> {
        w.under(&HOT[side]).await;
        w.done(&self.0.holders[side]).await;
        assert_eq!(self.look(w).await, []);
        let taken = w.look(9).await.tasks;
        if let [task] = &taken[..] {
            self.0.holders[side] = task.clone();
        }
        ids(&taken)
    }

    /// What is taken from its queue.
    async fn look(&self, w: &World) -> Vec<TaskId> {
        let claim = Claim { queue: queue_name("bulk"), ..claim_of(w.worker().await, 9) };
        ids(&w.store.claim(&claim).await.unwrap().tasks)
    }

    /// The room that is free and was kept is given to someone else, and said to be free before that.
    async fn is_not_kept(&mut self, w: &World) {
        let waits = w.under(&HOT[0]).await;
        assert!(!w.words(waits).await.contains(&"key_kept"));
        let taken = w.look(9).await.tasks;
        assert_eq!(taken.len(), 1, "the room is free");
        self.0.holders[0] = taken[0].clone();
    }

    /// What becomes free is kept again, and the task starts when it has all it needs.
    async fn is_kept_again(&mut self, w: &World) {
        assert_eq!(self.turn(w, 0).await, []);
        w.done(&self.0.holders[1]).await;
        assert_eq!(self.look(w).await, [self.0.both]);
    }
}

/// While the queue of the task is paused, the room that is kept for it is anybody's.
pub async fn a_task_on_a_paused_queue_keeps_no_room(w: &World) {
    let mut apart = Apart::until_room_is_kept(w).await;
    w.store.pause(&queue_name("bulk"), None).await.unwrap();
    apart.is_not_kept(w).await;
    w.store.resume(&queue_name("bulk")).await.unwrap();
    apart.is_kept_again(w).await;
}

/// While no live worker handles it, neither.
pub async fn a_task_that_no_worker_handles_keeps_no_room(w: &World) {
    Apart::until_room_is_kept(w).await;
    w.pass_a_lease(&[]).await;
    let spec = WorkerSpec { queues: vec![queue_name("default")], ..worker_spec(LEASE) };
    w.store.register_worker(&spec).await.unwrap();
    assert_eq!(w.claim(spec.id, 9).await.len(), 1);
}

/// While another of its keys has a limit of 0, is slowed down or has no start left, neither.
pub async fn a_task_with_a_key_that_is_shut_keeps_no_room(w: &World) {
    let mut apart = Apart::until_room_is_kept(w).await;
    w.set_key("b", "hot", slots(0)).await;
    apart.is_not_kept(w).await;
    w.set_key("b", "hot", Setting::default()).await;
    assert_eq!(apart.turn(w, 0).await, []);

    let holder = &apart.0.holders[1];
    w.store.slow_down(holder.id, holder.token, &group_name("b"), w.now().plus(LEASE / 3)).await.unwrap();
    apart.is_not_kept(w).await;
    w.advance_by(LEASE / 3).await;
    assert_eq!(apart.turn(w, 0).await, []);

    let once = Setting { limit: Some(2), rate: Some(Rate::new(1, LEASE / 3)) };
    w.set_key("b", "hot", once).await;
    w.under(&HOT[1]).await;
    w.store.pause(&queue_name("bulk"), None).await.unwrap();
    let taken = w.look(9).await.tasks;
    assert_eq!(taken.len(), 2, "a start of each");
    w.store.resume(&queue_name("bulk")).await.unwrap();
    apart.0.holders[0] = taken[0].clone();
    assert_ne!(apart.turn(w, 0).await, []);
    w.advance_by(LEASE / 3).await;
    assert_eq!(apart.turn(w, 0).await, [], "there is a start again, and it is kept");
}

/// A task that waits for long gets the reservation of a task that cannot start.
pub async fn one_who_cannot_start_makes_way_for_another(w: &World) {
    let mut apart = Apart::until_room_is_kept(w).await;
    w.store.pause(&queue_name("bulk"), None).await.unwrap();
    apart.is_not_kept(w).await;
    apart.0.both = w.under(&[("a", "hot"), ("b", "hot")]).await;
    for round in 0..ROUNDS {
        if apart.0.turn(w, round % 2).await.contains(&apart.0.both) {
            return;
        }
    }
    panic!("it did not start within {ROUNDS} ends");
}
