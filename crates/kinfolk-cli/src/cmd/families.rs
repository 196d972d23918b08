//! The families at work, as `kinfolk watch` shows them: how many of each generation there are, and how they ended.

use std::collections::{BTreeMap, BTreeSet};

use kinfolk_core::inspect::Filter;
use kinfolk_core::{Progress, Report, SignalName, State, Store, Task, TaskId, Timestamp};
use serde::Serialize;

use crate::fault::Fault;
use crate::out::durable::{awaited, report_words};
use crate::out::words::tally_words;

/// Families shown at once: the newest.
const SHOWN_MAX: usize = 5;
/// Waiting tasks that are looked at to find them.
const LOOK: usize = 100;

/// A family at one moment.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Family {
    root: Task,
    progress: Progress,
}

/// The output of `--json`: a family that has gone on.
#[derive(Serialize)]
pub(crate) struct Change<'a> {
    looked_at: Timestamp,
    root: TaskId,
    command: &'a str,
    state: State,
    report: Option<&'a Report>,
    signals: &'a [SignalName],
    #[serde(flatten)]
    progress: &'a Progress,
}

/// The families that wait for someone, and those that did at the last look.
pub(crate) async fn at_work(
    store: &dyn Store,
    any: bool,
    before: impl Iterator<Item = &TaskId>,
) -> Result<BTreeMap<TaskId, Family>, Fault> {
    let mut roots: BTreeSet<TaskId> = before.copied().collect();
    if any {
        let filter = Filter { state: vec![State::Waiting], limit: LOOK, ..Filter::default() };
        let waiting = store.list(&filter).await?.tasks;
        let newest: BTreeSet<TaskId> = waiting.iter().map(|task| task.root).collect();
        roots.extend(newest.into_iter().rev().take(SHOWN_MAX.saturating_sub(roots.len())));
    }
    let mut families = BTreeMap::new();
    for root in roots {
        // Retention may have been quicker.
        let Some(task) = store.task(root).await? else { continue };
        let progress = store.progress(root).await?;
        families.insert(root, Family { root: task, progress });
    }
    Ok(families)
}

impl Family {
    /// Whether it has settled.
    pub(crate) fn is_over(&self) -> bool {
        self.root.state.is_terminal()
    }

    /// Descendants of the root.
    pub(crate) fn total(&self) -> u64 {
        self.progress.family.total
    }

    /// Descendants that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.progress.family.ended()
    }

    /// For programs.
    pub(crate) fn change(&self, looked_at: Timestamp) -> Change<'_> {
        let Task { id, command, state, report, signals, .. } = &self.root;
        let (command, report) = (command.as_str(), report.as_ref());
        Change { looked_at, root: *id, command, state: *state, report, signals, progress: &self.progress }
    }

    /// Whether nothing has changed since, but perhaps how long it is at it.
    pub(crate) fn is_as(&self, before: &Self) -> bool {
        let seen = |family: &Self| (family.root.state, family.root.report.clone(), family.root.signals.clone());
        seen(self) == seen(before) && self.progress == before.progress
    }

    /// `family of task 7 (derive) waiting: 10 children (6 completed, 4 open), 20 at depth 2 (20 open)`.
    pub(crate) fn words(&self, now: Timestamp) -> String {
        let Task { id, command, state, .. } = &self.root;
        format!("family of task {id} ({command}) {state}: {}", self.brief(now))
    }

    /// The same for the little room beside a bar, which says which task it is.
    pub(crate) fn brief(&self, now: Timestamp) -> String {
        let level = |(depth, tally): (usize, &kinfolk_core::Tally)| match depth {
            0 => format!("{} children ({})", tally.total, tally_words(tally)),
            _ => format!("{} at depth {} ({})", tally.total, depth + 1, tally_words(tally)),
        };
        let mut parts: Vec<String> = self.progress.levels.iter().enumerate().map(level).collect();
        if self.root.is_suspended() && !self.root.signals.is_empty() {
            parts.insert(0, awaited(&self.root, now));
        }
        parts.splice(0..0, self.root.report.as_ref().map(report_words));
        parts.join(", ")
    }
}
