//! The children of one task as a graph shows them: each by itself where they are few, those of one command together where they
//! are many. All of them are counted, at a cost that does not grow with their number.

use std::collections::BTreeMap;

use kinfolk_core::filter::{ByCommand, Filter, Order, Page};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::store::Answer;
use kinfolk_core::{CommandName, Progress, State, Store, StoreError, Tally, Task, TaskId};

use super::Node;

/// Children of one parent and command that are drawn one by one.
const APART_MAX: usize = 6;
/// Children of one parent that are read; more are counted.
const READ_MAX: u64 = 200;
/// Failed ones among many that are named.
const NAMED_MAX: usize = 6;

/// Where the tasks of a family are read from.
pub(crate) trait FamilySource {
    type Fault;

    /// Whether it has every task. From some callers tasks are hidden, and counts of a family have them all the same.
    fn is_whole(&self) -> bool;

    /// How the children of a task are doing.
    async fn tally(&self, parent: TaskId) -> Result<Tally, Self::Fault>;

    /// How the family of a task is doing.
    async fn progress(&self, task: TaskId) -> Result<Progress, Self::Fault>;

    /// A page of tasks.
    async fn list(&self, filter: &Filter) -> Result<Page, Self::Fault>;

    /// How many of the tasks that match each command has.
    async fn count_by_command(&self, filter: &Filter) -> Result<ByCommand, Self::Fault>;
}

impl FamilySource for &dyn Store {
    type Fault = StoreError;

    fn is_whole(&self) -> bool {
        true
    }

    async fn progress(&self, task: TaskId) -> Answer<Progress> {
        kinfolk_core::Inspect::progress(*self, task).await
    }

    async fn tally(&self, parent: TaskId) -> Answer<Tally> {
        kinfolk_core::Inspect::tally(*self, parent).await
    }

    async fn list(&self, filter: &Filter) -> Answer<Page> {
        kinfolk_core::Inspect::list(*self, filter).await
    }

    async fn count_by_command(&self, filter: &Filter) -> Answer<ByCommand> {
        kinfolk_core::Inspect::count_by_command(*self, filter).await
    }
}

/// Children that run one command, by their states.
pub(crate) struct Counted {
    pub(crate) command: CommandName,
    pub(crate) states: BTreeMap<State, u64>,
    /// There may be more: a count ends somewhere, and no other number tells the rest.
    pub(crate) at_least: bool,
}

/// The nodes of all children of a task. Those of a single task may have children of their own.
pub(super) async fn nodes<K: FamilySource>(source: &K, parent: TaskId) -> Result<Vec<Node>, K::Fault> {
    let which = Filter { parent: Some(parent), ..Filter::default() };
    let tally = source.tally(parent).await?;
    nodes_of(source, which, &tally).await
}

/// The nodes of the children that a filter finds. `tally`: how those are doing, all together.
pub(crate) async fn nodes_of<K: FamilySource>(source: &K, which: Filter, tally: &Tally) -> Result<Vec<Node>, K::Fault> {
    let which = Filter { order: Order::Oldest, limit: PAGE_MAX, ..which };
    match tally.total {
        0 => Ok(Vec::new()),
        1..=READ_MAX => Ok(few(&source.list(&which).await?.tasks)),
        _ => many(source, &which, tally).await,
    }
}

/// The same children with one node for each command.
pub(super) fn together(nodes: Vec<Node>) -> Vec<Node> {
    let mut together: Vec<Node> = Vec::new();
    for mut node in nodes {
        if node.failed.is_empty() && node.states.contains_key(&State::Failed) {
            node.failed.push(node.task);
        }
        let Some(one) = together.iter_mut().find(|one| one.command == node.command) else {
            together.push(node);
            continue;
        };
        for (state, tasks) in node.states {
            *one.states.entry(state).or_default() += tasks;
        }
        one.failed.extend(node.failed);
        one.failed.truncate(NAMED_MAX);
        one.at_least |= node.at_least;
    }
    together
}

/// Whether one of several tasks that a node stands for has children.
pub(super) async fn has_children<K: FamilySource>(source: &K, parent: TaskId, node: &Node) -> Result<bool, K::Fault> {
    let command = CommandName::new(&node.command).ok();
    let filter = Filter { parent: Some(parent), command, has_children: Some(true), limit: 1, ..Filter::default() };
    Ok(!source.list(&filter).await?.tasks.is_empty())
}

/// Children that were read.
fn few(children: &[Task]) -> Vec<Node> {
    let mut by_command: Vec<(&CommandName, Vec<&Task>)> = Vec::new();
    for child in children {
        match by_command.iter_mut().find(|(command, _)| **command == child.command) {
            Some((_, alike)) => alike.push(child),
            None => by_command.push((&child.command, vec![child])),
        }
    }
    let drawn = |(_, alike): (_, Vec<&Task>)| match alike.len() {
        0..=APART_MAX => alike.into_iter().map(Node::one).collect(),
        _ => vec![alike_ones(&alike)],
    };
    by_command.into_iter().flat_map(drawn).collect()
}

fn alike_ones(alike: &[&Task]) -> Node {
    let mut node = Node { states: BTreeMap::new(), ..Node::one(alike[0]) };
    for task in alike {
        *node.states.entry(task.state).or_default() += 1;
    }
    let failed = alike.iter().filter(|task| task.state == State::Failed);
    node.failed = failed.map(|task| task.id).take(NAMED_MAX).collect();
    node
}

/// Children that are counted.
async fn many<K: FamilySource>(source: &K, which: &Filter, tally: &Tally) -> Result<Vec<Node>, K::Fault> {
    let mut nodes = Vec::new();
    for Counted { command, states, at_least } in counted(source, which, tally).await? {
        let of_command = Filter { command: Some(command.clone()), limit: 1, ..which.clone() };
        // The last of them may have been deleted since they were counted.
        let Some(first) = source.list(&of_command).await?.tasks.pop() else { continue };
        let failed = named_failures(source, &of_command, &states).await?;
        nodes.push(Node { task: first.id, command: command.to_string(), states, failed, at_least });
    }
    Ok(nodes)
}

/// The first of those that failed.
async fn named_failures<K: FamilySource>(
    source: &K,
    which: &Filter,
    states: &BTreeMap<State, u64>,
) -> Result<Vec<TaskId>, K::Fault> {
    if !states.contains_key(&State::Failed) {
        return Ok(Vec::new());
    }
    let failed = Filter { state: vec![State::Failed], limit: NAMED_MAX, ..which.clone() };
    Ok(source.list(&failed).await?.tasks.iter().map(|task| task.id).collect())
}

/// How many of the children that a filter finds each command has, by state. `tally`: how they are doing, all together. It is
/// exact for ended ones of any number, so where all run one command and none is hidden, it tells what a count leaves out.
pub(crate) async fn counted<K: FamilySource>(
    source: &K,
    which: &Filter,
    tally: &Tally,
) -> Result<Vec<Counted>, K::Fault> {
    let mut by_command: BTreeMap<CommandName, BTreeMap<State, u64>> = BTreeMap::new();
    let mut cut = Vec::new();
    for state in State::ALL {
        if ended(tally, state) == Some(0) {
            continue;
        }
        let found = source.count_by_command(&Filter { state: vec![state], ..which.clone() }).await?;
        if found.more {
            cut.push(state);
        }
        for (command, tasks) in found.counts {
            by_command.entry(command).or_default().insert(state, tasks);
        }
    }
    if by_command.len() == 1
        && source.is_whole()
        && let Some(states) = by_command.values_mut().next()
    {
        fill(states, &mut cut, tally);
    }
    let all = by_command.into_iter();
    Ok(all.map(|(command, states)| Counted { command, states, at_least: !cut.is_empty() }).collect())
}

/// Puts what is known of all children where their counts were cut.
fn fill(states: &mut BTreeMap<State, u64>, cut: &mut Vec<State>, tally: &Tally) {
    for state in cut.extract_if(.., |state| ended(tally, *state).is_some()) {
        states.insert(state, ended(tally, state).unwrap_or_default());
    }
    if let [open] = cut.as_slice() {
        let others = states.iter().filter(|(state, _)| *state != open).map(|(_, tasks)| tasks).sum();
        states.insert(*open, tally.total.saturating_sub(others));
        cut.clear();
    }
}

/// How many have ended in a state; `None` for a state that is no end.
fn ended(tally: &Tally, state: State) -> Option<u64> {
    match state {
        State::Completed => Some(tally.completed),
        State::Failed => Some(tally.failed),
        State::Cancelled => Some(tally.cancelled),
        State::Pending | State::Running | State::Waiting => None,
    }
}
