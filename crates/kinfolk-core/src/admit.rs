//! Admission: the decision over groups, rates and reservations, which candidates start.
//!
//! Candidates are looked at one by one, in the order of the claim. One whose keys all have room takes a slot, and a start
//! where there is a rate, of each; any other takes nothing and waits behind the first of its keys that has no room. The
//! caller holds whatever keeps the rooms as they are.

use std::collections::HashMap;
use std::hash::Hash;

use crate::group::Rate;
use crate::ids::TaskId;
use crate::time::Timestamp;

/// How much room a key has, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRoom {
    /// Slots that are free; `None` where there is no limit. A limit that was lowered below what is held leaves 0.
    pub slots: Option<u64>,
    /// Starts that the rate allows now; `None` where there is no rate. 0 while the key is paused.
    pub starts: Option<u64>,
    /// The task that one unit of this room is kept for.
    pub kept_for: Option<TaskId>,
}

impl KeyRoom {
    /// Whether there is room for this task; whatever is kept for another is not.
    pub fn has(&self, task: TaskId, takes_slot: bool) -> bool {
        let kept = u64::from(self.kept_for.is_some_and(|other| other != task));
        (!takes_slot || self.slots.is_none_or(|free| free > kept)) && self.starts.is_none_or(|free| free > kept)
    }

    fn take(&mut self, task: TaskId, takes_slot: bool) {
        if takes_slot {
            self.slots = self.slots.map(|free| free.saturating_sub(1));
        }
        self.starts = self.starts.map(|free| free.saturating_sub(1));
        if self.kept_for == Some(task) {
            self.kept_for = None;
        }
    }
}

/// One key that a candidate needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need<K> {
    /// Which key.
    pub key: K,
    /// Whether it takes a slot: not if it, or a task above it, holds one already.
    pub takes_slot: bool,
}

/// Looks at one candidate: takes what it needs out of the rooms, or answers behind which key it is to wait. Its needs are in
/// the order of the groups' numbers. A key without a room has all the room in the world.
pub fn admit<K: Eq + Hash + Clone>(task: TaskId, needs: &[Need<K>], rooms: &mut HashMap<K, KeyRoom>) -> Result<(), K> {
    for need in needs {
        if rooms.get(&need.key).is_some_and(|room| !room.has(task, need.takes_slot)) {
            return Err(need.key.clone());
        }
    }
    for need in needs {
        if let Some(room) = rooms.get_mut(&need.key) {
            room.take(task, need.takes_slot);
        }
    }
    Ok(())
}

/// How many may start now under a rate of which this much is spent. `spent_until` is when the last start would have been
/// due, had they come one by one: each start moves it on by one interval, from now or from its present end.
pub fn starts(rate: Rate, spent_until: Option<Timestamp>, now: Timestamp) -> u64 {
    let ahead = spent_until.map_or(0, |until| until.as_micros().saturating_sub(now.as_micros()).max(0));
    let interval = rate.interval_us();
    let whole = i64::from(rate.burst).saturating_mul(interval);
    u64::try_from((whole - ahead).max(0) / interval).unwrap_or(0)
}

/// The new `spent_until` after so many starts.
pub fn spend(rate: Rate, spent_until: Option<Timestamp>, now: Timestamp, starts: u64) -> Timestamp {
    let from = spent_until.map_or(now, |until| until.max(now));
    let starts = i64::try_from(starts).unwrap_or(i64::MAX);
    Timestamp::from_micros(from.as_micros().saturating_add(rate.interval_us().saturating_mul(starts)))
}

/// When the next start is allowed, where none is now.
pub fn next_start(rate: Rate, spent_until: Timestamp) -> Timestamp {
    let interval = rate.interval_us();
    let ahead = i64::from(rate.burst).saturating_sub(1).saturating_mul(interval);
    Timestamp::from_micros(spent_until.as_micros().saturating_sub(ahead))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn room(slots: u64) -> KeyRoom {
        KeyRoom { slots: Some(slots), starts: None, kept_for: None }
    }

    fn needs(keys: &[&'static str]) -> Vec<Need<&'static str>> {
        keys.iter().map(|key| Need { key: *key, takes_slot: true }).collect()
    }

    #[test]
    fn a_candidate_takes_all_its_slots_or_none() {
        let mut rooms = HashMap::from([("acme", room(2)), ("m1", room(1))]);
        assert_eq!(admit(TaskId(1), &needs(&["acme", "m1"]), &mut rooms), Ok(()));
        assert_eq!(admit(TaskId(2), &needs(&["acme", "m1"]), &mut rooms), Err("m1"));
        assert_eq!(rooms["acme"].slots, Some(1));
        assert_eq!(admit(TaskId(3), &needs(&["acme", "m2"]), &mut rooms), Ok(()));
        assert_eq!(admit(TaskId(4), &needs(&["acme"]), &mut rooms), Err("acme"));
        let held = [Need { key: "acme", takes_slot: false }];
        assert_eq!(admit(TaskId(5), &held, &mut rooms), Ok(()));
    }

    #[test]
    fn what_is_kept_for_one_task_is_given_to_no_other() {
        let mut rooms = HashMap::from([("acme", KeyRoom { kept_for: Some(TaskId(7)), ..room(1) })]);
        assert_eq!(admit(TaskId(1), &needs(&["acme"]), &mut rooms), Err("acme"));
        assert_eq!(admit(TaskId(7), &needs(&["acme"]), &mut rooms), Ok(()));
        assert_eq!(rooms["acme"], room(0));
    }

    #[test]
    fn a_rate_gives_its_burst_and_then_one_by_one() {
        let rate = Rate { count: 10, per: Duration::from_secs(1), burst: 3 };
        let at = |ms: i64| Timestamp::from_micros(1_000_000 + ms * 1_000);
        assert_eq!(starts(rate, None, at(0)), 3);
        let spent = spend(rate, None, at(0), 3);
        assert_eq!(spent, at(300));
        assert_eq!(starts(rate, Some(spent), at(0)), 0);
        assert_eq!(next_start(rate, spent), at(100));
        assert_eq!(starts(rate, Some(spent), at(99)), 0);
        assert_eq!(starts(rate, Some(spent), at(100)), 1);
        assert_eq!(starts(rate, Some(spent), at(10_000)), 3);
    }
}
