//! Schedules: the rule in words, the next ticks, and what became of the last.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use kinfolk_core::{Schedule, ScheduleName, Timestamp};

use super::address::Address;
use super::ask::Ask;
use super::frame::Frame;
use super::going::Names;
use super::part::{Badge, Moment, Named, words};
use super::{actions, cron, render, show};
use crate::problem::Problem;
use crate::visit::Visit;

/// Ticks that are told ahead.
const AHEAD: usize = 10;

#[derive(Template)]
#[template(path = "schedules.html")]
struct Page {
    frame: Frame,
    heading: String,
    rows: Vec<Row>,
    is_one: bool,
}

struct Row {
    name: String,
    href: String,
    command: Named,
    rule: String,
    cron: String,
    zone: String,
    next: Option<(Moment, String)>,
    paused: bool,
    last: Option<(Badge, Moment, String)>,
    rules: String,
    ticks: Vec<(String, Moment)>,
    asks: Vec<Ask>,
    clocks: String,
    open: bool,
}

/// `GET /schedules`
pub(crate) async fn page(visit: Visit, address: Address) -> Response {
    show(&visit, list(&visit, &address, None)).await
}

/// `GET /schedules/{name}`
pub(crate) async fn one(visit: Visit, address: Address, Path(name): Path<String>) -> Response {
    show(&visit, list(&visit, &address, Some(name))).await
}

async fn list(visit: &Visit, address: &Address, only: Option<String>) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "/schedules", "Schedules").await?.live("overview").after(actions::done(address));
    let mut schedules = visit.view().schedules().await?;
    if let Some(name) = &only {
        let name = ScheduleName::new(name)?;
        schedules.retain(|schedule| schedule.name == name);
        if schedules.is_empty() {
            return Err(Problem::not_found("schedule", name));
        }
    }
    let next = schedules.iter().filter(|schedule| !schedule.paused).filter_map(|schedule| schedule.next_at).min();
    let heading = match next {
        Some(_) if only.is_some() => String::new(),
        Some(next) => {
            let many = words::many(schedules.len() as u64, "schedule", "schedules");
            format!("{many}, the next tick {}", Moment::until(next, frame.now).words)
        }
        None => String::new(),
    };
    let mut rows = Vec::new();
    let names = Names::of(visit).await?;
    for schedule in &schedules {
        rows.push(row(visit, address, schedule, (&names, frame.now), schedules.len() == 1).await?);
    }
    render(&Page { frame, heading, rows, is_one: only.is_some() })
}

async fn row(
    visit: &Visit,
    address: &Address,
    schedule: &Schedule,
    (names, now): (&Names, Timestamp),
    open: bool,
) -> Result<Row, Problem> {
    let last = match (schedule.last_task, schedule.last_at) {
        // The task may be pruned, or on a queue that the caller may not see.
        (Some(id), Some(at)) => visit
            .view()
            .task(id)
            .await
            .ok()
            .map(|task| (names.badge(&task, now), Moment::ago(at, now), visit.links.to(&format!("/tasks/{id}")))),
        _ => None,
    };
    let verb = if schedule.paused { "resume-schedule" } else { "pause-schedule" };
    let words = if schedule.paused { "Resume…" } else { "Pause…" };
    let run = Ask::new(&visit.links, "run-schedule", "Run now…", &address.here).field("schedule", &schedule.name);
    let ask = Ask::new(&visit.links, verb, words, &address.here).field("schedule", &schedule.name);
    Ok(Row {
        name: schedule.name.to_string(),
        href: visit.links.to(&format!("/schedules/{}", words::encoded(schedule.name.as_str()))),
        command: Named::command(&schedule.task.command),
        rule: cron::words(&schedule.cron),
        cron: schedule.cron.clone(),
        zone: schedule.zone.clone(),
        next: schedule
            .next_at
            .filter(|_| !schedule.paused)
            .map(|next| (Moment::until(next, now), local(next, &schedule.zone))),
        paused: schedule.paused,
        last,
        rules: format!("missed: {}; overlap: {}", schedule.missed.as_str(), schedule.overlap.as_str()),
        ticks: ahead(schedule, now),
        asks: if visit.may_act() { vec![run, ask] } else { Vec::new() },
        clocks: clocks(schedule, now),
        open,
    })
}

/// The next ticks, each in the schedule's own time zone.
fn ahead(schedule: &Schedule, now: Timestamp) -> Vec<(String, Moment)> {
    let mut ticks = Vec::new();
    let mut at = now;
    while let Some(next) = schedule.tick_after(at).ok().flatten().filter(|_| ticks.len() < AHEAD) {
        ticks.push((local(next, &schedule.zone), Moment::until(next, now)));
        at = next;
    }
    ticks
}

/// What the next change of clocks means for a schedule; empty where there is none in the next 230 days: summer time lasts 217.
fn clocks(schedule: &Schedule, now: Timestamp) -> String {
    const AHEAD: std::time::Duration = std::time::Duration::from_secs(230 * 24 * 3_600);
    let Ok(zone) = jiff::tz::TimeZone::get(&schedule.zone) else { return String::new() };
    let Some(change) = zone.following(now.to_jiff()).next() else { return String::new() };
    if Timestamp::from(change.timestamp()) > now.plus(AHEAD) {
        return String::new();
    }
    let moved = change.offset().seconds() - zone.to_offset(now.to_jiff()).seconds();
    let day = change.timestamp().to_zoned(zone).strftime("%-d %B").to_string();
    let (turn, by) = if moved > 0 { ("forward", "earlier") } else { ("back", "later") };
    let span = words::span(std::time::Duration::from_secs(u64::from(moved.unsigned_abs())));
    format!(
        "Clocks go {turn} on {day}: from then on it fires {span} {by} by UTC, and at the same time in {}.",
        schedule.zone
    )
}

/// `Wed 18 Nov 06:30`, in a time zone.
fn local(at: Timestamp, zone: &str) -> String {
    let zone = jiff::tz::TimeZone::get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    let at = at.to_jiff().to_zoned(zone);
    // Most schedules fire at a whole minute.
    at.strftime(if at.second() == 0 { "%a %-d %b %H:%M" } else { "%a %-d %b %H:%M:%S" }).to_string()
}
