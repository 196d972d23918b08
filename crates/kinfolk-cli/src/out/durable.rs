//! How durable handlers are told of: what they recorded, the fan-outs they await, and what a suspended one waits for.

use std::collections::HashMap;

use kinfolk_core::{Checkpoint, FanOut, FanOutId, Gate, History, Report, Rule, StepKind, Task, Timestamp, Verdict};
use owo_colors::OwoColorize as _;

use super::table::{self, Table, harmless, short};
use super::time::relative;
use super::words::tally_words;

/// `2/4 packing 3 items`.
pub(crate) fn report_words(report: &Report) -> String {
    let Report { done, total, note } = report;
    let mut words = total.map_or_else(|| done.to_string(), |total| format!("{done}/{total}"));
    if let Some(note) = note {
        words.push(' ');
        words.push_str(&short(note, 60));
    }
    words
}

/// `fail_fast`, `threshold 0.9`.
pub(crate) fn rule_words(rule: Rule) -> String {
    match rule {
        Rule::Threshold(parts) => format!("{} {}", rule.as_str(), f64::from(parts) / 1e6),
        rule => rule.as_str().to_owned(),
    }
}

/// The waits of a suspended handler, as far as the task itself tells: `for signal approve, at most 5 m`.
pub(crate) fn awaited(task: &Task, now: Timestamp) -> String {
    let mut parts = Vec::new();
    if !task.signals.is_empty() {
        let names: Vec<&str> = task.signals.iter().map(AsRef::as_ref).collect();
        parts.push(format!("for signal {}", names.join(" or ")));
    }
    if task.gate == Some(Gate::Time) {
        let word = if parts.is_empty() { "for a time that ends" } else { "given up" };
        parts.push(format!("{word} {}", relative(now, task.due)));
    }
    if parts.is_empty() { "for sub-tasks".to_owned() } else { parts.join(", ") }
}

/// The same with the fan-outs that are not settled.
pub(crate) fn awaited_in(task: &Task, history: &History, now: Timestamp) -> String {
    let names = names(&history.checkpoints);
    let open = history.fan_outs.iter().filter(|fan_out| fan_out.verdict.is_none());
    let mut parts: Vec<String> = open
        .map(|fan_out| {
            let name = names.get(&fan_out.id).cloned().unwrap_or_else(|| fan_out.id.to_string());
            format!("for {name}: {} of {} open", fan_out.tally.open(), fan_out.tally.total)
        })
        .collect();
    if parts.is_empty() || !task.signals.is_empty() || task.gate == Some(Gate::Time) {
        parts.push(awaited(task, now));
    }
    parts.join("; ")
}

/// The operation that began each fan-out.
pub(crate) fn names(checkpoints: &[Checkpoint]) -> HashMap<FanOutId, String> {
    let begun = checkpoints.iter().filter(|checkpoint| checkpoint.kind == StepKind::FanOut);
    begun.filter_map(|step| Some((step.value.to().ok()?, harmless(&step.key.to_string())))).collect()
}

/// How a fan-out is doing: `collect_all, completed: 2 completed`.
pub(crate) fn fan_out_words(fan_out: &FanOut) -> String {
    let verdict = fan_out.verdict.map(|verdict| format!(" {}", colored(verdict)));
    format!("{}{}: {}", rule_words(fan_out.rule), verdict.unwrap_or_default(), tally_words(&fan_out.tally))
}

fn colored(verdict: Verdict) -> String {
    match verdict {
        Verdict::Completed => verdict.as_str().green().to_string(),
        Verdict::Failed => verdict.as_str().red().to_string(),
        Verdict::TimedOut => verdict.as_str().yellow().to_string(),
    }
}

/// The checkpoints, in their order.
pub(crate) fn checkpoints_table(checkpoints: &[Checkpoint]) -> Table {
    let mut table = Table::new(&["step", "kind", "name", "recorded"]).numbers(&[0]);
    for (index, Checkpoint { key, kind, value, .. }) in checkpoints.iter().enumerate() {
        let what = if *kind == StepKind::FanOut { format!("fan-out {value}") } else { value.to_string() };
        table.row(vec![
            table::text(index + 1),
            table::text(kind.as_str()),
            table::text(key),
            table::dim(short(&what, 60)),
        ]);
    }
    table
}

/// The fan-outs of a task, oldest first.
pub(crate) fn fan_outs_table(history: &History, now: Timestamp) -> Table {
    let names = names(&history.checkpoints);
    let mut table =
        Table::new(&["fan-out", "name", "rule", "sub-tasks", "how they are", "verdict", "deadline"]).numbers(&[0, 3]);
    for fan_out in &history.fan_outs {
        table.row(vec![
            table::text(fan_out.id),
            // One whose record was removed by a repair has no name any more.
            table::text(names.get(&fan_out.id).map_or("(forgotten)", String::as_str)),
            table::text(rule_words(fan_out.rule)),
            table::number(fan_out.tally.total),
            table::text(tally_words(&fan_out.tally)),
            table::text(fan_out.verdict.map_or("-", Verdict::as_str)),
            table::text(fan_out.deadline.map_or_else(|| "-".to_owned(), |deadline| relative(now, deadline))),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_reports_read_as_people_say_them() {
        assert_eq!(rule_words(Rule::Threshold(900_000)), "threshold 0.9");
        assert_eq!(rule_words(Rule::CollectAll), "collect_all");
        let report = Report { done: 2, total: Some(4), note: Some("packing 3 items".into()) };
        assert_eq!(report_words(&report), "2/4 packing 3 items");
        assert_eq!(report_words(&Report { done: 7, total: None, note: None }), "7");
    }
}
