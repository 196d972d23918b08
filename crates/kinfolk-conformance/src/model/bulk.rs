//! One thing done to many tasks, and telling a task to run now.

use kinfolk_core::filter::Filter;
use kinfolk_core::operate::{Action, BulkPage};
use kinfolk_core::store::Answer;
use kinfolk_core::{Gate, State, StoreError, Task, TaskId};

use super::Engine;

impl Engine {
    pub(super) fn run_now(&mut self, id: TaskId) -> Answer<Task> {
        let state = self.row(id)?.task.state;
        if state != State::Pending {
            let remedy = "only a pending task can be told to run now";
            return Err(StoreError::WrongState { task: id, state, remedy });
        }
        let now = self.now;
        let task = &mut self.row_mut(id).task;
        if task.gate == Some(Gate::Time) && task.due > now {
            (task.due, task.position) = (now, task.position.min(now));
        }
        self.task(id).ok_or_else(|| StoreError::not_found("task", id))
    }

    pub(super) fn bulk(&mut self, action: Action, filter: &Filter) -> Answer<BulkPage> {
        let Some(filter) = action.narrowed(filter) else { return Ok(BulkPage::default()) };
        let found = self.list(&filter);
        let mut page = BulkPage { next: found.next, ..BulkPage::default() };
        for id in found.tasks.iter().map(|task| task.id) {
            match action {
                Action::Delete => page.done += self.remove_families(&[id]),
                _ if self.do_one(action, id)? => page.done += 1,
                _ => page.skipped += 1,
            }
        }
        Ok(page)
    }

    fn do_one(&mut self, action: Action, id: TaskId) -> Answer<bool> {
        let refused = |answer: Answer<()>| match answer {
            Err(StoreError::WrongState { .. }) => Ok(false),
            answer => answer.map(|()| true),
        };
        match action {
            Action::Cancel => Ok(refused(self.cancel(id).map(drop))? || self.row(id)?.task.state == State::Cancelled),
            Action::RunNow => refused(self.run_now(id).map(drop)),
            _ => {
                if refused(self.retry(id).map(drop))? || refused(self.retry_family(id).map(drop))? {
                    return Ok(true);
                }
                Ok(!matches!(self.row(id)?.task.state, State::Failed | State::Cancelled))
            }
        }
    }
}
