//! A graph in the language of Mermaid. Names of commands hold nothing that would have to be quoted.

use std::fmt::Write as _;

use super::{Graph, color};

pub(super) fn write(graph: &Graph) -> String {
    let mut text = String::from("flowchart TD\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let (name, states) = node.words();
        let _ = writeln!(text, "  n{index}[\"{name}<br>{states}\"]");
        let _ = writeln!(text, "  style n{index} stroke:{}", color(node.state()));
    }
    for (parent, child) in &graph.edges {
        let _ = writeln!(text, "  n{parent} --> n{child}");
    }
    for (root, after) in &graph.after {
        let _ = writeln!(text, "  n{root} -. follow-up .-> n{after}");
    }
    if let Some(rest) = graph.rest() {
        let _ = writeln!(text, "  more[\"{rest}\"]");
    }
    text
}
