//! What is around every page: the bar at the top with its badges, and the line at the foot.

use std::time::Duration;

use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::{KeyFilter, State, Timestamp};

use super::part::words;
use crate::assets;
use crate::link::Links;
use crate::problem::Problem;
use crate::visit::Visit;

/// The pages in the bar: address, name.
const PAGES: [(&str, &str); 8] = [
    ("/", "Now"),
    ("/tasks", "Tasks"),
    ("/families", "Families"),
    ("/failures", "Failures"),
    ("/groups", "Groups"),
    ("/queues", "Queues"),
    ("/workers", "Workers"),
    ("/schedules", "Schedules"),
];

/// Everything that the frame of a page shows.
pub(crate) struct Frame {
    pub(crate) links: Links,
    pub(crate) title: String,
    /// The stream of changes that concern this page; `None` for a page that has none.
    pub(crate) events: Option<String>,
    /// What was just done, in a sentence.
    pub(crate) done: Option<String>,
    pub(crate) now: Timestamp,
    page: &'static str,
    kind: &'static str,
    who: String,
    badges: Vec<(&'static str, Badge)>,
}

/// An entry of the bar.
pub(crate) struct Entry {
    pub(crate) href: String,
    pub(crate) name: &'static str,
    pub(crate) current: bool,
    pub(crate) badge: Option<Badge>,
}

/// A badge behind an entry: there is something to be done.
#[derive(Clone)]
pub(crate) struct Badge {
    pub(crate) class: &'static str,
    pub(crate) words: String,
    pub(crate) title: &'static str,
}

impl Frame {
    /// The frame of a page, which belongs under this entry of the bar.
    pub(crate) async fn of(visit: &Visit, page: &'static str, title: impl Into<String>) -> Result<Self, Problem> {
        let view = visit.view();
        let now = view.now().await?;
        let mut badges = Vec::new();
        let failed = Filter {
            state: vec![State::Failed],
            finished_after: Some(now.minus(Duration::from_secs(3_600))),
            ..Filter::default()
        };
        let blocking = KeyFilter { blocking: true, limit: 100, ..KeyFilter::default() };
        let (failed, full, queues) = tokio::try_join!(view.count(&failed), view.keys(&blocking), view.queues())?;
        if failed.tasks > 0 {
            let words = if failed.more { "10,000+".to_owned() } else { words::count(failed.tasks) };
            badges.push(("/failures", Badge { class: "failed", words, title: "failed in the last hour" }));
        }
        let full = full.iter().filter(|key| key.waiters > 0).count() as u64;
        if full > 0 {
            badges.push(("/groups", Badge { class: "held", words: words::count(full), title: "keys hold tasks up" }));
        }
        let paused = queues.iter().filter(|queue| queue.paused_at.is_some()).count() as u64;
        if paused > 0 {
            badges.push(("/queues", Badge { class: "held", words: words::count(paused), title: "paused" }));
        }
        Ok(Self { now, badges, ..Self::bare(visit, page, title) })
    }

    /// A frame that asks the store nothing.
    pub(crate) fn bare(visit: &Visit, page: &'static str, title: impl Into<String>) -> Self {
        let kind = match visit.app.store.kind() {
            "postgres" => "PostgreSQL",
            "sqlite" => "SQLite",
            other => other,
        };
        Self {
            links: visit.links.clone(),
            title: title.into(),
            events: None,
            done: None,
            now: Timestamp::from(jiff::Timestamp::now()),
            page,
            kind,
            who: visit.caller_words(),
            badges: Vec::new(),
        }
    }

    /// The same, kept current by this stream too.
    #[must_use]
    pub(crate) fn live(mut self, subject: &str) -> Self {
        let stream = self.links.to(&format!("/api/v1/live/{subject}"));
        self.events = Some(self.events.map_or_else(|| stream.clone(), |others| format!("{others} {stream}")));
        self
    }

    /// The same, with what the address says was just done.
    #[must_use]
    pub(crate) fn after(mut self, done: Option<String>) -> Self {
        self.done = done;
        self
    }

    pub(crate) fn pages(&self) -> Vec<Entry> {
        let entry = |&(path, name): &(&'static str, &'static str)| Entry {
            href: self.links.to(path),
            name,
            current: path == self.page,
            badge: self.badges.iter().find(|(of, _)| *of == path).map(|(_, badge)| badge.clone()),
        };
        PAGES.iter().map(entry).collect()
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now.as_micros() / 1_000
    }

    /// What the script compares after a restart: another build has other templates.
    pub(crate) fn build(&self) -> String {
        format!("{}{}", assets::digest("kinfolk.js"), assets::digest("kinfolk.css"))
    }

    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(crate) fn clock(&self) -> String {
        words::clock(self.now)
    }

    pub(crate) fn exact(&self) -> String {
        format!("{} UTC", words::near(self.now, self.now))
    }

    pub(crate) fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    pub(crate) fn who(&self) -> &str {
        &self.who
    }
}

/// Most rows that any list on a page has.
pub(crate) const ROWS_MAX: usize = if PAGE_MAX < 200 { PAGE_MAX } else { 200 };
