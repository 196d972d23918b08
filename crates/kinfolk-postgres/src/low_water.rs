//! Where the last claim left off, for when it is worth knowing.
//!
//! A claim reads the head of the ready index. While some transaction holds an old snapshot, PostgreSQL can't remove the
//! entries of tasks that were claimed since, and each claim has to step over all of them. A claim says how many entries it
//! stepped over; where they are far more than its tasks explain, the next claims begin behind the last task taken
//! for each command in each lane: a child has the position of its root, long before the roots that are taken now, so a cursor
//! of one lane says nothing of another. The lane of families at work has no cursors: a task that comes back to it is before them.
//!
//! A claim from the cursors may miss a task that has come back to a position before them, came with a better priority, or was made in
//! an older family. So a claim from the very head is made now and then, as often as costs about a twentieth of the time; when
//! a claim from the cursors gave less than it was asked for, sooner, but not so often that it costs more than a quarter: nothing
//! that is open is missed for good, and a nearly empty queue does not spend its time on dead entries.
//!
//! Nothing depends on the cursors being right; they live in this process and are never written anywhere.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kinfolk_core::limits::CLAIM_BATCH_MAX;
use kinfolk_core::{Claim, ClaimedTask, CommandName, QueueName};

use crate::values::Moment;

/// A claim from the head that stepped over more entries than this had to step over dead ones.
const STEPS: u64 = 10_000;
/// The head is looked at again after this many times the time that a look takes.
const HEAD_SHARE: u32 = 20;
/// The same when a claim from the cursors fell short.
const SHORT_SHARE: u32 = 4;

/// Priority, position and number of a task: its place in line.
pub(crate) type Stand = (i32, Moment, i64);

/// The lanes that have cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// Roots that wait for their first claim, or are on a queue without a family limit.
    Top,
    /// Children.
    Child,
}

/// A task that was taken, with its stand; without a lane if that has no cursors.
pub(crate) struct ClaimedAt {
    pub(crate) stand: Stand,
    pub(crate) lane: Option<Lane>,
    /// It was suspended before.
    pub(crate) was_suspended: bool,
    pub(crate) task: ClaimedTask,
}

/// One process's memory of the heads of its queues.
#[derive(Default)]
pub(crate) struct LowWater(Mutex<HashMap<QueueName, Cursors>>);

#[derive(Default)]
struct Cursors {
    last: HashMap<(Lane, CommandName), Stand>,
    /// Until then claims begin at the cursors.
    until: Option<Instant>,
    /// The same when one of them has fallen short.
    until_if_short: Option<Instant>,
}

/// Where a claim is to begin, one entry a command for each lane, as [`Lane::ALL`] has them; empty: at the head.
#[derive(Default)]
pub(crate) struct Low {
    pub(crate) priorities: Vec<Option<i32>>,
    pub(crate) positions: Vec<Option<Moment>>,
    pub(crate) ids: Vec<Option<i64>>,
}

impl LowWater {
    /// Where this claim is to begin.
    pub(crate) fn before(&self, claim: &Claim) -> Low {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(&claim.queue) {
            Some(cursors) if cursors.until.is_some_and(|until| Instant::now() < until) => {
                let groups =
                    || Lane::ALL.iter().flat_map(|lane| claim.commands.iter().map(|name| (*lane, name.clone())));
                let last = || groups().map(|group| cursors.last.get(&group));
                Low {
                    priorities: last().map(|at| at.map(|at| at.0)).collect(),
                    positions: last().map(|at| at.map(|at| at.1)).collect(),
                    ids: last().map(|at| at.map(|at| at.2)).collect(),
                }
            }
            _ => Low::default(),
        }
    }

    /// Learns from a claim: its tasks, in order, and its cost. If it began at cursors and asks to be made again, one from
    /// the head comes sooner.
    pub(crate) fn after(&self, claim: &Claim, low: &Low, taken: &[ClaimedAt], cost: Cost, again: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = taken.iter().filter_map(|one| Some(((one.lane?, one.task.command.clone()), one.stand)));
        if !low.ids.is_empty() {
            if let Some(cursors) = all.get_mut(&claim.queue) {
                cursors.last.extend(last);
                if again {
                    cursors.until = cursors.until_if_short;
                }
            }
        } else if cost.steps > STEPS + steps_of_use(claim) {
            // Where nothing was taken at the head, something may have come back before an older cursor.
            let after = |share| Some(Instant::now() + cost.took * share);
            let cursors =
                Cursors { last: last.collect(), until: after(HEAD_SHARE), until_if_short: after(SHORT_SHARE) };
            all.insert(claim.queue.clone(), cursors);
        } else if !taken.is_empty() {
            // Without that: on a queue whose limits are reached the head is not read, which says nothing of it.
            all.remove(&claim.queue);
        }
    }
}

/// The cost of a claim.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    pub(crate) took: Duration,
    /// Entries of the ready index that it stepped over.
    pub(crate) steps: u64,
}

/// How many entries a claim may step over that it has use for: each task is read at most twice, in two rounds, and some of
/// each command in each lane to see what comes first.
fn steps_of_use(claim: &Claim) -> u64 {
    4 * claim.limit.min(CLAIM_BATCH_MAX) as u64 + 96 * claim.commands.len() as u64
}

impl Lane {
    /// In the order in which the claim function takes their cursors.
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
    use kinfolk_core::{Json, Keys, TaskId, Timestamp, Token, WorkerId};
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

    fn taken(command: &str, id: i64) -> ClaimedAt {
        let task = ClaimedTask {
            steps: 0,
            holds_slots: false,
            waited: None,
            keys: Keys::new(),
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
        ClaimedAt {
            stand: (0, Moment(Timestamp::from_micros(id)), id),
            lane: Some(Lane::Top),
            was_suspended: false,
            task,
        }
    }

    const CHEAP: Cost = Cost { took: Duration::from_secs(2), steps: 200 };
    const DEAR: Cost = Cost { took: Duration::from_secs(2), steps: 20_000 };

    fn dear_claim(low_water: &LowWater, taken: &[ClaimedAt]) {
        let low = low_water.before(&claim());
        assert!(low.ids.is_empty());
        low_water.after(&claim(), &low, taken, DEAR, false);
    }

    #[test]
    fn claims_that_step_over_little_begin_at_the_head_however_long_they_take() {
        let low_water = LowWater::default();
        let low = low_water.before(&claim());
        low_water.after(&claim(), &low, &[taken("a", 1), taken("a", 2)], CHEAP, true);
        assert!(low_water.before(&claim()).ids.is_empty());
    }

    #[test]
    fn after_a_dear_claim_the_next_begins_behind_what_was_taken() {
        let low_water = LowWater::default();
        dear_claim(&low_water, &[taken("a", 1), taken("a", 2)]);
        assert_eq!(low_water.before(&claim()).ids, [Some(2), None, None, None]);
    }

    #[test]
    fn a_queue_that_is_full_says_nothing_of_its_head() {
        let low_water = LowWater::default();
        dear_claim(&low_water, &[taken("a", 1)]);
        low_water.after(&claim(), &Low::default(), &[], CHEAP, false);
        let low = low_water.before(&claim());
        assert_eq!(low.ids, [Some(1), None, None, None]);
        low_water.after(&claim(), &low, &[taken("a", 2)], CHEAP, false);
        assert_eq!(low_water.before(&claim()).ids, [Some(2), None, None, None], "it was not short: it had no room");
    }

    #[test]
    fn a_cursor_of_one_lane_does_not_hide_another() {
        let low_water = LowWater::default();
        let (child, root) = (Lane::from_word("child"), Lane::from_word("root"));
        dear_claim(
            &low_water,
            &[ClaimedAt { lane: child, ..taken("b", 1) }, taken("a", 5), ClaimedAt { lane: root, ..taken("a", 9) }],
        );
        assert_eq!(low_water.before(&claim()).ids, [Some(5), None, None, Some(1)]);
    }

    /// A claim from the head that took so long, and one from its cursors that fell short. Where the next one begins.
    fn after_a_short_claim(took: Duration) -> Vec<Option<i64>> {
        let low_water = LowWater::default();
        let low = low_water.before(&claim());
        low_water.after(&claim(), &low, &[taken("a", 1), taken("b", 2)], Cost { took, ..DEAR }, false);
        let low = Low { ids: vec![Some(1), Some(2), None, None], ..Low::default() };
        low_water.after(&claim(), &low, &[taken("a", 3)], CHEAP, true);
        low_water.before(&claim()).ids
    }

    #[test]
    fn a_claim_from_the_cursors_that_falls_short_is_made_again_from_the_head_when_that_is_cheap() {
        assert_eq!(after_a_short_claim(Duration::ZERO), []);
    }

    #[test]
    fn a_queue_that_is_nearly_empty_does_not_have_each_claim_look_at_a_dear_head() {
        assert_eq!(after_a_short_claim(Duration::from_secs(600)), [Some(3), Some(2), None, None]);
    }
}
