//! The core's rule of who may start, case by case, driven through the store.

use std::collections::HashMap;

use kinfolk_core::admit::{KeyRoom, Need, admit};
use kinfolk_core::{ClaimedTask, Outcome, TaskId};

use crate::grouped::slots;
use crate::world::{World, ids, settle_of};

/// Numbers without rhyme or reason, the same ones each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % most
    }
}

const GROUPS: [&str; 3] = ["a", "b", "c"];
const KEYS: [&str; 3] = ["1", "2", "3"];

type Key = (usize, usize);

/// The holders of slots, as they must be.
struct Held {
    limits: HashMap<Key, u64>,
    running: Vec<(ClaimedTask, Vec<Key>)>,
    waiting: Vec<(TaskId, Vec<Key>)>,
}

impl Held {
    fn rooms(&self) -> HashMap<Key, KeyRoom> {
        let room = |(key, limit): (&Key, &u64)| {
            let held = self.running.iter().filter(|(_, keys)| keys.contains(key)).count() as u64;
            (*key, KeyRoom { slots: Some(limit.saturating_sub(held)), starts: None, kept_for: None })
        };
        self.limits.iter().map(room).collect()
    }

    /// What a claim must take: a walk along the line.
    fn expected(&self, most: usize) -> Vec<TaskId> {
        let mut rooms = self.rooms();
        let mut line = self.waiting.clone();
        line.sort_by_key(|(id, _)| *id);
        let mut taken = Vec::new();
        for (id, keys) in line {
            let needs: Vec<_> = keys.into_iter().map(|key| Need { key, takes_slot: true }).collect();
            if taken.len() < most && admit(id, &needs, &mut rooms).is_ok() {
                taken.push(id);
            }
        }
        taken
    }
}

async fn enqueue(w: &World, numbers: &mut Numbers) -> (TaskId, Vec<Key>) {
    let mut keys = Vec::new();
    for group in 0..GROUPS.len() {
        if numbers.below(4) > 0 {
            keys.push((group, numbers.below(KEYS.len())));
        }
    }
    let named: Vec<_> = keys.iter().map(|(group, key)| (GROUPS[*group], KEYS[*key])).collect();
    (w.under(&named).await, keys)
}

async fn play(w: &World, seed: u64) {
    let mut numbers = Numbers(seed);
    w.groups(GROUPS.map(|name| (name, 1))).await;
    let mut held = Held { limits: HashMap::new(), running: Vec::new(), waiting: Vec::new() };
    for group in 0..GROUPS.len() {
        for key in 0..KEYS.len() {
            held.limits.insert((group, key), 1);
        }
    }
    for _ in 0..25 {
        for _ in 0..numbers.below(4) {
            held.waiting.push(enqueue(w, &mut numbers).await);
        }
        if numbers.below(3) == 0 {
            let (group, key, limit) = (numbers.below(3), numbers.below(3), u32::try_from(numbers.below(4)).unwrap());
            w.set_key(GROUPS[group], KEYS[key], slots(limit)).await;
            held.limits.insert((group, key), u64::from(limit));
        }
        let most = numbers.below(4) + 1;
        let expected = held.expected(most);
        let taken = w.look(most).await.tasks;
        assert_eq!(ids(&taken), expected, "seed {seed}");
        for task in taken {
            let index = held.waiting.iter().position(|(id, _)| *id == task.id).expect("it waited");
            held.running.push((task, held.waiting.remove(index).1));
        }
        let mut ends = Vec::new();
        for _ in 0..numbers.below(3).min(held.running.len()) {
            let (task, _) = held.running.remove(numbers.below(held.running.len()));
            ends.push(settle_of(&task, Outcome::Done(None)));
        }
        w.store.settle(&ends).await.unwrap();
    }
}

/// Random loads over three groups of three keys, with limits that change: each claim takes what the core's rule lets start.
pub async fn every_claim_takes_what_the_core_lets_start(w: &World) {
    play(w, 1).await;
}

/// The same with another load.
pub async fn another_load_agrees(w: &World) {
    play(w, 4_711).await;
}
