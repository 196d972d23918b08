//! What an operator may do.

use kinfolk_core::operate::Cancelled;
use kinfolk_core::store::Answer;
use kinfolk_core::{Failure, Gate, Policy, Queue, QueueName, Schedule, ScheduleName, State, StoreError, Task, TaskId};

use super::Engine;

impl Engine {
    pub(super) fn cancel(&mut self, id: TaskId) -> Answer<Cancelled> {
        let (now, state) = (self.now, self.row(id)?.task.state);
        let row = self.row_mut(id);
        Ok(match state {
            State::Pending => {
                row.go_terminal(State::Cancelled, Some(Failure::cancelled()), now);
                Cancelled::Now
            }
            State::Running | State::Waiting => {
                row.task.cancel_requested_at.get_or_insert(now);
                Cancelled::Requested
            }
            _ => Cancelled::TooLate(state),
        })
    }

    pub(super) fn retry(&mut self, id: TaskId) -> Answer<Task> {
        let (now, state) = (self.now, self.row(id)?.task.state);
        if !matches!(state, State::Failed | State::Cancelled) {
            let remedy = "only failed and cancelled tasks can be retried";
            return Err(StoreError::WrongState { task: id, state, remedy });
        }
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
        self.task(id).ok_or_else(|| StoreError::not_found("task", id))
    }

    pub(super) fn set_queue(&mut self, name: &QueueName, policy: Policy) {
        self.make_queue(name);
        if let Some(queue) = self.queues.get_mut(name) {
            queue.policy = policy;
        }
    }

    pub(super) fn pause(&mut self, name: &QueueName) -> Answer<()> {
        let now = self.now;
        self.queue_mut(name)?.paused_at.get_or_insert(now);
        Ok(())
    }

    pub(super) fn resume(&mut self, name: &QueueName) -> Answer<()> {
        self.queue_mut(name)?.paused_at = None;
        Ok(())
    }

    pub(super) fn put_schedule(&mut self, schedule: &Schedule) -> Answer<Schedule> {
        let mut schedule = schedule.clone().armed(self.now)?;
        if !self.commands.contains_key(&schedule.task.command) {
            return Err(StoreError::not_found("command", &schedule.task.command));
        }
        let before = self.schedules.get(&schedule.name);
        schedule.last_at = before.and_then(|before| before.last_at);
        schedule.last_task = before.and_then(|before| before.last_task);
        self.schedules.insert(schedule.name.clone(), schedule.clone());
        Ok(schedule)
    }

    pub(super) fn pause_schedule(&mut self, name: &ScheduleName, paused: bool) -> Answer<()> {
        let now = self.now;
        let schedule = self.schedules.get_mut(name).ok_or_else(|| StoreError::not_found("schedule", name))?;
        schedule.paused = paused;
        if !paused {
            schedule.next_at = schedule.tick_after(now)?;
        }
        Ok(())
    }

    pub(super) fn remove_schedule(&mut self, name: &ScheduleName) -> Answer<()> {
        self.schedules.remove(name).map(|_| ()).ok_or_else(|| StoreError::not_found("schedule", name))
    }

    fn queue_mut(&mut self, name: &QueueName) -> Answer<&mut Queue> {
        self.queues.get_mut(name).ok_or_else(|| StoreError::not_found("queue", name))
    }
}
