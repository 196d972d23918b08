//! Setting what has failed going again.

use kinfolk_core::store::Answer;
use kinfolk_core::{ChildOrder, FailureKind, Gate, Retried, State, StoreError, Task, TaskId};

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
        if parent_ended || !self.children_of(id).is_empty() {
            return refused("retry its family instead");
        }
        self.start_afresh(id);
        self.task(id).ok_or_else(|| StoreError::not_found("task", id))
    }

    pub(super) fn retry_family(&mut self, id: TaskId) -> Answer<Retried> {
        let root = self.row(id)?.task.root;
        let state = self.tasks[&root].task.state;
        if state != State::Failed {
            let remedy = "only a failed family can be retried";
            return Err(StoreError::WrongState { task: root, state, remedy });
        }
        let mut done = Retried::default();
        self.revive(root, &mut done);
        Ok(done)
    }

    /// Revives a task that failed, or was skipped because another one did, and whatever failed below it.
    fn revive(&mut self, id: TaskId, done: &mut Retried) -> bool {
        let row = &self.tasks[&id];
        let skipped = row.task.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Skipped);
        match (row.task.state, row.task.outcome) {
            (State::Failed, Some(_)) => {
                done.waiting += 1;
                let order = row.order;
                self.wait_again(id);
                self.revive_children(id, order, done);
                true
            }
            (State::Failed, None) => {
                done.pending += 1;
                self.start_afresh(id);
                true
            }
            (State::Cancelled, _) if skipped => {
                done.pending += 1;
                self.start_afresh(id);
                true
            }
            _ => false,
        }
    }

    /// Revives children; in order, only the first of them may start at once.
    fn revive_children(&mut self, parent: TaskId, order: ChildOrder, done: &mut Retried) {
        let mut first = true;
        for id in self.children_of(parent) {
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

    fn wait_again(&mut self, id: TaskId) {
        let forgotten = self.has(Bug::RetryFamilyForgetsTheRoot);
        let row = self.row_mut(id);
        if row.task.depth == 0 && forgotten {
            return;
        }
        row.task.state = State::Waiting;
        row.task.failure = None;
        row.task.finished_at = None;
        row.task.cancel_requested_at = None;
    }

    /// Pending as if it had never run, at its old place.
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
        task.finished_at = None;
        task.cancel_requested_at = None;
        self.open(id);
    }
}
