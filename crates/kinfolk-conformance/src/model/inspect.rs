//! What anyone may look at.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kinfolk_core::cause::{Causes, FailedTask};
use kinfolk_core::filter::{ByCommand, Filter, Matches, Order, Page};
use kinfolk_core::inspect::{Count, Stats, Violation};
use kinfolk_core::limits::{LOOK_MAX, PAGE_MAX, RUNS_SHOWN_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::task::Ending;
use kinfolk_core::worker::WorkerView;
use kinfolk_core::{Attempt, CommandName, Gate, InputError, QueueName, Run, State, Tally, Task, TaskId, Timestamp};

use super::{Engine, Row};

impl Row {
    /// The latest runs of this task, oldest first: those that are written down, and the one that goes on or completed it at
    /// once.
    fn all_runs(&self) -> Vec<Run> {
        let ended = self.attempts.iter().cloned().map(|attempt| Run {
            task: self.task.id,
            run: attempt.run,
            attempt: attempt.attempt,
            started_at: attempt.started_at,
            ended_at: Some(attempt.ended_at),
            worker: attempt.worker,
            ending: Some(attempt.ending),
            failure: attempt.failure,
            waited_for: self.waited_for.get(&attempt.run).cloned(),
        });
        let is_written = self.attempts.last().is_some_and(|last| last.run == self.runs);
        let running = self.task.state == State::Running;
        let last = self.task.started_at.zip(self.ran_by).filter(|_| !is_written).map(|(started_at, worker)| Run {
            task: self.task.id,
            run: self.runs,
            attempt: self.task.attempt,
            started_at,
            ended_at: self.done_at_once.filter(|_| !running),
            worker,
            ending: (!running).then_some(Ending::Completed),
            failure: None,
            waited_for: None,
        });
        let mut all: Vec<_> = ended.chain(last).collect();
        all.drain(..all.len().saturating_sub(RUNS_SHOWN_MAX));
        all
    }
}

impl Engine {
    pub(super) fn task(&self, id: TaskId) -> Option<Task> {
        self.tasks.get(&id).map(|row| self.shown(row))
    }

    pub(super) fn list(&self, filter: &Filter) -> Page {
        let in_page =
            |id| filter.before.is_none_or(|before| id < before) && filter.after.is_none_or(|after| id > after);
        let mut found: Vec<&Row> = self.matching(filter).filter(|row| in_page(row.task.id)).collect();
        if filter.order == Order::Newest {
            found.reverse();
        }
        let more = found.len() > filter.page();
        found.truncate(filter.page());
        let next = found.last().filter(|_| more).map(|row| row.task.id);
        Page { tasks: found.into_iter().map(|row| self.shown(row)).collect(), next }
    }

    pub(super) fn count_matching(&self, filter: &Filter) -> Matches {
        let tasks = self.matching(filter).count();
        Matches { tasks: tasks.min(LOOK_MAX) as u64, more: tasks > LOOK_MAX }
    }

    pub(super) fn count_by_command(&self, filter: &Filter) -> ByCommand {
        let mut counts: BTreeMap<CommandName, u64> = BTreeMap::new();
        for row in self.matching(filter).take(LOOK_MAX) {
            *counts.entry(row.task.command.clone()).or_default() += 1;
        }
        ByCommand { counts: counts.into_iter().collect(), more: self.count_matching(filter).more }
    }

    pub(super) fn failures(&self, span: Duration) -> Causes {
        let since = self.now.minus(span);
        let mut failed: Vec<FailedTask> =
            self.tasks.values().filter_map(|row| failed_since(&row.task, since)).collect();
        failed.sort_by_key(|task| std::cmp::Reverse((task.finished_at, task.id)));
        let more = failed.len() > LOOK_MAX;
        failed.truncate(LOOK_MAX);
        Causes::of(failed, since, self.now, more)
    }

    fn matching<'a>(&'a self, filter: &'a Filter) -> impl Iterator<Item = &'a Row> {
        self.tasks.values().filter(|row| {
            let unique = row.unique.as_ref().map(|unique| unique.key.as_str());
            let has_children = filter.has_children.is_some() && !self.children_of(row.task.id).is_empty();
            filter.matches(&row.task, unique, has_children)
        })
    }

    pub(super) fn stats(&self) -> Stats {
        let mut counts = BTreeMap::new();
        let mut heads: BTreeMap<QueueName, (i32, Timestamp)> = BTreeMap::new();
        let more = self.more_than_counted();
        let newest = self.tasks.keys().rev().nth(LOOK_MAX - 1).copied();
        for Row { task, .. } in self.tasks.values() {
            let is_seen = task.state != State::Completed || newest.is_none_or(|newest| task.id >= newest);
            if is_seen {
                *counts.entry((task.queue.clone(), task.command.clone(), task.state)).or_insert(0) += 1;
            }
            if task.gate == Some(Gate::Open) {
                let mine = (task.priority, task.position);
                let head = heads.entry(task.queue.clone()).or_insert(mine);
                *head = mine.min(*head);
            }
        }
        let (fan_outs, families) = self.waited_for();
        let count = |((queue, command, state), tasks)| Count { queue, command, state, tasks };
        let mut stats = Stats {
            now: self.now,
            counts: counts.into_iter().map(count).collect(),
            oldest_open: heads.into_iter().map(|(queue, (_, position))| (queue, position)).collect(),
            workers: self.workers.values().filter(|worker| worker.lease_until >= self.now).count() as u64,
            more,
            fan_outs,
            families,
        };
        stats.cut_counts();
        stats
    }

    /// The states of which a count does not see all tasks. (What has failed or was cancelled is never that many in a test.)
    fn more_than_counted(&self) -> Vec<State> {
        if self.tasks.len() > LOOK_MAX { vec![State::Completed] } else { Vec::new() }
    }

    /// Fan-outs with open children whose tasks wait, and in how many families.
    fn waited_for(&self) -> (u64, u64) {
        let open = self.tasks.values().filter(|row| !row.task.state.is_terminal());
        let of_waiting = open.filter_map(|row| {
            let parent = &self.tasks.get(&row.task.parent?)?.task;
            (parent.state == State::Waiting).then_some((parent.id, row.fan_out, parent.root))
        });
        let open: BTreeSet<_> = of_waiting.collect();
        let roots: BTreeSet<_> = open.iter().map(|(.., root)| *root).collect();
        (open.len() as u64, roots.len() as u64)
    }

    pub(super) fn workers_shown(&self) -> Vec<WorkerView> {
        let mut shown: Vec<_> = self
            .workers
            .values()
            .map(|row| WorkerView {
                id: row.spec.id,
                name: row.spec.name.clone(),
                version: row.spec.version.clone(),
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
        let label_path = self.commands[&row.task.command].label.clone();
        let first_started_at = row.attempts.first().map(|first| first.started_at).or(row.task.started_at);
        Task { unique_key: held.map(|unique| unique.key.clone()), first_started_at, label_path, ..row.task.clone() }
    }

    pub(super) fn attempts(&self, id: TaskId) -> Vec<Attempt> {
        let all = self.tasks.get(&id).map(|row| row.attempts.clone()).unwrap_or_default();
        all.into_iter().filter(|attempt| attempt.ending != Ending::Suspended).collect()
    }

    pub(super) fn runs(&self, tasks: &[TaskId]) -> Answer<Vec<Run>> {
        if tasks.len() > PAGE_MAX {
            return Err(InputError::Batch { what: "tasks", given: tasks.len(), max: PAGE_MAX }.into());
        }
        let tasks: BTreeSet<_> = tasks.iter().collect();
        Ok(tasks.into_iter().filter_map(|id| self.tasks.get(id)).flat_map(Row::all_runs).collect())
    }
}

fn failed_since(task: &Task, since: Timestamp) -> Option<FailedTask> {
    let (failure, finished_at) = (task.failure.as_ref()?, task.finished_at?);
    (task.state == State::Failed && finished_at >= since).then(|| FailedTask {
        id: task.id,
        command: task.command.clone(),
        finished_at,
        kind: failure.kind,
        message: failure.message.clone(),
    })
}
