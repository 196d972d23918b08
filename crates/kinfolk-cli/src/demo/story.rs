//! The night as it is told above the bars: what went wrong, what was put right, and the report.

use std::time::{Duration, Instant};

use kinfolk::core::Event;
use kinfolk::{Store, TaskId};
use owo_colors::OwoColorize as _;

use super::screen::{Screen, short_name};
use crate::fault::Fault;
use crate::out::table::short;
use crate::span;

/// Lines told in one [`PAUSE`] before retries are only counted, so that a large night stays readable.
const LINES: u32 = 5;
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
        if let Event::Retried { command, .. } = event {
            screen.retried(command.as_str());
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
        Event::Retried { task, command, attempt, .. } => {
            let (message, again) = failure(*task, store).await?;
            format!(
                "{} {} {task}: {message}; attempt {} {again}",
                "↻".yellow(),
                short_name(command.as_str()),
                attempt + 1
            )
        }
        Event::Failed { task, command, .. } => {
            format!("{} {} {task}: {}", "✗".red(), short_name(command.as_str()), failure(*task, store).await?.0)
        }
        Event::Cancelled { task, command, took, .. } => {
            format!("{} {} {task}: stopped after {}", "■".magenta(), short_name(command.as_str()), span::show(*took))
        }
        Event::Completed { task, command, .. } if command.as_str() == "shop.nightly_report" => {
            let result = store.task(*task).await?.and_then(|task| task.result);
            format!(
                "{} nightly_report {task}: {}",
                "★".green(),
                result.map(|result| result.to_string()).unwrap_or_default()
            )
        }
        Event::Recovered { returned, .. } if *returned > 0 => {
            format!("{} took over {returned} tasks of a demo that was killed", "♻".green())
        }
        Event::StoreTrouble { during, fault } => format!("{} {during}: {}", "!".red(), short(fault, 100)),
        _ => return Ok(None),
    }))
}

/// What went wrong, and when it is tried again.
async fn failure(task: TaskId, store: &dyn Store) -> Result<(String, String), Fault> {
    let Some(task) = store.task(task).await? else { return Ok(Default::default()) };
    let message = task.failure.map(|failure| short(&failure.message, 60)).unwrap_or_default();
    let again = match task.due.since(store.now().await?) {
        Duration::ZERO => "now".to_owned(),
        wait => format!("in {}", span::show(wait)),
    };
    Ok((message, again))
}
