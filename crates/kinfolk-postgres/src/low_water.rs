//! Where the last claim left off, for when it is worth knowing.
//!
//! A claim reads the head of the ready index. While some transaction holds an old snapshot, PostgreSQL can't remove the
//! entries of tasks that were claimed since, and each claim has to step over all of them. So claims that are slow, one
//! after another, make the following ones begin behind the last task taken for each command in each lane: a child stands
//! where its root stood, long before the roots that are taken now, so a mark of one lane says nothing of another. The lane
//! of families at work has no marks: what comes back to it stands before them.
//!
//! A claim from the marks may miss what has come back to a place before them, came with a better priority, or was made in
//! an older family. So a claim from the very head is made now and then, as often as costs about a twentieth of the time,
//! and at once when a claim from the marks gave less than it was asked for: nothing that is open is missed for good.
//!
//! Nothing depends on the marks being right; they live in this process and are never written anywhere.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kinfolk_core::{Claim, ClaimedTask, CommandName, QueueName};

use crate::values::Moment;

/// A claim from the head that took longer than this is slow.
const SLOW: Duration = Duration::from_millis(20);
/// So many slow claims in a row make the next ones begin at the marks: a single one may have other reasons.
const SLOW_IN_A_ROW: u32 = 3;
/// The head is looked at again after this many times the time that a look takes.
const HEAD_SHARE: u32 = 20;

/// Priority, place and number of a task: where it stands in line.
pub(crate) type Position = (i32, Moment, i64);

/// The lanes that have marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Roots that wait for their first claim, or stand where nobody counts families.
    Top,
    /// Children.
    Child,
}

/// A task that was taken, and where it stood; without a lane if that has no marks.
pub(crate) struct Taken {
    pub(crate) position: Position,
    pub(crate) lane: Option<Lane>,
    pub(crate) task: ClaimedTask,
}

/// What one process knows of the heads of its queues.
#[derive(Default)]
pub(crate) struct LowWater(Mutex<HashMap<QueueName, Marks>>);

#[derive(Default)]
struct Marks {
    last: HashMap<(Lane, CommandName), Position>,
    slow: u32,
    /// Until then claims begin at the marks.
    until: Option<Instant>,
}

/// Where a claim is to begin, one entry a command for each lane, as [`Lane::ALL`] has them; empty: at the head.
#[derive(Default)]
pub(crate) struct Low {
    pub(crate) priorities: Vec<Option<i32>>,
    pub(crate) places: Vec<Option<Moment>>,
    pub(crate) ids: Vec<Option<i64>>,
}

impl LowWater {
    /// Where this claim is to begin.
    pub(crate) fn before(&self, claim: &Claim) -> Low {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&claim.queue) {
            Some(marks) if marks.until.is_some_and(|until| Instant::now() < until) => {
                let groups =
                    || Lane::ALL.iter().flat_map(|lane| claim.commands.iter().map(|name| (*lane, name.clone())));
                let last = || groups().map(|group| marks.last.get(&group));
                Low {
                    priorities: last().map(|at| at.map(|at| at.0)).collect(),
                    places: last().map(|at| at.map(|at| at.1)).collect(),
                    ids: last().map(|at| at.map(|at| at.2)).collect(),
                }
            }
            _ => Low::default(),
        }
    }

    /// Learns from a claim: what it took, in order, how long that was, and whether it asks to be made `again`. If it began
    /// at marks, the next one then begins at the head.
    pub(crate) fn after(&self, claim: &Claim, low: &Low, taken: &[Taken], took: Duration, again: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = taken.iter().filter_map(|one| Some(((one.lane?, one.task.command.clone()), one.position)));
        if low.ids.is_empty() {
            if took < SLOW {
                // On a queue whose limits are reached the head is not read: that says nothing of it.
                if !taken.is_empty() {
                    all.remove(&claim.queue);
                }
                return;
            }
            let marks = all.entry(claim.queue.clone()).or_default();
            marks.slow += 1;
            if marks.slow >= SLOW_IN_A_ROW {
                marks.last = last.collect();
                marks.until = Some(Instant::now() + took * HEAD_SHARE);
            }
        } else if let Some(marks) = all.get_mut(&claim.queue) {
            marks.last.extend(last);
            if again {
                marks.until = None;
            }
        }
    }
}

impl Lane {
    /// In the order in which the claim function takes their marks.
    const ALL: [Self; 2] = [Self::Top, Self::Child];

    /// Reads the word of the database.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "top" => Some(Self::Top),
            "child" => Some(Self::Child),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinfolk_core::{Json, TaskId, Timestamp, Token, WorkerId};
    use uuid::Uuid;

    fn claim() -> Claim {
        Claim {
            worker: WorkerId(Uuid::from_u128(1)),
            token: Token(Uuid::from_u128(2)),
            queue: QueueName::default(),
            commands: vec![CommandName::new("a").unwrap(), CommandName::new("b").unwrap()],
            limit: 2,
            repeated: false,
        }
    }

    fn taken(command: &str, id: i64) -> Taken {
        let task = ClaimedTask {
            id: TaskId(id),
            parent: None,
            root: TaskId(id),
            depth: 0,
            token: claim().token,
            command: CommandName::new(command).unwrap(),
            payload: Json::null(),
            attempt: 1,
            max_attempts: 1,
            timeout: None,
            trace: None,
        };
        Taken { position: (0, Moment(Timestamp::from_micros(id)), id), lane: Some(Lane::Top), task }
    }

    fn slow_claims(low_water: &LowWater, taken: &[Taken]) {
        for _ in 0..SLOW_IN_A_ROW {
            let low = low_water.before(&claim());
            assert!(low.ids.is_empty());
            low_water.after(&claim(), &low, taken, Duration::from_secs(2), false);
        }
    }

    #[test]
    fn quick_claims_always_begin_at_the_head() {
        let low_water = LowWater::default();
        let low = low_water.before(&claim());
        low_water.after(&claim(), &low, &[taken("a", 1), taken("a", 2)], Duration::from_millis(2), true);
        assert!(low_water.before(&claim()).ids.is_empty());
    }

    #[test]
    fn after_slow_claims_the_next_begins_behind_what_was_taken() {
        let low_water = LowWater::default();
        slow_claims(&low_water, &[taken("a", 1), taken("a", 2)]);
        assert_eq!(low_water.before(&claim()).ids, [Some(2), None, None, None]);
    }

    #[test]
    fn a_queue_that_is_full_says_nothing_of_its_head() {
        let low_water = LowWater::default();
        for _ in 0..SLOW_IN_A_ROW {
            let low = low_water.before(&claim());
            low_water.after(&claim(), &low, &[taken("a", 1)], Duration::from_secs(2), false);
            low_water.after(&claim(), &Low::default(), &[], Duration::from_millis(1), false);
        }
        let low = low_water.before(&claim());
        assert_eq!(low.ids, [Some(1), None, None, None]);
        low_water.after(&claim(), &low, &[taken("a", 2)], Duration::from_millis(1), false);
        assert_eq!(low_water.before(&claim()).ids, [Some(2), None, None, None], "it was not short: it had no room");
    }

    #[test]
    fn a_mark_of_one_lane_does_not_hide_another() {
        let low_water = LowWater::default();
        let (child, root) = (Lane::from_word("child"), Lane::from_word("root"));
        slow_claims(
            &low_water,
            &[Taken { lane: child, ..taken("b", 1) }, taken("a", 5), Taken { lane: root, ..taken("a", 9) }],
        );
        assert_eq!(low_water.before(&claim()).ids, [Some(5), None, None, Some(1)]);
    }

    #[test]
    fn a_claim_from_the_marks_that_falls_short_is_made_again_from_the_head() {
        let low_water = LowWater::default();
        slow_claims(&low_water, &[taken("a", 1), taken("b", 2)]);
        let low = low_water.before(&claim());
        low_water.after(&claim(), &low, &[taken("a", 3)], Duration::from_millis(1), true);
        assert!(low_water.before(&claim()).ids.is_empty());
    }
}
