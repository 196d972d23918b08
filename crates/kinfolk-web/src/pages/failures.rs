//! Failures by cause: how many, since when, whether they get more, and what can be done about them.

mod common;
pub(crate) mod of_cause;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::response::Response;
use kinfolk_core::cause::{self, Causes};
use kinfolk_core::inspect::Filter;
use kinfolk_core::{FailureKind, State};

use self::common::Common;
use super::address::Address;
use super::ask::Ask;
use super::frame::Frame;
use super::part::{Moment, Named, Trend, words};
use super::span::{self, Choice, Span};
use super::{actions, render, show};
use crate::problem::Problem;
use crate::visit::Visit;

/// The spans that can be looked at.
const SPANS: [Span; 4] = [span::ONE_HOUR, span::ONE_DAY, span::WEEK, span::MONTH];
/// Causes on the page.
const SHOWN: usize = 50;
/// Tasks of a cause that are named where it is unfolded.
const NEWEST: usize = 12;
/// Parts of the span that are the last of it, when it is told whether they get more.
const LAST: usize = cause::TREND_PARTS / 4;

#[derive(Template)]
#[template(path = "failures.html")]
struct Page {
    frame: Frame,
    heading: String,
    spans: Vec<Choice>,
    last: &'static str,
    rows: Vec<Cause>,
    more: usize,
    cut: bool,
    q: String,
    hidden: Vec<(String, String)>,
    worse: (bool, String),
    clear: String,
    asks: bool,
}

/// Tasks that failed for the same reason.
pub(crate) struct Cause {
    pub(crate) id: String,
    pub(crate) count: String,
    pub(crate) text: Text,
    pub(crate) name: Named,
    pub(crate) href: String,
    pub(crate) trend: Trend,
    kind: &'static str,
    tag: String,
    last: Moment,
    first: Moment,
    fold: String,
    ask: Ask,
    open: Option<Open>,
    rise: i128,
}

/// What is told of a cause that is unfolded.
struct Open {
    sample: (String, String),
    attempt: String,
    message: String,
    /// The newest of its tasks, and how many more there are.
    tasks: Vec<(String, String)>,
    more: String,
    common: Common,
}

/// What the messages of a cause have in common; what differs is a box.
#[derive(Clone, Template)]
#[template(
    ext = "html",
    source = r#"<bdi>{% for bit in bits %}{% if bit.0 %}<var>{{ bit.1 }}</var>{% else %}{{ bit.1 }}{% endif %}{% endfor %}</bdi>"#
)]
pub(crate) struct Text {
    bits: Vec<(bool, String)>,
}

impl HtmlSafe for Text {}

impl Text {
    fn of(text: &str) -> Self {
        let mut bits: Vec<(bool, String)> = Vec::new();
        for letter in text.chars() {
            let differs = matches!(letter, '#' | '…');
            match bits.last_mut() {
                Some((false, bit)) if !differs => bit.push(letter),
                _ => bits.push((differs, letter.to_string())),
            }
        }
        Self { bits }
    }
}

/// `GET /failures`
pub(crate) async fn page(visit: Visit, address: Address) -> Response {
    show(&visit, list(&visit, &address)).await
}

async fn list(visit: &Visit, address: &Address) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/failures", "Failures").await?.live("overview").after(actions::done(address));
    let span = Span::of(address, span::ONE_DAY, &SPANS);
    let found = visit.view().failures(span.length).await?;
    let because = Filter {
        state: vec![State::Failed],
        failure_kind: Some(FailureKind::Children),
        finished_after: Some(found.since),
        ..Filter::default()
    };
    let because = visit.view().count(&because).await?.tasks;
    let q = address.get("q").unwrap_or_default().to_lowercase();
    let mut rows = rows(visit, &address.here, &found, span);
    let kept: Vec<bool> = found.causes.iter().map(|cause| says(cause, &q)).collect();
    let mut keep = kept.iter();
    rows.retain(|_| keep.next().copied().unwrap_or_default());
    let worse = address.get("sort") == Some("worse");
    if worse {
        rows.sort_by_key(|row| std::cmp::Reverse(row.rise));
    }
    for row in &mut rows {
        row.fold = address.with("open", (address.get("open") != Some(&row.id)).then_some(&row.id));
    }
    if let Some(open) = address.get("open")
        && let (Some(row), Some(cause)) =
            (rows.iter_mut().find(|row| row.id == open), found.causes.iter().find(|cause| cause.id == open))
    {
        row.open = Some(Open::of(visit, cause, &found).await?);
    }
    let more = rows.len().saturating_sub(SHOWN);
    rows.truncate(SHOWN);
    render(&Page {
        heading: heading(&found, because),
        spans: span.choices(address, &SPANS),
        last: span.last(),
        more,
        cut: found.more,
        q: address.get("q").unwrap_or_default().to_owned(),
        hidden: address.parts().iter().filter(|(name, _)| !["q", "open"].contains(&name.as_str())).cloned().collect(),
        worse: (worse, address.with("sort", (!worse).then_some("worse"))),
        clear: address.without(&["q", "open"]),
        asks: visit.may_act(),
        rows,
        frame,
    })
}

fn heading(found: &Causes, because: u64) -> String {
    let tasks: u64 = found.causes.iter().map(|cause| cause.tasks).sum();
    let causes = words::many(found.causes.len() as u64, "cause", "causes");
    let because = match because {
        0 => String::new(),
        more => format!("; {} more failed because of a child", words::count(more)),
    };
    if tasks == 0 { String::new() } else { format!("{} by {causes}{because}", words::many(tasks, "task", "tasks")) }
}

/// Whether a cause has all these words, in its message or its command.
fn says(cause: &cause::Cause, q: &str) -> bool {
    let text = format!("{} {} {}", cause.command, cause.kind, cause.message).to_lowercase();
    q.split_whitespace().all(|word| text.contains(word))
}

/// All causes as rows.
pub(crate) fn rows(visit: &Visit, here: &str, found: &Causes, span: Span) -> Vec<Cause> {
    found.causes.iter().map(|cause| row(visit, here, cause, found, span)).collect()
}

fn row(visit: &Visit, here: &str, cause: &cause::Cause, found: &Causes, span: Span) -> Cause {
    let now = found.until;
    let id = cause.id.clone();
    let sum = |from: usize| -> u64 { cause.trend.iter().skip(from).take(LAST).sum() };
    let (last, before) = (sum(cause::TREND_PARTS - LAST), sum(cause::TREND_PARTS - 2 * LAST));
    let part = words::span(span.length / 4);
    let tag = match cause.kind {
        FailureKind::Poison => "look at it before it runs again".to_owned(),
        // In a store where nothing failed earlier, everything is new.
        _ if !found.causes.iter().any(|cause| cause.first_at < found.until.minus(span.length / 4)) => String::new(),
        _ if cause.first_at >= found.until.minus(span.length / 4) => format!("new in the last {part}"),
        _ if last >= 3 && last >= 2 * before => format!("{last} in the last {part}, {before} before"),
        _ => String::new(),
    };
    let all = if cause.tasks == 1 {
        "Retry this one…".to_owned()
    } else {
        format!("Retry these {}…", words::count(cause.tasks))
    };
    let ask = Ask::new(&visit.links, "retry-cause", all, here);
    let since = found.since.as_micros();
    Cause {
        count: words::count(cause.tasks),
        text: Text::of(&words::short(&cause.text, 200)),
        name: Named::command(&cause.command),
        href: visit.links.to(&format!("/failures?open={id}")),
        trend: Trend::new(
            &cause.trend,
            format!("{} in the last {}, {last} of them in the last {part}", words::count(cause.tasks), span.last()),
        ),
        kind: kind_words(cause.kind),
        tag,
        last: Moment::ago(cause.last_at, now),
        first: Moment::ago(cause.first_at, now),
        fold: String::new(),
        ask: ask
            .field("command", &cause.command)
            .field("kind", &cause.kind)
            .field("text", &cause.text)
            .field("since", &since)
            .field("until", &found.until.as_micros()),
        open: None,
        rise: i128::from(last) - i128::from(before),
        id,
    }
}

impl Open {
    async fn of(visit: &Visit, cause: &cause::Cause, found: &Causes) -> Result<Self, Problem> {
        let tasks =
            of_cause::tasks(visit, &of_cause::Wanted::of(cause, found.since, found.until), common::LOOKED_AT).await?;
        let sample = tasks.iter().find(|task| task.id == cause.sample);
        Ok(Self {
            sample: (cause.sample.to_string(), visit.links.to(&format!("/tasks/{}", cause.sample))),
            attempt: sample
                .map(|task| format!(", attempt {} of {}", task.attempt, task.max_attempts))
                .unwrap_or_default(),
            message: words::start(&cause.message, 2_000),
            more: match cause.tasks.saturating_sub(NEWEST as u64) {
                0 => String::new(),
                more => format!("and {} more", words::count(more)),
            },
            tasks: tasks
                .iter()
                .take(NEWEST)
                .map(|task| (task.id.to_string(), visit.links.to(&format!("/tasks/{}", task.id))))
                .collect(),
            common: Common::of(&tasks),
        })
    }
}

/// What sort of failure, in words.
fn kind_words(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Validation => "not to be retried",
        FailureKind::Lost => "its worker was lost",
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_a_box_and_nothing_becomes_markup() {
        let text = Text::of("no # for \"…\" <b>").render().unwrap();
        assert_eq!(text, "<bdi>no <var>#</var> for &#34;<var>…</var>&#34; &#60;b&#62;</bdi>");
    }
}
