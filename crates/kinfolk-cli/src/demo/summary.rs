//! The end of a day: is everything there, did each order end as it must, was everything packed once, and what can be typed
//! next.

use std::collections::BTreeMap;
use std::time::Duration;

use kinfolk::core::inspect::Violation;
use kinfolk::core::limits::PAGE_MAX;
use kinfolk::{State, Store, Task, TaskView};
use owo_colors::OwoColorize as _;
use serde::Serialize;

use super::day::{Day, must_end};
use super::look::{Family, is_letter};
use super::shop::{Order, PackItem, Shipped};
use crate::fault::Fault;
use crate::out::table::{self, Table};
use crate::out::view::violation;
use crate::session::Session;
use crate::span;

/// Letters of what happened to an order: with the other columns a row fits into 80.
const HAPPENED: usize = 30;
/// Orders that are shown one by one.
const SHOWN_MAX: usize = 20;

/// A day as the store has it.
pub(crate) struct Summary {
    day: Day,
    families: Vec<Family>,
    wrong: Vec<String>,
    violations: Vec<Violation>,
    took: Duration,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Report<'a> {
    day: u32,
    orders: u32,
    shipped: u64,
    failed: u64,
    cancelled: u64,
    /// Items whose packing is recorded.
    packed: u64,
    letters_lost: u64,
    /// Sub-tasks of all orders.
    tasks: u64,
    retries: u64,
    took_ms: u64,
    wrong: &'a [String],
    violations: &'a [Violation],
}

impl Summary {
    /// Looks at the store.
    pub(crate) async fn of(day: Day, store: &dyn Store, took: Duration) -> Result<Self, Fault> {
        let mut families = Vec::new();
        for root in day.stored(store).await? {
            families.extend(Family::of(root, store).await?);
        }
        let mut wrong = missing(day, &families);
        wrong.extend(families.iter().flat_map(wrong_with));
        Ok(Self { day, wrong, violations: store.check().await?, families, took })
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
            Some(wrong) => Err(Fault::no("demo", format!("the day did not end well: {wrong}"))),
        }
    }

    fn report(&self) -> Report<'_> {
        let ended = |state| self.families.iter().filter(|family| family.root.state == state).count() as u64;
        let children = || self.families.iter().flat_map(|family| &family.children);
        let all = self.families.iter().map(|family| &family.root).chain(children());
        Report {
            day: self.day.number,
            orders: self.day.orders,
            shipped: ended(State::Completed),
            failed: ended(State::Failed),
            cancelled: ended(State::Cancelled),
            packed: children().filter(|task| is_packing(task)).map(|task| u64::from(task.steps)).sum(),
            letters_lost: children().filter(|task| is_letter(task) && task.state == State::Failed).count() as u64,
            tasks: children().count() as u64,
            retries: all.map(|task| u64::from(task.attempt.max(1) - 1)).sum(),
            took_ms: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            wrong: &self.wrong,
            violations: &self.violations,
        }
    }

    fn print_for_people(&self, session: &Session) -> Result<(), Fault> {
        let out = session.out;
        out.line("")?;
        out.line(self.table())?;
        if self.families.len() > SHOWN_MAX {
            out.line(format_args!(" … and {} more", self.families.len() - SHOWN_MAX))?;
        }
        let report = self.report();
        let good = self.wrong.is_empty() && self.violations.is_empty();
        out.line("")?;
        out.line(format_args!(
            "{} {} orders in, {} shipped, {} failed and {} cancelled as they must.\n  {} items packed, {}, in {}.",
            if good { "✓".green().to_string() } else { "✗".red().to_string() },
            report.orders.bold(),
            report.shipped.bold(),
            report.failed,
            report.cancelled,
            report.packed,
            if good { "none twice".to_owned() } else { "not all is well".red().to_string() },
            span::show(self.took),
        ))?;
        self.what_next(session)
    }

    /// The commands to type now.
    pub(crate) fn what_next(&self, session: &Session) -> Result<(), Fault> {
        session.out.line("\nWhat to type next:")?;
        for (rest, why) in self.hints() {
            session.out.line(format_args!("  {}\n  {}", format!("# {why}").dimmed(), session.command_line(&rest)))?;
        }
        Ok(())
    }

    fn table(&self) -> Table {
        let headings = ["task", "order", "customer", "€", "ended", "what happened"];
        let mut table = Table::new(&headings).numbers(&[0, 1, 3]);
        for family in self.families.iter().take(SHOWN_MAX) {
            let Family { root, order, .. } = family;
            table.row(vec![
                table::text(root.id),
                table::text(order.number),
                table::text(&order.customer),
                table::text(order.cents() / 100),
                table::state(root.state, ""),
                table::dim(table::short(&happened(family), HAPPENED)),
            ]);
        }
        table
    }

    fn hints(&self) -> Vec<(String, &'static str)> {
        let find = |wanted: &dyn Fn(&Family) -> bool| {
            self.families.iter().find(|family| wanted(family)).map(|family| family.root.id)
        };
        let mut hints = Vec::new();
        if let Some(id) = find(&|family| !family.root.state.is_terminal()) {
            hints.push(("demo".to_owned(), "goes on with the orders that are left"));
            hints.push((format!("explain {id}"), "why an order that is left is not running"));
        }
        hints.push(("list --state failed".to_owned(), "what did not go well"));
        if let Some(id) = find(&|family| family.root.state == State::Completed && family.root.attempt > 1) {
            hints.push((format!("show {id}"), "an order that was charged at the second attempt, and what it recorded"));
        }
        if let Some(id) = find(&|family| family.root.state == State::Failed && family.children.len() > 2) {
            hints.push((format!("tree {id}"), "an order that failed with one of its items"));
        }
        if let Some(id) = find(&|family| family.root.state == State::Completed) {
            hints.push((format!("replay {id}"), "an order's records, run through the code once more"));
        }
        hints
    }
}

/// The orders that are missing from the store, or there twice: nothing, when the orders enqueued are the orders found.
fn missing(day: Day, families: &[Family]) -> Vec<String> {
    let mut expected: BTreeMap<u32, Order> = day.all().map(|order| (order.number, order)).collect();
    let mut wrong = Vec::new();
    for Family { root, order, .. } in families {
        if expected.remove(&order.number).as_ref() != Some(order) {
            wrong.push(format!("not expected, or twice: order {} (task {})", order.number, root.id));
        }
    }
    wrong.extend(expected.into_keys().map(|number| format!("missing: order {number}")));
    wrong
}

/// The faults of an order and its sub-tasks.
fn wrong_with(family: &Family) -> Vec<String> {
    let Family { root, order, children } = family;
    let mut wrong = Vec::new();
    let mut say = |words: String| wrong.push(format!("order {} (task {}): {words}", order.number, root.id));
    if root.state != must_end(order) {
        say(format!("it is {}, and must be {}", root.state, must_end(order)));
    }
    if children.len() >= PAGE_MAX {
        say("it has more sub-tasks than an order can".to_owned());
    }
    let packing: Vec<&TaskView> = children.iter().filter(|task| is_packing(task)).collect();
    if order.mail.contains('@') && packing.len() != order.items.len() {
        say(format!("{} items, and {} were to be packed", order.items.len(), packing.len()));
    }
    for task in packing {
        let recorded = u32::from(task.state == State::Completed);
        if task.steps != recorded && task.state != State::Cancelled {
            say(format!("task {} is {}, and was packed {} times", task.id, task.state, task.steps));
        }
    }
    if let Some(Ok(shipped)) = root.result.as_ref().map(|result| result.to::<Shipped>()) {
        let results = children.iter().filter(|task| is_packing(task)).filter_map(|task| task.result.as_ref());
        let labels: Vec<String> = results.filter_map(|label| label.to().ok()).collect();
        if shipped.parcels != labels {
            say(format!("it went out as {:?}, and was packed as {labels:?}", shipped.parcels));
        }
    }
    wrong
}

fn is_packing(task: &TaskView) -> bool {
    task.command.as_str() == PackItem::COMMAND
}

fn happened(family: &Family) -> String {
    if let Some(why) = family.why() {
        return why;
    }
    let retried = family.children.iter().filter(|child| child.attempt > 1).count();
    let lost = family.children.iter().filter(|child| is_letter(child) && child.state == State::Failed).count();
    let mut words = Vec::new();
    if family.root.attempt > 1 {
        words.push(format!("charged at attempt {}", family.root.attempt));
    }
    if retried > 0 {
        words.push(format!("{retried} packed at the second attempt"));
    }
    if lost > 0 {
        words.push("a letter was lost".to_owned());
    }
    if order_needs_nod(family) {
        words.push("approved".to_owned());
    }
    words.join(", ")
}

fn order_needs_nod(family: &Family) -> bool {
    family.order.cents() > 100_000 && family.root.state == State::Completed
}
