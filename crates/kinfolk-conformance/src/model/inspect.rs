//! What anyone may look at.

use std::collections::BTreeMap;

use kinfolk_core::inspect::{Count, Filter, Page, Stats, Violation};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{Gate, QueueName, State, Tally, Task, TaskId, Timestamp};

use super::{Engine, Row};

impl Engine {
    pub(super) fn task(&self, id: TaskId) -> Option<Task> {
        self.tasks.get(&id).map(|row| self.shown(row))
    }

    pub(super) fn list(&self, filter: &Filter) -> Page {
        let matches = |row: &&Row| {
            (filter.states.is_empty() || filter.states.contains(&row.task.state))
                && filter.command.as_ref().is_none_or(|command| row.task.command == *command)
                && filter.queue.as_ref().is_none_or(|queue| row.task.queue == *queue)
                && filter.before.is_none_or(|before| row.task.id < before)
                && filter
                    .unique_key
                    .as_ref()
                    .is_none_or(|key| row.unique.as_ref().is_some_and(|unique| unique.key == *key))
        };
        let limit = filter.limit.clamp(1, PAGE_MAX);
        let mut tasks: Vec<_> = self.tasks.values().rev().filter(matches).take(limit + 1).collect();
        let more = tasks.len() > limit;
        tasks.truncate(limit);
        let next = tasks.last().filter(|_| more).map(|row| row.task.id);
        Page { tasks: tasks.into_iter().map(|row| self.shown(row)).collect(), next }
    }

    pub(super) fn stats(&self) -> Stats {
        let mut counts = BTreeMap::new();
        let mut heads: BTreeMap<QueueName, (i32, Timestamp)> = BTreeMap::new();
        for Row { task, .. } in self.tasks.values() {
            *counts.entry((task.queue.clone(), task.command.clone(), task.state)).or_insert(0) += 1;
            if task.gate == Some(Gate::Open) {
                let mine = (task.priority, task.place);
                let head = heads.entry(task.queue.clone()).or_insert(mine);
                *head = mine.min(*head);
            }
        }
        let count = |((queue, command, state), tasks)| Count { queue, command, state, tasks };
        Stats {
            now: self.now,
            counts: counts.into_iter().map(count).collect(),
            oldest_open: heads.into_iter().map(|(queue, (_, place))| (queue, place)).collect(),
            workers: self.workers.values().filter(|worker| worker.lease_until >= self.now).count() as u64,
        }
    }

    pub(super) fn workers_shown(&self) -> Vec<WorkerView> {
        let mut shown: Vec<_> = self
            .workers
            .values()
            .map(|row| WorkerView {
                id: row.spec.id,
                name: row.spec.name.clone(),
                queues: row.spec.queues.clone(),
                commands: row.spec.commands.clone(),
                started_at: row.started_at,
                lease_until: row.lease_until,
                running: self.running_on(row.spec.id).len() as u64,
            })
            .collect();
        shown.sort_by_key(|worker| (worker.started_at, worker.id));
        shown
    }

    pub(super) fn check(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut parents: BTreeMap<TaskId, Tally> = BTreeMap::new();
        for Row { task, .. } in self.tasks.values() {
            if let Some(parent) = task.parent {
                let tally = parents.entry(parent).or_default();
                tally.total += 1;
                tally.count(task.state);
            }
        }
        for row in self.tasks.values() {
            let task = &row.task;
            let mut must = |holds: bool, invariant: &str| {
                if !holds {
                    let detail = format!("task {} is {}", task.id, task.state);
                    found.push(Violation { invariant: invariant.to_owned(), detail, task: Some(task.id) });
                }
            };
            let (pending, running) = (task.state == State::Pending, task.state == State::Running);
            let suspended = row.is_suspended();
            must(!pending || task.gate.is_some(), "pending tasks have a gate");
            must(
                task.gate.is_none() || pending || suspended && task.gate == Some(Gate::Time),
                "only pending tasks have a gate, and suspended ones that wait for a time",
            );
            must(task.worker.is_some() == running, "running tasks, and only they, have a worker");
            must(!running || row.token.is_some(), "a running task has a token");
            must(task.finished_at.is_some() == task.state.is_terminal(), "terminal tasks, and only they, have an end");
            must(
                task.worker.is_none_or(|worker| self.workers.contains_key(&worker)),
                "the worker of a running task is registered",
            );
            must(task.attempt <= task.max_attempts, "no task has more attempts than it may");
            let open_children = parents.get(&task.id).is_some_and(|tally| tally.open() > 0);
            let waiting = task.state == State::Waiting;
            must(!waiting || suspended || open_children, "a task whose own work has ended waits for open children");
            must(!task.state.is_terminal() || !open_children, "a task that has ended has no open children");
            let awaits = self.fan_outs_of(task.id).iter().any(|id| self.fan_outs[id].wake_at.is_some());
            must(
                !suspended || task.gate.is_some() || !task.signals.is_empty() || awaits,
                "a suspended task waits for something",
            );
            must(suspended || !awaits && task.signals.is_empty(), "only a suspended task awaits");
            must(task.steps as usize == row.checkpoints.len(), "the steps of a task are its checkpoints");
            let parent = task.parent.and_then(|parent| self.tasks.get(&parent));
            must(
                parent.is_none_or(|parent| parent.task.depth + 1 == task.depth),
                "a child is one deeper than its parent",
            );
            let held_up = pending && task.gate == Some(Gate::Limit);
            must(
                row.behind.as_ref().is_none_or(|(group, _)| held_up && self.groups.contains_key(group)),
                "what waits behind a key is held up by a group that there is",
            );
            must(!row.at_work || task.parent.is_none() && !task.state.is_terminal(), "only an open root is at work");
        }
        for (id, row) in &self.fan_outs {
            let tally = self.count(self.children_in(*id));
            let sound = tally.ended() == u64::from(row.many_ended())
                && row.verdict.is_some() == row.decided_at.is_some()
                && row.verdict.is_some() == row.decided_step.is_some();
            if !sound {
                let detail = format!("fan-out {id} of task {}", row.owner);
                let invariant = "the order of ends is whole, and a verdict says when it was found".to_owned();
                found.push(Violation { invariant, detail, task: Some(row.owner) });
            }
        }
        found
    }

    fn shown(&self, row: &Row) -> Task {
        let held = row.unique.as_ref().filter(|_| row.holds_key(self.now, self.bug));
        Task { unique_key: held.map(|unique| unique.key.clone()), ..row.task.clone() }
    }
}
