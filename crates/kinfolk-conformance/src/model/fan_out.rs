//! Fan-outs that handlers await: who has ended in which order, what was decided, and who is resumed because of it.

use std::collections::BTreeMap;

use kinfolk_core::limits::{INLINE_RESULTS_MAX, PAGE_MAX};
use kinfolk_core::store::Answer;
use kinfolk_core::{
    ChildResult, FanOut, FanOutId, Gate, History, InputError, Json, ReadBy, Rule, StepKind, StoreError, TaskId,
    Timestamp, Token, Verdict,
};

use super::{Bug, Engine};

/// A fan-out that a handler awaits or awaited.
#[derive(Clone, Debug)]
pub(super) struct FanRow {
    pub(super) owner: TaskId,
    pub(super) rule: Rule,
    pub(super) verdict: Option<Verdict>,
    pub(super) decided_at: Option<u32>,
    /// How many checkpoints its owner had then.
    pub(super) decided_step: Option<u32>,
    /// Its suspended owner is resumed when this many have ended.
    pub(super) wake_at: Option<u32>,
    pub(super) settled_at: Option<Timestamp>,
    pub(super) deadline: Option<Timestamp>,
    pub(super) cancel_on_failure: bool,
    pub(super) created_at: Timestamp,
    /// Its children in the order in which they ended.
    pub(super) ended: Vec<u32>,
}

impl FanRow {
    pub(super) fn many_ended(&self) -> u32 {
        u32::try_from(self.ended.len()).expect("few enough")
    }

    /// Whether what its owner waits for has come.
    fn has_come(&self) -> bool {
        self.wake_at.is_some_and(|wake_at| self.verdict.is_some() || self.many_ended() >= wake_at)
    }
}

impl Engine {
    /// Takes in what the call at hand has ended: the order of the ends, the verdicts, and the handlers that are resumed.
    pub(super) fn decide_fan_outs(&mut self) {
        for (id, nths) in std::mem::take(&mut self.just_ended) {
            let owner = self.fan_out_mut(id).owner;
            if self.has(Bug::EndedOrderRunsBackwards) {
                self.fan_out_mut(id).ended.extend(nths.iter().rev());
            } else {
                self.fan_out_mut(id).ended.extend(nths);
            }
            let again = self.has(Bug::VerdictIsTakenAgain) && self.fan_outs[&id].verdict != Some(Verdict::TimedOut);
            if self.fan_outs[&id].verdict.is_none() || again {
                let verdict = self.verdict_of(id);
                self.settle_fan_out(id, verdict);
            }
            if self.tasks[&owner].is_suspended() && self.fan_outs[&id].has_come() {
                self.wake(owner);
            }
        }
    }

    fn verdict_of(&self, id: FanOutId) -> Option<Verdict> {
        let rule = self.fan_outs[&id].rule;
        let mut tally = self.count(self.children_in(id));
        if self.has(Bug::CancelledChildIsForgiven) {
            tally.completed += tally.cancelled;
            tally.cancelled = 0;
        }
        match rule {
            Rule::Threshold(parts) if self.has(Bug::ThresholdRoundsDown) => {
                let needed = tally.total * u64::from(parts) / 1_000_000;
                let lost = tally.completed + tally.open() < needed;
                lost.then_some(Verdict::Failed).or((tally.open() == 0).then_some(Verdict::Completed))
            }
            rule => rule.verdict(&tally),
        }
    }

    fn settle_fan_out(&mut self, id: FanOutId, verdict: Option<Verdict>) {
        let steps = self.tasks[&self.fan_outs[&id].owner].task.steps;
        let now = self.now;
        let row = self.fan_out_mut(id);
        if verdict.is_some() {
            row.verdict = verdict;
            row.settled_at = Some(now);
            row.decided_at = Some(row.many_ended());
            row.decided_step = Some(steps);
        }
    }

    /// Whether something that a suspended handler waits for is there, except that its time has come.
    pub(super) fn has_come(&self, id: TaskId) -> bool {
        let row = &self.tasks[&id];
        let signalled = row.kept.iter().any(|(name, _)| row.task.signals.contains(name));
        signalled || self.fan_outs_of(id).into_iter().any(|fan_out| self.fan_outs[&fan_out].has_come())
    }

    /// Resumes a suspended handler before its time.
    pub(super) fn wake(&mut self, id: TaskId) {
        let now = self.now;
        let row = self.row_mut(id);
        if row.task.gate == Some(Gate::Time) {
            row.task.due = now;
        }
        self.resume_suspended(id);
    }

    /// Lets a suspended handler go on: it waits for nothing any more.
    pub(super) fn resume_suspended(&mut self, id: TaskId) {
        let row = self.row_mut(id);
        row.go_pending(Gate::Open);
        row.task.signals.clear();
        self.await_nothing(id);
        if self.has(Bug::ResumptionCostsAnAttempt) {
            self.row_mut(id).task.attempt += 1;
        }
        if self.has(Bug::ResumptionLosesThePosition) {
            self.row_mut(id).task.position = self.now;
        }
        self.open(id);
    }

    /// None of a task's fan-outs resumes it any more.
    pub(super) fn await_nothing(&mut self, id: TaskId) {
        for fan_out in self.fan_outs_of(id) {
            self.fan_out_mut(fan_out).wake_at = None;
        }
    }

    pub(super) fn expire(&mut self, task: TaskId, token: Token, id: FanOutId) -> Answer<Option<FanOut>> {
        if !self.runs_under(task, token) {
            return Ok(None);
        }
        let row = self.fan_outs.get(&id).filter(|row| row.owner == task);
        let row = row.ok_or_else(|| StoreError::not_found("fan-out", id))?;
        let early = self.has(Bug::ExpiryComesEarly);
        let over = row.deadline.is_some_and(|deadline| deadline <= self.now || early);
        if over && row.verdict.is_none() {
            self.settle_fan_out(id, Some(Verdict::TimedOut));
            let open: Vec<_> = self.children_in(id).into_iter().filter(|child| self.is_open(*child)).collect();
            if !self.has(Bug::ExpiryLeavesChildrenRunning) {
                self.cancel_from(&open);
            }
            self.decide_fan_outs();
        }
        Ok(Some(self.fan_out_shown(id)))
    }

    /// Cancels the open children of those fan-outs that end with their owners, which have just failed.
    pub(super) fn cancel_with_owners(&mut self) {
        let owners = std::mem::take(&mut self.just_failed);
        let all = owners.into_iter().flat_map(|owner| self.fan_outs_of(owner));
        let all = all.filter(|id| self.fan_outs[id].cancel_on_failure);
        let open: Vec<_> = all.flat_map(|id| self.children_in(id)).filter(|id| self.is_open(*id)).collect();
        if !self.has(Bug::OwnersFailureIsNotPassedOn) {
            self.cancel_from(&open);
        }
    }

    pub(super) fn history(&self, id: TaskId) -> History {
        let Some(row) = self.tasks.get(&id) else { return History::default() };
        let fan_outs = self.fan_outs_of(id);
        let inline = |id: &&FanOutId| {
            self.fan_outs[id].verdict.is_some()
                && self.children_in(**id).len() <= INLINE_RESULTS_MAX
                && self.step_of(**id).is_some()
        };
        let results = fan_outs.iter().filter(inline).flat_map(|id| self.all_results(*id)).collect();
        History {
            checkpoints: row.checkpoints.clone(),
            recorded_at: row.recorded_at.clone(),
            fan_outs: fan_outs.iter().map(|id| self.fan_out_shown(*id)).collect(),
            results,
        }
    }

    pub(super) fn results(&self, id: FanOutId, by: ReadBy, from: u32, limit: usize) -> Answer<Vec<ChildResult>> {
        if !self.fan_outs.contains_key(&id) {
            return Err(StoreError::not_found("fan-out", id));
        }
        let mut results = self.all_results(id);
        if by == ReadBy::Ended {
            results.retain(|result| result.ended.is_some());
            results.sort_by_key(|result| result.ended);
        }
        Ok(results.into_iter().skip(from as usize).take(limit.min(PAGE_MAX)).collect())
    }

    pub(super) fn ended_at(&self, id: FanOutId, indexes: &[u32]) -> Answer<Vec<Timestamp>> {
        if indexes.len() > PAGE_MAX {
            return Err(InputError::Batch { what: "indexes", given: indexes.len(), max: PAGE_MAX }.into());
        }
        if !self.fan_outs.contains_key(&id) {
            return Err(StoreError::not_found("fan-out", id));
        }
        let by_end: BTreeMap<u32, TaskId> =
            self.all_results(id).into_iter().filter_map(|result| Some((result.ended?, result.task))).collect();
        let ended = indexes.iter().filter_map(|index| by_end.get(index));
        Ok(ended.filter_map(|child| self.tasks[child].task.finished_at).collect())
    }

    fn all_results(&self, id: FanOutId) -> Vec<ChildResult> {
        let ended = |nth| self.fan_outs[&id].ended.iter().position(|ended| *ended == nth);
        let result = |child: TaskId| {
            let row = &self.tasks[&child];
            ChildResult {
                fan_out: id,
                index: row.nth,
                task: child,
                state: row.task.state,
                ended: ended(row.nth).map(|ended| u32::try_from(ended).expect("few enough")),
                result: row.task.result.clone(),
                failure: row.task.failure.clone(),
                attempt: row.task.attempt,
            }
        };
        self.children_in(id).into_iter().map(result).collect()
    }

    fn fan_out_shown(&self, id: FanOutId) -> FanOut {
        let row = &self.fan_outs[&id];
        FanOut {
            id,
            task: row.owner,
            rule: row.rule,
            tally: self.count(self.children_in(id)),
            verdict: row.verdict,
            decided_at: row.decided_at,
            settled_at: row.settled_at,
            deadline: row.deadline,
            created_at: row.created_at,
        }
    }

    /// The fan-outs that a task awaits or awaited, oldest first.
    pub(super) fn fan_outs_of(&self, owner: TaskId) -> Vec<FanOutId> {
        self.fan_outs.iter().filter(|(_, row)| row.owner == owner).map(|(id, _)| *id).collect()
    }

    /// The children of a fan-out, first to last.
    pub(super) fn children_in(&self, id: FanOutId) -> Vec<TaskId> {
        let owner = self.fan_outs[&id].owner;
        self.children_of(owner).into_iter().filter(|child| self.tasks[child].fan_out == Some(id)).collect()
    }

    /// Where in its owner's history a fan-out began; nowhere, if that part of it was taken back.
    pub(super) fn step_of(&self, id: FanOutId) -> Option<u32> {
        let value = number(id);
        let mut steps = self.tasks[&self.fan_outs[&id].owner].checkpoints.iter();
        let step = steps.position(|step| step.kind == StepKind::FanOut && step.value == value)?;
        u32::try_from(step).ok()
    }

    pub(super) fn fan_out_mut(&mut self, id: FanOutId) -> &mut FanRow {
        self.fan_outs.get_mut(&id).expect("the caller has just seen this fan-out")
    }
}

/// The number of a fan-out, as its checkpoint holds it.
pub(super) fn number(id: FanOutId) -> Json {
    Json::of(&id).expect("a number is JSON")
}
