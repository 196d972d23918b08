//! The flow of a handler as a graph: what it has recorded, in its order, branches side by side, with an open end while it goes
//! on. Only what is known is drawn.

mod lay_out;

use askama::Template;
use askama::filters::HtmlSafe;
use kinfolk_core::durable::{Checkpoint, Key, StepKind};
use kinfolk_core::filter::{Filter, Order};
use kinfolk_core::{FailureKind, FanOut, FanOutId, History, State, Tally, Task, TaskId};

use self::lay_out::lay_out;
use super::row::{Drawing, badge_of};
use super::walk::{TreeRow, What};
use crate::graph;
use crate::pages::address::Address;
use crate::pages::part::{Badge, Bar, words};
use crate::problem::Problem;
use crate::view::View;

/// Nodes in one picture; of a longer flow those that an address asks for, or the last ones.
const NODES_MAX: usize = 60;

/// So many of what failed in a fan-out are named.
const NAMED_MAX: usize = 3;

/// The picture.
#[derive(Template)]
#[template(path = "part/graph.html")]
pub(crate) struct Graph {
    width: String,
    height: String,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    words: Vec<Word>,
    story: String,
    /// What of the family is not in the picture, and where it is listed.
    pub(crate) rest: Option<(String, String)>,
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
    failed: Vec<Link>,
    at_work: bool,
}

struct Edge {
    path: String,
    ahead: bool,
}

/// Words beside the nodes.
struct Word {
    x: String,
    y: String,
    link: Link,
}

/// Words that may lead somewhere.
struct Link {
    words: String,
    href: String,
}

/// What a node is about, before it has a place.
struct Item {
    branch: String,
    badge: Badge,
    title: String,
    says: String,
    href: String,
    bar: Option<Bar>,
    failed: Vec<Link>,
    /// Tasks of the family that it stands for.
    tasks: u64,
}

/// A part of a flow.
struct Part {
    items: Vec<Item>,
    before: Option<Link>,
    after: Option<Link>,
    goes_on: bool,
}

/// The graph of a family's root.
pub(crate) async fn of(
    view: View<'_>,
    (root, family, history): (&Task, &Tally, &History),
    lines: &[TreeRow],
    drawing: &Drawing<'_>,
) -> Result<Graph, Problem> {
    let mut flow = Flow { view, drawing, history, items: Vec::new() };
    flow.spawned(root, lines).await?;
    for step in &history.checkpoints {
        flow.step(step).await?;
    }
    flow.end(root);
    flow.follow_ups(lines);
    let mut items = std::mem::take(&mut flow.items);
    if items.is_empty() {
        let says = "it has recorded nothing".to_owned();
        items.push(flow.one(root, String::new(), says, &format!("/tasks/{}", root.id)));
    }
    let part = Part::of(items, !root.state.is_terminal(), drawing.address);
    let drawn: u64 = part.items.iter().map(|item| item.tasks).sum();
    let mut graph = lay_out(part);
    graph.rest = Some(family.total.saturating_sub(drawn)).filter(|rest| *rest > 0).map(|rest| {
        let (of, are) = (words::many(family.total, "task", "tasks"), words::verb(rest, "is", "are"));
        let says = format!("{} of the {of} below #{} {are} not in this graph.", words::count(rest), root.id);
        (says, drawing.links.to(&format!("/tasks?root={}", root.id)))
    });
    Ok(graph)
}

impl Part {
    /// The part that an address asks for: it ends at a number of nodes, `until`, or with the last node.
    fn of(mut items: Vec<Item>, goes_on: bool, address: &Address) -> Self {
        let all = items.len();
        let until = address.get("until").and_then(|until| until.parse().ok()).unwrap_or(all).clamp(1, all);
        let from = until.saturating_sub(NODES_MAX);
        let link = |many: usize, word: &str, until: Option<usize>| {
            let until = until.map(|until| until.to_string());
            let words = format!("{} {word}", words::count(many as u64));
            (many > 0).then(|| Link { words, href: address.with("until", until.as_deref()) })
        };
        let before = link(from, "before", Some(from));
        let after = link(all - until, "after", Some(until + NODES_MAX).filter(|next| *next < all));
        items.truncate(until);
        items.drain(..from);
        Self { items, before, after, goes_on: goes_on && until == all }
    }
}

/// What a handler did, in its order.
struct Flow<'a> {
    view: View<'a>,
    drawing: &'a Drawing<'a>,
    history: &'a History,
    items: Vec<Item>,
}

impl Flow<'_> {
    /// Spawned children: a few by themselves, many by command.
    async fn spawned(&mut self, root: &Task, lines: &[TreeRow]) -> Result<(), Problem> {
        let together = FanOutId(root.id.0);
        for line in lines.iter().filter(|line| line.depth == 1) {
            match &line.what {
                What::One { task, .. } if task.fan_out == Some(together) => {
                    let says = format!("#{}, attempt {} of {}", task.id, task.present_attempt(), task.max_attempts);
                    let item = self.one(task, format!("child {}", task.id), says, &format!("/tasks/{}", task.id));
                    self.items.push(item);
                }
                What::Fan { id: None, tally, .. } => {
                    let which = Filter { fan_out: Some(together), ..Filter::default() };
                    for node in graph::nodes_of(&self.view, which, tally).await? {
                        let item = self.alike(root.id, &node);
                        self.items.push(item);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A single task.
    fn one(&self, task: &Task, branch: String, says: String, path: &str) -> Item {
        let badge = self.drawing.names.badge(task, self.drawing.now);
        let (title, href) = (task.command.to_string(), self.drawing.links.to(path));
        let tasks = u64::from(task.parent.is_some());
        Item { branch, badge, title, says, href, bar: None, failed: Vec::new(), tasks }
    }

    /// Spawned children that run one command.
    fn alike(&self, parent: TaskId, node: &graph::Node) -> Item {
        let many = |state: State| node.states.get(&state).copied().unwrap_or_default();
        let tally = Tally {
            total: node.tasks(),
            completed: many(State::Completed),
            failed: many(State::Failed),
            cancelled: many(State::Cancelled),
        };
        let of = format!("/tasks?parent={parent}&command={}", words::encoded(&node.command));
        let href = match tally.total {
            1 => format!("/tasks/{}", node.task),
            _ => of.clone(),
        };
        let more = if node.at_least { " or more" } else { "" };
        Item {
            branch: format!("child {}", node.task),
            badge: badge_of(None, &tally),
            title: format!("{} × {}{more}", node.command, words::count(tally.total)),
            says: tally_words(&tally),
            href: self.drawing.links.to(&href),
            bar: Some(Bar::tally(&tally)),
            failed: self.failed(&node.failed, tally.failed, &of),
            tasks: tally.total,
        }
    }

    /// Links to what failed: the first few, and the list of all.
    fn failed(&self, ids: &[TaskId], many: u64, list: &str) -> Vec<Link> {
        let link = |words: String, path: String| Link { words, href: self.drawing.links.to(&path) };
        let named = ids.iter().take(NAMED_MAX);
        let mut failed: Vec<Link> = named.map(|id| link(format!("#{id}"), format!("/tasks/{id}"))).collect();
        let more = many.saturating_sub(failed.len() as u64);
        if more > 0 && !failed.is_empty() {
            failed.push(link(format!("{} more", words::count(more)), format!("{list}&state=failed")));
        }
        failed
    }

    /// What the handler recorded.
    async fn step(&mut self, step: &Checkpoint) -> Result<(), Problem> {
        let done = Badge::state(State::Completed);
        let item = |badge, title: String, says: &str| Item {
            branch: step.key.branch.clone(),
            badge,
            title,
            says: says.to_owned(),
            href: String::new(),
            bar: None,
            failed: Vec::new(),
            tasks: 0,
        };
        match step.kind {
            StepKind::FanOut => {
                let fan_outs = &self.history.fan_outs;
                if let Some(fan_out) = fan_outs.iter().find(|one| one.id.to_string() == step.value.as_str()) {
                    let item = self.fan_out(step, fan_out).await?;
                    self.items.push(item);
                }
            }
            StepKind::Step => self.items.push(item(done, step.key.to_string(), "step")),
            StepKind::Sleep => self.items.push(item(done, step.key.name.clone(), "sleep")),
            StepKind::Signal => {
                // A wait that was given up has an empty list.
                let says = if step.value.as_str() == "[]" { "given up" } else { "signal" };
                let title = signal_of(&step.key);
                let waits = |item: &&mut Item| {
                    (&item.branch, &item.title, item.says.as_str()) == (&step.key.branch, &title, WAITS)
                };
                match self.items.iter_mut().find(waits) {
                    Some(open) => (open.badge, open.says) = (done, says.to_owned()),
                    None => self.items.push(item(done, title, says)),
                }
            }
            StepKind::Wait => self.items.push(item(Badge::state(State::Waiting), signal_of(&step.key), WAITS)),
            StepKind::Make | StepKind::Fold | StepKind::Now | StepKind::Random => {}
        }
        Ok(())
    }

    /// A fan-out that the handler awaits, or a call, which is a fan-out of one.
    async fn fan_out(&self, step: &Checkpoint, fan_out: &FanOut) -> Result<Item, Problem> {
        let (tally, name) = (&fan_out.tally, &step.key.name);
        let list = format!("/tasks?fan_out={}", fan_out.id);
        let is_call = tally.total == 1;
        let only = self.history.results.iter().find(|result| result.fan_out == fan_out.id).filter(|_| is_call);
        let href = only.map_or_else(|| list.clone(), |result| format!("/tasks/{}", result.task));
        let ids = if tally.failed > 0 && !is_call { self.first_failed(fan_out.id).await? } else { Vec::new() };
        Ok(Item {
            branch: step.key.branch.clone(),
            badge: badge_of(Some(fan_out), tally),
            title: if is_call { name.clone() } else { format!("{name} × {}", words::count(tally.total)) },
            says: if is_call { "call".to_owned() } else { tally_words(tally) },
            href: self.drawing.links.to(&href),
            bar: (!is_call).then(|| Bar::tally(tally).needs(fan_out)),
            failed: self.failed(&ids, tally.failed, &list),
            tasks: tally.total,
        })
    }

    async fn first_failed(&self, fan_out: FanOutId) -> Result<Vec<TaskId>, Problem> {
        let failed = Filter {
            state: vec![State::Failed],
            fan_out: Some(fan_out),
            order: Order::Oldest,
            limit: NAMED_MAX,
            ..Filter::default()
        };
        Ok(self.view.list(&failed).await?.tasks.iter().map(|task| task.id).collect())
    }

    /// A handler that failed by itself, or was cancelled, ends with that, and so does a wait that was open.
    fn end(&mut self, root: &Task) {
        let says = match (root.state, &root.failure) {
            (State::Failed, Some(failure)) if failure.kind != FailureKind::Children => words::shown(&failure.message),
            (State::Cancelled, _) => "on request".to_owned(),
            _ => return,
        };
        let badge = || Badge::state(root.state);
        for wait in self.items.iter_mut().filter(|item| item.says == WAITS) {
            (wait.badge, wait.says) = (badge(), "waited for it".to_owned());
        }
        if !self.items.is_empty() {
            let (branch, title, href) = (String::new(), root.state.to_string(), String::new());
            self.items.push(Item {
                branch,
                badge: badge(),
                title,
                says,
                href,
                bar: None,
                failed: Vec::new(),
                tasks: 0,
            });
        }
    }

    /// What comes after the family.
    fn follow_ups(&mut self, lines: &[TreeRow]) {
        for line in lines {
            if let What::After { task, .. } = &line.what {
                let (branch, says) = (format!("after {}", task.id), format!("#{}, follow-up", task.id));
                let item = self.one(task, branch, says, &format!("/families/{}", task.id));
                self.items.push(item);
            }
        }
    }
}

/// What a wait says as long as no signal has come.
const WAITS: &str = "waits for it";

/// The signal of a checkpoint. A wait and its end have one name and different first words: `wait approve`, `signal approve`.
fn signal_of(key: &Key) -> String {
    let name = key.name.split_once(' ').map_or(key.name.as_str(), |(_, signal)| signal);
    Key { branch: String::new(), name: name.to_owned(), ..key.clone() }.to_string()
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
