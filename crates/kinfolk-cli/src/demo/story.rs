//! The day as it is told above the tree: what went wrong, what was put right, and what went out.

use std::time::{Duration, Instant};

use kinfolk::core::Event;
use kinfolk::{Store, Task, TaskId};
use owo_colors::OwoColorize as _;

use super::day::order_of;
use super::look::Family;
use super::screen::{Screen, short_name};
use super::shop::Shipped;
use super::workflow::ProcessOrder;
use crate::fault::Fault;
use crate::out::table::short;
use crate::span;

/// Lines told in one [`PAUSE`] before retries are only counted, so that a large day stays readable.
const LINES: u32 = 5;
/// Columns of a line, without the mark at its beginning.
const COLUMNS: usize = 76;
const PAUSE: Duration = Duration::from_secs(1);

/// Tells events, not too many at once.
pub(super) struct Story {
    since: Instant,
    told: u32,
}

impl Default for Story {
    fn default() -> Self {
        Self { since: Instant::now(), told: 0 }
    }
}

impl Story {
    /// Tells an event, if it is worth telling.
    pub(super) async fn tell(&mut self, event: &Event, store: &dyn Store, screen: &mut Screen) -> Result<(), Fault> {
        if let Event::Retried { .. } = event {
            screen.retried();
        }
        // Of retries there may be many; everything else is told.
        if matches!(event, Event::Retried { .. }) && !self.has_room() {
            return Ok(());
        }
        let Some(line) = line(event, store).await? else { return Ok(()) };
        self.told += 1;
        screen.event(&line)
    }

    fn has_room(&mut self) -> bool {
        if self.since.elapsed() > PAUSE {
            *self = Self::default();
        }
        self.told < LINES
    }
}

async fn line(event: &Event, store: &dyn Store) -> Result<Option<String>, Fault> {
    Ok(Some(match event {
        Event::Retried { task, attempt, .. } => {
            let Some(Told { name, message, again }) = told(*task, store).await? else { return Ok(None) };
            let tail = format!("; attempt {} {again}", attempt + 1);
            format!("{} {}", "↻".yellow(), fitted(&name, &message, &tail))
        }
        Event::Failed { task, .. } => {
            let Some(Told { name, message, .. }) = told(*task, store).await? else { return Ok(None) };
            format!("{} {}", "✗".red(), fitted(&name, &message, ""))
        }
        // It has failed by its own word, and ends with the sub-tasks that are still open.
        Event::Waiting { task, .. } => {
            let Some(Told { name, message, .. }) = told(*task, store).await? else { return Ok(None) };
            format!("{} {}", "✗".red(), fitted(&name, &message, "; other sub-tasks still run"))
        }
        Event::Cancelled { task, command, took, .. } => {
            format!("{} {} {task}: stopped after {}", "■".magenta(), short_name(command.as_str()), span::show(*took))
        }
        Event::Completed { task, command, .. } if command.as_str() == ProcessOrder::COMMAND => {
            let result = store.task(*task).await?.and_then(|task| task.result);
            let Some(Ok(shipped)) = result.map(|result| result.to::<Shipped>()) else { return Ok(None) };
            let Shipped { number, receipt, parcels, letters } = shipped;
            let lost = if letters.len() < 2 { ", a letter was lost" } else { "" };
            format!("{} order {number}: {} parcels out, {receipt}{lost}", "★".green(), parcels.len())
        }
        Event::Recovered { returned, .. } if *returned > 0 => {
            format!("{} took over {returned} tasks of a demo that was killed", "♻".green())
        }
        Event::StoreTrouble { during, fault } => format!("{} {during}: {}", "!".red(), short(fault, 60)),
        _ => return Ok(None),
    }))
}

/// An event and its task, with as much of the message as fits into a line.
fn fitted(name: &str, message: &str, tail: &str) -> String {
    let room = COLUMNS.saturating_sub(name.chars().count() + 2 + tail.chars().count() + 1);
    format!("{name}: {}{tail}", short(message, room))
}

/// A task that did not go well.
struct Told {
    name: String,
    message: String,
    /// When it is tried again.
    again: String,
}

async fn told(task: TaskId, store: &dyn Store) -> Result<Option<Told>, Fault> {
    let Some(task) = store.task(task).await? else { return Ok(None) };
    let again = match task.due.since(store.now().await?) {
        Duration::ZERO => "now".to_owned(),
        wait => format!("in {}", span::show(wait)),
    };
    let (name, message) = match order_of(&task) {
        Some(order) => {
            let own = task.failure.as_ref().map(|failure| failure.message.clone());
            let why = Family::of(task, store).await?.and_then(|family| family.why()).or(own);
            (format!("order {}", order.number), why)
        }
        None => {
            let name = format!("{} {}", short_name(task.command.as_str()), task.id);
            (name, task.failure.map(|failure| failure.message))
        }
    };
    Ok(Some(Told { name, message: message.unwrap_or_default(), again }))
}
