//! The flow of a handler as a graph: what it has recorded, in its order, branches side by side, with an open end while it goes
//! on. Only what is known is drawn.

use askama::Template;
use askama::filters::HtmlSafe;
use kinfolk_core::durable::StepKind;
use kinfolk_core::{History, State, Tally, Task};

use super::walk::{TreeRow, What};
use crate::link::Links;
use crate::pages::part::{Badge, Bar, words};

const NODE: (f64, f64) = (190.0, 54.0);
const FAN: (f64, f64) = (232.0, 76.0);
const GAP: (f64, f64) = (34.0, 18.0);
/// A flow of more nodes than this shows the last ones.
const NODES_MAX: usize = 60;

/// The picture.
#[derive(Template)]
#[template(path = "part/graph.html")]
pub(crate) struct Graph {
    width: String,
    height: String,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    words: Vec<(String, String, String)>,
    story: String,
}

impl HtmlSafe for Graph {}

struct Node {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    badge: Badge,
    title: String,
    says: String,
    href: String,
    bar: Option<Bar>,
    at_work: bool,
}

struct Edge {
    path: String,
    ahead: bool,
}

/// What a node is about, before it has a place.
struct Item {
    branch: String,
    badge: Badge,
    title: String,
    says: String,
    href: String,
    bar: Option<Bar>,
}

/// The graph of a family's root.
pub(crate) fn of(root: &Task, history: &History, lines: &[TreeRow], links: &Links) -> Graph {
    let mut items = items(history, lines, links);
    let left_out = items.len().saturating_sub(NODES_MAX);
    items.drain(..left_out);
    if items.is_empty() {
        items.push(Item {
            branch: String::new(),
            badge: Badge::of(root),
            title: root.command.to_string(),
            says: "it has recorded nothing".to_owned(),
            href: links.to(&format!("/tasks/{}", root.id)),
            bar: None,
        });
    }
    let story =
        items.iter().map(|item| format!("{} {}", item.title, item.badge.word)).collect::<Vec<_>>().join(", then ");
    lay_out(items, !root.state.is_terminal(), words::short(&story, 400), left_out)
}

/// Spawned children by command, then what the handler recorded.
fn items(history: &History, lines: &[TreeRow], links: &Links) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for line in lines.iter().filter(|line| line.depth == 1) {
        match &line.what {
            What::One { task, .. }
                if history.fan_outs.iter().all(|fan_out| fan_out.tally.total != 1)
                    || history.checkpoints.is_empty() =>
            {
                items.push(Item {
                    branch: format!("child {}", task.id),
                    badge: Badge::of(task),
                    title: task.command.to_string(),
                    says: format!("#{}, {} of {} attempts", task.id, task.attempt, task.max_attempts),
                    href: links.to(&format!("/tasks/{}", task.id)),
                    bar: None,
                });
            }
            What::Fan { id: None, tally, command, .. } => items.push(Item {
                branch: "spawned".to_owned(),
                badge: whole(tally),
                title: format!(
                    "{} × {}",
                    if command.is_empty() { "children" } else { command },
                    words::count(tally.total)
                ),
                says: tally_words(tally),
                href: String::new(),
                bar: Some(Bar::tally(tally)),
            }),
            _ => {}
        }
    }
    for step in &history.checkpoints {
        let item = |badge, title: String, says: String| Item {
            branch: step.key.branch.clone(),
            badge,
            title,
            says,
            href: String::new(),
            bar: None,
        };
        let done = Badge::state(State::Completed);
        match step.kind {
            StepKind::FanOut => {
                let Some(fan_out) =
                    history.fan_outs.iter().find(|fan_out| fan_out.id.to_string() == step.value.as_str())
                else {
                    continue;
                };
                let tally = &fan_out.tally;
                let badge = if fan_out.verdict.is_some() { whole(tally) } else { Badge::state(State::Waiting) };
                let one =
                    history.results.iter().find(|result| result.fan_out == fan_out.id).filter(|_| tally.total == 1);
                let title = if tally.total == 1 {
                    step.key.name.clone()
                } else {
                    format!("{} × {}", step.key.name, words::count(tally.total))
                };
                let mut node =
                    item(badge, title, if tally.total == 1 { "call".to_owned() } else { tally_words(tally) });
                node.href = match one {
                    Some(result) => links.to(&format!("/tasks/{}", result.task)),
                    None => links.to(&format!("/tasks?fan_out={}", fan_out.id)),
                };
                node.bar = (tally.total > 1).then(|| Bar::tally(tally).needs(fan_out));
                items.push(node);
            }
            StepKind::Step => items.push(item(done, step.key.to_string(), "step".to_owned())),
            StepKind::Sleep => items.push(item(done, step.key.name.clone(), "sleep".to_owned())),
            StepKind::Signal => {
                // A wait that was given up has an empty list.
                let says = if step.value.as_str() == "[]" { "given up" } else { "signal" };
                if let Some(open) =
                    items.iter_mut().find(|item| item.title == step.key.name && item.says == "waits for it")
                {
                    (open.badge, open.says) = (done, says.to_owned());
                } else {
                    items.push(item(done, step.key.name.clone(), says.to_owned()));
                }
            }
            StepKind::Wait => {
                items.push(item(Badge::state(State::Waiting), step.key.name.clone(), "waits for it".to_owned()));
            }
            StepKind::Make | StepKind::Fold | StepKind::Now | StepKind::Random => {}
        }
    }
    for line in lines {
        if let What::After { task, .. } = &line.what {
            items.push(Item {
                branch: format!("after {}", task.id),
                badge: Badge::of(task),
                title: task.command.to_string(),
                says: format!("#{}, follow-up", task.id),
                href: links.to(&format!("/families/{}", task.id)),
                bar: None,
            });
        }
    }
    items
}

fn whole(tally: &Tally) -> Badge {
    match (tally.open(), tally.failed) {
        (0, 0) => Badge::state(State::Completed),
        (0, _) if tally.completed == 0 => Badge::state(State::Failed),
        (0, _) => Badge::state(State::Completed),
        _ => Badge::state(State::Waiting),
    }
}

fn tally_words(tally: &Tally) -> String {
    let counts = [
        (tally.completed, "completed"),
        (tally.open(), "open"),
        (tally.cancelled, "cancelled"),
        (tally.failed, "failed"),
    ];
    let said =
        counts.iter().filter(|(many, _)| *many > 0).map(|(many, word)| format!("{} {word}", words::count(*many)));
    said.collect::<Vec<_>>().join(", ")
}

/// Gives every node its place: one after another, and branches that follow each other side by side.
fn lay_out(items: Vec<Item>, goes_on: bool, story: String, left_out: usize) -> Graph {
    let mut graph = Graph {
        width: String::new(),
        height: String::new(),
        nodes: Vec::new(),
        edges: Vec::new(),
        words: Vec::new(),
        story,
    };
    let mut stages: Vec<Vec<Vec<Item>>> = Vec::new();
    for mut item in items {
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
    let tall = |row: &[Item]| if row.iter().any(|item| item.bar.is_some()) { FAN.1 } else { NODE.1 };
    let stage_height = |stage: &[Vec<Item>]| stage.iter().map(|row| tall(row) + GAP.1).sum::<f64>() - GAP.1;
    let height = stages.iter().map(|stage| stage_height(stage)).fold(NODE.1, f64::max);
    let (middle, mut x) = (height / 2.0 + 4.0, 4.0);
    let mut ends: Vec<(f64, f64)> = Vec::new();
    if left_out > 0 {
        graph.words.push(("4".to_owned(), format!("{:.1}", middle - 8.0), format!("{left_out} before")));
        x += 70.0;
        ends.push((x - 10.0, middle));
    }
    for stage in stages {
        let mut y = middle - stage_height(&stage) / 2.0;
        let spread = if stage.len() > 1 { 40.0 } else { 0.0 };
        let (mut new_ends, mut reached) = (Vec::new(), x);
        for row in stage {
            let row_height = tall(&row);
            let mut at = (x + spread, y + row_height / 2.0);
            for (index, item) in row.into_iter().enumerate() {
                let (width, node_height) = if item.bar.is_some() { FAN } else { NODE };
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
    if goes_on {
        for from in &ends {
            graph.edges.push(Edge { path: curve(*from, (x + 30.0, middle)), ahead: true });
        }
        graph.words.push((format!("{:.1}", x + 36.0), format!("{:.1}", middle + 4.0), "goes on".to_owned()));
        x += 90.0;
    }
    graph.width = format!("{:.0}", x + 4.0);
    graph.height = format!("{:.0}", height + 8.0);
    graph
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
