//! The history of a task: everything that its handler reads when it runs from the top again.

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::rule::{Rule, Verdict};
use crate::family::Tally;
use crate::ids::{FanOutId, TaskId};
use crate::json::Json;
use crate::settle::Failure;
use crate::state::State;
use crate::time::Timestamp;

/// Everything that a handler needs to run from the top again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The checkpoints, in the order of writing.
    pub checkpoints: Vec<Checkpoint>,
    /// When each of them was recorded.
    pub recorded_at: Vec<Timestamp>,
    /// The fan-outs that it awaits or awaited, oldest first.
    pub fan_outs: Vec<FanOut>,
    /// The children of those settled fan-outs that have at most [`crate::limits::INLINE_RESULTS_MAX`], by fan-out and index.
    pub results: Vec<ChildResult>,
}

/// A fan-out that a handler awaits, as it is shown and as the handler sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanOut {
    /// Its number.
    pub id: FanOutId,
    /// The task that awaits it.
    pub task: TaskId,
    /// When it is settled.
    pub rule: Rule,
    /// How its children are doing now.
    pub tally: Tally,
    /// How it was settled, if it is.
    pub verdict: Option<Verdict>,
    /// How many children had ended then. The handler hears of these children, in the order in which they ended.
    pub decided_at: Option<u32>,
    /// When it was settled, if it is.
    pub settled_at: Option<Timestamp>,
    /// When it is given up.
    pub deadline: Option<Timestamp>,
    /// When it began.
    pub created_at: Timestamp,
}

/// Children of one task that stand together: those that its handler spawned, or those of a fan-out that it awaits or awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Siblings {
    /// How many children of the task stand before them.
    pub from: u64,
    /// How they are doing now.
    pub tally: Tally,
    /// The fan-out; `None` for spawned children.
    pub fan_out: Option<FanOut>,
}

impl History {
    /// The children of the task in the order in which a store lists them: spawned ones, then fan-out by fan-out. `tally` is of all of
    /// them.
    pub fn siblings(&self, tally: Tally) -> Vec<Siblings> {
        let spawned = self.fan_outs.iter().fold(tally, |left, fan_out| left.without(&fan_out.tally));
        let mut all = Vec::new();
        let mut from = spawned.total;
        if spawned.total > 0 {
            all.push(Siblings { from: 0, tally: spawned, fan_out: None });
        }
        for fan_out in &self.fan_outs {
            all.push(Siblings { from, tally: fan_out.tally, fan_out: Some(fan_out.clone()) });
            from += fan_out.tally.total;
        }
        all
    }
}

/// The state and the result of one child of a fan-out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildResult {
    /// Which fan-out.
    pub fan_out: FanOutId,
    /// Which child of it; 0 is the first.
    pub index: u32,
    /// Its number as a task.
    pub task: TaskId,
    /// Where it is.
    pub state: State,
    /// The how-many-eth child this was to end, under the fan-out's lock; 0 is the first, `None` if it has not ended.
    pub ended: Option<u32>,
    /// Its result.
    pub result: Option<Json>,
    /// Its failure.
    pub failure: Option<Failure>,
    /// Its attempts so far.
    pub attempt: u16,
}

/// The order in which children are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBy {
    /// In the order of the fan-out; children that have not ended are there too.
    Index,
    /// In the order in which they ended; open children are left out.
    Ended,
}
