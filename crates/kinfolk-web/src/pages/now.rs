//! Now: what wants a look, how much is going on, what fails, which families are at work, queues and workers.

use askama::Template;
use axum::response::Response;
use kinfolk_core::inspect::{Filter, Stats};
use kinfolk_core::{KeyFilter, State, Timestamp};

use super::ask::Ask;
use super::failures::{self, Cause};
use super::frame::Frame;
use super::going::{Going, Names};
use super::part::{Badge, Bar, Moment, Named, words};
use super::place::Place;
use super::{actions, groups, queues, render, show, workers};
use crate::problem::Problem;
use crate::visit::Visit;

/// Families on the page.
const FAMILIES: usize = 8;
/// Causes on the page.
const CAUSES: usize = 4;

#[derive(Template)]
#[template(path = "now.html")]
struct Page {
    frame: Frame,
    heading: String,
    looks: Vec<Look>,
    figures: Vec<Figure>,
    families: Vec<Family>,
    causes: Vec<Cause>,
    causes_all: usize,
    queues: Vec<queues::Row>,
    workers: Vec<workers::Row>,
    alive: u64,
}

/// Something that wants a look.
struct Look {
    class: &'static str,
    shape: &'static str,
    before: &'static str,
    what: String,
    after: String,
    since: Option<Moment>,
    href: String,
    see: &'static str,
    ask: Option<Ask>,
}

struct Figure {
    badge: Badge,
    count: String,
    says: String,
    href: String,
}

struct Family {
    id: String,
    href: String,
    badge: Badge,
    name: Named,
    going: Going,
    bar: Option<Bar>,
    done: String,
    since: Moment,
}

/// `GET /`
pub(crate) async fn page(visit: Visit, place: Place) -> Response {
    show(&visit, now(&visit, &place)).await
}

async fn now(visit: &Visit, place: &Place) -> Result<Response, Problem> {
    let view = visit.view();
    let frame = Frame::of(visit, "/", "Now").await?.live("overview").after(actions::done(place));
    let at = frame.now;
    let stats = view.stats().await?;
    let queues = queues::rows(visit, &place.here, at).await?;
    let workers: Vec<workers::Row> = view.workers().await?.iter().map(|worker| workers::Row::of(worker, at)).collect();
    let causes = failures::causes(visit, at).await?;
    let looks = looks(visit, place, &stats, &workers, at).await?;
    let page = Page {
        heading: match looks.len() {
            0 => "Nothing wants a look".to_owned(),
            1 => "One thing wants a look".to_owned(),
            many => format!("{} things want a look", spelled(many)),
        },
        looks,
        figures: figures(visit, &stats),
        families: families(visit, at).await?,
        causes_all: causes.len(),
        causes: causes.into_iter().take(CAUSES).collect(),
        alive: workers.iter().filter(|worker| worker.alive).count() as u64,
        queues,
        workers,
        frame,
    };
    render(&page)
}

fn spelled(number: usize) -> String {
    let words = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    words.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

/// What somebody can do something about.
async fn looks(
    visit: &Visit,
    place: &Place,
    stats: &Stats,
    workers: &[workers::Row],
    now: Timestamp,
) -> Result<Vec<Look>, Problem> {
    let view = visit.view();
    let mut looks = Vec::new();
    let pending = |queue: &str| -> u64 {
        let counts = stats.counts.iter().filter(|count| count.queue.as_str() == queue && count.state == State::Pending);
        counts.map(|count| count.tasks).sum()
    };
    for queue in view.queues().await?.iter().filter(|queue| queue.paused_at.is_some()) {
        let by = queue.paused_by.as_ref().map(|by| format!(" by {}", words::short(by, 40))).unwrap_or_default();
        let ask = Ask::new(&visit.links, "resume-queue", "Resume…", &place.here).field("queue", &queue.name);
        looks.push(Look {
            class: "held",
            shape: "s-paused",
            before: "Queue",
            what: queue.name.to_string(),
            after: format!(
                "is paused{by}. {} there.",
                words::many(pending(queue.name.as_str()), "task waits", "tasks wait")
            ),
            since: queue.paused_at.map(|since| Moment::lasting(since, now)),
            href: visit.links.to(&format!("/queues/{}", words::encoded(queue.name.as_str()))),
            see: "",
            ask: visit.may_act().then_some(ask),
        });
    }
    let keys = view.keys(&KeyFilter { blocking: true, limit: 50, ..KeyFilter::default() }).await?;
    let mut keys: Vec<_> = keys.into_iter().filter(|key| key.waiters > 0).collect();
    keys.sort_by_key(|key| std::cmp::Reverse(key.waiters));
    for key in keys.iter().take(3) {
        let slots = match key.limit {
            Some(limit) => format!("has {} of {} slots taken.", words::count(key.held), words::count(u64::from(limit))),
            None => "starts nothing for now.".to_owned(),
        };
        looks.push(Look {
            class: "held",
            shape: "s-held",
            before: "The key",
            what: format!("{} {}", key.group.name, words::short(&key.key, 60)),
            after: format!("{slots} {} behind it.", words::many(key.waiters, "task waits", "tasks wait")),
            since: None,
            href: visit.links.to(&groups::key_path(&key.group, &key.key)),
            see: "Who holds them",
            ask: None,
        });
    }
    if workers.iter().all(|worker| !worker.alive) {
        let open: u64 =
            stats.counts.iter().filter(|count| count.state == State::Pending).map(|count| count.tasks).sum();
        if open > 0 {
            looks.push(Look {
                class: "held",
                shape: "s-lost",
                before: "No",
                what: "worker".to_owned(),
                after: format!("is alive. {} for one.", words::many(open, "task waits", "tasks wait")),
                since: None,
                href: visit.links.to("/workers"),
                see: "See workers",
                ask: None,
            });
        }
    }
    Ok(looks)
}

fn figures(visit: &Visit, stats: &Stats) -> Vec<Figure> {
    let figure = |state: State| {
        let tasks: u64 = stats.counts.iter().filter(|count| count.state == state).map(|count| count.tasks).sum();
        let says = match state {
            State::Running => format!("on {}", words::many(stats.workers, "worker", "workers")),
            State::Pending => match stats.oldest_open.iter().map(|(_, since)| *since).min() {
                Some(first) => format!("first in line for {}", words::span(stats.now.since(first))),
                None => "none in line".to_owned(),
            },
            State::Waiting => "for children, a signal or a time".to_owned(),
            State::Completed | State::Failed | State::Cancelled => "that are still kept".to_owned(),
        };
        Figure {
            badge: Badge::state(state),
            count: words::count(tasks),
            says,
            href: visit.links.to(&format!("/tasks?state={state}")),
        }
    };
    let states = [State::Running, State::Pending, State::Waiting, State::Completed, State::Failed, State::Cancelled];
    states.into_iter().map(figure).collect()
}

async fn families(visit: &Visit, now: Timestamp) -> Result<Vec<Family>, Problem> {
    let view = visit.view();
    let names = Names::of(visit).await?;
    let state = vec![State::Running, State::Waiting];
    let filter = Filter { state, roots: true, has_children: Some(true), limit: FAMILIES, ..Filter::default() };
    let mut families = Vec::new();
    for root in &view.list(&filter).await?.tasks {
        let tally = view.progress(root.id).await?.family;
        families.push(Family {
            id: root.id.to_string(),
            href: visit.links.to(&format!("/families/{}", root.id)),
            badge: Badge::of(root),
            name: Named::command(&root.command),
            going: Going::of(root, &names, now),
            bar: (tally.total > 0).then(|| Bar::tally(&tally)),
            done: format!("{} of {}", words::count(tally.ended()), words::count(tally.total)),
            since: Moment::lasting(root.place.max(root.created_at).min(now), now),
        });
    }
    Ok(families)
}
