//! Tasks: a list whose filter is the address, in pages that cost the same wherever they begin.

use askama::Template;
use axum::response::Response;
use kinfolk_core::inspect::{Matches, Stats};
use kinfolk_core::{State, Task, Timestamp};

use super::frame::Frame;
use super::going::{Going, Names};
use super::part::{Badge, Bar, Moment, Named, words};
use super::place::{Place, addressed};
use super::query::{self, Chip};
use super::{actions, render, show};
use crate::link::Links;
use crate::problem::Problem;
use crate::visit::Visit;

/// Tasks on one page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "tasks.html")]
struct Page {
    frame: Frame,
    heading: &'static str,
    matching: String,
    chips: Vec<Chip>,
    hidden: Vec<(String, String)>,
    clear: String,
    facets: Vec<Facet>,
    rows: Vec<Row>,
    next: Option<String>,
    first: Option<String>,
    back: String,
    may_act: bool,
    families: bool,
}

/// A state to choose.
struct Facet {
    badge: Option<Badge>,
    count: Option<String>,
    href: String,
    current: bool,
}

/// A task in the list.
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) href: String,
    pub(crate) badge: Badge,
    pub(crate) name: Named,
    pub(crate) queue: String,
    pub(crate) attempt: String,
    pub(crate) going: Going,
    pub(crate) created: Moment,
    pub(crate) bar: Option<Bar>,
}

impl Row {
    /// The row of a task.
    pub(crate) fn of(task: &Task, names: &Names, links: &Links, now: Timestamp) -> Self {
        Self {
            id: task.id.to_string(),
            href: links.to(&format!("/tasks/{}", task.id)),
            badge: Badge::of(task),
            name: Named::command(&task.command),
            queue: task.queue.to_string(),
            attempt: format!("{} of {}", task.attempt, task.max_attempts),
            going: Going::of(task, names, now),
            created: Moment::ago(task.created_at, now),
            bar: None,
        }
    }
}

/// `GET /tasks`
pub(crate) async fn page(visit: Visit, place: Place) -> Response {
    show(&visit, list(&visit, &place, false)).await
}

/// `GET /families`: roots, with how far their families are.
pub(crate) async fn families(visit: Visit, place: Place) -> Response {
    show(&visit, list(&visit, &place, true)).await
}

async fn list(visit: &Visit, place: &Place, families: bool) -> Result<Response, Problem> {
    let (path, heading) = if families { ("/families", "Families") } else { ("/tasks", "Tasks") };
    let mut filter = query::filter(place, PAGE)?;
    filter.roots |= families;
    let view = visit.view();
    let live = addressed("tasks", &query::as_text(place));
    let frame = Frame::of(visit, path, heading).await?.live(&live).after(actions::done(place));
    let names = Names::of(visit).await?;
    let found = view.list(&filter).await?;
    let mut rows = Vec::new();
    for task in &found.tasks {
        let mut row = Row::of(task, &names, &visit.links, frame.now);
        if families {
            row.href = visit.links.to(&format!("/families/{}", task.id));
            let progress = view.progress(task.id).await?;
            row.bar = (progress.family.total > 0).then(|| Bar::tally(&progress.family));
        }
        rows.push(row);
    }
    let stats = view.stats().await?;
    let page = Page {
        heading,
        matching: match matching(&stats, place) {
            Some(total) => words::many(total, "task matches", "tasks match"),
            None => counted_words(view.count(&filter).await?),
        },
        chips: query::chips(place),
        hidden: query::as_text(place),
        clear: visit.links.to(path),
        facets: facets(&stats, place),
        next: found.next.map(|next| place.with("before", Some(&next.to_string()))),
        first: place.get("before").map(|_| place.without(&["before"])),
        back: place.here.clone(),
        may_act: visit.may_act(),
        families,
        rows,
        frame,
    };
    render(&page)
}

/// How many tasks have this state, as far as the counts that are kept can tell: by queue and command.
fn counted(stats: &Stats, place: &Place, state: Option<State>) -> Option<u64> {
    let known = ["state", "queue", "command", "before", "after", "order", "limit"];
    if place.parts().iter().any(|(name, _)| !known.contains(&name.as_str())) {
        return None;
    }
    let fits = |wanted: Option<&str>, given: &str| wanted.is_none_or(|wanted| wanted == given);
    let counts = stats.counts.iter().filter(|count| {
        fits(place.get("queue"), count.queue.as_str())
            && fits(place.get("command"), count.command.as_str())
            && state.is_none_or(|state| state == count.state)
    });
    Some(counts.map(|count| count.tasks).sum())
}

/// How many tasks match, if the counts that are kept can tell.
fn matching(stats: &Stats, place: &Place) -> Option<u64> {
    let words = place.get("state").unwrap_or_default().split(',');
    let states: Vec<State> = words.filter_map(|word| word.parse().ok()).collect();
    match states.as_slice() {
        [] => counted(stats, place, None),
        states => states.iter().map(|state| counted(stats, place, Some(*state))).sum(),
    }
}

fn counted_words(matches: Matches) -> String {
    match (matches.tasks, matches.more) {
        (0, true) => String::new(),
        (tasks, true) => format!("more than {} match", words::count(tasks)),
        (tasks, false) => words::many(tasks, "task matches", "tasks match"),
    }
}

fn facets(stats: &Stats, place: &Place) -> Vec<Facet> {
    let current = place.get("state").unwrap_or_default();
    let at = |state: Option<State>| {
        let word = state.map(|state| state.to_string());
        let bare = place.without(&["before", "after", "state"]);
        let href = match (&word, bare.contains('?')) {
            (None, _) => bare,
            (Some(word), true) => format!("{bare}&state={word}"),
            (Some(word), false) => format!("{bare}?state={word}"),
        };
        Facet {
            badge: state.map(Badge::state),
            count: counted(stats, place, state).map(words::count),
            href,
            current: current == word.as_deref().unwrap_or_default(),
        }
    };
    std::iter::once(at(None)).chain(State::ALL.into_iter().map(|state| at(Some(state)))).collect()
}
