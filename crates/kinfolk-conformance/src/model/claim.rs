//! Taking tasks to run: what is due opens, families get their slots, and the line is walked along.

use std::collections::HashMap;

use kinfolk_core::admit::Need;
use kinfolk_core::limits::{CLAIM_BATCH_MAX, SWEEP_PAGE};
use kinfolk_core::store::Answer;
use kinfolk_core::{Claim, Claimed, ClaimedTask, Gate, QueueName, State, TaskId, UniqueScope};

use super::group::KeyOf;
use super::{Bug, Engine, Row};

impl Engine {
    pub(super) fn claim(&mut self, claim: &Claim) -> Answer<Claimed> {
        self.worker(claim.worker)?;
        if claim.repeated {
            let taken = self.line(|row| row.task.worker == Some(claim.worker) && row.token == Some(claim.token));
            if !taken.is_empty() {
                return Ok(self.claimed(&taken, claim));
            }
        }
        let Some(queue) = self.queues.get(&claim.queue) else { return Ok(Claimed::default()) };
        let paused = queue.paused_at.is_some() && !self.has(Bug::PauseIsIgnored);
        if paused || claim.commands.is_empty() {
            return Ok(Claimed::default());
        }
        self.open_due(claim);
        self.open_follow_ups(&claim.queue, SWEEP_PAGE);
        self.admit(&claim.queue);
        let picked = self.pick(claim);
        let taken: Vec<_> = picked.iter().map(|(id, _)| *id).collect();
        self.take_turn(&claim.queue, &taken);
        for (id, needs) in picked {
            self.take_slots(id, needs);
            self.start(id, claim);
            self.tell_statuses(self.tasks[&id].task.command.clone());
        }
        Ok(self.claimed(&taken, claim))
    }

    /// Walks along the line and finds what there is room for. What has none under a key waits behind it.
    fn pick(&mut self, claim: &Claim) -> Vec<(TaskId, Vec<Need<KeyOf>>)> {
        let mine = |row: &Row| {
            (row.task.gate == Some(Gate::Open) || row.behind.is_some())
                && row.task.queue == claim.queue
                && claim.commands.contains(&row.task.command)
        };
        let mut suspects = usize::from(!self.running_on(claim.worker).iter().any(|id| self.tasks[id].task.suspect));
        if self.has(Bug::SuspectsComeTogether) {
            suspects = usize::MAX;
        }
        let mut families = self.room_for_families(&claim.queue);
        let mut children = self.room_for_children(&claim.queue);
        let (mut taken, mut blocked) = (Vec::new(), Vec::new());
        let mut rooms = HashMap::new();
        let (mut line, mut turn) = (self.line(mine), self.latest_turn(&claim.queue));
        while taken.len() < claim.limit.min(CLAIM_BATCH_MAX) {
            let has_room = |row: &Row| {
                let in_lane = match row.task.parent {
                    Some(_) => children > 0,
                    None => row.at_work || families > 0,
                };
                in_lane && (suspects > 0 || !row.task.suspect || self.has(Bug::SuspectUsesUpATurn))
            };
            let Some(id) = self.next_in_line(&claim.queue, &mut line, &mut turn, has_room) else { break };
            let row = &self.tasks[&id];
            if row.task.suspect && suspects == 0 {
                continue;
            }
            let needs = self.needs(id);
            if let Err(behind) = self.look_at(id, &needs, &mut rooms) {
                blocked.extend(behind.map(|key| (id, key)));
                continue;
            }
            let child = row.task.parent.is_some();
            suspects -= usize::from(row.task.suspect);
            families -= usize::from(!child && !row.at_work);
            children -= usize::from(child);
            taken.push((id, needs));
        }
        for (id, key) in blocked {
            self.block(id, key);
        }
        taken
    }

    /// Families that a repair has set going again get a family slot before new ones do.
    fn admit(&mut self, queue: &QueueName) {
        let mut room = self.room_for_families(queue);
        for root in self.line(|row| row.task.state == State::Waiting && row.task.parent.is_none()) {
            let row = &self.tasks[&root];
            if room > 0 && row.task.queue == *queue && !self.may_work(root) {
                room -= 1;
                self.row_mut(root).at_work = true;
                self.open_limited(root);
            }
        }
    }

    /// Opens the members of a family that had to wait for its family slot.
    pub(super) fn open_limited(&mut self, root: TaskId) {
        for id in self.subtree(root) {
            if self.tasks[&id].task.gate == Some(Gate::Limit) && self.tasks[&id].behind.is_none() {
                self.open(id);
            }
        }
    }

    fn room_for_families(&self, queue: &QueueName) -> usize {
        let at_work = self.tasks.values().filter(|row| row.at_work && row.task.queue == *queue).count();
        let limit = self.queues[queue].policy.family_limit.filter(|_| !self.has(Bug::FamilyLimitIsIgnored));
        limit.map_or(usize::MAX, |limit| (limit as usize).saturating_sub(at_work))
    }

    fn room_for_children(&self, queue: &QueueName) -> usize {
        let holds = self.has(Bug::WaitingHoldsASlot);
        let busy = |state| state == State::Running || state == State::Waiting && holds;
        let here = self.tasks.values().filter(|row| row.task.parent.is_some() && row.task.queue == *queue);
        let running = here.filter(|row| busy(row.task.state)).count();
        let limit = self.queues[queue].policy.child_limit.filter(|_| !self.has(Bug::ChildLimitIsIgnored));
        limit.map_or(usize::MAX, |limit| (limit as usize).saturating_sub(running))
    }

    /// Tasks that match, in the order in which they are claimed.
    pub(super) fn line(&self, matches: impl Fn(&Row) -> bool) -> Vec<TaskId> {
        let rows = self.tasks.values().filter(|row| matches(row));
        let mut line: Vec<_> = rows.map(|row| (row.task.priority, row.task.position, row.task.id)).collect();
        line.sort_unstable();
        line.into_iter().map(|(_, _, id)| id).collect()
    }

    fn open_due(&mut self, claim: &Claim) {
        if self.has(Bug::DueStaysShut) {
            return;
        }
        let shut =
            |row: &&Row| row.task.gate == Some(Gate::Time) && row.task.queue == claim.queue && row.task.due <= self.now;
        let mut due: Vec<_> = self.tasks.values().filter(shut).map(|row| (row.task.due, row.task.id)).collect();
        due.sort_unstable();
        for (_, id) in due.into_iter().take(SWEEP_PAGE) {
            if self.tasks[&id].is_suspended() {
                self.resume_suspended(id);
            } else {
                self.row_mut(id).task.gate = Some(Gate::Open);
            }
        }
    }

    fn start(&mut self, id: TaskId, claim: &Claim) {
        let now = self.now;
        let limited = self.queues[&claim.queue].policy.family_limit.is_some();
        let admitted = limited && self.tasks[&id].task.parent.is_none() && !self.tasks[&id].at_work;
        let row = self.row_mut(id);
        if matches!(row.unique.as_ref().map(|unique| unique.scope), Some(UniqueScope::Pending)) {
            row.key_given_up = true;
        }
        row.runs += 1;
        row.at_work |= limited && row.task.parent.is_none();
        row.token = Some(claim.token);
        row.task.state = State::Running;
        row.task.gate = None;
        row.behind = None;
        row.failed_tries = 0;
        row.task.attempt += 1;
        row.task.started_at = Some(now);
        row.task.worker = Some(claim.worker);
        row.ran_by = Some(claim.worker);
        if admitted {
            self.open_limited(id);
        }
    }

    fn claimed(&self, taken: &[TaskId], claim: &Claim) -> Claimed {
        let task = |id: &TaskId| {
            let task = &self.tasks[id].task;
            ClaimedTask {
                holds_slots: self.holds_slots(*id),
                keys: task.keys.clone(),
                waited: (self.tasks[id].runs == 1).then(|| task.started_at.unwrap_or(self.now).since(task.due)),
                id: *id,
                token: claim.token,
                command: task.command.clone(),
                payload: task.payload.clone(),
                attempt: task.attempt,
                max_attempts: task.max_attempts,
                timeout: task.timeout,
                trace: task.trace.clone(),
                parent: task.parent,
                root: task.root,
                depth: task.depth,
                steps: task.steps,
            }
        };
        let shut = |row: &&Row| row.task.gate == Some(Gate::Time) && row.task.queue == claim.queue;
        let due = self.tasks.values().filter(shut).map(|row| row.task.due);
        let mine = |row: &&Row| row.task.queue == claim.queue && claim.commands.contains(&row.task.command);
        let behind = self.tasks.values().filter(mine).filter_map(|row| row.behind.as_ref());
        let starts = behind.filter_map(|(group, key)| self.groups[group].until(key, self.now));
        let next_due = due.chain(starts).min();
        Claimed { tasks: taken.iter().map(task).collect(), next_due }
    }
}
