//! One task: why it is not running, its life, its runs, what it recorded, what it runs with, and its kin.

mod relatives;
mod runs;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use kinfolk_core::durable::{Checkpoint, StepKind};
use kinfolk_core::filter::Filter;
use kinfolk_core::{FanOutId, Gate, History, State, Task, TaskId, Timestamp};

use self::relatives::{Cause, RELATIVES_SHOWN, Relative};
use self::runs::RunRow;
use super::address::Address;
use super::ask::Ask;
use super::family::{Course, Scale, Timeline, axis_alone, began, median};
use super::frame::Frame;
use super::going::{Going, Names};
use super::part::{Badge, Bar, JsonTree, Moment, Named, words};
use super::why::{self, Around, Why};
use super::{actions, render, show};
use crate::problem::Problem;
use crate::visit::Visit;

/// Completed tasks of a command by which it is told how long they usually take; of fewer than the least nothing is told.
const SAMPLE: usize = 20;
const SAMPLE_LEAST: usize = 5;
/// Checkpoints that are shown; of more the last ones.
const STEPS_SHOWN: usize = 50;
/// Runs that are shown; of more the last ones.
const RUNS_SHOWN: usize = 50;

#[derive(Template)]
#[template(path = "task.html")]
struct Page {
    frame: Frame,
    id: String,
    name: Named,
    badge: Badge,
    going: Going,
    crumbs: Vec<(String, String)>,
    asks: Vec<Ask>,
    whys: Vec<Why>,
    why_words: String,
    why_class: &'static str,
    timeline: Timeline,
    scale: Scale,
    life: String,
    runs: Vec<RunRow>,
    runs_hidden: usize,
    failure: Option<FailureCard>,
    causes: Vec<Cause>,
    steps: Vec<StepRow>,
    steps_words: String,
    payload: JsonTree,
    result: Option<JsonTree>,
    no_result: &'static str,
    facts: Vec<Fact>,
    family_href: String,
    family_bar: Option<Bar>,
    relatives: Vec<Relative>,
    relatives_more: Option<(String, String)>,
}

struct FailureCard {
    kind: &'static str,
    message: String,
    detail: Option<JsonTree>,
}

struct StepRow {
    number: usize,
    kind: &'static str,
    name: String,
    value: String,
    href: String,
}

struct Fact {
    name: &'static str,
    words: String,
    time: Option<Moment>,
    href: String,
}

/// `GET /tasks/{id}`
pub(crate) async fn page(visit: Visit, address: Address, Path(id): Path<String>) -> Response {
    show(&visit, task(&visit, &address, &id)).await
}

async fn task(visit: &Visit, address: &Address, id: &str) -> Result<Response, Problem> {
    let id: TaskId = id.parse().map_err(|_| Problem::not_found("task", id))?;
    let view = visit.view();
    let task = view.task(id).await?;
    let frame = Frame::of(visit, "/tasks", format!("{} {}", task.id, task.command)).await?;
    let frame = frame.live(&format!("tasks/{id}")).after(actions::done(address));
    let now = frame.now;
    let names = Names::of(visit).await?;
    let runs = view.runs(std::slice::from_ref(&task)).await?;
    let history = if task.steps > 0 { view.history(id).await? } else { History::default() };
    let reasons = if task.state.is_terminal() { Vec::new() } else { view.explain(id).await?.reasons };
    let progress = view.progress(id).await?;
    let course = Course::of(&task, &runs, &names, now).with_steps(&history);
    let axis = axis_alone(&task, &course, now);
    let around = Around { links: &visit.links, now, here: &address.here, may_act: visit.may_act() };
    let whys = why::told(&task, &reasons, around);
    let tally = view.tally(id).await?;
    let page = Page {
        id: id.to_string(),
        name: Named::task(&task),
        badge: names.badge(&task, now).pill(),
        going: Going::of(&task, &names, now),
        crumbs: crumbs(visit, &task),
        asks: if visit.may_act() { asks(visit, &task, tally.total, address) } else { Vec::new() },
        why_words: match whys.len() {
            0 | 1 => String::new(),
            many => format!("{many} reasons, each enough by itself"),
        },
        why_class: names.badge(&task, now).class,
        whys,
        timeline: Timeline::of(&course, &axis, None),
        scale: Scale::of(&axis, began(&task), now),
        life: life(&task, now),
        runs: runs.iter().rev().take(RUNS_SHOWN).map(|run| RunRow::of(run, &task, &names, now)).collect(),
        runs_hidden: runs.len().saturating_sub(RUNS_SHOWN),
        causes: relatives::causes(visit, &task).await?,
        failure: task.failure.as_ref().map(|failure| FailureCard {
            kind: failure.kind.as_str(),
            message: words::shown(&failure.message),
            detail: failure.detail.as_ref().map(JsonTree::of),
        }),
        steps: steps(visit, &history),
        steps_words: format!("{} recorded; they are not done again", words::count(u64::from(task.steps))),
        payload: JsonTree::of(&task.payload),
        result: task.result.as_ref().map(JsonTree::of),
        no_result: match task.state {
            State::Completed => "None.",
            State::Failed | State::Cancelled => "None: it did not complete.",
            _ => "None yet. It is here when the task has completed.",
        },
        facts: facts(visit, &task, now).into_iter().chain(usual(visit, &task).await?).collect(),
        family_href: visit.links.to(&format!("/families/{}", task.root)),
        family_bar: Bar::family(&task, &progress.family),
        relatives: relatives::relatives(visit, &task, (&names, now)).await?,
        relatives_more: (tally.total > RELATIVES_SHOWN as u64).then(|| {
            (words::count(tally.total - RELATIVES_SHOWN as u64), visit.links.to(&format!("/tasks?parent={id}")))
        }),
        frame,
    };
    render(&page)
}

fn life(task: &Task, now: Timestamp) -> String {
    let age = words::span(task.finished_at.unwrap_or(now).since(task.created_at));
    format!("{} of {}, {age}", task.present_attempt(), words::many(u64::from(task.max_attempts), "attempt", "attempts"))
}

/// How long tasks of this command usually take, while this one goes on: the middle of the last ones that completed.
async fn usual(visit: &Visit, task: &Task) -> Result<Option<Fact>, Problem> {
    if task.state.is_terminal() {
        return Ok(None);
    }
    let (state, command) = (vec![State::Completed], Some(task.command.clone()));
    let last = visit.view().list(&Filter { state, command, limit: SAMPLE, ..Filter::default() }).await?.tasks;
    let took = |task: &Task| Some(task.finished_at?.since(task.first_started_at?).as_micros());
    let took: Vec<u128> = last.iter().filter_map(took).collect();
    let usual = median(&took).filter(|_| took.len() >= SAMPLE_LEAST).map(words::span);
    let words = |usual| format!("{usual}, half of the last {}", took.len());
    Ok(usual.map(|usual| Fact { name: "Usually within", words: words(usual), time: None, href: String::new() }))
}

fn crumbs(visit: &Visit, task: &Task) -> Vec<(String, String)> {
    let mut crumbs = Vec::new();
    if task.parent.is_some() {
        crumbs.push((format!("Family #{}", task.root), visit.links.to(&format!("/families/{}", task.root))));
    }
    if let Some(parent) = task.parent.filter(|parent| *parent != task.root) {
        crumbs.push((format!("Parent #{parent}"), visit.links.to(&format!("/tasks/{parent}"))));
    }
    if let Some(family) = task.follows {
        crumbs.push((format!("After family #{family}"), visit.links.to(&format!("/families/{family}"))));
    }
    crumbs
}

fn asks(visit: &Visit, task: &Task, children: u64, address: &Address) -> Vec<Ask> {
    let ask = |verb, words: &str| Ask::new(&visit.links, verb, words, &address.here).field("task", &task.id);
    let mut asks = Vec::new();
    for signal in &task.signals {
        asks.push(ask("signal", &format!("Send {}…", words::short(signal.as_ref(), 24))).field("name", signal));
    }
    if task.state == State::Pending && task.gate == Some(Gate::Time) {
        asks.push(ask("run-now", "Run now…"));
    }
    match task.state {
        State::Failed if children > 0 => {
            asks.push(ask("retry-family", "Retry what failed in its family…").key("retry"));
        }
        State::Failed | State::Cancelled => asks.push(ask("retry", "Retry…").key("retry")),
        State::Completed => {}
        _ => asks.push(
            ask("cancel", if children > 0 { "Cancel it and its children…" } else { "Cancel…" }).danger().key("cancel"),
        ),
    }
    asks
}

fn steps(visit: &Visit, history: &History) -> Vec<StepRow> {
    let hidden = history.checkpoints.len().saturating_sub(STEPS_SHOWN);
    let shown = history.checkpoints.iter().enumerate().skip(hidden);
    let row = |(index, step): (usize, &Checkpoint)| {
        let fan_out = (step.kind == StepKind::FanOut).then(|| step.value.to::<FanOutId>().ok()).flatten();
        let fan_out = fan_out.and_then(|id| history.fan_outs.iter().find(|fan_out| fan_out.id == id));
        let (value, href) = match fan_out {
            Some(fan_out) if fan_out.tally.total == 1 => {
                let child = history.results.iter().find(|result| result.fan_out == fan_out.id);
                let href = child.map(|child| visit.links.to(&format!("/tasks/{}", child.task))).unwrap_or_default();
                let words =
                    child.map_or_else(|| "not ended".to_owned(), |child| format!("#{} {}", child.task, child.state));
                (words, href)
            }
            Some(fan_out) => {
                let tally = &fan_out.tally;
                let words = format!("{} tasks, {} completed", words::count(tally.total), words::count(tally.completed));
                (words, visit.links.to(&format!("/tasks?fan_out={}", fan_out.id)))
            }
            None => (words::short(step.value.as_str(), 200), String::new()),
        };
        let kind = match (step.kind, fan_out) {
            (StepKind::FanOut, Some(fan_out)) if fan_out.tally.total == 1 => "call",
            (StepKind::FanOut, _) => "fan-out",
            (kind, _) => kind.as_str(),
        };
        StepRow { number: index + 1, kind, name: step.key.to_string(), value, href }
    };
    shown.map(row).collect()
}

fn facts(visit: &Visit, task: &Task, now: Timestamp) -> Vec<Fact> {
    let fact = |name, words: String| Fact { name, words, time: None, href: String::new() };
    let timed = |name, time: Moment| Fact { name, words: String::new(), time: Some(time), href: String::new() };
    let queue = visit.links.to(&format!("/queues/{}", words::encoded(task.queue.as_str())));
    let mut facts = vec![
        Fact { href: queue, ..fact("Queue", task.queue.to_string()) },
        fact("Priority", task.priority.to_string()),
    ];
    for (group, key) in &task.keys.0 {
        facts.push(fact("Key", format!("{group} = {}", words::short(key, 200))));
    }
    if let Some(key) = &task.unique_key {
        facts.push(fact("Unique key", words::short(key, 200)));
    }
    if let Some(maker) = task.made_by {
        let href = visit.links.to(&format!("/tasks/{maker}"));
        facts.push(Fact { href, ..fact("Made by", format!("#{maker}, as a follow-up")) });
    }
    facts.push(timed("Created", Moment::ago(task.created_at, now)));
    if task.state == State::Pending {
        facts.push(timed("Due", Moment::until(task.due, now)));
    }
    if let Some(started) = task.first_started_at {
        facts.push(timed("Started", Moment::ago(started, now)));
    }
    if let Some(finished) = task.finished_at {
        facts.push(timed("Ended", Moment::ago(finished, now)));
    }
    if let Some(timeout) = task.timeout {
        facts.push(fact("Timeout", format!("{} an attempt", words::span(timeout))));
    }
    if task.suspect {
        facts.push(fact("Suspect", format!("its worker was lost; {} strikes", task.strikes)));
    }
    if let Some(trace) = &task.trace {
        facts.push(fact("Trace", words::short(trace, 60)));
    }
    facts
}
