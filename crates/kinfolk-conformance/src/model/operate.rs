//! What an operator may do.

use kinfolk_core::limits::NAME_BYTES_MAX;
use kinfolk_core::operate::Cancelled;
use kinfolk_core::store::Answer;
use kinfolk_core::{Failure, Policy, Queue, QueueName, Schedule, ScheduleName, State, StoreError, TaskId};

use super::{Bug, Engine, Row};

impl Engine {
    /// Asks for the end of a task and of everything below it.
    pub(super) fn cancel(&mut self, id: TaskId) -> Answer<Cancelled> {
        let state = self.row(id)?.task.state;
        if state.is_terminal() {
            return Err(Cancelled::too_late(id, state));
        }
        self.cancel_from(&[id]);
        self.decide_fan_outs();
        let now_ended = self.tasks[&id].task.state.is_terminal();
        Ok(if now_ended { Cancelled::Now } else { Cancelled::Requested })
    }

    /// Asks for the end of these and of everything below them.
    pub(super) fn cancel_from(&mut self, tops: &[TaskId]) {
        let mut members: Vec<_> = tops.iter().flat_map(|top| self.subtree(*top)).collect();
        if self.has(Bug::CancelStopsAtChildren) {
            let near =
                |id: &TaskId| tops.contains(id) || self.tasks[id].task.parent.is_some_and(|id| tops.contains(&id));
            members.retain(near);
        }
        let (mut ended, mut forgotten) = (Vec::new(), Vec::new());
        for member in members {
            let busy = self.tally_of(member).open() > 0;
            self.await_nothing(member);
            let (now, completes) = (self.now, self.has(Bug::CancelledParentCompletes));
            let loses_turn = self.has(Bug::CancelLosesTheTurn);
            let row = self.row_mut(member);
            if row.task.state.is_terminal() {
                continue;
            }
            if let Some(key) = row.behind.clone().filter(|_| loses_turn) {
                forgotten.push(key);
            }
            let (pends, runs) = (row.task.state == State::Pending, row.task.state == State::Running);
            if !pends || busy {
                row.task.cancel_requested_at.get_or_insert(now);
            }
            if !runs && busy {
                row.go_waiting(if completes { State::Completed } else { State::Cancelled }, None, None);
            } else if !runs {
                row.task.outcome = None;
                row.go_terminal(State::Cancelled, Some(Failure::cancelled()), now);
                ended.push(member);
            }
        }
        self.forgotten.extend(forgotten);
        // Only when all of them have ended is it said what follows: nothing of a cancelled family is opened.
        for member in ended.into_iter().rev() {
            self.ended(member);
        }
    }

    pub(super) fn set_queue(&mut self, name: &QueueName, policy: Policy) {
        self.make_queue(name);
        let Some(queue) = self.queues.get_mut(name) else { return };
        let was_limited = queue.policy.family_limit.is_some();
        let limited = policy.family_limit.is_some();
        let turns = queue.policy.fair != policy.fair;
        queue.policy = policy;
        if turns {
            self.turns.remove(name);
        }
        let open_root =
            |row: &&Row| row.task.queue == *name && row.task.parent.is_none() && !row.task.state.is_terminal();
        for id in self.tasks.values().filter(open_root).map(|row| row.task.id).collect::<Vec<_>>() {
            if limited && !was_limited {
                let row = self.row_mut(id);
                row.at_work = row.runs > 0;
            }
            if was_limited && !limited {
                self.open_limited(id);
            }
        }
    }

    pub(super) fn pause(&mut self, name: &QueueName, by: Option<&str>) -> Answer<()> {
        let now = self.now;
        let queue = self.queue_mut(name)?;
        if queue.paused_at.is_none() {
            queue.paused_at = Some(now);
            queue.paused_by = by.map(|by| by[..by.floor_char_boundary(NAME_BYTES_MAX)].to_owned());
        }
        Ok(())
    }

    pub(super) fn resume(&mut self, name: &QueueName) -> Answer<()> {
        let queue = self.queue_mut(name)?;
        queue.paused_at = None;
        queue.paused_by = None;
        Ok(())
    }

    pub(super) fn put_schedule(&mut self, schedule: &Schedule) -> Answer<Schedule> {
        let mut schedule = schedule.clone().armed(self.now)?;
        if let Some(why) = self.rejection(&schedule.task) {
            return Err(why.of_schedule(&schedule.task.command));
        }
        let before = self.schedules.get(&schedule.name);
        schedule.last_at = before.and_then(|before| before.last_at);
        schedule.last_task = before.and_then(|before| before.last_task);
        schedule.declared_at = before.and_then(|before| before.declared_at);
        self.schedules.insert(schedule.name.clone(), schedule.clone());
        Ok(schedule)
    }

    pub(super) fn declare_schedules(&mut self, names: &[ScheduleName]) {
        let now = self.now;
        for schedule in self.schedules.values_mut().filter(|schedule| names.contains(&schedule.name)) {
            schedule.declared_at = Some(now);
        }
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
