//! What the demo shows while it runs: a bar for each command on a terminal, a line now and then elsewhere.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use kinfolk::State;
use kinfolk::core::inspect::Stats;
use owo_colors::OwoColorize as _;

use crate::fault::Fault;
use crate::out::Out;

/// The commands of the shop, in the order in which they are shown.
pub(crate) const COMMANDS: [&str; 6] = [
    "shop.open_shop",
    "shop.charge_card",
    "shop.confirm_order",
    "shop.make_thumbnail",
    "shop.send_mail",
    "shop.nightly_report",
];

/// Without a terminal, a line this often.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Counts by command.
pub(crate) type Lines = BTreeMap<String, Line>;

/// A command at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) pending: u64,
    pub(crate) running: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) cancelled: u64,
}

impl Line {
    pub(crate) fn open(self) -> u64 {
        self.pending + self.running
    }

    pub(crate) fn settled(self) -> u64 {
        self.completed + self.failed + self.cancelled
    }

    /// Counts more tasks in this state.
    pub(crate) fn add(&mut self, state: State, tasks: u64) {
        *match state {
            State::Pending => &mut self.pending,
            State::Running | State::Waiting => &mut self.running,
            State::Completed => &mut self.completed,
            State::Failed => &mut self.failed,
            State::Cancelled => &mut self.cancelled,
        } += tasks;
    }

    /// The same without what another line had settled.
    pub(crate) fn beyond(self, before: Self) -> Self {
        Self {
            completed: self.completed.saturating_sub(before.completed),
            failed: self.failed.saturating_sub(before.failed),
            cancelled: self.cancelled.saturating_sub(before.cancelled),
            ..self
        }
    }
}

/// The shop's part of the store's counts.
pub(crate) fn lines_of(stats: &Stats) -> Lines {
    let mut lines: Lines = COMMANDS.iter().map(|command| ((*command).to_owned(), Line::default())).collect();
    for count in &stats.counts {
        if let Some(line) = lines.get_mut(count.command.as_str()) {
            line.add(count.state, count.tasks);
        }
    }
    lines
}

/// The screen.
pub(crate) struct Screen {
    out: Out,
    before: Lines,
    retries: BTreeMap<String, u64>,
    bars: Option<(MultiProgress, BTreeMap<String, ProgressBar>)>,
    last_line: Instant,
}

impl Screen {
    /// An empty screen; `before` is what earlier nights had settled.
    pub(crate) fn new(out: Out, before: Lines) -> Self {
        let bars = out.live().then(|| {
            let multi = MultiProgress::new();
            let bar = |command: &&str| ((*command).to_owned(), bar(&multi, command, out.colors()));
            let bars = COMMANDS.iter().map(bar).collect();
            (multi, bars)
        });
        Self { out, before, retries: BTreeMap::new(), bars, last_line: Instant::now() }
    }

    /// Something happened that is worth a line.
    pub(crate) fn event(&self, text: &str) -> Result<(), Fault> {
        match &self.bars {
            Some((multi, _)) => Ok(multi.println(self.out.painted(format!("  {text}")))?),
            None if self.out.json() => Ok(()),
            None => self.out.line(format_args!("  {text}")),
        }
    }

    /// An attempt failed and its task will be tried again.
    pub(crate) fn retried(&mut self, command: &str) {
        *self.retries.entry(command.to_owned()).or_default() += 1;
    }

    /// Shows how far everything is.
    pub(crate) fn update(&mut self, lines: &Lines) -> Result<(), Fault> {
        let now: Lines = lines
            .iter()
            .map(|(command, line)| {
                (command.clone(), line.beyond(self.before.get(command).copied().unwrap_or_default()))
            })
            .collect();
        let Some((_, bars)) = &self.bars else { return self.plain(&now) };
        for (command, line) in &now {
            if let Some(bar) = bars.get(command) {
                bar.set_length(line.settled() + line.open());
                bar.set_position(line.settled());
                let words = words(*line, self.retries.get(command).copied().unwrap_or_default());
                bar.set_message(self.out.painted(words));
            }
        }
        Ok(())
    }

    fn plain(&mut self, lines: &Lines) -> Result<(), Fault> {
        if self.out.json() || self.last_line.elapsed() < LINE_EVERY {
            return Ok(());
        }
        self.last_line = Instant::now();
        let sum = |of: fn(Line) -> u64| lines.values().map(|line| of(*line)).sum::<u64>();
        let (settled, open) = (sum(Line::settled), sum(Line::open));
        self.out.line(format_args!(
            "{settled} of {} tasks settled, {} running, {} retries so far",
            settled + open,
            sum(|line| line.running),
            self.retries.values().sum::<u64>()
        ))
    }

    /// Leaves the bars as they are and gives the terminal back.
    pub(crate) fn close(self) {
        if let Some((_, bars)) = self.bars {
            bars.values().for_each(ProgressBar::abandon);
            // The last bar ends without a line break.
            eprintln!();
        }
    }
}

fn bar(multi: &MultiProgress, command: &str, colors: bool) -> ProgressBar {
    let paint = if colors { ".green/238" } else { "" };
    let style = format!("  {{prefix:14}} {{bar:24{paint}}} {{pos:>4}}/{{len:<4}} {{wide_msg}}");
    let style = ProgressStyle::with_template(&style).unwrap_or_else(|_| ProgressStyle::default_bar());
    // Only a bar that has its place among the others may be drawn.
    let bar = multi.add(ProgressBar::hidden());
    bar.set_style(style.progress_chars("━╸─"));
    bar.set_prefix(short_name(command).to_owned());
    bar
}

/// The command without the shop's name before it.
pub(crate) fn short_name(command: &str) -> &str {
    command.strip_prefix("shop.").unwrap_or(command)
}

fn words(line: Line, retries: u64) -> String {
    let mut words = Vec::new();
    if line.running > 0 {
        words.push(format!("{} running", line.running).cyan().to_string());
    }
    if retries > 0 {
        let word = if retries == 1 { "retry" } else { "retries" };
        words.push(format!("{retries} {word}").yellow().to_string());
    }
    if line.failed > 0 {
        words.push(format!("{} failed", line.failed).red().to_string());
    }
    if line.cancelled > 0 {
        words.push(format!("{} cancelled", line.cancelled).magenta().to_string());
    }
    words.join(" · ")
}
