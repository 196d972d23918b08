//! What must hold of families after every fault.
//!
//! Every task of [`FAMILY`] carries its plan, so that each can be asked whether it has made what it
//! was to make, all of it, once, and whether the journal agrees: nothing here trusts the counts that a store keeps.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use kinfolk_core::{ChildOrder, FailureKind, State, Store, Task, TaskId};

use crate::journal::JournalLine;
use crate::sound::{all_tasks, assert_unbroken, settled_once};
use crate::victim::{FAMILY, FollowUp, LEAF, Plan};

/// All families of a store, and what the journal says of them.
#[derive(Debug)]
pub struct Families {
    tasks: BTreeMap<TaskId, Task>,
    plans: BTreeMap<TaskId, Plan>,
    children: BTreeMap<TaskId, Vec<TaskId>>,
    named: BTreeMap<String, Vec<TaskId>>,
    spans: BTreeMap<TaskId, Span>,
}

/// The first and the last line of the journal about something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    first: usize,
    last: usize,
}

/// Every invariant of the store holds; no parent was stuck; every family has ended, and is whole, and in order.
///
/// `answered`: the roots of which a producer was told.
pub async fn assert_whole(store: &dyn Store, answered: &[TaskId], journal: &[JournalLine]) -> Result<()> {
    assert_unbroken(store).await?;
    let families = Families::new(all_tasks(store).await?, journal)?;
    let lost: Vec<_> = answered.iter().filter(|id| !families.tasks.contains_key(id)).collect();
    ensure!(lost.is_empty(), "{} roots that were answered for are gone: {lost:?}", lost.len());
    families.judge()?;
    for task in families.tasks.values().filter(|task| task.command.as_str() == FAMILY) {
        settled_once(store, task).await?;
    }
    Ok(())
}

impl Families {
    /// Takes all tasks of a store and the lines about them.
    pub fn new(tasks: BTreeMap<TaskId, Task>, journal: &[JournalLine]) -> Result<Self> {
        let (mut plans, mut children, mut named) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for task in tasks.values() {
            if let Some(parent) = task.parent {
                children.entry(parent).or_insert_with(Vec::new).push(task.id);
            }
            if task.command.as_str() == FAMILY {
                let plan: Plan = task.payload.to()?;
                named.entry(plan.name.clone()).or_insert_with(Vec::new).push(task.id);
                plans.insert(task.id, plan);
            }
        }
        Ok(Self { tasks, plans, children, named, spans: spans(journal) })
    }

    /// Whether every family has ended, and is whole, and in order.
    pub fn judge(&self) -> Result<()> {
        self.tasks.values().try_for_each(|task| self.whole(task).with_context(|| format!("{task:#?}")))
    }

    fn plan(&self, id: TaskId) -> Result<&Plan> {
        self.plans.get(&id).with_context(|| format!("task {id} has no plan"))
    }

    fn children(&self, id: TaskId) -> &[TaskId] {
        self.children.get(&id).map_or(&[], Vec::as_slice)
    }

    /// One task, and what it made.
    fn whole(&self, task: &Task) -> Result<()> {
        ensure!(task.state.is_terminal(), "has not ended");
        if task.command.as_str() != FAMILY {
            return Ok(());
        }
        let plan = self.plan(task.id)?;
        let did_its_work = task.state == State::Completed || task.outcome == Some(State::Completed);
        ensure!(!did_its_work || self.spans.contains_key(&task.id), "did its work without having run");
        self.ended_rightly(task, did_its_work)?;
        self.made_all(task, plan, did_its_work)?;
        self.kept_order(task.id, plan)?;
        if did_its_work {
            plan.follow_ups.iter().try_for_each(|follow_up| self.followed(task.root, follow_up))?;
        }
        Ok(())
    }

    /// It ended as its own work and its children say, and not before them.
    fn ended_rightly(&self, task: &Task, did_its_work: bool) -> Result<()> {
        let children: Vec<_> = self.children(task.id).iter().map(|child| &self.tasks[child]).collect();
        for child in &children {
            ensure!(child.finished_at <= task.finished_at, "ended before its child {}: {child:#?}", child.id);
        }
        let kind = task.failure.as_ref().map(|failure| failure.kind);
        let a_child_failed = children.iter().any(|child| child.state == State::Failed);
        match task.state {
            State::Completed => ensure!(!a_child_failed, "completed, though a child failed"),
            State::Failed if did_its_work => {
                ensure!(a_child_failed && kind == Some(FailureKind::Children), "failed, though no child did");
            }
            State::Failed => {
                let may = self.plan(task.id)?.broken || kind == Some(FailureKind::Poison);
                ensure!(may, "failed against the plan");
            }
            _ => {
                let has_reason = matches!(kind, Some(FailureKind::Cancelled | FailureKind::Skipped));
                ensure!(has_reason, "cancelled without reason");
            }
        }
        Ok(())
    }

    /// Its children are those of its plan, and those that its children added; each of them once.
    fn made_all(&self, task: &Task, plan: &Plan, did_its_work: bool) -> Result<()> {
        let mut planned = BTreeSet::new();
        let mut leaves = 0;
        if did_its_work {
            planned.extend(plan.children.iter().map(|child| &child.name));
            leaves = plan.leaves;
        }
        let mut found = BTreeSet::new();
        let mut found_leaves = 0;
        for child in self.children(task.id) {
            let child = &self.tasks[child];
            ensure!(child.root == task.root && child.depth == task.depth + 1, "a child in the wrong place: {child:#?}");
            if child.command.as_str() == LEAF {
                found_leaves += 1;
                continue;
            }
            let its = self.plan(child.id)?;
            ensure!(found.insert(&its.name), "{} was made twice", its.name);
            if child.state == State::Completed || child.outcome == Some(State::Completed) {
                planned.extend(its.siblings.iter().map(|sibling| &sibling.name));
            }
        }
        let was_cancelled = task.state == State::Cancelled;
        ensure!(was_cancelled || planned == found, "its children are {found:?}, not {planned:?}");
        ensure!(was_cancelled || leaves == found_leaves, "it has {found_leaves} leaves, not {leaves}");
        Ok(())
    }

    /// The families of its children did not overlap, if they were to run in order.
    fn kept_order(&self, id: TaskId, plan: &Plan) -> Result<()> {
        let children = self.children(id);
        // Broken ones are mended and run again, after those that stand behind them.
        if plan.order == ChildOrder::Together || children.iter().any(|child| self.plans[child].broken) {
            return Ok(());
        }
        let mut before = None;
        for child in children {
            let Some(span) = self.family_span(*child) else { continue };
            ensure!(before.is_none_or(|last| last < span.first), "child {child} did not wait for its turn");
            before = Some(span.last);
        }
        Ok(())
    }

    /// The follow-up of this family ran once, after the family.
    fn followed(&self, root: TaskId, follow_up: &FollowUp) -> Result<()> {
        let name = &follow_up.plan.name;
        let made = self.named.get(name).map_or(&[][..], Vec::as_slice);
        ensure!(!made.is_empty(), "{name} was not made");
        ensure!(made.len() == 1 || follow_up.key.is_some(), "{name} was made {} times", made.len());
        let skipped = follow_up.when_completed && self.tasks[&root].state != State::Completed;
        let runs: Vec<Span> = made.iter().filter_map(|task| self.spans.get(task).copied()).collect();
        let family = self.family_span(root).context("a family that never ran")?;
        if follow_up.key.is_some() {
            ensure!(runs.iter().any(|run| family.last < run.first), "no {name} ran after the family of {root}");
        } else if skipped {
            ensure!(runs.is_empty(), "{name} ran though its family did not complete");
        } else {
            ensure!(runs.iter().all(|run| family.last < run.first), "{name} ran before the family of {root} had ended");
            ensure!(runs.len() == 1, "{name} did not run");
        }
        Ok(())
    }

    /// From the first line about a task or a descendant of it to the last.
    fn family_span(&self, id: TaskId) -> Option<Span> {
        let own = self.spans.get(&id).copied();
        let spans = self.children(id).iter().filter_map(|child| self.family_span(*child)).chain(own);
        spans.reduce(|one, other| Span { first: one.first.min(other.first), last: one.last.max(other.last) })
    }
}

fn spans(journal: &[JournalLine]) -> BTreeMap<TaskId, Span> {
    let mut spans: BTreeMap<TaskId, Span> = BTreeMap::new();
    for (index, entry) in journal.iter().enumerate().filter_map(|(index, line)| Some((index, line.entry()?))) {
        spans.entry(entry.task).or_insert(Span { first: index, last: index }).last = index;
    }
    spans
}
