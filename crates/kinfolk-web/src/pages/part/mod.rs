//! The parts that pages are made of. Each writes its own markup and escapes every text in it, so it may stand in a template as
//! it is.

mod bar;
mod chart;
mod json;
mod trend;
pub(crate) mod words;

use askama::Template;
use askama::filters::HtmlSafe;
use kinfolk_core::{CommandName, Gate, State, Task, Timestamp};

pub(crate) use self::bar::{Bar, with_root};
pub(crate) use self::chart::{Spark, Stair};
pub(crate) use self::json::JsonTree;
pub(crate) use self::trend::Trend;

/// A state as a shape and a word.
#[derive(Clone, Copy, Template)]
#[template(
    ext = "html",
    source = r##"<span class="badge{% if pill %} pill{% endif %} {{ class }}"><svg class="shape" aria-hidden="true"><use href="#{{ shape }}"/></svg>{{ word }}</span>"##
)]
pub(crate) struct Badge {
    pub(crate) class: &'static str,
    pub(crate) shape: &'static str,
    pub(crate) word: &'static str,
    pill: bool,
}

/// A moment or a span, with the exact time as its title. The script keeps those current that are told by the clock.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<time datetime="{{ iso }}" title="{{ exact }}"{% if let Some(live) = live %} data-at="{{ at }}" data-as="{{ live }}"{% endif %}>{{ words }}</time>"#
)]
pub(crate) struct Moment {
    iso: String,
    exact: String,
    at: i64,
    live: Option<&'static str>,
    pub(crate) words: String,
}

/// The name of a command: what stands before its last point is light. Of a task, its label behind it.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<bdi class="command">{% if !light.is_empty() %}<i>{{ light }}</i>{% endif %}{{ strong }}</bdi>{% if !label.is_empty() %} <bdi class="label">{{ label }}</bdi>{% endif %}"#
)]
pub(crate) struct Named {
    light: String,
    strong: String,
    label: String,
}

impl HtmlSafe for Badge {}
impl HtmlSafe for Moment {}
impl HtmlSafe for Named {}

impl Badge {
    const fn new(class: &'static str, shape: &'static str, word: &'static str) -> Self {
        Self { class, shape, word, pill: false }
    }

    /// The state of a task, and for a pending one its gate. Whether its queue is paused is known to `Names::badge`.
    pub(crate) fn gate(task: &Task) -> Self {
        match (task.state, task.gate) {
            (State::Pending, Some(Gate::Time)) if task.failure.is_some() => {
                Self::new("held", "s-retry", "Pending, retry")
            }
            (State::Pending, Some(Gate::Time)) => Self::new("pending", "s-later", "Pending, later"),
            (State::Pending, Some(Gate::Limit)) => Self::new("held", "s-held", "Pending, held"),
            (State::Pending, Some(Gate::After)) => Self::new("pending", "s-after", "Pending, after"),
            (State::Waiting, _) if !task.signals.is_empty() => Self::new("waiting", "s-person", "Waiting"),
            (state, _) => Self::state(state),
        }
    }

    /// A state.
    pub(crate) const fn state(state: State) -> Self {
        match state {
            State::Pending => Self::new("pending", "s-pending", "Pending"),
            State::Running => Self::new("running", "s-running", "Running"),
            State::Waiting => Self::new("waiting", "s-waiting", "Waiting"),
            State::Completed => Self::new("completed", "s-completed", "Completed"),
            State::Failed => Self::new("failed", "s-failed", "Failed"),
            State::Cancelled => Self::new("cancelled", "s-cancelled", "Cancelled"),
        }
    }

    /// A pending task that nothing but the pause of its queue holds.
    pub(crate) const PAUSED: Self = Self::new("held", "s-paused", "Pending, paused");

    /// Attempts that failed and are made again.
    pub(crate) const RETRIED: Self = Self::new("held", "s-retry", "Retried");

    /// The same with another word.
    #[must_use]
    pub(crate) const fn says(mut self, word: &'static str) -> Self {
        self.word = word;
        self
    }

    /// The same on a ground, for headings.
    #[must_use]
    pub(crate) const fn pill(mut self) -> Self {
        self.pill = true;
        self
    }
}

impl Moment {
    fn new(at: Timestamp, live: Option<&'static str>, words: String) -> Self {
        Self { iso: words::iso(at), exact: words::exact(at), at: at.as_micros() / 1_000, live, words }
    }

    /// `24 s ago`
    pub(crate) fn ago(at: Timestamp, now: Timestamp) -> Self {
        Self::new(at, Some("ago"), format!("{} ago", words::span(now.since(at))))
    }

    /// `in 52 s`, or `now` when it has come.
    pub(crate) fn until(at: Timestamp, now: Timestamp) -> Self {
        let words = if at <= now { "now".to_owned() } else { format!("in {}", words::span(at.since(now))) };
        Self::new(at, Some("in"), words)
    }

    /// `2 m 37 s`, and counting.
    pub(crate) fn lasting(since: Timestamp, now: Timestamp) -> Self {
        Self::new(since, Some("for"), words::span(now.since(since)))
    }

    /// `2 m 37 s`, from one moment to another.
    pub(crate) fn took(from: Timestamp, to: Timestamp) -> Self {
        Self::new(to, None, words::span(to.since(from)))
    }

    /// `14:31:44`, or the day and the hour for another day.
    pub(crate) fn clock(at: Timestamp, now: Timestamp) -> Self {
        Self::new(at, None, words::near(at, now))
    }
}

impl Named {
    /// `shop.` light, `pack_item` strong.
    pub(crate) fn command(name: &CommandName) -> Self {
        match name.as_str().rsplit_once('.') {
            Some((light, strong)) if !strong.is_empty() => {
                Self { light: format!("{light}."), strong: strong.to_owned(), label: String::new() }
            }
            _ => Self { light: String::new(), strong: name.to_string(), label: String::new() },
        }
    }

    /// The command of a task, and what people call the task.
    pub(crate) fn task(task: &Task) -> Self {
        Self {
            label: task.label().map(|label| words::shown(&label)).unwrap_or_default(),
            ..Self::command(&task.command)
        }
    }
}
