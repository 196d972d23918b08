//! Looking: counts, findings; filters and pages of tasks are in [`crate::filter`].

use serde::{Deserialize, Serialize};

use crate::held::{Held, HeldBy};
use crate::ids::TaskId;
use crate::limits::LOOK_MAX;
use crate::name::{CommandName, QueueName};
use crate::state::State;
use crate::time::Timestamp;

pub use crate::filter::{Filter, Matches, Order, Page, PayloadIs};

/// Counts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// The store's clock.
    pub now: Timestamp,
    /// Tasks by queue, command and state, sorted; a count of zero is left out. Pending and waiting tasks are counted up to
    /// [`LOOK_MAX`] for each command on each queue; running tasks, up to so many in all; completed tasks, among
    /// the newest so many tasks; failed and cancelled tasks, among as many tasks that ended last.
    pub counts: Vec<Count>,
    /// The states in which there may be more tasks than were counted.
    pub more: Vec<State>,
    /// Fan-outs with open children that their tasks wait for; of so many tasks that wait.
    pub fan_outs: u64,
    /// Families that have such a fan-out.
    pub families: u64,
    /// For each queue that has open tasks: since when the task at the head of the line has been there.
    pub oldest_open: Vec<(QueueName, Timestamp)>,
    /// Workers with a live lease.
    pub workers: u64,
}

impl Stats {
    /// How many tasks are in a state, on one queue or on all.
    pub fn tasks_in(&self, queue: Option<&QueueName>, state: State) -> Matches {
        let counts = self.counts.iter().filter(|count| count.state == state);
        let counts = counts.filter(|count| queue.is_none_or(|queue| count.queue == *queue));
        let (tasks, full) = counts
            .fold((0, false), |(tasks, full), count| (tasks + count.tasks, full || count.tasks >= LOOK_MAX as u64));
        let more = self.more.contains(&state) && (full || state.is_terminal() || state == State::Running);
        Matches { tasks, more }
    }

    /// For each queue on which tasks are in line, since when the first of them has stood there. `held`: by what the pending tasks
    /// are held up. The head of a queue that is paused is in no line; where tasks of a queue wait for a worker, one of those may be
    /// its head, so nothing is told of it.
    pub fn first_in_line<'a>(&'a self, held: &[Held]) -> impl Iterator<Item = &'a (QueueName, Timestamp)> {
        self.oldest_open.iter().filter(move |(queue, _)| {
            let own = || held.iter().filter(|held| held.queue == *queue);
            own().any(|held| matches!(held.by, HeldBy::InLine | HeldBy::Turn))
                && !own().any(|held| matches!(held.by, HeldBy::NoWorker { .. }))
        })
    }

    /// Keeps counts to what is counted. Where one goes further, there are more tasks in its state.
    pub fn cut_counts(&mut self) {
        let most = LOOK_MAX as u64;
        for count in self.counts.iter_mut().filter(|count| count.tasks > most) {
            count.tasks = most;
            self.more.push(count.state);
        }
        self.more.sort_unstable();
        self.more.dedup();
    }
}

/// How many tasks of one command on one queue are in one state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Count {
    /// The queue.
    pub queue: QueueName,
    /// The command.
    pub command: CommandName,
    /// The state.
    pub state: State,
    /// How many.
    pub tasks: u64,
}

/// A broken invariant, as `check` finds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Violation {
    /// The invariant, in words.
    pub invariant: String,
    /// The rows that break it.
    pub detail: String,
    /// The task concerned, if one is.
    pub task: Option<TaskId>,
}

/// Something `doctor` looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The subject of the check: schema, clock, connections…
    pub subject: String,
    /// How it is.
    pub health: Health,
    /// The finding, in words.
    pub found: String,
    /// The remedy; empty when all is well.
    pub remedy: String,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Good,
    /// Will become trouble.
    Warning,
    /// Is trouble.
    Bad,
}
