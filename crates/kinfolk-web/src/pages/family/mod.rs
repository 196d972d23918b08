//! A family: how far it is, what holds it, and what became of each task in it, as a timeline, a tree or a graph.

mod axis;
mod course;
mod graph;
mod row;
mod timeline;
mod walk;
mod window;

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use kinfolk_core::{State, Tally, Task, TaskId, Timestamp};

use self::axis::{Axis, Fold, Tick, percent};
use self::graph::Graph;
use self::row::{Drawing, Row};
use self::walk::{TreeRow, Walk, What};
use self::window::Window;
use super::address::Address;
use super::ask::Ask;
use super::frame::{Frame, ROWS_MAX};
use super::going::{Names, report_words};
use super::part::{Badge, Bar, Moment, Named, with_root, words};
use super::why::{self, Around, Why};
use super::{actions, render, show};
use crate::link::Links;
use crate::problem::Problem;
use crate::visit::Visit;

pub(crate) use self::course::{Course, awaited_words, began};
pub(crate) use self::row::median;
pub(crate) use self::timeline::Timeline;

/// How many tasks a second a family had is told from so many on.
const PACE_FROM: u64 = 1_000;

#[derive(Template)]
#[template(path = "family.html")]
struct Page {
    frame: Frame,
    id: String,
    task_href: String,
    command_href: String,
    command: String,
    name: Named,
    badge: Badge,
    report: String,
    facts: Vec<Fact>,
    bar: Option<Bar>,
    legend: Vec<(&'static str, String, String, String)>,
    whys: Vec<Why>,
    failure: String,
    asks: Vec<Ask>,
    view: &'static str,
    views: Vec<(&'static str, String, bool)>,
    quiet: bool,
    quiet_href: String,
    folding: bool,
    fold_href: String,
    window: Window,
    rows: Vec<Row>,
    scale: Scale,
    graph: Option<Graph>,
    large: bool,
}

/// A fact in the line below the heading.
struct Fact {
    words: String,
    strong: String,
    time: Option<Moment>,
    href: String,
}

/// What the axis needs in a template.
#[derive(Default)]
pub(crate) struct Scale {
    pub(crate) ticks: Vec<Tick>,
    pub(crate) folds: Vec<Fold>,
    pub(crate) now: Option<String>,
    pub(crate) rate: String,
    pub(crate) start: String,
}

/// `GET /families/{id}`
pub(crate) async fn page(visit: Visit, address: Address, Path(id): Path<String>) -> Response {
    show(&visit, family(&visit, &address, &id)).await
}

async fn family(visit: &Visit, address: &Address, id: &str) -> Result<Response, Problem> {
    let id: TaskId = id.parse().map_err(|_| Problem::not_found("family", id))?;
    let view = visit.view();
    let root = view.task(id).await?;
    if root.parent.is_some() {
        let to = visit.links.to(&format!("/families/{}", root.root));
        return Ok((StatusCode::FOUND, Redirect::to(&to)).into_response());
    }
    let frame = Frame::of(visit, "/families", format!("{} {}", root.id, root.command)).await?;
    let frame = frame
        .live(&format!("families/{id}"))
        .live(&format!("tasks?root={id}&limit={ROWS_MAX}"))
        .after(actions::done(address));
    let progress = view.progress(id).await?;
    let quiet = address.get("fold") != Some("0");
    let names = Names::of(visit).await?;
    let walk = || {
        let walk = Walk::new(view, &names, frame.now, progress.levels.len());
        walk.folding(address.get("open"), address.get("close"), quiet)
    };
    let mut walked = walk();
    walked.task(root.clone(), 0).await?;
    if walked.is_cut() && address.get("open").is_none() {
        // Too many to draw: the children of the root are a row each, or one together.
        walked = walk().shallow();
        walked.task(root.clone(), 0).await?;
    }
    walked.follow_ups(root.id).await?;
    let walk = walked;
    let shown = match address.get("view") {
        Some("tree") => "tree",
        Some("graph") => "graph",
        _ => "timeline",
    };
    let folding = address.get("idle") != Some("1");
    let window = Window::of(address, began(&root), root.finished_at.unwrap_or(frame.now));
    let axis = match window.shown {
        Some((from, to)) => Axis::new(from, Some(to), frame.now, None),
        None => axis_of(&root, &walk.lines, frame.now, folding),
    };
    let drawing = Drawing {
        links: &visit.links,
        address,
        names: &names,
        axis: (shown == "timeline").then_some(&axis),
        now: frame.now,
    };
    let graph = match shown {
        "graph" => Some(graph::of(view, (&root, &progress.family, &walk.history), &walk.lines, &drawing).await?),
        _ => None,
    };
    let reasons = if root.state.is_terminal() { Vec::new() } else { view.explain(id).await?.reasons };
    let around = Around { links: &visit.links, now: frame.now, here: &address.here, may_act: visit.may_act() };
    let whole = with_root(&root, &progress.family);
    let page = Page {
        id: id.to_string(),
        task_href: visit.links.to(&format!("/tasks/{id}")),
        command_href: visit.links.to(&format!("/families?command={}", words::encoded(root.command.as_str()))),
        command: root.command.to_string(),
        name: Named::task(&root),
        badge: names.badge(&root, frame.now).pill(),
        report: root.report.as_ref().map(report_words).unwrap_or_default(),
        facts: facts(
            &root,
            (&progress.family, progress.levels.len()),
            &workers(&walk.lines, &names),
            (&visit.links, frame.now),
        ),
        bar: (progress.family.total > 0).then(|| whole_bar(&whole, &walk.lines)),
        legend: legend(&root, &whole, &walk.lines, visit),
        whys: why::told(&root, &reasons, around),
        failure: root
            .failure
            .as_ref()
            .filter(|_| root.state == State::Failed)
            .map(|failure| words::shown(&failure.message))
            .unwrap_or_default(),
        asks: if visit.may_act() { asks(visit, &root, &progress.family, address) } else { Vec::new() },
        view: shown,
        views: ["timeline", "tree", "graph"]
            .map(|name| (name, address.with("view", (name != "timeline").then_some(name)), name == shown))
            .into(),
        quiet,
        quiet_href: address.with("fold", quiet.then_some("0")),
        folding,
        fold_href: address.with("idle", folding.then_some("1")),
        scale: if shown == "timeline" {
            Scale::of(&axis, window.shown.map_or_else(|| began(&root), |(from, _)| from), frame.now)
        } else {
            Scale::default()
        },
        graph,
        rows: if shown == "graph" { Vec::new() } else { drawing.rows(&walk.lines) },
        window,
        large: walk.lines.iter().any(|line| matches!(line.what, What::More { .. })),
        frame,
    };
    render(&page)
}

impl Scale {
    pub(crate) fn of(axis: &Axis, start: Timestamp, now: Timestamp) -> Self {
        Self {
            ticks: axis.ticks(),
            folds: axis.folds(),
            now: axis.now().map(percent),
            rate: format!("{:.8}", axis.rate()),
            start: words::near(start, now),
        }
    }
}

/// The axis of one task alone.
pub(crate) fn axis_alone(task: &Task, course: &Course, now: Timestamp) -> Axis {
    let busy: Vec<(i64, i64)> = course.busy(now).collect();
    Axis::new(began(task), task.finished_at, now, Some(&busy))
}

fn axis_of(root: &Task, lines: &[TreeRow], now: Timestamp, folding: bool) -> Axis {
    let mut busy = Vec::new();
    for line in lines {
        match &line.what {
            What::ByCommand(children) => busy.extend(children.course.busy(now)),
            What::One { course, .. } | What::After { course, .. } => busy.extend(course.busy(now)),
            What::Fan { courses, .. } | What::Quiet { courses, .. } => {
                busy.extend(courses.iter().flat_map(|course| course.busy(now)));
            }
            What::More { .. } | What::MoreAfter { .. } | What::Cut => {}
        }
    }
    // A follow-up that has run ends after its family.
    let after: Vec<&Task> = lines.iter().filter_map(after).filter(|task| task.first_started_at.is_some()).collect();
    let goes_on = root.finished_at.is_none() || after.iter().any(|task| task.finished_at.is_none());
    let end = after.iter().filter_map(|task| task.finished_at).chain(root.finished_at).max().filter(|_| !goes_on);
    let drawn_all = !lines.iter().any(|line| matches!(line.what, What::More { .. }));
    Axis::new(began(root), end, now, (folding && drawn_all).then_some(busy.as_slice()))
}

/// The follow-up that a row is about.
fn after(line: &TreeRow) -> Option<&Task> {
    match &line.what {
        What::After { task, .. } => Some(task),
        _ => None,
    }
}

/// The workers that run its tasks now, as far as those are rows.
fn workers(lines: &[TreeRow], names: &Names) -> Vec<String> {
    let running = lines.iter().filter_map(|line| match &line.what {
        What::One { task, .. } if task.state == State::Running => task.worker,
        _ => None,
    });
    let workers: BTreeSet<String> = running.map(|worker| names.name(worker)).collect();
    workers.into_iter().take(4).collect()
}

fn facts(
    root: &Task,
    (family, generations): (&Tally, usize),
    workers: &[String],
    (links, now): (&Links, Timestamp),
) -> Vec<Fact> {
    let fact = |words: &str, strong: String| Fact { words: words.to_owned(), strong, time: None, href: String::new() };
    let timed = |words: &str, time: Moment| Fact { time: Some(time), ..fact(words, String::new()) };
    let began = began(root);
    let mut facts = vec![fact("", words::many(family.total + 1, "task", "tasks"))];
    if generations > 0 {
        facts.push(fact("in", words::many(generations as u64 + 1, "generation", "generations")));
    }
    match root.finished_at {
        Some(end) => facts.push(timed("took", Moment::took(began, end))),
        None if root.started_at.is_some() => facts.push(timed("for", Moment::lasting(began, now))),
        None => {}
    }
    if let (Some(end), true) = (root.finished_at, family.total >= PACE_FROM) {
        let pace = family.total as f64 / end.since(began).as_secs_f64().max(0.001);
        facts.push(fact("", format!("{} a second", words::count(pace.round() as u64))));
    }
    if !workers.is_empty() {
        facts.push(fact("on", words::listed(workers)));
    }
    let href = links.to(&format!("/queues/{}", words::encoded(root.queue.as_str())));
    facts.push(Fact { href, ..fact("queue", root.queue.to_string()) });
    facts.push(timed("created", Moment::clock(root.created_at, now)));
    if let Some(end) = root.finished_at {
        facts.push(timed("ended", Moment::clock(end, now)));
    }
    facts
}

/// The tasks of a family by state, in the order of its bar: class, word, state and number. Of the open ones it is told what they do
/// as far as rows tell; the others pend, or are not told apart.
fn states(family: &Tally, lines: &[TreeRow]) -> [(&'static str, &'static str, State, u64); 7] {
    use self::course::Phase;
    let (mut running, mut waiting, mut held) = (0, 0, 0);
    for line in lines {
        let What::One { task, course, .. } = &line.what else { continue };
        match course.stretches.last() {
            Some(last) if last.phase == Phase::Running => running += 1,
            Some(last) if last.phase == Phase::Waiting && last.to.is_none() => waiting += 1,
            _ if task.state == State::Pending && course.is_held() => held += 1,
            _ => {}
        }
    }
    let mut open = family.open();
    let mut of_open = |many: u64| {
        let many = many.min(open);
        open -= many;
        many
    };
    let (running, waiting, held) = (of_open(running), of_open(waiting), of_open(held));
    [
        ("completed", "completed", State::Completed, family.completed),
        ("running", "running", State::Running, running),
        ("waiting", "waiting", State::Waiting, waiting),
        ("held", "held up", State::Pending, held),
        ("pending", "pending", State::Pending, open),
        ("cancelled", "cancelled", State::Cancelled, family.cancelled),
        ("failed", "failed", State::Failed, family.failed),
    ]
}

fn whole_bar(family: &Tally, lines: &[TreeRow]) -> Bar {
    Bar::of(&states(family, lines).map(|(class, word, _, many)| (class, word, many)), family.total)
}

fn legend(
    root: &Task,
    family: &Tally,
    lines: &[TreeRow],
    visit: &Visit,
) -> Vec<(&'static str, String, String, String)> {
    let href = |state: State| visit.links.to(&format!("/tasks?root={}&state={state}", root.id));
    states(family, lines)
        .into_iter()
        .filter(|(.., many)| *many > 0)
        .map(|(class, word, state, many)| (class, words::count(many), word.to_owned(), href(state)))
        .collect()
}

fn asks(visit: &Visit, root: &Task, family: &Tally, address: &Address) -> Vec<Ask> {
    let ask = |verb, words: String| Ask::new(&visit.links, verb, words, &address.here).field("task", &root.id);
    let mut asks = Vec::new();
    for signal in &root.signals {
        asks.push(ask("signal", format!("Send {}…", words::short(signal.as_ref(), 24))).field("name", signal));
    }
    match root.state {
        State::Failed if family.total > 0 => {
            asks.push(
                ask("retry-family", format!("Retry {} failed…", words::count(family.failed.max(1)))).key("retry"),
            );
        }
        State::Failed | State::Cancelled if family.total == 0 => {
            asks.push(ask("retry", "Retry…".to_owned()).key("retry"));
        }
        _ => {}
    }
    if !root.state.is_terminal() {
        asks.push(ask("cancel", "Cancel family…".to_owned()).danger().key("cancel"));
    }
    asks
}
