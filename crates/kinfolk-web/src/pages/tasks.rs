//! Tasks: a list whose filter is the address, in pages that cost the same wherever they begin.

mod leaf;

use askama::Template;
use axum::response::Response;
use kinfolk_core::inspect::{Filter, Matches, Order};
use kinfolk_core::operate::Action;
use kinfolk_core::{CommandName, State, Task, Timestamp};

use self::leaf::Leaf;
use super::address::{Address, addressed};
use super::frame::Frame;
use super::going::{Going, Names};
use super::part::{Badge, Bar, Moment, Named, words};
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
    counts: Option<Counts>,
    counts_href: String,
    rows: Vec<Row>,
    leaf: Leaf,
    order: &'static str,
    turned: String,
    every: Vec<(String, &'static str, bool)>,
    query: String,
    back: String,
    may_act: bool,
    families: bool,
}

/// The tasks that match, by command, the most first.
struct Counts {
    rows: Vec<Count>,
    more: bool,
    list: String,
}

/// How many tasks of a command match.
struct Count {
    name: Named,
    tasks: String,
    bar: Bar,
    href: String,
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
            badge: names.badge(task, now),
            name: Named::task(task),
            queue: task.queue.to_string(),
            attempt: format!("{} of {}", task.present_attempt(), task.max_attempts),
            going: Going::of(task, names, now),
            created: Moment::ago(task.created_at, now),
            bar: None,
        }
    }
}

/// `GET /tasks`
pub(crate) async fn page(visit: Visit, address: Address) -> Response {
    show(&visit, list(&visit, &address, false)).await
}

/// `GET /families`: roots, with how far their families are.
pub(crate) async fn families(visit: Visit, address: Address) -> Response {
    show(&visit, list(&visit, &address, true)).await
}

async fn list(visit: &Visit, address: &Address, families: bool) -> Result<Response, Problem> {
    let (path, heading) = if families { ("/families", "Families") } else { ("/tasks", "Tasks") };
    let mut filter = query::filter(address, PAGE)?;
    filter.roots |= families;
    let view = visit.view();
    let live = addressed("tasks", &query::as_text(address));
    let frame = Frame::of(visit, path, heading).await?.live(&live).after(actions::done(address));
    let names = Names::of(visit).await?;
    let leaf = Leaf::turn(visit, address, &filter).await?;
    let mut rows = Vec::new();
    for task in &leaf.tasks {
        let mut row = Row::of(task, &names, &visit.links, frame.now);
        if families {
            row.href = visit.links.to(&format!("/families/{}", task.id));
            let progress = view.progress(task.id).await?;
            row.bar = Bar::family(task, &progress.family);
        }
        rows.push(row);
    }
    let counting = address.get("count") == Some("command") && !families;
    let is_newest = filter.order == Order::Newest;
    let whole = Filter { before: None, after: None, ..filter.clone() };
    let matches = view.count(&whole).await?;
    let page = Page {
        heading,
        matching: format!("{} {}", counted_words(matches), if matches.tasks == 1 { "matches" } else { "match" }),
        chips: query::chips(address),
        hidden: query::as_text(address),
        clear: visit.links.to(path),
        counts: if counting { Some(counts(visit, address, &whole).await?) } else { None },
        counts_href: if families { String::new() } else { address.with("count", Some("command")) },
        facets: facets(visit, address, &whole).await?,
        order: if is_newest { "newest first" } else { "oldest first" },
        turned: Address::at(&address.without(&["before", "after"])).with("order", is_newest.then_some("oldest")),
        every: if visit.may_act() && !families { every(visit, address, &filter, matches) } else { Vec::new() },
        query: addressed("", &query::as_text(address)),
        back: address.here.clone(),
        may_act: visit.may_act(),
        families,
        leaf,
        rows,
        frame,
    };
    render(&page)
}

async fn counts(visit: &Visit, address: &Address, filter: &Filter) -> Result<Counts, Problem> {
    let mut found = visit.view().count_by_command(filter).await?;
    found.counts.sort_by_key(|(_, tasks)| std::cmp::Reverse(*tasks));
    let most = found.counts.first().map_or(1, |(_, tasks)| *tasks);
    let bare = Address::at(&address.without(&["count", "before", "after"]));
    let count = |(command, tasks): &(CommandName, u64)| Count {
        name: Named::command(command),
        tasks: words::count(*tasks),
        bar: Bar::of(&[("pending", "tasks", *tasks)], most),
        href: bare.with("command", Some(command.as_str())),
    };
    Ok(Counts { rows: found.counts.iter().map(count).collect(), more: found.more, list: bare.here })
}

/// What can be done to all that match: the verb, its words, and whether it ends something. Nothing without a filter: a button
/// must not do something to everything there is by mistake.
fn every(visit: &Visit, address: &Address, filter: &Filter, matches: Matches) -> Vec<(String, &'static str, bool)> {
    if query::as_text(address).is_empty() || matches.tasks == 0 {
        return Vec::new();
    }
    let all = [
        (Action::Retry, "retry", "Retry…", false),
        (Action::RunNow, "run-now", "Run now…", false),
        (Action::Cancel, "cancel", "Cancel…", true),
        (Action::Delete, "delete", "Delete…", true),
    ];
    let fits = |action: Action| action.narrowed(filter).is_some() && (action != Action::Delete || visit.may_manage());
    all.into_iter()
        .filter(|(action, ..)| fits(*action))
        .map(|(_, verb, words, ends)| (visit.links.to(&format!("/actions/{verb}")), words, ends))
        .collect()
}

/// `7,815`, or `more than 10,000`.
pub(crate) fn counted_words(matches: Matches) -> String {
    let tasks = words::count(matches.tasks);
    if matches.more { format!("more than {tasks}") } else { tasks }
}

/// `7,815`, or `10,000+`, where there is no room for words.
pub(crate) fn counted_short(matches: Matches) -> String {
    let tasks = words::count(matches.tasks);
    if matches.more { format!("{tasks}+") } else { tasks }
}

/// The states to choose from. How many of each there are is told where an index can count them.
async fn facets(visit: &Visit, address: &Address, filter: &Filter) -> Result<Vec<Facet>, Problem> {
    let current = address.get("state").unwrap_or_default();
    let countable = filter.failure_text.is_none() && filter.payload.is_none();
    let mut facets = Vec::new();
    for state in std::iter::once(None).chain(State::ALL.into_iter().map(Some)) {
        let word = state.map(|state| state.to_string());
        let of_state = Filter { state: state.into_iter().collect(), ..filter.clone() };
        facets.push(Facet {
            badge: state.map(Badge::state),
            count: if countable { Some(visit.view().count(&of_state).await?) } else { None }.map(counted_short),
            href: Address::at(&address.without(&["before", "after"])).with("state", word.as_deref()),
            current: current == word.as_deref().unwrap_or_default(),
        });
    }
    Ok(facets)
}
