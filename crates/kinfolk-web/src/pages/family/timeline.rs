//! One line of a timeline: what became of one task, or of many at once, drawn to the scale of an axis.

use askama::Template;
use askama::filters::HtmlSafe;

use super::axis::{Axis, percent};
use super::course::{Course, Phase};
use crate::pages::part::words;
use kinfolk_core::Timestamp;

/// A bar that is wider than this, in percent, has room for a cross.
const CROSS_FROM: f64 = 1.6;

/// Steps and signals of one task that are drawn; of more the last ones.
const POINTS_MAX: usize = 60;

/// The picture, with its story as its label.
#[derive(Clone, Template)]
#[template(path = "part/timeline.html")]
pub(crate) struct Timeline {
    story: String,
    shapes: Vec<Shape>,
    note: Option<(String, String)>,
    /// Where a signal resumed it, and which.
    signals: Vec<(String, String)>,
    /// Where its handler recorded a step, and which.
    steps: Vec<(String, String)>,
    now: bool,
}

/// A stretch as it is drawn.
#[derive(Clone)]
struct Shape {
    kind: &'static str,
    class: &'static str,
    x: String,
    end: String,
    width: String,
    y: String,
    height: String,
    grows: bool,
    /// Whether there is room for the cross of what failed.
    cross: bool,
    says: String,
    path: String,
}

impl HtmlSafe for Timeline {}

impl Timeline {
    /// Nothing is known to be drawn.
    pub(crate) fn empty(axis: &Axis, story: &str) -> Self {
        let (shapes, signals, steps) = (Vec::new(), Vec::new(), Vec::new());
        Self { story: story.to_owned(), shapes, note: None, signals, steps, now: axis.now().is_some() }
    }

    /// The course of one task. `note` is written behind its end.
    pub(crate) fn of(course: &Course, axis: &Axis, note: Option<String>) -> Self {
        let mut timeline = Self::empty(axis, &course.story());
        for stretch in course.stretches.iter().filter(|stretch| axis.shows(stretch.from, stretch.to)) {
            let from = axis.x(stretch.from);
            let to = axis.reach(stretch.to).max(from);
            // A bar that is too thin to be seen is drawn as thin as can be seen.
            let width = (to - from).max(if stretch.phase.is_thick() { 0.3 } else { 0.0 });
            let (kind, class) = drawn(stretch.phase);
            timeline.shapes.push(Shape {
                kind,
                class,
                x: percent(from),
                end: percent(from + width),
                width: percent(width),
                y: "9".to_owned(),
                height: "10".to_owned(),
                grows: stretch.to.is_none() && axis.now().is_some(),
                cross: width > CROSS_FROM,
                says: stretch.says.clone(),
                path: String::new(),
            });
        }
        let points = |points: &[(Timestamp, String)]| -> Vec<(String, String)> {
            let shown = points.iter().filter(|(at, _)| axis.shows(*at, Some(*at))).rev().take(POINTS_MAX);
            shown.map(|(at, name)| (percent(axis.x(*at)), words::short(name, 40))).collect()
        };
        (timeline.signals, timeline.steps) = (points(&course.signals), points(&course.steps));
        let end = course.stretches.iter().filter_map(|stretch| stretch.to).max().map(|end| axis.x(end));
        timeline.note =
            note.zip(end.filter(|end| *end < 80.0)).map(|(note, end)| (percent(end), words::short(&note, 60)));
        timeline
    }

    /// Many tasks as thin bars, packed into as few lines as they need.
    pub(crate) fn packed(courses: &[Course], axis: &Axis, height: f64, story: &str) -> Self {
        let mut timeline = Self::empty(axis, story);
        let mut bars: Vec<(f64, f64, &'static str, String)> = Vec::new();
        for course in courses {
            for stretch in course.stretches.iter().filter(|one| one.phase.is_work() && axis.shows(one.from, one.to)) {
                let from = axis.x(stretch.from);
                let to = axis.reach(stretch.to);
                bars.push((from, (to - from).max(0.4), drawn(stretch.phase).1, stretch.says.clone()));
            }
        }
        bars.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ends: Vec<f64> = Vec::new();
        let mut lines = Vec::new();
        for (from, width, ..) in &bars {
            let line = ends.iter().position(|end| *end + 0.3 < *from).unwrap_or(ends.len());
            if line == ends.len() {
                ends.push(0.0);
            }
            ends[line] = from + width;
            lines.push(line);
        }
        let step = (height / ends.len().max(1) as f64).min(5.0);
        let top = (height + 4.0 - step * ends.len() as f64) / 2.0;
        for ((from, width, class, says), line) in bars.into_iter().zip(lines) {
            timeline.shapes.push(Shape {
                kind: "bar",
                class,
                x: percent(from),
                end: String::new(),
                width: percent(width),
                y: percent(top + step * line as f64),
                height: percent((step - 1.4).max(0.8)),
                grows: false,
                cross: false,
                says,
                path: String::new(),
            });
        }
        timeline
    }

    /// How many ran at once, as a stair of columns.
    pub(crate) fn stair(courses: &[Course], axis: &Axis, class: &'static str) -> Self {
        const COLUMNS: usize = 120;
        let mut running = [0_u32; COLUMNS];
        for course in courses {
            for stretch in course.stretches.iter().filter(|one| one.phase.is_work() && axis.shows(one.from, one.to)) {
                let from = axis.x(stretch.from);
                let to = axis.reach(stretch.to);
                let column = |x: f64| ((x * COLUMNS as f64 / 100.0) as usize).min(COLUMNS - 1);
                for many in &mut running[column(from)..=column(to)] {
                    *many += 1;
                }
            }
        }
        let most = running.iter().copied().max().unwrap_or(0);
        let says = format!("at most {most} ran at once");
        let mut timeline = Self::empty(axis, &says);
        let first = running.iter().position(|many| *many > 0);
        let last = running.iter().rposition(|many| *many > 0);
        if let Some((first, last)) = first.zip(last) {
            let mut path = format!("M{first} 30");
            for (at, many) in running.iter().enumerate().take(last + 1).skip(first) {
                path.push_str(&format!("V{:.1}H{}", 30.0 - f64::from(*many) * 26.0 / f64::from(most), at + 1));
            }
            path.push_str("V30Z");
            timeline.shapes.push(Shape::stair(class, path, says));
        }
        timeline
    }

    /// The same, with those that failed below its line, at a scale of their own.
    #[must_use]
    pub(crate) fn failed_below(mut self, failed_at: &[Timestamp], axis: &Axis) -> Self {
        const COLUMNS: usize = 120;
        let mut failed = [0_u32; COLUMNS];
        for at in failed_at.iter().filter(|at| axis.shows(**at, Some(**at))) {
            failed[((axis.x(*at) * COLUMNS as f64 / 100.0) as usize).min(COLUMNS - 1)] += 1;
        }
        let most = failed.iter().copied().max().unwrap_or(0);
        if most > 0 {
            let mut path = String::new();
            for (at, many) in failed.iter().enumerate().filter(|(_, many)| **many > 0) {
                let depth = 2.0 + f64::from(*many) * 6.0 / f64::from(most);
                path.push_str(&format!("M{at} 0v{depth:.1}h1V0Z"));
            }
            let says = format!("{} failed", words::count(failed_at.len() as u64));
            self.shapes.push(Shape { kind: "below", ..Shape::stair("failed", path, says) });
        }
        self
    }

    /// How fast the children of a large fan-out ended: between two of these moments an equal share of so many did.
    pub(crate) fn pace(ended_by: &[Timestamp], many: u64, axis: &Axis, class: &'static str) -> Self {
        /// Narrower than this, in percent, nothing is told apart.
        const LEAST: f64 = 0.8;
        let (Some(first), Some(last)) = (ended_by.first(), ended_by.last()) else {
            return Self::empty(axis, "none has ended yet");
        };
        let from = words::clock(*first);
        let says = format!("{} ended between {from} and {}", words::count(many), words::clock(*last));
        let mut timeline = Self::empty(axis, &says);
        let mut columns: Vec<(f64, f64, f64)> = Vec::new();
        let (mut start, mut shares) = (axis.x(*first), 0.0);
        for moment in &ended_by[1..] {
            let end = axis.x(*moment);
            shares += 1.0;
            if end - start >= LEAST {
                columns.push((start, end, shares / (end - start)));
                (start, shares) = (end, 0.0);
            }
        }
        if columns.is_empty() {
            columns.push((start, (start + LEAST).min(100.0), 1.0));
        }
        let most = columns.iter().map(|(.., pace)| *pace).fold(f64::MIN_POSITIVE, f64::max);
        let mut path = format!("M{:.1} 30", columns[0].0 * 1.2);
        for (_, end, pace) in &columns {
            path.push_str(&format!("V{:.1}H{:.1}", 30.0 - pace * 26.0 / most, end * 1.2));
        }
        path.push_str("V30Z");
        timeline.shapes.push(Shape::stair(class, path, says));
        timeline
    }
}

impl Shape {
    fn stair(class: &'static str, path: String, says: String) -> Self {
        let none = String::new;
        let (x, end, width, y, height) = (none(), none(), none(), none(), none());
        Self { kind: "stair", class, x, end, width, y, height, grows: false, cross: false, says, path }
    }
}

/// How a phase is drawn: the shape, and the state that gives it its colour.
fn drawn(phase: Phase) -> (&'static str, &'static str) {
    match phase {
        Phase::InLine => ("line", "pending"),
        Phase::Paused => ("pause", "held"),
        Phase::Later => ("after", "pending"),
        Phase::Held => ("hold", "held"),
        Phase::Before => ("dots", "held"),
        Phase::After => ("after", "pending"),
        Phase::Running => ("bar", "running"),
        Phase::Ran => ("bar", "completed"),
        Phase::Tried => ("tried", "failed"),
        Phase::Failed => ("failed", "failed"),
        Phase::Stopped => ("stopped", "cancelled"),
        Phase::Waiting => ("waits", "waiting"),
    }
}
