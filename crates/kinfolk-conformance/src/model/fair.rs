//! Turns: on a queue with a fair key, its values come one after another.

use kinfolk_core::{GroupName, QueueName, TaskId};

use super::{Bug, Engine, Row};

impl Engine {
    /// The next task that a claim looks at, taken out of its line, which is in the order of priority, position and number. A
    /// task without room in its lane, or a suspect that the worker may not take, is passed over, and its value keeps its turn. `turn`: the value of the last one.
    pub(super) fn next_in_line(
        &self,
        queue: &QueueName,
        line: &mut Vec<TaskId>,
        turn: &mut Option<String>,
        has_room: impl Fn(&Row) -> bool,
    ) -> Option<TaskId> {
        let mut open = line.iter().enumerate().filter(|(_, id)| has_room(&self.tasks[id]));
        let Some(name) = &self.queues[queue].policy.fair else {
            let nth = open.next()?.0;
            return Some(line.remove(nth));
        };
        let order = |id: &TaskId| {
            let row = &self.tasks[id];
            // What was held up has had its turn.
            let turn = row.behind.is_none().then(|| {
                let value = value(row, name);
                (turn.as_ref() >= Some(&value), value)
            });
            (row.task.priority, turn)
        };
        let (nth, id) = open.min_by_key(|(nth, id)| (order(id), *nth))?;
        if let (_, Some((_, value))) = order(id) {
            *turn = Some(value);
        }
        Some(line.remove(nth))
    }

    /// Whose turn it was last.
    pub(super) fn latest_turn(&self, queue: &QueueName) -> Option<String> {
        self.turns.get(queue).filter(|_| !self.has(Bug::TurnsBeginAnew)).cloned()
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
