//! The graph of a family: who made whom, small enough to draw. Children of one parent that run the same command become one node
//! when there are many of them, or when there is no room for each. A graph says how many tasks of the family it does not draw.

mod children;
mod dot;
mod mermaid;

use std::collections::{BTreeMap, VecDeque};

use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::store::Answer;
use kinfolk_core::{State, Store, StoreError, Task, TaskId};

pub(crate) use self::children::{Counted, FamilySource, counted, nodes_of};

/// Follow-ups of a family that are drawn.
const FOLLOW_UPS_MAX: usize = 20;
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
    /// How many tasks of the family are not drawn. That is known of the family of a root; else it is 0.
    pub not_drawn: u64,
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
    /// Of several, the first of those that failed.
    pub failed: Vec<TaskId>,
    /// Whether there may be more of them than were counted.
    pub at_least: bool,
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
        let states = BTreeMap::from([(task.state, 1)]);
        Self { task: task.id, command: task.command.to_string(), states, failed: Vec::new(), at_least: false }
    }

    /// `pack_item ×300`, and what becomes of them.
    fn words(&self) -> (String, String) {
        if let (1, Some(state)) = (self.tasks(), self.states.keys().next()) {
            return (self.command.clone(), format!("{} {state}", self.task));
        }
        let states: Vec<String> = self.states.iter().map(|(state, tasks)| self.in_state(*state, *tasks)).collect();
        let more = if self.at_least { " or more" } else { "" };
        (format!("{} ×{}{more}", self.command, self.tasks()), states.join(", "))
    }

    /// `3 failed: 12, 57 and 1 more`
    fn in_state(&self, state: State, tasks: u64) -> String {
        if state != State::Failed || self.failed.is_empty() {
            return format!("{tasks} {state}");
        }
        let named: Vec<String> = self.failed.iter().map(ToString::to_string).collect();
        let rest = match tasks.saturating_sub(named.len() as u64) {
            0 => String::new(),
            rest => format!(" and {rest} more"),
        };
        format!("{tasks} {state}: {}{rest}", named.join(", "))
    }

    /// The state that its colour shows: the one that asks for attention first.
    fn state(&self) -> State {
        LOUDEST.into_iter().find(|state| self.states.contains_key(state)).unwrap_or(State::Pending)
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
        // Counted before it is drawn: what is made meanwhile is not missing.
        let progress = source.progress(root.id).await?;
        let mut graph = Self::children_of(source, root, progress.levels.len()).await?;
        if root.parent.is_none() {
            let drawn: u64 = graph.nodes[1..].iter().map(Node::tasks).sum();
            graph.not_drawn = progress.family.total.saturating_sub(drawn);
            graph.cut = graph.not_drawn > 0;
            let page = source.list(&made_by(root.id, FOLLOW_UPS_MAX)).await?;
            graph.cut |= page.next.is_some();
            for task in &page.tasks {
                graph.after.push((0, graph.nodes.len()));
                graph.nodes.push(Node::one(task));
            }
        }
        Ok(graph)
    }

    /// `deepest`: how many generations the whole family has below its root.
    async fn children_of<K: FamilySource>(source: &K, root: &Task, deepest: usize) -> Result<Self, K::Fault> {
        let mut graph = Self { nodes: vec![Node::one(root)], ..Self::default() };
        let mut open = VecDeque::from([(0, usize::from(root.depth) + 1)]);
        while let Some((parent, depth)) = open.pop_front() {
            let task = graph.nodes[parent].task;
            let mut children = children::nodes(source, task).await?;
            // A parent that is looked at later needs room, too.
            if children.len() > NODES_MAX.saturating_sub(graph.nodes.len() + open.len()) {
                children = children::together(children);
            }
            for node in children {
                if graph.nodes.len() >= NODES_MAX {
                    graph.cut = true;
                    return Ok(graph);
                }
                let index = graph.nodes.len();
                match (deepest > depth, node.tasks()) {
                    (true, 1) => open.push_back((index, depth + 1)),
                    (true, _) if root.parent.is_some() && !graph.cut => {
                        graph.cut = children::has_children(source, task, &node).await?;
                    }
                    _ => {}
                }
                graph.edges.push((parent, index));
                graph.nodes.push(node);
            }
        }
        Ok(graph)
    }

    /// What is not drawn, in a sentence, with the command that shows it.
    fn rest(&self) -> Option<String> {
        let root = self.nodes.first().filter(|_| self.cut)?.task;
        let what = match self.not_drawn {
            0 => "there is more than is drawn".to_owned(),
            1 => "1 task is not drawn".to_owned(),
            many => format!("{many} tasks are not drawn"),
        };
        Some(format!("{what}: kinfolk tree {root} --all"))
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
            failed: states.iter().filter(|(state, _)| *state == State::Failed).map(|_| TaskId(7)).collect(),
            at_least: false,
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
            not_drawn: 812,
        };
        let dot = graph.dot();
        assert!(dot.starts_with("digraph family {") && dot.contains("n0 -> n1;"), "{dot}");
        assert!(dot.contains("n0 -> n2 [style=dashed, label=\"follow-up\"];"), "{dot}");
        assert!(dot.contains("pack ×9\\n6 completed, 3 failed: 7 and 2 more"), "{dot}");
        assert!(dot.contains("label=\"812 tasks are not drawn: kinfolk tree 1 --all\""), "{dot}");
        let mermaid = graph.mermaid();
        assert!(mermaid.starts_with("flowchart TD") && mermaid.contains("n0 --> n1"), "{mermaid}");
        assert!(mermaid.contains("n0 -. follow-up .-> n2"), "{mermaid}");
        assert!(mermaid.contains("pack ×9<br>6 completed, 3 failed: 7 and 2 more"), "{mermaid}");
        assert!(mermaid.contains("more[\"812 tasks are not drawn: kinfolk tree 1 --all\"]"), "{mermaid}");
        assert!(!Graph { cut: false, not_drawn: 0, ..graph }.dot().contains("more ["));
    }
}
