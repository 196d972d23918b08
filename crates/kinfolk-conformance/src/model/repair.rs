//! Setting going again what failed or was cancelled.

use std::collections::BTreeSet;
use std::time::Duration;

use kinfolk_core::store::Answer;
use kinfolk_core::{ChildOrder, FanOutId, Gate, Retried, State, StepKind, StoreError, Task, TaskId, Verdict};

use super::{Bug, Engine};

impl Engine {
    pub(super) fn retry(&mut self, id: TaskId) -> Answer<Task> {
        let task = &self.row(id)?.task;
        let (state, parent) = (task.state, task.parent);
        let refused = |remedy| Err(StoreError::WrongState { task: id, state, remedy });
        if !matches!(state, State::Failed | State::Cancelled) {
            return refused("only failed and cancelled tasks can be retried");
        }
        let parent_ended = parent.is_some_and(|parent| self.tasks[&parent].task.state.is_terminal());
        let awaited = self.tasks[&id].fan_out.is_some();
        if parent_ended || awaited {
            return refused("retry its family instead");
        }
        self.revive_all(id)?;
        self.task(id).ok_or_else(|| StoreError::not_found("task", id))
    }

    pub(super) fn acquit(&mut self, id: TaskId) -> Answer<Task> {
        let state = self.row(id)?.task.state;
        if state.is_terminal() {
            let remedy = "a task that has ended is no suspect; retry it to run it again";
            return Err(StoreError::WrongState { task: id, state, remedy });
        }
        let (now, keeps) = (self.now, self.has(Bug::AcquittedTaskStaysASuspect));
        let task = &mut self.row_mut(id).task;
        if task.suspect {
            task.suspect = keeps;
            task.strikes = 0;
            if task.gate == Some(Gate::Time) {
                task.gate = Some(Gate::Open);
                task.due = now;
            }
        }
        self.task(id).ok_or_else(|| StoreError::not_found("task", id))
    }

    pub(super) fn retry_family(&mut self, id: TaskId) -> Answer<Retried> {
        let root = self.row(id)?.task.root;
        let state = self.tasks[&root].task.state;
        if !matches!(state, State::Failed | State::Cancelled) {
            let remedy = "only a failed or cancelled family can be retried";
            return Err(StoreError::WrongState { task: root, state, remedy });
        }
        self.revive_all(root)
    }

    /// Revives a task, what is below it, and what follows it. Refuses, and changes nothing, if one of them would wait for nothing,
    /// because retention has removed what could run again.
    fn revive_all(&mut self, id: TaskId) -> Answer<Retried> {
        let before = self.clone();
        let mut done = Retried::default();
        self.revive(id, &mut done);
        let waits = |id: &TaskId| self.tasks[id].task.state == State::Waiting;
        let is_lost = |id: &TaskId| waits(id) && !self.children_of(*id).into_iter().any(|child| self.is_open(child));
        if self.subtree(id).iter().any(is_lost) {
            *self = before;
            let remedy = "its failed tasks have been removed by retention, enqueue it anew";
            return Err(StoreError::WrongState { task: id, state: self.tasks[&id].task.state, remedy });
        }
        self.decide_again(id, &mut done);
        self.follow_again(id);
        Ok(done)
    }

    /// Decides reopened fan-outs in which nothing is open, because retention has removed what could run again: their handlers go
    /// on at once.
    fn decide_again(&mut self, top: TaskId, done: &mut Retried) {
        let suspended: Vec<_> = self.subtree(top).into_iter().filter(|id| self.tasks[id].is_suspended()).collect();
        let is_over = |fan_out: &FanOutId| {
            self.fan_outs[fan_out].wake_at.is_some() && !self.children_in(*fan_out).iter().any(|id| self.is_open(*id))
        };
        let over =
            suspended.iter().flat_map(|id| self.fan_outs_of(*id)).filter(is_over).map(|id| (id, BTreeSet::new()));
        self.just_ended.extend(over.collect::<Vec<_>>());
        self.decide_fan_outs();
        let resumed = suspended.iter().filter(|id| !self.tasks[id].is_suspended()).count() as u64;
        done.pending += resumed;
        done.waiting -= resumed;
    }

    /// Revives a task that failed or was cancelled, and whatever did so below it.
    fn revive(&mut self, id: TaskId, done: &mut Retried) -> bool {
        let row = &self.tasks[&id];
        let has_children = !self.children_of(id).is_empty();
        match (row.task.state, row.task.outcome) {
            (State::Failed, Some(_)) => self.wait_again(id, done),
            (State::Cancelled, _) if has_children && !row.was_suspended => self.wait_again(id, done),
            (State::Failed | State::Cancelled, _) => self.begin_again(id, done),
            _ => return false,
        }
        self.revive_spawned(id, done);
        true
    }

    /// Revives the children that a task spawned; in order, only the first of them may start at once.
    fn revive_spawned(&mut self, parent: TaskId, done: &mut Retried) {
        let order = self.tasks[&parent].order;
        let mut first = true;
        for id in self.spawned_by(parent) {
            if !self.revive(id, done) {
                continue;
            }
            let row = self.row_mut(id);
            if order != ChildOrder::Together && !first && row.task.state == State::Pending {
                row.task.gate = Some(Gate::After);
            }
            first = false;
        }
    }

    /// Lets a parent whose own work is done wait for its children again.
    fn wait_again(&mut self, id: TaskId, done: &mut Retried) {
        done.waiting += 1;
        let forgotten = self.has(Bug::RetryFamilyForgetsTheRoot);
        let row = self.row_mut(id);
        if row.task.depth == 0 && forgotten {
            return;
        }
        row.task.state = State::Waiting;
        row.task.outcome = Some(State::Completed);
        row.task.failure = None;
        row.task.finished_at = None;
        row.task.cancel_requested_at = None;
    }

    /// Lets a task whose own work failed begin again: from the first of its fan-outs that did not end well, if there is
    /// one, and else from what it has recorded.
    fn begin_again(&mut self, id: TaskId, done: &mut Retried) {
        let was_cancelled = self.tasks[&id].task.state == State::Cancelled;
        let bad = |fan_out: &FanOutId| {
            let failed = matches!(self.fan_outs[fan_out].verdict, Some(Verdict::Failed | Verdict::TimedOut));
            failed || was_cancelled && self.count(self.children_in(*fan_out)).cancelled > 0
        };
        let bad: Vec<_> = self.fan_outs_of(id).into_iter().filter(bad).filter(|f| self.step_of(*f).is_some()).collect();
        let cut = bad.iter().filter_map(|fan_out| self.cut(*fan_out)).min();
        self.start_afresh(id);
        let Some(cut) = cut.filter(|_| !self.has(Bug::RepairReplaysTheFailure)) else {
            done.pending += 1;
            return;
        };
        done.waiting += 1;
        let reopened: Vec<_> = bad.into_iter().filter(|f| self.step_of(*f).is_some_and(|step| step < cut)).collect();
        let row = self.row_mut(id);
        // Signals that were taken can't be sent again: they stay.
        let dropped = row.checkpoints.drain(cut as usize..).zip(row.recorded_at.drain(cut as usize..));
        let (taken, then): (Vec<_>, Vec<_>) = dropped.filter(|(step, _)| step.kind == StepKind::Signal).unzip();
        row.checkpoints.extend(taken);
        row.recorded_at.extend(then);
        row.task.steps = u32::try_from(row.checkpoints.len()).expect("few enough");
        row.task.state = State::Waiting;
        row.task.gate = None;
        for fan_out in reopened {
            self.reopen(fan_out, done);
        }
    }

    /// From which checkpoint on the handler's history can't stand when this fan-out is opened again: where it was settled,
    /// or where a stream was taken in before, since the order of ends in which its cursor points changes.
    fn cut(&self, id: FanOutId) -> Option<u32> {
        let row = &self.fan_outs[&id];
        let begun = self.step_of(id)?;
        let steps = (0..).zip(&self.tasks[&row.owner].checkpoints);
        let mut folds = steps.filter(|(seq, step)| *seq > begun && step.kind == StepKind::Fold).map(|(seq, _)| seq);
        folds.next().into_iter().chain(row.decided_step).min()
    }

    fn reopen(&mut self, id: FanOutId, done: &mut Retried) {
        let children = self.children_in(id);
        for child in &children {
            self.revive(*child, done);
        }
        let ended: BTreeSet<_> = children.iter().filter(|child| !self.is_open(**child)).collect();
        let ended: BTreeSet<_> = ended.iter().map(|child| self.tasks[child].nth).collect();
        let row = self.fan_out_mut(id);
        row.ended.retain(|nth| ended.contains(nth));
        row.verdict = None;
        row.settled_at = None;
        row.decided_at = None;
        row.decided_step = None;
        row.deadline = None;
        row.wake_at = u32::try_from(children.len()).ok();
    }

    /// Pending as if it had never run, at its old position.
    fn start_afresh(&mut self, id: TaskId) {
        let now = self.now;
        let row = self.row_mut(id);
        row.go_pending(Gate::Open);
        row.token = None;
        let task = &mut row.task;
        task.due = now;
        task.attempt = 0;
        task.suspect = false;
        task.strikes = 0;
        task.failure = None;
        task.result = None;
        task.started_at = None;
        task.ran_before = Duration::ZERO;
        task.finished_at = None;
        task.cancel_requested_at = None;
        self.open(id);
    }
}
