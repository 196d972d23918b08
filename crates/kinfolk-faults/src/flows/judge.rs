//! What must hold of workflows after every fault: no recorded step ran again, no child was made twice, every run of a
//! handler was answered alike, and every result is what the child returned.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kinfolk_core::durable::Verdict;
use kinfolk_core::inspect::Filter;
use kinfolk_core::{FailureKind, History, Json, Key, State, Store, Task, TaskId};

use super::notes::{Heard, HeardOf, Note, What};
use super::plan::{FLOW, Flow, Op};
use super::play::CallHeard;
use crate::sound::{all_tasks, assert_unbroken, settled_once};

/// All workflows of a store, and what their handlers noted.
#[derive(Clone, Debug)]
pub struct Flows {
    /// All tasks.
    pub tasks: BTreeMap<TaskId, Task>,
    /// What each has recorded.
    pub histories: BTreeMap<TaskId, History>,
    /// What handlers noted, in order.
    pub notes: Vec<Note>,
}

/// Notes and plans, looked up.
struct View<'a> {
    flows: &'a Flows,
    plans: BTreeMap<TaskId, Flow>,
    named: BTreeMap<String, Vec<TaskId>>,
    bodies: BTreeMap<(TaskId, &'a str), Vec<&'a Json>>,
    saw: BTreeMap<(TaskId, &'a str), Vec<&'a Json>>,
}

/// Waits until every task has ended: none is pending, running, waiting or suspended.
pub async fn wait_over(store: &dyn Store, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let states = vec![State::Pending, State::Running, State::Waiting];
        let open = store.list(&Filter { state: states, limit: 20, ..Filter::default() }).await?.tasks;
        if open.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            let last = open.last().context("none")?;
            let (history, sweep) = (store.history(last.id).await?, store.sweep().await?);
            bail!("not over within {limit:?}: {last:#?} with {history:#?}; a sweep finds {sweep}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Every invariant of the store holds, no one was stuck, and every workflow is whole.
///
/// `answered`: the roots of which a producer was told.
pub async fn assert_flows(store: &dyn Store, answered: &[TaskId], notes: Vec<Note>) -> Result<()> {
    assert_unbroken(store).await?;
    let flows = Flows::read(store, notes).await?;
    let lost: Vec<_> = answered.iter().filter(|id| !flows.tasks.contains_key(id)).collect();
    ensure!(lost.is_empty(), "{} roots that were answered for are gone: {lost:?}", lost.len());
    for task in flows.tasks.values().filter(|task| task.command.as_str() == FLOW) {
        settled_once(store, task).await?;
    }
    flows.judge()
}

impl Flows {
    /// Reads all of it.
    pub async fn read(store: &dyn Store, notes: Vec<Note>) -> Result<Self> {
        let tasks = all_tasks(store).await?;
        let mut histories = BTreeMap::new();
        for task in tasks.values().filter(|task| task.steps > 0) {
            let history = store.history(task.id).await?;
            ensure!(history.checkpoints.len() == task.steps as usize, "steps of task {}", task.id);
            histories.insert(task.id, history);
        }
        Ok(Self { tasks, histories, notes })
    }

    /// Whether every workflow is whole.
    pub fn judge(&self) -> Result<()> {
        let view = View::new(self)?;
        for (name, made) in &view.named {
            ensure!(made.len() == 1, "{name} was made {} times: {made:?}", made.len());
        }
        for task in self.tasks.values() {
            view.task(task).with_context(|| format!("{task:#?}"))?;
        }
        Ok(())
    }
}

impl<'a> View<'a> {
    fn new(flows: &'a Flows) -> Result<Self> {
        let (mut plans, mut named) = (BTreeMap::new(), BTreeMap::new());
        for task in flows.tasks.values().filter(|task| task.command.as_str() == FLOW) {
            let plan: Flow = task.payload.to()?;
            named.entry(plan.name.clone()).or_insert_with(Vec::new).push(task.id);
            plans.insert(task.id, plan);
        }
        let (mut bodies, mut saw, mut parts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for Note { task, op, what, .. } in &flows.notes {
            let key = (*task, op.as_str());
            match what {
                What::Begin => {}
                What::Body(value) => bodies.entry(key).or_insert_with(Vec::new).push(value),
                What::Saw(value) => saw.entry(key).or_insert_with(Vec::new).push(value),
                What::Part(nth, value) => {
                    let first = *parts.entry((key, nth)).or_insert(value);
                    let same = first == value;
                    ensure!(same, "result {nth} at {op} of task {task} was {first} in one run, {value} in another");
                }
            }
        }
        Ok(Self { flows, plans, named, bodies, saw })
    }

    fn task(&self, task: &Task) -> Result<()> {
        ensure!(task.state.is_terminal(), "has not ended");
        let Some(plan) = self.plans.get(&task.id) else { return Ok(()) };
        let did_its_work = task.state == State::Completed || task.outcome == Some(State::Completed);
        self.ended_rightly(task, plan)?;
        for (path, op) in plan.each() {
            let saw = self.same(task, &path, op)?;
            let is_missing = did_its_work && saw.is_none() && !matches!(op, Op::Both(..));
            ensure!(!is_missing, "ended without having seen {path}");
            self.op(task, &path, op, saw).with_context(|| format!("at {path}: {op:?}, which saw {saw:?}"))?;
            if let Op::Make { children, follow_up } = op
                && did_its_work
            {
                children.iter().try_for_each(|child| self.child(task, child).map(drop))?;
                follow_up.iter().try_for_each(|follow_up| self.followed(task, follow_up))?;
            }
        }
        self.signals(task, plan)
    }

    /// What the operation answered in every run. A number or a moment is recorded later than it is seen, so a run that was
    /// killed in between may have seen another one; what was seen twice was recorded, and does not change any more.
    fn same(&self, task: &Task, path: &str, op: &Op) -> Result<Option<&'a Json>> {
        let Some(saw) = self.saw.get(&(task.id, path)) else { return Ok(None) };
        let Some(last) = saw.last().copied() else { return Ok(None) };
        let is_loose = matches!(op, Op::Now | Op::Random | Op::Sleep(_));
        let seen_twice = |value: &Json| saw.iter().filter(|other| ***other == *value).count() > 1;
        let other = saw.iter().find(|value| ***value != *last && (!is_loose || seen_twice(value)));
        ensure!(other.is_none(), "{path} of task {} was answered differently: {saw:?}", task.id);
        Ok(Some(last))
    }

    fn op(&self, task: &Task, path: &str, op: &Op, saw: Option<&Json>) -> Result<()> {
        match (op, saw) {
            (Op::Step, saw) => self.step(task, path, saw),
            (Op::Call(flow), Some(saw)) => {
                let (child, heard) = (self.child(task, flow)?, saw.to::<CallHeard>()?);
                ensure!(heard.verdict != Verdict::TimedOut, "timed out without a timeout");
                let outcome = heard.outcome.context("a call without an outcome")?;
                ensure!(outcome.is_ok() == (heard.verdict == Verdict::Completed), "the verdict does not fit");
                self.heard_of(&HeardOf { index: 0, task: child.id, outcome }, child)
            }
            (Op::FanOut { .. } | Op::Stream { .. }, Some(saw)) => self.heard(task, op, &saw.to()?),
            (Op::Pads(count), Some(saw)) => same(saw, &(count, count * 1_000)),
            (Op::Leaves(count), Some(saw)) => same(saw, count),
            _ => Ok(()),
        }
    }

    /// The value that is recorded is the one of the body entered last: a recorded step never runs again.
    fn step(&self, task: &Task, path: &str, saw: Option<&Json>) -> Result<()> {
        let is_it = |key: &Key| key.name == path && key.occurrence == 0;
        let history = self.flows.histories.get(&task.id);
        let checkpoint = history.and_then(|history| history.checkpoints.iter().find(|point| is_it(&point.key)));
        let bodies = self.bodies.get(&(task.id, path)).map_or(&[][..], Vec::as_slice);
        match checkpoint {
            Some(checkpoint) => {
                let last = bodies.last().context("recorded, and its body never ran")?;
                ensure!(**last == checkpoint.value, "ran again after {} was recorded: {bodies:?}", checkpoint.value);
                ensure!(saw.is_none_or(|saw| *saw == checkpoint.value), "recorded as {}", checkpoint.value);
            }
            None => ensure!(saw.is_none(), "seen, and not recorded"),
        }
        Ok(())
    }

    /// The only child of this name, made by this task.
    fn child(&self, task: &Task, flow: &Flow) -> Result<&Task> {
        let made = self.named.get(&flow.name).with_context(|| format!("{} was not made", flow.name))?;
        let child = &self.flows.tasks[&made[0]];
        let fits = child.parent == Some(task.id) && child.root == task.root && child.depth == task.depth + 1;
        ensure!(fits, "{} is in the wrong place: {child:#?}", flow.name);
        ensure!(child.finished_at <= task.finished_at, "ended before its child {}: {child:#?}", child.id);
        Ok(child)
    }

    fn heard_of(&self, heard: &HeardOf, child: &Task) -> Result<()> {
        ensure!(heard.task == child.id, "result {} is of task {}, not {}", heard.index, heard.task, child.id);
        match &heard.outcome {
            Ok(value) => {
                let returned = &self.plans[&child.id].returns;
                ensure!(child.state == State::Completed && value == returned, "heard {value}, not {returned}");
            }
            Err(kind) => {
                let is = child.failure.as_ref().map(|failure| failure.kind);
                ensure!(child.state != State::Completed && is == Some(*kind), "heard {kind:?}, not {is:?}: {child:#?}");
            }
        }
        Ok(())
    }

    /// What was heard of a fan-out is what became of its children, and its verdict is what its rule demands.
    fn heard(&self, task: &Task, op: &Op, heard: &Heard) -> Result<()> {
        let flows = op.awaited();
        let children = flows.iter().map(|flow| self.child(task, flow)).collect::<Result<Vec<_>>>()?;
        let mut heard_before = BTreeSet::new();
        for result in &heard.results {
            ensure!(heard_before.insert(result.index), "heard of {} twice", result.index);
            let child = children.get(result.index as usize).context("a result too many")?;
            self.heard_of(result, child)?;
        }
        let total = flows.len() as u64;
        let good = heard.results.iter().filter(|result| result.outcome.is_ok()).count() as u64;
        let bad = heard.results.len() as u64 - good;
        let needed = op.rule().needed(total);
        let fits = match heard.verdict {
            Verdict::Completed => heard.results.len() as u64 == total && good >= needed,
            Verdict::Failed => bad > 0 && total - bad < needed,
            Verdict::TimedOut => matches!(op, Op::FanOut { timeout_ms: Some(_), .. }),
        };
        ensure!(fits, "its verdict is not that of its rule");
        Ok(())
    }

    /// It ended as its plan and its children say.
    fn ended_rightly(&self, task: &Task, plan: &Flow) -> Result<()> {
        let kind = task.failure.as_ref().map(|failure| failure.kind);
        match task.state {
            State::Completed => {
                ensure!(!plan.fails, "completed against the plan");
                let result = task.result.clone().unwrap_or_else(Json::null);
                ensure!(result == plan.returns, "returned {result}, not {}", plan.returns);
            }
            State::Failed if task.outcome == Some(State::Completed) => {
                let a_child_failed = self
                    .flows
                    .tasks
                    .values()
                    .any(|child| child.parent == Some(task.id) && child.state == State::Failed);
                ensure!(kind == Some(FailureKind::Children) && a_child_failed, "failed, though no child did");
            }
            State::Failed => {
                let planned = task.failure.as_ref().is_some_and(|failure| failure.message.contains("as planned"));
                ensure!(planned || kind == Some(FailureKind::Poison), "failed against the plan");
            }
            _ => ensure!(kind == Some(FailureKind::Cancelled), "cancelled without reason"),
        }
        Ok(())
    }

    /// The follow-up was made once, and ran after the family.
    fn followed(&self, task: &Task, follow_up: &Flow) -> Result<()> {
        let made = self.named.get(&follow_up.name).with_context(|| format!("{} was not made", follow_up.name))?;
        let after = &self.flows.tasks[&made[0]];
        ensure!(after.parent.is_none(), "{} is a child", follow_up.name);
        // The order of the notes is a clock that all processes share.
        let is_of_family = |note: &Note| self.flows.tasks.get(&note.task).is_some_and(|of| of.root == task.root);
        let last = self.flows.notes.iter().rposition(is_of_family);
        let first = self.flows.notes.iter().position(|note| note.task == after.id);
        let in_time = first.is_none_or(|first| last.is_some_and(|last| last < first));
        let root = &self.flows.tasks[&task.root];
        ensure!(in_time, "{} ran before its family had ended: {after:#?} of {root:#?}", follow_up.name);
        Ok(())
    }

    /// Signals of one name were taken in the order in which they were sent, each once.
    fn signals(&self, task: &Task, plan: &Flow) -> Result<()> {
        let mut next: BTreeMap<&str, usize> = BTreeMap::new();
        for (path, op) in plan.each() {
            let (Op::Signal(name, timeout), Some(saw)) = (op, self.same(task, &path, op)?) else { continue };
            let taken: Vec<usize> = saw.to()?;
            ensure!(!taken.is_empty() || timeout.is_some(), "no signal at {path}, and no timeout");
            for value in taken {
                let expected = next.entry(name).or_default();
                ensure!(value == *expected, "signal {value} of {name} at {path}, not {expected}");
                *expected += 1;
            }
        }
        Ok(())
    }
}

fn same(saw: &Json, whole: &impl serde::Serialize) -> Result<()> {
    let whole = Json::of(whole)?;
    ensure!(*saw == whole, "{saw}, not {whole}");
    Ok(())
}
