//! `kinfolk watch`: the progress of all queues and of the families at work, live on a terminal, a line for each change
//! elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use kinfolk::StopRequests;
use kinfolk_core::inspect::Stats;
use kinfolk_core::limits::MINUTES_KEPT;
use kinfolk_core::{QueueName, State, Store, TaskId, Timestamp};
use serde::Serialize;

use super::families::{self, Family};
use crate::fault::Fault;
use crate::out::{Out, terminal};
use crate::session::Session;
use crate::span;

/// `kinfolk watch`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// End when nothing is pending, running or waiting
    #[arg(long)]
    until_idle: bool,

    /// Look this often
    #[arg(long, value_name = "SPAN", value_parser = span::parse, default_value = "500ms", allow_hyphen_values = true)]
    every: Duration,
}

/// Runs it.
pub(crate) async fn run(args: Args, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let mut stops = StopRequests::listen();
    let mut view = View::new(session.out);
    let mut look = tokio::time::interval(args.every.max(Duration::from_millis(50)));
    loop {
        tokio::select! {
            _ = look.tick() => {}
            () = stops.next() => break,
        }
        let look = look_at(store.as_ref()).await?;
        let waiting = look.lines.values().any(|line| line.waiting > 0);
        let families = families::at_work(store.as_ref(), waiting, view.families.keys()).await?;
        let idle = view.show(&look)?;
        view.show_families(look.now, &families)?;
        if idle && args.until_idle {
            break;
        }
    }
    view.close();
    Ok(())
}

/// A queue at one moment.
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
struct QueueCounts {
    pending: u64,
    running: u64,
    waiting: u64,
    completed: u64,
    failed: u64,
    cancelled: u64,
    paused: bool,
}

/// The output of `--json`: a queue whose counts have changed.
#[derive(Serialize)]
struct Change<'a> {
    looked_at: Timestamp,
    queue: &'a QueueName,
    #[serde(flatten)]
    line: &'a QueueCounts,
}

impl QueueCounts {
    fn settled(&self) -> u64 {
        self.completed + self.failed + self.cancelled
    }

    fn open(&self) -> u64 {
        self.pending + self.running + self.waiting
    }

    fn words(&self) -> String {
        let counts = [
            (self.running, "running"),
            (self.pending, "pending"),
            (self.waiting, "waiting"),
            (self.failed, "failed"),
            (self.cancelled, "cancelled"),
        ];
        let mut words: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        if self.paused {
            words.push("paused".to_owned());
        }
        if words.is_empty() { "idle".to_owned() } else { words.join(", ") }
    }
}

/// All queues at one moment.
struct Look {
    now: Timestamp,
    lines: BTreeMap<QueueName, QueueCounts>,
}

async fn look_at(store: &dyn Store) -> Result<Look, Fault> {
    let Stats { now, counts, more, .. } = store.stats().await?;
    let queues = store.queues().await?;
    let mut lines: BTreeMap<QueueName, QueueCounts> = queues
        .into_iter()
        .map(|queue| (queue.name, QueueCounts { paused: queue.paused_at.is_some(), ..QueueCounts::default() }))
        .collect();
    for count in counts {
        let line = lines.entry(count.queue).or_default();
        let count_of = match count.state {
            State::Pending => &mut line.pending,
            State::Running => &mut line.running,
            State::Waiting => &mut line.waiting,
            State::Completed => &mut line.completed,
            State::Failed => &mut line.failed,
            State::Cancelled => &mut line.cancelled,
        };
        *count_of += count.tasks;
    }
    if !more.is_empty() {
        // Ended tasks were not counted to the end: the records of workers since then grow as well.
        lines.values_mut().for_each(|line| (line.completed, line.failed, line.cancelled) = (0, 0, 0));
        for minute in store.minutes(MINUTES_KEPT).await? {
            let line = lines.entry(minute.queue).or_default();
            line.completed += minute.figures.completed;
            line.failed += minute.figures.failed;
            line.cancelled += minute.figures.cancelled;
        }
    }
    Ok(Look { now, lines })
}

/// The bar of each queue, and what it had settled when the watch began.
type Bars = BTreeMap<QueueName, (ProgressBar, u64)>;

/// The counts shown so far. Bars count from the first look on, so that a long history does not fill them.
struct View {
    out: Out,
    bars: Option<MultiProgress>,
    bar_of: Bars,
    shown: BTreeMap<QueueName, QueueCounts>,
    /// The families that were at work at the last look.
    families: BTreeMap<TaskId, Family>,
    family_bars: BTreeMap<TaskId, ProgressBar>,
}

impl View {
    fn new(out: Out) -> Self {
        let bars = out.live().then(MultiProgress::new);
        Self {
            out,
            bars,
            bar_of: BTreeMap::new(),
            shown: BTreeMap::new(),
            families: BTreeMap::new(),
            family_bars: BTreeMap::new(),
        }
    }

    /// Shows what has changed; whether all queues are idle.
    fn show(&mut self, Look { now, lines }: &Look) -> Result<bool, Fault> {
        for (queue, line) in lines {
            match &self.bars {
                Some(bars) => draw(bars, &mut self.bar_of, queue, line, self.out.colors()),
                None if self.shown.get(queue) == Some(line) => {}
                None => self.out.say(
                    &Change { looked_at: *now, queue, line },
                    format!("{now} {queue}: {} completed, {}", line.completed, line.words()),
                )?,
            }
        }
        self.shown.clone_from(lines);
        Ok(lines.values().all(|line| line.open() == 0))
    }

    /// Shows how the families at work have gone on; those that have ended are told of once more.
    fn show_families(&mut self, now: Timestamp, families: &BTreeMap<TaskId, Family>) -> Result<(), Fault> {
        for (id, family) in families {
            let Some(bars) = &self.bars else {
                if !self.families.get(id).is_some_and(|before| family.is_as(before)) {
                    self.out.say(&family.change(now), format!("{now} {}", family.words(now)))?;
                }
                continue;
            };
            let bar = self.family_bars.entry(*id).or_insert_with(|| {
                let bar = bars.add(ProgressBar::hidden());
                bar.set_style(style(self.out.colors()));
                bar.set_prefix(format!("  task {id}"));
                bar
            });
            bar.set_length(family.total());
            bar.set_position(family.ended());
            bar.set_message(self.out.painted(&family.brief(now)));
            if family.is_over() {
                bar.finish_and_clear();
                self.family_bars.remove(id);
            }
        }
        self.families =
            families.iter().filter(|(_, family)| !family.is_over()).map(|(id, f)| (*id, f.clone())).collect();
        Ok(())
    }

    fn close(self) {
        if self.bars.is_some() {
            self.bar_of.values().map(|(bar, _)| bar).chain(self.family_bars.values()).for_each(ProgressBar::abandon);
            terminal::end_bars();
        }
    }
}

fn draw(bars: &MultiProgress, bar_of: &mut Bars, queue: &QueueName, line: &QueueCounts, colors: bool) {
    let (bar, before) = bar_of.entry(queue.clone()).or_insert_with(|| {
        // Only a bar that has its place among the others may be drawn.
        let bar = bars.add(ProgressBar::hidden());
        bar.set_style(style(colors));
        bar.set_prefix(queue.to_string());
        (bar, line.settled())
    });
    // Retention may remove what had been counted.
    *before = (*before).min(line.settled());
    let done = line.settled() - *before;
    bar.set_length(done + line.open());
    bar.set_position(done);
    bar.set_message(line.words());
}

fn style(colors: bool) -> ProgressStyle {
    let paint = if colors { ".green/238" } else { "" };
    let style = format!("{{prefix:16!}} {{bar:20{paint}}} {{pos:>6}}/{{len:<6}} {{rate:>8}} {{wide_msg}}");
    let style = ProgressStyle::with_template(&style).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rate = |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = write!(text, "{:.1}/s", state.per_sec());
    };
    style.with_key("rate", rate).progress_chars("━╸─")
}
