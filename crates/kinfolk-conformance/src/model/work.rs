//! What a worker may do.

use std::time::Duration;

use kinfolk_core::decide::{self};
use kinfolk_core::limits::{AUDIT_KEPT, ERRORS_KEPT, MINUTES_KEPT, SWEEP_PAGE};
use kinfolk_core::minute::{self, Minute, MinuteRecord};
use kinfolk_core::schedule::{Fired, Plan};
use kinfolk_core::store::Answer;
use kinfolk_core::task::Ending;
use kinfolk_core::{
    Enqueued, Failure, FailureKind, Heartbeat, Outcome, Overlap, Recovered, Schedule, State, StoreError, TaskId,
    Timestamp, WorkerId, WorkerSpec,
};

use super::{Bug, Engine, Row, WorkerRow, gate_after};

impl Engine {
    pub(super) fn register_worker(&mut self, spec: &WorkerSpec) -> Answer<()> {
        spec.check()?;
        let now = self.now;
        let fresh =
            WorkerRow { spec: spec.clone(), started_at: now, lease_until: now, steady_since: now, minutes_recorded: 0 };
        let row = self.workers.entry(spec.id).or_insert(fresh);
        row.spec = spec.clone();
        row.renew(now);
        Ok(())
    }

    pub(super) fn heartbeat(&mut self, worker: WorkerId) -> Answer<Heartbeat> {
        self.worker(worker)?;
        let (now, forgiving) = (self.now, self.has(Bug::GapIsForgiven));
        let row = self.workers.get_mut(&worker).expect("just seen");
        let steady_since = row.steady_since;
        row.renew(now);
        if forgiving {
            row.steady_since = steady_since;
        }
        let asked = |row: &Row| row.task.worker == Some(worker) && row.task.cancel_requested_at.is_some();
        let cancel = self.tasks.values().filter(|row| asked(row));
        Ok(Heartbeat { cancel: cancel.filter_map(|row| Some((row.task.id, row.token?))).collect() })
    }

    pub(super) fn record_minutes(&mut self, worker: WorkerId, number: u64, records: &[MinuteRecord]) -> Answer<()> {
        minute::check(records)?;
        let doubles = self.has(Bug::RepeatedNoteCountsTwice);
        let row = self.workers.get_mut(&worker).ok_or(StoreError::LeaseLost { worker })?;
        if number <= row.minutes_recorded && !doubles {
            return Ok(());
        }
        row.minutes_recorded = number.max(row.minutes_recorded);
        for MinuteRecord { queue, command, figures } in records {
            if !self.queues.contains_key(queue) {
                return Err(StoreError::not_found("queue", queue));
            }
            if !self.commands.contains_key(command) {
                return Err(StoreError::not_found("command", command));
            }
            let key = (Minute::of(self.now), queue.clone(), command.clone());
            let sum = self.minutes.entry(key).or_default();
            *sum = sum.plus(figures);
        }
        Ok(())
    }

    pub(super) fn leave(&mut self, worker: WorkerId) {
        for id in self.running_on(worker) {
            let next = decide::settle(&self.facts(id), &Outcome::Release);
            self.carry_out(id, &Outcome::Release, &next);
        }
        self.workers.remove(&worker);
        self.decide_fan_outs();
    }

    pub(super) fn recover(&mut self, judge: WorkerId) -> Answer<Recovered> {
        let row = self.worker(judge)?;
        let mut done = Recovered::default();
        if self.now > row.lease_until || self.now.since(row.steady_since) < row.spec.lease {
            return Ok(done);
        }
        let lost = self.lost_workers(judge);
        let mut tasks: Vec<_> = lost.iter().flat_map(|worker| self.running_on(*worker)).collect();
        done.more = tasks.len() > SWEEP_PAGE;
        tasks.truncate(SWEEP_PAGE);
        for id in tasks {
            match self.lose(id) {
                State::Failed => done.poisoned += 1,
                State::Cancelled => done.cancelled += 1,
                _ => done.returned += 1,
            }
        }
        self.cancel_with_owners();
        self.decide_fan_outs();
        for worker in lost {
            if self.running_on(worker).is_empty() {
                self.workers.remove(&worker);
                done.workers += 1;
            }
        }
        Ok(done)
    }

    pub(super) fn due_schedules(&self) -> Vec<Schedule> {
        let due = |schedule: &&Schedule| !schedule.paused && schedule.next_at.is_some_and(|next| next <= self.now);
        let mut schedules: Vec<_> = self.schedules.values().filter(due).cloned().collect();
        schedules.sort_by_key(|schedule| schedule.next_at);
        schedules
    }

    pub(super) fn fire(&mut self, plan: &Plan) -> Answer<Fired> {
        let known = self.schedules.get(&plan.name).cloned();
        let mut schedule = known.ok_or_else(|| StoreError::not_found("schedule", &plan.name))?;
        if schedule.paused || schedule.next_at != Some(plan.armed_for) {
            return Ok(Fired { too_late: true, ..Fired::default() });
        }
        let mut fired = Fired::default();
        for _ in &plan.ticks {
            let before = schedule.last_task.and_then(|id| self.tasks.get(&id));
            let overlaps = before.is_some_and(|row| !row.task.state.is_terminal());
            if schedule.overlap == Overlap::Skip && overlaps && !self.has(Bug::OverlapIsIgnored) {
                fired.overlapped += 1;
                continue;
            }
            let answer = self.enqueue_one(&schedule.task, None)?;
            schedule.last_task = answer.id().ok().or(schedule.last_task);
            match answer {
                Enqueued::Created(id) => fired.tasks.push(id),
                Enqueued::Rejected(why) => fired.rejected.push(why),
                Enqueued::Existing(_) | Enqueued::Merged(_) => {}
            }
        }
        schedule.last_at = plan.ticks.last().copied().or(schedule.last_at);
        schedule.next_at = plan.next_at;
        self.schedules.insert(plan.name.clone(), schedule);
        Ok(fired)
    }

    /// Removes one page of the families that are past their root's retention: the longest finished first, the root of each
    /// after all others.
    pub(super) fn prune(&mut self) -> u64 {
        let now = self.now;
        self.audited.retain(|audited| audited.at.plus(AUDIT_KEPT) > now);
        self.errors.retain(|entry| entry.at.plus(ERRORS_KEPT) > now);
        self.minutes.retain(|(at, ..), _| at.plus(MINUTES_KEPT) > now);
        let over = |row: &&Row| {
            let retention = self.queues[&row.task.queue].policy.retention;
            let kept = match row.task.state {
                State::Completed => retention.completed,
                State::Failed => retention.failed,
                State::Cancelled => retention.cancelled,
                _ => None,
            };
            kept.zip(row.task.finished_at).is_some_and(|(kept, finished)| finished.plus(kept) <= self.now)
        };
        let alone = self.has(Bug::ChildIsPrunedAlone);
        let roots = self.tasks.values().filter(over).filter(|row| row.task.parent.is_none() || alone);
        let mut roots: Vec<_> = roots.map(|row| (row.task.finished_at, row.task.id)).collect();
        roots.sort_unstable();
        let roots: Vec<TaskId> = roots.into_iter().map(|(_, root)| root).collect();
        self.remove_families(&roots)
    }

    /// Removes families, no more tasks than a page has, the leaves first. How many went.
    pub(super) fn remove_families(&mut self, roots: &[TaskId]) -> u64 {
        let mut gone = Vec::new();
        for root in roots {
            if gone.len() < SWEEP_PAGE {
                gone.extend(self.subtree(*root).into_iter().rev());
            }
        }
        gone.truncate(SWEEP_PAGE);
        gone.retain(|id| self.tasks.remove(id).is_some());
        self.skipped.retain(|id, _| self.tasks.contains_key(id));
        self.kids.retain(|parent, _| self.tasks.contains_key(parent));
        self.fan_outs.retain(|_, fan_out| self.tasks.contains_key(&fan_out.owner));
        gone.len() as u64
    }

    /// Moves a task whose worker was lost; the state it goes to.
    fn lose(&mut self, id: TaskId) -> State {
        let (now, regains) = (self.now, self.has(Bug::RecoveryRegainsTheKey));
        let mut next = decide::recover(&self.facts(id), false);
        if self.has(Bug::StrikeCostsNoTime) {
            next.delay = Duration::ZERO;
        }
        let row = self.row_mut(id);
        let lost = Failure::lost(row.task.worker.expect("a running task has a worker"));
        row.record(Ending::Lost, Some(lost.clone()), now);
        row.token = None;
        row.take_counts(&next);
        match next.verdict {
            Some(FailureKind::Cancelled) => self.over(id, next.state, None, Some(Failure::cancelled())),
            Some(_) => self.over(id, next.state, None, Some(Failure::poison(next.strikes))),
            None => {
                row.go_pending(gate_after(next.delay));
                if !next.delay.is_zero() {
                    row.task.due = now.plus(next.delay);
                }
                row.task.failure = Some(lost);
                row.key_given_up &= !regains;
            }
        }
        next.state
    }
}

impl WorkerRow {
    fn renew(&mut self, now: Timestamp) {
        if now > self.lease_until {
            self.steady_since = now;
        }
        self.lease_until = now.plus(self.spec.lease);
    }
}
