//! The graph of a family: who made whom, small enough to draw. Children of one parent that run the same command become one node
//! when there are many of them.

mod dot;
mod mermaid;

use std::collections::{BTreeMap, VecDeque};

use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::store::Answer;
use kinfolk_core::{State, Store, StoreError, Task, TaskId};

/// Children of one parent and command that are drawn one by one.
const APART_MAX: usize = 6;
/// Follow-ups of a family that are drawn.
const FOLLOW_UPS_MAX: usize = 20;
/// Children of one parent that are looked at.
const CHILDREN_MAX: usize = 200;
/// Nodes of a graph.
const NODES_MAX: usize = 200;

/// A family as nodes and edges. The first node is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// From a parent to its children, by their places among the nodes.
    pub edges: Vec<(usize, usize)>,
    /// From the root to the follow-ups that its family has made.
    pub after: Vec<(usize, usize)>,
    /// Whether there is more than is drawn.
    pub cut: bool,
}

/// One task, or several children of one parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The task; the first of several.
    pub task: TaskId,
    /// What they run.
    pub command: String,
    /// How many there are in each state.
    pub states: BTreeMap<State, u64>,
}

/// States, by how much they ask for attention.
pub(crate) const LOUDEST: [State; 6] =
    [State::Failed, State::Running, State::Waiting, State::Pending, State::Cancelled, State::Completed];

impl Node {
    /// How many tasks it stands for.
    pub fn tasks(&self) -> u64 {
        self.states.values().sum()
    }

    fn one(task: &Task) -> Self {
        Self { task: task.id, command: task.command.to_string(), states: BTreeMap::from([(task.state, 1)]) }
    }

    /// `pack_item ×300`, and what becomes of them.
    fn words(&self) -> (String, String) {
        if let (1, Some(state)) = (self.tasks(), self.states.keys().next()) {
            return (self.command.clone(), format!("{} {state}", self.task));
        }
        let states: Vec<String> = self.states.iter().map(|(state, tasks)| format!("{tasks} {state}")).collect();
        (format!("{} ×{}", self.command, self.tasks()), states.join(", "))
    }

    /// The state that its colour shows: the one that asks for attention first.
    fn state(&self) -> State {
        LOUDEST.into_iter().find(|state| self.states.contains_key(state)).unwrap_or(State::Pending)
    }
}

/// Where the tasks of a family are read from.
pub(crate) trait FamilySource {
    type Fault;

    /// The children of a task, the first so many, and whether there are more.
    async fn children(&self, parent: TaskId, limit: usize) -> Result<(Vec<Task>, bool), Self::Fault>;

    /// The follow-ups that the family of a root has made, the first so many, and whether there are more.
    async fn follow_ups(&self, root: TaskId, limit: usize) -> Result<(Vec<Task>, bool), Self::Fault>;
}

impl FamilySource for &dyn Store {
    type Fault = StoreError;

    async fn children(&self, parent: TaskId, limit: usize) -> Answer<(Vec<Task>, bool)> {
        let mut children = kinfolk_core::Inspect::children(*self, parent, 0, limit + 1).await?;
        let more = children.len() > limit;
        children.truncate(limit);
        Ok((children, more))
    }

    async fn follow_ups(&self, root: TaskId, limit: usize) -> Answer<(Vec<Task>, bool)> {
        let page = self.list(&made_by(root, limit)).await?;
        Ok((page.tasks, page.next.is_some()))
    }
}

/// The follow-ups that a family has made, the first so many.
pub(crate) fn made_by(root: TaskId, limit: usize) -> Filter {
    Filter { follows: Some(root), order: Order::Oldest, limit, ..Filter::default() }
}

impl Graph {
    /// The graph of a task and all that came of it.
    pub async fn of(store: &dyn Store, task: TaskId) -> Answer<Self> {
        let root = store.task(task).await?.ok_or_else(|| StoreError::not_found("task", task))?;
        Self::below(&store, &root).await
    }

    pub(crate) async fn below<K: FamilySource>(source: &K, root: &Task) -> Result<Self, K::Fault> {
        let mut graph = Self::children_of(source, root).await?;
        if root.parent.is_none() {
            let (tasks, more) = source.follow_ups(root.id, FOLLOW_UPS_MAX).await?;
            graph.cut |= more;
            for task in &tasks {
                graph.after.push((0, graph.nodes.len()));
                graph.nodes.push(Node::one(task));
            }
        }
        Ok(graph)
    }

    async fn children_of<K: FamilySource>(source: &K, root: &Task) -> Result<Self, K::Fault> {
        let mut graph = Self { nodes: vec![Node::one(root)], ..Self::default() };
        let mut open = VecDeque::from([0]);
        while let Some(parent) = open.pop_front() {
            let (children, more) = source.children(graph.nodes[parent].task, CHILDREN_MAX).await?;
            graph.cut |= more;
            let mut by_command: Vec<(&str, Vec<&Task>)> = Vec::new();
            for child in &children {
                match by_command.iter_mut().find(|(command, _)| *command == child.command.as_str()) {
                    Some((_, alike)) => alike.push(child),
                    None => by_command.push((child.command.as_str(), vec![child])),
                }
            }
            for (_, alike) in by_command {
                let apart = alike.len() <= APART_MAX;
                let nodes =
                    if apart { alike.iter().map(|task| Node::one(task)).collect() } else { vec![several(&alike)] };
                for node in nodes {
                    if graph.nodes.len() >= NODES_MAX {
                        graph.cut = true;
                        return Ok(graph);
                    }
                    let index = graph.nodes.len();
                    graph.edges.push((parent, index));
                    graph.nodes.push(node);
                    if apart {
                        open.push_back(index);
                    }
                }
            }
        }
        Ok(graph)
    }

    /// The graph in the language of Graphviz.
    pub fn dot(&self) -> String {
        dot::write(self)
    }

    /// The graph in the language of Mermaid.
    pub fn mermaid(&self) -> String {
        mermaid::write(self)
    }
}

fn several(alike: &[&Task]) -> Node {
    let mut node = Node::one(alike[0]);
    for task in &alike[1..] {
        *node.states.entry(task.state).or_default() += 1;
    }
    node
}

/// The colour of a state, on white.
const fn color(state: State) -> &'static str {
    match state {
        State::Pending => "#6b7280",
        State::Running => "#2563eb",
        State::Waiting => "#b45309",
        State::Completed => "#15803d",
        State::Failed => "#b91c1c",
        State::Cancelled => "#78716c",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_name_every_node_and_edge() {
        let node = |task, command: &str, states: &[(State, u64)]| Node {
            task: TaskId(task),
            command: command.to_owned(),
            states: states.iter().copied().collect(),
        };
        let graph = Graph {
            nodes: vec![
                node(1, "order", &[(State::Waiting, 1)]),
                node(2, "pack", &[(State::Completed, 6), (State::Failed, 3)]),
                node(3, "count", &[(State::Pending, 1)]),
            ],
            edges: vec![(0, 1)],
            after: vec![(0, 2)],
            cut: true,
        };
        let dot = graph.dot();
        assert!(dot.starts_with("digraph family {") && dot.contains("n0 -> n1;"), "{dot}");
        assert!(dot.contains("n0 -> n2 [style=dashed, label=\"follow-up\"];"), "{dot}");
        assert!(dot.contains("pack ×9\\n6 completed, 3 failed") && dot.contains("there is more"), "{dot}");
        let mermaid = graph.mermaid();
        assert!(mermaid.starts_with("flowchart TD") && mermaid.contains("n0 --> n1"), "{mermaid}");
        assert!(mermaid.contains("n0 -. follow-up .-> n2"), "{mermaid}");
        assert!(mermaid.contains("pack ×9<br>6 completed, 3 failed"), "{mermaid}");
    }
}
