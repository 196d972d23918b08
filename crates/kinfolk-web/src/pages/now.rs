//! Now: what wants a look, how much is going on, what fails, by what tasks are held up, which families are at work, queues and
//! workers.

mod looks;

use askama::Template;
use axum::response::Response;
use kinfolk_core::cause::Causes;
use kinfolk_core::held::Held;
use kinfolk_core::inspect::{Filter, Finding, Stats};
use kinfolk_core::{FailureKind, KeyFilter, KeyView, Queue, State, Timestamp};

use self::looks::Look;
use super::address::Address;
use super::failures::{self, Cause};
use super::frame::Frame;
use super::going::{Going, Names};
use super::minutes::{self, Course};
use super::part::{Badge, Bar, Moment, Named, Spark, Stair, with_root, words};
use super::span::{self, Choice, Span};
use super::tasks::counted_short;
use super::{actions, pending, queues, render, show, workers};
use crate::problem::Problem;
use crate::visit::Visit;

/// Families on the page.
const FAMILIES: usize = 8;
/// Causes on the page.
const CAUSES: usize = 5;
/// The spans that can be looked at.
const SPANS: [Span; 3] = [span::QUARTER, span::ONE_HOUR, span::SIX_HOURS];

#[derive(Template)]
#[template(path = "now.html")]
struct Page {
    frame: Frame,
    heading: String,
    spans: Vec<Choice>,
    last: &'static str,
    looks: Vec<Look>,
    figures: Vec<Figure>,
    stair: Option<Stair>,
    table: Vec<minutes::Row>,
    families: Vec<Family>,
    families_all: String,
    causes: Vec<Cause>,
    causes_all: usize,
    held: Vec<pending::Row>,
    held_more: usize,
    queues: Vec<queues::Row>,
    workers: Vec<workers::Row>,
    alive: u64,
}

struct Figure {
    badge: Badge,
    count: String,
    says: String,
    href: String,
    spark: Option<Spark>,
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

/// What the parts of the page look at, read once.
pub(crate) struct Site {
    pub(crate) stats: Stats,
    pub(crate) held: Vec<Held>,
    pub(crate) queues: Vec<Queue>,
    /// Those behind which tasks wait, the most first.
    pub(crate) keys: Vec<KeyView>,
    pub(crate) workers: Vec<workers::Row>,
    /// What the doctor found that is not as it should be.
    pub(crate) findings: Vec<Finding>,
    /// What failed in this hour and the one before; nothing where no task is older than an hour.
    pub(crate) two_hours: Option<Causes>,
}

impl Site {
    async fn of(visit: &Visit, now: Timestamp) -> Result<Self, Problem> {
        let view = visit.view();
        let blocking = KeyFilter { blocking: true, limit: 100, ..KeyFilter::default() };
        let before = Filter { created_before: Some(now.minus(span::ONE_HOUR.length)), limit: 1, ..Filter::default() };
        let two_hours = async {
            Ok(match view.list(&before).await?.tasks.is_empty() {
                true => None,
                false => Some(view.failures(2 * span::ONE_HOUR.length).await?),
            })
        };
        let (mut keys, two_hours, stats, held, queues, workers, findings) = tokio::try_join!(
            view.keys(&blocking),
            two_hours,
            view.stats(),
            view.held(None),
            view.queues(),
            view.workers(),
            view.doctor(),
        )?;
        keys.retain(|key| key.waiters > 0);
        keys.sort_by_key(|key| std::cmp::Reverse(key.waiters));
        Ok(Self { stats, held, queues, keys, workers: workers::rows(&workers, now), findings, two_hours })
    }
}

impl Site {
    fn facts(&self) -> pending::Facts<'_> {
        let first = self.stats.first_in_line(&self.held).map(|(_, since)| *since).min();
        pending::Facts { held: &self.held, queues: &self.queues, keys: &self.keys, first }
    }
}

/// `GET /`
pub(crate) async fn page(visit: Visit, address: Address) -> Response {
    show(&visit, now(&visit, &address)).await
}

async fn now(visit: &Visit, address: &Address) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/", "Now").await?.live("overview").after(actions::done(address));
    let at = frame.now;
    let span = Span::of(address, span::ONE_HOUR, &SPANS);
    let view = visit.view();
    let (site, found, course) =
        tokio::try_join!(Site::of(visit, at), view.failures(span.length), Course::of(visit, span, at))?;
    let looks = looks::all(visit, address, &site, at);
    let (held, held_more) = pending::rows(site.facts(), &visit.links, at);
    let page = Page {
        heading: heading(looks.len()),
        spans: span.choices(address, &SPANS),
        last: span.last(),
        looks,
        figures: figures(visit, &site, &found, span, &course).await?,
        stair: course.stair(span),
        table: course.table(),
        families: families(visit, at).await?,
        families_all: counted_short(visit.view().count(&at_work(1)).await?),
        causes_all: found.causes.len(),
        causes: failures::rows(visit, &address.here, &found, span).into_iter().take(CAUSES).collect(),
        held,
        held_more,
        queues: queues::rows(visit, &address.here, at).await?,
        alive: site.workers.iter().filter(|worker| worker.alive).count() as u64,
        workers: site.workers,
        frame,
    };
    render(&page)
}

fn heading(looks: usize) -> String {
    let words = ["Nothing wants", "One thing wants", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    match (looks, words.get(looks)) {
        (0 | 1, Some(word)) => format!("{word} a look"),
        (_, Some(word)) => format!("{word} things want a look"),
        (many, None) => format!("{many} things want a look"),
    }
}

async fn figures(
    visit: &Visit,
    site: &Site,
    failed: &Causes,
    span: Span,
    course: &Course,
) -> Result<Vec<Figure>, Problem> {
    let mut figures: Vec<Figure> =
        [State::Running, State::Pending, State::Waiting].map(|state| open_figure(visit, site, state)).into();
    let since = site.stats.now.minus(span.length);
    let last = format!("in the last {}", span.last());
    let encoded = words::encoded(&words::iso(since));
    let href = |state: State| visit.links.to(&format!("/tasks?state={state}&finished_after={encoded}"));
    figures.push(Figure {
        badge: Badge::state(State::Completed),
        count: counted_short(visit.view().count(&ended(State::Completed, since)).await?),
        says: format!("{last}, {} a minute", course.a_minute(None)),
        href: href(State::Completed),
        spark: course.spark("completed", None, |figures| figures.completed),
    });
    figures.push(Figure {
        badge: Badge::RETRIED,
        count: words::count(course.whole(None).retried),
        says: format!("attempts that failed {last} and are made again"),
        href: visit.links.to("/tasks?state=pending"),
        spark: course.spark("held", None, |figures| figures.retried),
    });
    let by_child = Filter { failure_kind: Some(FailureKind::Children), ..ended(State::Failed, since) };
    let by_child = visit.view().count(&by_child).await?.tasks;
    let by_itself: u64 = failed.causes.iter().map(|cause| cause.tasks).sum();
    figures.push(Figure {
        badge: Badge::state(State::Failed),
        count: counted_short(visit.view().count(&ended(State::Failed, since)).await?),
        says: match by_child {
            0 => last,
            child => {
                format!("{last}: {} by themselves, {} because of a child", words::count(by_itself), words::count(child))
            }
        },
        href: href(State::Failed),
        spark: course.spark("failed", None, |figures| figures.failed),
    });
    Ok(figures)
}

/// How many tasks are in a state that is no end.
fn open_figure(visit: &Visit, site: &Site, state: State) -> Figure {
    let count = counted_short(site.stats.tasks_in(None, state));
    let says = match state {
        State::Running => format!("on {}", words::many(site.stats.workers, "worker", "workers")),
        State::Pending => pending::Sums::of(&site.held).words(),
        _ => "for children, a signal or a time".to_owned(),
    };
    let href = visit.links.to(&format!("/tasks?state={state}"));
    Figure { badge: Badge::state(state), count, says, href, spark: None }
}

/// What ended so since then.
fn ended(state: State, since: Timestamp) -> Filter {
    Filter { state: vec![state], finished_after: Some(since), ..Filter::default() }
}

/// Families at work.
fn at_work(limit: usize) -> Filter {
    let state = vec![State::Running, State::Waiting];
    Filter { state, roots: true, has_children: Some(true), limit, ..Filter::default() }
}

async fn families(visit: &Visit, now: Timestamp) -> Result<Vec<Family>, Problem> {
    let view = visit.view();
    let names = Names::of(visit).await?;
    let mut families = Vec::new();
    for root in &view.list(&at_work(FAMILIES)).await?.tasks {
        let below = view.progress(root.id).await?.family;
        let tally = with_root(root, &below);
        families.push(Family {
            id: root.id.to_string(),
            href: visit.links.to(&format!("/families/{}", root.id)),
            badge: names.badge(root, now),
            name: Named::task(root),
            going: Going::of(root, &names, now),
            bar: Bar::family(root, &below),
            done: format!("{} of {}", words::count(tally.ended()), words::count(tally.total)),
            since: Moment::lasting(root.position.max(root.created_at).min(now), now),
        });
    }
    Ok(families)
}
