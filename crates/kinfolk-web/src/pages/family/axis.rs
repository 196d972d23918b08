//! The axis of a timeline: moments to places on a line, with stretches folded in which nothing ran.

use std::time::Duration;

use kinfolk_core::Timestamp;

use crate::pages::part::words;

/// The width of a folded stretch, in percent.
const FOLD_WIDTH: f64 = 3.0;
/// The air behind now, as a part of the busy time.
const AIR: f64 = 0.05;
/// A stretch is folded if it is longer than this, and than a twentieth of the whole.
const FOLD_FROM: i64 = 10_000_000;
/// Steps of the grid, in seconds.
const STEPS: [i64; 21] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800,
    2_592_000, 31_536_000,
];

/// The axis.
pub(crate) struct Axis {
    /// Stretches from left to right: from, to, and where they begin and end in percent.
    parts: Vec<Part>,
    now: Timestamp,
    open: bool,
}

struct Part {
    from: i64,
    to: i64,
    x: f64,
    width: f64,
    folded: bool,
}

/// A line of the grid, with its label.
pub(crate) struct Tick {
    pub(crate) x: String,
    pub(crate) words: String,
    /// On a narrow page every other label is left out, and what would run into the first.
    pub(crate) wide: bool,
}

/// A folded stretch.
pub(crate) struct Fold {
    pub(crate) x: String,
    pub(crate) middle: String,
    pub(crate) words: String,
}

impl Axis {
    /// From a moment to another, or to now when that is not known yet. `busy`: when something ran; what lies between is folded.
    pub(crate) fn new(from: Timestamp, to: Option<Timestamp>, now: Timestamp, busy: Option<&[(i64, i64)]>) -> Self {
        let (start, mut end) = (from.as_micros(), to.unwrap_or(now).as_micros());
        end = end.max(start + 1_000);
        let gaps = busy.map(|busy| gaps(start, end, busy)).unwrap_or_default();
        let idle: i64 = gaps.iter().map(|(from, to)| to - from).sum();
        let room = 100.0 - FOLD_WIDTH * gaps.len() as f64;
        let air = if to.is_none() { AIR } else { 0.0 };
        let scale = room / ((end - start - idle) as f64 * (1.0 + air)).max(1.0);
        let mut parts = Vec::new();
        let (mut at, mut x) = (start, 0.0);
        for (gap_from, gap_to) in gaps {
            let width = (gap_from - at) as f64 * scale;
            parts.push(Part { from: at, to: gap_from, x, width, folded: false });
            parts.push(Part { from: gap_from, to: gap_to, x: x + width, width: FOLD_WIDTH, folded: true });
            x += width + FOLD_WIDTH;
            at = gap_to;
        }
        let width = 100.0 - x;
        let last = at + (width / scale) as i64;
        parts.push(Part { from: at, to: last.max(at + 1), x, width, folded: false });
        Self { parts, now, open: to.is_none() }
    }

    /// Where a moment is, in percent.
    pub(crate) fn x(&self, moment: Timestamp) -> f64 {
        let at = moment.as_micros();
        let part = self.parts.iter().find(|part| at < part.to).unwrap_or_else(|| &self.parts[self.parts.len() - 1]);
        let share = (at - part.from) as f64 / (part.to - part.from).max(1) as f64;
        (part.x + share.clamp(0.0, 1.0) * part.width).clamp(0.0, 100.0)
    }

    /// Whether any of a stretch is on it.
    pub(crate) fn shows(&self, from: Timestamp, to: Option<Timestamp>) -> bool {
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        from.as_micros() <= last.to && to.is_none_or(|to| to.as_micros() >= first.from)
    }

    /// Where a stretch ends; one that goes on has come as far as now.
    pub(crate) fn reach(&self, to: Option<Timestamp>) -> f64 {
        self.x(to.unwrap_or(self.now))
    }

    /// Where now is, if the axis goes on.
    pub(crate) fn now(&self) -> Option<f64> {
        self.open.then(|| self.x(self.now))
    }

    /// How far now moves in a millisecond, in percent.
    pub(crate) fn rate(&self) -> f64 {
        let last = &self.parts[self.parts.len() - 1];
        if self.open { last.width * 1_000.0 / (last.to - last.from).max(1) as f64 } else { 0.0 }
    }

    /// The grid: about six lines.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let busy: i64 = self.parts.iter().filter(|part| !part.folded).map(|part| part.to - part.from).sum();
        let step = STEPS.iter().map(|step| step * 1_000_000).find(|step| busy / step <= 7).unwrap_or(i64::MAX / 2);
        let now = self.now().unwrap_or(200.0);
        let mut ticks: Vec<Tick> = Vec::new();
        let mut before = -20.0;
        for part in self.parts.iter().filter(|part| !part.folded) {
            let mut at = (part.from / step + 1) * step;
            while at < part.to && ticks.len() < 24 {
                let x = self.x(Timestamp::from_micros(at));
                // No label runs into the one before it, into now or over an end.
                if x - before > 9.0 && (x - now).abs() > 7.0 && x > 11.0 && x < 95.0 {
                    let words = words::clock(Timestamp::from_micros(at));
                    ticks.push(Tick { x: percent(x), words, wide: ticks.len().is_multiple_of(2) || x < 28.0 });
                    before = x;
                }
                at += step;
            }
        }
        ticks
    }

    /// The folded stretches.
    pub(crate) fn folds(&self) -> Vec<Fold> {
        let fold = |part: &Part| Fold {
            x: percent(part.x),
            middle: percent(part.x + part.width / 2.0),
            words: words::span(Duration::from_micros((part.to - part.from).unsigned_abs())),
        };
        self.parts.iter().filter(|part| part.folded).map(fold).collect()
    }
}

/// The stretches between busy ones that are long enough to be folded.
fn gaps(start: i64, end: i64, busy: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut busy: Vec<(i64, i64)> = busy.iter().map(|(from, to)| ((*from).max(start), (*to).min(end))).collect();
    busy.sort_unstable();
    let least = FOLD_FROM.max((end - start) / 20);
    let mut gaps = Vec::new();
    let mut reached = start;
    for (from, to) in busy.into_iter().chain([(end, end)]) {
        if from - reached > least {
            // A little of the idle time stays, so that one sees what went before.
            let margin = (from - reached) / 50;
            gaps.push((reached + margin, from - margin));
        }
        reached = reached.max(to);
    }
    gaps
}

/// A place on the line, in percent with two digits.
pub(crate) fn percent(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn an_axis_that_goes_on_leaves_air_behind_now() {
        let axis = Axis::new(at(0), None, at(100), None);
        assert!((axis.x(at(0)) - 0.0).abs() < 0.01);
        assert!((axis.now().unwrap() - 95.24).abs() < 0.1, "{:?}", axis.now());
        assert!(axis.rate() > 0.0);
        let ended = Axis::new(at(0), Some(at(50)), at(100), None);
        assert!((ended.x(at(50)) - 100.0).abs() < 0.01 && ended.now().is_none());
    }

    #[test]
    fn a_long_stretch_in_which_nothing_ran_is_folded() {
        let second = 1_000_000;
        let busy = [(0, 5 * second), (1_700 * second, 1_800 * second)];
        let axis = Axis::new(at(0), Some(at(1_800)), at(2_000), Some(&busy));
        assert_eq!(axis.folds().len(), 1);
        assert!(axis.x(at(1_750)) > 20.0 && axis.x(at(1_750)) < 80.0, "{}", axis.x(at(1_750)));
        assert!(axis.ticks().len() <= 8);
    }
}
