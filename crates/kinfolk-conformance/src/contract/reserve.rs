//! Room that is kept for a task which was sent from one full key to another for long.

use kinfolk_core::limits::BOUNCES_MAX;
use kinfolk_core::{ClaimedTask, Reason, TaskId};

use crate::grouped::of_mail;
use crate::world::{World, ids};

const ROUNDS: usize = 3 * BOUNCES_MAX as usize;

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
