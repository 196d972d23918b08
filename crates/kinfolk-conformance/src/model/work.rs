//! What a worker may do.

use kinfolk_core::decide::{self, Facts, Next};
use kinfolk_core::limits::{CLAIM_BATCH_MAX, SETTLE_BATCH_MAX, SWEEP_PAGE};
use kinfolk_core::schedule::{Fired, Plan};
use kinfolk_core::store::Answer;
use kinfolk_core::task::Ending;
use kinfolk_core::{
    Claim, Claimed, ClaimedTask, Enqueued, Failure, FailureKind, Gate, Heartbeat, InputError, Outcome, Overlap,
    Recovered, RetryPolicy, Schedule, Settle, Settled, State, StoreError, TaskId, Timestamp, UniqueScope, WorkerId,
    WorkerSpec,
};

use super::{Bug, Engine, Row, WorkerRow, gate_after};

impl Engine {
    pub(super) fn register_worker(&mut self, spec: &WorkerSpec) -> Answer<()> {
        spec.check()?;
        let now = self.now;
        let fresh = WorkerRow { spec: spec.clone(), started_at: now, lease_until: now, steady_since: now };
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

    pub(super) fn leave(&mut self, worker: WorkerId) {
        for id in self.running_on(worker) {
            let next = decide::settle(&self.facts(id), &Outcome::Release);
            self.carry_out(id, &Outcome::Release, &next);
        }
        self.workers.remove(&worker);
    }

    pub(super) fn claim(&mut self, claim: &Claim) -> Answer<Claimed> {
        self.worker(claim.worker)?;
        if claim.repeated {
            let taken = self.line(|row| row.task.worker == Some(claim.worker) && row.token == Some(claim.token));
            if !taken.is_empty() {
                return Ok(self.claimed(&taken, claim));
            }
        }
        let paused = self.queues.get(&claim.queue).is_none_or(|queue| queue.paused_at.is_some());
        if (paused && !self.has(Bug::PauseIsIgnored)) || claim.commands.is_empty() {
            return Ok(Claimed::default());
        }
        self.open_due(claim);
        let mine = |row: &Row| {
            row.task.gate == Some(Gate::Open)
                && row.task.queue == claim.queue
                && claim.commands.contains(&row.task.command)
        };
        let mut suspect_free = !self.running_on(claim.worker).iter().any(|id| self.tasks[id].task.suspect);
        let several = self.has(Bug::SuspectsComeTogether);
        let mut taken = self.line(mine);
        taken.retain(|id| !self.tasks[id].task.suspect || std::mem::replace(&mut suspect_free, several));
        taken.truncate(claim.limit.min(CLAIM_BATCH_MAX));
        for id in &taken {
            self.start(*id, claim);
        }
        Ok(self.claimed(&taken, claim))
    }

    pub(super) fn settle(&mut self, settles: &[Settle]) -> Answer<Vec<Settled>> {
        if settles.len() > SETTLE_BATCH_MAX {
            return Err(InputError::Batch { what: "settles", given: settles.len(), max: SETTLE_BATCH_MAX }.into());
        }
        settles.iter().try_for_each(Settle::check)?;
        Ok(settles.iter().map(|settle| self.settle_one(settle)).collect())
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
            let answer = self.enqueue_one(&schedule.task)?;
            if let Enqueued::Created(id) = answer {
                fired.tasks.push(id);
            }
            schedule.last_task = answer.id().ok().or(schedule.last_task);
        }
        schedule.last_at = plan.ticks.last().copied().or(schedule.last_at);
        schedule.next_at = plan.next_at;
        self.schedules.insert(plan.name.clone(), schedule);
        Ok(fired)
    }

    pub(super) fn prune(&mut self) -> u64 {
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
        let mut gone: Vec<_> =
            self.tasks.values().filter(over).map(|row| (row.task.finished_at, row.task.id)).collect();
        gone.sort_unstable();
        gone.truncate(SWEEP_PAGE);
        for (_, id) in &gone {
            self.tasks.remove(id);
        }
        gone.len() as u64
    }

    /// Tasks that match, in the order in which they are claimed.
    fn line(&self, matches: impl Fn(&Row) -> bool) -> Vec<TaskId> {
        let rows = self.tasks.values().filter(|row| matches(row));
        let mut line: Vec<_> = rows.map(|row| (row.task.priority, row.task.place, row.task.id)).collect();
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
            self.row_mut(id).task.gate = Some(Gate::Open);
        }
    }

    fn start(&mut self, id: TaskId, claim: &Claim) {
        let now = self.now;
        let row = self.row_mut(id);
        if matches!(row.unique.as_ref().map(|unique| unique.scope), Some(UniqueScope::Pending)) {
            row.key_given_up = true;
        }
        row.runs += 1;
        row.token = Some(claim.token);
        row.task.state = State::Running;
        row.task.gate = None;
        row.task.attempt += 1;
        row.task.started_at = Some(now);
        row.task.worker = Some(claim.worker);
    }

    fn claimed(&self, taken: &[TaskId], claim: &Claim) -> Claimed {
        let task = |id: &TaskId| {
            let task = &self.tasks[id].task;
            ClaimedTask {
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
            }
        };
        let shut = |row: &&Row| row.task.gate == Some(Gate::Time) && row.task.queue == claim.queue;
        let next_due = self.tasks.values().filter(shut).map(|row| row.task.due).min();
        Claimed { tasks: taken.iter().map(task).collect(), next_due }
    }

    fn facts(&self, id: TaskId) -> Facts {
        let task = &self.tasks[&id].task;
        let policy = self.commands[&task.command].retry;
        Facts {
            task: id,
            attempt: task.attempt,
            retry: RetryPolicy { max_attempts: task.max_attempts, ..policy },
            cancel_requested: task.cancel_requested_at.is_some() && !self.has(Bug::CompletionBeatsCancel),
            suspect: task.suspect,
            strikes: task.strikes,
        }
    }

    fn settle_one(&mut self, settle: &Settle) -> Settled {
        let Some(row) = self.tasks.get(&settle.task) else {
            return Settled::Stale;
        };
        let state = row.task.state;
        if row.token != Some(settle.token) && !(self.has(Bug::StaleSettleGoesThrough) && state == State::Running) {
            return Settled::Stale;
        }
        if state != State::Running {
            return if self.has(Bug::RepeatIsStale) { Settled::Stale } else { Settled::Repeated(state) };
        }
        let mut next = decide::settle(&self.facts(settle.task), &settle.outcome);
        if self.has(Bug::SnoozeCostsAnAttempt) && matches!(settle.outcome, Outcome::Snooze(_) | Outcome::YieldPlace(_))
        {
            next.attempt += 1;
        }
        self.carry_out(settle.task, &settle.outcome, &next);
        Settled::Recorded(next.state)
    }

    /// Writes down the end of an attempt and moves the task to where it goes next.
    fn carry_out(&mut self, id: TaskId, outcome: &Outcome, next: &Next) {
        let (now, displaced) = (self.now, self.has(Bug::RetryLosesThePlace));
        let row = self.row_mut(id);
        let failure = match outcome {
            Outcome::Failed { failure, .. } => Some(failure.clone()),
            _ => None,
        };
        match (next.state, outcome) {
            (State::Completed, Outcome::Done(result)) => {
                row.record(Ending::Completed, None, now);
                row.go_terminal(State::Completed, None, now);
                row.task.result.clone_from(result);
            }
            (State::Failed, _) => {
                row.record(Ending::Failed, failure.clone(), now);
                row.go_terminal(State::Failed, failure, now);
            }
            (State::Cancelled, _) => {
                row.record(Ending::Cancelled, Some(Failure::cancelled()), now);
                row.go_terminal(State::Cancelled, Some(Failure::cancelled()), now);
            }
            (_, Outcome::Release) => {
                row.record(Ending::Released, None, now);
                row.go_pending(Gate::Open);
            }
            (_, Outcome::Failed { .. }) => {
                row.record(Ending::Retried, failure.clone(), now);
                row.go_pending(gate_after(next.delay));
                row.task.due = now.plus(next.delay);
                row.task.failure = failure;
                if displaced {
                    row.task.place = row.task.due;
                }
            }
            _ => {
                row.record(Ending::Snoozed, None, now);
                row.go_pending(gate_after(next.delay));
                row.task.due = now.plus(next.delay);
            }
        }
        row.take_counts(next);
    }

    /// Moves a task whose worker was lost; the state it goes to.
    fn lose(&mut self, id: TaskId) -> State {
        let (now, regains) = (self.now, self.has(Bug::RecoveryRegainsTheKey));
        let next = decide::recover(&self.facts(id), false);
        let row = self.row_mut(id);
        let lost = Failure::lost(row.task.worker.expect("a running task has a worker"));
        row.record(Ending::Lost, Some(lost.clone()), now);
        match next.verdict {
            Some(FailureKind::Cancelled) => row.go_terminal(next.state, Some(Failure::cancelled()), now),
            Some(_) => row.go_terminal(next.state, Some(Failure::poison()), now),
            None => {
                row.go_pending(Gate::Open);
                row.task.failure = Some(lost);
                row.key_given_up &= !regains;
            }
        }
        row.token = None;
        row.take_counts(&next);
        next.state
    }
}

impl Row {
    fn take_counts(&mut self, next: &Next) {
        self.task.attempt = next.attempt;
        self.task.suspect = next.suspect;
        self.task.strikes = next.strikes;
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
