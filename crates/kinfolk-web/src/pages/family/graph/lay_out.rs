//! Where the nodes of a graph stand.

use super::{Edge, Graph, Item, Link, Node, Part, Word};
use crate::pages::part::words;

const NODE: (f64, f64) = (190.0, 54.0);
const FAN: (f64, f64) = (232.0, 76.0);
const GAP: (f64, f64) = (34.0, 18.0);
/// How much taller a node is that names what failed.
const NAMED: f64 = 16.0;

/// Gives every node its place: one after another, and branches that follow each other side by side.
pub(super) fn lay_out(part: Part) -> Graph {
    let story: Vec<String> = part.items.iter().map(|item| format!("{} {}", item.title, item.badge.word)).collect();
    let mut graph = Graph {
        width: String::new(),
        height: String::new(),
        nodes: Vec::new(),
        edges: Vec::new(),
        words: Vec::new(),
        story: words::short(&story.join(", then "), 400),
        rest: None,
    };
    let mut stages: Vec<Vec<Vec<Item>>> = Vec::new();
    for mut item in part.items {
        item.title = last_name(&item.title).to_owned();
        let is_branch = !item.branch.is_empty();
        match stages.last_mut().filter(|stage| is_branch && !stage[0][0].branch.is_empty()) {
            Some(stage) => match stage.iter_mut().find(|row| row[0].branch == item.branch) {
                Some(row) => row.push(item),
                None => stage.push(vec![item]),
            },
            None => stages.push(vec![vec![item]]),
        }
    }
    let tall = |row: &[Item]| row.iter().map(|item| size(item).1).fold(NODE.1, f64::max);
    let stage_height = |stage: &[Vec<Item>]| stage.iter().map(|row| tall(row) + GAP.1).sum::<f64>() - GAP.1;
    let height = stages.iter().map(|stage| stage_height(stage)).fold(NODE.1, f64::max);
    let (middle, mut x) = (height / 2.0 + 4.0, 4.0);
    let mut ends: Vec<(f64, f64)> = Vec::new();
    if let Some(link) = part.before {
        graph.words.push(Word::at((4.0, middle + 4.0), link));
        x += 90.0;
        ends.push((x - 10.0, middle));
    }
    for stage in stages {
        let mut y = middle - stage_height(&stage) / 2.0;
        let spread = if stage.len() > 1 && !ends.is_empty() { 40.0 } else { 0.0 };
        let (mut new_ends, mut reached) = (Vec::new(), x);
        for row in stage {
            let row_height = tall(&row);
            let mut at = (x + spread, y + row_height / 2.0);
            for (index, item) in row.into_iter().enumerate() {
                let (width, node_height) = size(&item);
                let starts = if index == 0 { ends.clone() } else { vec![(at.0 - GAP.0, at.1)] };
                for from in starts {
                    graph.edges.push(Edge { path: curve(from, at), ahead: false });
                }
                let at_work = item.badge.class == "waiting" || item.badge.class == "running";
                let most = if item.bar.is_some() { 26 } else { 20 };
                graph.nodes.push(Node {
                    x: at.0,
                    y: at.1 - node_height / 2.0,
                    width,
                    height: node_height,
                    badge: item.badge,
                    title: words::short(&item.title, most),
                    says: words::short(&item.says, most + 6),
                    href: item.href,
                    bar: item.bar,
                    failed: item.failed,
                    at_work,
                });
                at.0 += width + GAP.0;
            }
            new_ends.push((at.0 - GAP.0, at.1));
            reached = reached.max(at.0);
            y += row_height + GAP.1;
        }
        ends = new_ends;
        x = reached;
    }
    let open = part.goes_on.then(|| Link { words: "goes on".to_owned(), href: String::new() });
    if let Some(link) = part.after.or(open) {
        for from in &ends {
            graph.edges.push(Edge { path: curve(*from, (x + 30.0, middle)), ahead: link.href.is_empty() });
        }
        graph.words.push(Word::at((x + 36.0, middle + 4.0), link));
        x += 100.0;
    }
    graph.width = format!("{:.0}", x + 4.0);
    graph.height = format!("{:.0}", height + 8.0);
    graph
}

impl Word {
    fn at((x, y): (f64, f64), link: Link) -> Self {
        Self { x: format!("{x:.1}"), y: format!("{y:.1}"), link }
    }
}

/// How wide and how tall a node is.
fn size(item: &Item) -> (f64, f64) {
    let (width, height) = if item.bar.is_some() { FAN } else { NODE };
    (width, height + if item.failed.is_empty() { 0.0 } else { NAMED })
}

/// `shop.pack_item × 4` without what stands before its last point.
fn last_name(title: &str) -> &str {
    let (name, rest) = title.split_once(' ').map_or((title, ""), |(name, _)| (name, &title[name.len()..]));
    let start = name.rfind('.').map_or(0, |point| point + 1);
    if start < name.len() { &title[start..] } else { rest }
}

fn curve(from: (f64, f64), to: (f64, f64)) -> String {
    let bend = ((to.0 - from.0) / 2.0).max(10.0);
    format!(
        "M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
        from.0,
        from.1,
        from.0 + bend,
        from.1,
        to.0 - bend,
        to.1,
        to.0,
        to.1
    )
}
