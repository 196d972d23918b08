//! The end of a night: is everything there, how did it go, and what can be typed next.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk::core::inspect::Violation;
use kinfolk::{State, Store, TaskView};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::night::Night;
use super::screen::{COMMANDS, Line, short_name};
use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::view::violation;
use crate::session::Session;
use crate::span;

/// A night as the store has it.
pub(crate) struct Summary {
    night: Night,
    found: Vec<TaskView>,
    wrong: Vec<String>,
    violations: Vec<Violation>,
    took: Duration,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    night: u32,
    tasks: u32,
    settled: u64,
    completed: u64,
    failed: u64,
    cancelled: u64,
    retries: u64,
    took_ms: u64,
    wrong: &'a [String],
    violations: &'a [Violation],
}

impl Summary {
    /// Looks at the store.
    pub(crate) async fn of(night: Night, store: &dyn Store, took: Duration) -> Result<Self, Fault> {
        let found = night.stored(store).await?;
        let mut wrong = night.difference(&found)?;
        let open = found.iter().filter(|task| !task.state.is_terminal());
        wrong.extend(open.map(|task| format!("not settled: task {} is {}", task.id, task.state)));
        Ok(Self { night, wrong, violations: store.check().await?, found, took })
    }

    /// Prints it; an error when anything is wrong.
    pub(crate) fn print(&self, session: &Session) -> Result<(), Fault> {
        if session.out.json() {
            session.out.item(&self.report())?;
        } else {
            self.print_for_people(session)?;
        }
        let wrong = self.wrong.iter().cloned().chain(self.violations.iter().map(violation));
        match wrong.reduce(|all, one| format!("{all}; {one}")) {
            None => Ok(()),
            Some(wrong) => Err(Fault::no("demo", format!("the night did not end well: {wrong}"))),
        }
    }

    fn report(&self) -> Report<'_> {
        let all = self.lines().into_values().fold(Line::default(), sum);
        Report {
            night: self.night.number,
            tasks: self.night.tasks,
            settled: all.settled(),
            completed: all.completed,
            failed: all.failed,
            cancelled: all.cancelled,
            retries: self.retries(|_| true),
            took_ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            wrong: &self.wrong,
            violations: &self.violations,
        }
    }

    fn lines(&self) -> BTreeMap<&str, Line> {
        let mut lines: BTreeMap<&str, Line> = BTreeMap::new();
        for task in &self.found {
            lines.entry(task.command.as_str()).or_default().add(task.state, 1);
        }
        lines
    }

    /// Attempts beyond the first.
    fn retries(&self, of: impl Fn(&TaskView) -> bool) -> u64 {
        self.found.iter().filter(|task| of(task)).map(|task| u64::from(task.attempt.max(1) - 1)).sum()
    }

    fn print_for_people(&self, session: &Session) -> Result<(), Fault> {
        let out = session.out;
        out.line("")?;
        out.line(self.table())?;
        let report = self.report();
        out.line("")?;
        out.line(format_args!(
            "{} {} tasks in, {} settled, {}, in {}.",
            if self.wrong.is_empty() && self.violations.is_empty() {
                "✓".green().to_string()
            } else {
                "✗".red().to_string()
            },
            report.tasks.bold(),
            report.settled.bold(),
            if self.wrong.is_empty() {
                "none lost, none doubled".to_owned()
            } else {
                "not all is well".red().to_string()
            },
            span::show(self.took),
        ))?;
        out.line("")?;
        out.line("What to type next:")?;
        for (rest, why) in self.hints() {
            out.line(format_args!("  {}\n  {}", format!("# {why}").dimmed(), session.command_line(&rest)))?;
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let lines = self.lines();
        let mut table =
            Table::new(&["command", "tasks", "completed", "failed", "cancelled", "retries"]).numbers(&[1, 2, 3, 4, 5]);
        let row = |name: comfy_table::Cell, line: Line, retries: u64| {
            vec![
                name,
                table::number(line.settled() + line.open()),
                table::number_of(State::Completed, line.completed),
                table::number_of(State::Failed, line.failed),
                table::number_of(State::Cancelled, line.cancelled),
                table::number(retries),
            ]
        };
        for command in COMMANDS {
            let line = lines.get(command).copied().unwrap_or_default();
            let retries = self.retries(|task| task.command.as_str() == command);
            table.row(row(table::text(short_name(command)), line, retries));
        }
        let all = lines.into_values().fold(Line::default(), sum);
        table.row(row(table::bold("all"), all, self.retries(|_| true)));
        table
    }

    fn hints(&self) -> Vec<(String, &'static str)> {
        let mut hints = vec![("list --state failed,cancelled".to_owned(), "what did not go well")];
        let find = |wanted: &dyn Fn(&TaskView) -> bool| self.found.iter().find(|task| wanted(task)).map(|task| task.id);
        if let Some(id) = find(&|task| task.state == State::Completed && task.attempt > 2) {
            hints.push((format!("show {id}"), "a payment that took three attempts"));
        }
        if let Some(id) = find(&|task| task.state == State::Failed && task.command.as_str().ends_with("charge_card")) {
            hints.push((format!("show {id}"), "the card that was refused"));
        }
        hints.push(("schedule list".to_owned(), "the nightly report"));
        hints
    }
}

fn sum(a: Line, b: Line) -> Line {
    Line {
        pending: a.pending + b.pending,
        running: a.running + b.running,
        completed: a.completed + b.completed,
        failed: a.failed + b.failed,
        cancelled: a.cancelled + b.cancelled,
    }
}
