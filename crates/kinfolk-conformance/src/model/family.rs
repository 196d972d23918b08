//! The family rule: what the end of a task means for its parent, its siblings and those that wait for its family.

use kinfolk_core::limits::{PAGE_MAX, SWEEP_PAGE};
use kinfolk_core::store::Answer;
use kinfolk_core::{ChildOrder, Failure, Gate, Json, Progress, State, Tally, Task, TaskId, decide};

use super::{Bug, Engine, Row};

impl Engine {
    /// The children of a task: first those that it spawned, then those of the fan-outs that it awaited.
    pub(super) fn children_of(&self, parent: TaskId) -> Vec<TaskId> {
        let rows = self.kids.get(&parent).into_iter().flatten().filter_map(|id| self.tasks.get(id));
        let mut children: Vec<_> = rows.map(|row| (row.fan_out, row.nth, row.task.id)).collect();
        children.sort_unstable();
        children.into_iter().map(|(_, _, id)| id).collect()
    }

    /// The children that a task spawned, first made first.
    pub(super) fn spawned_by(&self, parent: TaskId) -> Vec<TaskId> {
        self.children_of(parent).into_iter().filter(|id| self.tasks[id].fan_out.is_none()).collect()
    }

    /// A task and all its descendants, parents before children.
    pub(super) fn subtree(&self, id: TaskId) -> Vec<TaskId> {
        let mut found = vec![id];
        let mut next = 0;
        while next < found.len() {
            found.extend(self.children_of(found[next]));
            next += 1;
        }
        found
    }

    pub(super) fn tally_of(&self, parent: TaskId) -> Tally {
        self.count(self.children_of(parent))
    }

    pub(super) fn is_open(&self, id: TaskId) -> bool {
        !self.tasks[&id].task.state.is_terminal()
    }

    /// What follows when a task's own work has ended: with children it waits for those that are open.
    pub(super) fn over(&mut self, id: TaskId, own: State, result: Option<Json>, failure: Option<Failure>) {
        if self.children_of(id).is_empty() {
            self.row_mut(id).task.result = result.filter(|_| own == State::Completed);
            return self.end(id, own, failure);
        }
        self.row_mut(id).go_waiting(own, result, failure);
        if own == State::Failed {
            self.just_failed.push(id);
        }
        self.join(id);
    }

    /// Ends a task for good, with all that follows.
    pub(super) fn end(&mut self, id: TaskId, state: State, failure: Option<Failure>) {
        let now = self.now;
        self.row_mut(id).go_terminal(state, failure, now);
        self.ended(id);
    }

    /// What follows from the end of a task: the next one in order opens, a parent without open children settles, and
    /// those that wait for the family hear of a root's end.
    pub(super) fn ended(&mut self, id: TaskId) {
        let row = self.row_mut(id);
        row.at_work = false;
        let (state, parent, fan_out, nth) = (row.task.state, row.task.parent, row.fan_out, row.nth);
        self.follow_ups.remove(&id);
        match parent {
            None => {
                for entry in self.follow_ups.values_mut().filter_map(|entries| entries.get_mut(&id)) {
                    entry.ended = Some(state);
                }
            }
            Some(parent) => {
                match fan_out {
                    Some(fan_out) => drop(self.just_ended.entry(fan_out).or_default().insert(nth)),
                    None => self.go_on_in_order(parent, state),
                }
                self.join(parent);
            }
        }
    }

    /// Lets the next in-order child begin after one has ended in this state, or none of them any more.
    fn go_on_in_order(&mut self, parent: TaskId, ended: State) {
        let order = self.tasks[&parent].order;
        if order == ChildOrder::Together {
            return;
        }
        let children = self.spawned_by(parent);
        let behind: Vec<_> =
            children.iter().copied().filter(|id| self.tasks[id].task.gate == Some(Gate::After)).collect();
        let stop = order == ChildOrder::InOrderUntilFailure && ended == State::Failed;
        if stop && !self.has(Bug::FailureDoesNotStopTheOrder) {
            let now = self.now;
            for id in behind {
                self.row_mut(id).go_terminal(State::Cancelled, Some(Failure::skipped_child()), now);
            }
            return;
        }
        let at_it = children.iter().any(|id| self.is_open(*id) && !behind.contains(id));
        if !at_it {
            let many = if self.has(Bug::InOrderOpensTwo) { 2 } else { 1 };
            behind.into_iter().take(many).for_each(|id| self.open(id));
        }
    }

    /// Settles a parent that waits for nothing any more.
    fn join(&mut self, id: TaskId) {
        let Some(own) = self.tasks[&id].task.outcome.filter(|_| self.tasks[&id].task.state == State::Waiting) else {
            return;
        };
        let mut children = self.count(self.spawned_by(id));
        let awaited = self.tally_of(id).open() - children.open();
        let early = self.has(Bug::JoinMissesAChild) && children.total > 1 && children.open() == 1;
        children.total -= u64::from(early);
        if self.has(Bug::FirstFailureEndsTheParent) && children.failed > 0 {
            children.total = children.ended();
        }
        let state = decide::join(own, &children, awaited);
        let failure = match state {
            State::Waiting => return,
            State::Failed if own == State::Completed => Some(Failure::children(&children)),
            State::Failed => self.tasks[&id].task.failure.clone(),
            State::Cancelled => Some(Failure::cancelled()),
            _ => None,
        };
        if state == own {
            self.row_mut(id).task.outcome = None;
        }
        self.end(id, state, failure);
    }

    /// Opens the gate of a pending task, as far as the time and its family slot allow.
    pub(super) fn open(&mut self, id: TaskId) {
        let task = &self.tasks[&id].task;
        let gate = if task.parent.is_some() && !self.may_work(task.root) {
            Gate::Limit
        } else if task.due > self.now {
            Gate::Time
        } else {
            Gate::Open
        };
        self.row_mut(id).task.gate = Some(gate);
    }

    /// Whether the members of a family may be started: not while it was set going again and its queue has had no room.
    pub(super) fn may_work(&self, root: TaskId) -> bool {
        let row = &self.tasks[&root];
        let limited = self.queues[&row.task.queue].policy.family_limit.is_some();
        let shut_out = limited && !row.task.state.is_terminal() && !row.at_work;
        !shut_out || self.has(Bug::RepairIgnoresTheFamilyLimit)
    }

    pub(super) fn children(&self, parent: TaskId, from: u64, limit: usize) -> Answer<Vec<Task>> {
        self.row(parent)?;
        let children = self.children_of(parent).into_iter();
        let skipped = usize::try_from(from).unwrap_or(usize::MAX);
        Ok(children.skip(skipped).take(limit.min(PAGE_MAX)).filter_map(|id| self.task(id)).collect())
    }

    pub(super) fn tally(&self, parent: TaskId) -> Answer<Tally> {
        self.row(parent)?;
        Ok(self.tally_of(parent))
    }

    pub(super) fn progress(&self, id: TaskId) -> Answer<Progress> {
        let root = self.row(id)?.task.root;
        let mut progress = Progress::default();
        for depth in 1.. {
            let level = self.tasks.values().filter(|row| row.task.root == root && row.task.depth == depth);
            let level = self.count(level.map(|row| row.task.id));
            if level.total == 0 {
                break;
            }
            progress.levels.push(level);
            progress.family = progress.family.plus(level);
        }
        Ok(progress)
    }

    pub(super) fn sweep(&mut self) -> u64 {
        let stuck = |row: &&Row| match row.task.state {
            State::Waiting if row.is_suspended() => self.has_come(row.task.id),
            State::Waiting => self.tally_of(row.task.id).open() == 0,
            _ => false,
        };
        let stuck: Vec<_> = self.tasks.values().filter(stuck).map(|row| row.task.id).take(SWEEP_PAGE).collect();
        for id in &stuck {
            if self.tasks[id].is_suspended() {
                self.wake(*id);
            } else {
                self.join(*id);
            }
        }
        self.decide_fan_outs();
        stuck.len() as u64
    }

    pub(super) fn count(&self, tasks: impl IntoIterator<Item = TaskId>) -> Tally {
        let mut tally = Tally::default();
        for id in tasks {
            tally.total += 1;
            tally.count(self.tasks[&id].task.state);
        }
        tally
    }
}
