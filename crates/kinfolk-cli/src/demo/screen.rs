//! The output of the demo while it runs: on a terminal a bar for the day and the live tree of the orders at work, elsewhere a
//! line now and then.

use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kinfolk::{State, TaskView, Timestamp};
use owo_colors::OwoColorize as _;

use super::look::{Family, Look};
use super::shop::PackItem;
use crate::fault::Fault;
use crate::out::durable::report_words;
use crate::out::table::short;
use crate::out::words;
use crate::out::{Out, terminal};

/// Lines of the tree: with the bar and some events it fits into the smallest terminal there is.
const LINES: usize = 16;
/// Without a terminal, a line this often.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// The screen.
pub(crate) struct Screen {
    out: Out,
    retries: u64,
    live: Option<Live>,
    last_line: Instant,
}

struct Live {
    multi: MultiProgress,
    bar: ProgressBar,
    lines: Vec<ProgressBar>,
}

impl Screen {
    /// An empty screen.
    pub(crate) fn new(out: Out) -> Self {
        let live = out.live().then(|| Live::new(out.colors()));
        Self { out, retries: 0, live, last_line: Instant::now() }
    }

    /// Something happened that is worth a line.
    pub(crate) fn event(&self, text: &str) -> Result<(), Fault> {
        match &self.live {
            Some(live) => Ok(live.multi.println(self.out.painted(&format!("  {text}")))?),
            None if self.out.json() => Ok(()),
            None => self.out.line(format_args!("  {text}")),
        }
    }

    /// An attempt failed and its task will be tried again.
    pub(crate) fn retried(&mut self) {
        self.retries += 1;
    }

    /// Shows how far everything is.
    pub(crate) fn update(&mut self, look: &Look) -> Result<(), Fault> {
        let Some(live) = &self.live else { return self.plain(look) };
        live.bar.set_length(look.ended() + look.open);
        live.bar.set_position(look.ended());
        live.bar.set_message(self.out.painted(&counts(look, self.retries)));
        let tree = tree(look);
        for (index, bar) in live.lines.iter().enumerate() {
            bar.set_message(self.out.painted(tree.get(index).map_or("", String::as_str)));
        }
        Ok(())
    }

    fn plain(&mut self, look: &Look) -> Result<(), Fault> {
        if self.out.json() || self.last_line.elapsed() < LINE_EVERY {
            return Ok(());
        }
        self.last_line = Instant::now();
        let (ended, all) = (look.ended(), look.ended() + look.open);
        self.out.line(format_args!("{ended} of {all} orders ended, {}", counts(look, self.retries)))
    }

    /// Leaves the bar as it is and gives the terminal back.
    pub(crate) fn close(self) {
        if let Some(live) = self.live {
            live.lines.iter().for_each(ProgressBar::finish_and_clear);
            live.bar.abandon();
            terminal::end_bars();
        }
    }
}

impl Live {
    fn new(colors: bool) -> Self {
        let multi = MultiProgress::new();
        let paint = if colors { ".green/238" } else { "" };
        let template =
            |template: &str| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        // Only a bar that has its place among the others may be drawn.
        let lines: Vec<ProgressBar> = (0..LINES).map(|_| multi.add(ProgressBar::hidden())).collect();
        lines.iter().for_each(|line| line.set_style(template("  {wide_msg}")));
        let bar = multi.add(ProgressBar::hidden());
        let style = template(&format!("  orders {{bar:24{paint}}} {{pos:>3}}/{{len:<3}} {{wide_msg}}"));
        bar.set_style(style.progress_chars("━╸─"));
        Self { multi, bar, lines }
    }
}

fn counts(look: &Look, retries: u64) -> String {
    let counts = [
        (format!("{} at work", look.at_work.len()).cyan().to_string(), look.at_work.len() as u64),
        (format!("{retries} retries in all").yellow().to_string(), retries),
        (format!("{} failed", look.failed).red().to_string(), look.failed),
        (format!("{} cancelled", look.cancelled).magenta().to_string(), look.cancelled),
    ];
    let words = counts.into_iter().filter(|(_, count)| *count > 0).map(|(words, _)| words);
    words.collect::<Vec<_>>().join(" · ")
}

/// The orders at work, oldest first, each with the sub-tasks that it waits for, as many as there is room for.
fn tree(look: &Look) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for family in &look.at_work {
        let more = family_lines(family, look.now);
        if lines.len() + more.len() > LINES {
            break;
        }
        lines.extend(more);
    }
    lines
}

fn family_lines(family: &Family, now: Timestamp) -> Vec<String> {
    let Family { root, order, children } = family;
    let report = root.report.as_ref().map_or_else(|| "validating".to_owned(), report_words);
    let mut lines = vec![format!(
        "{} order {} {}  {}",
        sign(root),
        order.number.bold(),
        format_args!("{:<14}", short(&order.customer, 14)).dimmed(),
        report.cyan()
    )];
    // What is over and went well is only counted: the last ones made are what is waited for.
    let open: Vec<&TaskView> = match children.iter().position(|child| !child.state.is_terminal()) {
        Some(first) => {
            let command = &children[first].command;
            children.iter().filter(|child| child.command == *command || !child.state.is_terminal()).collect()
        }
        None => Vec::new(),
    };
    for (index, child) in open.iter().enumerate() {
        let branch = if index + 1 == open.len() { "└─" } else { "├─" };
        lines.push(format!("{} {} {}", branch.dimmed(), sign(child), child_words(child, now)));
    }
    lines
}

fn child_words(child: &TaskView, now: Timestamp) -> String {
    let item = child.payload.to::<PackItem>().ok().map(|payload| payload.0.1.name).unwrap_or_default();
    let what = format!("{} {item}", short_name(child.command.as_str()));
    let how = match &child.failure {
        Some(failure) if child.state == State::Pending => {
            format!("{}; attempt {} comes", short(&failure.message, 40), child.attempt + 1)
        }
        Some(failure) => short(&failure.message, 40),
        None if child.attempt > 1 => format!("attempt {}", child.attempt),
        None => words::duration(child, now).unwrap_or_default(),
    };
    format!("{what:<28} {}", how.dimmed())
}

fn sign(task: &TaskView) -> String {
    match task.state {
        State::Pending if task.failure.is_some() => "↻".yellow().to_string(),
        State::Pending => "·".dimmed().to_string(),
        State::Running => "▸".cyan().to_string(),
        State::Waiting => "…".blue().to_string(),
        State::Completed => "✓".green().to_string(),
        State::Failed => "✗".red().to_string(),
        State::Cancelled => "■".magenta().to_string(),
    }
}

/// The command without the shop's name before it.
pub(crate) fn short_name(command: &str) -> &str {
    command.strip_prefix("shop.").unwrap_or(command)
}
