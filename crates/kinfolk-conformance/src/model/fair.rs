//! Turns: on a queue with a fair key, its values come one after another.

use std::collections::BTreeMap;

use kinfolk_core::{GroupName, QueueName, TaskId};

use super::{Bug, Engine, Row};

impl Engine {
    /// The order in which a claim looks at tasks of a queue, which come in their order of priority, place and number.
    pub(super) fn in_turns(&self, queue: &QueueName, line: Vec<TaskId>) -> Vec<TaskId> {
        let Some(name) = &self.queues[queue].policy.fair else { return line };
        let latest = self.turns.get(queue).filter(|_| !self.has(Bug::TurnsBeginAnew));
        let mut seen: BTreeMap<(i32, String), u64> = BTreeMap::new();
        let mut turns = Vec::new();
        for (nth, id) in line.into_iter().enumerate() {
            let row = &self.tasks[&id];
            // What was held up has had its turn.
            if row.behind.is_some() {
                turns.push(((row.task.priority, None), nth, id));
                continue;
            }
            let value = value(row, name);
            let round = seen.entry((row.task.priority, value.clone())).or_default();
            turns.push(((row.task.priority, Some((*round, latest >= Some(&value), value))), nth, id));
            *round += 1;
        }
        turns.sort_unstable();
        turns.into_iter().map(|(_, _, id)| id).collect()
    }

    /// Remembers whose turn it was last.
    pub(super) fn take_turn(&mut self, queue: &QueueName, taken: &[TaskId]) {
        let Some(name) = self.queues[queue].policy.fair.clone() else { return };
        let last = taken.iter().rfind(|id| self.tasks[id].behind.is_none());
        if let Some(id) = last {
            let value = value(&self.tasks[id], &name);
            self.turns.insert(queue.clone(), value);
        }
    }
}

fn value(row: &Row, name: &GroupName) -> String {
    row.task.keys.get(name).unwrap_or_default().to_owned()
}
