//! `kinfolk minutes`: what workers did, by queue and command.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk_core::limits::MINUTES_KEPT;
use kinfolk_core::minute::{Figures, Minute};
use kinfolk_core::{InputError, Timestamp};
use serde::Serialize;

use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::view::millis;
use crate::session::Session;
use crate::span;

/// `kinfolk minutes`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// In the last so long
    #[arg(long, value_name = "SPAN", default_value = "1h", value_parser = parse_span)]
    span: Duration,
}

/// A span for which the figures are kept.
fn parse_span(text: &str) -> Result<Duration, InputError> {
    match span::parse(text)? {
        span if span > MINUTES_KEPT => {
            Err(InputError::Other(format!("the figures of {} are kept", span::show(MINUTES_KEPT))))
        }
        span => Ok(span),
    }
}

/// One minute of one command on one queue, in JSON.
#[derive(Serialize)]
struct Part<'a> {
    minute_at: Timestamp,
    queue: &'a str,
    command: &'a str,
    started: u64,
    #[serde(serialize_with = "millis")]
    waited_ms: Option<Duration>,
    #[serde(serialize_with = "millis")]
    waited_max_ms: Option<Duration>,
    completed: u64,
    failed: u64,
    retried: u64,
    cancelled: u64,
    suspended: u64,
    #[serde(serialize_with = "millis")]
    ran_ms: Option<Duration>,
    #[serde(serialize_with = "millis")]
    ran_max_ms: Option<Duration>,
}

impl<'a> From<&'a Minute> for Part<'a> {
    fn from(minute: &'a Minute) -> Self {
        let figures = &minute.figures;
        Self {
            minute_at: minute.at,
            queue: minute.queue.as_str(),
            command: minute.command.as_str(),
            started: figures.started,
            waited_ms: Some(figures.waited),
            waited_max_ms: Some(figures.waited_max),
            completed: figures.completed,
            failed: figures.failed,
            retried: figures.retried,
            cancelled: figures.cancelled,
            suspended: figures.suspended,
            ran_ms: Some(figures.ran),
            ran_max_ms: Some(figures.ran_max),
        }
    }
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let minutes = session.open().await?.minutes(args.span).await?;
    let parts: Vec<Part<'_>> = minutes.iter().map(Into::into).collect();
    session.out.list(&parts, "no worker did anything", || table_of(&minutes))
}

fn table_of(minutes: &[Minute]) -> Table {
    let mut lines: BTreeMap<(&str, &str), Figures> = BTreeMap::new();
    for minute in minutes {
        let line = lines.entry((minute.queue.as_str(), minute.command.as_str())).or_default();
        *line = line.plus(&minute.figures);
    }
    let headings = [
        "queue",
        "command",
        "started",
        "waited",
        "at most",
        "completed",
        "failed",
        "retried",
        "cancelled",
        "ran",
        "at most",
    ];
    let mut table = Table::new(&headings).numbers(&[2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for ((queue, command), figures) in &lines {
        let mean = |span: Option<Duration>| table::text(span.map_or_else(String::new, span::show));
        let most = |span: Duration, many: u64| mean((many > 0).then_some(span));
        table.row(vec![
            table::text(queue),
            table::text(command),
            table::number(figures.started),
            mean(figures.mean_wait()),
            most(figures.waited_max, figures.started),
            table::number(figures.completed),
            table::number(figures.failed),
            table::number(figures.retried),
            table::number(figures.cancelled),
            mean(figures.mean_run()),
            most(figures.ran_max, figures.ended()),
        ]);
    }
    table
}
