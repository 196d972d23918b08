//! A graph in the language of Graphviz. Names of commands hold nothing that would have to be quoted.

use std::fmt::Write as _;

use super::{Graph, color};

pub(super) fn write(graph: &Graph) -> String {
    let mut text = String::from("digraph family {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for (index, node) in graph.nodes.iter().enumerate() {
        let (name, states) = node.words();
        let color = color(node.state());
        let _ = writeln!(text, "  n{index} [label=\"{name}\\n{states}\", color=\"{color}\"];");
    }
    for (parent, child) in &graph.edges {
        let _ = writeln!(text, "  n{parent} -> n{child};");
    }
    for (root, after) in &graph.after {
        let _ = writeln!(text, "  n{root} -> n{after} [style=dashed, label=\"follow-up\"];");
    }
    if let Some(rest) = graph.rest() {
        let _ = writeln!(text, "  more [label=\"{rest}\", shape=plaintext];");
    }
    text.push_str("}\n");
    text
}
